/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding, reading, checking and forgetting blocks, one thread. */
#include <errno.h>
#include <stdlib.h>

#include "kit.h"
#include "sync/rcu.h"

static const uint32_t sizes[] = {1024, 2048, 4096, 8192, 16384, 32768, 65536};

static bool is_zero(const void *data, size_t bytes)
{
	const unsigned char *p = data;

	return p[0] == 0 && memcmp(p, p + 1, bytes - 1) == 0;
}

static void test_cache_open_bad_options_einval(void **state)
{
	static const struct cache_opts bad[] = {
		{.bytes = 1 << 20, .block_bytes = 512},
		{.bytes = 1 << 20, .block_bytes = 3072},
		{.bytes = 1 << 30, .block_bytes = 131072},
		{.bytes = 1 << 20, .block_bytes = 0},
		{.bytes = (1 << 20) - 1, .block_bytes = 4096},
		{.bytes = 4128768, .block_bytes = 65536},
		{.bytes = UINT64_C(1) << 44, .block_bytes = 4096},
		{.bytes = 1 << 20, .block_bytes = 4096, .client_bytes = 5000},
	};
	struct cache *c = NULL;
	struct blk_dev *dev;

	(void)state;
	assert_int_equal(blk_open_mem(1 << 20, &dev), 0);
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
		assert_int_equal(cache_open(dev, &bad[i], &c), -EINVAL);
	assert_null(c);
	blk_close(dev);
}

static void test_cache_open_tells_its_sizes(void **state)
{
	struct kit k;

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
		kit_open(&k, sizes[i], 100, 10);
		assert_int_equal(cache_block_bytes(k.cache), sizes[i]);
		assert_int_equal(cache_block_count(k.cache), 10);
		assert_ptr_equal(cache_dev(k.cache), k.dev);
		assert_true(
			cache_capacity_blocks(k.cache) * sizes[i] >= 102400);
		kit_close(&k);
	}
}

static void test_cache_tail_of_device_is_out_of_reach(void **state)
{
	struct cache_opts opts = {.bytes = 1 << 20, .block_bytes = 4096};
	struct blk_dev *dev;
	struct cache *c;
	struct buf *b;

	(void)state;
	assert_int_equal(blk_open_mem(3 * 4096 + 3584, &dev), 0);
	assert_int_equal(cache_open(dev, &opts, &c), 0);
	assert_int_equal(cache_block_count(c), 3);
	assert_int_equal(cache_get(c, 2, NULL, &b), 0);
	buf_put(b);
	assert_int_equal(cache_get(c, 3, NULL, &b), -EINVAL);
	assert_int_equal(cache_get_new(c, 3, &b), -EINVAL);
	assert_int_equal(cache_get(c, UINT64_MAX, NULL, &b), -EINVAL);
	assert_int_equal(cache_forget(c, 3), -EINVAL);
	cache_prefetch(c, 3, 1, NULL);
	cache_prefetch(c, 2, UINT32_MAX, NULL);
	cache_close(c);
	blk_close(dev);
}

static void test_cache_get_reads_each_size(void **state)
{
	struct kit k;

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
		kit_open(&k, sizes[i], 64, 40);
		kit_write_raw(&k, 0, 40, 7);
		for (int round = 0; round < 2; round++) {
			for (blk_no n = 0; n < 40; n++) {
				struct buf *b = kit_get(&k, n);

				assert_int_equal(
					kit_version(b->data, sizes[i], n), 7);
				buf_put(b);
			}
		}
		assert_int_equal(kit_stats(&k).misses, 40);
		assert_int_equal(kit_stats(&k).hits, 40);
		assert_int_equal(blk_fault_seen(k.dev, BLK_READ), 40);
		kit_close(&k);
	}
}

/* C1 */
static void test_cache_get_twice_gives_one_buffer(void **state)
{
	struct kit k;

	(void)state;
	kit_open(&k, 4096, 64, 8);
	kit_write_raw(&k, 0, 8, 1);

	struct buf *a = kit_get(&k, 5);
	struct buf *b = kit_get(&k, 5);
	struct buf *fresh;

	assert_ptr_equal(a, b);
	buf_put(b);
	assert_int_equal(cache_get_new(k.cache, 5, &fresh), 0);
	assert_ptr_equal(a, fresh);
	assert_int_equal(kit_version(fresh->data, 4096, 5), 1);
	buf_pin(fresh);
	buf_put(fresh);
	buf_put(fresh);
	buf_put(a);
	kit_close(&k);
}

