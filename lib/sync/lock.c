/* SPDX-License-Identifier: BSD-2-Clause */
/* lock.c - see lock.h. */
#include "sync/lock.h"

#include "base/assert.h"
#include "sync/lock_int.h"

void mtx_init(struct mtx *m, struct lock_class *class)
{
	atomic_init(&m->word, WORD_FREE);
	atomic_init(&m->site, 0);
	m->class = class;
}

void mtx_fini(struct mtx *m)
{
	ASSERT(atomic_load_explicit(&m->word, memory_order_relaxed) ==
		WORD_FREE);
	(void)m;
}

static bool word_spin(_Atomic uint32_t *word)
{
	for (int i = 0; i < LOCK_SPINS; i++) {
		uint32_t seen =
			atomic_load_explicit(word, memory_order_relaxed);

		if (seen == WORD_FREE && word_try(word))
			return true;
		if (seen == WORD_WAITED)
			return false;
		lock_relax();
	}
	return false;
}

void word_wait(_Atomic uint32_t *word)
{
	if (word_spin(word))
		return;
	while (atomic_exchange_explicit(
		       word, WORD_WAITED, memory_order_acquire) != WORD_FREE)
		(void)futex_wait(word, WORD_WAITED, FUTEX_FOREVER);
}

static void mtx_wait(struct mtx *m, int32_t waiter)
{
	uint64_t since = lock_wait_begin(m->class);
	int32_t holder = atomic_load_explicit(&m->site, memory_order_relaxed);

	word_wait(&m->word);
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

	if (UNLIKELY(!word_try(&m->word)))
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
	if (!word_try(&m->word))
		return false;
	if (lock_watched())
		mtx_note(m, lock_site(__builtin_return_address(0)));
	return true;
}

void mtx_unlock(struct mtx *m) NO_LOCK_ANALYSIS
{
	if (lock_watched_any())
		lock_released(m->class, m);
	word_unlock(&m->word);
}

void mtx_assert_held(const struct mtx *m) NO_LOCK_ANALYSIS
{
	rank_check_held(m->class, m);
}
