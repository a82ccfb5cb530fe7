/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rwl.h - ranked reader-writer locks, for what is held across device I/O.
 *
 * Class, rank, ties and statistics as in lock.h; readers rank like writers,
 * so a thread reads no lock twice and does not upgrade.  An uncontended lock
 * and unlock are one atomic each on the lock's own word; readers of one lock
 * share that word, so what many threads only read belongs under RCU.
 *
 * Who waits how long
 *   R1  Once a writer waits, later readers wait too: no writer is starved.
 *   R2  A writer that unlocks lets in all readers that wait before any other
 *       writer: no reader waits for more than one writer.
 *   R3  Writers may pass a writer that is waking up, for at most a
 *       millisecond; then the lock is handed to it.
 */
#ifndef SYNC_RWL_H
#define SYNC_RWL_H

#include "sync/lock.h"

struct rwl_waiter;

struct CAPABILITY("rwlock") rwl {
	_Atomic uint32_t word; /* rwl.c */
	_Atomic int32_t site;  /* which writer took it last, while profiling */
	struct lock_class *class; /* [const] */

	/* Waiters, oldest first; on their own stacks. */
	_Atomic uint32_t queue_lock;
	bool handoff;                    /* [queue_lock] R3 */
	struct rwl_waiter *writers;      /* [queue_lock] */
	struct rwl_waiter *writers_last; /* [queue_lock] */
	struct rwl_waiter *readers;      /* [queue_lock] in any order */
};

#define RWL_INIT(its_class)                                                    \
	{                                                                      \
		.class = (its_class)                                           \
	}

/* @class is static, as with mtx_init(). */
void rwl_init(struct rwl *l, struct lock_class *class);

/* Aborts in debug builds if @l is held. */
void rwl_fini(struct rwl *l);

void rwl_read_lock(struct rwl *l) ACQUIRES_SHARED(*l);
void rwl_read_unlock(struct rwl *l) RELEASES_SHARED(*l);

void rwl_write_lock(struct rwl *l) ACQUIRES(*l);
void rwl_write_unlock(struct rwl *l) RELEASES(*l);

/* Take @l beside @held (for reading or writing), which is of the same rank. */
void rwl_write_lock_tie(struct rwl *l, const struct rwl *held) ACQUIRES(*l);

/* Never wait; true if the lock was taken.  Exempt from the rank check. */
MUST_USE bool rwl_read_try(struct rwl *l) TRY_ACQUIRES_SHARED(true, *l);
MUST_USE bool rwl_write_try(struct rwl *l) TRY_ACQUIRES(true, *l);

/* Abort unless the calling thread holds @l; _write: for writing.  Debug
 * builds only. */
void rwl_assert_held(const struct rwl *l) ASSERTS_HELD_SHARED(*l);
void rwl_assert_write(const struct rwl *l) ASSERTS_HELD(*l);

#endif /* SYNC_RWL_H */
