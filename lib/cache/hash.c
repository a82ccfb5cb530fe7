/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hash.c - from a block number to its buffer.
 *
 * A fixed array of chains, about one bucket for each buffer there can be.
 * Readers follow a chain inside a read section and store nothing.  Writers
 * take the bucket's lock; locks stand apart from the heads and each on its
 * own line, so that a lookup shares a line with writers only where they
 * change a head beside its own.
 */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/cpu.h"
#include "cache/cache_int.h"
#include "sync/rcu.h"

enum { LOCKS_PER_CPU = 64, LOCKS_MAX = 4096 };

static struct lock_class hash_class = {.name = "cache.hash", .rank = RANK_HASH};

static uint64_t power_of_two(uint64_t at_least)
{
	uint64_t n = 1;

	while (n < at_least)
		n <<= 1;
	return n;
}

int hash_init(struct hash *h, uint64_t entries)
{
	uint64_t buckets = power_of_two(entries);
	uint64_t locks = power_of_two((uint64_t)cpu_count() * LOCKS_PER_CPU);

	if (locks > LOCKS_MAX)
		locks = LOCKS_MAX;
	if (locks > buckets)
		locks = buckets;
	h->heads = calloc(buckets, sizeof(*h->heads));
	h->locks = cache_lines_alloc(locks * sizeof(*h->locks));
	if (h->heads == NULL || h->locks == NULL) {
		free(h->locks);
		free(h->heads);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < locks; i++)
		mtx_init(&h->locks[i].mtx, &hash_class);
	h->mask = buckets - 1;
	h->lock_mask = locks - 1;
	return 0;
}

void hash_fini(struct hash *h)
{
	for (uint64_t i = 0; i <= h->lock_mask; i++)
		mtx_fini(&h->locks[i].mtx);
	free(h->locks);
	free(h->heads);
}

/* Structs that own files are aligned, so the low bits of their addresses say
 * nothing; the device's blocks hash as they are. */
static uint64_t bucket_of(const struct hash *h, struct buf_key key)
{
	uint64_t owner = (uint64_t)(uintptr_t)key.owner / LINE_BYTES;

	return hash_u64(key.block ^ owner << 32 ^ owner >> 32) & h->mask;
}

struct mtx *hash_mtx(const struct hash *h, struct buf_key key)
{
	return &h->locks[bucket_of(h, key) & h->lock_mask].mtx;
}

struct buf *hash_find(const struct hash *h, struct buf_key key)
{
	struct buf *b = RCU_DEREF(h->heads[bucket_of(h, key)]);

	while (b != NULL && (b->block != key.block || b->owner != key.owner))
		b = RCU_DEREF(b->hash_next);
	return b;
}

void hash_insert(struct hash *h, struct buf *b)
{
	_Atomic(struct buf *) *head = &h->heads[bucket_of(h, buf_key_of(b))];

	atomic_store_explicit(&b->hash_next,
		atomic_load_explicit(head, memory_order_relaxed),
		memory_order_relaxed);
	RCU_ASSIGN(*head, b);
}

/* @b keeps its hash_next: readers that stand on it find their way on. */
void hash_remove(struct hash *h, struct buf *b)
{
	_Atomic(struct buf *) *link = &h->heads[bucket_of(h, buf_key_of(b))];
	struct buf *at = atomic_load_explicit(link, memory_order_relaxed);

	while (at != b) {
		ASSERT(at != NULL);
		link = &at->hash_next;
		at = atomic_load_explicit(link, memory_order_relaxed);
	}
	RCU_ASSIGN(*link,
		atomic_load_explicit(&b->hash_next, memory_order_relaxed));
}
