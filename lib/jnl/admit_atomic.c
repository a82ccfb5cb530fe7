/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * admit_atomic.c - a control: two atomic counters that all CPUs share.
 *
 * What the kernel came to in 2010: no lock, but every begin and end writes
 * the same two lines.
 */
#include <errno.h>

#include "base/cpu.h"
#include "jnl/jnl_int.h"

static int atomic_take(struct jnl *j, unsigned parity, uint32_t credits)
{
	if (atomic_fetch_sub(&j->pool[parity], credits) >= (int64_t)credits)
		return 0;
	atomic_fetch_add(&j->pool[parity], credits);
	return -ENOSPC;
}

static void atomic_uncount(struct jnl *j, struct jnl_op *op)
{
	atomic_fetch_sub(&j->updates[jnl_parity(op->stamp)], 1);
	if (UNLIKELY(atomic_load(&j->gate) != op->stamp))
		jnl_signal(&j->drain_seq);
}

static int atomic_enter(struct jnl *j, struct jnl_op *op, uint32_t credits)
{
	int err = -EAGAIN;

	op->stamp = atomic_load(&j->gate);
	if (op->stamp == 0)
		return -EAGAIN;
	op->shard = cpu_shard(j->shard_count);
	/* Pairs with the sealer's store to the gate, as in admit_percpu.c. */
	atomic_fetch_add(&j->updates[jnl_parity(op->stamp)], 1);
	if (LIKELY(atomic_load(&j->gate) == op->stamp))
		err = atomic_take(j, jnl_parity(op->stamp), credits);
	if (err != 0)
		atomic_uncount(j, op);
	return err;
}

static int atomic_extend(struct jnl *j, struct jnl_op *op, uint32_t credits)
{
	return atomic_take(j, jnl_parity(op->stamp), credits);
}

static void atomic_leave(struct jnl *j, struct jnl_op *op, uint32_t unused)
{
	atomic_fetch_add(&j->pool[jnl_parity(op->stamp)], unused);
	atomic_uncount(j, op);
}

static bool atomic_drained(struct jnl *j, uint64_t stamp)
{
	return atomic_load(&j->updates[jnl_parity(stamp)]) == 0;
}

static void atomic_open(struct jnl *j, uint64_t stamp, uint32_t credits)
{
	/* Late comers of the transaction before the last never reach the pool:
	 * they see that the gate has moved first. */
	atomic_store(&j->pool[jnl_parity(stamp)], credits);
}

const struct jnl_admit jnl_admit_atomic = {
	.enter = atomic_enter,
	.extend = atomic_extend,
	.leave = atomic_leave,
	.open = atomic_open,
	.drained = atomic_drained,
};
