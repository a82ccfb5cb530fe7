/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_store.c - see mem_store.h.
 *
 * Slots change from NULL by compare-and-swap, so threads that meet in one
 * page or node agree on who made it.  Nodes stay until the store goes; a page
 * is freed by whoever zeroes all of it, which nobody else may then be using.
 */
#include "blk/mem_store.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAGE_SHIFT = 12,
	PAGE_BYTES = 1 << PAGE_SHIFT,
	FAN_SHIFT = 9,
	FAN = 1 << FAN_SHIFT
};

#define NO_PAGE UINT64_MAX

struct mem_node {
	_Atomic(void *) slot[FAN]; /* [atomic] nodes, or pages at level 0 */
	struct mem_node *next;     /* [const] once on the store's list */
	unsigned level;            /* [const] */
};

struct mem_store {
	struct mem_store *parent; /* [const] */
	uint64_t bytes;           /* [const] */
	unsigned top;             /* [const] level of the root */
	_Atomic uint32_t refs;
	_Atomic(void *) root;           /* [atomic] mem_node */
	_Atomic(struct mem_node *) all; /* [atomic] every node; only grows */
};

/* In a slot: zeroes here, whatever the parent has.  Never written. */
static uint8_t zero_page[PAGE_BYTES];

/* ---- the tree ---------------------------------------------------------- */

static _Atomic(void *) *node_slot(struct mem_node *node, uint64_t page)
{
	return &node->slot[(page >> (FAN_SHIFT * node->level)) & (FAN - 1)];
}

static struct mem_node *node_load(_Atomic(void *) *slot)
{
	/* Pairs with the release in node_make(). */
	return atomic_load_explicit(slot, memory_order_acquire);
}

static void *page_load(_Atomic(void *) *slot)
{
	/* Pairs with the release in page_make(). */
	return atomic_load_explicit(slot, memory_order_acquire);
}

static struct mem_node *node_make(
	struct mem_store *store, _Atomic(void *) *slot, unsigned level)
{
	struct mem_node *node = calloc(1, sizeof(*node));
	void *seen = NULL;

	if (node == NULL)
		return NULL;
	node->level = level;
	if (!atomic_compare_exchange_strong_explicit(slot, &seen, node,
		    memory_order_acq_rel, memory_order_acquire)) {
		free(node);
		return seen;
	}
	node->next = atomic_load_explicit(&store->all, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&store->all, &node->next,
		node, memory_order_release, memory_order_relaxed))
		;
	return node;
}

/* The slot of @page, with the nodes above it; NULL if memory is out. */
static _Atomic(void *) *slot_make(struct mem_store *store, uint64_t page)
{
	_Atomic(void *) *slot = &store->root;
	unsigned level = store->top;

	for (;;) {
		struct mem_node *node = node_load(slot);

		if (node == NULL)
			node = node_make(store, slot, level);
		if (node == NULL)
			return NULL;
		slot = node_slot(node, page);
		if (level-- == 0)
			return slot;
	}
}

/* The slot of @page if it has one; else NULL, and @*skip is the first page
 * after the hole. */
static _Atomic(void *) *slot_find(
	struct mem_store *store, uint64_t page, uint64_t *skip)
{
	_Atomic(void *) *slot = &store->root;
	unsigned level = store->top;

	for (;;) {
		struct mem_node *node = node_load(slot);
		unsigned shift = FAN_SHIFT * (level + 1);

		if (node == NULL) {
			*skip = shift >= 64 ? NO_PAGE
					    : ((page >> shift) + 1) << shift;
			return NULL;
		}
		slot = node_slot(node, page);
		if (level-- == 0)
			return slot;
	}
}

/* The first page in @page .. @end - 1 that has memory, or NO_PAGE. */
static uint64_t page_next(struct mem_store *store, uint64_t page, uint64_t end)
{
	while (page < end) {
		uint64_t skip = page + 1;
		_Atomic(void *) *slot = slot_find(store, page, &skip);

		if (slot != NULL && page_load(slot) != NULL)
			return page;
		page = skip;
	}
	return NO_PAGE;
}

/* What @page reads as; NULL for zeroes that nobody wrote. */
static const void *page_get(struct mem_store *store, uint64_t page)
{
	uint64_t skip;

	for (; store != NULL; store = store->parent) {
		_Atomic(void *) *slot = slot_find(store, page, &skip);
		void *data = slot == NULL ? NULL : page_load(slot);

		if (data != NULL)
			return data;
	}
	return NULL;
}

/* @page for writing; @whole: its old contents do not matter. */
static uint8_t *page_make(struct mem_store *store, uint64_t page, bool whole)
{
	_Atomic(void *) *slot = slot_make(store, page);
	void *seen = slot == NULL ? NULL : page_load(slot);

	if (slot == NULL || (seen != NULL && seen != zero_page))
		return seen;

	/* Whoever makes it first in this store has seen the parent's page, as
	 * we have; never copy a page that is perhaps being written already. */
	const void *old =
		whole || seen != NULL ? NULL : page_get(store->parent, page);
	void *data = old == NULL && !whole ? calloc(1, PAGE_BYTES)
					   : malloc(PAGE_BYTES);

	if (data == NULL)
		return NULL;
	if (old != NULL)
		memcpy(data, old, PAGE_BYTES);
	if (atomic_compare_exchange_strong_explicit(slot, &seen, data,
		    memory_order_acq_rel, memory_order_acquire))
		return data;
	free(data);
	return seen;
}

static void page_free(void *data)
{
	if (data != zero_page)
		free(data);
}

/* Let @page read as zeroes. */
static int page_zero(struct mem_store *store, uint64_t page)
{
	bool bare = store->parent == NULL;
	_Atomic(void *) *slot = slot_make(store, page);

	if (slot == NULL)
		return -ENOMEM;
	page_free(atomic_exchange_explicit(
		slot, bare ? NULL : zero_page, memory_order_acq_rel));
	return 0;
}

