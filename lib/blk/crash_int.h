/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crash_int.h - the three parts of the crash layer; private to lib/blk.
 *
 * crash_record.c keeps what happened; crash.c knows what a power cut may
 * leave of it; crash_pick.c chooses, from a seed, what it did leave.
 */
#ifndef BLK_CRASH_INT_H
#define BLK_CRASH_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "blk/blk.h"
#include "sync/lock.h"

/* ---- what happened ----------------------------------------------------- */

/* An array that grows. */
struct crash_array {
	void *at;
	uint64_t count;
	uint64_t room;
};

/* Room for one more of @bytes; its place, or NULL. */
void *crash_grow(struct crash_array *a, size_t bytes);

#define CRASH_NOT_YET UINT64_MAX

/* A change, or a barrier. */
struct crash_event {
	const void *owner; /* the layer that it happened to */
	enum blk_op op;
	int result;
	uint64_t offset;
	uint64_t bytes;
	uint8_t *data;  /* what was written; NULL for other kinds */
	uint64_t stamp; /* events there were when it completed, or
	                   CRASH_NOT_YET */
};

/* What happened, in one order, to all layers that share it. */
struct crash_record {
	struct mtx lock;
	struct crash_array events; /* [lock] crash_event */
	uint64_t changes;          /* [lock] of any event */
	unsigned layers;           /* [lock] that hold a reference */
};

/* With one reference; NULL: no memory. */
struct crash_record *crash_record_new(void);
void crash_record_get(struct crash_record *record);
void crash_record_put(struct crash_record *record);

/* @owner submits @io; *@number is told.  -ENOMEM. */
MUST_USE int crash_record_add(struct crash_record *record, const void *owner,
	const struct blk_io *io, uint64_t *number);

/* Event @number has completed. */
void crash_record_complete(
	struct crash_record *record, uint64_t number, int result);

static inline struct crash_event *crash_event_locked(
	struct crash_record *record, uint64_t number)
{
	return (struct crash_event *)record->events.at + number;
}

/* ---- what survives ----------------------------------------------------- */

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
