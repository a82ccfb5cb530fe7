/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * runs.h - which parts of the arena are free.
 *
 * The arena is chunks of 64 KiB, each with one word of free bits, a bit for
 * 1 KiB.  A run of 2^order KiB is 2^order aligned bits in one word, so that
 * neighbours merge by themselves when they are freed.  Chunks are listed by
 * the largest run they still hold; a request breaks the smallest run that
 * serves it, which keeps whole chunks whole.
 *
 * Locks: the owner's.  Memory itself is not touched.
 */
#ifndef CACHE_RUNS_H
#define CACHE_RUNS_H

#include <stdint.h>

#include "base/cc.h"
#include "base/list.h"

enum {
	RUN_UNIT_SHIFT = 10, /* the smallest run is 1 KiB */
	RUN_ORDER_MAX = 6,   /* the largest is a chunk of 64 KiB */
	RUN_UNITS_PER_CHUNK = 1 << RUN_ORDER_MAX,
	RUN_ORDER_NONE = -1, /* the order of a chunk that is all in use */
};

#define RUN_NONE UINT64_MAX

struct run_chunk {
	struct list link; /* on by_order[order], unless nothing is free */
	uint64_t free;    /* bit i: unit i is free */
	int order;        /* of its largest free run, or RUN_ORDER_NONE */
};

struct runs {
	struct run_chunk *chunks;
	uint64_t units;
	uint64_t free_units;
	uint64_t low_units; /* the fewest that were ever free */
	struct list by_order[RUN_ORDER_MAX + 1];
};

/* All of @units are free.  -ENOMEM. */
MUST_USE int runs_init(struct runs *r, uint64_t units);
void runs_fini(struct runs *r);

/* The first unit of a free run of @order, now in use, or RUN_NONE. */
uint64_t runs_take(struct runs *r, int order);

/* Give back what runs_take() returned for @order, or an aligned part of it. */
void runs_give(struct runs *r, uint64_t unit, int order);

#endif /* CACHE_RUNS_H */
