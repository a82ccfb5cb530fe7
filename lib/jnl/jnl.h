/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jnl.h - all-or-nothing metadata updates in the jbd2 disk format.
 *
 * Many operations share one transaction; a transaction reaches the disk
 * whole or not at all.  An operation declares up front how many blocks it may
 * touch and never waits for log space after that.
 *
 *    RUNNING --seal--> LOCKED --drain--> FLUSHING --barrier--> COMMITTED
 *       ^   no new ops    last op ends   fold, log              |
 *       +------------- next transaction opens            checkpoint, gone
 *
 * Invariants (jnl_check() in debug builds; tests cite the numbers)
 *   J1  At most one transaction is RUNNING or LOCKED, and one FLUSHING.
 *   J2  No block reaches its home before its transaction is COMMITTED.
 *   J3  A freed block is not reusable before its freeing is COMMITTED.
 *   J4  Log space is returned only after every home write is flushed.
 *   J5  The first journal write error aborts for good; what was committed
 *       stays, and nothing is half-applied.
 *   J6  A transaction opens only when the log can hold its maximum size with
 *       descriptor, revoke and commit blocks beside the committing one.
 *       Commit never waits for checkpoint.  The maximum is
 *       min(log / 4, arena / 8).
 *   J7  Whoever has an operation open never waits for a commit, log space,
 *       device I/O, a page under write-back, user memory, or a lock that may
 *       be held across jnl_begin().  Plan first: read and pin, then begin.
 *
 * Two kinds of blocks
 *   edited   directories, extent trees, ...: changed by operations between
 *            jnl_get_write() and jnl_end(), under the client's own locks.
 *   folded   inode tables, bitmaps, group descriptors, ...: operations only
 *            jnl_pledge() them; the client's fold callback changes them, from
 *            its in-memory state, once per transaction, after the drain.
 * A block is of one kind at a time.
 *
 * Durability: what an operation did survives a power cut once jnl_wait() on
 * the tid that jnl_end() returned says 0.
 *
 * Threads: any, for every call, except that jnl_close() is last.  An
 * operation belongs to the thread that began it, which has at most one open
 * per journal; a nested jnl_begin() joins it.
 *
 * Locks: jnl_begin() may sleep for a commit, so an open operation ranks as
 * RANK_JNL_OP: after inode locks, before page, map and buffer locks.
 *
 * Errors: 0 or -errno.  -EROFS from jnl_begin(): the journal has aborted.
 * -EIO from jnl_wait(): it aborted before that transaction was durable.
 */
#ifndef JNL_JNL_H
#define JNL_JNL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cc.h"
#include "cache/cache.h"

struct jnl;
struct jnl_fold;

typedef uint32_t jnl_tid; /* wraps; compare with jnl_tid_after() */

static inline bool jnl_tid_after(jnl_tid a, jnl_tid b)
{
	return (int32_t)(a - b) > 0;
}

/* ---- the log on its device --------------------------------------------- */

/* Log blocks @log .. @log + @count - 1 lie at device blocks @dev ... */
struct jnl_extent {
	uint32_t log;
	uint32_t count;
	blk_no dev;
};

/*
 * Where the log is: a block map over a device, complete from log block 0,
 * sorted.  Internal journals share the data device and begin with the journal
 * superblock.  An external journal numbers its blocks from the start of its
 * device, so that the superblock comes after the device's label.
 */
struct jnl_place {
	struct blk_dev *dev;
	uint32_t block_bytes;
	uint32_t super; /* log block of the journal superblock; internal: 0 */
	const struct jnl_extent *map;
	uint32_t map_count;
	bool external; /* the log is not on the data device */
};

/* Which checksums the log carries from now on. */
enum jnl_checksum {
	JNL_CHECKSUM_KEEP, /* as the journal's superblock says */
	JNL_CHECKSUM_NONE,
	JNL_CHECKSUM_V1, /* one per transaction, in the commit block */
	JNL_CHECKSUM_V2, /* crc32c per block, 16 bits of it in tags */
	JNL_CHECKSUM_V3, /* crc32c per block */
};

struct jnl_make_opts {
	uint8_t uuid[16];           /* of the journal */
	enum jnl_checksum checksum; /* KEEP: none */
	bool wide;                  /* 64-bit block numbers */
	jnl_tid sequence;           /* of the first transaction; 0: 1 */
};

/*
 * Make all blocks of @place an empty log: write its superblock, of version 2,
 * and flush.  Whatever else it held is as good as gone.  -ENOMEM, or what the
 * device says.
 */
