/* SPDX-License-Identifier: BSD-2-Clause */
/* The crash layer over small histories: every legal state is among those it
 * makes, and hashes tell them apart. */
#include <errno.h>
#include <string.h>

#include "../cmocka_all.h"
#include "blk/blk.h"
#include "blk/blk_int.h"
#include "blk/layers.h"
#include "crash_sectors.h"

static struct blk_dev *crash_open(void)
{
	struct blk_dev *dev = NULL;

	assert_int_equal(blk_open_mem(DEV_BYTES, &dev), 0);
	assert_int_equal(blk_wrap_crash(dev, &dev), 0);
	return dev;
}

/* ---- small histories --------------------------------------------------- */

static void test_crash_seeds_0_and_1_are_none_and_all(void **state)
{
	struct blk_dev *dev = crash_open();
	struct blk_dev *cold = NULL;
	uint32_t ids[SECTORS];

	(void)state;
	put(dev, 0, 1, 1);
	assert_int_equal(blk_flush(dev), 0);
	put(dev, 1, 2, 2);
	put(dev, 0, 1, 3);
	assert_int_equal(blk_crash_events(dev), 4);

	state_ids(dev, 4, 0, ids);
	assert_int_equal(ids[0], 1);
	assert_int_equal(ids[1], 0);
	state_ids(dev, 4, 1, ids);
	assert_int_equal(ids[0], 3);
	assert_int_equal(ids[1], 2);
	assert_int_equal(ids[2], 2);
	/* The flush is event 1: before it nothing was sure. */
	state_ids(dev, 1, 0, ids);
	assert_int_equal(ids[0], 0);
	state_ids(dev, 2, 0, ids);
	assert_int_equal(ids[0], 1);
	state_ids(dev, 3, 1, ids);
	assert_int_equal(ids[0], 1);
	state_ids(dev, 0, 1, ids);
	assert_int_equal(ids[0], 0);
	assert_int_equal(blk_crash_state(dev, 5, 0, &cold), -EINVAL);
	assert_null(cold);
	blk_close(dev);
}

static void test_crash_image_before_the_wrap_survives(void **state)
{
	uint32_t ids[SECTORS];

	(void)state;
	/* Over memory, which is forked, and over another layer, copied. */
	for (int stats = 0; stats < 2; stats++) {
		struct blk_dev *dev = NULL;

		assert_int_equal(blk_open_mem(DEV_BYTES, &dev), 0);
		put(dev, 3, 2, 77);
		if (stats != 0)
			assert_int_equal(blk_wrap_stats(dev, &dev), 0);
		assert_int_equal(blk_wrap_crash(dev, &dev), 0);
		put(dev, 3, 1, 1);
		ids_read(dev, ids);
		assert_int_equal(ids[3], 1);
		assert_int_equal(ids[4], 77);
		state_ids(dev, 1, 0, ids);
		assert_int_equal(ids[3], 77);
		assert_int_equal(ids[4], 77);
		state_ids(dev, 1, 1, ids);
		assert_int_equal(ids[3], 1);
		blk_close(dev);
	}
}

static void test_crash_every_subset_of_loose_writes_appears(void **state)
{
	struct blk_dev *dev = crash_open();
	bool seen[1 << 6] = {false};
	uint32_t ids[SECTORS];

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		put(dev, UINT64_C(3) * i, 1, i + 1);
	for (uint64_t seed = 0; seed < 2500; seed++) {
		unsigned set = 0;

		state_ids(dev, 6, seed, ids);
		for (unsigned i = 0; i < 6; i++)
			set |= (ids[UINT64_C(3) * i] != 0) << i;
		seen[set] = true;
	}
	for (int set = 0; set < 1 << 6; set++)
		assert_true(seen[set]);
	blk_close(dev);
}

