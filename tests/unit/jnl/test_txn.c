/* SPDX-License-Identifier: BSD-2-Clause */
/* Transactions from begin to home: what is visible where, and when. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "../cmocka_all.h"
#include "base/assert.h"
#include "blk/layers.h"
#include "jnl/codec.h"
#include "jnl/stream.h"
#include "plain.h"
#include "sync/futex.h"
#include "toy.h"

struct fixture {
	struct toy_opts opts;
	struct blk_dev *dev;
	struct toy toy;
};

static void fixture_start(struct fixture *f)
{
	assert_int_equal(plain_open(toy_device_bytes(&f->opts), &f->dev), 0);
	toy_format(&f->opts, f->dev, NULL);
	toy_init(&f->toy, &f->opts, f->dev, NULL);
	assert_int_equal(toy_start(&f->toy), 0);
}

static void fixture_end(struct fixture *f)
{
	toy_fini(&f->toy);
	blk_close(f->dev);
}

/*
 * What a power cut now would leave, recovered, in a device of its own.  The
 * log is read before the blocks at home, since checkpoints may be going on
 * that write home first and then give up log.
 */
static struct blk_dev *recovered_copy(struct fixture *f)
{
	uint64_t bytes = toy_device_bytes(&f->opts);
	uint64_t home = bytes - toy_log_bytes(&f->opts);
	uint8_t *all = malloc(bytes);
	struct blk_dev *copy;

	assert_non_null(all);
	assert_int_equal(blk_read(f->dev, home, bytes - home, all + home), 0);
	assert_int_equal(blk_read(f->dev, 0, home, all), 0);
	assert_int_equal(blk_open_mem(bytes, &copy), 0);
	assert_int_equal(blk_write(copy, 0, bytes, all), 0);
	free(all);
	assert_int_equal(toy_recover(&f->opts, copy, NULL), 0);
	return copy;
}

static void test_jnl_close_brings_all_home(void **state)
{
	struct fixture f = {0};
	jnl_tid tid;

	(void)state;
	fixture_start(&f);
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(
			toy_write(&f.toy, TOY_FIRST + i, 3, 1000 + i, &tid), 0);
	assert_int_equal(toy_stop(&f.toy), 0);
	assert_false(toy_needs_recovery(&f.opts, f.dev));
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(toy_version_on(&f.opts, f.dev, TOY_FIRST + i),
			1000 + i);
	assert_int_equal(toy_folded_on(&f.opts, f.dev), tid);
	fixture_end(&f);
}

/* J2: not at home before the commit, recoverable from the log after it. */
static void test_jnl_j2_waited_write_is_in_the_log_only(void **state)
{
	struct fixture f = {0};
	struct blk_dev *copy;
	jnl_tid tid;

	(void)state;
	fixture_start(&f);
	assert_int_equal(toy_write(&f.toy, 10, 5, 77, &tid), 0);
	assert_int_not_equal(toy_version_on(&f.opts, f.dev, 10), 77);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	assert_int_not_equal(toy_version_on(&f.opts, f.dev, 10), 77);
	assert_true(toy_needs_recovery(&f.opts, f.dev));
	copy = recovered_copy(&f);
	for (blk_no b = 10; b < 15; b++)
		assert_int_equal(toy_version_on(&f.opts, copy, b), 77);
	assert_int_equal(toy_folded_on(&f.opts, copy), tid);
	blk_close(copy);
	assert_int_equal(toy_stop(&f.toy), 0);
	fixture_end(&f);
}

static void test_jnl_many_transactions_wrap_the_log(void **state)
{
	struct fixture f = {.opts = {.log_blocks = 128, .map_extent = 7}};
	struct blk_dev *copy;
	jnl_tid tid;

	(void)state;
	fixture_start(&f);
	for (uint64_t i = 0; i < 400; i++) {
		assert_int_equal(
			toy_write(&f.toy, TOY_FIRST + i % 900, 4, i + 1, &tid),
			0);
		if (i % 3 == 0)
			assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	}
	assert_int_equal(jnl_sync(f.toy.jnl), 0);
	jnl_check(f.toy.jnl);
	copy = recovered_copy(&f);
	for (uint64_t i = 0; i < 400; i++)
		assert_int_equal(
			toy_version_on(&f.opts, copy, TOY_FIRST + i), i + 1);
	blk_close(copy);
	assert_int_equal(toy_stop(&f.toy), 0);
	fixture_end(&f);
}

