/* SPDX-License-Identifier: BSD-2-Clause */
/* Statistics and faults: what is counted, what fails, what still arrives. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "../cmocka_all.h"
#include "base/cpu.h"
#include "blk/blk.h"
#include "blk/layers.h"
#include "sync/futex.h"

enum { DEV_BYTES = 1 << 20, THREADS = 4, ROUNDS = 1000 };

#define SECTOR UINT64_C(512)

static uint8_t ones[8 * SECTOR];

static struct blk_dev *stats_open(void)
{
	struct blk_dev *dev = NULL;

	assert_int_equal(blk_open_mem(DEV_BYTES, &dev), 0);
	assert_int_equal(blk_wrap_stats(dev, &dev), 0);
	return dev;
}

static struct blk_dev *fault_open(void)
{
	struct blk_dev *dev = NULL;

	assert_int_equal(blk_open_mem(DEV_BYTES, &dev), 0);
	assert_int_equal(blk_wrap_fault(dev, &dev), 0);
	memset(ones, 1, sizeof(ones));
	return dev;
}

static uint32_t turning_id(void)
{
	static _Atomic uint32_t turn;

	return atomic_fetch_add(&turn, 1) % 64;
}

static void *stats_body(void *arg)
{
	struct blk_dev *dev = arg;
	uint8_t data[SECTOR] = {0};
	int bad = 0;

	for (uint64_t i = 0; i < ROUNDS; i++)
		bad |= blk_read(dev, i * SECTOR, SECTOR, data);
	return bad != 0 ? dev : NULL;
}

static void test_stats_sum_is_exact_over_cpus(void **state)
{
	pthread_t threads[THREADS];
	struct blk_stats sum;
	struct blk_dev *dev;

	(void)state;
	cpu_override(turning_id, 64);
	dev = stats_open();
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, stats_body, dev), 0);
	for (int i = 0; i < THREADS; i++) {
		void *bad;

		assert_int_equal(pthread_join(threads[i], &bad), 0);
		assert_null(bad);
	}
	assert_int_equal(blk_write(dev, 0, 2 * SECTOR, ones), 0);
	assert_int_equal(blk_discard(dev, 0, 4 * SECTOR), 0);
	assert_int_equal(blk_write_zeroes(dev, 0, 8 * SECTOR), 0);
	assert_int_equal(blk_flush(dev), 0);
	blk_stats_read(dev, &sum);
	assert_int_equal(sum.ops[BLK_READ], THREADS * ROUNDS);
	assert_int_equal(sum.bytes[BLK_READ], SECTOR * THREADS * ROUNDS);
	assert_int_equal(sum.ops[BLK_WRITE], 1);
	assert_int_equal(sum.bytes[BLK_WRITE], 2 * SECTOR);
	assert_int_equal(sum.bytes[BLK_DISCARD], 4 * SECTOR);
	assert_int_equal(sum.bytes[BLK_WRITE_ZEROES], 8 * SECTOR);
	assert_int_equal(sum.ops[BLK_FLUSH], 1);
	assert_int_equal(sum.bytes[BLK_FLUSH], 0);
	assert_true(sum.ns[BLK_READ] > 0);
	blk_close(dev);
	cpu_override(NULL, 0);
}

static void test_stats_errors_count_without_bytes(void **state)
{
	struct blk_fault rule = {
		.op = BLK_WRITE, .nth = 2, .count = 1, .error = -EIO};
	struct blk_stats sum;
	struct blk_dev *dev = fault_open();

	(void)state;
	assert_int_equal(blk_fault_arm(dev, &rule), 0);
	assert_int_equal(blk_wrap_stats(dev, &dev), 0);
	assert_int_equal(blk_write(dev, 0, SECTOR, ones), 0);
	assert_int_equal(blk_write(dev, 0, SECTOR, ones), -EIO);
	blk_stats_read(dev, &sum);
	assert_int_equal(sum.ops[BLK_WRITE], 2);
	assert_int_equal(sum.errors[BLK_WRITE], 1);
	assert_int_equal(sum.bytes[BLK_WRITE], SECTOR);
	blk_close(dev);
}

static void test_fault_nth_of_each_kind_fails_alone(void **state)
{
	struct blk_dev *dev = fault_open();
	uint8_t back[SECTOR];

	(void)state;
	for (enum blk_op op = BLK_READ; op <= BLK_WRITE_ZEROES; op++) {
		struct blk_fault rule = {
			.op = op, .nth = 3, .count = 2, .error = -EIO};

		if (op == BLK_FLUSH)
			continue; /* final: in test_core */
		assert_int_equal(blk_fault_arm(dev, &rule), 0);
		for (int i = 1; i <= 6; i++) {
			struct iovec iov = {back, SECTOR};
			struct blk_io io = {.op = op,
				.bytes = SECTOR,
				.iov = &iov,
				.iov_count = 1};
			bool due = i == 3 || i == 4;

			assert_int_equal(blk_run(dev, &io, 1), due ? -EIO : 0);
		}
		assert_int_equal(blk_fault_seen(dev, op), 6);
	}
	assert_int_equal(blk_fault_seen(dev, BLK_FLUSH), 0);
	blk_close(dev);
}

