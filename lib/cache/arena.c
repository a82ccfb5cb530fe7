/* SPDX-License-Identifier: BSD-2-Clause */
/* arena.c - see arena.h. */
#include "cache/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cpu.h"

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#endif

/* AddressSanitizer builds find uses of memory that was given back. */
#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>

static void poison(void *p, size_t bytes)
{
	ASAN_POISON_MEMORY_REGION(p, bytes);
}

static void unpoison(void *p, size_t bytes)
{
	ASAN_UNPOISON_MEMORY_REGION(p, bytes);
}
#else
static void poison(void *p, size_t bytes)
{
	(void)p;
	(void)bytes;
}

static void unpoison(void *p, size_t bytes)
{
	(void)p;
	(void)bytes;
}
#endif

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { PAGE_ORDER = 2, HUGE_UNITS = ARENA_HUGE_BYTES >> RUN_UNIT_SHIFT };

static char *unit_address(const struct arena *a, uint64_t unit)
{
	return a->base + (unit << RUN_UNIT_SHIFT);
}

static uint64_t address_unit(const struct arena *a, const void *p)
{
	return (uint64_t)((const char *)p - a->base) >> RUN_UNIT_SHIFT;
}

/* ---- the source of pieces; all under pieces.source_lock ----------------- */

static void give_pages(struct arena *a, const uint32_t *pages, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		runs_give(
			&a->runs, (uint64_t)pages[i] << PAGE_ORDER, PAGE_ORDER);
}

/* A piece made of single pages; NULL if there are too few of them. */
static void *take_view(struct arena *a)
{
	uint32_t pages[VIEW_PAGES_MAX];
	uint32_t want = a->views.view_pages;
	void *view = NULL;
	uint32_t got = 0;

	if (a->piece_order <= PAGE_ORDER)
		return NULL;
	while (got < want) {
		uint64_t unit = runs_take(&a->runs, PAGE_ORDER);

		if (unit == RUN_NONE)
			break;
		pages[got++] = (uint32_t)(unit >> PAGE_ORDER);
	}
	if (got == want)
		view = views_make(&a->views, pages);
	if (view == NULL)
		give_pages(a, pages, got);
	return view;
}

/* A view costs calls to the kernel: none is made in advance. */
static void *take_piece(struct arena *a, bool in_advance)
{
	uint64_t unit = runs_take(&a->runs, a->piece_order);

	if (unit != RUN_NONE)
		return unit_address(a, unit);
	return in_advance ? NULL : take_view(a);
}

static void give_piece(struct arena *a, void *piece)
{
	uint32_t pages[VIEW_PAGES_MAX];

	if (views_own(&a->views, piece)) {
		views_end(&a->views, piece, pages);
		give_pages(a, pages, a->views.view_pages);
	} else {
		runs_give(&a->runs, address_unit(a, piece), a->piece_order);
	}
}

static bool may_take(const struct arena *a, uint64_t units, bool urgent)
{
	return a->runs.free_units >= units + (urgent ? 0 : a->keep_units);
}

static uint64_t peak_units(const struct arena *a)
{
	return a->runs.units - a->runs.low_units;
}

static uint32_t source_take(
	void *arg, void **items, uint32_t count, bool urgent)
{
	struct arena *a = arg;
	uint32_t got = 0;

	while (got < count &&
		may_take(a, a->piece_bytes >> RUN_UNIT_SHIFT, urgent)) {
		items[got] = take_piece(a, got > 0);
		if (items[got] == NULL)
			break;
		got++;
	}
	if (a->runs.free_units < a->low_units && a->on_low != NULL)
		a->on_low(a->on_arg);
	if (peak_units(a) >= a->grown_units + HUGE_UNITS &&
		a->on_grow != NULL) {
		a->grown_units = peak_units(a);
		a->on_grow(a->on_arg);
	}
	return got;
}

static void source_give(void *arg, void *const *items, uint32_t count)
{
	struct arena *a = arg;

	for (uint32_t i = 0; i < count; i++)
		give_piece(a, items[i]);
}

static const struct stock_source arena_source = {
	.take = source_take, .give = source_give};

/* ---- life --------------------------------------------------------------- */