/* More than is in flight to the log at once, in one transaction. */
static void test_jnl_transaction_goes_round_the_stream(void **state)
{
	enum { EACH = 4300, RING = JNL_RING_BYTES / 1024 };
	struct fixture f = {.opts = {.block_bytes = 1024,
				    .home_blocks = 2 * EACH + 100,
				    .log_blocks = 38000,
				    .cache_bytes = 96 << 20,
				    .checksum = JNL_CHECKSUM_V3}};
	struct jnl_stats stats;
	struct blk_dev *copy;
	jnl_tid first;
	jnl_tid tid;

	(void)state;
	fixture_start(&f);
	assert_int_equal(toy_write(&f.toy, 10, EACH, 7, &first), 0);
	assert_int_equal(toy_write(&f.toy, 10 + EACH, EACH, 8, &tid), 0);
	assert_int_equal(tid, first);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	jnl_stats_read(f.toy.jnl, &stats);
	assert_true(stats.logged_blocks > RING);
	copy = recovered_copy(&f);
	for (blk_no b = 10; b < 10 + 2 * EACH; b++)
		assert_int_equal(toy_version_on(&f.opts, copy, b),
			b < 10 + EACH ? 7 : 8);
	blk_close(copy);
	assert_int_equal(toy_stop(&f.toy), 0);
	fixture_end(&f);
}

/* J3: the client hears of a free only when it is durable, and then the old
 * copy in the log does not come back. */
static void test_jnl_j3_freed_block_is_revoked(void **state)
{
	struct fixture f = {0};
	struct blk_dev *copy;
	jnl_tid wrote;
	jnl_tid freed;
	char data[4096];

	(void)state;
	fixture_start(&f);
	assert_int_equal(toy_write(&f.toy, 20, 1, 5, &wrote), 0);
	assert_int_equal(jnl_wait(f.toy.jnl, wrote), 0);
	assert_int_equal(toy_free(&f.toy, 20, &freed), 0);
	assert_int_equal(atomic_load(&f.toy.committed_tid), wrote);
	assert_int_equal(jnl_wait(f.toy.jnl, freed), 0);
	assert_int_equal(jnl_sync(f.toy.jnl), 0);
	assert_int_equal(atomic_load(&f.toy.committed_tid), freed);
	/* Reused for data that no journal sees. */
	toy_fill(&f.toy.opts, data, 20, 6);
	assert_int_equal(blk_write(f.dev, 20 * 4096, 4096, data), 0);
	copy = recovered_copy(&f);
	assert_int_equal(toy_version_on(&f.opts, copy, 20), 6);
	blk_close(copy);
	assert_int_equal(toy_stop(&f.toy), 0);
	assert_int_equal(toy_version_on(&f.opts, f.dev, 20), 6);
	fixture_end(&f);
}

/* Freed and metadata again within one transaction: the copy is replayed. */
static void test_jnl_recreated_block_is_not_revoked(void **state)
{
	struct fixture f = {0};
	struct blk_dev *copy;
	struct jnl_op op;
	jnl_tid tid;

	(void)state;
	fixture_start(&f);
	assert_int_equal(toy_write(&f.toy, 30, 1, 1, &tid), 0);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	assert_int_equal(jnl_begin(f.toy.jnl, 8, &op), 0);
	assert_int_equal(toy_touch(&f.toy, &op), 0);
	assert_int_equal(jnl_forget(&op, 30, NULL), 0);
	assert_int_equal(toy_put(&f.toy, &op, 30, 2, true), 0);
	tid = jnl_end(&op);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	copy = recovered_copy(&f);
	assert_int_equal(toy_version_on(&f.opts, copy, 30), 2);
	blk_close(copy);
	assert_int_equal(toy_stop(&f.toy), 0);
	assert_int_equal(toy_version_on(&f.opts, f.dev, 30), 2);
	fixture_end(&f);
}

