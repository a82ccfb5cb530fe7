/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The crash layer: every state it makes is legal, and every legal state of
 * small histories is among those it makes.
 *
 * Sectors carry the number of the write that filled them, so a state can be
 * judged sector by sector against the test's own log.
 */
#include <errno.h>
#include <string.h>

#include "../cmocka_all.h"
#include "../seed.h"
#include "base/hash.h"
#include "blk/blk.h"
#include "blk/blk_int.h"
#include "blk/layers.h"

enum { SECTORS = 48 };

#define SECTOR UINT64_C(512)

#define DEV_BYTES (SECTORS * SECTOR)

#define NEVER UINT64_MAX

static struct blk_dev *crash_open(void)
{
	struct blk_dev *dev = NULL;

	assert_int_equal(blk_open_mem(DEV_BYTES, &dev), 0);
	assert_int_equal(blk_wrap_crash(dev, &dev), 0);
	return dev;
}

static void fill(uint8_t *data, uint64_t sectors, uint32_t id)
{
	for (uint64_t at = 0; at < sectors * SECTOR; at += sizeof(id))
		memcpy(data + at, &id, sizeof(id));
}

static void put(
	struct blk_dev *dev, uint64_t first, uint64_t count, uint32_t id)
{
	static uint8_t data[DEV_BYTES];

	fill(data, count, id);
	assert_int_equal(
		blk_write(dev, first * SECTOR, count * SECTOR, data), 0);
}

/* The number that fills each sector of a state. */
static void ids_read(struct blk_dev *dev, uint32_t ids[SECTORS])
{
	static uint8_t data[DEV_BYTES];

	assert_int_equal(blk_read(dev, 0, DEV_BYTES, data), 0);
	for (int i = 0; i < SECTORS; i++) {
		const uint8_t *at = data + i * SECTOR;

		memcpy(&ids[i], at, sizeof(ids[i]));
		/* The whole sector repeats its first word. */
		assert_int_equal(memcmp(at, at + 4, SECTOR - 4), 0);
	}
}

static void state_ids(
	struct blk_dev *dev, uint64_t cut, uint64_t seed, uint32_t ids[SECTORS])
{
	struct blk_dev *cold = NULL;

	assert_int_equal(blk_crash_state(dev, cut, seed, &cold), 0);
	assert_int_equal(blk_geom(cold).bytes, DEV_BYTES);
	ids_read(cold, ids);
	blk_close(cold);
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

/* ---- random histories -------------------------------------------------- */

/* A device that completes requests when the test says so. */
struct held_dev {
	struct blk_dev dev;
	struct blk_dev *below;
};

static void held_run(struct blk_dev *dev, struct blk_io *ios, unsigned count)
{
	struct held_dev *held = CONTAINER_OF(dev, struct held_dev, dev);

	blk_run_each(held->below, ios, count);
}

static void held_submit(struct blk_dev *dev, struct blk_io *io)
{
	struct held_dev *held = CONTAINER_OF(dev, struct held_dev, dev);

	blk_run_each(held->below, io, 1);
	/* The crash layer's copy; its caller's request finds it here. */
	*(struct blk_io **)io->iov[io->iov_count].iov_base = io;
}

static void held_close(struct blk_dev *dev)
{
	struct held_dev *held = CONTAINER_OF(dev, struct held_dev, dev);

	blk_close(held->below);
}

static const struct blk_ops held_ops = {held_run, held_submit, held_close};

struct entry {
	bool is_flush;
	bool in_flight;
	uint32_t id;
	uint64_t first;
	uint64_t count;
	uint64_t number;   /* of its event */
	uint64_t complete; /* events there were, or NEVER */
	uint64_t durable;  /* from this cut on it must be there, or NEVER */
	struct blk_io io;
	struct blk_io *copy;
	struct iovec iov[2]; /* the second one only carries a pointer */
	uint8_t data[8 * SECTOR];
};

enum { ENTRIES = 60 };

struct history {
	struct held_dev held;
	struct blk_dev *dev;
	uint64_t rng;
	unsigned count;
	struct entry entries[ENTRIES];
};

static void entry_done(struct blk_io *io)
{
	((struct entry *)io->owner)->in_flight = false;
}

static bool overlaps_flight(struct history *h, uint64_t first, uint64_t count)
{
	for (unsigned i = 0; i < h->count; i++) {
		const struct entry *e = &h->entries[i];

		if (e->in_flight && !e->is_flush &&
			first < e->first + e->count && e->first < first + count)
			return true;
	}
	return false;
}

/* Submit a flush, or a write of @count sectors from @first on. */
static struct entry *entry_submit(
	struct history *h, bool is_flush, uint64_t first, uint64_t count)
{
	struct entry *e = &h->entries[h->count++];

