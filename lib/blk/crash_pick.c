/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crash_pick.c - what a power cut leaves, from a seed.
 *
 * Uniformly random subsets of many writes all look alike: about half is gone.
 * Software breaks at the edges, so the seed first draws one of several kinds
 * of loss, and every kind can be reached at every cut.
 */
#include "base/assert.h"
#include "base/cc.h"
#include "base/hash.h"
#include "blk/crash_int.h"

/* ---- one event --------------------------------------------------------- */

void crash_pick_all(struct crash_pick *pick)
{
	pick->tear = TEAR_HEAD;
	pick->at = pick->sectors;
}

void crash_pick_none(struct crash_pick *pick)
{
	pick->tear = TEAR_HEAD;
	pick->at = 0;
}

void crash_pick_bits(struct crash_pick *pick, uint64_t salt)
{
	pick->tear = TEAR_BITS;
	pick->salt = salt;
}

static uint64_t below(uint64_t *rng, uint64_t limit)
{
	ASSERT(limit > 0);
	return hash_next(rng) % limit;
}

static bool chance(uint64_t *rng, uint64_t eighths)
{
	return below(rng, 8) < eighths;
}

/* Some sectors, but not all, and perhaps by chance none. */
static void pick_torn(struct crash_pick *pick, uint64_t *rng)
{
	uint64_t kind = below(rng, pick->bulk ? 6 : 8);

	if (pick->sectors < 2) {
		crash_pick_none(pick);
		return;
	}
	pick->at = 1 + below(rng, pick->sectors - 1);
	pick->salt = hash_next(rng);
	if (kind < 4) {
		pick->tear = TEAR_HEAD;
	} else if (kind == 4 || pick->bulk) {
		pick->tear = TEAR_TAIL;
	} else if (kind == 5) {
		pick->tear = TEAR_BUT_ONE;
		pick->at -= below(rng, 2); /* the first one, too */
	} else {
		pick->tear = TEAR_BITS;
	}
}

static bool bits_keep(const struct crash_pick *pick, uint64_t sector)
{
	return (hash_u64(pick->salt + sector) & 1) != 0;
}

static bool bits_run(const struct crash_pick *pick, uint64_t from,
	uint64_t *first, uint64_t *end)
{
	while (from < pick->sectors && !bits_keep(pick, from))
		from++;
	*first = from;
	while (from < pick->sectors && bits_keep(pick, from))
		from++;
	*end = from;
	return *first < *end;
}

bool crash_pick_run(const struct crash_pick *pick, uint64_t from,
	uint64_t *first, uint64_t *end)
{
	*first = from;
	*end = pick->sectors;
	switch (pick->tear) {
	case TEAR_HEAD:
		*end = pick->at;
		break;
	case TEAR_TAIL:
		if (from < pick->at)
			*first = pick->at;
		break;
	case TEAR_BUT_ONE:
		if (from == pick->at)
			*first = from + 1;
		else if (from < pick->at)
			*end = pick->at;
		break;
	case TEAR_BITS:
		return bits_run(pick, from, first, end);
	}
	return *first < *end;
}

/* ---- all events -------------------------------------------------------- */

struct crash_draw {
	struct crash_pick *picks;
	uint64_t count; /* at least 1 */
	uint64_t rng;
};

/* All up to some point, in order; there, often, a torn one. */
static void choose_prefix(struct crash_draw *d)
{
	uint64_t whole = below(&d->rng, d->count + 1);

	for (uint64_t i = whole; i < d->count; i++)
		crash_pick_none(&d->picks[i]);
	if (whole < d->count && chance(&d->rng, 4))
		pick_torn(&d->picks[whole], &d->rng);
}

/* Any subset of whole writes, dense or thin. */
static void choose_subset(struct crash_draw *d)
{
	uint64_t eighths = 1 + below(&d->rng, 7);

	for (uint64_t i = 0; i < d->count; i++)
		if (!chance(&d->rng, eighths))
			crash_pick_none(&d->picks[i]);
}

/* One is lost, wherever it stood. */
static void choose_but_one(struct crash_draw *d)
{
	crash_pick_none(&d->picks[below(&d->rng, d->count)]);
}

/* A few early ones are lost and everything later survives. */
static void choose_late(struct crash_draw *d)
{
	uint64_t half = (d->count + 1) / 2;

	for (uint64_t n = 1 + below(&d->rng, 3); n > 0; n--)
		crash_pick_none(&d->picks[below(&d->rng, half)]);
}

/* One survives, whole or torn. */
static void choose_only_one(struct crash_draw *d)
{
	uint64_t one = below(&d->rng, d->count);

	for (uint64_t i = 0; i < d->count; i++)
		if (i != one)
			crash_pick_none(&d->picks[i]);
	if (chance(&d->rng, 3))
		pick_torn(&d->picks[one], &d->rng);
}

/* One is torn, most often the last. */
static void choose_torn_one(struct crash_draw *d)
{
	uint64_t one =
		chance(&d->rng, 5) ? d->count - 1 : below(&d->rng, d->count);

	pick_torn(&d->picks[one], &d->rng);
}

/* Everything at once: lost, whole, torn, and in any order. */
static void choose_chaos(struct crash_draw *d)
{
	for (uint64_t i = 0; i < d->count; i++) {
		uint64_t fate = below(&d->rng, 4);

		if (fate == 0)
			crash_pick_none(&d->picks[i]);
		else if (fate == 1)
			pick_torn(&d->picks[i], &d->rng);
	}
	for (uint64_t i = d->count - 1; i > 0; i--) {
		uint64_t j = below(&d->rng, i + 1);
		struct crash_pick swap = d->picks[i];

		d->picks[i] = d->picks[j];
		d->picks[j] = swap;
	}
}

void crash_choose(
	struct crash_pick *picks, uint64_t count, uint64_t cut, uint64_t seed)
{
	static void (*const kinds[])(struct crash_draw *) = {
		choose_prefix,
		choose_subset,
		choose_subset,
		choose_but_one,
		choose_late,
		choose_only_one,
		choose_torn_one,
		choose_chaos,
		choose_chaos,
	};
	struct crash_draw draw = {picks, count, hash_u64(seed) + cut};

	for (uint64_t i = 0; i < count; i++) {
		picks[i].salt = hash_next(&draw.rng);
		crash_pick_all(&picks[i]);
		if (seed == 0)
			crash_pick_none(&picks[i]);
	}
	if (count > 0 && seed > 1)
		kinds[below(&draw.rng, ARRAY_COUNT(kinds))](&draw);
}

/* ---- hashing ----------------------------------------------------------- */

uint64_t crash_sector_hash(const void *data, uint64_t number)
{
	const uint8_t *at = data;
	unsigned __int128 sum = number;
	uint64_t key = UINT64_C(0x9e3779b97f4a7c15);

	/* Products of pairs under a running key, as in NH: cheap, and it sees
	 * every word and its place. */
	for (unsigned i = 0; i < 512; i += 16) {
		uint64_t pair[2];

		__builtin_memcpy(pair, at + i, sizeof(pair));
		sum += (unsigned __int128)(pair[0] ^ key) *
		       (pair[1] + (key << 1 | 1));
		key += UINT64_C(0xbf58476d1ce4e5b9);
	}
	return hash_u64(
		(uint64_t)sum ^ hash_u64((uint64_t)(sum >> 64) + number));
}
