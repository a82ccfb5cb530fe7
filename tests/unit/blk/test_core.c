/* SPDX-License-Identifier: BSD-2-Clause */
/* What every device answers alike: bad requests, empty ones, final flushes. */
#include <errno.h>
#include <string.h>

#include "../cmocka_all.h"
#include "blk/blk.h"
#include "blk/blk_int.h"
#include "blk/layers.h"

enum { DEV_BYTES = 1 << 20 };

#define SECTOR UINT64_C(512)

static uint8_t block[4096];

static struct blk_dev *mem_open(void)
{
	struct blk_dev *dev = NULL;

	assert_int_equal(blk_open_mem(DEV_BYTES, &dev), 0);
	return dev;
}

static void test_blk_misaligned_or_outside_is_einval(void **state)
{
	struct blk_dev *dev = mem_open();

	(void)state;
	assert_int_equal(blk_read(dev, 1, SECTOR, block), -EINVAL);
	assert_int_equal(blk_read(dev, 0, SECTOR - 1, block), -EINVAL);
	assert_int_equal(blk_write(dev, DEV_BYTES, SECTOR, block), -EINVAL);
	assert_int_equal(
		blk_write(dev, DEV_BYTES - SECTOR, 2 * SECTOR, block), -EINVAL);
	assert_int_equal(
		blk_discard(dev, SECTOR, UINT64_MAX - SECTOR + 1), -EINVAL);
	assert_int_equal(blk_write_zeroes(dev, UINT64_MAX - SECTOR + 1, SECTOR),
		-EINVAL);
	assert_int_equal(blk_write(dev, DEV_BYTES - SECTOR, SECTOR, block), 0);
	blk_close(dev);
}

static void test_blk_vectors_must_sum_to_bytes(void **state)
{
	struct blk_dev *dev = mem_open();
	struct iovec iov[2] = {{block, SECTOR}, {block, SECTOR}};
	struct blk_io io = {.op = BLK_READ, .iov = iov, .iov_count = 2};

	(void)state;
	io.bytes = SECTOR;
	assert_int_equal(blk_run(dev, &io, 1), -EINVAL);
	io.bytes = 2 * SECTOR;
	assert_int_equal(blk_run(dev, &io, 1), 0);
	iov[0].iov_len = SIZE_MAX;
	assert_int_equal(blk_run(dev, &io, 1), -EINVAL);
	io.iov_count = 1025;
	assert_int_equal(blk_run(dev, &io, 1), -EINVAL);
	io.op = (enum blk_op)99;
	assert_int_equal(blk_run(dev, &io, 1), -EINVAL);
	blk_close(dev);
}

static void test_blk_vectors_need_no_sector_lengths(void **state)
{
	struct blk_dev *dev = mem_open();
	uint8_t back[SECTOR];
	struct iovec iov[3] = {
		{block, 100}, {block + 100, 0}, {block + 100, SECTOR - 100}};
	struct blk_io io = {.op = BLK_WRITE,
		.offset = SECTOR,
		.bytes = SECTOR,
		.iov = iov,
		.iov_count = 3};

	(void)state;
	for (unsigned i = 0; i < SECTOR; i++)
		block[i] = (uint8_t)(i * 7);
	assert_int_equal(blk_run(dev, &io, 1), 0);
	assert_int_equal(blk_read(dev, SECTOR, SECTOR, back), 0);
	assert_memory_equal(back, block, SECTOR);
	blk_close(dev);
}

/* The bad one fails alone, wherever it stands among the others. */
static void test_blk_batch_tells_each_result(void **state)
{
	struct blk_dev *dev = mem_open();
	struct iovec iov = {block, SECTOR};
	struct blk_io ios[5];
	uint8_t back[SECTOR];

	(void)state;
	memset(block, 0xa5, SECTOR);
	for (int i = 0; i < 5; i++)
		ios[i] = (struct blk_io){.op = BLK_WRITE,
			.offset = i * SECTOR,
			.bytes = SECTOR,
			.iov = &iov,
			.iov_count = 1};
	ios[2].offset = 3;
	ios[4].bytes = 3;
	assert_int_equal(blk_run(dev, ios, 5), -EINVAL);
	for (int i = 0; i < 5; i++)
		assert_int_equal(ios[i].result, i == 2 || i == 4 ? -EINVAL : 0);
	assert_int_equal(blk_read(dev, 3 * SECTOR, SECTOR, back), 0);
	assert_memory_equal(back, block, SECTOR);
	assert_int_equal(blk_run(dev, ios, 0), 0);
	blk_close(dev);
}