static void test_crash_every_tear_of_one_write_appears(void **state)
{
	struct blk_dev *dev = crash_open();
	bool seen[1 << 4] = {false};
	uint32_t ids[SECTORS];

	(void)state;
	put(dev, 8, 4, 1);
	for (uint64_t seed = 0; seed < 2500; seed++) {
		unsigned set = 0;

		state_ids(dev, 1, seed, ids);
		for (unsigned i = 0; i < 4; i++)
			set |= (ids[8 + i] != 0) << i;
		seen[set] = true;
	}
	for (int set = 0; set < 1 << 4; set++)
		assert_true(seen[set]);
	blk_close(dev);
}

static bool is_torn(const uint32_t *ids, uint64_t count)
{
	uint64_t there = 0;

	for (uint64_t i = 0; i < count; i++)
		there += ids[i] != 0;
	return there > 0 && there < count;
}

static void test_crash_several_writes_are_torn_at_once(void **state)
{
	struct blk_dev *dev = crash_open();
	uint32_t ids[SECTORS];
	unsigned both = 0;

	(void)state;
	put(dev, 0, 8, 1);
	put(dev, 16, 8, 2);
	for (uint64_t seed = 0; seed < 500; seed++) {
		state_ids(dev, 2, seed, ids);
		both += is_torn(ids, 8) && is_torn(ids + 16, 8);
	}
	assert_true(both > 0);
	blk_close(dev);
}

/* Whole writes that overlap may land the other way round. */
static void test_crash_overlapping_writes_are_reordered(void **state)
{
	struct blk_dev *dev = crash_open();
	bool seen[4] = {false};
	bool swapped = false;
	uint32_t ids[SECTORS];

	(void)state;
	put(dev, 0, 2, 1);
	put(dev, 1, 2, 2);
	put(dev, 1, 1, 3);
	for (uint64_t seed = 0; seed < 2000; seed++) {
		state_ids(dev, 3, seed, ids);
		assert_true(ids[1] < 4);
		seen[ids[1]] = true;
		swapped |= ids[0] == 1 && ids[1] == 1 && ids[2] == 2;
	}
	assert_true(seen[0] && seen[1] && seen[2] && seen[3]);
	assert_true(swapped);
	blk_close(dev);
}

static void test_crash_failed_flush_covers_nothing(void **state)
{
	struct blk_fault rule = {
		.op = BLK_FLUSH, .nth = 2, .count = 1, .error = -EIO};
	struct blk_dev *dev = NULL;
	uint32_t ids[SECTORS];

	(void)state;
	assert_int_equal(blk_open_mem(DEV_BYTES, &dev), 0);
	assert_int_equal(blk_wrap_fault(dev, &dev), 0);
	assert_int_equal(blk_fault_arm(dev, &rule), 0);
	assert_int_equal(blk_wrap_crash(dev, &dev), 0);
	put(dev, 0, 1, 1);
	assert_int_equal(blk_flush(dev), 0);
	put(dev, 1, 1, 2);
	assert_int_equal(blk_flush(dev), -EIO);
	assert_int_equal(blk_flush(dev), -EIO);
	state_ids(dev, blk_crash_events(dev), 0, ids);
	assert_int_equal(ids[0], 1);
	assert_int_equal(ids[1], 0);
	blk_close(dev);
}

static void test_crash_sectors_of_4k_never_tear(void **state)
{
	struct blk_dev *dev = NULL;
	uint8_t data[8192];

	(void)state;
	assert_int_equal(blk_open_mem(1 << 20, &dev), 0);
	dev->geom.sector_bytes = 4096;
	assert_int_equal(blk_wrap_crash(dev, &dev), 0);
	memset(data, 1, sizeof(data));
	assert_int_equal(blk_write(dev, 4096, sizeof(data), data), 0);
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct blk_dev *cold = NULL;

		assert_int_equal(blk_crash_state(dev, 1, seed, &cold), 0);
		assert_int_equal(blk_geom(cold).sector_bytes, 4096);
		assert_int_equal(blk_read(cold, 4096, sizeof(data), data), 0);
		for (int i = 0; i < 8192; i++)
			assert_int_equal(data[i], data[i & 4096]);
		blk_close(cold);
	}
	blk_close(dev);
}

