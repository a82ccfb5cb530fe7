/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * take.c - where to take from, and taking it.
 *
 * The window first; then the goal itself; then, from the goal's group on: near
 * by, a run with room for the next window, too; the longest run of any group;
 * and when all groups are loaded and have nothing else, what others have
 * reserved.
 */
#include <errno.h>
#include <stdlib.h>

#include "alloc/alloc_int.h"
#include "base/cpu.h"

enum {
	NEAR_GROUPS = 8,    /* looked at for a run of full length */
	CLAIM_TRIES = 3,    /* in one group, against others' claims */
	SPREAD_UNITS = 512, /* of a cache line of bits */
};

struct search {
	struct alloc *a;
	jnl_tid tid;
	const struct alloc_want *want;
	uint32_t room; /* the length of run to look for */
	bool exact;    /* at the goal only */
	bool whole;    /* nothing shorter */
	bool steal;    /* out of others' windows, too */
	bool missing;  /* out: a group with free units is not loaded */
};

/* Where this CPU starts in a group, so that two do not meet in a line. */
static uint32_t spread_start(const struct alloc *a, uint32_t size)
{
	uint64_t cpu = cpu_shard(a->shard_count);

	return (uint32_t)(cpu * size / a->shard_count) / SPREAD_UNITS *
	       SPREAD_UNITS;
}

static uint32_t search_start(
	const struct search *s, uint32_t group, uint32_t size)
{
	const struct alloc_want *want = s->want;

	if (want->spread || want->goal >= s->a->count ||
		group != alloc_group_of(s->a, want->goal))
		return spread_start(s->a, size);
	return (uint32_t)(want->goal - alloc_unit_of(s->a, group, 0));
}

/* A run in @map, at or after @from if possible; its length, 0: none. */
static uint32_t search_map(const struct search *s, const struct alloc_map *map,
	uint32_t from, uint32_t size, uint32_t *at)
{
	const _Atomic uint64_t *other = s->steal ? NULL : map->reserved;
	uint32_t want = s->room;
	uint32_t before = 0;
	uint32_t best = bits_find(map->used, other, from, size, want, at);
	uint32_t count;

	if (s->exact)
		return best == want && *at == from ? best : 0;
	if (best < want) {
		count = bits_find(map->used, other, 0, size, want, &before);
		if (count > best) {
			best = count;
			*at = before;
		}
	}
	return s->whole && best < want ? 0 : best;
}

/* Find and claim once; *@fought tells that others were faster. */
static uint32_t claim_once(const struct search *s, struct alloc_map *map,
	uint32_t from, uint32_t size, uint32_t *at, uint32_t *fought)
{
	const struct alloc_gate *gate = s->a->gate;
	uint32_t count;

	gate->search(s->a);
	count = search_map(s, map, from, size, at);
	gate->claim(s->a);
	if (count > s->want->count)
		count = s->want->count; /* the rest is for a window */
	if (count != 0) {
		count = bits_claim(map->used, *at, count, fought);
		if (count == 0)
			(*fought)++;
	}
	gate->done(s->a);
	return count;
}

static uint32_t claim_in_group(
	struct search *s, uint32_t group, struct alloc_run *out)
{
	struct alloc *a = s->a;
	uint32_t size = alloc_group_size(a, group);
	uint32_t from = search_start(s, group, size);
	struct alloc_map *map;
	uint32_t count = 0;
	uint32_t at = 0;

	rcu_begin();
	map = alloc_map_rcu(a, group);
	if (map == NULL)
		s->missing = true;
	for (int i = 0; map != NULL && count == 0 && i < CLAIM_TRIES; i++) {
		uint32_t fought = 0;

		count = claim_once(s, map, from, size, &at, &fought);
		if (fought == 0)
			break;
		tally_add(&a->passed_by, fought);
	}
	if (count != 0) {
		alloc_stamp_rcu(a, group, s->tid);
		if (s->steal)
			tally_add(&a->took_reserved,
				bits_count(map->reserved, at, count));
		*out = (struct alloc_run){
			.start = alloc_unit_of(a, group, at), .count = count};
	}
	rcu_end();
	return count;
}

/* Up to @groups of those that may have something, from the goal's on. */
static uint32_t claim_in_groups(
	struct search *s, uint32_t groups, struct alloc_run *out)
{
	struct alloc *a = s->a;
	uint64_t goal = s->want->goal;
	uint32_t first = goal < a->count ? alloc_group_of(a, goal) : 0;
	uint32_t least = s->whole ? s->room : 1;
	uint32_t count = 0;