MUST_USE int jnl_make(
	const struct jnl_place *place, const struct jnl_make_opts *opts);

/* ---- what the client brings -------------------------------------------- */

/*
 * fold(), seal() and home_pass() run on the committing thread, with no operation
 * of it open and no lock that jnl_begin() or an operation needs (seal()
 * excepted); so does need_recovery(), or on the thread that closes.
 * committed() runs on any thread of the journal or in jnl_wait(), jnl_sync(),
 * jnl_checkpoint() and jnl_close(), perhaps beside the fold of a later
 * transaction, but one call after the other; it must not wait for the journal.
 * aborted() runs on any thread, perhaps inside an operation.
 */
struct jnl_client {
	/*
	 * Bring the state of transaction @tid into its pledged blocks, by
	 * jnl_fold_write().  Its operations have ended; operations of the next
	 * transaction are running.  An error aborts the journal.
	 */
	int (*fold)(void *arg, struct jnl_fold *f, jnl_tid tid);

	/* Store checksums into @data, the contents of block @b on their way
	 * to the log; under b->lock. */
	void (*seal)(void *arg, const struct buf *b, void *data);

	/* @tid is COMMITTED and no home write of what it freed is under way:
	 * that may be used again (J3).  Every tid is told, in order. */
	void (*committed)(void *arg, jnl_tid tid);

	/*
	 * The journal has aborted with @error; told once.  From now on nothing
	 * is begun or written.  What errors= asks for is the client's to do:
	 * go on reading, refuse to write, or end the program.
	 */
	void (*aborted)(void *arg, int error);

	/*
	 * The file system on the data device now does (or no longer does) need
	 * recovery: write that down and flush.  Called before the first log
	 * write, and at clean close after everything else.
	 */
	int (*need_recovery)(void *arg, bool needed);

	/* Journal-less mode: in which of four passes, 0 first, @b goes home. */
	unsigned (*home_pass)(void *arg, const struct buf *b);
};

enum jnl_admission { JNL_ADMIT_PERCPU, JNL_ADMIT_ATOMIC, JNL_ADMIT_LOCK };

struct jnl_opts {
	struct cache *cache; /* home blocks; client_bytes >= JNL_BUF_BYTES */
	const struct jnl_place *place; /* NULL: no journal, same transactions */
	const struct jnl_client *client; /* members may be NULL */
	void *client_arg;
	enum jnl_admission admission;
	enum jnl_checksum checksum;
	bool wide;           /* 64-bit block numbers, whatever it had before */
	uint32_t commit_ms;  /* age at which the timer commits; 0: 5000 */
	uint32_t max_blocks; /* smaller transactions (tests); 0: by J6 */
};

enum { JNL_BUF_BYTES = 128 }; /* of a buffer's client area */

/* ---- life --------------------------------------------------------------- */

/*
 * Open a log that needs no recovery (see replay.h).  -EUCLEAN: the journal's
 * superblock makes no sense; -ENOSPC: the log is too small to hold a
 * transaction; -EOPNOTSUPP: a feature that this code does not know;
 * -ESTALE: the log is not empty.
 */
MUST_USE int jnl_open(const struct jnl_opts *opts, struct jnl **out);

/*
 * Commit, checkpoint, mark the log empty, and release everything.  Returns
 * the first error the journal met; then the log stays as it is for the next
 * open to recover.
 */
MUST_USE int jnl_close(struct jnl *j);

/* Stop for good, as if the log had failed with @error. */
void jnl_abort(struct jnl *j, int error);

/* 0, or the error the journal aborted with. */
int jnl_error(const struct jnl *j);

/* The most blocks one operation may ask for: half the maximum of J6. */
uint32_t jnl_op_max(const struct jnl *j);

/* ---- operations --------------------------------------------------------- */

/* Lives on the caller's stack from begin to end; fields are the journal's. */
struct jnl_op {
	struct jnl *jnl;
	struct jnl_op *outer; /* the operation this one joined, or NULL */
	struct jnl_op *above; /* this thread's operation before it, or NULL */
	uint64_t stamp;       /* of the transaction; see jnl_int.h */
	uint32_t shard;       /* the per-CPU slot it entered by */
	uint32_t credits;     /* asked for */
	uint32_t used;        /* blocks that were new to the transaction */
};

/* The transaction that an open @op is part of; jnl_end() returns it too. */
static inline jnl_tid jnl_op_tid(const struct jnl_op *op)
{
	return (jnl_tid)op->stamp;
}

