/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * op.c - an operation's life: begin, extend, restart, end.
 *
 * Waiting happens in jnl_begin() only, before the operation is inside.
 */
#include <errno.h>

#include "jnl/jnl_int.h"
#include "sync/futex.h"

/* The operations that this thread has open, innermost first. */
static _Thread_local struct jnl_op *op_current;

static struct jnl_op *op_find(const struct jnl *j)
{
	struct jnl_op *op = op_current;

	while (op != NULL && op->jnl != j)
		op = op->above;
	return op;
}

static void op_push(struct jnl_op *op)
{
	op->above = op_current;
	op_current = op;
	cache_ops_open++;
	rank_enter(RANK_JNL_OP, op);
}

static void op_pop(struct jnl_op *op)
{
	ASSERT(op_current == op);
	rank_leave(RANK_JNL_OP, op);
	cache_ops_open--;
	op_current = op->above;
}

NOINLINE static int op_nest(
	struct jnl_op *outer, uint32_t credits, struct jnl_op *op)
{
	int err = jnl_extend(outer, credits);

	if (err != 0)
		return err;
	*op = (struct jnl_op){.jnl = outer->jnl,
		.outer = outer,
		.stamp = outer->stamp,
		.credits = credits};
	return 0;
}

static inline int op_try(struct jnl *j, struct jnl_op *op, uint32_t credits)
{
	return UNLIKELY(atomic_load(&j->error) != 0)
		       ? -EROFS
		       : j->admit->enter(j, op, credits);
}

/* The first attempt met a closed gate, or no room.  All that is needed stands
 * in @op, so that jnl_begin() has nothing else to keep across the attempt. */
NOINLINE static int op_enter_late(struct jnl_op *op)
{
	struct jnl *j = op->jnl;
	bool waited = false;

	for (;;) {
		/* Read before the attempt: a gate that opens after it has
		 * changed the word, and the wait below returns at once. */
		uint32_t seen = atomic_load(&j->gate_seq);
		int err = op_try(j, op, op->credits);

		if (err != -EAGAIN && err != -ENOSPC)
			return err;
		if (err == -ENOSPC)
			jnl_kick(j, (jnl_tid)op->stamp);
		if (!waited)
			atomic_fetch_add(&j->stat_begin_waits, 1);
		waited = true;
		(void)futex_wait(&j->gate_seq, seen, FUTEX_FOREVER);
	}
}

int jnl_begin(struct jnl *j, uint32_t credits, struct jnl_op *op)
{
	struct jnl_op *outer = op_find(j);
	int err;

	if (UNLIKELY(outer != NULL))
		return op_nest(outer, credits, op);
	if (credits > j->op_max)
		return -ENOSPC;
	rank_assert_below(RANK_JNL_OP);
	op->jnl = j;
	op->outer = NULL;
	op->credits = credits;
	op->used = 0;
	err = op_try(j, op, credits);
	if (UNLIKELY(err != 0))
		err = op_enter_late(op);
	if (LIKELY(err == 0))
		op_push(op);
	return err;
}

int jnl_extend(struct jnl_op *op, uint32_t credits)
{
	struct jnl *j = op->jnl;

	if (op->outer != NULL)
		op = op->outer;
	if (j->admit->extend(j, op, credits) != 0) {
		jnl_kick(j, (jnl_tid)op->stamp);
		return -EAGAIN;
	}
	op->credits += credits;
	return 0;
}

jnl_tid jnl_end(struct jnl_op *op)
{
	jnl_tid tid = (jnl_tid)op->stamp;

	if (op->outer != NULL)
		return tid;
	op_pop(op);
	op->jnl->admit->leave(op->jnl, op, op->credits - op->used);
	return tid;
}

int jnl_restart(struct jnl_op *op, uint32_t credits)
{
	struct jnl *j = op->jnl;

	ASSERT(op->outer == NULL);
	(void)jnl_end(op);
	return jnl_begin(j, credits, op);
}
