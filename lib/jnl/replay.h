/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.h - what a log that was cut off still owes to the blocks at home.
 *
 * Three passes over the log: scan finds the last complete transaction, revoke
 * collects block numbers whose older copies must not be used, replay hands
 * each surviving copy to a sink.  A torn tail (a transaction without an intact
 * commit block at the end of the log) is the normal result of a power cut and
 * ends the scan; damage before that is an error.
 *
 * Bounds: memory is proportional to the number of distinct revoked blocks,
 * capped; time to the length of the log, whatever it holds.  Nothing is
 * written by replay itself: the sink decides whether blocks go to the device
 * or into an overlay.
 *
 * Errors: -EUCLEAN (structure), -EBADMSG (checksum before the tail), -EFBIG
 * (the revoke records exceed the cap), device errors, sink errors.  The
 * result's @why says file-independent details in one line.
 */
#ifndef JNL_REPLAY_H
#define JNL_REPLAY_H

#include "jnl/jnl.h"

struct jnl_replay_sink {
	/* The newest copy of @home so far; later calls may overwrite it. */
	int (*block)(void *arg, blk_no home, const void *data);

	/*
	 * One fast-commit record of the transactions after the last full one,
	 * in order, after all blocks.  Its TLV body is the client's business.
	 * NULL: fast commits are counted only.
	 */
	int (*fast)(void *arg, uint16_t tag, const void *body, uint32_t bytes);
};

struct jnl_replay_result {
	uint32_t transactions; /* complete ones found */
	uint64_t blocks;       /* copies handed to the sink */
	uint64_t revoked;      /* copies held back */
	uint32_t fast_records; /* fast-commit records that belong to them */
	jnl_tid next_tid;      /* what the log should start with afterwards */
	int32_t error;         /* errno that an abort left in the superblock */
	char why[160];
};

/*
 * Replay the log at @place.  @home_blocks is the size of the file system:
 * copies for blocks beyond it, or for the log itself, are -EUCLEAN.
 */
MUST_USE int jnl_replay(const struct jnl_place *place, blk_no home_blocks,
	const struct jnl_replay_sink *sink, void *arg,
	struct jnl_replay_result *out);

/*
 * Mark the log empty, to go on at @next_tid, after the sink's blocks are
 * flushed: superblock write and flush.
 */
MUST_USE int jnl_replay_finish(const struct jnl_place *place, jnl_tid next_tid);

#endif /* JNL_REPLAY_H */
