/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_store.h - sparse bytes in memory, with cheap copies; private to lib/blk.
 *
 * A store is an array of bytes that begins as all zeroes, or as the contents
 * of a parent store that no longer changes.  Pages of 4 KiB hang in a radix
 * tree; one that was never written takes no memory and reads from the
 * parent.  So a copy of any image costs nothing until it is written.
 *
 * Threads: every call may run beside every other on bytes that do not
 * overlap, except that the last mem_store_put() is last.  A store with
 * children must not change.
 */
#ifndef BLK_MEM_STORE_H
#define BLK_MEM_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cc.h"
#include "blk/blk.h"

struct mem_store;

/* A store with one reference; it takes one on @parent, which may be NULL. */
MUST_USE int mem_store_new(
	uint64_t bytes, struct mem_store *parent, struct mem_store **out);
void mem_store_get(struct mem_store *store);
void mem_store_put(struct mem_store *store);

/* Its size, as it was made. */
uint64_t mem_store_bytes(const struct mem_store *store);

/* Whether the caller's reference is the only one. */
bool mem_store_is_mine(const struct mem_store *store);

/* The same parent and contents in pages of its own. */
MUST_USE int mem_store_clone(struct mem_store *store, struct mem_store **out);

/* No call checks its range. */
void mem_store_read(
	struct mem_store *store, uint64_t offset, size_t bytes, void *data);
MUST_USE int mem_store_write(struct mem_store *store, uint64_t offset,
	size_t bytes, const void *data);

/* Make zeroes, and free what memory that allows. */
MUST_USE int mem_store_zero(
	struct mem_store *store, uint64_t offset, uint64_t bytes);

/* A device that owns the caller's reference. */
MUST_USE int blk_open_store(
	struct mem_store *store, uint32_t sector_bytes, struct blk_dev **out);

/*
 * Freeze the contents of @dev, which has no I/O in flight, and return them
 * with a reference; @dev goes on in a child.  -EINVAL: not a memory device.
 */
MUST_USE int blk_mem_freeze(struct blk_dev *dev, struct mem_store **out);

#endif /* BLK_MEM_STORE_H */
