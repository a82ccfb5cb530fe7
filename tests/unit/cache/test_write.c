/* SPDX-License-Identifier: BSD-2-Clause */
/* Changed blocks on their way home. */
#include <errno.h>
#include <unistd.h>

#include "kit.h"

static void test_cache_sync_writes_all_that_is_dirty(void **state)
{
	struct kit k;

	(void)state;
	kit_open(&k, 4096, 512, 100);
	for (blk_no n = 0; n < 100; n++) {
		struct buf *b = kit_get(&k, n);

		kit_change(&k, b, n + 1);
		buf_put(b);
	}
	assert_int_equal(cache_sync(k.cache), 0);
	for (blk_no n = 0; n < 100; n++)
		assert_int_equal(kit_read_raw(&k, n), n + 1);
	/* Neighbours went together. */
	assert_true(blk_fault_seen(k.dev, BLK_WRITE) < 10);
	assert_int_equal(blk_fault_seen(k.dev, BLK_FLUSH), 0);

	uint64_t writes = blk_fault_seen(k.dev, BLK_WRITE);

	assert_int_equal(cache_sync(k.cache), 0);
	assert_int_equal(blk_fault_seen(k.dev, BLK_WRITE), writes);
	kit_close(&k);
}

static void test_cache_sync_error_is_told_once_and_kept_dirty(void **state)
{
	struct buf *b;
	struct kit k;

	(void)state;
	kit_open(&k, 4096, 64, 10);
	b = kit_get(&k, 3);
	kit_change(&k, b, 5);
	buf_put(b);
	kit_fail(&k, BLK_WRITE, 1, 1, -EIO);
	assert_int_equal(cache_sync(k.cache), -EIO);
	assert_int_equal(cache_sync(k.cache), 0);
	assert_int_equal(kit_read_raw(&k, 3), 5);
	kit_close(&k);
}

static void test_cache_dirty_block_survives_eviction(void **state)
{
	struct kit k;

	(void)state;
	/* C2: ten times as many dirty blocks as there is room for. */
	kit_open(&k, 16384, 64, 640);
	for (blk_no n = 0; n < 640; n++) {
		struct buf *b;

		assert_int_equal(cache_get_new(k.cache, n, &b), 0);
		kit_change(&k, b, n + 3);
		buf_put(b);
	}
	for (blk_no n = 0; n < 640; n++) {
		struct buf *b = kit_get(&k, n);

		assert_int_equal(kit_version(b->data, 16384, n), n + 3);
		buf_put(b);
	}
	kit_close(&k);
}

static bool want_odd(struct buf *b, void *arg)
{
	int *asked = arg;

	mtx_assert_held(&b->lock);
	(*asked)++;
	return b->block % 2 == 1;
}

static void test_cache_write_sorts_and_skips(void **state)
{
	static const blk_no order[] = {7, 2, 9, 3, 8, 1, 4};

	enum { COUNT = ARRAY_COUNT(order) };
	struct buf *bufs[COUNT];
	int results[COUNT];
	int asked = 0;
	struct kit k;

	(void)state;
	kit_open(&k, 2048, 64, 10);
	kit_write_raw(&k, 0, 10, 1);
	for (int i = 0; i < COUNT; i++) {
		bufs[i] = kit_get(&k, order[i]);
		kit_fill(bufs[i]->data, 2048, order[i], 2);
	}
	assert_int_equal(
		cache_write(k.cache, bufs, results, COUNT, want_odd, &asked),
		0);
	assert_int_equal(asked, COUNT);
	for (int i = 0; i < COUNT; i++) {
		bool odd = bufs[i]->block % 2 == 1;

		assert_true(i == 0 || bufs[i - 1]->block < bufs[i]->block);
		assert_int_equal(results[i], odd ? 0 : 1);
		assert_int_equal(kit_read_raw(&k, bufs[i]->block), odd ? 2 : 1);
	}
	assert_int_equal(
		cache_write(k.cache, bufs, NULL, COUNT, NULL, NULL), 0);
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(kit_read_raw(&k, bufs[i]->block), 2);
		buf_put(bufs[i]);
	}
	assert_int_equal(cache_write(k.cache, bufs, NULL, 0, NULL, NULL), 0);
	kit_close(&k);
}

static void test_cache_write_joins_neighbours(void **state)
{
	struct buf *bufs[64];
	uint64_t before;
	struct kit k;

	(void)state;
	kit_open(&k, 4096, 256, 64);
	for (blk_no n = 0; n < 64; n++) {
		bufs[63 - n] = kit_get(&k, n);
		kit_fill(bufs[63 - n]->data, 4096, n, 4);
	}
	before = blk_fault_seen(k.dev, BLK_WRITE);
	assert_int_equal(cache_write(k.cache, bufs, NULL, 64, NULL, NULL), 0);
	assert_int_equal(blk_fault_seen(k.dev, BLK_WRITE), before + 1);
	for (blk_no n = 0; n < 64; n++) {
		assert_int_equal(kit_read_raw(&k, n), 4);
		buf_put(bufs[n]);
	}
	kit_close(&k);
}

