/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * disk.h - bitmaps as a disk has them, for the allocator's tests.
 *
 * GROUPS groups of GROUP units, the last of TAIL.  disk_fold() brings a
 * transaction's changes into the bitmaps, and fails the test when a unit is
 * taken twice or freed without being taken (A4).
 */
#ifndef TESTS_ALLOC_DISK_H
#define TESTS_ALLOC_DISK_H

#include <stdatomic.h>
#include <string.h>

#include "../cmocka_all.h"
#include "alloc/alloc.h"
#include "alloc/bits.h"

enum { GROUPS = 5, GROUP = 4096, TAIL = 1000 };

struct disk {
	struct alloc *a;
	uint64_t used[GROUPS][GROUP / WORD_BITS];
	uint32_t free[GROUPS];
	int load_error; /* of group load_error_at */
	uint32_t load_error_at;
	_Atomic unsigned loads;
	jnl_tid tid; /* running */
};

static inline uint32_t disk_group_size(uint32_t group)
{
	return group == GROUPS - 1 ? TAIL : GROUP;
}

static inline uint64_t disk_units(void)
{
	return (uint64_t)(GROUPS - 1) * GROUP + TAIL;
}

static inline int disk_load(void *arg, uint32_t group, uint64_t *used)
{
	struct disk *d = arg;

	atomic_fetch_add(&d->loads, 1);
	if (d->load_error != 0 && d->load_error_at == group)
		return d->load_error;
	memcpy(used, d->used[group], sizeof(d->used[group]));
	return 0;
}

static const struct alloc_client disk_client = {.load = disk_load};

/* An allocator over @d, whose bitmaps and free counts are set already. */
static inline void disk_open(struct disk *d, enum alloc_mode mode)
{
	struct alloc_opts opts = {
		.name = "block",
		.count = disk_units(),
		.group_units = GROUP,
		.group_free = d->free,
		.mode = mode,
		.client = &disk_client,
		.client_arg = d,
	};

	d->tid = 7;
	assert_int_equal(alloc_open(&opts, &d->a), 0);
}

/* An empty disk. */
static inline void disk_init(struct disk *d, enum alloc_mode mode)
{
	*d = (struct disk){0};
	for (uint32_t i = 0; i < GROUPS; i++)
		d->free[i] = disk_group_size(i);
	disk_open(d, mode);
}

static inline int disk_change(void *arg, const struct alloc_change *change)
{
	struct disk *d = arg;

	for (uint32_t i = 0; i < change->count; i++) {
		uint32_t at = change->start + i;
		uint64_t bit = UINT64_C(1) << at % WORD_BITS;
		uint64_t *word = &d->used[change->group][at / WORD_BITS];

		assert_true(at < disk_group_size(change->group));
		assert_int_equal(!(*word & bit), change->take);
		*word ^= bit;
	}
	return 0;
}

static inline void disk_fold(struct disk *d)
{
	assert_int_equal(alloc_fold(d->a, d->tid, disk_change, d), 0);
}

/* Commit what is running, and begin anew. */
static inline void disk_commit(struct disk *d)
{
	assert_true(alloc_check(d->a));
	disk_fold(d);
	alloc_release(d->a, d->tid);
	assert_true(alloc_check(d->a));
	d->tid++;
}

static inline uint32_t disk_used(const struct disk *d)
{
	uint32_t sum = 0;

	for (uint32_t g = 0; g < GROUPS; g++)
		for (uint32_t i = 0; i < GROUP / WORD_BITS; i++)
			sum += (uint32_t)__builtin_popcountll(d->used[g][i]);
	return sum;
}

static inline void disk_fini(struct disk *d)
{
	assert_true(alloc_check(d->a));
	alloc_close(d->a);
}

#endif /* TESTS_ALLOC_DISK_H */
