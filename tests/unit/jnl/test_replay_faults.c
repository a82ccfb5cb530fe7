/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every call to the device and to the allocator fails once, in turn: the error
 * comes back as it is, nothing leaks (AddressSanitizer), and the log is still
 * there to be replayed.
 *
 * The allocator is this file's by the linker's --wrap.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../cmocka_all.h"
#include "blk/layers.h"
#include "jnl/sink.h"
#include "jnl/walk.h"
#include "logmaker.h"

enum { NEVER = -1 };

/* How many allocations of the library to let succeed; NEVER: all. */
static int fail_after = NEVER;

void *real_malloc(size_t bytes) __asm__("__real_malloc");
void *real_calloc(size_t count, size_t bytes) __asm__("__real_calloc");
void *real_reallocarray(void *old, size_t count, size_t bytes) __asm__(
	"__real_reallocarray");
void *wrap_malloc(size_t bytes) __asm__("__wrap_malloc");
void *wrap_calloc(size_t count, size_t bytes) __asm__("__wrap_calloc");
void *wrap_reallocarray(void *old, size_t count, size_t bytes) __asm__(
	"__wrap_reallocarray");

static bool fails_now(void)
{
	return fail_after != NEVER && fail_after-- == 0;
}

void *wrap_malloc(size_t bytes)
{
	return fails_now() ? NULL : real_malloc(bytes);
}

void *wrap_calloc(size_t count, size_t bytes)
{
	return fails_now() ? NULL : real_calloc(count, bytes);
}

void *wrap_reallocarray(void *old, size_t count, size_t bytes)
{
	return fails_now() ? NULL : real_reallocarray(old, count, bytes);
}

/* A log that has everything, on a device that can be told to fail. */
static void open_log(struct maker *m, const struct form *form)
{
	static const uint8_t head[] = {9, 0, 8, 0, 0, 0, 0, 0, 13, 0, 0, 0};
	uint8_t *block = test_calloc(1, form->block_bytes);
	struct blk_dev *faulty;

	maker_open(m, form, 4);
	maker_super(m, MAKER_TID, 1);
	maker_txn(m, &(struct txn){.tid = 10,
			     .copies = 3,
			     .home = {1, 2, 3},
			     .fill = {0x11, 0, 0x13}});
	maker_txn(m, &(struct txn){.tid = 11,
			     .copies = 1,
			     .home = {1},
			     .fill = {0x21},
			     .revokes = 1,
			     .revoke = {3}});
	maker_txn(m, &(struct txn){.tid = 12,
			     .copies = 1,
			     .home = {4},
			     .fill = {0x34},
			     .wrong = WRONG_DESCRIPTOR_SUM | WRONG_NO_COMMIT});
	memcpy(block, head, sizeof(head));
	maker_write(m, MAKER_LOG - 3, block);
	test_free(block);
	assert_int_equal(blk_wrap_fault(m->dev, &faulty), 0);
	m->dev = faulty;
	m->place.dev = faulty;
}

static int replay_home(struct maker *m, struct jnl_replay_result *r)
{
	struct jnl_home_sink *sink;
	int err = jnl_home_sink_open(m->dev, m->form.block_bytes, &sink);

	if (err != 0)
		return err;
	err = jnl_replay(&m->place, MAKER_HOMES, &jnl_home_sink_ops, sink, r);
	if (err == 0)
		err = jnl_home_sink_flush(sink);
	if (err == 0)
		err = jnl_replay_finish(&m->place, r->next_tid);
	jnl_home_sink_close(sink);
	return err;
}

static void expect_done(struct maker *m)
{
	struct jnl_replay_result r = {0};

	assert_int_equal(maker_home(m, 1), 0x21);
	assert_int_equal(maker_home(m, 2), 0xc0);
	assert_int_equal(maker_home(m, 3), 0);
	assert_int_equal(maker_home(m, 4), 0);
	assert_int_equal(replay_home(m, &r), 0);
	assert_int_equal(r.transactions, 0);
}

static void expect_nothing_moved(struct maker *m)
{
	for (blk_no home = 0; home < 5; home++)
		assert_int_equal(maker_home(m, home), 0);
}

