/* SPDX-License-Identifier: BSD-2-Clause */
/* Recovery: what it leaves behind, whatever interrupts it. */
#include <errno.h>
#include <string.h>

#include "../cmocka_all.h"
#include "blk/layers.h"
#include "ext_image.h"
#include "jnl/format.h"

enum {
	HOMES = 5,
	HOME_AT = 5000, /* and every second block from there */
	LABEL = 'n',    /* of the superblock that is in the log */
	SEEDS = 12,     /* crash states of each event */
};

static struct image img;

/* ---- a log to replay ----------------------------------------------------- */

static void put32(uint8_t *at, uint32_t v)
{
	struct be32 raw = be32_of(v);

	memcpy(at, &raw, sizeof(raw));
}

static void put_log(uint32_t log, const uint8_t *block)
{
	image_write_block(&img, IMG_LOG_AT + log, block);
}

static void header(uint8_t *block, uint32_t type)
{
	memset(block, 0, IMG_BLOCK);
	put32(block, JBD_MAGIC);
	put32(block + 4, type);
	put32(block + 8, 1);
}

static void log_super(uint32_t start, uint32_t error)
{
	uint8_t block[IMG_BLOCK];

	header(block, JBD_SUPER_V2);
	put32(block + 0x0c, IMG_BLOCK);
	put32(block + 0x10, IMG_LOG_BLOCKS);
	put32(block + 0x14, 1);
	put32(block + 0x18, 1);
	put32(block + 0x1c, start);
	put32(block + 0x20, error);
	put_log(0, block);
}

/*
 * One transaction: HOMES blocks filled with their index + 1, and a superblock
 * with another label.  Tags are of 8 bytes, the first with a uuid behind it.
 */
static void log_fill(void)
{
	uint8_t block[IMG_BLOCK];
	uint32_t at = 12;

	header(block, JBD_DESCRIPTOR);
	for (uint32_t i = 0; i <= HOMES; i++) {
		uint32_t flags = i ? JBD_TAG_SAME_UUID : 0;

		if (i == HOMES)
			flags |= JBD_TAG_LAST;
		put32(block + at, i < HOMES ? HOME_AT + 2 * i : 1);
		put32(block + at + 4, flags);
		at += i ? 8 : 24;
	}
	put_log(1, block);
	for (uint32_t i = 0; i < HOMES; i++) {
		memset(block, (int)i + 1, IMG_BLOCK);
		put_log(2 + i, block);
	}
	memcpy(block, &img.super, sizeof(img.super));
	((struct ext_disk_super *)block)->volume_name[0] = LABEL;
	put_log(2 + HOMES, block);
	header(block, JBD_COMMIT);
	put_log(3 + HOMES, block);
}

static int setup(void **state)
{
	(void)state;
	image_init(&img);
	img.super.feature_incompat = le32_of(EXT_INCOMPAT_RECOVER);
	img.super.state = le16_of(EXT_STATE_CLEAN);
	image_write(&img);
	log_super(1, 0);
	log_fill();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	image_fini(&img);
	return 0;
}

/* ---- judging ------------------------------------------------------------- */

static int recover(struct blk_dev *dev, struct ext_recovery *r)
{
	struct ext_damage damage = {0};
	struct ext_journal j;
	struct ext *fs;
	int err = ext_open(dev, &fs, &damage);

	assert_int_equal(err, 0);
	assert_int_equal(ext_journal_find(fs, NULL, &j, &damage), 0);
	err = ext_recover(fs, &j, r, &damage);
	if (!err)
		assert_int_equal(fs->super.features.incompat, 0);
	ext_journal_drop(&j);
	ext_close(fs);
	return err;
}

static struct ext_disk_super super_of(struct blk_dev *dev)
{
	struct ext_disk_super raw;

	assert_int_equal(blk_read(dev, EXT_SUPER_OFFSET, sizeof(raw), &raw), 0);
	return raw;
}

static void expect_recovered(struct blk_dev *dev)
{
	struct ext_disk_super raw = super_of(dev);
	uint8_t block[IMG_BLOCK];

	for (uint32_t i = 0; i < HOMES; i++) {
		uint64_t at = (uint64_t)(HOME_AT + 2 * i) * IMG_BLOCK;

		assert_int_equal(blk_read(dev, at, IMG_BLOCK, block), 0);
		assert_int_equal(block[0], i + 1);
		assert_int_equal(block[IMG_BLOCK - 1], i + 1);
	}
	assert_int_equal(raw.volume_name[0], LABEL);
	assert_int_equal(le32_get(raw.feature_incompat), 0);
	assert_int_equal(blk_read(dev, (uint64_t)IMG_LOG_AT * IMG_BLOCK,
				 IMG_BLOCK, block),
		0);
	assert_memory_equal(block + 0x1c, "\0\0\0\0", 4);
}

/* ---- the tests ----------------------------------------------------------- */