static void test_cache_get_new_is_zero_and_unread(void **state)
{
	struct kit k;

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
		struct buf *b;

		kit_open(&k, sizes[i], 64, 100);
		kit_write_raw(&k, 0, 100, 9);
		for (blk_no n = 0; n < 100; n++) {
			assert_int_equal(cache_get_new(k.cache, n, &b), 0);
			assert_true(is_zero(b->data, sizes[i]));
			memset(b->data, 0xff, sizes[i]);
			buf_put(b);
		}
		assert_int_equal(blk_fault_seen(k.dev, BLK_READ), 0);
		kit_close(&k);
	}
}

static void test_cache_client_area_is_zero_for_each_block(void **state)
{
	struct kit k;

	(void)state;
	kit_open(&k, 16384, 64, 500);
	for (blk_no n = 0; n < 500; n++) {
		struct buf *b = kit_get(&k, n);

		assert_true(is_zero(b->client, 64));
		assert_int_equal((uintptr_t)b->client % 16, 0);
		memset(b->client, 0xee, 64);
		buf_put(b);
	}
	kit_close(&k);
}

static void test_cache_peek_finds_only_what_is_cached(void **state)
{
	struct buf *pinned;
	struct kit k;

	(void)state;
	kit_open(&k, 1024, 64, 10);
	kit_write_raw(&k, 0, 10, 3);
	rcu_begin();
	assert_null(cache_peek_rcu(k.cache, 4));
	rcu_end();
	pinned = kit_get(&k, 4);
	rcu_begin();
	assert_ptr_equal(cache_peek_rcu(k.cache, 4), pinned);
	assert_null(cache_peek_rcu(k.cache, 5));
	assert_null(cache_peek_rcu(k.cache, 1000));
	rcu_end();
	buf_put(pinned);
	assert_int_equal(cache_forget(k.cache, 4), 0);
	rcu_begin();
	assert_null(cache_peek_rcu(k.cache, 4));
	rcu_end();
	kit_close(&k);
}

static void test_cache_failed_read_is_not_cached(void **state)
{
	struct buf *b = NULL;
	struct kit k;

	(void)state;
	kit_open(&k, 4096, 64, 4);
	kit_write_raw(&k, 0, 4, 1);
	kit_fail(&k, BLK_READ, 1, 2, -EIO);
	assert_int_equal(cache_get(k.cache, 1, NULL, &b), -EIO);
	assert_null(b);
	assert_int_equal(cache_get(k.cache, 1, NULL, &b), -EIO);
	b = kit_get(&k, 1);
	assert_int_equal(kit_version(b->data, 4096, 1), 1);
	buf_put(b);
	kit_close(&k);
}

/* More failures than there are buffers: each one's memory comes back. */
static void test_cache_failed_reads_leak_nothing(void **state)
{
	struct buf *b;
	struct kit k;

	(void)state;
	kit_open(&k, 16384, 64, 10);
	kit_fail(&k, BLK_READ, 1, 300, -EIO);
	for (int i = 0; i < 300; i++)
		assert_int_equal(
			cache_get(k.cache, (blk_no)i % 10, NULL, &b), -EIO);
	buf_put(kit_get(&k, 3));
	kit_close(&k);
}

struct checker {
	int runs;
	int verdict;
	blk_no block;
};

static int run_check(void *arg, blk_no block, const void *data)
{
	struct checker *checker = arg;

	checker->runs++;
	checker->block = block;
	assert_int_equal(kit_version(data, 4096, block), 1);
	return checker->verdict;
}

/* C6 */
static void test_cache_check_runs_once_and_refuses(void **state)
{
	struct checker checker = {.verdict = -EBADMSG};
	struct buf_check check = {run_check, &checker};
	struct buf *b = NULL;
	struct kit k;

	(void)state;
	kit_open(&k, 4096, 64, 4);
	kit_write_raw(&k, 0, 4, 1);
	assert_int_equal(cache_get(k.cache, 2, &check, &b), -EBADMSG);
	assert_null(b);
	assert_int_equal(checker.runs, 1);
	assert_int_equal(checker.block, 2);
	rcu_begin();
	assert_null(cache_peek_rcu(k.cache, 2));
	rcu_end();
	checker.verdict = 0;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(cache_get(k.cache, 2, &check, &b), 0);
		buf_put(b);
	}
	assert_int_equal(checker.runs, 2);
	kit_close(&k);
}

