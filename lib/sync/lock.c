/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock.c - see lock.h.
 *
 * The word says whether an unlock must wake somebody: whoever has waited takes
 * the lock as 2, "held and waited for", because others may sleep still; a
 * needless wake-up is the price, paid by contended locks only.
 */
#include "sync/lock.h"

#include "base/assert.h"
#include "sync/futex.h"
#include "sync/lock_int.h"

enum { FREE, HELD, WAITED };

void mtx_init(struct mtx *m, struct lock_class *class)
{
	atomic_init(&m->word, FREE);
	atomic_init(&m->site, 0);
	m->class = class;
}

void mtx_fini(struct mtx *m)
{
	ASSERT(atomic_load_explicit(&m->word, memory_order_relaxed) == FREE);
	(void)m;
}

/* Acquire pairs with the release in mtx_unlock(), here and below. */
static bool mtx_take(struct mtx *m)
{
	uint32_t seen = FREE;

	return atomic_compare_exchange_strong_explicit(&m->word, &seen, HELD,
		memory_order_acquire, memory_order_relaxed);
}

static bool mtx_spin(struct mtx *m)
{
	for (int i = 0; i < LOCK_SPINS; i++) {
		uint32_t word =
			atomic_load_explicit(&m->word, memory_order_relaxed);

		if (word == FREE && mtx_take(m))
			return true;
		if (word == WAITED)
			return false;
		lock_relax();
	}
	return false;
}

static void mtx_wait(struct mtx *m, int32_t waiter)
{
	uint64_t since = lock_wait_begin(m->class);
	int32_t holder = atomic_load_explicit(&m->site, memory_order_relaxed);

	if (!mtx_spin(m)) {
		while (atomic_exchange_explicit(
			       &m->word, WAITED, memory_order_acquire) != FREE)
			(void)futex_wait(&m->word, WAITED, FUTEX_FOREVER);
	}
	if (since != 0)
		lock_wait_end(m->class, since, waiter, holder);
}

static void mtx_note(struct mtx *m, int32_t site)
{
	if (lock_profiling())
		atomic_store_explicit(&m->site, site, memory_order_relaxed);
	lock_taken(m->class, m);
}

static inline void mtx_lock_at(struct mtx *m, const void *from)
{
	int32_t site = lock_site(from);

	if (UNLIKELY(!mtx_take(m)))
		mtx_wait(m, site);
	if (lock_watched())
		mtx_note(m, site);
}

void mtx_lock(struct mtx *m) NO_LOCK_ANALYSIS
{
	rank_check(m->class, m, NULL);
	mtx_lock_at(m, __builtin_return_address(0));
}

void mtx_lock_tie(struct mtx *m, const struct mtx *held) NO_LOCK_ANALYSIS
{
	rank_check(m->class, m, held);
	mtx_lock_at(m, __builtin_return_address(0));
}

bool mtx_trylock(struct mtx *m) NO_LOCK_ANALYSIS
{
	if (!mtx_take(m))
		return false;
	if (lock_watched())
		mtx_note(m, lock_site(__builtin_return_address(0)));
	return true;
}

void mtx_unlock(struct mtx *m) NO_LOCK_ANALYSIS
{
	if (lock_watched_any())
		lock_released(m->class, m);
	if (atomic_exchange_explicit(&m->word, FREE, memory_order_release) ==
		WAITED)
		futex_wake(&m->word, 1);
}

void mtx_assert_held(const struct mtx *m) NO_LOCK_ANALYSIS
{
	rank_check_held(m->class, m);
}