static void test_crash_zeroes_and_discards_may_be_lost(void **state)
{
	struct blk_dev *dev = crash_open();
	bool zeroed = false;
	bool kept = false;
	bool junk = false;
	uint8_t back[SECTOR];

	(void)state;
	put(dev, 0, 8, 9);
	assert_int_equal(blk_flush(dev), 0);
	assert_int_equal(blk_write_zeroes(dev, 0, 4 * SECTOR), 0);
	assert_int_equal(blk_discard(dev, 4 * SECTOR, 4 * SECTOR), 0);
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct blk_dev *cold = NULL;

		assert_int_equal(blk_crash_state(dev, 4, seed, &cold), 0);
		for (uint64_t i = 0; i < 8; i++) {
			assert_int_equal(
				blk_read(cold, i * SECTOR, SECTOR, back), 0);
			if (i < 4)
				assert_true(back[0] == 0 || back[0] == 9);
			zeroed |= i < 4 && back[0] == 0;
			kept |= i < 4 && back[0] == 9;
			junk |= i >= 4 && back[0] != 0 && back[0] != 9;
		}
		blk_close(cold);
	}
	assert_true(zeroed && kept && junk);
	blk_close(dev);
}

static void test_crash_terabyte_discard_is_cheap(void **state)
{
	const uint64_t tib = UINT64_C(1) << 40;
	struct blk_dev *dev = NULL;
	uint8_t data[SECTOR] = {1};

	(void)state;
	assert_int_equal(blk_open_mem(16 * tib, &dev), 0);
	assert_int_equal(blk_wrap_crash(dev, &dev), 0);
	assert_int_equal(blk_write(dev, 5 * tib, SECTOR, data), 0);
	assert_int_equal(blk_discard(dev, 0, 16 * tib), 0);
	assert_int_equal(blk_flush(dev), 0);
	assert_int_equal(blk_write_zeroes(dev, 0, 16 * tib), 0);
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct blk_dev *cold = NULL;

		assert_int_equal(blk_crash_state(dev, 4, seed, &cold), 0);
		assert_int_equal(blk_read(cold, 5 * tib, SECTOR, data), 0);
		assert_true(data[0] <= 1);
		blk_close(cold);
	}
	blk_close(dev);
}

/* ---- hashes ------------------------------------------------------------ */

struct known {
	uint64_t hash;
	uint32_t ids[SECTORS];
};

/* Equal hashes if and only if equal contents, over cuts and seeds. */
static void test_crash_hash_is_equal_where_contents_are(void **state)
{
	struct blk_dev *dev = crash_open();
	static struct known known[4000];
	unsigned count = 0;
	unsigned twins = 0;

	(void)state;
	put(dev, 0, 2, 1);
	put(dev, 4, 3, 2);
	assert_int_equal(blk_flush(dev), 0);
	put(dev, 1, 4, 3);
	put(dev, 4, 3, 2); /* the same once more */
	put(dev, 9, 1, 4);
	assert_int_equal(blk_flush(dev), 0);
	put(dev, 0, 12, 5);
	for (uint64_t cut = 0; cut <= 8; cut++) {
		for (uint64_t seed = 0; seed < 40; seed++) {
			struct known *k = &known[count];

			assert_int_equal(
				blk_crash_hash(dev, cut, seed, &k->hash), 0);
			state_ids(dev, cut, seed, k->ids);
			for (unsigned i = 0; i < count; i++) {
				bool same = memcmp(known[i].ids, k->ids,
						    sizeof(k->ids)) == 0;

				assert_int_equal(
					known[i].hash == k->hash, same);
				twins += same;
			}
			count++;
		}
	}
	assert_true(twins > 0);
	blk_close(dev);
}

