/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tally.h - a count kept per CPU, exact only when asked to be.
 *
 * Additions store to this CPU's shard, and to the shared total once in about
 * TALLY_BATCH of them.  tally_near() reads the total alone: it is off by less
 * than TALLY_BATCH for each shard.  tally_sum() adds the shards and is exact
 * when nobody adds meanwhile.
 */
#ifndef BASE_TALLY_H
#define BASE_TALLY_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/cc.h"
#include "base/cpu.h"

enum { TALLY_BATCH = 64 };

struct tally_shard {
	LINE_ALIGNED _Atomic int64_t delta;
};

struct tally {
	struct tally_shard *shard; /* [const] */
	uint32_t shard_count;      /* [const] */
	LINE_ALIGNED _Atomic int64_t total;
};

/* -ENOMEM.  Pair with tally_fini(). */
MUST_USE int tally_init(struct tally *t);
void tally_fini(struct tally *t);

static inline void tally_add(struct tally *t, int64_t n)
{
	_Atomic int64_t *delta = &t->shard[cpu_shard(t->shard_count)].delta;
	int64_t now =
		atomic_fetch_add_explicit(delta, n, memory_order_relaxed) + n;

	if (LIKELY(now < TALLY_BATCH && now > -TALLY_BATCH))
		return;
	now = atomic_exchange_explicit(delta, 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&t->total, now, memory_order_relaxed);
}

static inline int64_t tally_near(const struct tally *t)
{
	return atomic_load_explicit(&t->total, memory_order_relaxed);
}

int64_t tally_sum(const struct tally *t);

#endif /* BASE_TALLY_H */
