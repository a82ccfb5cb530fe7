/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * index.h - a file's own way to its cached blocks.
 *
 * The cache's table knows every buffer; a read that goes by it meets a bucket
 * and a struct buf for each block, spread over memory that no processor's
 * cache can hold.  Beside it each file has a radix tree over block indices
 * whose entries are the blocks' memory itself, 64 neighbours in eight lines.
 *
 *      struct pages --> node --> node --> entry: data | marks
 *                 '--> entry: a file of one block has no node
 *
 * An entry is there exactly as long as its buffer is in the table: it comes
 * and goes under the bucket's lock.  While the buffer is being read it says
 * LOADING and cannot be read through.  Readers follow it inside read sections
 * and store nothing, but the mark SEEN when it is not set.
 *
 * Locks: `cache.index`, inside the bucket's; it is the cache's, not the
 * file's, as the file may go as soon as nothing of it is cached.
 */
#ifndef CACHE_INDEX_H
#define CACHE_INDEX_H

#include "cache/cache_int.h"
#include "cache/pages.h"
#include "sync/rcu.h"

enum {
	INDEX_BITS = 6,
	INDEX_SLOTS = 1 << INDEX_BITS,
	INDEX_LEVELS = 10, /* enough for 2^60 blocks */
};

/* Low bits of what a slot holds; none: a node, or nothing. */
enum index_mark {
	INDEX_ENTRY = 1 << 0,
	INDEX_SEEN = 1 << 1,
	INDEX_LOADING = 1 << 2,
	INDEX_MARKS = INDEX_ENTRY | INDEX_SEEN | INDEX_LOADING,
};

struct index_node {
	uint32_t shift; /* [const] of a block index; 0: a leaf */
	uint32_t count; /* [cache.index] slots in use */
	struct rcu_node rcu;
	LINE_ALIGNED _Atomic uintptr_t slot[INDEX_SLOTS]; /* [rcu] */
};

/* Does @n, at the root, reach as far as @block? */
static inline bool index_reaches(const struct index_node *n, uint64_t block)
{
	return block >> n->shift < INDEX_SLOTS;
}

static inline _Atomic uintptr_t *index_slot(
	struct index_node *n, uint64_t block)
{
	return &n->slot[block >> n->shift & (INDEX_SLOTS - 1)];
}

/*
 * Where the entry of @block is, in a read section; NULL: nowhere.  *@leaf is
 * the node that it is in with its neighbours, or NULL.
 */
static inline _Atomic uintptr_t *index_find_rcu(
	struct pages *p, uint64_t block, struct index_node **leaf)
{
	_Atomic uintptr_t *at = &p->root;
	uintptr_t found = RCU_DEREF(*at);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	struct index_node *n = (struct index_node *)found;

	*leaf = NULL;
	if (found & INDEX_ENTRY)
		return block == 0 ? at : NULL;
	if (n == NULL || !index_reaches(n, block))
		return NULL;
	for (;;) {
		at = index_slot(n, block);
		if (n->shift == 0)
			break;
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		n = (struct index_node *)RCU_DEREF(*at);
		if (n == NULL)
			return NULL;
	}
	*leaf = n;
	return at;
}

/* The memory of the block whose entry is at @at; NULL: not to be had. */
static inline const unsigned char *index_data_rcu(_Atomic uintptr_t *at)
{
	/* Pairs with the release in index_ready(). */
	uintptr_t e = RCU_DEREF(*at);

	if ((e & INDEX_ENTRY) == 0 || (e & INDEX_LOADING) != 0)
		return NULL;
	/* Not if it has changed meanwhile. */
	if ((e & INDEX_SEEN) == 0)
		(void)atomic_compare_exchange_strong_explicit(at, &e,
			e | INDEX_SEEN, memory_order_relaxed,
			memory_order_relaxed);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	return (const unsigned char *)(e & ~(uintptr_t)INDEX_MARKS);
}

MUST_USE int index_init(struct cache *c);
void index_fini(struct cache *c);

/*
 * Whenever an owned buffer enters or leaves the table, under its bucket's
 * lock.  @b->owner is the file.  -ENOMEM: it is not in the index, and may not
 * enter the table.
 */
MUST_USE int index_add(struct buf *b);
void index_remove(struct buf *b);

/* @b, pinned, has been read: it may be read through from now on. */
void index_ready(struct buf *b);

/* Was @b, under its bucket's lock, looked at?  Takes the mark away. */
bool index_take_seen(struct buf *b);

/* Does @b's entry say that it can be read through? */
bool index_knows(struct buf *b);

/* The first block from @from on that has an entry; UINT64_MAX: none has. */
uint64_t index_next(struct pages *p, uint64_t from);

#endif /* CACHE_INDEX_H */
