/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rcu_free.c - freeing after a grace period, without a shared store.
 *
 * rcu_free() pushes on its CPU's list.  A background thread, the reclaimer,
 * takes all lists at once, waits for one grace period, and runs what it took.
 *
 *   NONE --first push--> AWAKE --idle for a while--> ASLEEP
 *                          ^------a push, or drain------'
 *
 * While it is awake a push stores to its own list only.  The reclaimer does
 * not go to sleep at once when it finds nothing, so that a trickle of objects
 * does not pass the shared state to and fro.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/cc.h"
#include "base/cpu.h"
#include "sync/futex.h"
#include "sync/lock.h"
#include "sync/rcu.h"
#include "sync/thread.h"

enum { NONE, AWAKE, ASLEEP };

enum {
	NAP_NS = 10000000,  /* between looks */
	IDLE_NAPS = 40,     /* without work, before it sleeps */
	BATCH_LARGE = 4096, /* after so many, look again at once */
};

struct shard {
	LINE_ALIGNED _Atomic(struct rcu_node *) head;
};

static struct shard shards[CPU_SHARDS_MAX];
static LINE_ALIGNED _Atomic uint32_t state;
static struct lock_class batch_class = {.name = "rcu.batch", .rank = RANK_RCU};
static struct mtx batch_lock = MTX_INIT(&batch_class);

/* Acquire pairs with the release in push(). */
static struct rcu_node *take(struct shard *s)
{
	if (atomic_load_explicit(&s->head, memory_order_relaxed) == NULL)
		return NULL;
	return atomic_exchange_explicit(&s->head, NULL, memory_order_acquire);
}

/* Free what is queued now.  The lock makes rcu_drain() wait for a batch that
 * the reclaimer has taken. */
static unsigned run_batch(void)
{
	struct rcu_node *lists[CPU_SHARDS_MAX];
	unsigned list_count = 0;
	unsigned count = 0;

	mtx_lock(&batch_lock);
	for (unsigned i = 0; i < CPU_SHARDS_MAX; i++) {
		lists[list_count] = take(&shards[i]);
		if (lists[list_count] != NULL)
			list_count++;
	}
	if (list_count != 0)
		rcu_wait();
	for (unsigned i = 0; i < list_count; i++) {
		struct rcu_node *node = lists[i];

		while (node != NULL) {
			struct rcu_node *next = node->next;

			node->fn(node);
			node = next;
			count++;
		}
	}
	mtx_unlock(&batch_lock);
	return count;
}

static bool anything_queued(void)
{
	for (unsigned i = 0; i < CPU_SHARDS_MAX; i++) {
		if (atomic_load(&shards[i].head) != NULL)
			return true;
	}
	return false;
}

/* Sequentially consistent on both sides: either the reclaimer sees what was
 * pushed after it said ASLEEP, or the pusher sees ASLEEP. */
static void sleep_until_pushed(void)
{
	atomic_store(&state, ASLEEP);
	if (!anything_queued())
		(void)futex_wait(&state, ASLEEP, FUTEX_FOREVER);
	atomic_store(&state, AWAKE);
}

static void *reclaim(void *arg)
{
	unsigned idle = 0;

	for (;;) {
		unsigned count = run_batch();

		idle = count != 0 ? 0 : idle + 1;
		if (idle >= IDLE_NAPS)
			sleep_until_pushed();
		else if (count < BATCH_LARGE)
			(void)futex_wait(&state, AWAKE, NAP_NS);
	}
	return arg;
}

/* If there is no thread to be had, the next push tries again, and rcu_drain()
 * does without. */
static void reclaimer_start(void)
{
	uint32_t seen = NONE;
	pthread_t thread;

	if (!atomic_compare_exchange_strong(&state, &seen, AWAKE))
		return;
	if (thread_start(&thread, reclaim, NULL) == 0)
		(void)pthread_detach(thread);
	else
		atomic_store(&state, NONE);
}

static void reclaimer_wake(void)
{
	uint32_t seen = ASLEEP;

	if (atomic_compare_exchange_strong(&state, &seen, AWAKE))
		futex_wake(&state, 1);
}

static void push(struct shard *s, struct rcu_node *node)
{
	node->next = atomic_load_explicit(&s->head, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&s->head, &node->next, node))
		;
}

void rcu_free(struct rcu_node *node, void (*fn)(struct rcu_node *node))
{
	node->fn = fn;
	push(&shards[cpu_shard(CPU_SHARDS_MAX)], node);

	uint32_t seen = atomic_load(&state);

	if (UNLIKELY(seen == NONE))
		reclaimer_start();
	else if (UNLIKELY(seen == ASLEEP))
		reclaimer_wake();
}

void rcu_drain(void)
{
	(void)run_batch();
}
