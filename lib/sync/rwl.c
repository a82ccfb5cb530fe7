/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rwl.c - see rwl.h.
 *
 * The word:  readers * 4 | QUEUED | WRITER.
 *
 * Without QUEUED the word is all there is, and changes by one atomic.  With
 * QUEUED, unlocking goes through the queue.  QUEUED is set and cleared under
 * queue_lock, and set before its owner looks a last time whether the lock is
 * free: either it is, or whoever holds it sees QUEUED when it unlocks.
 *
 * Readers are always handed the lock.  A writer is woken and tries again, so
 * that a running thread may take a lock that would idle meanwhile; it asks
 * for a handoff once it has waited too long (R3).
 */
#include "sync/rwl.h"

#include "base/assert.h"
#include "sync/lock_int.h"

enum { WRITER = 1, QUEUED = 2, READER = 4 };

enum { HANDOFF_NS = 1000000 };

/* What a waiter's word says: nothing yet, look again, or it is yours. */
enum { ASLEEP, WOKEN, GRANTED };

struct rwl_waiter {
	struct rwl_waiter *next;
	_Atomic uint32_t word;
};

void rwl_init(struct rwl *l, struct lock_class *class)
{
	*l = (struct rwl)RWL_INIT(class);
}

void rwl_fini(struct rwl *l)
{
	ASSERT(atomic_load_explicit(&l->word, memory_order_relaxed) == 0);
	(void)l;
}

/* ---- the queue ----------------------------------------------------------- */

static void queue_lock(struct rwl *l)
{
	if (!word_try(&l->queue_lock))
		word_wait(&l->queue_lock);
}

static void queue_unlock(struct rwl *l)
{
	word_unlock(&l->queue_lock);
}

static void queue_mark_locked(struct rwl *l)
{
	atomic_fetch_or_explicit(&l->word, QUEUED, memory_order_relaxed);
}

static void queue_unmark_locked(struct rwl *l)
{
	if (l->writers == NULL && l->readers == NULL)
		atomic_fetch_and_explicit(
			&l->word, ~(uint32_t)QUEUED, memory_order_relaxed);
}

/* Pairs with the acquire in waiter_sleep(): the waiter sees what the holder
 * that hands over did.  @w may be gone as soon as its word is set; a futex
 * call on a stale address wakes nobody, or somebody who looks again. */
static void waiter_tell(struct rwl_waiter *w, uint32_t what)
{
	_Atomic uint32_t *word = &w->word;

	atomic_store_explicit(word, what, memory_order_release);
	futex_wake(word, 1);
}

static void waiter_sleep(struct rwl_waiter *w)
{
	while (atomic_load_explicit(&w->word, memory_order_acquire) == ASLEEP)
		(void)futex_wait(&w->word, ASLEEP, FUTEX_FOREVER);
}

/*
 * The caller is the writer, and hands the lock to all readers that wait.  One
 * step of the word, so that the last of them to leave sees no writer.  Release
 * is for those who take the word without the queue.
 */
static void readers_grant_locked(struct rwl *l)
{
	struct rwl_waiter *list = l->readers;
	uint32_t count = 0;

	for (struct rwl_waiter *w = list; w != NULL; w = w->next)
		count++;
	l->readers = NULL;
	queue_unmark_locked(l);
	atomic_fetch_add_explicit(
		&l->word, count * READER - WRITER, memory_order_release);
	while (list != NULL) {
		struct rwl_waiter *w = list;

		list = w->next; /* before @w leaves its stack frame */
		waiter_tell(w, GRANTED);
	}
}

static void writer_dequeue_locked(struct rwl *l, const struct rwl_waiter *w)
{
	ASSERT(l->writers == w);
	l->writers = w->next;
	if (l->writers == NULL)
		l->writers_last = NULL;
	l->handoff = false;
	queue_unmark_locked(l);
}

/* ---- taking --------------------------------------------------------------- */

