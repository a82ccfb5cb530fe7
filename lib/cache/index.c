/* SPDX-License-Identifier: BSD-2-Clause */
/* index.c - see index.h: how the trees grow and shrink. */
#include "cache/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"

enum { LOCKS = 64 };

static struct lock_class index_class = {
	.name = "cache.index", .rank = RANK_INDEX};

int index_init(struct cache *c)
{
	c->index_locks = cache_lines_alloc(LOCKS * sizeof(*c->index_locks));
	if (c->index_locks == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < LOCKS; i++)
		mtx_init(&c->index_locks[i].mtx, &index_class);
	return 0;
}

void index_fini(struct cache *c)
{
	for (unsigned i = 0; i < LOCKS; i++)
		mtx_fini(&c->index_locks[i].mtx);
	free(c->index_locks);
}

static struct mtx *lock_of(const struct pages *p)
{
	uint64_t hash = hash_u64((uint64_t)(uintptr_t)p);

	return &p->cache->index_locks[hash % LOCKS].mtx;
}

static uintptr_t slot_load(_Atomic uintptr_t *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}

static bool is_node(uintptr_t value)
{
	return value != 0 && (value & INDEX_ENTRY) == 0;
}

static struct index_node *node_of(uintptr_t value)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	return (struct index_node *)value;
}

/* ---- nodes -------------------------------------------------------------- */

/* A node whose first slot holds @first, if that is not 0. */
static struct index_node *node_new(uint32_t shift, uintptr_t first)
{
	struct index_node *n = cache_lines_alloc(sizeof(*n));

	if (n == NULL)
		return NULL;
	n->shift = shift;
	n->count = first != 0;
	atomic_init(&n->slot[0], first);
	return n;
}

static void node_free(struct rcu_node *rcu)
{
	free(CONTAINER_OF(rcu, struct index_node, rcu));
}

/* The slots from the root to where @block's entry is, or could be. */
struct path {
	_Atomic uintptr_t *at[INDEX_LEVELS + 1];
	struct index_node *in[INDEX_LEVELS + 1]; /* the nodes they are in */
	uint32_t depth;                          /* of the last of them */
	bool whole;                              /* that is the entry's slot */
};

static void path_find(struct path *path, struct pages *p, uint64_t block)
{
	uintptr_t value = slot_load(&p->root);

	*path = (struct path){.at = {&p->root}};
	if (!is_node(value)) {
		path->whole = block == 0;
		return;
	}
	if (!index_reaches(node_of(value), block))
		return;
	while (is_node(value)) {
		struct index_node *n = node_of(value);

		path->depth++;
		path->in[path->depth] = n;
		path->at[path->depth] = index_slot(n, block);
		value = slot_load(path->at[path->depth]);
		path->whole = n->shift == 0;
	}
}

/* Let go of nodes with nothing in them, from the end of @path upwards. */
static void path_prune(struct path *path)
{
	while (path->depth > 0 && path->in[path->depth]->count == 0) {
		struct index_node *n = path->in[path->depth--];

		atomic_store_explicit(
			path->at[path->depth], 0, memory_order_release);
		if (path->depth > 0)
			path->in[path->depth]->count--;
		rcu_free(&n->rcu, node_free);
	}
}

/* ---- growing ------------------------------------------------------------ */

/* A new node at the root: for @block, or with what was there below it. */
static int root_raise(struct pages *p, uint64_t block)
{
	uintptr_t old = slot_load(&p->root);
	uint32_t shift = 0;
	struct index_node *n;

	if (is_node(old))
		shift = node_of(old)->shift + INDEX_BITS;
	while (old == 0 && block >> shift >= INDEX_SLOTS)
		shift += INDEX_BITS;
	n = node_new(shift, old);
	if (n == NULL)
		return -ENOMEM;
	atomic_store_explicit(&p->root, (uintptr_t)n, memory_order_release);
	return 0;
}

/* Until the root's node, if it is one, reaches as far as @block. */
static int root_reach(struct pages *p, uint64_t block)
{
	int err = 0;

	while (err == 0 && block != 0) {
		uintptr_t root = slot_load(&p->root);

		if (is_node(root) && index_reaches(node_of(root), block))
			break;
		err = root_raise(p, block);
	}
	return err;
}

/* Nodes below the end of @path, down to a leaf. */
static int path_extend(struct path *path, uint64_t block)
{
	while (!path->whole) {
		struct index_node *above = path->in[path->depth];
		struct index_node *n = node_new(above->shift - INDEX_BITS, 0);

		if (n == NULL)
			return -ENOMEM;
		atomic_store_explicit(path->at[path->depth], (uintptr_t)n,
			memory_order_release);
		above->count++;
		path->depth++;
		path->in[path->depth] = n;
		path->at[path->depth] = index_slot(n, block);
		path->whole = n->shift == 0;
	}
	return 0;
}

