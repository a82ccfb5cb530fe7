/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ref.h - reference counts, and how to find an object that may be dying.
 *
 * Whoever holds a reference may take more.  Whoever found the object without
 * one, under RCU or a lock, takes its first by ref_get_unless_zero(): a count
 * that has reached zero stays zero, so the object is released once.
 */
#ifndef SYNC_REF_H
#define SYNC_REF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/cc.h"

struct ref {
	_Atomic uint32_t count;
};

static inline void ref_init(struct ref *r, uint32_t count)
{
	atomic_init(&r->count, count);
}

/* For statistics and assertions: true at some moment of the call. */
static inline uint32_t ref_read(const struct ref *r)
{
	return atomic_load_explicit(&r->count, memory_order_relaxed);
}

/* One more; the caller has one. */
static inline void ref_get(struct ref *r)
{
	uint32_t was =
		atomic_fetch_add_explicit(&r->count, 1, memory_order_relaxed);

	ASSERT(was != 0 && was != UINT32_MAX);
	(void)was;
}

/* A first one, unless the last is gone.  What the caller reads afterwards is
 * ordered by how it found the object, not by this. */
MUST_USE static inline bool ref_get_unless_zero(struct ref *r)
{
	uint32_t seen = ref_read(r);

	do {
		if (seen == 0)
			return false;
		ASSERT(seen != UINT32_MAX);
	} while (!atomic_compare_exchange_weak_explicit(&r->count, &seen,
		seen + 1, memory_order_relaxed, memory_order_relaxed));
	return true;
}

/*
 * Drop one.  True: it was the last, and the caller releases the object, whose
 * earlier users' accesses have all happened before (each put's release pairs
 * with the acquire of the last).
 */
MUST_USE static inline bool ref_put(struct ref *r)
{
	uint32_t was =
		atomic_fetch_sub_explicit(&r->count, 1, memory_order_acq_rel);

	ASSERT(was != 0);
	return was == 1;
}

#endif /* SYNC_REF_H */