/* Acquire pairs with the releases of the unlocks, here and below. */
static bool word_add_reader(struct rwl *l, uint32_t unless)
{
	uint32_t seen = atomic_load_explicit(&l->word, memory_order_relaxed);

	while ((seen & unless) == 0) {
		if (atomic_compare_exchange_strong_explicit(&l->word, &seen,
			    seen + READER, memory_order_acquire,
			    memory_order_relaxed))
			return true;
	}
	return false;
}

/* Also beside QUEUED: a writer may pass those that wait (R3). */
static bool word_set_writer(struct rwl *l)
{
	uint32_t seen = atomic_load_explicit(&l->word, memory_order_relaxed);

	while ((seen & ~(uint32_t)QUEUED) == 0) {
		if (atomic_compare_exchange_weak_explicit(&l->word, &seen,
			    seen | WRITER, memory_order_acquire,
			    memory_order_relaxed))
			return true;
	}
	return false;
}

static bool rwl_spin(struct rwl *l, bool writer)
{
	for (int i = 0; i < LOCK_SPINS; i++) {
		if (writer ? word_set_writer(l)
			   : word_add_reader(l, WRITER | QUEUED))
			return true;
		lock_relax();
	}
	return false;
}

static void rwl_queue_reader(struct rwl *l)
{
	struct rwl_waiter self = {.word = ASLEEP};

	queue_lock(l);
	queue_mark_locked(l);
	if (l->writers == NULL && word_add_reader(l, WRITER)) {
		queue_unmark_locked(l);
		queue_unlock(l);
		return;
	}
	self.next = l->readers;
	l->readers = &self;
	queue_unlock(l);
	waiter_sleep(&self);
}

static void writer_enqueue_locked(struct rwl *l, struct rwl_waiter *w)
{
	if (l->writers_last != NULL)
		l->writers_last->next = w;
	else
		l->writers = w;
	l->writers_last = w;
}

static void rwl_queue_writer(struct rwl *l)
{
	struct rwl_waiter self = {.word = ASLEEP};
	uint64_t late = lock_clock_ns() + HANDOFF_NS;

	queue_lock(l);
	queue_mark_locked(l);
	writer_enqueue_locked(l, &self);
	while (l->writers != &self || !word_set_writer(l)) {
		if (l->writers == &self && lock_clock_ns() > late)
			l->handoff = true;
		atomic_store_explicit(&self.word, ASLEEP, memory_order_relaxed);
		queue_unlock(l);
		waiter_sleep(&self);
		queue_lock(l);
		/* Perhaps handed over after it was woken. */
		if (atomic_load_explicit(&self.word, memory_order_relaxed) ==
			GRANTED)
			goto out_unlock;
	}
	writer_dequeue_locked(l, &self);
out_unlock:
	queue_unlock(l);
}

/* ---- giving up ------------------------------------------------------------ */

/* Let the first writer know that the lock is free, once. */
static void writer_wake_locked(struct rwl *l)
{
	struct rwl_waiter *w = l->writers;

	if (atomic_load_explicit(&w->word, memory_order_relaxed) == ASLEEP)
		waiter_tell(w, WOKEN);
}

/* The writer unlocks, and somebody may be queued: readers first (R2). */
static void rwl_pass_writer(struct rwl *l)
{
	struct rwl_waiter *w;

	queue_lock(l);
	w = l->writers;
	if (l->readers != NULL) {
		readers_grant_locked(l);
	} else if (w != NULL && l->handoff) {
		writer_dequeue_locked(l, w);
		waiter_tell(w, GRANTED);
	} else {
		atomic_fetch_and_explicit(
			&l->word, ~(uint32_t)WRITER, memory_order_release);
		if (w != NULL)
			writer_wake_locked(l);
	}
	queue_unlock(l);
}

/* The last reader of a queued lock has left: a writer is next (R1).  Readers
 * without a writer before them wait for a writer that holds the lock. */
