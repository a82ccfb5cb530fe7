/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock_int.h - what all ranked locks share: the check of the order, the list
 * of what a thread holds, and statistics.
 *
 * A lock calls, in this order:
 *
 *   rank_check()        before it may wait            (debug)
 *   lock_wait_begin()   when it has to wait
 *   lock_wait_end()     when it has waited
 *   lock_taken()        when it is held, if lock_watched()
 *   lock_released()     before it is free, if lock_watched_any()
 */
#ifndef SYNC_LOCK_INT_H
#define SYNC_LOCK_INT_H

#include "sync/futex.h"
#include "sync/lock.h"

#ifdef EXTANT_DEBUG
enum { RANKS_CHECKED = 1 };

/* Read sections take high ranks only; nobody waits for a grace period inside
 * one, or with a lock that one may wait for, or inside an operation. */
void rank_rcu_begin(void);
void rank_rcu_end(void);
void rank_rcu_wait(void);

/* Abort unless the thread may now wait for @what, beside @tie if given. */
void rank_check(
	const struct lock_class *class, const void *what, const void *tie);

/* Abort unless the thread holds @what. */
void rank_check_held(const struct lock_class *class, const void *what);
#else
enum { RANKS_CHECKED = 0 };

static inline void rank_rcu_begin(void)
{
}

static inline void rank_rcu_end(void)
{
}

static inline void rank_rcu_wait(void)
{
}

static inline void rank_check(
	const struct lock_class *class, const void *what, const void *tie)
{
	(void)class;
	(void)what;
	(void)tie;
}

static inline void rank_check_held(
	const struct lock_class *class, const void *what)
{
	(void)class;
	(void)what;
}
#endif

/* Alone on its line: every lock reads it. */
struct lock_switch {
	LINE_ALIGNED _Atomic bool profiling;
};

extern struct lock_switch lock_switch;

/* How many entries this thread has on its list of held locks. */
extern _Thread_local unsigned lock_held_count
	__attribute__((tls_model("initial-exec")));

static inline bool lock_profiling(void)
{
	return UNLIKELY(atomic_load_explicit(
		&lock_switch.profiling, memory_order_relaxed));
}

/* Must an acquisition be noted? */
static inline bool lock_watched(void)
{
	return RANKS_CHECKED || lock_profiling();
}

/* Must a release be?  True whenever its acquisition was. */
static inline bool lock_watched_any(void)
{
	return RANKS_CHECKED || UNLIKELY(lock_held_count != 0);
}

/* @what is held now. */
void lock_taken(struct lock_class *class, const void *what);
void lock_released(struct lock_class *class, const void *what);

/* A call site as a distance that fits beside a lock's word; never 0. */
int32_t lock_site(const void *return_address);

/* Count contention.  The time, or 0 when nobody profiles. */
uint64_t lock_wait_begin(struct lock_class *class);
void lock_wait_end(struct lock_class *class, uint64_t since_ns, int32_t waiter,
	int32_t holder);

/* ---- lock_stats.c, for rank.c ------------------------------------------ */

uint64_t lock_clock_ns(void);
void lock_count_taken(struct lock_class *class);
void lock_count_held(struct lock_class *class, uint64_t ns);

/* Let the other hardware thread work. */
static inline void lock_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

/* How often a waiter looks again before it sleeps: about a microsecond. */
enum { LOCK_SPINS = 40 };

/* ---- the word of a mutex, without class or rank -------------------------- */

/*
 * The word says whether an unlock must wake somebody: whoever has waited takes
 * the lock as WORD_WAITED, because others may sleep still; a needless wake-up
 * is the price, paid by contended locks only.
 */
enum { WORD_FREE, WORD_HELD, WORD_WAITED };

/* Acquire pairs with the release in word_unlock(), here and in word_wait(). */
static inline bool word_try(_Atomic uint32_t *word)
{
	uint32_t seen = WORD_FREE;

	return atomic_compare_exchange_strong_explicit(word, &seen, WORD_HELD,
		memory_order_acquire, memory_order_relaxed);
}

/* Take @word after word_try() has failed. */
void word_wait(_Atomic uint32_t *word);

static inline void word_unlock(_Atomic uint32_t *word)
{
	if (UNLIKELY(atomic_exchange_explicit(word, WORD_FREE,
			     memory_order_release) == WORD_WAITED))
		futex_wake(word, 1);
}

#endif /* SYNC_LOCK_INT_H */