/* A transaction that commits keeps what its blocks held when it was sealed,
 * whatever the next one does to them meanwhile. */
struct overlap {
	struct fixture *f;
	_Atomic uint32_t folding;
	_Atomic uint32_t edited;
	int (*fold)(void *arg, struct jnl_fold *f, jnl_tid tid);
};

static int overlap_fold(void *arg, struct jnl_fold *fold, jnl_tid tid)
{
	struct toy *toy = arg;
	struct overlap *o = toy->user;

	if (atomic_exchange(&o->folding, 1) == 0) {
		futex_wake_all(&o->folding);
		while (atomic_load(&o->edited) == 0)
			(void)futex_wait(&o->edited, 0, FUTEX_FOREVER);
	}
	return o->fold(arg, fold, tid);
}

static void *overlap_edit(void *arg)
{
	struct overlap *o = arg;
	jnl_tid tid;

	while (atomic_load(&o->folding) == 0)
		(void)futex_wait(&o->folding, 0, FUTEX_FOREVER);
	CHECK(toy_write(&o->f->toy, 40, 4, 2, &tid) == 0);
	atomic_store(&o->edited, 1);
	futex_wake_all(&o->edited);
	return NULL;
}

static void overlap_start(struct fixture *f, struct overlap *o)
{
	assert_int_equal(plain_open(toy_device_bytes(&f->opts), &f->dev), 0);
	toy_format(&f->opts, f->dev, NULL);
	toy_init(&f->toy, &f->opts, f->dev, NULL);
	o->fold = f->toy.client.fold;
	f->toy.client.fold = overlap_fold;
	f->toy.user = o;
	assert_int_equal(toy_start(&f->toy), 0);
}

static void test_jnl_next_transaction_edits_beside_commit(void **state)
{
	struct fixture f = {0};
	struct overlap o = {.f = &f};
	struct jnl_stats stats;
	struct blk_dev *copy;
	pthread_t thread;
	jnl_tid tid;

	(void)state;
	overlap_start(&f, &o);
	assert_int_equal(pthread_create(&thread, NULL, overlap_edit, &o), 0);
	assert_int_equal(toy_write(&f.toy, 40, 4, 1, &tid), 0);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	copy = recovered_copy(&f);
	for (blk_no b = 40; b < 44; b++)
		assert_int_equal(toy_version_on(&f.opts, copy, b), 1);
	blk_close(copy);
	jnl_stats_read(f.toy.jnl, &stats);
	assert_int_equal(stats.frozen_copies, 4);
	assert_int_equal(toy_stop(&f.toy), 0);
	assert_int_equal(toy_version_on(&f.opts, f.dev, 40), 2);
	fixture_end(&f);
}

/*
 * Freed in a transaction that is committing, and metadata again in the next
 * one: what releases the first must leave the second its block.
 */
static void *overlap_create(void *arg)
{
	struct overlap *o = arg;
	struct toy *toy = &o->f->toy;
	struct jnl_op op;

	while (atomic_load(&o->folding) == 0)
		(void)futex_wait(&o->folding, 0, FUTEX_FOREVER);
	CHECK(jnl_begin(toy->jnl, 2, &op) == 0);
	CHECK(toy_touch(toy, &op) == 0);
	CHECK(toy_put(toy, &op, 40, 2, true) == 0);
	(void)jnl_end(&op);
	atomic_store(&o->edited, 1);
	futex_wake_all(&o->edited);
	return NULL;
}

