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
/* Its read_lock and read_unlock are there for callers of any licence. */
#include <urcu/static/urcu-bp.h>

#include "base/assert.h"
#include "base/cc.h"
#include "sync/lock_int.h"

#ifdef __has_feature
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1 /* gcc's word for it */
#endif
#endif

#if defined(__SANITIZE_THREAD__) && !defined(EXTANT_LEDGER)
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);

static char sections;  /* read sections end -> a grace period has passed */
static char callbacks; /* a callback has run -> rcu_drain() returns */

#define EDGE_FROM(x) __tsan_release(&(x))
#define EDGE_TO(x)   __tsan_acquire(&(x))
#else
#define EDGE_FROM(x) ((void)0)
#define EDGE_TO(x)   ((void)0)
#endif

/* What an rcu_node really is. */
struct deferred {
	struct rcu_head head;
	void (*fn)(struct rcu_node *node);
};

_Static_assert(sizeof(struct deferred) <= sizeof(struct rcu_node),
	"struct rcu_node is too small");

void rcu_begin(void)
{
	_urcu_bp_read_lock();
	rank_rcu_begin();
}

void rcu_end(void)
{
	rank_rcu_end();
	EDGE_FROM(sections);
	_urcu_bp_read_unlock();
}

void rcu_wait(void)
{
	ASSERT(!urcu_bp_read_ongoing());
	urcu_bp_synchronize_rcu();
	EDGE_TO(sections);
}

static void run_deferred(struct rcu_head *head)
{
	struct deferred *d = CONTAINER_OF(head, struct deferred, head);

	EDGE_TO(sections);
	d->fn((struct rcu_node *)d);
	EDGE_FROM(callbacks);
}

void rcu_free(struct rcu_node *node, void (*fn)(struct rcu_node *node))
{
	struct deferred *d = (struct deferred *)node;

	d->fn = fn;
	urcu_bp_call_rcu(&d->head, run_deferred);
}

void rcu_drain(void)
{
	ASSERT(!urcu_bp_read_ongoing());
	urcu_bp_barrier();
	EDGE_TO(callbacks);
}
