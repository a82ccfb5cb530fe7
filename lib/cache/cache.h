/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.h - bounded memory between a device and those who edit its blocks.
 *
 * Two layers.  The *arena* is one reserved range of 4 KiB pages backed by a
 * memfd and never unmapped while open; freed pages go back to per-CPU lists.
 * A *buffer* is one device block of the file system's block size, found by
 * number, kept in arena memory.
 *
 *      cache_peek_rcu ------.                       (no lock, no store)
 *      cache_get ---------> struct buf ---> data    (pinned)
 *                            |  evicted when unpinned, clean, not seen lately
 *                            v
 *                       grace period ---> arena
 *
 * Guarantees
 *   C1  One buffer per block: two callers never see different copies.
 *   C2  A pinned or dirty buffer is not evicted and does not change its block.
 *   C3  Memory that a read section can still reach is not reused before the
 *       section ends.
 *   C4  The arena never grows; pins, copies and dirty blocks included.
 *       Beside it: a struct buf for each block it can hold, and at most 4
 *       MiB for each thread that is writing back, and for the next one.
 *   C5  A write-back works from a private copy taken under the buffer's lock,
 *       so nobody who edits a block waits for the device.
 *   C6  A block's check runs once, after it was read and before anybody
 *       else sees it.
 *
 * Cached lookup stores to no shared line: the "seen lately" mark is written
 * only when it is not set already.
 *
 * Eviction: a background thread keeps a part of the arena free.  It unhashes a
 * batch of cold buffers, waits for one grace period, and frees the batch.  A
 * caller that finds nothing free wakes it and waits for memory (never inside
 * a read section).
 *
 * Callers inside an operation have a small part of the arena to themselves and
 * take clean memory only: they never wait for a write-back.
 *
 * Threads: any, for every call, except that cache_close() is last.
 * Locks: calls that wait (get, sync, write, reserve, forget) are made with no
 * buffer's lock held, as write-back takes these.
 * Errors: 0 or -errno; -EINVAL for a block beyond the device; -ENOMEM when
 * everything is pinned; what the device or the check says.
 */
#ifndef CACHE_CACHE_H
#define CACHE_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cc.h"
#include "base/list.h"
#include "blk/blk.h"
#include "sync/lock.h"

typedef uint64_t blk_no; /* a device block, in units of the block size */

struct cache;
struct pages;

struct cache_opts {
	uint64_t bytes;        /* of the arena; 64 blocks and 1 MiB to 8 TiB */
	uint32_t block_bytes;  /* power of two, 1 KiB to 64 KiB */
	uint32_t client_bytes; /* for the user, beside each buffer; <= 4096 */
	uint32_t dirty_ms;     /* age at which dirty goes home; 0: 5000 */
	uint32_t patience_ms;  /* until -ENOMEM when all is pinned; 0: 1000 */
};

/*
 * What a block's contents must satisfy when it comes from the device: 0, or
 * -EUCLEAN or -EBADMSG, and then nobody sees it.  Runs without locks.
 */
struct buf_check {
	int (*run)(void *arg, blk_no block, const void *data);
	void *arg;
};

struct buf {
	/* Read by all who look for it; written seldom. */
	_Atomic(struct buf *) hash_next; /* [rcu] */
	struct cache *cache;             /* [const] */
	blk_no block;                    /* [const] while pinned or in RCU */
	struct pages *owner; /* [const] likewise: the file (pages.h) that @block
	                      counts in; NULL: the device */
	void *data;          /* [const] likewise; block_bytes */
	_Atomic uint32_t flags; /* cache_int.h */

	/* Written by its users. */
	LINE_ALIGNED _Atomic int32_t pins; /* cache_int.h; < 0: dying */
	_Atomic uint32_t wb;    /* cache_int.h; state of write-back */
	struct mtx lock;        /* RANK_BUF: contents and client area */
	struct list dirty_link; /* the cache's */
	uint32_t dirty_gen;     /* the cache's */
	uint32_t dirty_shard;   /* the cache's */
	int error;              /* the cache's; of a read that failed */
	_Alignas(16) unsigned char client[]; /* client_bytes, zero at first */
};

/* @dev stays the caller's and must outlive the cache. */
MUST_USE int cache_open(
	struct blk_dev *dev, const struct cache_opts *opts, struct cache **out);

/* Give everything back.  Dirty buffers are dropped: cache_sync() first.
 * Nothing may be pinned. */
void cache_close(struct cache *c);

uint32_t cache_block_bytes(const struct cache *c);
blk_no cache_block_count(const struct cache *c);
struct blk_dev *cache_dev(struct cache *c);

