/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alloc.h - which blocks or inodes are free, and who gets them.
 *
 * An allocator hands out the *units* 0 to count - 1 of one space: the clusters
 * of a file system, or its inodes.  The space is cut into *groups*; a group
 * that somebody needs is *loaded*, which gives it two bitmaps in memory:
 *
 *   used       taken on disk or since, or freed but not yet committed
 *   reserved   in some file's window: others get it only when all else is gone
 *
 * Bits change by compare-and-swap, scanning takes no lock, and nobody waits
 * for anybody: a word that others fight over is passed by.  What really counts
 * is the *used* bit; a reservation is good manners.
 *
 *     load          take                     fold              release
 *   (from disk) --> used = 1 --record--> set bit in block
 *                   used = 1 --record--> clear bit in block --> used = 0
 *                          free                            (committed)
 *
 * Records of what operations took and freed are kept per CPU and transaction.
 * When a transaction is folded, the client gets its takes and then its frees,
 * to bring them into the bitmaps on their way to disk; once it is committed,
 * what it freed becomes free here.
 *
 * Invariants (checked by alloc_check(), numbered for tests)
 *   A1  A unit is handed out once until its freeing is released.
 *   A2  What a transaction freed is not handed out before alloc_release().
 *   A3  A group with records that are not released yet is loaded.
 *   A4  Every take and every free is folded exactly once, takes first.
 *   A5  Reservations of space never exceed what is free.
 *
 * Threads: any, for every call, except that alloc_close() is last, and that
 * transactions are folded one after the other and released one after the
 * other, in order.  A release may come late: beside the fold of the next one
 * and operations of the one after that.
 * alloc_take() and alloc_free() never wait and read no device; alloc_plan()
 * may.
 *
 * Errors: 0 or -errno.  -EAGAIN: the group is not loaded; plan again, outside
 * of the operation.  -ENOSPC: nothing is left but what is still to be
 * released.  A group that cannot be loaded, or whose bitmap contradicts its
 * descriptor, is out of use from then on, and the log says so.
 */
#ifndef ALLOC_ALLOC_H
#define ALLOC_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cc.h"
#include "jnl/jnl.h"

struct alloc;

struct alloc_client {
	/*
	 * Set the bit of each unit of @group that is in use: bit N % 64 of
	 * word N / 64 for the Nth unit; all others are zero already.  May read.
	 * -EUCLEAN, -EBADMSG, -EIO: the group goes out of use.
	 */
	int (*load)(void *arg, uint32_t group, uint64_t *used);
};

/* How a claim excludes others: ours, and what kernels did (controls). */
enum alloc_mode {
	ALLOC_CAS,     /* not at all */
	ALLOC_DROPPED, /* one lock, dropped while scanning */
	ALLOC_HELD,    /* one lock, held while scanning */
};

struct alloc_opts {
	const char *name;     /* "block", "inode": in messages */
	uint64_t count;       /* of units */
	uint32_t group_units; /* of each group but the last */
	/* Free units of each group, as its descriptor says; copied. */
	const uint32_t *group_free;
	uint64_t loaded_bytes_max; /* alloc_trim() goes down to this */
	enum alloc_mode mode;
	const struct alloc_client *client;
	void *client_arg;
};

MUST_USE int alloc_open(const struct alloc_opts *opts, struct alloc **out);

/* Everything has been released. */
void alloc_close(struct alloc *a);

/* ---- planning, outside of operations --------------------------------------- */

/*
 * Load the group of @goal, and others after it until those loaded promise
 * @count free units.  May read.  -ENOSPC: they do not although all are.
 */
MUST_USE int alloc_plan(struct alloc *a, uint64_t goal, uint64_t count);

/* Load the groups of @count units from @start on, which are to be freed.  The
 * error of the first that is out of use. */
MUST_USE int alloc_plan_free(struct alloc *a, uint64_t start, uint64_t count);

/* ---- windows ------------------------------------------------------------------ */

