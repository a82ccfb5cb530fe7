/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * commit.c - one transaction from sealed to COMMITTED, step by step.
 *
 *    seal and drain      txn.c; the next transaction opens here
 *    wait for ordered data
 *    fold                the client's state into its pledged blocks
 *    gather              what joined, what was freed, sorted by block
 *    record              record.c; durable when it returns
 *    publish             COMMITTED: waiters go on, blocks may go home
 *
 * What it freed is handed out afterwards, without the commit's lock: release.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "jnl/jnl_int.h"

struct jnl_fold {
	struct jnl *jnl;
	uint64_t stamp;
};

int jnl_fold_write(struct jnl_fold *f, struct buf *b)
{
	struct jnl_buf *jb = jnl_buf_of(b);

	if (!jb->folded || !jnl_member_joined(jb->member[jnl_parity(f->stamp)]))
		return -EUCLEAN;
	return 0;
}

static int commit_fold(struct jnl *j, uint64_t stamp)
{
	struct jnl_fold fold = {.jnl = j, .stamp = stamp};

	if (j->client->fold == NULL)
		return 0;
	return j->client->fold(j->client_arg, &fold, (jnl_tid)stamp);
}

/* ---- gather ---------------------------------------------------------------- */

static int order(blk_no a, blk_no b)
{
	return a < b ? -1 : a > b;
}

static int order_logged(const void *a, const void *b)
{
	return order(((const struct jnl_logged *)a)->block,
		((const struct jnl_logged *)b)->block);
}

static int order_freed(const void *a, const void *b)
{
	return order((*(struct jnl_freed *const *)a)->block,
		(*(struct jnl_freed *const *)b)->block);
}

/* A block that was freed after it joined is not logged. */
static void gather_joined(
	struct jnl *j, struct jnl_haul *haul, struct jnl_buf *jb)
{
	unsigned parity = jnl_parity(haul->stamp);
	struct jnl_buf *next;

	for (; jb != NULL; jb = next) {
		struct buf *b = jnl_buf_home(jb);
		bool joined;

		next = jb->next[parity];
		mtx_lock(&b->lock);
		joined = jnl_member_joined(jb->member[parity]);
		if (!joined)
			jb->member[parity] = MEMBER_NONE;
		mtx_unlock(&b->lock);
		if (!joined) {
			buf_put(b);
			continue;
		}
		ASSERT(haul->count < j->max_blocks);
		haul->logged[haul->count++] = (struct jnl_logged){b->block, b};
	}
}

static void gather_freed(
	struct jnl *j, struct jnl_haul *haul, struct jnl_freed *freed)
{
	(void)j;
	for (; freed != NULL; freed = freed->next) {
		ASSERT(haul->freed_count < j->max_blocks);
		haul->freed[haul->freed_count++] = freed;
	}
}

/*
 * Freed and then joined again means that the block is metadata once more:
 * its copy must be replayed, so it is not revoked.  One revoke a block.
 */
static void gather_settle(struct jnl_haul *haul)
{
	uint32_t kept = 0;
	uint32_t b = 0;

	qsort(haul->logged, haul->count, sizeof(struct jnl_logged),
		order_logged);
	qsort(haul->freed, haul->freed_count, sizeof(struct jnl_freed *),
		order_freed);
	for (uint32_t i = 0; i < haul->freed_count; i++) {
		struct jnl_freed *freed = haul->freed[i];

		while (b < haul->count && haul->logged[b].block < freed->block)
			b++;
		if ((b < haul->count &&
			    haul->logged[b].block == freed->block) ||
			(kept > 0 &&
				haul->freed[kept - 1]->block == freed->block))
			jnl_freed_drop(freed);
		else
			haul->freed[kept++] = freed;
	}
	haul->freed_count = kept;
}

static void commit_gather(struct jnl *j, struct jnl_haul *haul)
{
	struct jnl_shard *shards = j->shard[jnl_parity(haul->stamp)];

	haul->logged = j->logged;
	haul->freed = j->freed;
	for (uint32_t i = 0; i < j->shard_count; i++) {
		struct jnl_shard *s = &shards[i];

		gather_joined(j, haul, atomic_exchange(&s->joined, NULL));
		gather_freed(j, haul, atomic_exchange(&s->freed, NULL));
		haul->ordered |= atomic_exchange(&s->ordered_seen, false);
	}
	gather_settle(haul);
}

/* ---- publish ---------------------------------------------------------------- */

/* Without memory for an entry of its own the newest one grows: there is one,
 * or tail_collect() has left a spare. */
static struct jnl_done *publish_entry_locked(
	struct jnl *j, const struct jnl_haul *haul) REQUIRES(j->lock)
{
	struct jnl_done *done = j->spare;

	if (done == NULL) {
		ASSERT(!list_empty(&j->done));
		done = LIST_ENTRY(j->done.prev, struct jnl_done, link);
		done->stamp = haul->stamp;
		done->log_blocks += haul->log_blocks;
		return done;
	}
	j->spare = NULL;
	*done = (struct jnl_done){.stamp = haul->stamp,
		.sequence = j->next_sequence,
		.log_start = j->head,
		.log_blocks = haul->log_blocks};
	list_init(&done->home);
	list_add_tail(&j->done, &done->link);
	return done;
}