/* How many block-sized pieces the whole arena holds. */
uint64_t cache_capacity_blocks(const struct cache *c);

/* ---- finding ------------------------------------------------------------ */

/*
 * The cached buffer of @block, valid until the read section ends, or NULL.
 * Takes no lock, no reference, and stores nothing shared.  Inside rcu_begin().
 */
struct buf *cache_peek_rcu(struct cache *c, blk_no block);

/*
 * The buffer of @block, pinned; read from the device and checked (@check may
 * be NULL) if it was not cached.  Waits for the device or for memory.
 */
MUST_USE int cache_get(struct cache *c, blk_no block,
	const struct buf_check *check, struct buf **out);

/*
 * The buffer of @block, pinned, without reading: the caller is about to
 * overwrite it whole.  Zeroed if it was not cached, as it is otherwise.
 */
MUST_USE int cache_get_new(struct cache *c, blk_no block, struct buf **out);

/* One more pin on a buffer that is pinned already. */
void buf_pin(struct buf *b);

/* Drop a pin. */
void buf_put(struct buf *b);

/* Ask for @count blocks from @start; returns at once, errors are ignored. */
void cache_prefetch(struct cache *c, blk_no start, uint32_t count,
	const struct buf_check *check);

/*
 * Forget @block: whatever is cached is dropped without being written, also
 * when it is dirty.  In-flight prefetch and write-back of it are waited out,
 * so that after success nothing old reaches the device.  -EBUSY: somebody,
 * the caller included, has it pinned.
 */
MUST_USE int cache_forget(struct cache *c, blk_no block);

/* ---- changing ----------------------------------------------------------- */

/*
 * The caller changed @b (pinned, under b->lock) and it must reach home by
 * itself some time: for blocks outside any journal.
 */
void buf_dirty(struct buf *b);

/* Write all that is dirty, wait; no flush.  Returns the first error since
 * the last call, and the buffers that failed stay dirty. */
MUST_USE int cache_sync(struct cache *c);

/*
 * Write @count pinned buffers home now, sorted and in few large requests, and
 * wait.  For each, under its lock, @want decides (NULL: all); those it refuses
 * are skipped.  Private copies are written.  @results (may be NULL) gets per
 * buffer 0, -errno, or 1 for skipped; the array @bufs is reordered, results
 * match the new order.  Returns the first error.  No flush.
 */
MUST_USE int cache_write(struct cache *c, struct buf **bufs, int *results,
	uint32_t count, bool (*want)(struct buf *b, void *arg), void *arg);

/* ---- memory for copies -------------------------------------------------- */

/*
 * Set @blocks block-sized pieces aside for cache_copy_alloc(); waits for
 * eviction.  -ENOMEM: the arena cannot spare that many; at most half of it can
 * be reserved.  For large amounts now and then, not for each operation: what
 * is reserved in all is one counter.  Copies that are still lent out when
 * their reservation goes count against what others have reserved.
 */
MUST_USE int cache_reserve(struct cache *c, uint64_t blocks);
void cache_unreserve(struct cache *c, uint64_t blocks);

/* One piece out of what is reserved.  Never waits, never fails within the
 * reservation; NULL beyond it. */
void *cache_copy_alloc(struct cache *c);
void cache_copy_free(struct cache *c, void *copy);

/* ---- operations --------------------------------------------------------- */

/*
 * The journal marks threads that have an operation open, so that reads of the
 * device inside operations are counted (they hold up a commit).
 */
extern _Thread_local uint32_t cache_ops_open;

struct cache_stats {
	uint64_t hits;         /* cache_get() that found its block */
	uint64_t misses;       /* ... that read it */
	uint64_t reads_in_op;  /* of the misses, inside an operation */
	uint64_t evicted;      /* buffers */
	uint64_t memory_waits; /* callers that waited for eviction */
	uint64_t used_bytes;   /* arena memory in use now */
	uint64_t peak_bytes;   /* the most ever */
};

/*
 * Call @fn(@arg) whenever eviction finds less than it should: who pins many
 * buffers for long had better let go of some.  On the cache's own thread; must
 * not wait, nor take a lock that ranks below RANK_HASH.  One @fn at a time; NULL:
 * nobody is told, and @fn is not running any more.
 */
void cache_on_pressure(struct cache *c, void (*fn)(void *arg), void *arg);

void cache_stats_read(struct cache *c, struct cache_stats *out);

/* Check C1 to C5 as far as a snapshot can; aborts.  Nobody else may use @c. */
void cache_assert(struct cache *c);

#endif /* CACHE_CACHE_H */