static void rwl_pass_reader(struct rwl *l)
{
	struct rwl_waiter *w;

	queue_lock(l);
	w = l->writers;
	if (w != NULL && l->handoff && word_set_writer(l)) {
		writer_dequeue_locked(l, w);
		waiter_tell(w, GRANTED);
	} else if (w != NULL) {
		writer_wake_locked(l);
	}
	queue_unlock(l);
}

/* ---- the calls ------------------------------------------------------------ */

static void rwl_wait(struct rwl *l, bool writer, int32_t waiter)
{
	uint64_t since = lock_wait_begin(l->class);
	int32_t holder = atomic_load_explicit(&l->site, memory_order_relaxed);

	if (!rwl_spin(l, writer)) {
		if (writer)
			rwl_queue_writer(l);
		else
			rwl_queue_reader(l);
	}
	if (since != 0)
		lock_wait_end(l->class, since, waiter, holder);
}

/* The site is that of writers: whom a reader waits for, and mostly whom a
 * writer does. */
static void rwl_note_writer(struct rwl *l, int32_t site)
{
	if (lock_profiling())
		atomic_store_explicit(&l->site, site, memory_order_relaxed);
	lock_taken(l->class, l);
}

static inline void rwl_write_lock_at(struct rwl *l, const void *from)
{
	int32_t site = lock_site(from);

	if (UNLIKELY(!word_set_writer(l)))
		rwl_wait(l, true, site);
	if (lock_watched())
		rwl_note_writer(l, site);
}

void rwl_read_lock(struct rwl *l) NO_LOCK_ANALYSIS
{
	rank_check(l->class, l, NULL);
	if (UNLIKELY(!word_add_reader(l, WRITER | QUEUED)))
		rwl_wait(l, false, lock_site(__builtin_return_address(0)));
	if (lock_watched())
		lock_taken(l->class, l);
}

void rwl_read_unlock(struct rwl *l) NO_LOCK_ANALYSIS
{
	uint32_t was;

	if (lock_watched_any())
		lock_released(l->class, l);
	was = atomic_fetch_sub_explicit(&l->word, READER, memory_order_release);
	ASSERT(was >= READER);
	if (UNLIKELY(was == (READER | QUEUED)))
		rwl_pass_reader(l);
}

void rwl_write_lock(struct rwl *l) NO_LOCK_ANALYSIS
{
	rank_check(l->class, l, NULL);
	rwl_write_lock_at(l, __builtin_return_address(0));
}

void rwl_write_lock_tie(struct rwl *l, const struct rwl *held) NO_LOCK_ANALYSIS
{
	rank_check(l->class, l, held);
	rwl_write_lock_at(l, __builtin_return_address(0));
}

void rwl_write_unlock(struct rwl *l) NO_LOCK_ANALYSIS
{
	uint32_t seen = WRITER;

	if (lock_watched_any())
		lock_released(l->class, l);
	if (LIKELY(atomic_compare_exchange_strong_explicit(&l->word, &seen, 0,
		    memory_order_release, memory_order_relaxed)))
		return;
	ASSERT(seen == (WRITER | QUEUED));
	rwl_pass_writer(l);
}

bool rwl_read_try(struct rwl *l) NO_LOCK_ANALYSIS
{
	if (!word_add_reader(l, WRITER | QUEUED))
		return false;
	if (lock_watched())
		lock_taken(l->class, l);
	return true;
}

bool rwl_write_try(struct rwl *l) NO_LOCK_ANALYSIS
{
	if (!word_set_writer(l))
		return false;
	if (lock_watched())
		rwl_note_writer(l, lock_site(__builtin_return_address(0)));
	return true;
}

void rwl_assert_held(const struct rwl *l) NO_LOCK_ANALYSIS
{
	rank_check_held(l->class, l);
}

void rwl_assert_write(const struct rwl *l) NO_LOCK_ANALYSIS
{
	rank_check_held(l->class, l);
	ASSERT((atomic_load_explicit(&l->word, memory_order_relaxed) &
		       WRITER) != 0);
}