/*
 * Join the running transaction, with room for @credits distinct blocks.  May
 * sleep for a commit and for log space, so hold no lock above RANK_FILE.
 * Inside an operation of this thread it joins that one, which must find room
 * for @credits more without waiting (else -EAGAIN).  -ENOSPC: @credits exceed
 * jnl_op_max().
 */
MUST_USE int jnl_begin(struct jnl *j, uint32_t credits, struct jnl_op *op);

/* Ask for @credits more; never waits.  -EAGAIN: end, and begin again. */
MUST_USE int jnl_extend(struct jnl_op *op, uint32_t credits);

/*
 * End @op and begin again with @credits, in a later transaction if need be:
 * what was done so far may become durable by itself.  On error @op has ended.
 */
MUST_USE int jnl_restart(struct jnl_op *op, uint32_t credits);

/* Leave the transaction.  Returns its tid, for jnl_wait(). */
jnl_tid jnl_end(struct jnl_op *op);

/*
 * Promise to edit @b, which is pinned and up to date, before the first change
 * of its contents in @op.  Costs a credit the first time in a transaction.
 * Never waits for I/O.  -ENOMEM: no memory for the copy that the committing
 * transaction needs; nothing happened.
 */
MUST_USE int jnl_get_write(struct jnl_op *op, struct buf *b);

/* As above for a block that was just allocated: old contents do not matter,
 * and a revoke of it in this transaction is taken back. */
MUST_USE int jnl_get_create(struct jnl_op *op, struct buf *b);

/* The fold of this transaction will change @b.  Costs a credit likewise. */
MUST_USE int jnl_pledge(struct jnl_op *op, struct buf *b);

/*
 * @b (pinned, or NULL when it is not cached) at @block was freed: its edits in
 * this transaction are not logged, older copies in the log are not replayed,
 * and once the freeing is COMMITTED it leaves cache and checkpoint lists,
 * before the client's committed() is called.  Costs a credit if @b was not
 * part of this transaction yet.  -ENOMEM: nothing happened.
 *
 * J3 is the client's to keep, with the help of committed().  The journal itself
 * bears a block that is metadata again at once, by jnl_get_create() in this
 * transaction or a later one; whatever else is written there, a crash may undo
 * or show in the place of what was freed.
 */
MUST_USE int jnl_forget(struct jnl_op *op, blk_no block, struct buf *b);

/* ---- ordered data -------------------------------------------------------- */

/*
 * Data I/O that must be on the device before @op's transaction commits: count
 * it before it is submitted, inside the operation; count it down from any
 * thread when it has completed.  An @error aborts the journal.
 */
struct jnl_ordered {
	jnl_tid tid;
	uint32_t shard;
};

void jnl_ordered_begin(struct jnl_op *op, struct jnl_ordered *io);
void jnl_ordered_end(struct jnl *j, const struct jnl_ordered *io, int error);

/* ---- durability ----------------------------------------------------------- */

/* Sleep until @tid is COMMITTED; commits in this thread if nobody else does.
 * Not inside an operation. */
MUST_USE int jnl_wait(struct jnl *j, jnl_tid tid);

/* Ask for a commit of @tid without waiting for it. */
void jnl_kick(struct jnl *j, jnl_tid tid);

/* Commit whatever is running and wait, also until committed() has been told
 * of it. */
MUST_USE int jnl_sync(struct jnl *j);

/*
 * Write committed blocks home until the log is empty; for close, freeze.
 * -ENOMEM: there was none for the writes, and that did not change soon; nothing
 * is lost, the log holds what is not at home.
 */
MUST_USE int jnl_checkpoint(struct jnl *j);

/* ---- inside the client's fold --------------------------------------------- */

/*
 * Change pledged @b for the folding transaction: pinned, with b->lock held by
 * the caller around its edits.  -EUCLEAN: @b was not pledged.
 */
MUST_USE int jnl_fold_write(struct jnl_fold *f, struct buf *b);

/* ---- observation ----------------------------------------------------------- */

struct jnl_stats {
	uint64_t commits;
	uint64_t waits;         /* jnl_wait() calls that had to wait */
	uint64_t logged_blocks; /* descriptor, data, revoke and commit blocks */
	uint64_t frozen_copies;
	uint64_t revokes;
	uint64_t checkpointed; /* home writes */
	uint64_t begin_waits;  /* begins that slept */
	uint64_t drain_ns_max; /* the longest a seal waited for operations */
	uint64_t commit_ns_sum;
};

void jnl_stats_read(struct jnl *j, struct jnl_stats *out);

/* Check J1 to J6 in the present state; aborts the process on a violation.
 * Debug builds call it at each change of state. */
void jnl_check(struct jnl *j);

#endif /* JNL_JNL_H */
