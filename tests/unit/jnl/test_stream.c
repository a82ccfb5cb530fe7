/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks that stream to a device: each arrives whole, where it belongs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../cmocka_all.h"
#include "../seed.h"
#include "base/hash.h"
#include "blk/layers.h"
#include "jnl/stream.h"
#include "late.h"

enum { BLOCK_BYTES = 1024, DEV_BLOCKS = 4096, ROUNDS = 8, RUN_MOST = 9 };

static void block_fill(void *data, uint64_t seed)
{
	uint64_t *words = data;

	for (unsigned i = 0; i < BLOCK_BYTES / sizeof(*words); i++)
		words[i] = hash_u64(seed + i);
}

struct stage {
	struct blk_dev *dev;
	struct jnl_stream stream;
	uint64_t rng;
	uint64_t seeds[DEV_BLOCKS]; /* of what each block holds; 0: zeroes */
	uint64_t next;              /* seed */
};

/* One round: runs of neighbours, in disorder, no block twice. */
static void stage_round(struct stage *s)
{
	uint32_t at = (uint32_t)(hash_next(&s->rng) % RUN_MOST);

	while (at + RUN_MOST < DEV_BLOCKS) {
		uint32_t run = 1 + (uint32_t)(hash_next(&s->rng) % RUN_MOST);

		if (hash_next(&s->rng) % 4 == 0)
			assert_int_equal(jnl_stream_break(&s->stream),
				s->stream.piece_blocks);
		while (run-- > 0) {
			s->next += BLOCK_BYTES;
			s->seeds[at] = s->next;
			assert_in_range(jnl_stream_room(&s->stream), 1,
				s->stream.piece_blocks);
			block_fill(jnl_stream_block(&s->stream, at++), s->next);
		}
		at += (uint32_t)(hash_next(&s->rng) % 3) * 20;
	}
	assert_int_equal(jnl_stream_wait(&s->stream), 0);
}

static void stage_check(const struct stage *s)
{
	static unsigned char all[DEV_BLOCKS * BLOCK_BYTES];
	unsigned char want[BLOCK_BYTES];

	assert_int_equal(blk_read(s->dev, 0, sizeof(all), all), 0);
	for (uint32_t i = 0; i < DEV_BLOCKS; i++) {
		if (s->seeds[i] != 0)
			block_fill(want, s->seeds[i]);
		else
			memset(want, 0, sizeof(want));
		assert_memory_equal(
			all + (size_t)i * BLOCK_BYTES, want, BLOCK_BYTES);
	}
}

static void stage_run(struct blk_dev *dev, uint32_t piece, uint32_t pieces)
{
	struct stage *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->dev = dev;
	s->rng = test_seed();
	s->next = s->rng;
	assert_int_equal(
		jnl_stream_init(&s->stream, dev, BLOCK_BYTES, piece, pieces),
		0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		stage_round(s);
		stage_check(s);
	}
	jnl_stream_fini(&s->stream);
	blk_close(dev);
	free(s);
}

static struct blk_dev *memory(void)
{
	struct blk_dev *dev;

	assert_int_equal(
		blk_open_mem((uint64_t)DEV_BLOCKS * BLOCK_BYTES, &dev), 0);
	return dev;
}

static void test_jnl_stream_to_memory_arrives(void **state)
{
	(void)state;
	stage_run(memory(), 4, 5);
	stage_run(memory(), 64, 2);
	stage_run(memory(), 2, 1);
}

/* Requests end in any order, while later blocks are being filled. */
static void test_jnl_stream_to_slow_device_arrives(void **state)
{
	const struct late_opts slow = {.us = 40, .very_us = 200};
	struct blk_dev *dev;

	(void)state;
	assert_int_equal(late_open(memory(), &slow, &dev), 0);
	stage_run(dev, 4, 5);
	assert_int_equal(late_open(memory(), &slow, &dev), 0);
	stage_run(dev, 16, 1);
}

/* What runs through the whole ring goes out in requests of whole pieces. */
static void test_jnl_stream_of_neighbours_is_few_requests(void **state)
{
	struct jnl_stream stream;
	struct blk_stats stats;
	struct blk_dev *dev;

	(void)state;
	assert_int_equal(blk_wrap_stats(memory(), &dev), 0);
	assert_int_equal(jnl_stream_init(&stream, dev, BLOCK_BYTES, 32, 4), 0);
	for (blk_no b = 0; b < 320; b++)
		block_fill(jnl_stream_block(&stream, b), b);
	assert_int_equal(jnl_stream_wait(&stream), 0);
	blk_stats_read(dev, &stats);
	assert_in_range(stats.ops[BLK_WRITE], 1, 10);
	assert_int_equal(stats.bytes[BLK_WRITE], 320 * BLOCK_BYTES);
	jnl_stream_fini(&stream);
	blk_close(dev);
}

/* The first error is told once, and the stream is of use again. */
static void test_jnl_stream_error_is_told_by_wait(void **state)
{
	const struct blk_fault rule = {
		.op = BLK_WRITE, .nth = 2, .count = 1, .error = -EIO};
	struct jnl_stream stream;
	struct blk_dev *dev;

	(void)state;
	assert_int_equal(blk_wrap_fault(memory(), &dev), 0);
	assert_int_equal(blk_fault_arm(dev, &rule), 0);
	assert_int_equal(jnl_stream_init(&stream, dev, BLOCK_BYTES, 4, 2), 0);
	for (blk_no b = 0; b < 40; b += 2)
		block_fill(jnl_stream_block(&stream, b), b);
	assert_int_equal(jnl_stream_wait(&stream), -EIO);
	block_fill(jnl_stream_block(&stream, 1), 1);
	assert_int_equal(jnl_stream_wait(&stream), 0);
	jnl_stream_fini(&stream);
	blk_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jnl_stream_to_memory_arrives),
		cmocka_unit_test(test_jnl_stream_to_slow_device_arrives),
		cmocka_unit_test(test_jnl_stream_of_neighbours_is_few_requests),
		cmocka_unit_test(test_jnl_stream_error_is_told_by_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
