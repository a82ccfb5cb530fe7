/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.c - bitmaps come into memory and leave it.
 *
 * Whoever uses a map does so inside a read section and leaves the stamp of its
 * transaction in the group.  A map on its way out is unpublished first; after
 * a grace period the stamp tells whether somebody had been at it meanwhile, in
 * which case it is put back.  So operations neither lock nor count.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/alloc_int.h"
#include "base/assert.h"
#include "base/log.h"

/* More groups than that are not looked at for one wish. */
enum { PLAN_GROUPS = 16, TRIM_BATCH = 64, WHY_BYTES = 96 };

/* ---- loading --------------------------------------------------------------- */

static struct alloc_map *map_new(const struct alloc *a)
{
	uint32_t words = bits_words(a->group_units);
	struct alloc_map *map =
		calloc(1, sizeof(*map) + sizeof(uint64_t) * ALLOC_MAPS * words);

	if (map == NULL)
		return NULL;
	map->used = map->words;
	map->reserved = map->words + words;
	map->freed = map->words + (size_t)2 * words;
	return map;
}

/* What the client says, checked against the count; @why is set if the group
 * is to blame. */
static int map_fill(struct alloc *a, uint32_t group, struct alloc_map *map,
	char why[WHY_BYTES])
{
	uint32_t size = alloc_group_size(a, group);
	uint32_t words = bits_words(a->group_units);
	uint32_t said = atomic_load(&a->group[group].free);
	uint32_t fought = 0;
	uint32_t free;
	int err;

	/* Nobody else has seen it: plain words to the client. */
	err = a->client->load(a->client_arg, group, (uint64_t *)map->used);
	if (err != 0) {
		(void)snprintf(why, WHY_BYTES, "%s", strerrordesc_np(-err));
		return err;
	}
	free = size - bits_count(map->used, 0, size);
	if (free != said) {
		(void)snprintf(why, WHY_BYTES,
			"%u units are free in its bitmap, %u by its descriptor",
			free, said);
		return -EUCLEAN;
	}
	(void)bits_clear(map->used, size, words * WORD_BITS - size);
	(void)bits_claim(map->used, size, words * WORD_BITS - size, &fought);
	return 0;
}

/* Whoever is first publishes; @map, which may be NULL, is the others' to free.
 * What was read before the last unloading is out of date. */
static bool group_publish_locked(
	struct alloc *a, struct alloc_group *g, struct alloc_map *map)
{
	if (RCU_DEREF(g->map) != NULL)
		return false;
	if (g->leaving != NULL) {
		RCU_ASSIGN(g->map, g->leaving);
		g->leaving = NULL; /* alloc_trim() finds it gone */
		return false;
	}
	if (map == NULL)
		return false;
	atomic_store(&g->stamp, atomic_load(&a->released));
	atomic_fetch_add(&a->loaded, 1);
	RCU_ASSIGN(g->map, map);
	return true;
}

struct alloc_map *alloc_map_back_rcu(struct alloc *a, uint32_t group)
{
	struct alloc_group *g = &a->group[group];

	if (UNLIKELY(RCU_DEREF(g->map) == NULL)) {
		mtx_lock(&a->load_lock);
		(void)group_publish_locked(a, g, NULL);
		mtx_unlock(&a->load_lock);
	}
	return RCU_DEREF(g->map);
}

/* Whether @unloads is still the newest news of @g, which is not in memory. */
static bool group_unchanged_locked(
	const struct alloc_group *g, uint32_t unloads)
{
	return RCU_DEREF(g->map) == NULL && g->leaving == NULL &&
	       g->unloads == unloads;
}

static void group_condemn(struct alloc *a, uint32_t group, const char *why)
{
	atomic_store(&a->group[group].out_of_use, true);
	log_say(LOG_ERROR, "alloc", "%s group %u is out of use: %s", a->name,
		group, why);
}

/* Read @group, and publish it unless others did meanwhile: -EAGAIN. */
static int group_read(struct alloc *a, uint32_t group, uint32_t unloads)
{
	struct alloc_group *g = &a->group[group];
	struct alloc_map *map = map_new(a);
	char why[WHY_BYTES];
	bool unchanged;
	int err;

	if (map == NULL)
		return -ENOMEM;
	err = map_fill(a, group, map, why);
	mtx_lock(&a->load_lock);
	unchanged = group_unchanged_locked(g, unloads);
	if (unchanged && err == 0)
		(void)group_publish_locked(a, g, map);
	mtx_unlock(&a->load_lock);
	if (!unchanged)
		err = -EAGAIN;
	if (err != 0)
		free(map);
	if (err != 0 && err != -EAGAIN && err != -ENOMEM) {
		group_condemn(a, group, why);
		err = -EUCLEAN;
	}
	return err;
}