static void test_jnl_freed_block_recreated_beside_commit(void **state)
{
	struct fixture f = {0};
	struct overlap o = {.f = &f, .folding = 1};
	struct blk_dev *copy;
	pthread_t thread;
	jnl_tid tid;

	(void)state;
	overlap_start(&f, &o);
	assert_int_equal(toy_write(&f.toy, 40, 1, 1, &tid), 0);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	atomic_store(&o.folding, 0);
	assert_int_equal(pthread_create(&thread, NULL, overlap_create, &o), 0);
	assert_int_equal(toy_free(&f.toy, 40, &tid), 0);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	/* The older copy is revoked; the newer one is not in the log yet. */
	copy = recovered_copy(&f);
	assert_int_not_equal(toy_version_on(&f.opts, copy, 40), 1);
	assert_int_not_equal(toy_version_on(&f.opts, copy, 40), 2);
	blk_close(copy);
	assert_int_equal(jnl_sync(f.toy.jnl), 0);
	copy = recovered_copy(&f);
	assert_int_equal(toy_version_on(&f.opts, copy, 40), 2);
	blk_close(copy);
	assert_int_equal(toy_stop(&f.toy), 0);
	assert_int_equal(toy_version_on(&f.opts, f.dev, 40), 2);
	fixture_end(&f);
}

/* J5: the first error of the log aborts, for good. */
static void test_jnl_j5_log_error_aborts_for_good(void **state)
{
	const struct blk_fault rule = {
		.op = BLK_FLUSH, .nth = 3, .count = 1, .error = -EIO};
	struct fixture f = {0};
	struct blk_dev *below;
	struct jnl_op op;
	jnl_tid tid;

	(void)state;
	assert_int_equal(blk_open_mem(toy_device_bytes(&f.opts), &below), 0);
	toy_format(&f.opts, below, NULL);
	assert_int_equal(blk_wrap_fault(below, &f.dev), 0);
	assert_int_equal(blk_fault_arm(f.dev, &rule), 0);
	toy_init(&f.toy, &f.opts, f.dev, NULL);
	assert_int_equal(toy_start(&f.toy), 0);
	assert_int_equal(toy_write(&f.toy, 10, 1, 1, &tid), 0);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), -EIO);
	assert_int_equal(jnl_begin(f.toy.jnl, 1, &op), -EROFS);
	assert_int_equal(jnl_error(f.toy.jnl), -EIO);
	assert_int_equal(toy_stop(&f.toy), -EIO);
	assert_int_equal(atomic_load(&f.toy.aborted_calls), 1);
	assert_int_equal(atomic_load(&f.toy.aborted_error), -EIO);
	fixture_end(&f);
}

static void test_jnl_no_journal_writes_home_at_commit(void **state)
{
	struct fixture f = {.opts = {.no_journal = true}};
	jnl_tid tid;

	(void)state;
	fixture_start(&f);
	assert_int_equal(toy_write(&f.toy, 50, 3, 9, &tid), 0);
	assert_int_not_equal(toy_version_on(&f.opts, f.dev, 50), 9);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	assert_int_equal(toy_version_on(&f.opts, f.dev, 50), 9);
	assert_int_equal(toy_folded_on(&f.opts, f.dev), tid);
	assert_int_equal(toy_stop(&f.toy), 0);
	fixture_end(&f);
}

static void test_jnl_nested_begin_joins(void **state)
{
	struct fixture f = {0};
	struct jnl_op outer;
	struct jnl_op inner;

	(void)state;
	fixture_start(&f);
	assert_int_equal(jnl_begin(f.toy.jnl, 1, &outer), 0);
	assert_int_equal(jnl_begin(f.toy.jnl, 4, &inner), 0);
	assert_int_equal(toy_put(&f.toy, &inner, 60, 3, false), 0);
	assert_int_equal(jnl_end(&inner), (jnl_tid)outer.stamp);
	assert_int_equal(outer.used, 1);
	assert_int_equal(outer.credits, 5);
	(void)jnl_end(&outer);
	assert_int_equal(toy_stop(&f.toy), 0);
	assert_int_equal(toy_version_on(&f.opts, f.dev, 60), 3);
	fixture_end(&f);
}