	*e = (struct entry){.is_flush = is_flush,
		.in_flight = true,
		.id = h->count,
		.first = first,
		.count = count,
		.number = blk_crash_events(h->dev),
		.complete = NEVER,
		.durable = NEVER};
	fill(e->data, count, e->id);
	e->iov[0] = (struct iovec){e->data, count * SECTOR};
	e->iov[1] = (struct iovec){&e->copy, 0};
	e->io = (struct blk_io){.op = is_flush ? BLK_FLUSH : BLK_WRITE,
		.offset = first * SECTOR,
		.bytes = count * SECTOR,
		.iov = e->iov,
		.iov_count = 1,
		.done = entry_done,
		.owner = e};
	blk_submit(h->dev, &e->io);
	return e;
}

static void history_submit(struct history *h)
{
	uint64_t first = hash_next(&h->rng) % (SECTORS - 8);
	uint64_t count = 1 + hash_next(&h->rng) % 8;
	bool is_flush = hash_next(&h->rng) % 5 == 0;

	if (is_flush || !overlaps_flight(h, first, count))
		(void)entry_submit(h, is_flush, first, count);
}

static void entry_complete(struct history *h, struct entry *e)
{
	blk_io_finish(&h->held.dev, e->copy, 0);
	assert_false(e->in_flight);
	e->complete = blk_crash_events(h->dev);
	if (!e->is_flush)
		return;
	for (unsigned i = 0; i < h->count; i++) {
		struct entry *w = &h->entries[i];

		if (!w->is_flush && w->complete <= e->number &&
			w->durable == NEVER)
			w->durable = e->complete;
	}
}

static void history_complete(struct history *h)
{
	struct entry *e = &h->entries[hash_next(&h->rng) % h->count];

	if (e->in_flight)
		entry_complete(h, e);
}

static void history_open(struct history *h, uint64_t seed)
{
	struct blk_geom geom = {DEV_BYTES, SECTOR, false};

	*h = (struct history){.rng = seed};
	assert_int_equal(blk_open_mem(DEV_BYTES, &h->held.below), 0);
	blk_dev_init(&h->held.dev, &held_ops, geom);
	assert_int_equal(blk_wrap_crash(&h->held.dev, &h->dev), 0);
}

static void history_close(struct history *h)
{
	for (unsigned i = 0; i < h->count; i++)
		if (h->entries[i].in_flight)
			blk_io_finish(&h->held.dev, h->entries[i].copy, 0);
	blk_close(h->dev);
}

/* A flush covers what had completed when it began, once it has completed. */
static void test_crash_flush_covers_neither_early_nor_late(void **state)
{
	static struct history h;
	struct entry *write;
	struct entry *flush;
	uint32_t ids[SECTORS];

	(void)state;
	history_open(&h, 0);
	write = entry_submit(&h, false, 0, 1); /* event 0 */
	flush = entry_submit(&h, true, 0, 0);  /* event 1 */
	entry_complete(&h, flush);
	entry_complete(&h, write);
	state_ids(h.dev, 2, 0, ids);
	assert_int_equal(ids[0], 0);

	flush = entry_submit(&h, true, 0, 0);  /* event 2 */
	write = entry_submit(&h, false, 1, 1); /* event 3 */
	state_ids(h.dev, 4, 0, ids);
	assert_int_equal(ids[0], 0);
	entry_complete(&h, flush);
	state_ids(h.dev, 3, 0, ids);
	assert_int_equal(ids[0], 0);
	state_ids(h.dev, 4, 0, ids);
	assert_int_equal(ids[0], 1);
	assert_int_equal(ids[1], 0);
	state_ids(h.dev, 4, 1, ids);
	assert_int_equal(ids[1], write->id);
	history_close(&h);
}

static bool covers(const struct entry *e, uint64_t sector)
{
	return !e->is_flush && sector >= e->first &&
	       sector < e->first + e->count;
}

/* A write that is surely there at @cut, and came after @complete. */
static bool superseded(const struct history *h, uint64_t sector, uint64_t cut,
	uint64_t complete)
{
	for (unsigned i = 0; i < h->count; i++) {
		const struct entry *e = &h->entries[i];

		if (covers(e, sector) && e->durable <= cut &&
			e->number >= complete)
			return true;
	}
	return false;
}

static void judge(struct history *h, uint64_t cut, uint64_t seed)
{
	uint32_t ids[SECTORS];

	state_ids(h->dev, cut, seed, ids);
	for (uint64_t s = 0; s < SECTORS; s++) {
		const struct entry *e;

		if (ids[s] == 0) {
			assert_false(superseded(h, s, cut, 0));
			continue;
		}
		e = &h->entries[ids[s] - 1];
		assert_true(covers(e, s));
		assert_true(e->number < cut);
		assert_false(superseded(h, s, cut, e->complete));
	}
}

static void test_crash_random_histories_stay_legal(void **state)
{
	static struct history h;
	uint64_t rng = test_seed();

	(void)state;
	for (int round = 0; round < 8; round++) {
		history_open(&h, hash_next(&rng));
		while (h.count < ENTRIES) {
			history_submit(&h);
			if (h.count > 0 && hash_next(&h.rng) % 4 != 0)
				history_complete(&h);
		}
		for (int i = 0; i < 200; i++)
			judge(&h, hash_next(&rng) % (ENTRIES + 1),
				hash_next(&rng) % 1000);
		for (uint64_t cut = 0; cut <= ENTRIES; cut++)
			for (uint64_t seed = 0; seed < 4; seed++)
				judge(&h, cut, seed);
		history_close(&h);
	}
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
		cmocka_unit_test(
			test_crash_flush_covers_neither_early_nor_late),
		cmocka_unit_test(test_crash_random_histories_stay_legal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
