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

/* What the records say about one group. */
struct tale {
	uint32_t group;
	const struct alloc_map *map;
	uint64_t taken; /* units */
	uint64_t freed;
	bool good;
};

static void tale_add(struct tale *t, const struct record *r)
{
	for (; r != NULL; r = r->next) {
		const struct alloc_change *c = &r->change;

		if (c->group != t->group)
			continue;
		*(c->take ? &t->taken : &t->freed) += c->count;
		t->good = t->good && change_shows(t->map, c);
	}
}

static bool check_group(struct alloc *a, uint32_t group)
{
	const struct alloc_group *g = &a->group[group];
	const struct alloc_map *map =
		g->leaving != NULL ? g->leaving : RCU_DEREF(g->map);
	uint32_t size = alloc_group_size(a, group);
	struct tale t = {.group = group, .map = map, .good = true};

	for (uint32_t i = 0; i < 2 * a->shard_count; i++) {
		tale_add(&t, atomic_load(&a->shard[i / 2].takes[i % 2]));
		tale_add(&t, atomic_load(&a->shard[i / 2].frees[i % 2]));
	}
	tale_add(&t, a->folded);
	if (map == NULL)
		return t.good;
	/* Each free is marked once, and what is free adds up (A4). */
	return t.good && bits_count(map->freed, 0, size) == t.freed &&
	       size - bits_count(map->used, 0, size) + t.taken ==
		       atomic_load(&g->free);
}

bool alloc_check(struct alloc *a)
{
	bool good = true;

	for (uint32_t i = 0; good && i < a->group_count; i++)
		good = check_group(a, i);
	return good;
}
