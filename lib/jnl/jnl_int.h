/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jnl_int.h - the journal in memory, shared by the files of lib/jnl.
 *
 * A transaction's *stamp* counts up from 1 << 32 and never wraps; its low
 * half is the tid that callers see.  The sequence number in the log is
 * another matter: empty transactions do not get one.
 *
 * Two transactions are in memory at most, RUNNING or LOCKED, and FLUSHING:
 * what belongs to one of them is indexed by the parity of its stamp.  Older
 * ones live on as `struct jnl_done` until their blocks are at home.
 *
 *    shard[parity][cpu]     blocks joined, blocks forgotten, admission word
 *    done list              oldest first, each with its checkpoint list
 *
 * Locks, outermost first: commit_lock or home_lock (who drives the log; never
 * both), buf.lock (a block's journal state), lock (lists, log space, states).
 */
#ifndef JNL_JNL_INT_H
#define JNL_JNL_INT_H

#include <pthread.h>

#include "base/assert.h"
#include "base/list.h"
#include "jnl/codec.h"
#include "jnl/jnl.h"
#include "jnl/stream.h"
#include "sync/lock.h"

/* What a transaction knows of a block. */
enum jnl_member {
	MEMBER_NONE,
	MEMBER_JOINED,    /* on the transaction's list, contents needed */
	MEMBER_FORGOTTEN, /* on the list, but freed since: not logged */
	MEMBER_REJOINED,  /* as JOINED, after it had been freed */
};

/* Are the contents needed? */
static inline bool jnl_member_joined(uint8_t member)
{
	return member == MEMBER_JOINED || member == MEMBER_REJOINED;
}

/* The journal's part of a buffer, in its client area.  [buf.lock] unless said
 * otherwise. */
struct jnl_buf {
	_Atomic uint64_t stamp;  /* newest transaction that owns the block; read
	                            without the lock by its own operations */
	struct jnl_buf *next[2]; /* [owner] on a shard's list, by parity */
	void *frozen;            /* what the FLUSHING transaction logs, when a
	                            newer one has begun to edit the block */
	struct list home_link;   /* [jnl.lock] on a checkpoint list */
	struct jnl_done *done;   /* [jnl.lock] whose list, or NULL */
	uint8_t member[2];       /* enum jnl_member, by parity; NONE as soon as
	                            the contents are on their way to the log */
	bool folded;             /* of the folded kind */
	bool going_home;         /* [jnl.lock] a checkpoint is writing it */
};

_Static_assert(sizeof(struct jnl_buf) <= JNL_BUF_BYTES, "client area");

static inline struct jnl_buf *jnl_buf_of(struct buf *b)
{
	return (struct jnl_buf *)(void *)b->client;
}

static inline struct buf *jnl_buf_home(struct jnl_buf *jb)
{
	return CONTAINER_OF((unsigned char *)jb, struct buf, client);
}

/* A block that a transaction freed. */
struct jnl_freed {
	struct jnl_freed *next;
	uint64_t stamp; /* of the transaction; set when that is COMMITTED */
	blk_no block;
	struct buf *buf; /* pinned, or NULL */
};

/* A block of the committing transaction.  Its number stands here as well, so
 * that sorting does not touch the buffers. */
struct jnl_logged {
	blk_no block;
	struct buf *buf;
};

/*
 * What the operations on one CPU bring to one transaction.  Only that CPU's
 * operations write it while the transaction runs.
 */
struct jnl_shard {
	LINE_ALIGNED _Atomic uint64_t word; /* admission; see admit_percpu.c */
	_Atomic(struct jnl_buf *) joined;   /* a stack, taken whole */
	_Atomic(struct jnl_freed *) freed;  /* likewise */
	_Atomic uint64_t frozen;            /* copies made, ever */
	LINE_ALIGNED _Atomic int64_t ordered; /* data I/O in flight */
	_Atomic bool ordered_seen;            /* there was some */
};

/* A COMMITTED transaction whose blocks are not all at home; several, one behind
 * the other, if there was no memory for one each. */
struct jnl_done {
	struct list link;    /* [lock] oldest first */
	struct list home;    /* [lock] jnl_buf.home_link */
	uint64_t stamp;      /* of the last */
	jnl_tid sequence;    /* of the first */
	uint32_t log_start;  /* its first block in the log */
	uint32_t log_blocks; /* its length there */
	uint32_t home_count; /* [lock] length of home */
};

/* How operations enter a transaction: the subject of three lessons. */
struct jnl_admit {
	/* 0; -EAGAIN: the gate is closed or has moved; -ENOSPC: it is full. */
	int (*enter)(struct jnl *j, struct jnl_op *op, uint32_t credits);
	/* 0 or -ENOSPC; @op is inside. */
	int (*extend)(struct jnl *j, struct jnl_op *op, uint32_t credits);
	void (*leave)(struct jnl *j, struct jnl_op *op, uint32_t unused);
	/* Prepare for a transaction with room for @credits blocks. */
	void (*open)(struct jnl *j, uint64_t stamp, uint32_t credits);
	/* No operation of @stamp is open.  The gate is closed. */
	bool (*drained)(struct jnl *j, uint64_t stamp);
};

extern const struct jnl_admit jnl_admit_percpu;
extern const struct jnl_admit jnl_admit_atomic;
extern const struct jnl_admit jnl_admit_lock;

struct jnl {
	/* Read by every operation, written once a commit. */
	_Atomic uint64_t gate; /* stamp of the RUNNING transaction, or 0 */
	const struct jnl_admit *admit; /* [const] */
	struct jnl_shard *shard[2];    /* [const] by parity, shard_count each */
	uint32_t shard_count;          /* [const] */
	uint32_t max_blocks;           /* [const] of a transaction: J6 */
	uint32_t op_max;               /* [const] */
	_Atomic int error;             /* 0, or -errno of the abort, for good */

	/* [const] */
	struct cache *cache;
	struct blk_dev *home_dev;
	uint64_t home_most;      /* buffers that checkpoint lists may pin */
	struct blk_dev *log_dev; /* NULL: no journal */
	struct jnl_place place;  /* its map is a copy */
	const struct jnl_client *client;
	void *client_arg;
	uint32_t block_bytes;
	uint64_t reserved;  /* pieces set aside in the cache */
	uint64_t commit_ns; /* age at which the timer commits */
	uint32_t log_need;  /* log blocks of the largest transaction */

	/* Admission's shared words; see admit_*.c. */
	LINE_ALIGNED _Atomic int64_t
		pool[2]; /* credits not leased, by parity */
	_Atomic int64_t updates[2];
	struct mtx admit_lock;

	/* Waiting: futex words, bumped before a wake. */
	LINE_ALIGNED _Atomic uint32_t gate_seq; /* the gate opened, or abort */
	_Atomic uint32_t drain_seq;             /* an operation of a LOCKED
	                                           transaction, or ordered I/O
	                                           of a FLUSHING one, ended */
	_Atomic bool ordered_waiting;           /* the committer waits for it */
	_Atomic uint32_t commit_seq;  /* a commit finished or failed */
	_Atomic uint32_t group_seq;   /* a waiter joined the group */
	_Atomic uint32_t commit_work; /* for the commit thread */
	_Atomic uint32_t home_work;   /* for the checkpoint thread */
	_Atomic uint32_t release_seq; /* frees were handed out */
	_Atomic uint32_t group;       /* threads in jnl_wait() */
	_Atomic uint64_t kicked;      /* newest stamp asked to commit */
	_Atomic bool stopping;
	_Atomic bool pressed; /* the cache wants its buffers back */

	/* [lock] states and log space. */
	struct mtx lock;
	uint64_t newest;            /* stamp given out last */
	uint64_t running;           /* RUNNING or LOCKED, 0: none */
	uint64_t flushing;          /* FLUSHING, 0: none */
	_Atomic uint64_t committed; /* newest COMMITTED; written under lock */
	uint64_t released;          /* newest whose frees were handed out */
	bool releasing;             /* those of the next one are being so */
	struct jnl_freed *release;  /* what waits for that, oldest first */
	struct jnl_freed **release_end; /* where the next one is linked */
	uint64_t opened_ns;             /* when RUNNING opened */
	struct list done;               /* struct jnl_done.link */
	uint32_t done_blocks;           /* log blocks that these hold */
	struct jnl_done *spare; /* so that a commit needs no memory: NULL
	                               only while done is not empty */
	uint64_t home_blocks;   /* buffers on checkpoint lists */
	uint32_t head;          /* next log block to write */
	jnl_tid next_sequence;

	/* [commit_lock] */
	struct mtx commit_lock;
	struct jnl_stream stream;
	struct jnl_logged
		*logged;          /* max_blocks: the committing transaction's */
	struct jnl_freed **freed; /* likewise */
	unsigned char *commit_block; /* block_bytes of zeroes and the block */
	uint32_t last_group;         /* waiters that the last commit served */
	uint64_t commit_ns_mean;     /* of recent commits */
	bool recovery_flagged;       /* need_recovery(true) was called */

	/* [super_lock] the journal's superblock as it is on disk */
	struct mtx super_lock;
	struct jnl_super super;   /* geometry and features [const] once open */
	unsigned char *super_raw; /* a whole log block */

	/* [home_lock] */
	struct mtx home_lock;
	struct jnl_home_batch *home_batch;

	pthread_t commit_thread;
	pthread_t home_thread;

	struct jnl_stats stats; /* [commit_lock] the committer's part */
	_Atomic uint64_t stat_waits;
	_Atomic uint64_t stat_begin_waits;
	_Atomic uint64_t stat_home;
};

static inline unsigned jnl_parity(uint64_t stamp)
{
	return (unsigned)(stamp & 1);
}

/* ---- jnl.c ------------------------------------------------------------------ */

/* Monotonic time in nanoseconds. */
uint64_t jnl_now(void);

/* Bump a futex word and wake everybody on it. */
void jnl_signal(_Atomic uint32_t *word);

/* The stamp that @tid is short for. */
uint64_t jnl_stamp_of(struct jnl *j, jnl_tid tid);

/* ---- txn.c: opening, sealing, draining ---------------------------------------- */

/* Open the next transaction if none runs and J6 allows it. */
void jnl_txn_open_locked(struct jnl *j) REQUIRES(j->lock);

/* Seal and drain the running transaction and open the next one; returns the
 * stamp of what is FLUSHING now, or 0 if there was nothing to commit. */
uint64_t jnl_txn_seal(struct jnl *j) REQUIRES(j->commit_lock);

/* Wait until @stamp's ordered data is on the device. */
void jnl_txn_wait_ordered(struct jnl *j, uint64_t stamp);

/* Has nothing joined, been freed or written in order by @stamp? */
bool jnl_txn_empty(struct jnl *j, uint64_t stamp);

/* ---- commit.c ------------------------------------------------------------------ */

/* The contents of a transaction after its drain. */
struct jnl_haul {
	uint64_t stamp;
	struct jnl_logged *logged; /* sorted; forgotten ones left out */
	uint32_t count;
	struct jnl_freed **freed; /* sorted by block; those that are metadata
	                             again left out */
	uint32_t freed_count;
	bool ordered;        /* it had ordered data */
	uint32_t log_blocks; /* out: length in the log */
};

/* Commit the running transaction unless it is empty.  An error aborts. */
int jnl_commit(struct jnl *j) REQUIRES(j->commit_lock);

/* Give up what belongs to transactions that will never commit. */
void jnl_commit_discard(struct jnl *j, uint64_t stamp);

/* ---- record.c: a transaction into the log, or straight home --------------------- */

/* The log blocks that a transaction of @blocks may need at the most. */
uint32_t jnl_record_need(
	const struct jnl_super *sb, uint32_t blocks, uint32_t piece_blocks);

/* Durable on return. */
int jnl_record_log(struct jnl *j, struct jnl_haul *haul)
	REQUIRES(j->commit_lock);
int jnl_record_home(struct jnl *j, struct jnl_haul *haul)
	REQUIRES(j->commit_lock);

/* ---- home.c: the way home, and log space ------------------------------------------ */

/* Memory for the batches.  -ENOMEM. */
int jnl_home_init(struct jnl *j);

/* Put @b, pinned for it, on @done's list instead of any older one. */
void jnl_home_add_locked(struct jnl *j, struct jnl_done *done, struct buf *b)
	REQUIRES(j->lock);

/* Take @b, pinned otherwise, too, off the list it is on, if any. */
void jnl_home_drop_locked(struct jnl *j, struct buf *b) REQUIRES(j->lock);

/*
 * Write a batch home and move the tail as far as that allows.  *@stuck: what
 * is left belongs to a newer transaction.  -ENOMEM: try again later; any other
 * error aborts.
 */
int jnl_home_some(struct jnl *j, bool *stuck) REQUIRES(j->home_lock);

/* Does log space or memory run short? */
bool jnl_home_pressed_locked(struct jnl *j) REQUIRES(j->lock);

/* The cache wants back what the journal @arg has pinned: cache_on_pressure(). */
void jnl_home_press(void *arg);

/* Forget all lists without writing; for closing after an abort. */
void jnl_home_discard(struct jnl *j);

/* ---- release.c: freed blocks are handed out ------------------------------------------ */

void jnl_freed_drop(struct jnl_freed *freed);

/* What @haul freed leaves the lists, and waits for its release. */
void jnl_release_queue_locked(struct jnl *j, struct jnl_haul *haul)
	REQUIRES(j->lock);

/* Hand out what may be by now.  After each commit and each batch of home
 * writes, with no lock held. */
void jnl_release(struct jnl *j);

/* Wait until COMMITTED @stamp's frees have been handed out. */
void jnl_release_wait(struct jnl *j, uint64_t stamp);

/* ---- superblock.c -------------------------------------------------------------------- */

/* Read it, decode it, bring in what @opts asks for. */
int jnl_superblock_load(struct jnl *j, const struct jnl_opts *opts);

/* Write it with this tail (0: empty), flush the log device. */
int jnl_superblock_store(struct jnl *j, uint32_t start, jnl_tid sequence);

/* Write the abort's errno into it, as well as may be. */
void jnl_superblock_store_error(struct jnl *j);

/* ---- check.c --------------------------------------------------------------------------- */

/* What jnl_check() does, in debug builds, at each change of state. */
void jnl_check_debug_locked(struct jnl *j) REQUIRES(j->lock);

/* ---- thread.c ------------------------------------------------------------------------- */

int jnl_threads_start(struct jnl *j);
void jnl_threads_stop(struct jnl *j);

#endif /* JNL_JNL_INT_H */
