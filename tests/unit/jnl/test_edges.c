/* SPDX-License-Identifier: BSD-2-Clause */
/* Where numbers end: tids, credits, the smallest logs; and other people's
 * signals. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "base/assert.h"
#include "jnl/jnl_int.h"
#include "toy.h"

struct fixture {
	struct toy_opts opts;
	struct blk_dev *dev;
	struct toy toy;
};

/* 0, or why the toy does not start. */
static int fixture_try(struct fixture *f)
{
	int err;

	assert_int_equal(blk_open_mem(toy_device_bytes(&f->opts), &f->dev), 0);
	toy_format(&f->opts, f->dev, NULL);
	toy_init(&f->toy, &f->opts, f->dev, NULL);
	err = toy_start(&f->toy);
	if (err == 0)
		return 0;
	toy_fini(&f->toy);
	blk_close(f->dev);
	return err;
}

static void fixture_stop(struct fixture *f)
{
	assert_int_equal(toy_stop(&f->toy), 0);
	toy_fini(&f->toy);
	blk_close(f->dev);
}

/* J3, J6: however often a block comes and goes within one transaction, it
 * costs one credit, and the transaction stays within its size. */
static void test_jnl_block_comes_and_goes_within_its_credit(void **state)
{
	struct fixture f = {0};
	struct jnl_op op;
	uint32_t turns;
	jnl_tid tid;

	(void)state;
	assert_int_equal(fixture_try(&f), 0);
	turns = 3 * jnl_op_max(f.toy.jnl);
	assert_int_equal(toy_write(&f.toy, 20, 1, 1, &tid), 0);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	assert_int_equal(jnl_begin(f.toy.jnl, 2, &op), 0);
	assert_int_equal(toy_touch(&f.toy, &op), 0);
	for (uint32_t i = 0; i < turns; i++) {
		assert_int_equal(toy_put(&f.toy, &op, 20, i, true), 0);
		assert_int_equal(jnl_forget(&op, 20, NULL), 0);
	}
	assert_int_equal(op.used, 2);
	tid = jnl_end(&op);
	assert_int_equal(jnl_sync(f.toy.jnl), 0);
	assert_int_equal(atomic_load(&f.toy.committed_tid), tid);
	assert_int_equal(toy_stop(&f.toy), 0);
	assert_int_not_equal(toy_version_on(&f.opts, f.dev, 20), turns - 1);
	toy_fini(&f.toy);
	blk_close(f.dev);
}

/* Signals are the program's own: one that the program blocks everywhere stays
 * pending, whatever threads the journal has. */
static void ignore_signal(int number)
{
	(void)number;
}

static void test_jnl_threads_take_no_signals(void **state)
{
	const struct sigaction action = {.sa_handler = ignore_signal};
	const struct timespec now = {0};
	struct fixture f = {0};
	struct sigaction old;
	sigset_t usr1;

	(void)state;
	(void)sigemptyset(&usr1);
	(void)sigaddset(&usr1, SIGUSR1);
	assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
	assert_int_equal(fixture_try(&f), 0);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &usr1, NULL), 0);
	assert_int_equal(kill(getpid(), SIGUSR1), 0);
	(void)usleep(20000);
	assert_int_equal(sigtimedwait(&usr1, NULL, &now), SIGUSR1);
	assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &usr1, NULL), 0);
	assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
	fixture_stop(&f);
}

/* A journal that has made @count transactions, an even number, more than the
 * one that is open.  Nobody else may use it. */
static void skip_stamps(struct jnl *j, uint64_t count)
{
	mtx_lock(&j->lock);
	assert_int_equal(j->flushing, 0);
	j->newest += count;
	j->running += count;
	j->released += count;
	(void)atomic_fetch_add(&j->committed, count);
	(void)atomic_fetch_add(&j->gate, count);
	mtx_unlock(&j->lock);
}