static void test_cache_forget_drops_dirty_and_clean(void **state)
{
	struct buf *b;
	struct kit k;

	(void)state;
	kit_open(&k, 4096, 64, 4);
	kit_write_raw(&k, 0, 4, 1);
	b = kit_get(&k, 0);
	kit_change(&k, b, 2);
	assert_int_equal(cache_forget(k.cache, 0), -EBUSY);
	buf_put(b);
	assert_int_equal(cache_forget(k.cache, 0), 0);
	assert_int_equal(cache_forget(k.cache, 0), 0);
	assert_int_equal(cache_forget(k.cache, 3), 0);
	assert_int_equal(cache_sync(k.cache), 0);
	assert_int_equal(kit_read_raw(&k, 0), 1);
	b = kit_get(&k, 0);
	assert_int_equal(kit_version(b->data, 4096, 0), 1);
	buf_put(b);
	kit_close(&k);
}

static void test_cache_forget_gives_memory_back(void **state)
{
	struct kit k;

	(void)state;
	kit_open(&k, 65536, 64, 64);
	for (int i = 0; i < 2000; i++) {
		buf_put(kit_get(&k, (blk_no)i % 64));
		assert_int_equal(cache_forget(k.cache, (blk_no)i % 64), 0);
	}
	kit_close(&k);
}

static void test_cache_prefetch_reads_together_and_once(void **state)
{
	struct checker checker = {0};
	struct buf_check check = {run_check, &checker};
	struct kit k;

	(void)state;
	kit_open(&k, 4096, 256, 40);
	kit_write_raw(&k, 0, 40, 1);
	buf_put(kit_get(&k, 10));
	cache_prefetch(k.cache, 5, 20, &check);
	for (blk_no n = 5; n < 25; n++)
		buf_put(kit_get(&k, n));
	assert_int_equal(checker.runs, 19);
	assert_int_equal(kit_stats(&k).misses, 1);
	/* Block 10, and the runs on both sides of it. */
	assert_int_equal(blk_fault_seen(k.dev, BLK_READ), 3);
	kit_close(&k);
}

static void test_cache_prefetch_error_is_ignored(void **state)
{
	struct kit k;

	(void)state;
	kit_open(&k, 4096, 256, 40);
	kit_write_raw(&k, 0, 40, 1);
	kit_fail(&k, BLK_READ, 1, 1, -EIO);
	cache_prefetch(k.cache, 0, 30, NULL);
	for (blk_no n = 0; n < 30; n++)
		buf_put(kit_get(&k, n));
	kit_close(&k);
}

static void test_cache_reads_in_operations_are_counted(void **state)
{
	struct kit k;

	(void)state;
	kit_open(&k, 4096, 256, 40);
	buf_put(kit_get(&k, 1));
	cache_ops_open++;
	buf_put(kit_get(&k, 1));
	buf_put(kit_get(&k, 2));
	cache_ops_open--;
	assert_int_equal(kit_stats(&k).reads_in_op, 1);
	assert_int_equal(kit_stats(&k).misses, 2);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache_open_bad_options_einval),
		cmocka_unit_test(test_cache_open_tells_its_sizes),
		cmocka_unit_test(test_cache_tail_of_device_is_out_of_reach),
		cmocka_unit_test(test_cache_get_reads_each_size),
		cmocka_unit_test(test_cache_get_twice_gives_one_buffer),
		cmocka_unit_test(test_cache_get_new_is_zero_and_unread),
		cmocka_unit_test(test_cache_client_area_is_zero_for_each_block),
		cmocka_unit_test(test_cache_peek_finds_only_what_is_cached),
		cmocka_unit_test(test_cache_failed_read_is_not_cached),
		cmocka_unit_test(test_cache_failed_reads_leak_nothing),
		cmocka_unit_test(test_cache_check_runs_once_and_refuses),
		cmocka_unit_test(test_cache_forget_drops_dirty_and_clean),
		cmocka_unit_test(test_cache_forget_gives_memory_back),
		cmocka_unit_test(test_cache_prefetch_reads_together_and_once),
		cmocka_unit_test(test_cache_prefetch_error_is_ignored),
		cmocka_unit_test(test_cache_reads_in_operations_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
