/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * seq.h - sequence counts: readers store nothing, and look twice.
 *
 * A writer, who holds a lock that excludes other writers, makes the count odd,
 * changes fields, and makes it even again.  A reader copies the fields and
 * throws the copy away if the count was odd or has changed.
 *
 *      start = seq_read_begin(&d->seq);        seq_write_begin(&d->seq);
 *      name = SEQ_LOAD(d->name);               SEQ_STORE(d->name, ...);
 *      dir = SEQ_LOAD(d->dir);                 SEQ_STORE(d->dir, ...);
 *      if (seq_read_retry(&d->seq, start))     seq_write_end(&d->seq);
 *              again;
 *
 * Order, without fences (which ThreadSanitizer cannot follow):
 *   - SEQ_LOAD acquires what SEQ_STORE releases.  A reader that saw a new
 *     field therefore sees the odd count, or a later one, when it looks again.
 *   - seq_read_begin() acquires what seq_write_end() releases.  A reader that
 *     starts from a count sees all fields of the sections before it.
 * Both are plain moves on x86.  Fields are C11 atomics, and only changed
 * inside write sections once readers can find them.
 *
 * What a reader may do with its copy before it has looked twice: nothing that
 * trusts it.  A pointer in it may be followed only if its target is kept alive
 * by other means (RCU).
 *
 * A count wraps after 2^31 write sections; a read section that sleeps through
 * exactly that many is not detected.
 */
#ifndef SYNC_SEQ_H
#define SYNC_SEQ_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/cc.h"

struct seq {
	_Atomic uint32_t count; /* odd inside a write section */
};

#define SEQ_LOAD(f)     atomic_load_explicit(&(f), memory_order_acquire)
#define SEQ_STORE(f, v) atomic_store_explicit(&(f), (v), memory_order_release)

static inline void seq_init(struct seq *s)
{
	atomic_init(&s->count, 0);
}

/* For readers that have another way: the count, perhaps odd, and then
 * seq_read_retry() will say true. */
static inline uint32_t seq_read_peek(const struct seq *s)
{
	/* Pairs with the release in seq_write_end(). */
	return atomic_load_explicit(&s->count, memory_order_acquire);
}

/* For readers that have not: waits until no write section is open. */
static inline uint32_t seq_read_begin(const struct seq *s)
{
	uint32_t start = seq_read_peek(s);

	for (; UNLIKELY((start & 1) != 0); start = seq_read_peek(s))
		(void)sched_yield();
	return start;
}

/* Must the copy be thrown away? */
static inline bool seq_read_retry(const struct seq *s, uint32_t start)
{
	/* Stays behind the SEQ_LOADs, which acquire. */
	uint32_t now = atomic_load_explicit(&s->count, memory_order_relaxed);

	return UNLIKELY((start & 1) != 0 || now != start);
}

/* The caller holds the lock of the writers. */
static inline void seq_write_begin(struct seq *s)
{
	uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

	ASSERT((count & 1) == 0);
	/* Stays before the SEQ_STOREs, which release. */
	atomic_store_explicit(&s->count, count + 1, memory_order_relaxed);
}

static inline void seq_write_end(struct seq *s)
{
	uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

	ASSERT((count & 1) == 1);
	/* Pairs with the acquire in seq_read_peek(). */
	atomic_store_explicit(&s->count, count + 1, memory_order_release);
}

#endif /* SYNC_SEQ_H */
