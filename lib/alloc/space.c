/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.c - promises of space, by leases.
 *
 * What is left lies in a common pool and in one lease for each CPU.  A promise
 * is taken from this CPU's lease; a lease that is too small is filled from the
 * pool, less and less as the pool runs low.  When the pool cannot, all leases
 * are recalled into it.  Units move between pool and leases under a lock, so
 * that the answer -ENOSPC is true.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/alloc.h"
#include "base/cpu.h"
#include "sync/lock.h"

enum {
	LEASE_MOST = 1024, /* units that wait on one CPU */
	LEASE_PART = 4,    /* at most this part of an even share */
};

struct LINE_ALIGNED space_lease {
	_Atomic uint64_t left;
};

struct alloc_space {
	uint32_t count;            /* [const] leases */
	struct space_lease *lease; /* [const] array */
	LINE_ALIGNED _Atomic uint64_t pool;
	struct mtx move_lock;
};

static struct lock_class class_move = {
	.name = "alloc.move", .rank = RANK_CACHE};

int alloc_space_open(uint64_t free_units, struct alloc_space **out)
{
	struct alloc_space *s = aligned_alloc(LINE_BYTES, sizeof(*s));
	size_t bytes = cpu_count() * sizeof(struct space_lease);

	if (s == NULL)
		return -ENOMEM;
	s->count = cpu_count();
	s->lease = aligned_alloc(LINE_BYTES, bytes);
	if (s->lease == NULL) {
		free(s);
		return -ENOMEM;
	}
	memset(s->lease, 0, bytes);
	atomic_init(&s->pool, free_units);
	mtx_init(&s->move_lock, &class_move);
	*out = s;
	return 0;
}

void alloc_space_close(struct alloc_space *s)
{
	mtx_fini(&s->move_lock);
	free(s->lease);
	free(s);
}

/* Take @count from @from, all or nothing. */
static bool take_from(_Atomic uint64_t *from, uint64_t count)
{
	uint64_t left = atomic_load_explicit(from, memory_order_relaxed);

	while (left >= count)
		if (atomic_compare_exchange_weak(from, &left, left - count))
			return true;
	return false;
}

/* What a lease may hold while @pool is left. */
static uint64_t lease_size(const struct alloc_space *s, uint64_t pool)
{
	uint64_t share = pool / s->count / LEASE_PART;

	return share < LEASE_MOST ? share : LEASE_MOST;
}

/* From the pool, with a new lease if there is enough. */
static bool reserve_from_pool_locked(struct alloc_space *s, uint64_t count)
{
	uint64_t lease = lease_size(s, atomic_load(&s->pool));

	if (lease != 0 && take_from(&s->pool, count + lease)) {
		atomic_fetch_add(&s->lease[cpu_shard(s->count)].left, lease);
		return true;
	}
	return take_from(&s->pool, count);
}

static void move_locked(struct alloc_space *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		atomic_fetch_add(
			&s->pool, atomic_exchange(&s->lease[i].left, 0));
}

int alloc_space_reserve(struct alloc_space *s, uint64_t count)
{
	bool enough;

	if (take_from(&s->lease[cpu_shard(s->count)].left, count))
		return 0;
	/* Nothing is under way between pool and leases while this is held. */
	mtx_lock(&s->move_lock);
	enough = reserve_from_pool_locked(s, count);
	if (!enough) {
		move_locked(s);
		enough = take_from(&s->pool, count);
	}
	mtx_unlock(&s->move_lock);
	return enough ? 0 : -ENOSPC;
}

void alloc_space_return(struct alloc_space *s, uint64_t count)
{
	_Atomic uint64_t *lease = &s->lease[cpu_shard(s->count)].left;
	uint64_t most = lease_size(s, atomic_load(&s->pool));
	uint64_t now = atomic_fetch_add(lease, count) + count;

	if (now <= 2 * most)
		return;
	/* What is too much for a lease goes to all. */
	mtx_lock(&s->move_lock);
	if (take_from(lease, now - most))
		atomic_fetch_add(&s->pool, now - most);
	mtx_unlock(&s->move_lock);
}

uint64_t alloc_space_left(struct alloc_space *s)
{
	uint64_t left = atomic_load(&s->pool);

	for (uint32_t i = 0; i < s->count; i++)
		left += atomic_load(&s->lease[i].left);
	return left;
}
