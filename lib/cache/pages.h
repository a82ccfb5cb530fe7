/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pages.h - file data by (file, block index), in the cache's arena.
 *
 * A `struct pages` lives in its file's inode.  Its blocks are buffers like the
 * device's, in the same table by the file and the index, evicted by the same
 * clock; readers find their memory by a radix tree of the file's own.  They
 * copy inside read sections of at most 16 KiB, without a lock, a reference, or
 * a store that another reader sees.  What is not cached
 * is read in runs: the file's owner says where bytes lie, and readahead grows
 * with sequential access.
 *
 *      pages_read --> tree --hit--> copy
 *                       |miss
 *                       '--> owner's map --> device run --> new buffers
 *
 * Guarantees
 *   P1  A reader gets bytes that the file held at some instant during the
 *       call; bytes past the size read after their block was found are never
 *       returned.
 *   P2  A block is read from the device once, however many ask at once.
 *   P3  Memory a read section can reach is not reused before it ends (C3).
 *   P4  When pages_drop() returns, no block of the range is cached that was
 *       read with an older map: a reader that raced with it asks again.
 *
 * Threads: any, for every call on one file, except pages_fini().  Waiting
 * happens on a miss only, and never inside a read section.
 * Errors: 0 or -errno; an error of the device or the map is not cached.
 */
#ifndef CACHE_PAGES_H
#define CACHE_PAGES_H

#include "cache/cache.h"

enum pages_run_kind {
	PAGES_DEVICE, /* at @device on the cache's device */
	PAGES_ZERO,   /* a hole, unwritten, or beyond what is mapped */
	PAGES_MEMORY, /* in @memory, which stays valid during the call */
};

/* Where a run of file bytes lies. */
struct pages_run {
	enum pages_run_kind kind;
	uint64_t bytes;  /* from the offset asked for; at least 1 */
	uint64_t device; /* byte offset; PAGES_DEVICE */
	const void *memory;
};

struct pages;

struct pages_ops {
	/*
	 * Where the file's bytes from @offset on lie; *@out covers at least
	 * the first of them.  May sleep and read metadata.  @offset is a
	 * multiple of the cache's block.  A run on the device begins at a
	 * block and is whole blocks; the last block of one in memory may be
	 * part of a block, and reads as zero behind that.
	 */
	int (*map)(struct pages *p, uint64_t offset, struct pages_run *out);
};

struct pages {
	struct cache *cache;         /* [const] */
	const struct pages_ops *ops; /* [const] */
	_Atomic uint32_t drops;      /* [atomic] bumped by pages_drop() */
	_Atomic uintptr_t root;      /* [rcu] index.h: what of it is cached */
};

/* Sequential access of one open file; owned by whoever reads through it. */
struct pages_ahead {
	_Atomic uint64_t next;   /* where a sequential read misses next */
	_Atomic uint32_t window; /* bytes to read ahead, 0 at first */
};

void pages_init(
	struct pages *p, struct cache *cache, const struct pages_ops *ops);

/* Drop everything; nobody may use @p any more.  Does not wait: callable where
 * deferred frees run. */
void pages_fini(struct pages *p);

/*
 * Copy up to @bytes from @offset into @to, not beyond *@size, which is read
 * after each block is found.  *@done is how many: less than @bytes only at
 * the end, or when an error came after some.  @ahead may be NULL: no
 * readahead.
 */
MUST_USE int pages_read(struct pages *p, const _Atomic uint64_t *size,
	struct pages_ahead *ahead, uint64_t offset, size_t bytes, void *to,
	size_t *done);

/* To be called after the map has changed (truncate, punch): forget the blocks
 * that hold any of @bytes from @offset. */
void pages_drop(struct pages *p, uint64_t offset, uint64_t bytes);

#endif /* CACHE_PAGES_H */
