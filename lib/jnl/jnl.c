/* SPDX-License-Identifier: BSD-2-Clause */
/* jnl.c - a journal opens, aborts, and closes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/log.h"
#include "jnl/jnl_int.h"
#include "sync/futex.h"

enum {
	COMMIT_MS_DEFAULT = 5000, /* jbd2's */
	BLOCKS_LEAST = 8,         /* smaller transactions serve nobody */
	TID_BITS = 40,            /* of a stamp, below the journal's number */
	DIRECT_ALIGN = 4096,
	PATIENCE = 7, /* tries of a checkpoint that finds no memory */
};

static struct lock_class class_commit = {
	.name = "jnl.commit", .rank = RANK_JNL_COMMIT};
static struct lock_class class_home = {
	.name = "jnl.home", .rank = RANK_JNL_COMMIT};
static struct lock_class class_admit = {.name = "jnl.admit", .rank = RANK_JNL};
static struct lock_class class_lists = {.name = "jnl.lists", .rank = RANK_JNL};
static struct lock_class class_super = {.name = "jnl.super", .rank = RANK_JNL};

uint64_t jnl_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void jnl_signal(_Atomic uint32_t *word)
{
	atomic_fetch_add(word, 1);
	futex_wake_all(word);
}

uint64_t jnl_stamp_of(struct jnl *j, jnl_tid tid)
{
	uint64_t near = atomic_load(&j->committed);

	return near + (uint64_t)(int64_t)(int32_t)(tid - (jnl_tid)near);
}

/* ---- opening ------------------------------------------------------------------ */

/* A zeroed log block, so aligned that direct I/O needs no copy of it. */
static unsigned char *open_block(const struct jnl *j)
{
	void *block;

	if (posix_memalign(&block, DIRECT_ALIGN, j->block_bytes) != 0)
		return NULL;
	return memset(block, 0, j->block_bytes);
}

static int open_place(struct jnl *j, const struct jnl_place *place)
{
	size_t bytes = place->map_count * sizeof(*place->map);
	struct jnl_extent *map = malloc(bytes);

	if (map == NULL)
		return -ENOMEM;
	memcpy(map, place->map, bytes);
	j->place = *place;
	j->place.map = map;
	j->log_dev = place->dev;
	j->super_raw = open_block(j);
	j->commit_block = open_block(j);
	if (j->super_raw == NULL || j->commit_block == NULL)
		return -ENOMEM;
	return place->block_bytes == j->block_bytes ? 0 : -EINVAL;
}

/* J6: the most blocks of a transaction. */
static int open_limits(struct jnl *j, const struct jnl_opts *opts)
{
	uint32_t piece = jnl_piece_blocks(j->block_bytes);
	uint64_t arena = cache_capacity_blocks(j->cache);
	uint64_t most = arena / 8;
	uint32_t ring = j->super.end - j->super.first;

	if (opts->max_blocks != 0 && most > opts->max_blocks)
		most = opts->max_blocks;
	if (j->log_dev != NULL && most > ring / 4)
		most = ring / 4;
	while (j->log_dev != NULL && most >= BLOCKS_LEAST &&
		jnl_record_need(&j->super, (uint32_t)most, piece) > ring / 4)
		most -= most / 16 + 1;
	if (most < BLOCKS_LEAST)
		return -ENOSPC;
	j->max_blocks = (uint32_t)most;
	j->op_max = j->max_blocks / 2;
	j->home_most = arena / 4;
	if (j->log_dev != NULL)
		j->log_need = jnl_record_need(&j->super, j->max_blocks, piece);
	return 0;
}

static int open_shards(struct jnl *j)
{
	size_t bytes = sizeof(struct jnl_shard) * cpu_count();

	j->shard_count = cpu_count();
	for (int i = 0; i < 2; i++) {
		j->shard[i] = aligned_alloc(LINE_BYTES, bytes);
		if (j->shard[i] == NULL)
			return -ENOMEM;
		memset(j->shard[i], 0, bytes);
	}
	return 0;
}