static void test_cache_write_error_is_each_buffers_own(void **state)
{
	struct buf *bufs[2];
	int results[2];
	struct kit k;

	(void)state;
	kit_open(&k, 4096, 64, 10);
	kit_write_raw(&k, 0, 10, 1);
	bufs[0] = kit_get(&k, 8);
	bufs[1] = kit_get(&k, 2);
	kit_change(&k, bufs[0], 2);
	kit_change(&k, bufs[1], 2);
	kit_fail(&k, BLK_WRITE, 2, 1, -ENOSPC);
	assert_int_equal(
		cache_write(k.cache, bufs, results, 2, NULL, NULL), -ENOSPC);
	assert_int_equal(bufs[0]->block, 2);
	assert_int_equal(results[0], 0);
	assert_int_equal(results[1], -ENOSPC);
	buf_put(bufs[0]);
	buf_put(bufs[1]);
	/* What failed stayed dirty, and cache_write() has told its caller. */
	assert_int_equal(cache_sync(k.cache), 0);
	assert_int_equal(kit_read_raw(&k, 2), 2);
	assert_int_equal(kit_read_raw(&k, 8), 2);
	kit_close(&k);
}

static void test_cache_write_same_buffer_twice(void **state)
{
	struct buf *bufs[3];
	struct kit k;

	(void)state;
	kit_open(&k, 4096, 64, 10);
	bufs[0] = kit_get(&k, 8);
	bufs[1] = kit_get(&k, 2);
	bufs[2] = bufs[0];
	kit_change(&k, bufs[0], 2);
	kit_change(&k, bufs[1], 2);
	assert_int_equal(cache_write(k.cache, bufs, NULL, 3, NULL, NULL), 0);
	assert_int_equal(kit_read_raw(&k, 8), 2);
	buf_put(bufs[0]);
	buf_put(bufs[1]);
	kit_close(&k);
}

/* More than fits into one batch of private copies. */
static void test_cache_write_many_batches(void **state)
{
	enum { COUNT = 3000 };
	static struct buf *bufs[COUNT];
	struct kit k;

	(void)state;
	kit_open(&k, 4096, 5000, COUNT);
	for (blk_no n = 0; n < COUNT; n++) {
		assert_int_equal(cache_get_new(k.cache, n, &bufs[n]), 0);
		kit_change(&k, bufs[n], 6);
	}
	assert_int_equal(
		cache_write(k.cache, bufs, NULL, COUNT, NULL, NULL), 0);
	for (blk_no n = 0; n < COUNT; n++) {
		assert_int_equal(kit_read_raw(&k, n), 6);
		buf_put(bufs[n]);
	}
	kit_close(&k);
}

/* Sleep until the device has seen @writes, for two seconds at most, and then
 * until these are over. */
static void wait_for_writes(struct kit *k, uint64_t writes)
{
	for (int i = 0; i < 2000; i++) {
		if (blk_fault_seen(k->dev, BLK_WRITE) >= writes)
			break;
		usleep(1000);
	}
	assert_true(blk_fault_seen(k->dev, BLK_WRITE) >= writes);
	assert_int_equal(cache_sync(k->cache), 0);
}

static void test_cache_old_dirty_block_goes_home_by_itself(void **state)
{
	struct cache_opts opts = {
		.bytes = 1 << 20, .block_bytes = 4096, .dirty_ms = 20};
	struct buf *b;
	struct kit k;

	(void)state;
	kit_open_with(&k, &opts, 10);
	b = kit_get(&k, 1);
	kit_change(&k, b, 2);
	wait_for_writes(&k, 1);
	assert_int_equal(kit_read_raw(&k, 1), 2);
	buf_put(b);
	kit_close(&k);
}

static void test_cache_many_dirty_blocks_go_home_by_themselves(void **state)
{
	struct kit k;

	(void)state;
	kit_open(&k, 4096, 256, 256);
	for (blk_no n = 0; n < 128; n++) {
		struct buf *b = kit_get(&k, n);

		kit_change(&k, b, 2);
		buf_put(b);
	}
	wait_for_writes(&k, 1);
	assert_true(blk_fault_seen(k.dev, BLK_WRITE) > 0);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache_sync_writes_all_that_is_dirty),
		cmocka_unit_test(
			test_cache_sync_error_is_told_once_and_kept_dirty),
		cmocka_unit_test(test_cache_dirty_block_survives_eviction),
		cmocka_unit_test(test_cache_write_sorts_and_skips),
		cmocka_unit_test(test_cache_write_joins_neighbours),
		cmocka_unit_test(test_cache_write_error_is_each_buffers_own),
		cmocka_unit_test(test_cache_write_same_buffer_twice),
		cmocka_unit_test(test_cache_write_many_batches),
		cmocka_unit_test(
			test_cache_old_dirty_block_goes_home_by_itself),
		cmocka_unit_test(
			test_cache_many_dirty_blocks_go_home_by_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
