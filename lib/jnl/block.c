/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * block.c - how a block joins a transaction, and leaves it when it is freed.
 *
 * The newest owner's stamp stands in the buffer; its own operations compare
 * it without a lock.  Whoever moves the stamp on, under the buffer's lock,
 * first sees to it that the FLUSHING transaction keeps the contents it needs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jnl/jnl_int.h"
#include "sync/rcu.h"

static struct jnl_op *op_outermost(struct jnl_op *op)
{
	return op->outer != NULL ? op->outer : op;
}

static struct jnl_shard *op_shard(const struct jnl_op *op)
{
	return &op->jnl->shard[jnl_parity(op->stamp)][op->shard];
}

static int op_pay(struct jnl_op *op)
{
	ASSERT(op->used < op->credits);
	if (op->used == op->credits)
		return -ENOSPC;
	op->used++;
	return 0;
}

/* The FLUSHING transaction still has to log what @b holds now. */
static int block_freeze(struct jnl_op *op, struct buf *b, struct jnl_buf *jb)
{
	struct jnl *j = op->jnl;
	void *copy = cache_copy_alloc(j->cache);

	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, b->data, j->block_bytes);
	jb->frozen = copy;
	atomic_fetch_add(&op_shard(op)->frozen, 1);
	return 0;
}

static void block_push(struct jnl_op *op, struct jnl_buf *jb)
{
	_Atomic(struct jnl_buf *) *top = &op_shard(op)->joined;
	struct jnl_buf *old = atomic_load_explicit(top, memory_order_relaxed);

	do
		jb->next[jnl_parity(op->stamp)] = old;
	while (!atomic_compare_exchange_weak_explicit(
		top, &old, jb, memory_order_release, memory_order_relaxed));
}

/* @jb becomes part of @op's transaction; b->lock is held. */
static int block_join_locked(
	struct jnl_op *op, struct buf *b, struct jnl_buf *jb, bool folded)
{
	unsigned mine = jnl_parity(op->stamp);
	bool wanted = !folded && jb->frozen == NULL &&
		      jnl_member_joined(jb->member[!mine]);
	bool new = jb->member[mine] == MEMBER_NONE;
	int err = new ? op_pay(op) : 0;

	if (err != 0)
		return err;
	if (wanted)
		err = block_freeze(op, b, jb);
	if (err != 0) {
		op->used -= new;
		return err;
	}
	jb->folded = folded;
	if (new) {
		buf_pin(b);
		block_push(op, jb);
		jb->member[mine] = MEMBER_JOINED;
	} else if (jb->member[mine] == MEMBER_FORGOTTEN) {
		jb->member[mine] = MEMBER_REJOINED;
	}
	/* Last: whoever sees it without the lock may edit at once. */
	atomic_store_explicit(&jb->stamp, op->stamp, memory_order_release);
	return 0;
}

static int block_join(struct jnl_op *op, struct buf *b, bool folded)
{
	struct jnl_buf *jb = jnl_buf_of(b);
	int err;

	op = op_outermost(op);
	mtx_lock(&b->lock);
	err = block_join_locked(op, b, jb, folded);
	mtx_unlock(&b->lock);
	return err;
}

static bool block_is_mine(const struct jnl_op *op, struct buf *b)
{
	/* Pairs with the release in block_join_locked(). */
	return atomic_load_explicit(&jnl_buf_of(b)->stamp,
		       memory_order_acquire) == op->stamp;
}

int jnl_get_write(struct jnl_op *op, struct buf *b)
{
	return LIKELY(block_is_mine(op, b)) ? 0 : block_join(op, b, false);
}

int jnl_get_create(struct jnl_op *op, struct buf *b)
{
	return block_join(op, b, false);
}

int jnl_pledge(struct jnl_op *op, struct buf *b)
{
	return LIKELY(block_is_mine(op, b)) ? 0 : block_join(op, b, true);
}

/* The cached buffer of @block if @op's transaction holds it, pinned. */
static struct buf *block_find_joined(struct jnl_op *op, blk_no block)
{
	unsigned mine = jnl_parity(op->stamp);
	struct buf *b;

	rcu_begin();
	b = cache_peek_rcu(op->jnl->cache, block);
	if (b != NULL) {
		bool joined;

		mtx_lock(&b->lock);
		joined = jnl_member_joined(jnl_buf_of(b)->member[mine]);
		/* A member is pinned until its transaction commits, which it
		 * cannot while @op is open. */
		if (joined)
			buf_pin(b);
		mtx_unlock(&b->lock);
		if (!joined)
			b = NULL;
	}
	rcu_end();
	return b;
}

/* *@listed: it was freed in this transaction before, and stays on the list of
 * what was; so that list is no longer than what was paid for. */
static int block_mark_forgotten(struct jnl_op *op, struct buf *b, bool *listed)
{
	uint8_t *member = &jnl_buf_of(b)->member[jnl_parity(op->stamp)];
	int err = 0;

	mtx_lock(&b->lock);
	*listed = *member == MEMBER_FORGOTTEN || *member == MEMBER_REJOINED;
	if (*member == MEMBER_NONE)
		err = op_pay(op);
	else
		*member = MEMBER_FORGOTTEN;
	mtx_unlock(&b->lock);
	return err;
}

static void freed_push(struct jnl_op *op, struct jnl_freed *freed)
{
	_Atomic(struct jnl_freed *) *top = &op_shard(op)->freed;

	freed->next = atomic_load_explicit(top, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(top, &freed->next, freed,
		memory_order_release, memory_order_relaxed))
		;
}

int jnl_forget(struct jnl_op *op, blk_no block, struct buf *b)
{
	struct jnl_freed *freed = malloc(sizeof(*freed));
	bool listed = false;
	int err;

	if (freed == NULL)
		return -ENOMEM;
	op = op_outermost(op);
	if (b != NULL)
		buf_pin(b);
	else
		b = block_find_joined(op, block);
	*freed = (struct jnl_freed){.block = block, .buf = b};
	err = b != NULL ? block_mark_forgotten(op, b, &listed) : op_pay(op);
	if (err != 0 || listed)
		goto out_put;
	freed_push(op, freed);
	return 0;

out_put:
	if (b != NULL)
		buf_put(b);
	free(freed);
	return err;
}

void jnl_ordered_begin(struct jnl_op *op, struct jnl_ordered *io)
{
	op = op_outermost(op);
	*io = (struct jnl_ordered){
		.tid = (jnl_tid)op->stamp, .shard = op->shard};
	atomic_store_explicit(
		&op_shard(op)->ordered_seen, true, memory_order_relaxed);
	atomic_fetch_add(&op_shard(op)->ordered, 1);
}

void jnl_ordered_end(struct jnl *j, const struct jnl_ordered *io, int error)
{
	if (error != 0)
		jnl_abort(j, error);
	/* Pairs with jnl_txn_wait_ordered(): it says that it waits, then
	 * looks; here the count falls, then the word is read. */
	atomic_fetch_sub(&j->shard[io->tid & 1][io->shard].ordered, 1);
	if (atomic_load(&j->ordered_waiting))
		jnl_signal(&j->drain_seq);
}