enum { ALLOC_WINDOW_LEAST = 8, ALLOC_WINDOW_MOST = 2048 };

/*
 * Units that are reserved for one file, right after its last one.  It belongs
 * to whoever holds the file's map lock.  It doubles each time it is used up in
 * order, and starts small again after a jump.  All zero: none yet.
 */
struct alloc_window {
	uint64_t next; /* the first unit of it */
	uint32_t left; /* units; 0: none */
	uint32_t want; /* how large the next one shall be; 0: not begun */
};

/* Give back what is left: the last writer has closed the file. */
void alloc_window_drop(struct alloc *a, struct alloc_window *w);

/* ---- inside operations --------------------------------------------------------- */

struct alloc_run {
	uint64_t start;
	uint32_t count;
};

struct alloc_want {
	uint64_t goal;  /* the unit that would be best */
	uint32_t count; /* as many as possible up to this, in one run */
	/* Start at a place of this CPU in the group instead of at the goal's:
	 * for single units that need not be neighbours. */
	bool spread;
	struct alloc_window *window; /* or NULL */
};

/*
 * Take a run of 1 to want->count units for an operation of transaction @tid.
 * -ENOMEM, -EAGAIN, -ENOSPC: nothing was taken.
 */
MUST_USE int alloc_take(struct alloc *a, jnl_tid tid,
	const struct alloc_want *want, struct alloc_run *out);

/*
 * Free @count units from @start on, all in use, for an operation of @tid.
 * -EUCLEAN: one of them is not in use; -EAGAIN, -ENOMEM: nothing was freed.
 */
MUST_USE int alloc_free(
	struct alloc *a, jnl_tid tid, uint64_t start, uint64_t count);

/* ---- transactions ----------------------------------------------------------------- */

/* One stretch of units inside one group. */
struct alloc_change {
	uint32_t group;
	uint32_t start; /* in the group */
	uint32_t count;
	bool take; /* else freed */
};

typedef int (*alloc_change_fn)(void *arg, const struct alloc_change *change);

/*
 * Tell every change of transaction @tid, whose operations have ended: all
 * takes, then all frees (A4).  The first error of @fn ends it.
 */
MUST_USE int alloc_fold(
	struct alloc *a, jnl_tid tid, alloc_change_fn fn, void *arg);

/* @tid, which was folded, is COMMITTED and no write of what it freed is under
 * way: that is free. */
void alloc_release(struct alloc *a, jnl_tid tid);

/* Unload groups that no record and no window needs until the bitmaps take no
 * more than loaded_bytes_max.  Waits for grace periods: not inside an
 * operation. */
void alloc_trim(struct alloc *a);

/* ---- observation ------------------------------------------------------------------- */

struct alloc_stats {
	uint64_t loaded;        /* groups, now */
	uint64_t out_of_use;    /* groups */
	uint64_t passed_by;     /* words that others fought over */
	uint64_t took_reserved; /* units out of others' windows */
};

void alloc_stats_read(struct alloc *a, struct alloc_stats *out);

/* Whether the invariants hold; when nobody else is inside.  For tests. */
MUST_USE bool alloc_check(struct alloc *a);

/* ---- space (space.c) ---------------------------------------------------------------- */

/*
 * How much may still be promised.  Delayed allocation promises space when it
 * is written to and takes units later; ENOSPC is told at the promise, which is
 * exact: the last unit is found on whichever CPU its lease is (A5).
 */
struct alloc_space;

/* @free units are free. */
MUST_USE int alloc_space_open(uint64_t free, struct alloc_space **out);
void alloc_space_close(struct alloc_space *s);

/* -ENOSPC: fewer than @count are left, on all CPUs together. */
MUST_USE int alloc_space_reserve(struct alloc_space *s, uint64_t count);

/* Not needed after all, or freed and released. */
void alloc_space_return(struct alloc_space *s, uint64_t count);

/* Exact when nobody reserves or returns meanwhile. */
uint64_t alloc_space_left(struct alloc_space *s);

#endif /* ALLOC_ALLOC_H */
