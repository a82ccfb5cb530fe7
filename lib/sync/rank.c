/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rank.c - the lock order, checked; see lock.h.
 *
 * Each thread lists what it holds: always in debug builds, and in others what
 * it took while profiling was on, for hold times.  The list is the thread's
 * own, so the checks store nothing shared.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "sync/lock.h"
#include "sync/lock_int.h"

enum { HELD_MAX = 64 };

struct held {
	const void *what;
	const char *name;
	enum lock_rank rank;
	uint64_t since_ns; /* 0: taken while nobody profiled */
};

_Thread_local unsigned lock_held_count;
static _Thread_local struct held held[HELD_MAX];

NORETURN PRINTF(1, 2) static void rank_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)fputs("lock order: ", stderr);
	(void)vfprintf(stderr, fmt, args);
	(void)fputc('\n', stderr);
	va_end(args);
	abort();
}

static struct held *held_find(const void *what)
{
	for (unsigned i = lock_held_count; i-- > 0;) {
		if (held[i].what == what)
			return &held[i];
	}
	return NULL;
}

/* Without room a hold time is lost, which only a profiler would miss. */
static void held_push(const void *what, const char *name, enum lock_rank rank,
	uint64_t since_ns)
{
	if (lock_held_count == HELD_MAX) {
		if (RANKS_CHECKED)
			rank_fail("more than %d held, at '%s'", HELD_MAX, name);
		return;
	}
	held[lock_held_count++] = (struct held){what, name, rank, since_ns};
}

/* When @what was taken; 0 if that was not noted. */
static uint64_t held_pop(const void *what, const char *name)
{
	struct held *h = held_find(what);

	if (h == NULL) {
		if (RANKS_CHECKED)
			rank_fail("'%s' %p is released by a thread that does "
				  "not hold it",
				name, what);
		return 0;
	}

	uint64_t since = h->since_ns;

	lock_held_count--;
	for (; h < &held[lock_held_count]; h++)
		*h = h[1];
	return since;
}

void lock_taken(struct lock_class *class, const void *what)
{
	uint64_t now = 0;

	if (lock_profiling()) {
		now = lock_clock_ns();
		lock_count_taken(class);
	}
	held_push(what, class->name, class->rank, now);
}

void lock_released(struct lock_class *class, const void *what)
{
	uint64_t since = held_pop(what, class->name);

	if (since != 0)
		lock_count_held(class, lock_clock_ns() - since);
}

#ifdef EXTANT_DEBUG

static _Thread_local unsigned rcu_depth;

void rank_rcu_begin(void)
{
	rcu_depth++;
}

void rank_rcu_end(void)
{
	if (rcu_depth == 0)
		rank_fail("a read section ends that never began");
	rcu_depth--;
}

void rank_rcu_wait(void)
{
	if (rcu_depth != 0)
		rank_fail("a read section waits for itself");
	rank_assert_below(RANK_JNL_OP);
}

static void rank_check_order(const char *name, enum lock_rank rank)
{
	if (rcu_depth != 0 && rank < RANK_BUF)
		rank_fail("'%s' (rank %d) inside a read section", name, rank);
	for (unsigned i = 0; i < lock_held_count; i++) {
		if (held[i].rank >= rank)
			rank_fail("'%s' (rank %d) while holding '%s' (rank %d)",
				name, rank, held[i].name, held[i].rank);
	}
}

/* Files and buffers go by address; directories by depth, which only their
 * owner knows. */
static bool rank_by_address(enum lock_rank rank)
{
	return rank == RANK_FILE || rank == RANK_BUF;
}

static void rank_check_tie(
	const struct lock_class *class, const void *what, const void *tie)
{
	const struct held *beside = held_find(tie);
	const char *name = class->name;

	if (!class->ties)
		rank_fail("'%s' knows no ties", name);
	if (beside == NULL || beside->rank != class->rank)
		rank_fail("'%s' ties with a lock that is not held beside it",
			name);
	for (unsigned i = 0; i < lock_held_count; i++) {
		const struct held *h = &held[i];

		if (h->rank > class->rank || h->what == what)
			rank_fail("'%s' (rank %d) while holding '%s' (rank %d)",
				name, class->rank, h->name, h->rank);
		if (h->rank == class->rank && rank_by_address(h->rank) &&
			(uintptr_t)h->what > (uintptr_t)what)
			rank_fail("'%s' ties with '%s' above its address", name,
				h->name);
	}
}

void rank_check(
	const struct lock_class *class, const void *what, const void *tie)
{
	if (tie != NULL)
		rank_check_tie(class, what, tie);
	else
		rank_check_order(class->name, class->rank);
}

void rank_check_held(const struct lock_class *class, const void *what)
{
	if (held_find(what) == NULL)
		rank_fail("'%s' should be held here", class->name);
}

void rank_enter(enum lock_rank rank, const void *what)
{
	rank_check_order("open operation", rank);
	held_push(what, "open operation", rank, 0);
}

void rank_leave(enum lock_rank rank, const void *what)
{
	(void)rank;
	(void)held_pop(what, "open operation");
}

void rank_assert_below(enum lock_rank rank)
{
	for (unsigned i = 0; i < lock_held_count; i++) {
		if (held[i].rank >= rank)
			rank_fail("a wait of rank %d while holding '%s' "
				  "(rank %d)",
				rank, held[i].name, held[i].rank);
	}
}

#endif /* EXTANT_DEBUG */
