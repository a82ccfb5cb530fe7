/* SPDX-License-Identifier: BSD-2-Clause */
/* view.c - see view.h. */
#include "cache/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"

enum { PAGE_SHIFT = 12 };

static size_t group_bytes(const struct views *v)
{
	return (size_t)v->view_bytes * VIEW_GROUP_SLOTS;
}

static void *map_nothing(void *at, size_t bytes, int fixed)
{
	return mmap(at, bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
}

int views_init(struct views *v, int fd, uint32_t view_bytes, uint64_t count)
{
	void *base;

	memset(v, 0, sizeof(*v));
	v->fd = fd;
	v->view_bytes = view_bytes;
	v->view_pages = view_bytes >> PAGE_SHIFT;
	/* Twice what can live at once: half may be stale. */
	v->group_count = 2 * (count / VIEW_GROUP_SLOTS + 1);
	v->groups = calloc(v->group_count, sizeof(*v->groups));
	v->pages = calloc(v->group_count * VIEW_GROUP_SLOTS,
		sizeof(*v->pages) * v->view_pages);
	if (v->groups == NULL || v->pages == NULL)
		goto out_free;
	base = map_nothing(NULL, v->group_count * group_bytes(v), 0);
	if (base == MAP_FAILED)
		goto out_free;
	v->base = base;
	for (uint64_t i = 0; i < v->group_count; i++)
		v->groups[i].fresh = UINT64_MAX;
	return 0;
out_free:
	free(v->pages);
	free(v->groups);
	v->groups = NULL;
	v->pages = NULL;
	return -ENOMEM;
}

void views_fini(struct views *v)
{
	if (v->base != NULL)
		munmap(v->base, v->group_count * group_bytes(v));
	free(v->pages);
	free(v->groups);
	memset(v, 0, sizeof(*v));
}

static char *slot_address(const struct views *v, uint64_t slot)
{
	return v->base + slot * v->view_bytes;
}

/* A slot that is fresh, else one that is stale.  There is one: the number of
 * live views is bounded by the arena's pages. */
static uint64_t pick_slot(const struct views *v)
{
	uint64_t stale = UINT64_MAX;

	for (uint64_t i = 0; i < v->group_count; i++) {
		uint64_t at = (v->current + i) % v->group_count;
		const struct view_group *g = &v->groups[at];
		uint64_t left = ~(g->fresh | g->live);

		if (g->fresh != 0)
			return at * VIEW_GROUP_SLOTS +
			       (uint64_t)__builtin_ctzll(g->fresh);
		if (stale == UINT64_MAX && left != 0)
			stale = at * VIEW_GROUP_SLOTS +
				(uint64_t)__builtin_ctzll(left);
	}
	ASSERT(stale != UINT64_MAX);
	return stale;
}

/* Map one range of neighbouring pages with one call. */
static bool map_range(
	const struct views *v, char *at, uint32_t page, uint32_t count)
{
	return mmap(at, (size_t)count << PAGE_SHIFT, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_FIXED, v->fd,
		       (off_t)page << PAGE_SHIFT) != MAP_FAILED;
}

static bool map_pages(const struct views *v, char *at, const uint32_t *pages)
{
	uint32_t from = 0;

	for (uint32_t i = 1; i <= v->view_pages; i++) {
		if (i < v->view_pages && pages[i] == pages[i - 1] + 1)
			continue;
		if (!map_range(v, at + ((size_t)from << PAGE_SHIFT),
			    pages[from], i - from))
			return false;
		from = i;
	}
	return true;
}

void *views_make(struct views *v, const uint32_t *pages)
{
	uint64_t slot = pick_slot(v);
	struct view_group *g = &v->groups[slot / VIEW_GROUP_SLOTS];
	uint64_t bit = UINT64_C(1) << (slot % VIEW_GROUP_SLOTS);
	char *at = slot_address(v, slot);

	v->current = slot / VIEW_GROUP_SLOTS;
	g->fresh &= ~bit;
	if (!map_pages(v, at, pages))
		return NULL; /* half mapped: as good as stale */
	g->live |= bit;
	v->live_count++;
	memcpy(&v->pages[slot * v->view_pages], pages,
		v->view_pages * sizeof(*pages));
	return at;
}

static void clear_group(struct views *v, uint64_t group)
{
	char *at = slot_address(v, group * VIEW_GROUP_SLOTS);

	if (map_nothing(at, group_bytes(v), MAP_FIXED) == MAP_FAILED)
		return; /* its slots stay stale, and are mapped over singly */
	v->groups[group].fresh = UINT64_MAX;
	v->cleared_groups++;
}

void views_end(struct views *v, void *p, uint32_t *pages)
{
	uint64_t slot = (uint64_t)((char *)p - v->base) / v->view_bytes;
	struct view_group *g = &v->groups[slot / VIEW_GROUP_SLOTS];
	uint64_t bit = UINT64_C(1) << (slot % VIEW_GROUP_SLOTS);

	ASSERT((g->live & bit) != 0);
	g->live &= ~bit;
	v->live_count--;
	memcpy(pages, &v->pages[slot * v->view_pages],
		v->view_pages * sizeof(*pages));
	if (g->live == 0 && g->fresh == 0)
		clear_group(v, slot / VIEW_GROUP_SLOTS);
}

bool views_own(const struct views *v, const void *p)
{
	const char *at = p;

	return v->base != NULL && at >= v->base &&
	       at < v->base + v->group_count * group_bytes(v);
}
