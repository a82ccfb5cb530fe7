/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * admit_percpu.c - one word per CPU counts open operations and credits.
 *
 * The word: open operations in the high half, credits leased to this CPU and
 * not in use in the low half, biased so that a short-lived underflow never
 * borrows from the count.  Entering is one atomic addition, leaving another.
 *
 * Against the sealer (Dekker's pattern): an operation adds itself to its
 * shard, then reads the gate; the sealer closes the gate, then reads the
 * shards.  All four are sequentially consistent, so either the operation sees
 * a closed gate and withdraws, or the sealer sees the operation and waits.
 *
 * Credits come from the transaction's pool in leases that shrink as the pool
 * does; near the limit leases of other CPUs are recalled.  A lease is taken
 * while the operation is counted, so it cannot outlive its transaction.
 */
#include <errno.h>
#include <sched.h>

#include "base/cpu.h"
#include "jnl/jnl_int.h"

#define ONE_OP  (UINT64_C(1) << 32)
#define BIAS    (UINT64_C(1) << 31)
#define LOW(w)  ((int64_t)((w)&UINT32_MAX) - (int64_t)BIAS)
#define HIGH(w) ((w) >> 32)

enum { LEASE_BLOCKS = 256 };

static struct jnl_shard *percpu_shard(struct jnl *j, const struct jnl_op *op)
{
	return &j->shard[jnl_parity(op->stamp)][op->shard];
}

/* Add to @op's word, and wake the sealer if it may be waiting for that. */
static void percpu_leave_word(struct jnl *j, struct jnl_op *op, uint64_t delta)
{
	atomic_fetch_add(&percpu_shard(j, op)->word, delta);
	if (UNLIKELY(atomic_load(&j->gate) != op->stamp))
		jnl_signal(&j->drain_seq);
}

/* Bring the leases of all CPUs back into the pool. */
static void percpu_recall(struct jnl *j, unsigned parity)
{
	for (uint32_t i = 0; i < j->shard_count; i++) {
		_Atomic uint64_t *word = &j->shard[parity][i].word;
		uint64_t seen = atomic_load(word);

		while (LOW(seen) > 0) {
			uint64_t lease = (uint64_t)LOW(seen);

			if (!atomic_compare_exchange_weak(
				    word, &seen, seen - lease))
				continue;
			atomic_fetch_add(&j->pool[parity], (int64_t)lease);
			break;
		}
	}
}

/* Take @least credits or more from the pool of @op's transaction; 0: no. */
static uint64_t percpu_draw(
	struct jnl *j, const struct jnl_op *op, uint32_t least)
{
	_Atomic int64_t *from = &j->pool[jnl_parity(op->stamp)];
	int64_t pool = atomic_load(from);
	int64_t lease;

	do {
		if (pool < (int64_t)least)
			return 0;
		lease = pool / (2 * (int64_t)j->shard_count);
		if (lease > LEASE_BLOCKS)
			lease = LEASE_BLOCKS;
		if (lease < (int64_t)least)
			lease = least;
	} while (!atomic_compare_exchange_weak(from, &pool, pool - lease));
	if (pool - lease < j->max_blocks / 4)
		jnl_kick(j, (jnl_tid)op->stamp);
	return (uint64_t)lease;
}

/*
 * @op is counted and has taken @credits that its word did not have: make up
 * for them, or give them back.
 */
static int percpu_make_up(struct jnl *j, struct jnl_op *op, uint32_t credits)
{
	uint64_t lease = percpu_draw(j, op, credits);

	if (lease == 0) {
		percpu_recall(j, jnl_parity(op->stamp));
		lease = percpu_draw(j, op, credits);
	}
	if (lease == 0) {
		atomic_fetch_add(&percpu_shard(j, op)->word, credits);
		return -ENOSPC;
	}
	atomic_fetch_add(&percpu_shard(j, op)->word, lease);
	return 0;
}

/* @op is counted, its credits are still to be found. */
NOINLINE static int percpu_enter_poor(
	struct jnl *j, struct jnl_op *op, uint32_t credits)
{
	int err = percpu_make_up(j, op, credits);

	if (err != 0)
		percpu_leave_word(j, op, -ONE_OP);
	return err;
}

/* @op is counted, but cannot stay. */
NOINLINE static int percpu_withdraw(
	struct jnl *j, struct jnl_op *op, uint32_t credits)
{
	percpu_leave_word(j, op, credits - ONE_OP);
	return -EAGAIN;
}

static int percpu_enter(struct jnl *j, struct jnl_op *op, uint32_t credits)
{
	uint64_t stamp = atomic_load(&j->gate);
	struct jnl_shard *s;
	uint64_t word;

	op->stamp = stamp;
	if (UNLIKELY(stamp == 0))
		return -EAGAIN;
	op->shard = cpu_shard(j->shard_count);
	s = percpu_shard(j, op);
	/* Pairs with the sealer's store to the gate: see above. */
	word = atomic_fetch_add(&s->word, ONE_OP - credits);
	if (UNLIKELY(atomic_load(&j->gate) != stamp))
		return percpu_withdraw(j, op, credits);
	if (UNLIKELY(LOW(word) < (int64_t)credits))
		return percpu_enter_poor(j, op, credits);
	return 0;
}

static int percpu_extend(struct jnl *j, struct jnl_op *op, uint32_t credits)
{
	uint64_t word = atomic_fetch_sub(&percpu_shard(j, op)->word, credits);

	if (LOW(word) < (int64_t)credits)
		return percpu_make_up(j, op, credits);
	return 0;
}

static void percpu_leave(struct jnl *j, struct jnl_op *op, uint32_t unused)
{
	percpu_leave_word(j, op, unused - ONE_OP);
}

/* Drop what is left of the leases of the transaction before the last.  Late
 * comers of that one may still add and withdraw themselves; a word is reset
 * only while none is counted, so what they withdraw is what they added. */
static void percpu_open(struct jnl *j, uint64_t stamp, uint32_t credits)
{
	unsigned parity = jnl_parity(stamp);

	for (uint32_t i = 0; i < j->shard_count; i++) {
		_Atomic uint64_t *word = &j->shard[parity][i].word;
		uint64_t seen = atomic_load(word);

		while (HIGH(seen) != 0 ||
			!atomic_compare_exchange_weak(word, &seen, BIAS)) {
			if (HIGH(seen) != 0)
				(void)sched_yield();
			seen = atomic_load(word);
		}
	}
	atomic_store(&j->pool[parity], credits);
}

static bool percpu_drained(struct jnl *j, uint64_t stamp)
{
	for (uint32_t i = 0; i < j->shard_count; i++)
		if (HIGH(atomic_load(&j->shard[jnl_parity(stamp)][i].word)) !=
			0)
			return false;
	return true;
}

const struct jnl_admit jnl_admit_percpu = {
	.enter = percpu_enter,
	.extend = percpu_extend,
	.leave = percpu_leave,
	.open = percpu_open,
	.drained = percpu_drained,
};
