/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * admit_lock.c - a control: begin and end behind one sleeping lock.
 *
 * How ext3 entered its journal until 2003.
 */
#include <errno.h>

#include "base/cpu.h"
#include "jnl/jnl_int.h"

static int lock_take_locked(struct jnl *j, unsigned parity, uint32_t credits)
{
	int64_t pool = atomic_load(&j->pool[parity]);

	if (pool < (int64_t)credits)
		return -ENOSPC;
	atomic_store(&j->pool[parity], pool - credits);
	return 0;
}

static void lock_uncount_locked(struct jnl *j, struct jnl_op *op)
{
	atomic_fetch_sub(&j->updates[jnl_parity(op->stamp)], 1);
	if (atomic_load(&j->gate) != op->stamp)
		jnl_signal(&j->drain_seq);
}

static int lock_enter_locked(struct jnl *j, struct jnl_op *op, uint32_t credits)
{
	int err = -EAGAIN;

	op->stamp = atomic_load(&j->gate);
	if (op->stamp == 0)
		return -EAGAIN;
	op->shard = cpu_shard(j->shard_count);
	/* Pairs with the sealer's store to the gate, as in admit_percpu.c. */
	atomic_fetch_add(&j->updates[jnl_parity(op->stamp)], 1);
	if (atomic_load(&j->gate) == op->stamp)
		err = lock_take_locked(j, jnl_parity(op->stamp), credits);
	if (err != 0)
		lock_uncount_locked(j, op);
	return err;
}

static int lock_enter(struct jnl *j, struct jnl_op *op, uint32_t credits)
{
	int err;

	mtx_lock(&j->admit_lock);
	err = lock_enter_locked(j, op, credits);
	mtx_unlock(&j->admit_lock);
	return err;
}

static int lock_extend(struct jnl *j, struct jnl_op *op, uint32_t credits)
{
	int err;

	mtx_lock(&j->admit_lock);
	err = lock_take_locked(j, jnl_parity(op->stamp), credits);
	mtx_unlock(&j->admit_lock);
	return err;
}

static void lock_leave(struct jnl *j, struct jnl_op *op, uint32_t unused)
{
	mtx_lock(&j->admit_lock);
	atomic_fetch_add(&j->pool[jnl_parity(op->stamp)], unused);
	lock_uncount_locked(j, op);
	mtx_unlock(&j->admit_lock);
}

static void lock_open(struct jnl *j, uint64_t stamp, uint32_t credits)
{
	atomic_store(&j->pool[jnl_parity(stamp)], credits);
}

static bool lock_drained(struct jnl *j, uint64_t stamp)
{
	return atomic_load(&j->updates[jnl_parity(stamp)]) == 0;
}

const struct jnl_admit jnl_admit_lock = {
	.enter = lock_enter,
	.extend = lock_extend,
	.leave = lock_leave,
	.open = lock_open,
	.drained = lock_drained,
};
