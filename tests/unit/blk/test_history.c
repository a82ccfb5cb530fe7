/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The crash layer over histories with requests in flight: every state it makes
 * is legal, sector by sector, by the test's own log.
 */
#include <string.h>

#include "../cmocka_all.h"
#include "../seed.h"
#include "base/hash.h"
#include "blk/blk.h"
#include "blk/blk_int.h"
#include "blk/layers.h"
#include "crash_sectors.h"

#define NEVER UINT64_MAX

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
		cmocka_unit_test(
			test_crash_flush_covers_neither_early_nor_late),
		cmocka_unit_test(test_crash_random_histories_stay_legal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