static void test_ext_recover_brings_blocks_home(void **state)
{
	struct ext_recovery r;

	(void)state;
	assert_int_equal(recover(img.dev, &r), 0);
	assert_true(r.was_needed);
	assert_int_equal(r.log.transactions, 1);
	assert_int_equal(r.log.blocks, HOMES + 1);
	assert_false(r.marked_error);
	expect_recovered(img.dev);
	assert_int_equal(le16_get(super_of(img.dev).state), EXT_STATE_CLEAN);
	assert_int_equal(recover(img.dev, &r), 0);
	assert_false(r.was_needed);
}

/* The log had aborted: its superblock forgets that, the file system's does
 * not. */
static void test_ext_recover_of_aborted_log_marks_errors(void **state)
{
	struct ext_recovery r;

	(void)state;
	log_super(1, 5);
	assert_int_equal(recover(img.dev, &r), 0);
	assert_true(r.marked_error);
	expect_recovered(img.dev);
	assert_int_equal(le16_get(super_of(img.dev).state),
		EXT_STATE_CLEAN | EXT_STATE_ERROR);
}

/* Power fails at each event of a recovery, and the next one completes it. */
static void test_ext_recover_survives_power_cuts(void **state)
{
	struct ext_recovery r;
	struct blk_dev *crash;
	uint64_t events;
	unsigned replayed = 0;

	(void)state;
	log_super(1, 5);
	assert_int_equal(blk_wrap_crash(img.dev, &crash), 0);
	img.dev = crash;
	assert_int_equal(recover(crash, &r), 0);
	events = blk_crash_events(crash);
	for (uint64_t cut = 0; cut <= events; cut++) {
		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			struct blk_dev *dev;

			assert_int_equal(
				blk_crash_state(crash, cut, seed, &dev), 0);
			assert_int_equal(recover(dev, &r), 0);
			expect_recovered(dev);
			assert_true(le16_get(super_of(dev).state) &
				    EXT_STATE_ERROR);
			replayed += r.was_needed && r.log.transactions > 0;
			blk_close(dev);
		}
	}
	assert_true(replayed > 0);
	assert_true(replayed < (events + 1) * SEEDS);
}

/* ---- failing devices ----------------------------------------------------- */

/* A caller's device over img.dev that fails its countdown'th call. */
static struct {
	unsigned reads;
	unsigned writes;
	unsigned flushes;
} countdown;

static int fails(unsigned *count)
{
	return *count > 0 && --*count == 0;
}

static int on_read(void *arg, uint64_t offset, size_t bytes, void *data)
{
	if (fails(&countdown.reads))
		return -EIO;
	return blk_read(arg, offset, bytes, data);
}

static int on_write(void *arg, uint64_t offset, size_t bytes, const void *data)
{
	if (fails(&countdown.writes))
		return -EIO;
	return blk_write(arg, offset, bytes, data);
}

static int on_flush(void *arg)
{
	return fails(&countdown.flushes) ? -EIO : blk_flush(arg);
}

static const struct blk_caller_ops failing = {
	.pread = on_read, .pwrite = on_write, .flush = on_flush};

/* Find and recover on a failing device; whether the failure came up. */
static bool recover_failing(void)
{
	struct ext_damage damage = {0};
	struct ext_recovery r;
	struct ext_journal j;
	struct blk_dev *dev;
	struct ext *fs;
	int err;

	assert_int_equal(
		blk_open_caller(&failing, img.dev, blk_geom(img.dev), &dev), 0);
	err = ext_open(dev, &fs, &damage);
	if (!err) {
		err = ext_journal_find(fs, NULL, &j, &damage);
		if (!err) {
			err = ext_recover(fs, &j, &r, &damage);
			ext_journal_drop(&j);
		}
		ext_close(fs);
	}
	blk_close(dev);
	assert_true(err == 0 || err == -EIO);
	assert_true(err == 0 || damage.why[0] != '\0');
	return err != 0;
}

static void each_failure(unsigned *count, unsigned least)
{
	struct ext_recovery r;
	unsigned n = 1;

	for (;; n++) {
		bool failed;

		teardown(NULL);
		setup(NULL);
		memset(&countdown, 0, sizeof(countdown));
		*count = n;
		failed = recover_failing();
		*count = 0;
		if (failed)
			assert_int_equal(recover(img.dev, &r), 0);
		expect_recovered(img.dev);
		if (!failed)
			break;
	}
	assert_true(n > least);
}

static void test_ext_recover_after_a_failed_read_completes(void **state)
{
	(void)state;
	each_failure(&countdown.reads, 5);
}

static void test_ext_recover_after_a_failed_write_completes(void **state)
{
	(void)state;
	each_failure(&countdown.writes, 3);
}

static void test_ext_recover_after_a_failed_flush_completes(void **state)
{
	(void)state;
	each_failure(&countdown.flushes, 3);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_ext_recover_brings_blocks_home),
		CASE(test_ext_recover_of_aborted_log_marks_errors),
		CASE(test_ext_recover_survives_power_cuts),
		CASE(test_ext_recover_after_a_failed_read_completes),
		CASE(test_ext_recover_after_a_failed_write_completes),
		CASE(test_ext_recover_after_a_failed_flush_completes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