static void test_jnl_credits_have_limits(void **state)
{
	struct fixture f = {0};
	struct jnl_op op;
	uint32_t most;

	(void)state;
	fixture_start(&f);
	most = jnl_op_max(f.toy.jnl);
	assert_int_equal(jnl_begin(f.toy.jnl, most + 1, &op), -ENOSPC);
	assert_int_equal(jnl_begin(f.toy.jnl, most, &op), 0);
	assert_int_equal(jnl_extend(&op, most), 0);
	assert_int_equal(jnl_extend(&op, most), -EAGAIN);
	(void)jnl_end(&op);
	assert_int_equal(toy_stop(&f.toy), 0);
	fixture_end(&f);
}

/* Several threads, every admission, with commits and waits in between. */
struct busy {
	struct fixture *f;
	uint32_t index;
};

enum { BUSY_THREADS = 4, BUSY_OPS = 300, BUSY_BLOCKS = 50 };

static void *busy_main(void *arg)
{
	struct busy *busy = arg;
	blk_no first = TOY_FIRST + busy->index * BUSY_BLOCKS;
	jnl_tid tid;

	for (uint64_t i = 0; i < BUSY_OPS; i++) {
		CHECK(toy_write(&busy->f->toy, first + i % 47, 4, i + 1,
			      &tid) == 0);
		if (i % 16 == 0)
			CHECK(jnl_wait(busy->f->toy.jnl, tid) == 0);
	}
	return NULL;
}

static void busy_run(enum jnl_admission admission)
{
	struct fixture f = {
		.opts = {.log_blocks = 256, .admission = admission}};
	struct busy busy[BUSY_THREADS];
	pthread_t threads[BUSY_THREADS];

	fixture_start(&f);
	for (uint32_t i = 0; i < BUSY_THREADS; i++) {
		busy[i] = (struct busy){&f, i};
		assert_int_equal(
			pthread_create(&threads[i], NULL, busy_main, &busy[i]),
			0);
	}
	for (uint32_t i = 0; i < BUSY_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(toy_stop(&f.toy), 0);
	/* Operation i writes four blocks from i % 47 on. */
	for (uint32_t i = 0; i < BUSY_THREADS; i++)
		for (uint32_t b = 0; b < 47; b++) {
			uint64_t version = toy_version_on(&f.opts, f.dev,
				TOY_FIRST + i * BUSY_BLOCKS + b);

			assert_in_range(version, BUSY_OPS - 46, BUSY_OPS);
		}
	fixture_end(&f);
}

static void test_jnl_threads_percpu(void **state)
{
	(void)state;
	busy_run(JNL_ADMIT_PERCPU);
}

static void test_jnl_threads_atomic(void **state)
{
	(void)state;
	busy_run(JNL_ADMIT_ATOMIC);
}

static void test_jnl_threads_lock(void **state)
{
	(void)state;
	busy_run(JNL_ADMIT_LOCK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jnl_close_brings_all_home),
		cmocka_unit_test(test_jnl_j2_waited_write_is_in_the_log_only),
		cmocka_unit_test(test_jnl_many_transactions_wrap_the_log),
		cmocka_unit_test(test_jnl_transaction_goes_round_the_stream),
		cmocka_unit_test(test_jnl_j3_freed_block_is_revoked),
		cmocka_unit_test(test_jnl_recreated_block_is_not_revoked),
		cmocka_unit_test(test_jnl_next_transaction_edits_beside_commit),
		cmocka_unit_test(test_jnl_freed_block_recreated_beside_commit),
		cmocka_unit_test(test_jnl_j5_log_error_aborts_for_good),
		cmocka_unit_test(test_jnl_no_journal_writes_home_at_commit),
		cmocka_unit_test(test_jnl_nested_begin_joins),
		cmocka_unit_test(test_jnl_credits_have_limits),
		cmocka_unit_test(test_jnl_threads_percpu),
		cmocka_unit_test(test_jnl_threads_atomic),
		cmocka_unit_test(test_jnl_threads_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