/* States live on their own, in any order, while the recording goes on. */
static void test_crash_states_do_not_share_fate(void **state)
{
	struct blk_dev *dev = crash_open();
	struct blk_dev *early = NULL;
	struct blk_dev *late = NULL;
	uint32_t ids[SECTORS];

	(void)state;
	put(dev, 0, 1, 1);
	assert_int_equal(blk_flush(dev), 0);
	assert_int_equal(blk_crash_state(dev, 2, 1, &early), 0);
	put(dev, 0, 2, 2);
	assert_int_equal(blk_flush(dev), 0);
	assert_int_equal(blk_crash_state(dev, 4, 1, &late), 0);
	put(early, 5, 1, 50);
	put(late, 6, 1, 60);
	put(dev, 0, 1, 3);
	state_ids(dev, 4, 0, ids);
	assert_int_equal(ids[0], 2);
	assert_int_equal(ids[5] | ids[6], 0);
	state_ids(dev, 2, 0, ids);
	assert_int_equal(ids[0], 1);
	blk_close(dev);
	ids_read(early, ids);
	assert_int_equal(ids[0], 1);
	assert_int_equal(ids[1], 0);
	assert_int_equal(ids[5], 50);
	assert_int_equal(ids[6], 0);
	blk_close(early);
	ids_read(late, ids);
	assert_int_equal(ids[0], 2);
	assert_int_equal(ids[6], 60);
	blk_close(late);
}

/* ---- devices that lose power together ----------------------------------- */

static void test_crash_beside_counts_in_one_order(void **state)
{
	struct blk_dev *home = crash_open();
	struct blk_dev *log = NULL;
	uint32_t ids[SECTORS];

	(void)state;
	put(home, 0, 1, 1); /* event 0 */
	assert_int_equal(blk_open_mem(DEV_BYTES, &log), 0);
	assert_int_equal(blk_wrap_crash_beside(log, home, &log), 0);
	put(log, 0, 1, 2);                    /* 1 */
	assert_int_equal(blk_flush(log), 0);  /* 2 */
	put(home, 1, 1, 3);                   /* 3 */
	put(log, 1, 1, 4);                    /* 4 */
	assert_int_equal(blk_flush(home), 0); /* 5 */
	assert_int_equal(blk_crash_events(home), 6);
	assert_int_equal(blk_crash_events(log), 6);

	/* The flush of one covers nothing of the other. */
	state_ids(log, 3, 0, ids);
	assert_int_equal(ids[0], 2);
	state_ids(home, 3, 0, ids);
	assert_int_equal(ids[0], 0);
	state_ids(home, 3, 1, ids);
	assert_int_equal(ids[0], 1);
	assert_int_equal(ids[1], 0);
	state_ids(home, 6, 0, ids);
	assert_int_equal(ids[0], 1);
	assert_int_equal(ids[1], 3);
	state_ids(log, 6, 0, ids);
	assert_int_equal(ids[0], 2);
	assert_int_equal(ids[1], 0);

	/* Each outlives the other. */
	blk_close(home);
	state_ids(log, 6, 1, ids);
	assert_int_equal(ids[0], 2);
	assert_int_equal(ids[1], 4);
	blk_close(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crash_seeds_0_and_1_are_none_and_all),
		cmocka_unit_test(test_crash_image_before_the_wrap_survives),
		cmocka_unit_test(
			test_crash_every_subset_of_loose_writes_appears),
		cmocka_unit_test(test_crash_every_tear_of_one_write_appears),
		cmocka_unit_test(test_crash_several_writes_are_torn_at_once),
		cmocka_unit_test(test_crash_overlapping_writes_are_reordered),
		cmocka_unit_test(test_crash_failed_flush_covers_nothing),
		cmocka_unit_test(test_crash_sectors_of_4k_never_tear),
		cmocka_unit_test(test_crash_zeroes_and_discards_may_be_lost),
		cmocka_unit_test(test_crash_terabyte_discard_is_cheap),
		cmocka_unit_test(test_crash_hash_is_equal_where_contents_are),
		cmocka_unit_test(test_crash_states_do_not_share_fate),
		cmocka_unit_test(test_crash_beside_counts_in_one_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
