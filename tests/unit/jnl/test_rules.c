/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * J1, J2, J4 to J7 of jnl.h, each provoked from outside: the device below
 * is the test's own, sees every request in order, and can hold some back.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "base/assert.h"
#include "jnl/format.h"
#include "sync/futex.h"
#include "toy.h"

enum { HOME_BLOCKS = 1024, LOG_BLOCKS = 256, BLOCK_BYTES = 4096 };

/* A memory device that watches the order of home writes and tail moves. */
struct watch {
	struct blk_dev *below;
	pthread_mutex_t lock;
	bool home_unflushed; /* a home write since the last flush */
	uint32_t tail_moves; /* superblock writes with a new start */
	uint32_t moves_too_soon;
	uint32_t start;        /* in the journal's superblock */
	uint32_t commits;      /* commit blocks written */
	uint32_t commits_torn; /* ... that a torn write would damage */
	_Atomic bool home_11;  /* block 11 has been written home */
	_Atomic uint32_t hold; /* home writes wait while it is 1 */
	_Atomic uint32_t held; /* how many do */
};

static int watch_pread(void *arg, uint64_t offset, size_t bytes, void *data)
{
	struct watch *w = arg;

	return blk_read(w->below, offset, bytes, data);
}

static void watch_super(struct watch *w, const void *data)
{
	uint32_t start = be32_get(((const struct jbd_super *)data)->start);

	if (start == w->start)
		return;
	w->start = start;
	w->tail_moves++;
	w->moves_too_soon += w->home_unflushed;
}

/* Where @data, a commit block, goes: is all but its first sector there already,
 * and is what is there no commit block? */
static void watch_commit(struct watch *w, uint64_t offset, const void *data)
{
	enum { SECTOR = 512 };

	const char *now = data;
	char before[BLOCK_BYTES];
	struct jbd_header head;

	memcpy(&head, data, sizeof(head));
	if (be32_get(head.magic) != JBD_MAGIC ||
		be32_get(head.type) != JBD_COMMIT)
		return;
	CHECK(blk_read(w->below, offset, BLOCK_BYTES, before) == 0);
	w->commits++;
	w->commits_torn += memcmp(before + SECTOR, now + SECTOR,
				   BLOCK_BYTES - SECTOR) != 0 ||
			   memcmp(before, &head, 2 * sizeof(head.magic)) == 0;
}

static int watch_pwrite(
	void *arg, uint64_t offset, size_t bytes, const void *data)
{
	struct watch *w = arg;
	uint64_t block = offset / BLOCK_BYTES;
	bool home = block >= TOY_FOLDED && block < HOME_BLOCKS;
	int err;

	while (home && atomic_load(&w->hold) == 1) {
		atomic_store(&w->held, 1);
		futex_wake_all(&w->held);
		(void)futex_wait(&w->hold, 1, FUTEX_FOREVER);
	}
	(void)pthread_mutex_lock(&w->lock);
	w->home_unflushed |= home;
	if (block == HOME_BLOCKS)
		watch_super(w, data);
	else if (block > HOME_BLOCKS && bytes == BLOCK_BYTES)
		watch_commit(w, offset, data);
	(void)pthread_mutex_unlock(&w->lock);
	err = blk_write(w->below, offset, bytes, data);
	if (block <= 11 && block + bytes / BLOCK_BYTES > 11)
		atomic_store(&w->home_11, true);
	return err;
}

static int watch_flush(void *arg)
{
	struct watch *w = arg;

	(void)pthread_mutex_lock(&w->lock);
	w->home_unflushed = false;
	(void)pthread_mutex_unlock(&w->lock);
	return blk_flush(w->below);
}

static const struct blk_caller_ops watch_ops = {
	.pread = watch_pread, .pwrite = watch_pwrite, .flush = watch_flush};

struct fixture {
	struct watch watch;
	struct blk_dev *dev;
	struct toy toy;
};

static const struct toy_opts small_log = {.home_blocks = HOME_BLOCKS,
	.log_blocks = LOG_BLOCKS,
	.block_bytes = BLOCK_BYTES};

static void fixture_start(struct fixture *f)
{
	struct blk_geom geom = {
		.bytes = toy_device_bytes(&small_log), .sector_bytes = 512};

	memset(f, 0, sizeof(*f));
	assert_int_equal(pthread_mutex_init(&f->watch.lock, NULL), 0);
	assert_int_equal(blk_open_mem(geom.bytes, &f->watch.below), 0);
	toy_format(&small_log, f->watch.below, NULL);
	assert_int_equal(
		blk_open_caller(&watch_ops, &f->watch, geom, &f->dev), 0);
	toy_init(&f->toy, &small_log, f->dev, NULL);
	assert_int_equal(toy_start(&f->toy), 0);
}

