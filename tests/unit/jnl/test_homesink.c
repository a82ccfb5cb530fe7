/* SPDX-License-Identifier: BSD-2-Clause */
/* The sink that writes blocks home. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../cmocka_all.h"
#include "blk/layers.h"
#include "jnl/sink.h"
#include "logmaker.h"

static void two_transactions(struct maker *m)
{
	maker_super(m, MAKER_TID, 1);
	maker_txn(m, &(struct txn){.tid = 10,
			     .copies = 5,
			     .home = {3, 1, 2, 20, 63},
			     .fill = {0x13, 0x11, 0x12, 0x20, 0x63}});
	maker_txn(m,
		&(struct txn){
			.tid = 11, .copies = 1, .home = {1}, .fill = {0x21}});
}

static void expect_homes(struct maker *m)
{
	static const uint8_t want[] = {0, 0x21, 0x12, 0x13, 0};

	for (unsigned i = 0; i < sizeof(want); i++)
		assert_int_equal(maker_home(m, i), want[i]);
	assert_int_equal(maker_home(m, 20), 0x20);
	assert_int_equal(maker_home(m, 63), 0x63);
}

static int replay_home(struct maker *m, struct blk_dev *dev)
{
	struct jnl_home_sink *sink;
	struct jnl_replay_result r;
	int err;

	assert_int_equal(
		jnl_home_sink_open(dev, m->form.block_bytes, &sink), 0);
	err = jnl_replay(&m->place, MAKER_HOMES, &jnl_home_sink_ops, sink, &r);
	if (err == 0)
		err = jnl_home_sink_flush(sink);
	jnl_home_sink_close(sink);
	return err;
}

static void test_jnl_home_sink_writes_every_block(void **state)
{
	(void)state;
	for (size_t i = 0; i < maker_form_count; i++) {
		struct maker m;

		maker_open(&m, &maker_forms[i], 0);
		two_transactions(&m);
		assert_int_equal(replay_home(&m, m.dev), 0);
		expect_homes(&m);
		maker_close(&m);
	}
}

static void test_jnl_home_sink_joins_neighbours(void **state)
{
	struct blk_stats stats;
	struct blk_dev *counted;
	struct maker m;

	(void)state;
	maker_open(&m, &maker_forms[0], 0);
	two_transactions(&m);
	assert_int_equal(blk_wrap_stats(m.dev, &counted), 0);
	m.dev = counted;
	assert_int_equal(replay_home(&m, m.dev), 0);
	blk_stats_read(counted, &stats);
	/* 1-3, 20, 63 */
	assert_int_equal(stats.ops[BLK_WRITE], 3);
	assert_int_equal(stats.bytes[BLK_WRITE], 5 * 1024);
	assert_int_equal(stats.ops[BLK_FLUSH], 1);
	maker_close(&m);
}

/* More blocks than a batch holds, each of which must arrive. */
static void test_jnl_home_sink_takes_many_batches(void **state)
{
	enum { BYTES = 65536, COUNT = 50 };

	struct jnl_home_sink *sink;
	struct blk_dev *dev;
	uint8_t *block = test_malloc(BYTES);

	(void)state;
	assert_int_equal(blk_open_mem((uint64_t)BYTES * COUNT, &dev), 0);
	assert_int_equal(jnl_home_sink_open(dev, BYTES, &sink), 0);
	for (blk_no i = 0; i < COUNT; i++) {
		blk_no home = i * 7 % COUNT;

		memset(block, (int)home + 1, BYTES);
		assert_int_equal(jnl_home_sink_ops.block(sink, home, block), 0);
	}
	assert_int_equal(jnl_home_sink_flush(sink), 0);
	for (blk_no home = 0; home < COUNT; home++) {
		assert_int_equal(blk_read(dev, home * BYTES, BYTES, block), 0);
		assert_int_equal(block[0], home + 1);
		assert_int_equal(block[BYTES - 1], home + 1);
	}
	jnl_home_sink_close(sink);
	blk_close(dev);
	test_free(block);
}

static void test_jnl_home_sink_reports_the_device(void **state)
{
	static const enum blk_op ops[] = {BLK_WRITE, BLK_FLUSH};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(ops); i++) {
		const struct blk_fault rule = {
			.op = ops[i], .nth = 1, .count = 1, .error = -EIO};
		struct blk_dev *faulty;
		struct maker m;

		maker_open(&m, &maker_forms[0], 0);
		two_transactions(&m);
		assert_int_equal(blk_wrap_fault(m.dev, &faulty), 0);
		m.dev = faulty;
		assert_int_equal(blk_fault_arm(faulty, &rule), 0);
		assert_int_equal(replay_home(&m, m.dev), -EIO);
		maker_close(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jnl_home_sink_writes_every_block),
		cmocka_unit_test(test_jnl_home_sink_joins_neighbours),
		cmocka_unit_test(test_jnl_home_sink_takes_many_batches),
		cmocka_unit_test(test_jnl_home_sink_reports_the_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