/* Tids wrap; before and after, waits and kicks mean what they say. */
static void test_jnl_tids_wrap(void **state)
{
	static const uint64_t points[] = {UINT64_C(0x7ffffff0),
		UINT64_C(0xfffffff0) - UINT64_C(0x7ffffff0) - 40};
	struct fixture f = {0};
	jnl_tid last = 0;
	jnl_tid tid;

	(void)state;
	assert_int_equal(fixture_try(&f), 0);
	for (unsigned p = 0; p < ARRAY_COUNT(points); p++) {
		skip_stamps(f.toy.jnl, points[p]);
		for (uint64_t i = 0; i < 60; i++) {
			assert_int_equal(
				toy_write(&f.toy, 10 + i, 3, i, &tid), 0);
			if (i > 0)
				assert_true(jnl_tid_after(tid, last));
			last = tid;
			if (i % 2 == 0)
				jnl_kick(f.toy.jnl, tid);
			assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
			assert_int_equal(jnl_sync(f.toy.jnl), 0);
			assert_int_equal(
				atomic_load(&f.toy.committed_tid), tid);
		}
	}
	assert_true(tid < 100);
	jnl_check(f.toy.jnl);
	fixture_stop(&f);
}

/* An operation that asks for more while its transaction is being sealed asks
 * for no commit but its own, whatever the tid. */
static void *sync_main(void *arg)
{
	CHECK(jnl_sync(arg) == 0);
	return NULL;
}

static void test_jnl_late_extend_kicks_its_own_transaction(void **state)
{
	struct fixture f = {0};
	struct jnl_op op;
	struct jnl *j;
	pthread_t thread;

	(void)state;
	assert_int_equal(fixture_try(&f), 0);
	j = f.toy.jnl;
	skip_stamps(j, UINT64_C(0x80000010));
	assert_int_equal(jnl_begin(j, 2, &op), 0);
	assert_int_equal(toy_touch(&f.toy, &op), 0);
	assert_int_equal(pthread_create(&thread, NULL, sync_main, j), 0);
	while (atomic_load(&j->gate) != 0)
		(void)usleep(1000);
	assert_int_equal(jnl_extend(&op, j->max_blocks * 3 / 5), 0);
	(void)jnl_end(&op);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(atomic_load(&j->kicked) <= op.stamp);
	fixture_stop(&f);
}

/* Logs from nothing up: refused, or good for any number of transactions. */
static void smallest_logs(uint32_t block_bytes)
{
	uint32_t works = 0;

	for (uint32_t blocks = 2; blocks < 80; blocks++) {
		struct fixture f = {.opts = {.block_bytes = block_bytes,
					    .home_blocks = 128,
					    .log_blocks = blocks,
					    .cache_bytes = 16 << 20}};
		int err = fixture_try(&f);
		jnl_tid tid;

		if (err != 0) {
			assert_int_equal(err, -ENOSPC);
			assert_int_equal(works, 0);
			continue;
		}
		works++;
		for (uint64_t i = 0; i < 40; i++) {
			uint32_t most = jnl_op_max(f.toy.jnl) - 1;

			assert_int_equal(toy_write(&f.toy, 2 + i * 7 % 90,
						 i % most + 1, i, &tid),
				0);
			if (i % 5 == 0)
				assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
		}
		jnl_check(f.toy.jnl);
		fixture_stop(&f);
	}
	assert_true(works > 0);
}

static void test_jnl_smallest_logs_work_or_are_refused(void **state)
{
	(void)state;
	smallest_logs(1024);
	smallest_logs(4096);
	smallest_logs(65536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_jnl_block_comes_and_goes_within_its_credit),
		cmocka_unit_test(test_jnl_threads_take_no_signals),
		cmocka_unit_test(test_jnl_tids_wrap),
		cmocka_unit_test(
			test_jnl_late_extend_kicks_its_own_transaction),
		cmocka_unit_test(test_jnl_smallest_logs_work_or_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
