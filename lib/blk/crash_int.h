/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crash_int.h - the two halves of the crash layer; private to lib/blk.
 *
 * crash.c records what happened and knows what a power cut may leave;
 * crash_pick.c chooses, from a seed, what it did leave.
 */
#ifndef BLK_CRASH_INT_H
#define BLK_CRASH_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "blk/blk.h"

/* Larger zeroings and discards are torn once, not sector by sector. */
#define CRASH_BULK_BYTES (UINT64_C(1) << 20)

/* Which sectors of one event survive. */
enum crash_tear {
	TEAR_HEAD,    /* those before @at: none to all */
	TEAR_TAIL,    /* those from @at on */
	TEAR_BUT_ONE, /* all but number @at */
	TEAR_BITS     /* those that a hash of @salt says */
};

/* One event that the cut may have lost, and what becomes of it. */
struct crash_pick {
	uint64_t event;
	uint64_t sectors; /* in the event */
	bool bulk;        /* TEAR_HEAD and TEAR_TAIL only */
	enum crash_tear tear;
	uint64_t at;
	uint64_t salt;
};

/*
 * Decide for @picks, which come in order of submission with their first three
 * fields set, and put them in the order in which they reach the medium.
 */
void crash_choose(
	struct crash_pick *picks, uint64_t count, uint64_t cut, uint64_t seed);

/* All of @pick's sectors survive, or none. */
void crash_pick_all(struct crash_pick *pick);
void crash_pick_none(struct crash_pick *pick);

/* Half of the sectors, as a hash says. */
void crash_pick_bits(struct crash_pick *pick, uint64_t salt);

/* The next run of surviving sectors at or after @from: @*first .. @*end - 1.
 * False: there is none. */
bool crash_pick_run(const struct crash_pick *pick, uint64_t from,
	uint64_t *first, uint64_t *end);

/* A hash of 512 bytes at sector @number of 512 bytes. */
uint64_t crash_sector_hash(const void *data, uint64_t number);

#endif /* BLK_CRASH_INT_H */
