/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rcu.h - readers that store nothing shared and are never waited for by
 * request paths.
 *
 * liburcu's bulletproof flavour behind our own accessors: foreign threads
 * come and go without registering.  Pointers that readers follow are C11
 * atomics, published with RCU_ASSIGN (release) and read with RCU_DEREF
 * (consume, as acquire).  ThreadSanitizer builds are told of the edge from
 * the end of a read section to the end of a grace period.
 *
 *   rcu_begin()/rcu_end()   may nest; no sleep, no lock of rank < RANK_BUF
 *   rcu_wait()              sleeps for a grace period: background threads
 *                           only, never inside a read section or operation
 *   rcu_free()              frees memory after a grace period, without waiting
 *
 * Deferred objects queue per CPU, and one background thread, started by the
 * first of them, takes them a batch at a time; it lives until the process
 * ends, and asks for no time while there is nothing to free.
 */
#ifndef SYNC_RCU_H
#define SYNC_RCU_H

#include <stdatomic.h>

#define RCU_ASSIGN(p, v) atomic_store_explicit(&(p), (v), memory_order_release)
#define RCU_DEREF(p)     atomic_load_explicit(&(p), memory_order_acquire)

/* In an object: its deferred release; the first or any later field. */
struct rcu_node {
	struct rcu_node *next;
	void (*fn)(struct rcu_node *node);
};

void rcu_begin(void);
void rcu_end(void);

/* Wait until every read section that is open now has ended. */
void rcu_wait(void);

/*
 * Call @fn(@node) after a grace period, from another thread, usually within
 * some 10 ms.  @fn only frees memory: it takes no lock below RANK_CACHE and
 * does not wait.  May be called inside a read section.
 */
void rcu_free(struct rcu_node *node, void (*fn)(struct rcu_node *node));

/* Wait until every rcu_free() made before has run; for closing and tests.
 * Waits as rcu_wait() does. */
void rcu_drain(void);

#endif /* SYNC_RCU_H */
