/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.h - what a log that was cut off still owes to the blocks at home.
 *
 * Three passes over the log: scan finds the complete transactions and the
 * newest copy of each block, revoke strikes out those that must not be used,
 * replay hands the rest to a sink.  Nothing is handed over before all of it
 * has been found good: a log is replayed whole or refused whole.  Nothing is
 * written by replay itself: the sink decides whether blocks go to the device
 * or into an overlay.
 *
 * A torn tail (a last transaction without an intact commit block) is the
 * normal result of a power cut and ends the scan.  Damage is an error:
 *
 *   - a block of the log that is not intact although its transaction, or a
 *     later one, has its commit block;
 *   - a bad commit block that later transactions follow, or that no power cut
 *     can have torn: a torn one has old bytes behind its first sector;
 *   - v1: a checksum over the transaction that does not match; with
 *     asynchronous commit it is a torn tail unless a later transaction follows;
 *   - v2, v3: a copy that is to be used and has a bad checksum; likewise torn
 *     with asynchronous commit;
 *   - a complete transaction with a copy for a block that is none of the file
 *     system's, or is the log's own.
 *
 * The kernel (6.18) and e2fsck (1.47.0) call the same things damage, with
 * these differences:
 *
 *   - they bring home what precedes the damage and fail then; here nothing
 *     moves;
 *   - they refuse a log whose last commit block a power cut tore, and with
 *     asynchronous commit one whose last transaction has torn data;
 *   - with asynchronous commit and v2 or v3 they let a bad commit block end
 *     the log silently, whatever follows;
 *   - they refuse a log for a bad copy that a later one supersedes.
 *
 * Like them, a commit block that is missing altogether, or a jump of the
 * sequence, ends the log without an error.
 *
 * Fast commits count when they name the transaction that follows the last
 * complete one; they end at the first record that is not intact.  A log whose
 * start is 0 is empty and has no fast commits, either.
 *
 * Bounds: memory is proportional to the number of distinct blocks that the log
 * has copies of, thus to its length; revokes need none of their own.  Time is
 * proportional to the length of the log, whatever it holds.
 *
 * Threads: as the device's.
 *
 * Errors: -EUCLEAN (structure), -EBADMSG (checksums), -EOPNOTSUPP (features),
 * -EINVAL (block size), -ENOMEM, device errors, sink errors.  The result's
 * @why gives the reason in one line, also where the log ended if all went
 * well.
 */
#ifndef JNL_REPLAY_H
#define JNL_REPLAY_H

#include "jnl/jnl.h"

struct jnl_replay_sink {
	/*
	 * The newest copy of @home, once for each home, in the order of the
	 * log.  NULL: copies are counted only.
	 */
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
	uint64_t blocks;       /* distinct ones handed to the sink */
	uint64_t revoked;      /* distinct ones held back */
	uint32_t fast_records; /* fast-commit records that belong to them */
	jnl_tid next_tid;      /* what the log should start with afterwards:
	                          later than any that it has blocks of */
	int32_t error;         /* errno that an abort left in the superblock */
	char why[160];
};

/*
 * Replay the log at @place.  @home_blocks is the size of the file system:
 * copies for blocks beyond it, or for the log itself, are -EUCLEAN.  @out is
 * filled in on failure, too.
 */
MUST_USE int jnl_replay(const struct jnl_place *place, blk_no home_blocks,
	const struct jnl_replay_sink *sink, void *arg,
	struct jnl_replay_result *out);

/*
 * Mark the log empty, to go on at @next_tid, after the sink's blocks are
 * flushed: superblock write and flush.  The error that an abort left is
 * forgotten: whoever wants it kept has noted it elsewhere by now.
 */
MUST_USE int jnl_replay_finish(const struct jnl_place *place, jnl_tid next_tid);

#endif /* JNL_REPLAY_H */