/* Room for the largest transaction, or for as much as is in flight at once. */
static int open_stream(struct jnl *j)
{
	struct blk_dev *dev = j->log_dev != NULL ? j->log_dev : j->home_dev;
	uint32_t most = j->log_dev != NULL ? j->log_need : j->max_blocks;
	uint32_t piece = jnl_piece_blocks(j->block_bytes);
	uint32_t pieces = (most + piece - 1) / piece;
	uint32_t ring = JNL_RING_BYTES / j->block_bytes / piece;

	return jnl_stream_init(&j->stream, dev, j->block_bytes, piece,
		pieces < ring ? pieces : ring);
}

static int open_buffers(struct jnl *j)
{
	int err;

	j->logged = calloc(j->max_blocks, sizeof(*j->logged));
	j->freed = calloc(j->max_blocks, sizeof(struct jnl_freed *));
	j->spare = malloc(sizeof(*j->spare));
	if (j->logged == NULL || j->freed == NULL || j->spare == NULL)
		return -ENOMEM;
	err = jnl_home_init(j);
	if (err == 0)
		err = open_stream(j);
	if (err != 0)
		return err;
	/* The copies that the FLUSHING transaction may need. */
	err = cache_reserve(j->cache, j->max_blocks);
	if (err == 0)
		j->reserved = j->max_blocks;
	return err;
}

static void open_init(struct jnl *j, const struct jnl_opts *opts)
{
	static const struct jnl_admit *const admits[] = {
		[JNL_ADMIT_PERCPU] = &jnl_admit_percpu,
		[JNL_ADMIT_ATOMIC] = &jnl_admit_atomic,
		[JNL_ADMIT_LOCK] = &jnl_admit_lock,
	};
	static _Atomic uint64_t journals;
	uint64_t ms =
		opts->commit_ms != 0 ? opts->commit_ms : COMMIT_MS_DEFAULT;

	j->admit = admits[opts->admission];
	j->cache = opts->cache;
	j->home_dev = cache_dev(opts->cache);
	j->block_bytes = cache_block_bytes(opts->cache);
	j->client = opts->client;
	j->client_arg = opts->client_arg;
	j->commit_ns = ms * 1000000;
	/* Stamps of one journal never occur in another: a buffer may carry
	 * them from one to the next. */
	j->newest = (atomic_fetch_add(&journals, 1) + 1) << TID_BITS;
	atomic_store(&j->committed, j->newest);
	j->released = j->newest;
	j->release_end = &j->release;
	list_init(&j->done);
	mtx_init(&j->commit_lock, &class_commit);
	mtx_init(&j->home_lock, &class_home);
	mtx_init(&j->admit_lock, &class_admit);
	mtx_init(&j->lock, &class_lists);
	mtx_init(&j->super_lock, &class_super);
}

static void jnl_free(struct jnl *j)
{
	jnl_stream_fini(&j->stream);
	if (j->reserved != 0)
		cache_unreserve(j->cache, j->reserved);
	free(j->logged);
	free(j->freed);
	free(j->spare);
	free(j->home_batch);
	free(j->shard[0]);
	free(j->shard[1]);
	free((void *)j->place.map);
	free(j->super_raw);
	free(j->commit_block);
	free(j);
}

static int open_parts(struct jnl *j, const struct jnl_opts *opts)
{
	int err = 0;

	if (opts->place != NULL)
		err = open_place(j, opts->place);
	if (err == 0 && opts->place != NULL)
		err = jnl_superblock_load(j, opts);
	if (err == 0)
		err = open_limits(j, opts);
	if (err == 0)
		err = open_shards(j);
	if (err == 0)
		err = open_buffers(j);
	return err;
}

int jnl_open(const struct jnl_opts *opts, struct jnl **out)
{
	static const struct jnl_client nobody;
	struct jnl *j = aligned_alloc(LINE_BYTES, sizeof(*j));
	int err;

	if (j == NULL)
		return -ENOMEM;
	memset(j, 0, sizeof(*j));
	open_init(j, opts);
	if (j->client == NULL)
		j->client = &nobody;
	err = open_parts(j, opts);
	if (err != 0)
		goto out_free;
	j->head = j->super.first;
	j->next_sequence = j->super.sequence;
	mtx_lock(&j->lock);
	jnl_txn_open_locked(j);
	mtx_unlock(&j->lock);
	err = jnl_threads_start(j);
	if (err != 0)
		goto out_free;
	cache_on_pressure(j->cache, jnl_home_press, j);
	*out = j;
	return 0;

out_free:
	jnl_free(j);
	return err;
}

