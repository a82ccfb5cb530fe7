/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rcu.c - see rcu.h.
 *
 * ThreadSanitizer sees neither liburcu nor its membarrier, so the edges that
 * a grace period makes are drawn by hand: rcu_end() releases `sections`, and
 * whoever has seen a grace period pass acquires it.  Sections that end after
 * the grace period began are included too: a race with those is missed, a
 * false one is never reported.  Other builds store nothing here.
 */
#include "sync/rcu.h"

#include <urcu/urcu-bp.h>

#include "sync/lock_int.h"

#ifdef EXTANT_DEBUG
/* By call: inlined, they would be checked by UBSan, and their registry is
 * not aligned as their type says. */
#define READ_LOCK()   urcu_bp_read_lock()
#define READ_UNLOCK() urcu_bp_read_unlock()
#else
/* Small enough to be inlined by callers of any licence. */
#include <urcu/static/urcu-bp.h>
#define READ_LOCK()   _urcu_bp_read_lock()
#define READ_UNLOCK() _urcu_bp_read_unlock()
#endif

#ifdef __has_feature
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1 /* gcc's word for it */
#endif
#endif

#if defined(__SANITIZE_THREAD__) && !defined(EXTANT_LEDGER)
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);

static char sections; /* stands for the ends of all read sections */

#define SECTIONS_RELEASE() __tsan_release(&sections)
#define SECTIONS_ACQUIRE() __tsan_acquire(&sections)
#else
#define SECTIONS_RELEASE() ((void)0)
#define SECTIONS_ACQUIRE() ((void)0)
#endif

void rcu_begin(void)
{
	READ_LOCK();
	rank_rcu_begin();
}

void rcu_end(void)
{
	rank_rcu_end();
	SECTIONS_RELEASE();
	READ_UNLOCK();
}

void rcu_wait(void)
{
	rank_rcu_wait();
	urcu_bp_synchronize_rcu();
	SECTIONS_ACQUIRE();
}
