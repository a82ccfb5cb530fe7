/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stock.h - per-CPU stocks of pointers in front of a shared source.
 *
 * A thread takes from and puts to the stock of its CPU; only every few calls
 * does a batch move between a stock and the source.  What is idle in another
 * CPU's stock is never out of reach: when own stock and source are empty, the
 * others are asked.
 *
 * stock_get() returns NULL only if there was an instant during the call at
 * which source and all stocks were empty (or the source refused).  So if more
 * items are put in than callers take out, no caller comes back without one.
 *
 * Locks: RANK_CACHE, a stock before the source.
 */
#ifndef CACHE_STOCK_H
#define CACHE_STOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cc.h"
#include "sync/lock.h"

enum { STOCK_DEPTH_MAX = 32 };

struct stock_shard {
	LINE_ALIGNED struct mtx lock;
	_Atomic uint32_t count; /* [lock] written; read by stock_idle() */
	_Atomic uint64_t puts;  /* [lock] written; see stock.c */
	void *items[STOCK_DEPTH_MAX];
};

/* Where items come from in batches; both are called under source_lock. */
struct stock_source {
	/* Put up to @count items into @items; returns how many.  @urgent: as
	 * stock_get()'s. */
	uint32_t (*take)(void *arg, void **items, uint32_t count, bool urgent);
	void (*give)(void *arg, void *const *items, uint32_t count);
};

struct stock {
	const struct stock_source *source; /* [const] */
	void *arg;                         /* [const] */
	struct stock_shard *shards;        /* [const] */
	uint32_t shard_count;              /* [const] */
	uint32_t depth;                    /* [const] 0: no stocks */
	LINE_ALIGNED struct mtx source_lock;
	_Atomic uint64_t moves; /* [source_lock] written; see stock.c */
};

/* @depth items at most wait in one stock.  -ENOMEM. */
MUST_USE int stock_init(struct stock *s, const struct stock_source *source,
	void *arg, uint32_t depth);

/* Idle items are lost: stock_drain() first, if they matter. */
void stock_fini(struct stock *s);

/* @urgent callers may have what the source keeps back from others. */
void *stock_get(struct stock *s, bool urgent);
void stock_put(struct stock *s, void *item);

/* Straight to the source, where all CPUs look next. */
void stock_put_many(struct stock *s, void *const *items, uint32_t count);

/* Items idle in stocks; exact when nobody else is in a call. */
uint64_t stock_idle(const struct stock *s);

/* Give everything idle back to the source. */
void stock_drain(struct stock *s);

#endif /* CACHE_STOCK_H */