/* ---- aborting ------------------------------------------------------------------- */

int jnl_error(const struct jnl *j)
{
	return atomic_load(&j->error);
}

void jnl_abort(struct jnl *j, int error)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&j->error, &none, error))
		return;
	log_say(LOG_ERROR, "jnl", "journal aborted: %s",
		strerrordesc_np(-error));
	/* Everybody who waits looks at the error again. */
	jnl_signal(&j->gate_seq);
	jnl_signal(&j->commit_seq);
	jnl_signal(&j->commit_work);
	if (j->client->aborted != NULL)
		j->client->aborted(j->client_arg, error);
}

/* ---- closing -------------------------------------------------------------------- */

/* One batch; waits a moment for memory if there is none. */
static int checkpoint_some(struct jnl *j, bool *stuck)
{
	struct timespec pause = {0, 1000000};
	int err = -ENOMEM;

	for (unsigned i = 0; i < PATIENCE && err == -ENOMEM; i++) {
		if (i != 0)
			(void)nanosleep(&pause, NULL);
		pause.tv_nsec *= 2;
		mtx_lock(&j->home_lock);
		err = jnl_error(j) != 0 ? -EIO : jnl_home_some(j, stuck);
		mtx_unlock(&j->home_lock);
		jnl_release(j);
	}
	return err;
}

int jnl_checkpoint(struct jnl *j)
{
	bool stuck;
	int err;

	rank_assert_below(RANK_JNL_COMMIT);
	for (;;) {
		bool empty;

		err = checkpoint_some(j, &stuck);
		mtx_lock(&j->lock);
		empty = list_empty(&j->done);
		mtx_unlock(&j->lock);
		if (err != 0 || empty)
			return err;
		if (stuck)
			err = jnl_sync(j);
		if (err != 0)
			return err;
	}
}

/* The log is empty, and says so. */
static int close_clean(struct jnl *j)
{
	int err;

	if (j->log_dev == NULL || !j->recovery_flagged)
		return 0;
	err = blk_flush(j->home_dev);
	if (err == 0)
		err = jnl_superblock_store(j, 0, j->next_sequence);
	if (err == 0 && j->client->need_recovery != NULL)
		err = j->client->need_recovery(j->client_arg, false);
	return err;
}

int jnl_close(struct jnl *j)
{
	int err = jnl_sync(j);

	if (err == 0)
		err = jnl_checkpoint(j);
	cache_on_pressure(j->cache, NULL, NULL);
	jnl_threads_stop(j);
	if (err == 0)
		err = close_clean(j);
	if (jnl_error(j) != 0) {
		err = jnl_error(j);
		jnl_superblock_store_error(j);
	}
	jnl_release(j);
	jnl_home_discard(j);
	if (j->running != 0)
		jnl_commit_discard(j, j->running);
	jnl_free(j);
	return err;
}

/* ---- observing ------------------------------------------------------------------- */

uint32_t jnl_op_max(const struct jnl *j)
{
	return j->op_max;
}

void jnl_stats_read(struct jnl *j, struct jnl_stats *out)
{
	mtx_lock(&j->commit_lock);
	*out = j->stats;
	mtx_unlock(&j->commit_lock);
	/* Whoever waits, and found the lock taken, thinks that it commits. */
	jnl_signal(&j->commit_seq);
	out->waits = atomic_load(&j->stat_waits);
	out->begin_waits = atomic_load(&j->stat_begin_waits);
	for (uint32_t i = 0; i < j->shard_count; i++)
		out->frozen_copies += atomic_load(&j->shard[0][i].frozen) +
				      atomic_load(&j->shard[1][i].frozen);
	out->checkpointed = atomic_load(&j->stat_home);
}
