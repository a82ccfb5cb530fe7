/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.c - what transactions took and freed, until they are committed.
 *
 * Operations push onto a list of their CPU without a lock; the committing
 * thread takes the lists when all operations of the transaction have ended.
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
	free(a->shard);
}

struct record *record_new(void)
{
	return malloc(sizeof(struct record));
}

void record_add(struct alloc *a, jnl_tid tid, struct record *r)
{
	struct record_shard *shard = &a->shard[cpu_shard(a->shard_count)];
	_Atomic(struct record *) *list = r->change.take
						 ? &shard->takes[tid & 1]
						 : &shard->frees[tid & 1];

	r->next = atomic_load_explicit(list, memory_order_relaxed);
	/* Pairs with the load in records_tell(); the list is only taken whole
	 * when nobody pushes. */
	while (!atomic_compare_exchange_weak_explicit(
		list, &r->next, r, memory_order_release, memory_order_relaxed))
		;
}

/* ---- transactions ------------------------------------------------------------- */

static int records_tell(
	const _Atomic(struct record *) *list, alloc_change_fn fn, void *arg)
{
	const struct record *r =
		atomic_load_explicit(list, memory_order_acquire);
	int err = 0;

	for (; err == 0 && r != NULL; r = r->next)
		err = fn(arg, &r->change);
	return err;
}

int alloc_fold(struct alloc *a, jnl_tid tid, alloc_change_fn fn, void *arg)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < a->shard_count; i++)
		err = records_tell(&a->shard[i].takes[tid & 1], fn, arg);
	for (uint32_t i = 0; err == 0 && i < a->shard_count; i++)
		err = records_tell(&a->shard[i].frees[tid & 1], fn, arg);
	return err;
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

static void release_list(struct alloc *a, _Atomic(struct record *) *list)
{
	struct record *all = atomic_exchange(list, NULL);

	for (const struct record *r = all; r != NULL; r = r->next)
		release_change(a, &r->change);
	records_free(all);
}

void alloc_release(struct alloc *a, jnl_tid tid)
{
	for (uint32_t i = 0; i < a->shard_count; i++)
		release_list(a, &a->shard[i].takes[tid & 1]);
	for (uint32_t i = 0; i < a->shard_count; i++)
		release_list(a, &a->shard[i].frees[tid & 1]);
	atomic_store(&a->released, tid);
}
