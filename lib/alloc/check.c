/* SPDX-License-Identifier: BSD-2-Clause */
/* check.c - whether the allocator's state makes sense, when it stands still. */
#include "alloc/alloc_int.h"

/* Whether each unit of @c is used, and if it was freed, marked so. */
static bool change_shows(
	const struct alloc_map *map, const struct alloc_change *c)
{
	if (map == NULL ||
		bits_count(map->used, c->start, c->count) != c->count)
		return false; /* A1, A3 */
	return c->take ||
	       bits_count(map->freed, c->start, c->count) == c->count; /* A2 */
}

/* Units of @group that the records of one kind name. */
static uint64_t recorded(struct alloc *a, uint32_t group,
	const struct alloc_map *map, bool take, bool *good)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 2 * a->shard_count; i++) {
		struct record_shard *s = &a->shard[i / 2];
		const struct record *r =
			atomic_load(take ? &s->takes[i % 2] : &s->frees[i % 2]);

		for (; r != NULL; r = r->next) {
			if (r->change.group != group)
				continue;
			sum += r->change.count;
			*good = *good && change_shows(map, &r->change);
		}
	}
	return sum;
}

static bool check_group(struct alloc *a, uint32_t group)
{
	const struct alloc_group *g = &a->group[group];
	const struct alloc_map *map =
		g->leaving != NULL ? g->leaving : RCU_DEREF(g->map);
	uint32_t size = alloc_group_size(a, group);
	bool good = true;
	uint64_t taken = recorded(a, group, map, true, &good);
	uint64_t freed = recorded(a, group, map, false, &good);

	if (map == NULL)
		return good;
	/* Each free is marked once, and what is free adds up (A4). */
	return good && bits_count(map->freed, 0, size) == freed &&
	       size - bits_count(map->used, 0, size) + taken ==
		       atomic_load(&g->free);
}

bool alloc_check(struct alloc *a)
{
	bool good = true;

	for (uint32_t i = 0; good && i < a->group_count; i++)
		good = check_group(a, i);
	return good;
}
