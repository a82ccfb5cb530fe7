/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock.h - ranked mutexes: the lock order, as code.
 *
 * Every lock belongs to a class with a rank and a name.  A thread may only
 * take a lock whose rank is above all ranks it holds, so no cycle can form.
 * Debug builds keep the held locks per thread and abort on the first
 * violation, whether or not it happened to deadlock; release builds compile
 * the check away.
 *
 * Holding two locks of one rank takes mtx_lock_tie() and that rank's tie
 * rule: directories ancestor first, files and buffers by address, no ties
 * elsewhere.
 *
 * A mutex is four bytes and a class pointer; an uncontended lock and unlock
 * are one atomic each on the mutex's own word.  A waiter spins briefly, then
 * sleeps in the kernel.
 *
 * Statistics: each class counts contention always (in the slow path, per
 * CPU), and acquisitions, wait time, hold time and who waited for whom while
 * lock_profile(true).  While it is off, an uncontended lock stores nothing but
 * its own word.
 *
 * docs/locking.md explains why each rank sits where it does; a test compares
 * its table with this enum.
 */
#ifndef SYNC_LOCK_H
#define SYNC_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cc.h"

enum lock_rank {
	RANK_MOUNT = 10,      /* mount table */
	RANK_RENAME = 20,     /* one cross-directory rename at a time */
	RANK_DIR = 30,        /* directory contents; ties allowed */
	RANK_FILE = 35,       /* file contents and size; ties allowed */
	RANK_JNL_COMMIT = 38, /* commit, checkpoint: who drives the log */
	RANK_RCU = 39,        /* one batch of deferred frees */
	RANK_JNL_OP = 40,     /* an open journal operation; counts as a lock */
	RANK_PAGE = 50,  /* one page under change; its holder never begins */
	RANK_MAP = 55,   /* a file's block map */
	RANK_BUF = 60,   /* one buffer's contents; ties allowed */
	RANK_RAW = 70,   /* an inode's serialised fields; fold takes it */
	RANK_JNL = 80,   /* journal state and lists */
	RANK_CACHE = 85, /* eviction, dirty and free lists */
	RANK_HASH = 90,  /* a single hash bucket */
	RANK_INDEX = 92, /* a file's index of cached blocks */
	RANK_BLK = 95,   /* queues inside block devices; innermost */
};

struct lock_class {
	const char *name;
	enum lock_rank rank;
	bool ties; /* two of this rank may be held, by the rank's rule */
	_Atomic(struct lock_stats *) stats; /* made by the first slow path */
};

struct CAPABILITY("mutex") mtx {
	_Atomic uint32_t word;    /* 0 free, 1 held, 2 held and waited for */
	_Atomic int32_t site;     /* who took it last, while profiling */
	struct lock_class *class; /* [const] */
};

#define MTX_INIT(its_class)                                                    \
	{                                                                      \
		.class = (its_class)                                           \
	}

/* @class must outlive the program's last lock_profile_read(): it is static. */
void mtx_init(struct mtx *m, struct lock_class *class);

/* Aborts in debug builds if @m is held. */
void mtx_fini(struct mtx *m);

void mtx_lock(struct mtx *m) ACQUIRES(*m);
void mtx_unlock(struct mtx *m) RELEASES(*m);

/* Never waits; true if the lock was taken.  Exempt from the rank check. */
MUST_USE bool mtx_trylock(struct mtx *m) TRY_ACQUIRES(true, *m);

/* Take @m beside @held, which is of the same rank. */
void mtx_lock_tie(struct mtx *m, const struct mtx *held) ACQUIRES(*m);

/* Abort unless the calling thread holds @m.  Debug builds only. */
void mtx_assert_held(const struct mtx *m) ASSERTS_HELD(*m);

/*
 * Things that are not mutexes but rank as locks (an open journal operation):
 * tell the checker.  @what identifies the thing.  Nothing in release builds.
 */
#ifdef EXTANT_DEBUG
void rank_enter(enum lock_rank rank, const void *what);
void rank_leave(enum lock_rank rank, const void *what);

/* Abort if the calling thread holds a lock of @rank or above; for calls
 * that wait.  Debug builds only. */
void rank_assert_below(enum lock_rank rank);
#else
static inline void rank_enter(enum lock_rank rank, const void *what)
{
	(void)rank;
	(void)what;
}

static inline void rank_leave(enum lock_rank rank, const void *what)
{
	(void)rank;
	(void)what;
}

static inline void rank_assert_below(enum lock_rank rank)
{
	(void)rank;
}
#endif

/* ---- statistics ---------------------------------------------------------- */

/* Measure from now on, or stop.  What was counted stays. */
void lock_profile(bool on);

enum { LOCK_SITES = 16 };

/* One pair of places in the code; addresses for dladdr() or addr2line. */
struct lock_site {
	uintptr_t waiter; /* called lock, and waited */
	uintptr_t holder; /* had called lock; 0: before profiling began */
	uint64_t count;
	uint64_t wait_ns;
};

struct lock_report {
	const char *name;
	enum lock_rank rank;
	uint64_t
		contended; /* since the program began; the rest while profiling */
	uint64_t acquired;
	uint64_t wait_ns;
	uint64_t hold_ns;    /* summed over readers, where readers share */
	uint64_t sites_lost; /* waits of pairs that found no room in sites */
	unsigned site_count;
	struct lock_site sites[LOCK_SITES]; /* most waited first */
};

/*
 * Tell @fn of each class that was contended or profiled, in any order.  Sums
 * are of one moment only as far as nobody locks meanwhile.
 */
void lock_profile_read(
	void (*fn)(void *arg, const struct lock_report *report), void *arg);

#endif /* SYNC_LOCK_H */
