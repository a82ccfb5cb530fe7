/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * home.c - committed blocks go home, and then the log's tail moves on.
 *
 * A block is on the checkpoint list of the newest transaction that logged it.
 * It leaves the list when that version or a newer one is at home, when a newer
 * transaction logs it, or when it was freed.  A block that an uncommitted
 * transaction owns is skipped (J2): it moves when that one commits.
 *
 * The oldest transactions whose lists are empty give their log space back,
 * after what was written home is flushed and the superblock says so (J4).
 */
#include <errno.h>
#include <stdlib.h>

#include "jnl/jnl_int.h"

enum { HOME_BATCH = 1024 };

bool jnl_home_pressed_locked(struct jnl *j)
{
	uint32_t ring = j->super.end - j->super.first;

	if (j->log_dev == NULL)
		return false;
	return j->done_blocks > ring / 4 || j->home_blocks > j->home_most / 2 ||
	       (j->running == 0 && j->flushing == 0 && j->done_blocks != 0);
}

/* The cache's own thread calls: it finds too little to evict. */
void jnl_home_press(void *arg)
{
	struct jnl *j = arg;

	atomic_store(&j->pressed, true);
	jnl_signal(&j->home_work);
}

static void home_unlink_locked(struct jnl *j, struct jnl_buf *jb)
{
	list_del(&jb->home_link);
	jb->done->home_count--;
	jb->done = NULL;
	j->home_blocks--;
}

void jnl_home_drop_locked(struct jnl *j, struct buf *b)
{
	struct jnl_buf *jb = jnl_buf_of(b);

	if (jb->done == NULL)
		return;
	home_unlink_locked(j, jb);
	buf_put(b);
}

void jnl_home_add_locked(struct jnl *j, struct jnl_done *done, struct buf *b)
{
	struct jnl_buf *jb = jnl_buf_of(b);

	/* One pin per membership: a block that moves brings its own. */
	jnl_home_drop_locked(j, b);
	jb->done = done;
	list_add_tail(&done->home, &jb->home_link);
	done->home_count++;
	j->home_blocks++;
}

/* ---- a batch ------------------------------------------------------------------ */

static bool home_allowed(struct jnl *j, struct buf *b)
{
	return atomic_load(&jnl_buf_of(b)->stamp) <= atomic_load(&j->committed);
}

/* J2: under b->lock, so that nobody begins to edit it meanwhile. */
static bool home_want(struct buf *b, void *arg)
{
	return home_allowed(arg, b);
}

struct jnl_home_batch {
	struct buf *bufs[HOME_BATCH];
	int results[HOME_BATCH];
	uint32_t count;
	uint64_t limit; /* committed when it was picked */
};

int jnl_home_init(struct jnl *j)
{
	j->home_batch = malloc(sizeof(*j->home_batch));
	return j->home_batch == NULL ? -ENOMEM : 0;
}

static void home_pick(struct jnl *j, struct jnl_home_batch *batch)
{
	struct list *d;
	struct list *n;

	mtx_lock(&j->lock);
	batch->limit = atomic_load(&j->committed);
	list_for_each (d, &j->done) {
		struct jnl_done *done = LIST_ENTRY(d, struct jnl_done, link);

		list_for_each (n, &done->home) {
			struct jnl_buf *jb =
				LIST_ENTRY(n, struct jnl_buf, home_link);
			struct buf *b = jnl_buf_home(jb);

			if (batch->count == HOME_BATCH)
				break;
			if (!home_allowed(j, b))
				continue;
			jb->going_home = true;
			buf_pin(b);
			batch->bufs[batch->count++] = b;
		}
	}
	mtx_unlock(&j->lock);
}