	for (uint32_t i = 0; count == 0 && groups != 0 && i < a->group_count;
		i++) {
		uint32_t group = (first + i) % a->group_count;
		struct alloc_group *g = &a->group[group];

		if (atomic_load_explicit(&g->free, memory_order_relaxed) <
				least ||
			atomic_load_explicit(
				&g->out_of_use, memory_order_relaxed))
			continue;
		count = claim_in_group(s, group, out);
		groups--;
	}
	return count;
}

static int search_run(struct search *s, uint32_t ahead, struct alloc_run *out)
{
	uint32_t group;

	if (s->want->goal < s->a->count && !s->want->spread) {
		group = alloc_group_of(s->a, s->want->goal);
		s->exact = true;
		if (claim_in_group(s, group, out) != 0)
			return 0;
		s->exact = false;
	}
	s->whole = true;
	s->room += ahead;
	if (claim_in_groups(s, NEAR_GROUPS, out) != 0)
		return 0;
	s->whole = false;
	s->room = s->want->count;
	s->missing = false;
	if (claim_in_groups(s, UINT32_MAX, out) != 0)
		return 0;
	if (s->missing)
		return -EAGAIN;
	s->steal = true;
	return claim_in_groups(s, UINT32_MAX, out) != 0 ? 0 : -ENOSPC;
}

static int take_run(struct alloc *a, jnl_tid tid, const struct alloc_want *want,
	struct alloc_run *out)
{
	struct search s = {
		.a = a, .tid = tid, .want = want, .room = want->count};
	uint32_t ahead = 0;
	uint32_t count = 0;
	int err;

	if (want->window != NULL) {
		rcu_begin();
		count = window_take_rcu(a, tid, want, out);
		rcu_end();
	}
	if (count != 0)
		return 0;
	if (want->window != NULL)
		ahead = window_size(want->window, want->goal);
	err = search_run(&s, ahead, out);
	if (err == 0 && want->window != NULL)
		window_renew(a, want->window, out, ahead);
	return err;
}

/* ---- the calls ------------------------------------------------------------------ */

static struct alloc_change change_of(
	const struct alloc *a, uint64_t start, uint32_t count, bool take)
{
	uint32_t group = alloc_group_of(a, start);

	return (struct alloc_change){
		.group = group,
		.start = (uint32_t)(start - alloc_unit_of(a, group, 0)),
		.count = count,
		.take = take,
	};
}

int alloc_take(struct alloc *a, jnl_tid tid, const struct alloc_want *want,
	struct alloc_run *out)
{
	struct record *r = record_new();
	struct alloc_run run;
	int err;

	if (r == NULL)
		return -ENOMEM;
	err = take_run(a, tid, want, &run);
	if (err != 0) {
		free(r);
		return err;
	}
	r->change = change_of(a, run.start, run.count, true);
	record_add(a, tid, r);
	*out = run;
	return 0;
}

/* Mark the units of @change freed, which they were not. */
static int free_mark(
	struct alloc *a, jnl_tid tid, const struct alloc_change *change)
{
	struct alloc_map *map;
	uint32_t fought = 0;
	uint32_t marked;
	int err = 0;

	rcu_begin();
	map = alloc_map_back_rcu(a, change->group);
	if (map == NULL) {
		err = -EAGAIN;
	} else if (bits_count(map->used, change->start, change->count) !=
		   change->count) {
		err = -EUCLEAN;
	} else {
		alloc_stamp_rcu(a, change->group, tid);
		marked = bits_claim(
			map->freed, change->start, change->count, &fought);
		if (marked != change->count) {
			(void)bits_clear(map->freed, change->start, marked);
			err = -EUCLEAN;
		}
	}
	rcu_end();
	return err;
}

static void free_unmark(struct alloc *a, const struct alloc_change *change)
{
	rcu_begin();
	(void)bits_clear(alloc_map_back_rcu(a, change->group)->freed,
		change->start, change->count);
	rcu_end();
}

int alloc_free(struct alloc *a, jnl_tid tid, uint64_t start, uint64_t count)
{
	struct record *all = NULL;
	int err = 0;

	if (start >= a->count || count > a->count - start)
		return -EUCLEAN;
	while (err == 0 && count != 0) {
		uint32_t group = alloc_group_of(a, start);
		uint64_t left = alloc_unit_of(a, group + 1, 0) - start;
		uint32_t part = (uint32_t)(count < left ? count : left);
		struct record *r = record_new();

		if (r == NULL) {
			err = -ENOMEM;
			break;
		}
		r->change = change_of(a, start, part, false);
		err = free_mark(a, tid, &r->change);
		if (err != 0) {
			free(r);
			break;
		}
		r->next = all;
		all = r;
		start += part;
		count -= part;
	}
	while (all != NULL) {
		struct record *r = all;

		all = r->next;
		if (err == 0) {
			record_add(a, tid, r);
		} else {
			free_unmark(a, &r->change);
			free(r);
		}
	}
	return err;
}