/* ---- the store --------------------------------------------------------- */

int mem_store_new(
	uint64_t bytes, struct mem_store *parent, struct mem_store **out)
{
	struct mem_store *store = calloc(1, sizeof(*store));
	uint64_t span = (uint64_t)PAGE_BYTES << FAN_SHIFT;

	if (store == NULL)
		return -ENOMEM;
	for (; span < bytes && span <= UINT64_MAX >> FAN_SHIFT;
		span <<= FAN_SHIFT)
		store->top++;
	if (span < bytes)
		store->top++;
	store->bytes = bytes;
	store->parent = parent;
	if (parent != NULL)
		mem_store_get(parent);
	atomic_init(&store->refs, 1);
	*out = store;
	return 0;
}

void mem_store_get(struct mem_store *store)
{
	(void)atomic_fetch_add_explicit(&store->refs, 1, memory_order_relaxed);
}

bool mem_store_is_mine(const struct mem_store *store)
{
	/* Pairs with the release in mem_store_put(). */
	return atomic_load_explicit(&store->refs, memory_order_acquire) == 1;
}

static void store_free(struct mem_store *store)
{
	struct mem_node *node =
		atomic_load_explicit(&store->all, memory_order_acquire);

	while (node != NULL) {
		struct mem_node *next = node->next;

		for (unsigned i = 0; node->level == 0 && i < FAN; i++)
			page_free(page_load(&node->slot[i]));
		free(node);
		node = next;
	}
	free(store);
}

void mem_store_put(struct mem_store *store)
{
	while (store != NULL) {
		struct mem_store *parent = store->parent;

		if (atomic_fetch_sub_explicit(
			    &store->refs, 1, memory_order_acq_rel) != 1)
			return;
		store_free(store);
		store = parent;
	}
}

uint64_t mem_store_bytes(const struct mem_store *store)
{
	return store->bytes;
}

static uint64_t store_pages(const struct mem_store *store)
{
	return (store->bytes + PAGE_BYTES - 1) >> PAGE_SHIFT;
}

int mem_store_clone(struct mem_store *store, struct mem_store **out)
{
	struct mem_store *copy;
	uint64_t end = store_pages(store);
	int err = mem_store_new(store->bytes, store->parent, &copy);

	if (err != 0)
		return err;
	for (uint64_t page = 0; err == 0; page++) {
		page = page_next(store, page, end);
		if (page == NO_PAGE)
			break;

		const void *data = page_get(store, page);

		err = data == zero_page
			      ? page_zero(copy, page)
			      : mem_store_write(copy, page << PAGE_SHIFT,
					PAGE_BYTES, data);
	}
	if (err != 0)
		mem_store_put(copy);
	else
		*out = copy;
	return err;
}

static size_t page_room(uint64_t offset, uint64_t bytes)
{
	size_t room = PAGE_BYTES - (offset & (PAGE_BYTES - 1));

	return bytes < room ? (size_t)bytes : room;
}

void mem_store_read(
	struct mem_store *store, uint64_t offset, size_t bytes, void *data)
{
	uint8_t *to = data;

	while (bytes > 0) {
		size_t piece = page_room(offset, bytes);
		const uint8_t *page = page_get(store, offset >> PAGE_SHIFT);

		if (page == NULL)
			memset(to, 0, piece);
		else
			memcpy(to, page + (offset & (PAGE_BYTES - 1)), piece);
		to += piece;
		offset += piece;
		bytes -= piece;
	}
}

int mem_store_write(struct mem_store *store, uint64_t offset, size_t bytes,
	const void *data)
{
	const uint8_t *from = data;

	while (bytes > 0) {
		size_t piece = page_room(offset, bytes);
		uint8_t *page = page_make(
			store, offset >> PAGE_SHIFT, piece == PAGE_BYTES);

		if (page == NULL)
			return -ENOMEM;
		memcpy(page + (offset & (PAGE_BYTES - 1)), from, piece);
		from += piece;
		offset += piece;
		bytes -= piece;
	}
	return 0;
}

/* Zero the bytes of one page. */
static int zero_piece(struct mem_store *store, uint64_t offset, size_t bytes)
{
	if (page_get(store, offset >> PAGE_SHIFT) == NULL)
		return 0;
	return mem_store_write(store, offset, bytes, zero_page);
}

/* Zero whole pages that @have (the store or an ancestor) has memory for. */
static int zero_pages(struct mem_store *store, struct mem_store *have,
	uint64_t first, uint64_t end)
{
	int err = 0;

	for (uint64_t page = first; err == 0; page++) {
		page = page_next(have, page, end);
		if (page == NO_PAGE)
			break;
		err = page_zero(store, page);
	}
	return err;
}

int mem_store_zero(struct mem_store *store, uint64_t offset, uint64_t bytes)
{
	uint64_t end = offset + bytes;
	uint64_t first = (offset + PAGE_BYTES - 1) >> PAGE_SHIFT;
	uint64_t last = end >> PAGE_SHIFT;
	int err = 0;

	if (first > last) /* inside one page */
		return zero_piece(store, offset, (size_t)bytes);
	if (offset < first << PAGE_SHIFT)
		err = zero_piece(store, offset,
			(size_t)((first << PAGE_SHIFT) - offset));
	if (err == 0 && end > last << PAGE_SHIFT)
		err = zero_piece(store, last << PAGE_SHIFT,
			(size_t)(end - (last << PAGE_SHIFT)));
	for (struct mem_store *have = store; err == 0 && have != NULL;
		have = have->parent)
		err = zero_pages(store, have, first, last);
	return err;
}