static void count_done(struct blk_io *io)
{
	(*(int *)io->owner)++;
}

static void test_blk_submit_completes_once_with_result(void **state)
{
	struct blk_dev *dev = mem_open();
	struct iovec iov = {block, SECTOR};
	int done = 0;
	struct blk_io io = {.op = BLK_WRITE,
		.offset = 7,
		.bytes = SECTOR,
		.iov = &iov,
		.iov_count = 1,
		.done = count_done,
		.owner = &done};

	(void)state;
	blk_submit(dev, &io);
	assert_int_equal(done, 1);
	assert_int_equal(io.result, -EINVAL);
	io.offset = 0;
	blk_submit(dev, &io);
	assert_int_equal(done, 2);
	assert_int_equal(io.result, 0);
	io.op = BLK_DISCARD;
	io.bytes = 0;
	blk_submit(dev, &io);
	assert_int_equal(done, 3);
	assert_int_equal(io.result, 0);
	blk_close(dev);
}

static void test_blk_failed_flush_is_final(void **state)
{
	struct blk_fault once = {
		.op = BLK_FLUSH, .nth = 1, .count = 1, .error = -EIO};
	struct blk_dev *dev = mem_open();
	int done = 0;
	struct blk_io io = {
		.op = BLK_FLUSH, .done = count_done, .owner = &done};

	(void)state;
	assert_int_equal(blk_wrap_fault(dev, &dev), 0);
	assert_int_equal(blk_wrap_stats(dev, &dev), 0);
	assert_int_equal(blk_flush(dev), 0);
	blk_close(dev);

	dev = mem_open();
	assert_int_equal(blk_wrap_fault(dev, &dev), 0);
	assert_int_equal(blk_fault_arm(dev, &once), 0);
	assert_int_equal(blk_wrap_stats(dev, &dev), 0);
	assert_int_equal(blk_flush(dev), -EIO);
	assert_int_equal(blk_flush(dev), -EIO);
	assert_int_equal(blk_write(dev, 0, SECTOR, block), 0);
	blk_submit(dev, &io);
	assert_int_equal(done, 1);
	assert_int_equal(io.result, -EIO);
	blk_close(dev);
}

static void test_blk_geometry_is_checked(void **state)
{
	struct blk_dev *dev = NULL;

	(void)state;
	assert_int_equal(blk_open_mem(SECTOR + 1, &dev), -EINVAL);
	assert_int_equal(blk_open_mem(UINT64_MAX - SECTOR + 1, &dev), -EINVAL);
	assert_null(dev);
	assert_int_equal(blk_open_mem(0, &dev), 0);
	assert_int_equal(blk_geom(dev).bytes, 0);
	assert_int_equal(blk_read(dev, 0, SECTOR, block), -EINVAL);
	blk_close(dev);
	blk_close(NULL);
}

/* ---- ranges ------------------------------------------------------------ */

static void test_range_is_a_window(void **state)
{
	struct blk_dev *dev = mem_open();
	struct blk_dev *range = NULL;
	uint8_t data[SECTOR];

	(void)state;
	memset(data, 9, sizeof(data));
	assert_int_equal(blk_write(dev, 5 * SECTOR, SECTOR, data), 0);
	assert_int_equal(
		blk_open_range(dev, SECTOR + 1, SECTOR, &range), -EINVAL);
	assert_int_equal(blk_open_range(dev, SECTOR, 1, &range), -EINVAL);
	assert_int_equal(
		blk_open_range(dev, SECTOR, DEV_BYTES, &range), -EINVAL);
	assert_int_equal(
		blk_open_range(dev, UINT64_MAX - SECTOR + 1, SECTOR, &range),
		-EINVAL);
	assert_null(range);
	assert_int_equal(
		blk_open_range(dev, 4 * SECTOR, 2 * SECTOR, &range), 0);
	assert_int_equal(blk_geom(range).bytes, 2 * SECTOR);
	memset(data, 0, sizeof(data));
	assert_int_equal(blk_read(range, SECTOR, SECTOR, data), 0);
	assert_int_equal(data[0], 9);
	assert_int_equal(blk_read(range, 2 * SECTOR, SECTOR, data), -EINVAL);
	assert_int_equal(blk_discard(range, 0, 3 * SECTOR), -EINVAL);
	assert_int_equal(blk_flush(range), 0);
	blk_close(range);
}