static void publish_log_locked(struct jnl *j, struct jnl_haul *haul)
	REQUIRES(j->lock)
{
	struct jnl_done *done = publish_entry_locked(j, haul);
	uint32_t ring = j->super.end - j->super.first;

	j->head = j->super.first +
		  (j->head - j->super.first + haul->log_blocks) % ring;
	j->next_sequence++;
	j->done_blocks += haul->log_blocks;
	for (uint32_t i = 0; i < haul->count; i++)
		jnl_home_add_locked(j, done, haul->logged[i].buf);
}

static void commit_publish(struct jnl *j, struct jnl_haul *haul)
{
	mtx_lock(&j->lock);
	if (haul->log_blocks != 0)
		publish_log_locked(j, haul);
	jnl_release_queue_locked(j, haul);
	j->flushing = 0;
	atomic_store(&j->committed, haul->stamp);
	jnl_txn_open_locked(j);
	if (jnl_home_pressed_locked(j))
		jnl_signal(&j->home_work);
	jnl_check_debug_locked(j);
	mtx_unlock(&j->lock);
	for (uint32_t i = 0; i < haul->count && haul->log_blocks == 0; i++)
		buf_put(haul->logged[i].buf);
}

/* ---- the whole ----------------------------------------------------------------- */

/*
 * Before the first log write: the file system says that it needs recovery,
 * and the journal where to look.  A log that holds an unfinished transaction
 * there recovers nothing.
 */
static int commit_first(struct jnl *j)
{
	int err = 0;

	if (j->recovery_flagged)
		return 0;
	if (j->client->need_recovery != NULL)
		err = j->client->need_recovery(j->client_arg, true);
	if (err == 0)
		err = jnl_superblock_store(j, j->head, j->next_sequence);
	j->recovery_flagged = err == 0;
	return err;
}

static int commit_record(struct jnl *j, struct jnl_haul *haul)
	REQUIRES(j->commit_lock)
{
	int err;

	if (haul->count == 0 && haul->freed_count == 0)
		return haul->ordered ? blk_flush(j->home_dev) : 0;
	if (j->log_dev == NULL)
		return jnl_record_home(j, haul);
	err = commit_first(j);
	return err == 0 ? jnl_record_log(j, haul) : err;
}

/* What does not commit: back to where nobody logs or writes it. */
static void haul_discard(struct jnl *j, struct jnl_haul *haul)
{
	unsigned parity = jnl_parity(haul->stamp);

	for (uint32_t i = 0; i < haul->count; i++) {
		struct buf *b = haul->logged[i].buf;
		struct jnl_buf *jb = jnl_buf_of(b);

		mtx_lock(&b->lock);
		jb->member[parity] = MEMBER_NONE;
		if (jb->frozen != NULL)
			cache_copy_free(j->cache, jb->frozen);
		jb->frozen = NULL;
		mtx_unlock(&b->lock);
		buf_put(b);
	}
	for (uint32_t i = 0; i < haul->freed_count; i++)
		jnl_freed_drop(haul->freed[i]);
}

void jnl_commit_discard(struct jnl *j, uint64_t stamp)
{
	struct jnl_haul haul = {.stamp = stamp};

	commit_gather(j, &haul);
	haul_discard(j, &haul);
}

static int commit_flushing(struct jnl *j, struct jnl_haul *haul)
	REQUIRES(j->commit_lock)
{
	int err;

	jnl_txn_wait_ordered(j, haul->stamp);
	err = jnl_error(j);
	if (err == 0)
		err = commit_fold(j, haul->stamp);
	commit_gather(j, haul);
	if (err == 0)
		err = jnl_error(j);
	if (err == 0)
		err = commit_record(j, haul);
	/* An abort that came in between wins: nobody is told of success. */
	return err != 0 ? err : jnl_error(j);
}

static void commit_account(struct jnl *j, uint64_t began)
{
	uint64_t took = jnl_now() - began;

	j->stats.commits++;
	j->stats.commit_ns_sum += took;
	j->commit_ns_mean = (j->commit_ns_mean * 7 + took) / 8;
}

/* An entry for the list, if there is memory. */
static void commit_provide(struct jnl *j)
{
	struct jnl_done *done = NULL;
	bool wanted;

	mtx_lock(&j->lock);
	wanted = j->spare == NULL;
	mtx_unlock(&j->lock);
	if (wanted)
		done = malloc(sizeof(*done));
	mtx_lock(&j->lock);
	if (j->spare == NULL) {
		j->spare = done;
		done = NULL;
	}
	mtx_unlock(&j->lock);
	free(done);
}

int jnl_commit(struct jnl *j)
{
	struct jnl_haul haul = {0};
	uint64_t began = jnl_now();
	int err;

	if (jnl_error(j) != 0)
		return -EIO;
	commit_provide(j);
	haul.stamp = jnl_txn_seal(j);
	if (haul.stamp == 0)
		return 0;
	err = commit_flushing(j, &haul);
	if (err != 0) {
		jnl_abort(j, err);
		haul_discard(j, &haul);
		mtx_lock(&j->lock);
		j->flushing = 0;
		mtx_unlock(&j->lock);
		return -EIO;
	}
	commit_publish(j, &haul);
	commit_account(j, began);
	jnl_signal(&j->commit_seq);
	return 0;
}