/* The @nth call of kind @op fails; false: there are not that many. */
static bool fail_device(const struct form *form, enum blk_op op, uint64_t nth)
{
	const struct blk_fault rule = {
		.op = op, .nth = nth, .count = 1, .error = -EREMOTEIO};
	struct jnl_replay_result r = {0};
	struct maker m;
	int err;

	open_log(&m, form);
	assert_int_equal(blk_fault_arm(m.dev, &rule), 0);
	err = replay_home(&m, &r);
	blk_fault_disarm(m.dev);
	if (err != 0) {
		assert_int_equal(err, -EREMOTEIO);
		/* A failed flush is final, everything else may be repeated. */
		if (op == BLK_READ && r.blocks == 0)
			expect_nothing_moved(&m);
		if (op != BLK_FLUSH)
			assert_int_equal(replay_home(&m, &r), 0);
	}
	if (op != BLK_FLUSH)
		expect_done(&m);
	maker_close(&m);
	return err != 0;
}

static void test_jnl_replay_survives_every_device_error(void **state)
{
	static const enum blk_op ops[] = {BLK_READ, BLK_WRITE, BLK_FLUSH};

	(void)state;
	for (size_t i = 0; i < maker_form_count; i++) {
		/* The faults are the same in all; two sizes are enough. */
		if (!maker_forms[i].wide || maker_forms[i].block_bytes == 4096)
			continue;
		for (size_t n = 0; n < ARRAY_COUNT(ops); n++) {
			uint64_t nth = 1;

			while (fail_device(&maker_forms[i], ops[n], nth))
				nth++;
			assert_true(nth > 2);
		}
	}
}

static int walk_all(struct maker *m)
{
	static const struct jnl_walk_visitor blind = {NULL};
	struct jnl_walk_result r;

	return jnl_walk(&m->place, 0, &blind, NULL, &r);
}

static void test_jnl_walk_survives_every_device_error(void **state)
{
	struct maker m;
	int failed = 0;

	(void)state;
	open_log(&m, &maker_forms[maker_form_count - 1]);
	for (uint64_t nth = 1;; nth++) {
		const struct blk_fault rule = {
			.op = BLK_READ, .nth = nth, .count = 1, .error = -EIO};
		int err;

		assert_int_equal(blk_fault_arm(m.dev, &rule), 0);
		err = walk_all(&m);
		blk_fault_disarm(m.dev);
		if (err == 0)
			break;
		assert_int_equal(err, -EIO);
		failed++;
	}
	assert_true(failed > 2);
	maker_close(&m);
}

static int replay_over(struct maker *m)
{
	struct jnl_replay_result r = {0};
	struct jnl_overlay *o;
	struct blk_dev *dev;
	int err = jnl_overlay_open(m->dev, m->form.block_bytes, &o);

	if (err != 0)
		return err;
	err = jnl_replay(&m->place, MAKER_HOMES, &jnl_overlay_ops, o, &r);
	if (err == 0)
		err = jnl_overlay_seal(o, &dev);
	if (err != 0) {
		jnl_overlay_close(o);
		return err;
	}
	m->dev = dev;
	return 0;
}

static int replay_home_quietly(struct maker *m)
{
	struct jnl_replay_result r = {0};

	return replay_home(m, &r);
}

/* @work with its @nth allocation failing; false: there are not that many. */
static bool fail_allocation(int (*work)(struct maker *m), int nth)
{
	struct maker m;
	bool failed;
	int err;

	open_log(&m, &maker_forms[7]);
	fail_after = nth;
	err = work(&m);
	failed = fail_after == NEVER;
	fail_after = NEVER;
	/* The devices below may do without what they did not get. */
	if (failed && err != 0) {
		assert_int_equal(err, -ENOMEM);
		err = work(&m);
	}
	assert_int_equal(err, 0);
	maker_close(&m);
	return failed;
}

static void survive_allocations(int (*work)(struct maker *m))
{
	int nth = 0;

	while (fail_allocation(work, nth))
		nth++;
	assert_true(nth > 5);
}

static void test_jnl_replay_survives_every_failed_allocation(void **state)
{
	(void)state;
	survive_allocations(replay_home_quietly);
	survive_allocations(replay_over);
	survive_allocations(walk_all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jnl_replay_survives_every_device_error),
		cmocka_unit_test(test_jnl_walk_survives_every_device_error),
		cmocka_unit_test(
			test_jnl_replay_survives_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