static void test_fault_for_good_ends_with_disarm(void **state)
{
	struct blk_fault rule = {.op = BLK_READ,
		.nth = 1,
		.count = UINT64_MAX,
		.error = -ENODEV};
	struct blk_dev *dev = fault_open();
	uint8_t back[SECTOR];

	(void)state;
	assert_int_equal(blk_fault_arm(dev, &rule), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(blk_read(dev, 0, SECTOR, back), -ENODEV);
	blk_fault_disarm(dev);
	assert_int_equal(blk_read(dev, 0, SECTOR, back), 0);
	blk_close(dev);
}

static void test_fault_without_half_writes_nothing(void **state)
{
	struct blk_fault rule = {
		.op = BLK_WRITE, .nth = 1, .count = 1, .error = -EIO};
	struct blk_dev *dev = fault_open();
	uint8_t back[SECTOR];

	(void)state;
	assert_int_equal(blk_fault_arm(dev, &rule), 0);
	assert_int_equal(blk_write(dev, 0, SECTOR, ones), -EIO);
	assert_int_equal(blk_read(dev, 0, SECTOR, back), 0);
	assert_int_equal(back[0], 0);
	blk_close(dev);
}

static void test_fault_half_transfers_half_then_fails(void **state)
{
	struct blk_fault rule = {.op = BLK_WRITE,
		.nth = 1,
		.count = 2,
		.error = -ENOSPC,
		.half = true};
	struct blk_dev *dev = fault_open();
	struct iovec iov[3] = {
		{ones, 100}, {ones, 4 * SECTOR}, {ones, 3 * SECTOR - 100}};
	struct blk_io io = {.op = BLK_WRITE,
		.bytes = 7 * SECTOR,
		.iov = iov,
		.iov_count = 3};
	uint8_t back[8 * SECTOR];

	(void)state;
	assert_int_equal(blk_fault_arm(dev, &rule), 0);
	assert_int_equal(blk_run(dev, &io, 1), -ENOSPC);
	assert_int_equal(blk_read(dev, 0, sizeof(back), back), 0);
	assert_int_equal(back[0], 1);
	assert_int_equal(back[3 * SECTOR - 1], 1);
	assert_int_equal(back[3 * SECTOR], 0);
	assert_int_equal(io.bytes, 7 * SECTOR);
	assert_int_equal(iov[1].iov_len, 4 * SECTOR);

	/* Half of one sector is none. */
	assert_int_equal(blk_write(dev, 8 * SECTOR, SECTOR, ones), -ENOSPC);
	assert_int_equal(blk_read(dev, 8 * SECTOR, SECTOR, back), 0);
	assert_int_equal(back[0], 0);
	blk_close(dev);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void wake_done(struct blk_io *io)
{
	_Atomic uint32_t *done = io->owner;

	atomic_store(done, 1);
	futex_wake_all(done);
}

static void test_fault_delayed_flush_keeps_only_waiters_waiting(void **state)
{
	const uint64_t delay = 20000000;
	struct blk_dev *dev = fault_open();
	_Atomic uint32_t done = 0;
	struct blk_io io = {.op = BLK_FLUSH, .done = wake_done, .owner = &done};
	uint64_t start;

	(void)state;
	blk_fault_delay_flush(dev, delay);
	start = now_ns();
	assert_int_equal(blk_flush(dev), 0);
	assert_true(now_ns() - start >= delay);
	start = now_ns();
	blk_submit(dev, &io);
	while (atomic_load(&done) == 0)
		(void)futex_wait(&done, 0, FUTEX_FOREVER);
	assert_true(now_ns() - start >= delay);
	assert_int_equal(io.result, 0);
	assert_int_equal(blk_fault_seen(dev, BLK_FLUSH), 2);
	blk_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stats_sum_is_exact_over_cpus),
		cmocka_unit_test(test_stats_errors_count_without_bytes),
		cmocka_unit_test(test_fault_nth_of_each_kind_fails_alone),
		cmocka_unit_test(test_fault_for_good_ends_with_disarm),
		cmocka_unit_test(test_fault_without_half_writes_nothing),
		cmocka_unit_test(test_fault_half_transfers_half_then_fails),
		cmocka_unit_test(
			test_fault_delayed_flush_keeps_only_waiters_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