/* ---- a caller's own ---------------------------------------------------- */

struct own {
	int answer;
	unsigned reads;
	unsigned flushes;
	unsigned closes;
};

static int own_pread(void *arg, uint64_t offset, size_t bytes, void *data)
{
	struct own *own = arg;

	assert_int_equal((offset | bytes) % SECTOR, 0);
	memset(data, 3, bytes);
	own->reads++;
	return own->answer;
}

static int own_flush(void *arg)
{
	struct own *own = arg;

	own->flushes++;
	return own->answer;
}

static void own_close(void *arg)
{
	struct own *own = arg;

	own->closes++;
}

static void test_caller_errors_are_errnos(void **state)
{
	const struct blk_caller_ops ops = {
		.pread = own_pread, .flush = own_flush, .close = own_close};
	struct blk_geom geom = {DEV_BYTES, SECTOR, .read_only = false};
	struct own own = {.answer = 0};
	struct blk_dev *dev = NULL;

	(void)state;
	assert_int_equal(blk_open_caller(&ops, &own, geom, &dev), -EINVAL);
	geom.read_only = true;
	assert_int_equal(blk_open_caller(&ops, &own, geom, &dev), 0);
	assert_int_equal(blk_read(dev, 0, SECTOR, block), 0);
	assert_int_equal(block[0], 3);
	own.answer = -ENODEV;
	assert_int_equal(blk_read(dev, 0, SECTOR, block), -ENODEV);
	own.answer = 17; /* no errno */
	assert_int_equal(blk_read(dev, 0, SECTOR, block), -EIO);
	assert_int_equal(own.reads, 3);
	assert_int_equal(blk_write(dev, 0, SECTOR, block), -EROFS);
	blk_close(dev);
	assert_int_equal(own.closes, 1);

	geom.sector_bytes = 1000;
	assert_int_equal(blk_open_caller(&ops, &own, geom, &dev), -EINVAL);
	assert_int_equal(own.closes, 1);
}

static int own_pwrite(
	void *arg, uint64_t offset, size_t bytes, const void *data)
{
	(void)data;
	return own_pread(arg, offset, bytes, block);
}

static void test_caller_flush_error_is_final(void **state)
{
	const struct blk_caller_ops ops = {
		.pread = own_pread, .pwrite = own_pwrite, .flush = own_flush};
	const struct blk_geom geom = {DEV_BYTES, SECTOR, .read_only = false};
	struct own own = {.answer = 0};
	struct blk_dev *dev = NULL;

	(void)state;
	assert_int_equal(blk_open_caller(&ops, &own, geom, &dev), 0);
	assert_int_equal(blk_discard(dev, 0, SECTOR), 0); /* none: nothing */
	assert_int_equal(blk_flush(dev), 0);
	own.answer = -ENOSPC;
	assert_int_equal(blk_flush(dev), -ENOSPC);
	own.answer = 0;
	assert_int_equal(blk_flush(dev), -ENOSPC);
	assert_int_equal(own.flushes, 2);
	assert_int_equal(blk_write(dev, 0, SECTOR, block), 0);
	blk_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blk_misaligned_or_outside_is_einval),
		cmocka_unit_test(test_blk_vectors_must_sum_to_bytes),
		cmocka_unit_test(test_blk_vectors_need_no_sector_lengths),
		cmocka_unit_test(test_blk_batch_tells_each_result),
		cmocka_unit_test(test_blk_submit_completes_once_with_result),
		cmocka_unit_test(test_blk_failed_flush_is_final),
		cmocka_unit_test(test_blk_geometry_is_checked),
		cmocka_unit_test(test_range_is_a_window),
		cmocka_unit_test(test_caller_errors_are_errnos),
		cmocka_unit_test(test_caller_flush_error_is_final),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