/* Take off the lists what is at home now. */
static void home_settle(struct jnl *j, struct jnl_home_batch *batch)
{
	uint64_t written = 0;

	mtx_lock(&j->lock);
	for (uint32_t i = 0; i < batch->count; i++) {
		struct buf *b = batch->bufs[i];
		struct jnl_buf *jb = jnl_buf_of(b);

		jb->going_home = false;
		/* A newer transaction may have logged it while it was being
		 * written: then that version is still owed. */
		if (batch->results[i] == 0 && jb->done != NULL &&
			jb->done->stamp <= batch->limit) {
			home_unlink_locked(j, jb);
			buf_put(b);
		}
		written += batch->results[i] == 0;
		buf_put(b);
	}
	mtx_unlock(&j->lock);
	atomic_fetch_add(&j->stat_home, written);
}

/* ---- the tail ------------------------------------------------------------------- */

/* Move the oldest transactions that owe nothing to @gone. */
static uint32_t tail_collect(
	struct jnl *j, struct list *gone, uint32_t *start, jnl_tid *sequence)
{
	uint32_t blocks = 0;

	mtx_lock(&j->lock);
	*start = j->head;
	*sequence = j->next_sequence;
	while (!list_empty(&j->done)) {
		struct jnl_done *done =
			LIST_ENTRY(j->done.next, struct jnl_done, link);

		if (done->home_count != 0) {
			*start = done->log_start;
			*sequence = done->sequence;
			break;
		}
		blocks += done->log_blocks;
		list_del(&done->link);
		/* A commit finds a spare or an entry on the list. */
		if (j->spare == NULL)
			j->spare = done;
		else
			list_add_tail(gone, &done->link);
	}
	mtx_unlock(&j->lock);
	return blocks;
}

static void done_free_all(struct list *gone)
{
	struct list *pos;
	struct list *after;

	list_for_each_safe (pos, after, gone)
		free(LIST_ENTRY(pos, struct jnl_done, link));
	list_init(gone);
}

static int tail_move(struct jnl *j)
{
	struct list gone;
	jnl_tid sequence;
	uint32_t start;
	uint32_t blocks;
	int err;

	list_init(&gone);
	blocks = tail_collect(j, &gone, &start, &sequence);
	if (blocks == 0)
		return 0;
	/* J4: the home writes are durable before the tail says that they are
	 * not needed in the log; that is durable (the store flushes) before
	 * the space is written again. */
	err = blk_flush(j->home_dev);
	if (err == 0)
		err = jnl_superblock_store(j, start, sequence);
	if (err == 0) {
		mtx_lock(&j->lock);
		j->done_blocks -= blocks;
		jnl_txn_open_locked(j);
		jnl_check_debug_locked(j);
		mtx_unlock(&j->lock);
	}
	done_free_all(&gone);
	return err;
}

int jnl_home_some(struct jnl *j, bool *stuck)
{
	struct jnl_home_batch *batch = j->home_batch;
	int written;
	int err;

	batch->count = 0;
	home_pick(j, batch);
	*stuck = batch->count == 0;
	written = cache_write(j->cache, batch->bufs, batch->results,
		batch->count, home_want, j);
	home_settle(j, batch);
	/* Without memory for a write none was tried: that is no failure of the
	 * device, and the log still has what is owed. */
	err = written == -ENOMEM ? 0 : written;
	if (err == 0)
		err = jnl_error(j);
	if (err == 0)
		err = tail_move(j);
	if (err != 0)
		jnl_abort(j, err);
	return err != 0 ? err : written;
}

void jnl_home_discard(struct jnl *j)
{
	struct list gone;
	struct list *pos;

	list_init(&gone);
	mtx_lock(&j->lock);
	list_for_each (pos, &j->done) {
		struct jnl_done *done = LIST_ENTRY(pos, struct jnl_done, link);

		while (!list_empty(&done->home)) {
			struct jnl_buf *jb = LIST_ENTRY(
				done->home.next, struct jnl_buf, home_link);

			home_unlink_locked(j, jb);
			buf_put(jnl_buf_home(jb));
		}
	}
	list_splice_tail(&gone, &j->done);
	mtx_unlock(&j->lock);
	done_free_all(&gone);
}
