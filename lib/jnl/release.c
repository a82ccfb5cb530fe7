/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * release.c - what a transaction freed is handed out, once that is safe.
 *
 * When the transaction is COMMITTED its freed blocks leave the checkpoint
 * lists at once, but a home write of one may be under way, and would land in
 * whatever the block is used for next (J3).  So frees queue up, transaction by
 * transaction, and whoever has ended a commit or a batch of home writes hands
 * out those that no write is under way to any more.  Nobody waits for it, least
 * of all the next commit (J6).
 */
#include <stdlib.h>

#include "jnl/jnl_int.h"
#include "sync/futex.h"
#include "sync/rcu.h"

void jnl_freed_drop(struct jnl_freed *freed)
{
	if (freed->buf != NULL)
		buf_put(freed->buf);
	free(freed);
}

/* The cached buffer of a freed block, pinned, if the journal still has it. */
static struct buf *freed_find_locked(struct jnl *j, struct jnl_freed *freed)
	REQUIRES(j->lock)
{
	struct buf *b = freed->buf;

	if (b != NULL)
		return b;
	rcu_begin();
	b = cache_peek_rcu(j->cache, freed->block);
	/* What is on a checkpoint list is pinned for it. */
	if (b != NULL && jnl_buf_of(b)->done != NULL)
		buf_pin(b);
	else
		b = NULL;
	rcu_end();
	return b;
}

void jnl_release_queue_locked(struct jnl *j, struct jnl_haul *haul)
{
	for (uint32_t i = 0; i < haul->freed_count; i++) {
		struct jnl_freed *freed = haul->freed[i];

		freed->stamp = haul->stamp;
		freed->next = NULL;
		freed->buf = freed_find_locked(j, freed);
		/* Its stamp stays: the running transaction may own the block
		 * already. */
		if (freed->buf != NULL)
			jnl_home_drop_locked(j, freed->buf);
		*j->release_end = freed;
		j->release_end = &freed->next;
	}
}

/*
 * Take what the oldest transaction freed off the queue.  False: there is no
 * such transaction, or a block of it is being written home.
 */
static bool release_take_locked(struct jnl *j, struct jnl_freed **out)
	REQUIRES(j->lock)
{
	struct jnl_freed **end = &j->release;
	struct jnl_freed *rest;

	if (j->releasing || j->released == atomic_load(&j->committed))
		return false;
	for (; *end != NULL && (*end)->stamp == j->released + 1;
		end = &(*end)->next)
		if ((*end)->buf != NULL && jnl_buf_of((*end)->buf)->going_home)
			return false;
	rest = *end;
	*end = NULL;
	*out = j->release;
	j->release = rest;
	if (rest == NULL)
		j->release_end = &j->release;
	return true;
}

static void release_out(struct jnl *j, struct jnl_freed *freed, uint64_t stamp)
{
	struct jnl_freed *next;

	for (; freed != NULL; freed = next) {
		blk_no block = freed->block;

		next = freed->next;
		jnl_freed_drop(freed);
		/* Should somebody still look at it, the clean copy stays cached
		 * until jnl_get_create() makes it new. */
		(void)!cache_forget(j->cache, block);
	}
	if (j->client->committed != NULL)
		j->client->committed(j->client_arg, (jnl_tid)stamp);
}

void jnl_release(struct jnl *j)
{
	struct jnl_freed *freed;

	mtx_lock(&j->lock);
	while (release_take_locked(j, &freed)) {
		uint64_t stamp = j->released + 1;

		/* One at a time, in order; whoever comes meanwhile leaves what
		 * it would do to this loop. */
		j->releasing = true;
		mtx_unlock(&j->lock);
		release_out(j, freed, stamp);
		mtx_lock(&j->lock);
		j->releasing = false;
		j->released = stamp;
		jnl_signal(&j->release_seq);
	}
	mtx_unlock(&j->lock);
}

void jnl_release_wait(struct jnl *j, uint64_t stamp)
{
	for (;;) {
		/* Read first: a release that ends after the look below has
		 * changed the word, and the sleep returns at once. */
		uint32_t seen = atomic_load(&j->release_seq);
		bool done;

		mtx_lock(&j->lock);
		done = j->released >= stamp;
		mtx_unlock(&j->lock);
		if (done)
			return;
		(void)futex_wait(&j->release_seq, seen, FUTEX_FOREVER);
	}
}