static int group_load_once(struct alloc *a, uint32_t group)
{
	struct alloc_group *g = &a->group[group];
	uint32_t unloads;

	mtx_lock(&a->load_lock);
	unloads = g->unloads;
	(void)group_publish_locked(a, g, NULL);
	mtx_unlock(&a->load_lock);
	return RCU_DEREF(g->map) != NULL ? 0 : group_read(a, group, unloads);
}

int alloc_group_load(struct alloc *a, uint32_t group)
{
	struct alloc_group *g = &a->group[group];
	int err = 0;

	while (RCU_DEREF(g->map) == NULL) {
		if (atomic_load(&g->out_of_use))
			return -EUCLEAN;
		err = group_load_once(a, group);
		if (err != -EAGAIN)
			return err;
	}
	return 0;
}

/* Units of a loaded group that nobody has or has reserved. */
static uint32_t group_idle_units(struct alloc *a, uint32_t group)
{
	uint32_t words = bits_words(a->group_units);
	uint32_t busy = 0;
	struct alloc_map *map;

	rcu_begin();
	map = alloc_map_rcu(a, group);
	for (uint32_t i = 0; map != NULL && i < words; i++)
		busy += (uint32_t)__builtin_popcountll(
			atomic_load_explicit(
				&map->used[i], memory_order_relaxed) |
			atomic_load_explicit(
				&map->reserved[i], memory_order_relaxed));
	rcu_end();
	return map != NULL ? words * WORD_BITS - busy : 0;
}

int alloc_plan(struct alloc *a, uint64_t goal, uint64_t count)
{
	uint32_t first = goal < a->count ? alloc_group_of(a, goal) : 0;
	uint64_t promised = 0;
	uint64_t free = 0;
	unsigned looked = 0;

	for (uint32_t i = 0; i < a->group_count && promised < count; i++) {
		uint32_t group = (first + i) % a->group_count;
		uint32_t here = atomic_load(&a->group[group].free);
		int err;

		if (here == 0)
			continue;
		err = alloc_group_load(a, group);
		if (err == -ENOMEM)
			return err;
		if (err != 0)
			continue;
		free += here;
		promised += group_idle_units(a, group);
		if (promised != 0 && ++looked == PLAN_GROUPS)
			break;
	}
	return free != 0 ? 0 : -ENOSPC;
}

int alloc_plan_free(struct alloc *a, uint64_t start, uint64_t count)
{
	int err = 0;

	if (start >= a->count || count > a->count - start)
		return -EUCLEAN;
	if (count == 0)
		return 0;
	for (uint32_t g = alloc_group_of(a, start);
		err == 0 && g <= alloc_group_of(a, start + count - 1); g++)
		err = alloc_group_load(a, g);
	return err;
}

/* ---- unloading --------------------------------------------------------------- */

/* Neither records nor windows need it. */
static bool group_is_idle(
	struct alloc *a, const struct alloc_group *g, struct alloc_map *map)
{
	return !jnl_tid_after(
		       atomic_load(&g->stamp), atomic_load(&a->released)) &&
	       bits_count(map->reserved, 0, a->group_units) == 0;
}

/* Unpublish up to TRIM_BATCH idle maps.  Returns how many. */
static uint32_t trim_choose(struct alloc *a, uint32_t *chosen)
{
	uint32_t count = 0;
	uint32_t seen = 0;

	mtx_lock(&a->load_lock);
	while (count < TRIM_BATCH && seen++ < a->group_count &&
		atomic_load(&a->loaded) - count > a->loaded_max) {
		struct alloc_group *g = &a->group[a->hand];
		struct alloc_map *map = RCU_DEREF(g->map);

		if (map != NULL && group_is_idle(a, g, map)) {
			RCU_ASSIGN(g->map, NULL);
			g->leaving = map;
			chosen[count++] = a->hand;
		}
		a->hand = (a->hand + 1) % a->group_count;
	}
	mtx_unlock(&a->load_lock);
	return count;
}

/* No reader is left that saw it; pairs with alloc_stamp_rcu(). */
static void trim_end_locked(struct alloc *a, struct alloc_group *g)
{
	struct alloc_map *map = g->leaving;

	if (map == NULL)
		return;
	g->leaving = NULL;
	if (!group_is_idle(a, g, map)) {
		RCU_ASSIGN(g->map, map);
		return;
	}
	g->unloads++;
	atomic_fetch_sub(&a->loaded, 1);
	free(map);
}

void alloc_trim(struct alloc *a)
{
	uint32_t chosen[TRIM_BATCH];
	uint32_t count;

	do {
		count = trim_choose(a, chosen);
		if (count == 0)
			return;
		rcu_wait();
		mtx_lock(&a->load_lock);
		for (uint32_t i = 0; i < count; i++)
			trim_end_locked(a, &a->group[chosen[i]]);
		mtx_unlock(&a->load_lock);
	} while (count == TRIM_BATCH);
}
