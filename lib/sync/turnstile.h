/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * turnstile.h - counting who is inside, per CPU, until it is shut.
 *
 * For what everybody passes through and nobody may close under them: a mount.
 * Entering and leaving store to a per-CPU shard only.  Shutting and counting
 * are slow and rare.
 *
 * Whoever enters adds to a shard and then looks whether it is shut; whoever
 * shuts says so and then adds the shards up.  All four are sequentially
 * consistent, so one of the two sees the other.
 *
 * Who is inside remembers its shard and leaves by the same: so no shard falls
 * below zero, and once it is shut each only falls, which makes one look at
 * each of them enough.
 */
#ifndef SYNC_TURNSTILE_H
#define SYNC_TURNSTILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cc.h"
#include "base/cpu.h"

struct turnstile_shard {
	LINE_ALIGNED _Atomic int64_t inside;
};

struct turnstile {
	struct turnstile_shard *shard; /* [const] */
	uint32_t shard_count;          /* [const] */
	_Atomic bool shut;
};

/* -ENOMEM.  Pair with turnstile_fini(). */
MUST_USE int turnstile_init(struct turnstile *t);
void turnstile_fini(struct turnstile *t);

static inline void turnstile_leave(struct turnstile *t, uint32_t shard)
{
	atomic_fetch_sub(&t->shard[shard].inside, 1);
}

/* False: it is shut, and the caller is not inside.  *@shard is for leaving. */
MUST_USE static inline bool turnstile_enter(
	struct turnstile *t, uint32_t *shard)
{
	uint32_t by = cpu_shard(t->shard_count);

	/* Pairs with turnstile_shut(). */
	atomic_fetch_add(&t->shard[by].inside, 1);
	if (UNLIKELY(atomic_load(&t->shut))) {
		turnstile_leave(t, by);
		return false;
	}
	*shard = by;
	return true;
}

/*
 * Let nobody in any more.  True if nobody is inside; false: it is open again
 * and stays so.  Callers exclude each other.
 */
MUST_USE bool turnstile_shut(struct turnstile *t);

#endif /* SYNC_TURNSTILE_H */
