/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_int.h - what the passes of a replay and the walk have in common.
 *
 *   jnl_log     reads blocks of the log, far ahead, and decodes them
 *   jnl_copies  which blocks at home have a copy, and where the newest lies
 *   jnl_scan    pass 1: how far the log is whole, and all its copies
 *   jnl_fast    the fast-commit area, record by record
 */
#ifndef JNL_REPLAY_INT_H
#define JNL_REPLAY_INT_H

#include "jnl/walk.h"

/* ---- reading ------------------------------------------------------------- */

struct jnl_log {
	const struct jnl_place *place;
	struct jnl_super sb;
	bool super_intact;

	/* Log blocks window_log .. + window_blocks - 1 are in memory.  Ahead
	 * grows while they are asked for in order, and falls back when not. */
	uint8_t *window;
	uint32_t window_log;
	uint32_t window_blocks;
	uint32_t window_max;
	uint32_t ahead;

	/* What the last decoded block held; each has room for one block's. */
	struct jnl_tag *tags;
	blk_no *revokes;

	char *why; /* JNL_WHY_BYTES: reason of the last error, or of the end */
};

enum { JNL_WHY_BYTES = 160 };

/*
 * Check @place and read its superblock, whose checksum may be bad.  @why stays
 * the caller's and is written by every call that fails.
 */
MUST_USE int jnl_log_open(
	struct jnl_log *log, const struct jnl_place *place, char *why);
void jnl_log_fini(struct jnl_log *log);

/* Give the reason, in one line; returns @error. */
int jnl_log_refuse(const struct jnl_log *log, int error, const char *fmt, ...)
	PRINTF(3, 4);

/* The contents of log block @at, inside the map; valid until the next call. */
MUST_USE int jnl_log_read(struct jnl_log *log, uint32_t at, const void **data);

/* The log block @count blocks after @at on the ring. */
uint32_t jnl_log_after(const struct jnl_log *log, uint32_t at, uint32_t count);

/* Blocks of the ring. */
uint32_t jnl_log_ring(const struct jnl_log *log);

/*
 * Read log block @at and decode it as what its header says; STRAY without a
 * known one.  A commit block's v1 checksum is the caller's to compare.  @out
 * points to memory of @log, the tags and revokes stay until the next decode.
 */
MUST_USE int jnl_log_decode(
	struct jnl_log *log, uint32_t at, struct jnl_walk_block *out);

/* ---- the newest copy of each block ---------------------------------------- */

struct jnl_copy {
	blk_no home;
	uint32_t log; /* where it lies; 0: revoked */
	jnl_tid tid;
	uint32_t checksum; /* of its tag */
	uint32_t flags;    /* of its tag */
};

struct jnl_copies {
	struct jnl_copy *all;
	uint32_t count;
	uint32_t room;
	uint32_t *slots; /* hash of homes: index into all, plus 1; 0: free */
	uint32_t slot_count; /* a power of two, or 0 */
	uint64_t salt;
};

/* Remember @copy as the newest of its home.  -ENOMEM. */
MUST_USE int jnl_copies_put(struct jnl_copies *c, const struct jnl_copy *copy);

/* NULL: @home has no copy. */
struct jnl_copy *jnl_copies_find(const struct jnl_copies *c, blk_no home);

/* Take out the revoked ones and put the rest in the order of the log; no
 * lookups after that.  Returns how many were taken out. */
uint32_t jnl_copies_settle(struct jnl_copies *c);

void jnl_copies_fini(struct jnl_copies *c);

/* ---- where a copy may go ---------------------------------------------------- */

struct jnl_bounds {
	blk_no count;         /* of the file system's blocks */
	struct jnl_span *own; /* the log's own, sorted; none if external */
	uint32_t own_count;
};

struct jnl_span {
	blk_no start;
	blk_no end;
};

MUST_USE int jnl_bounds_init(
	struct jnl_bounds *h, const struct jnl_place *place, blk_no count);

/* NULL, or why @home is not a place for a copy. */
const char *jnl_bounds_refuse(const struct jnl_bounds *h, blk_no home);

void jnl_bounds_fini(struct jnl_bounds *h);

/* ---- pass 1 ---------------------------------------------------------------- */

/* A growing array of positions of revoke blocks. */
struct jnl_marks {
	struct jnl_mark {
		uint32_t log;
		jnl_tid tid;
	} * all;

	uint32_t count;
	uint32_t room;
};

struct jnl_scan {
	uint32_t transactions; /* complete ones */
	jnl_tid end_tid;       /* the first that is not */
	uint32_t end_log;      /* where that would begin */
	uint32_t used;         /* blocks of the complete ones */
	struct jnl_copies copies;
	struct jnl_marks revokes; /* in the order of the log */
};

/*
 * Find the complete transactions of a log that is not empty.  0: all of it
 * could be replayed as far as structure and the checksums of the log's own
 * blocks tell; the reason of its end is in log->why.
 */
MUST_USE int jnl_scan_run(
	struct jnl_log *log, blk_no home_blocks, struct jnl_scan *out);
void jnl_scan_fini(struct jnl_scan *scan);

/*
 * Passes 1 and 2, and the checksums of what is left: after 0, scan->copies are
 * the copies to be replayed, settled.  @revoked may be NULL.
 */
MUST_USE int jnl_replay_plan(struct jnl_log *log, blk_no home_blocks,
	struct jnl_scan *scan, uint32_t *revoked);

/* ---- fast commits ------------------------------------------------------------ */

struct jnl_fast {
	struct jnl_log *log;
	uint32_t at;     /* log block */
	uint32_t offset; /* of the next record in it */
	uint32_t crc;    /* since the last TAIL */
};

void jnl_fast_init(struct jnl_fast *f, struct jnl_log *log);

/*
 * The next record, a TAIL's checksum compared.  False: the area ends here, or
 * what lies here is no record; *@err is 0 or a device error.
 */
MUST_USE bool jnl_fast_next(
	struct jnl_fast *f, struct jnl_fast_record *out, int *err);

/*
 * How many records, all kinds of them, belong to the fast commits of @tid, the
 * transaction that follows the last full commit.  The first one that is not
 * intact ends them.  -EOPNOTSUPP: they have features that are unknown.
 */
MUST_USE int jnl_fast_count(struct jnl_log *log, jnl_tid tid, uint32_t *count);

#endif /* JNL_REPLAY_INT_H */