static int add_locked(struct pages *p, uint64_t block, uintptr_t entry)
{
	struct path path;
	int err = root_reach(p, block);

	path_find(&path, p, block);
	if (err == 0)
		err = path_extend(&path, block);
	if (err != 0) {
		path_prune(&path);
		return err;
	}
	ASSERT(slot_load(path.at[path.depth]) == 0);
	atomic_store_explicit(path.at[path.depth], entry, memory_order_release);
	if (path.depth > 0)
		path.in[path.depth]->count++;
	return 0;
}

int index_add(struct buf *b)
{
	struct pages *p = b->owner;
	struct mtx *m = lock_of(p);
	int err;

	mtx_lock(m);
	err = add_locked(
		p, b->block, (uintptr_t)b->data | INDEX_ENTRY | INDEX_LOADING);
	mtx_unlock(m);
	return err;
}

/* ---- entries ------------------------------------------------------------ */

/* The slot of @b's entry, which exists. */
static _Atomic uintptr_t *entry_of(struct pages *p, const struct buf *b)
{
	struct path path;

	path_find(&path, p, b->block);
	ASSERT(path.whole);
	ASSERT((slot_load(path.at[path.depth]) & ~(uintptr_t)INDEX_MARKS) ==
		(uintptr_t)b->data);
	return path.at[path.depth];
}

void index_ready(struct buf *b)
{
	struct pages *p = b->owner;
	struct mtx *m = lock_of(p);

	mtx_lock(m);
	/* Pairs with the acquire in index_data_rcu(): contents come first. */
	atomic_store_explicit(entry_of(p, b), (uintptr_t)b->data | INDEX_ENTRY,
		memory_order_release);
	mtx_unlock(m);
}

bool index_take_seen(struct buf *b)
{
	struct pages *p = b->owner;
	struct mtx *m = lock_of(p);
	uintptr_t old;

	mtx_lock(m);
	old = atomic_fetch_and_explicit(
		entry_of(p, b), ~(uintptr_t)INDEX_SEEN, memory_order_relaxed);
	mtx_unlock(m);
	return old & INDEX_SEEN;
}

bool index_knows(struct buf *b)
{
	struct pages *p = b->owner;
	struct mtx *m = lock_of(p);
	uintptr_t entry;

	mtx_lock(m);
	entry = slot_load(entry_of(p, b));
	mtx_unlock(m);
	return entry != 0 && (entry & INDEX_LOADING) == 0;
}

void index_remove(struct buf *b)
{
	struct pages *p = b->owner;
	struct mtx *m = lock_of(p);
	struct path path;

	mtx_lock(m);
	path_find(&path, p, b->block);
	ASSERT(path.whole && slot_load(path.at[path.depth]) != 0);
	atomic_store_explicit(path.at[path.depth], 0, memory_order_release);
	if (path.depth > 0)
		path.in[path.depth]->count--;
	path_prune(&path);
	mtx_unlock(m);
}

/* ---- looking for what there is ------------------------------------------ */

/* The first used slot of @n at or behind @block's, which becomes the first
 * block of it; false: there is none. */
static bool node_next(struct index_node *n, uint64_t *block)
{
	uint64_t span = UINT64_C(1) << n->shift;
	uint64_t i = *block >> n->shift & (INDEX_SLOTS - 1);

	while (slot_load(&n->slot[i]) == 0) {
		*block = (*block | (span - 1)) + 1;
		if (++i == INDEX_SLOTS)
			return false;
	}
	return true;
}

static uint64_t next_locked(struct pages *p, uint64_t block)
{
	for (;;) {
		uintptr_t value = slot_load(&p->root);

		if (!is_node(value))
			return value != 0 && block == 0 ? 0 : UINT64_MAX;
		if (!index_reaches(node_of(value), block))
			return UINT64_MAX;
		while (is_node(value) && node_next(node_of(value), &block))
			value = slot_load(index_slot(node_of(value), block));
		if (!is_node(value))
			return block;
		/* Past the end of a node: from the root once more. */
	}
}

uint64_t index_next(struct pages *p, uint64_t from)
{
	struct mtx *m = lock_of(p);
	uint64_t block;

	mtx_lock(m);
	block = next_locked(p, from);
	mtx_unlock(m);
	return block;
}