/* Map the memfd at an address that is aligned to a huge page. */
static int map_memory(struct arena *a)
{
	size_t skip;

	a->fd = memfd_create("extant-cache", MFD_CLOEXEC);
	if (a->fd < 0)
		return -errno;
	if (ftruncate(a->fd, (off_t)a->bytes) != 0)
		goto out_close;
	a->mapped_bytes = a->bytes + ARENA_HUGE_BYTES;
	a->mapped = mmap(NULL, a->mapped_bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (a->mapped == MAP_FAILED)
		goto out_close;
	skip = -(uintptr_t)a->mapped % ARENA_HUGE_BYTES;
	a->base = (char *)a->mapped + skip;
	if (mmap(a->base, a->bytes, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, a->fd, 0) == MAP_FAILED)
		goto out_unmap;
	poison(a->base, a->bytes);
	return 0;
out_unmap:
	munmap(a->mapped, a->mapped_bytes);
out_close:
	close(a->fd);
	return -ENOMEM;
}

static void unmap_memory(struct arena *a)
{
	unpoison(a->base, a->bytes);
	munmap(a->mapped, a->mapped_bytes);
	close(a->fd);
}

/* Idle stocks may hold an eighth of all pieces together. */
static uint32_t stock_depth(uint64_t pieces)
{
	uint64_t depth = pieces / 8 / cpu_count();

	return depth < STOCK_DEPTH_MAX ? (uint32_t)depth : STOCK_DEPTH_MAX;
}

static void set_sizes(struct arena *a, const struct arena_opts *opts)
{
	uint64_t piece_units = opts->piece_bytes >> RUN_UNIT_SHIFT;
	uint64_t round = opts->piece_bytes > 4096 ? opts->piece_bytes : 4096;

	a->bytes = opts->bytes / round * round;
	a->piece_bytes = opts->piece_bytes;
	a->piece_order = __builtin_ctz((unsigned)piece_units);
	a->keep_units = opts->keep_pieces * piece_units;
	a->low_units = opts->low_pieces * piece_units;
	a->on_low = opts->on_low;
	a->on_grow = opts->on_grow;
	a->on_arg = opts->on_arg;
	a->huge_from = a->bytes / ARENA_HUGE_BYTES * ARENA_HUGE_BYTES;
}

int arena_open(struct arena *a, const struct arena_opts *opts)
{
	int err;

	memset(a, 0, sizeof(*a));
	set_sizes(a, opts);
	err = map_memory(a);
	if (err != 0)
		return err;
	err = runs_init(&a->runs, a->bytes >> RUN_UNIT_SHIFT);
	if (err != 0)
		goto out_unmap;
	if (a->piece_order > PAGE_ORDER) {
		err = views_init(
			&a->views, a->fd, a->piece_bytes, arena_piece_count(a));
		if (err != 0)
			goto out_runs;
	}
	err = stock_init(&a->pieces, &arena_source, a,
		stock_depth(arena_piece_count(a)));
	if (err != 0)
		goto out_views;
	return 0;
out_views:
	views_fini(&a->views);
out_runs:
	runs_fini(&a->runs);
out_unmap:
	unmap_memory(a);
	return err;
}

void arena_close(struct arena *a)
{
	stock_fini(&a->pieces);
	views_fini(&a->views);
	runs_fini(&a->runs);
	unmap_memory(a);
}

uint64_t arena_piece_count(const struct arena *a)
{
	return a->bytes / a->piece_bytes;
}

/* ---- pieces and runs ---------------------------------------------------- */

void *arena_piece_get(struct arena *a, bool urgent)
{
	void *piece = stock_get(&a->pieces, urgent);

	if (piece != NULL)
		unpoison(piece, a->piece_bytes);
	return piece;
}

void arena_piece_put(struct arena *a, void *piece)
{
	poison(piece, a->piece_bytes);
	stock_put(&a->pieces, piece);
}

void arena_piece_put_many(struct arena *a, void **pieces, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		poison(pieces[i], a->piece_bytes);
	stock_put_many(&a->pieces, pieces, count);
}

void *arena_run_get(struct arena *a, int order)
{
	uint64_t unit;

	mtx_lock(&a->pieces.source_lock);
	unit = runs_take(&a->runs, order);
	mtx_unlock(&a->pieces.source_lock);
	if (unit == RUN_NONE)
		return NULL;
	unpoison(unit_address(a, unit), UINT64_C(1) << order << RUN_UNIT_SHIFT);
	return unit_address(a, unit);
}

void arena_run_put(struct arena *a, void *run, int order)
{
	poison(run, UINT64_C(1) << order << RUN_UNIT_SHIFT);
	mtx_lock(&a->pieces.source_lock);
	runs_give(&a->runs, address_unit(a, run), order);
	mtx_unlock(&a->pieces.source_lock);
}

/* ---- huge pages --------------------------------------------------------- */

/* Runs are cut from the end: what lies behind the peak's worth was in use. */
bool arena_settle(struct arena *a)
{
	uint64_t used_from;

	mtx_lock(&a->pieces.source_lock);
	used_from = (a->runs.units - peak_units(a)) << RUN_UNIT_SHIFT;
	mtx_unlock(&a->pieces.source_lock);
	if (a->huge_from < used_from + ARENA_HUGE_BYTES)
		return false;
	a->huge_from -= ARENA_HUGE_BYTES;
	/* Refused where there is no such call, no memory in one piece, or
	 * somebody reads into it: small pages do as well. */
	if (madvise(a->base + a->huge_from, ARENA_HUGE_BYTES, MADV_COLLAPSE) !=
			0 &&
		errno == EINVAL)
		a->huge_from = 0;
	return true;
}

/* ---- observation -------------------------------------------------------- */

uint64_t arena_free_pieces(struct arena *a)
{
	uint64_t units;

	mtx_lock(&a->pieces.source_lock);
	units = a->runs.free_units;
	mtx_unlock(&a->pieces.source_lock);
	return units / (a->piece_bytes >> RUN_UNIT_SHIFT);
}

void arena_usage(struct arena *a, uint64_t *used, uint64_t *peak)
{
	uint64_t idle = stock_idle(&a->pieces) * a->piece_bytes;

	mtx_lock(&a->pieces.source_lock);
	*used = (a->runs.units - a->runs.free_units) << RUN_UNIT_SHIFT;
	*peak = peak_units(a) << RUN_UNIT_SHIFT;
	mtx_unlock(&a->pieces.source_lock);
	*used = *used > idle ? *used - idle : 0;
}