static void fixture_stop(struct fixture *f)
{
	assert_int_equal(toy_stop(&f->toy), 0);
	toy_fini(&f->toy);
	blk_close(f->dev);
	blk_close(f->watch.below);
	(void)pthread_mutex_destroy(&f->watch.lock);
}

static void hold_release(struct watch *w)
{
	atomic_store(&w->hold, 0);
	futex_wake_all(&w->hold);
}

/* J1: seen from the fold of one transaction, with the next one running. */
static uint32_t folds_seen;

static int checking_fold(void *arg, struct jnl_fold *f, jnl_tid tid)
{
	struct toy *toy = arg;

	(void)f;
	(void)tid;
	jnl_check(toy->jnl);
	folds_seen++;
	return 0;
}

static void test_jnl_j1_states_hold_during_commit(void **state)
{
	struct fixture f;
	jnl_tid tid;

	(void)state;
	folds_seen = 0;
	fixture_start(&f);
	assert_int_equal(toy_stop(&f.toy), 0);
	f.toy.client.fold = checking_fold;
	assert_int_equal(toy_start(&f.toy), 0);
	for (uint64_t i = 0; i < 20; i++) {
		assert_int_equal(toy_write(&f.toy, 100 + i, 3, i, &tid), 0);
		assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	}
	assert_int_equal(folds_seen, 20);
	fixture_stop(&f);
}

/*
 * J2: a checkpoint beside an open operation writes none of its edits.  It
 * brings home what it may, then waits for the operation's transaction.
 */
static void *checkpoint_main(void *arg)
{
	CHECK(jnl_checkpoint(arg) == 0);
	return NULL;
}

static void test_jnl_j2_checkpoint_skips_newer_owner(void **state)
{
	struct fixture f;
	struct jnl_op op;
	pthread_t thread;
	jnl_tid tid;

	(void)state;
	fixture_start(&f);
	assert_int_equal(toy_write(&f.toy, 10, 2, 1, &tid), 0);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	assert_int_equal(jnl_begin(f.toy.jnl, 4, &op), 0);
	assert_int_equal(toy_put(&f.toy, &op, 10, 2, false), 0);
	assert_int_equal(
		pthread_create(&thread, NULL, checkpoint_main, f.toy.jnl), 0);
	while (!atomic_load(&f.watch.home_11))
		(void)usleep(1000);
	assert_int_equal(toy_version_on(&small_log, f.watch.below, 11), 1);
	assert_int_not_equal(toy_version_on(&small_log, f.watch.below, 10), 2);
	(void)jnl_end(&op);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(toy_version_on(&small_log, f.watch.below, 10), 2);
	fixture_stop(&f);
}

/* J4: no superblock says that the log is free while a home write may be lost.
 * Many transactions through a small log move its tail many times. */
static void test_jnl_j4_tail_moves_after_flush(void **state)
{
	struct fixture f;
	jnl_tid tid;

	(void)state;
	fixture_start(&f);
	for (uint64_t i = 0; i < 1500; i++) {
		assert_int_equal(
			toy_write(&f.toy, TOY_FIRST + i % 1000, 4, i, &tid), 0);
		if (i % 5 == 0)
			assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	}
	fixture_stop(&f);
	assert_true(f.watch.tail_moves > 10);
	assert_int_equal(f.watch.moves_too_soon, 0);
}

/*
 * J5: a power cut leaves a commit block or none, never a damaged one, which
 * other replays take for corruption: one sector makes it, the rest of it is
 * there before.
 */
static void test_jnl_j5_commit_block_cannot_be_torn(void **state)
{
	struct fixture f;
	jnl_tid tid;

	(void)state;
	fixture_start(&f);
	for (uint64_t i = 0; i < 300; i++) {
		assert_int_equal(
			toy_write(&f.toy, TOY_FIRST + i % 900, 4, i, &tid), 0);
		assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	}
	fixture_stop(&f);
	assert_true(f.watch.commits >= 300);
	assert_int_equal(f.watch.commits_torn, 0);
}

/* J6: commits go on while a checkpoint is stuck in the device. */
static void test_jnl_j6_commit_does_not_wait_for_checkpoint(void **state)
{
	struct fixture f;
	uint64_t i = 0;
	jnl_tid tid;

	(void)state;
	fixture_start(&f);
	atomic_store(&f.watch.hold, 1);
	/* Until the checkpoint thread hangs in its first home write ... */
	while (atomic_load(&f.watch.held) == 0) {
		assert_int_equal(
			toy_write(&f.toy, TOY_FIRST + i % 1000, 4, i, &tid), 0);
		assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
		assert_true(++i < 1000);
	}
	/* ... and once more: the running transaction had its room. */
	assert_int_equal(toy_write(&f.toy, 500, 4, i, &tid), 0);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	hold_release(&f.watch);
	fixture_stop(&f);
}

