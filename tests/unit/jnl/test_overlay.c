/* SPDX-License-Identifier: BSD-2-Clause */
/* The overlay: blocks that only seem to have gone home. */
#include <errno.h>

#include "../cmocka_all.h"
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

/* The maker's device afterwards is the overlay's. */
static void replay_over(struct maker *m)
{
	struct jnl_replay_result r;
	struct jnl_overlay *o;

	assert_int_equal(jnl_overlay_open(m->dev, m->form.block_bytes, &o), 0);
	assert_int_equal(
		jnl_replay(&m->place, MAKER_HOMES, &jnl_overlay_ops, o, &r), 0);
	for (blk_no home = 0; home < MAKER_HOMES; home++)
		assert_int_equal(maker_home(m, home), 0);
	assert_int_equal(jnl_overlay_seal(o, &m->dev), 0);
}

static void test_jnl_overlay_shows_every_block(void **state)
{
	(void)state;
	for (size_t i = 0; i < maker_form_count; i++) {
		struct maker m;

		maker_open(&m, &maker_forms[i], 0);
		two_transactions(&m);
		replay_over(&m);
		expect_homes(&m);
		assert_true(blk_geom(m.dev).read_only);
		maker_close(&m);
	}
}

/* Reads that begin and end inside blocks, and span several. */
static void test_jnl_overlay_reads_by_the_sector(void **state)
{
	struct maker m;
	uint8_t data[5 * 512];

	(void)state;
	maker_open(&m, &maker_forms[0], 0); /* 1 KiB: two sectors each */
	two_transactions(&m);
	replay_over(&m);
	assert_int_equal(blk_read(m.dev, 512, sizeof(data), data), 0);
	for (size_t i = 0; i < sizeof(data); i++) {
		static const uint8_t want[] = {0, 0x21, 0x21, 0x12, 0x12};

		assert_int_equal(data[i], want[i / 512]);
	}
	maker_close(&m);
}

/* Each sector of a block comes from its own place in it. */
static void test_jnl_overlay_keeps_sectors_apart(void **state)
{
	enum { BYTES = 4096 };

	struct jnl_overlay *o;
	struct blk_dev *dev;
	uint8_t block[BYTES];
	uint8_t sector[512];

	(void)state;
	for (size_t i = 0; i < BYTES; i++)
		block[i] = (uint8_t)(i / 512);
	assert_int_equal(blk_open_mem(UINT64_C(16) * BYTES, &dev), 0);
	assert_int_equal(jnl_overlay_open(dev, BYTES, &o), 0);
	assert_int_equal(jnl_overlay_ops.block(o, 3, block), 0);
	assert_int_equal(jnl_overlay_seal(o, &dev), 0);
	for (unsigned i = 0; i < BYTES / 512; i++) {
		uint64_t at = UINT64_C(3) * BYTES + i * UINT64_C(512);

		assert_int_equal(blk_read(dev, at, sizeof(sector), sector), 0);
		assert_int_equal(sector[0], i);
		assert_int_equal(sector[511], i);
	}
	blk_close(dev);
}

static void test_jnl_overlay_refuses_writes(void **state)
{
	uint8_t data[1024] = {0};
	struct maker m;

	(void)state;
	maker_open(&m, &maker_forms[0], 0);
	two_transactions(&m);
	replay_over(&m);
	assert_int_equal(blk_write(m.dev, 0, sizeof(data), data), -EROFS);
	maker_close(&m);
}

static void test_jnl_overlay_may_be_given_up(void **state)
{
	struct jnl_replay_result r;
	struct jnl_overlay *o;
	struct maker m;

	(void)state;
	maker_open(&m, &maker_forms[0], 0);
	two_transactions(&m);
	assert_int_equal(jnl_overlay_open(m.dev, 1024, &o), 0);
	assert_int_equal(
		jnl_replay(&m.place, MAKER_HOMES, &jnl_overlay_ops, o, &r), 0);
	jnl_overlay_close(o);
	assert_int_equal(maker_home(&m, 1), 0);
	maker_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jnl_overlay_shows_every_block),
		cmocka_unit_test(test_jnl_overlay_reads_by_the_sector),
		cmocka_unit_test(test_jnl_overlay_keeps_sectors_apart),
		cmocka_unit_test(test_jnl_overlay_refuses_writes),
		cmocka_unit_test(test_jnl_overlay_may_be_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
