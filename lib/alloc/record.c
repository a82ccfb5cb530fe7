/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.c - what transactions took and freed, until they are committed.
 *
 * Operations push onto a list of their CPU without a lock.  When all of a
 * transaction have ended, its fold takes the lists: the next but one uses them
 * again, perhaps before this one is released.  Until then its records wait in
 * a queue.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/alloc_int.h"
#include "base/cpu.h"

int record_open(struct alloc *a)
{
	size_t bytes;

	a->shard_count = cpu_count();
	bytes = a->shard_count * sizeof(struct record_shard);
	a->shard = aligned_alloc(LINE_BYTES, bytes);
	if (a->shard == NULL)
		return -ENOMEM;
	memset(a->shard, 0, bytes);
	return 0;
}

static void records_free(struct record *r)
{
	while (r != NULL) {
		struct record *next = r->next;

		free(r);
		r = next;
	}
}

void record_close(struct alloc *a)
{
	for (uint32_t i = 0; a->shard != NULL && i < a->shard_count; i++)
		for (unsigned parity = 0; parity < 2; parity++) {
			records_free(a->shard[i].takes[parity]);
			records_free(a->shard[i].frees[parity]);
		}
	records_free(a->folded);
	free(a->shard);
}

struct record *record_new(void)
{
	return malloc(sizeof(struct record));
}

static _Atomic(struct record *) *record_list(
	struct record_shard *shard, jnl_tid tid, bool take)
{
	return take ? &shard->takes[tid & 1] : &shard->frees[tid & 1];
}

void record_add(struct alloc *a, jnl_tid tid, struct record *r)
{
	_Atomic(struct record *) *list = record_list(
		&a->shard[cpu_shard(a->shard_count)], tid, r->change.take);

	r->tid = tid;
	r->next = atomic_load_explicit(list, memory_order_relaxed);
	/* Pairs with the exchange in records_collect(); the list is only taken
	 * whole when nobody pushes. */
	while (!atomic_compare_exchange_weak_explicit(
		list, &r->next, r, memory_order_release, memory_order_relaxed))
		;
}

/* ---- folding ---------------------------------------------------------------------- */

/* Take all takes or all frees of @tid off the shards. */
static struct record *records_collect(struct alloc *a, jnl_tid tid, bool take)
{
	struct record *all = NULL;
	struct record **end = &all;

	for (uint32_t i = 0; i < a->shard_count; i++) {
		*end = atomic_exchange_explicit(
			record_list(&a->shard[i], tid, take), NULL,
			memory_order_acquire);
		while (*end != NULL)
			end = &(*end)->next;
	}
	return all;
}

static int records_tell(const struct record *r, alloc_change_fn fn, void *arg)
{
	int err = 0;

	for (; err == 0 && r != NULL; r = r->next)
		err = fn(arg, &r->change);
	return err;
}

static void records_queue(struct alloc *a, struct record *r)
{
	mtx_lock(&a->fold_lock);
	*a->folded_end = r;
	while (*a->folded_end != NULL)
		a->folded_end = &(*a->folded_end)->next;
	mtx_unlock(&a->fold_lock);
}

int alloc_fold(struct alloc *a, jnl_tid tid, alloc_change_fn fn, void *arg)
{
	struct record *takes = records_collect(a, tid, true);
	struct record *frees = records_collect(a, tid, false);
	int err = records_tell(takes, fn, arg);

	if (err == 0)
		err = records_tell(frees, fn, arg);
	records_queue(a, takes);
	records_queue(a, frees);
	return err;
}

/* ---- releasing -------------------------------------------------------------------- */

/* The records of @tid, which are the oldest. */
static struct record *records_unqueue(struct alloc *a, jnl_tid tid)
{
	struct record *all;
	struct record **end = &all;

	mtx_lock(&a->fold_lock);
	all = a->folded;
	while (*end != NULL && (*end)->tid == tid)
		end = &(*end)->next;
	a->folded = *end;
	*end = NULL;
	if (a->folded == NULL)
		a->folded_end = &a->folded;
	mtx_unlock(&a->fold_lock);
	return all;
}

static void release_bits(struct alloc *a, const struct alloc_change *change)
{
	struct alloc_map *map;

	rcu_begin();
	map = alloc_map_back_rcu(a, change->group); /* A3 */
	(void)bits_clear(map->freed, change->start, change->count);
	(void)bits_clear(map->used, change->start, change->count);
	rcu_end();
}

/* The count of free units follows the transactions. */
static void release_change(struct alloc *a, const struct alloc_change *change)
{
	struct alloc_group *g = &a->group[change->group];

	if (change->take) {
		atomic_fetch_sub(&g->free, change->count);
	} else {
		release_bits(a, change);
		atomic_fetch_add(&g->free, change->count);
	}
}

void alloc_release(struct alloc *a, jnl_tid tid)
{
	struct record *all = records_unqueue(a, tid);

	for (const struct record *r = all; r != NULL; r = r->next)
		release_change(a, &r->change);
	records_free(all);
	atomic_store(&a->released, tid);
}