/*
 * J3 and J6: a freed block is on its way home when its freeing commits.  The
 * commit does not wait for that, nor does the next one; the client hears of
 * both in turn once the write has landed.
 */
static void test_jnl_j3_free_waits_for_home_write_commit_does_not(void **state)
{
	struct fixture f;
	pthread_t thread;
	jnl_tid wrote;
	jnl_tid freed;
	jnl_tid last;

	(void)state;
	fixture_start(&f);
	assert_int_equal(toy_write(&f.toy, 11, 1, 1, &wrote), 0);
	assert_int_equal(jnl_sync(f.toy.jnl), 0);
	assert_int_equal(atomic_load(&f.toy.committed_tid), wrote);
	atomic_store(&f.watch.hold, 1);
	assert_int_equal(
		pthread_create(&thread, NULL, checkpoint_main, f.toy.jnl), 0);
	while (atomic_load(&f.watch.held) == 0)
		(void)futex_wait(&f.watch.held, 0, FUTEX_FOREVER);
	assert_int_equal(toy_free(&f.toy, 11, &freed), 0);
	assert_int_equal(jnl_wait(f.toy.jnl, freed), 0);
	assert_int_equal(toy_write(&f.toy, 12, 1, 1, &last), 0);
	assert_int_equal(jnl_wait(f.toy.jnl, last), 0);
	assert_false(atomic_load(&f.watch.home_11));
	assert_int_equal(atomic_load(&f.toy.committed_tid), wrote);
	hold_release(&f.watch);
	assert_int_equal(jnl_sync(f.toy.jnl), 0);
	assert_true(atomic_load(&f.watch.home_11));
	assert_int_equal(atomic_load(&f.toy.committed_tid), last);
	assert_int_equal(atomic_load(&f.toy.committed_calls), last - wrote + 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	fixture_stop(&f);
}

/* J6: the largest operations, one after the other, through a small log. */
static void test_jnl_j6_largest_operations_fit(void **state)
{
	struct fixture f;
	uint32_t most;
	jnl_tid tid;

	(void)state;
	fixture_start(&f);
	most = jnl_op_max(f.toy.jnl) - 1;
	assert_true(most >= 8);
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(toy_write(&f.toy, TOY_FIRST + i * 7 % 500,
					 most, i, &tid),
			0);
	jnl_check(f.toy.jnl);
	fixture_stop(&f);
}

#ifdef EXTANT_DEBUG

/* J7: who waits inside an operation is stopped, in debug builds. */
static void wait_inside(struct toy *toy)
{
	struct jnl_op op;

	CHECK(jnl_begin(toy->jnl, 1, &op) == 0);
	(void)!jnl_wait(toy->jnl, (jnl_tid)op.stamp);
}

static void test_jnl_j7_wait_inside_operation_aborts(void **state)
{
	struct fixture f;
	int status;
	pid_t child;

	(void)state;
	fixture_start(&f);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)close(STDERR_FILENO);
		wait_inside(&f.toy);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	fixture_stop(&f);
}

#endif

/* J7: what an operation reads from the device is counted. */
static void test_jnl_j7_reads_inside_operations_are_counted(void **state)
{
	struct cache_stats before;
	struct cache_stats after;
	struct fixture f;
	struct jnl_op op;
	struct buf *b;

	(void)state;
	fixture_start(&f);
	cache_stats_read(f.toy.cache, &before);
	assert_int_equal(cache_get(f.toy.cache, 700, NULL, &b), 0);
	buf_put(b);
	assert_int_equal(jnl_begin(f.toy.jnl, 1, &op), 0);
	assert_int_equal(cache_get(f.toy.cache, 700, NULL, &b), 0);
	buf_put(b);
	assert_int_equal(cache_get(f.toy.cache, 701, NULL, &b), 0);
	buf_put(b);
	(void)jnl_end(&op);
	cache_stats_read(f.toy.cache, &after);
	assert_int_equal(after.reads_in_op - before.reads_in_op, 1);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jnl_j1_states_hold_during_commit),
		cmocka_unit_test(test_jnl_j2_checkpoint_skips_newer_owner),
		cmocka_unit_test(test_jnl_j4_tail_moves_after_flush),
		cmocka_unit_test(test_jnl_j5_commit_block_cannot_be_torn),
		cmocka_unit_test(
			test_jnl_j6_commit_does_not_wait_for_checkpoint),
		cmocka_unit_test(
			test_jnl_j3_free_waits_for_home_write_commit_does_not),
		cmocka_unit_test(test_jnl_j6_largest_operations_fit),
#ifdef EXTANT_DEBUG
		cmocka_unit_test(test_jnl_j7_wait_inside_operation_aborts),
#endif
		cmocka_unit_test(
			test_jnl_j7_reads_inside_operations_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
