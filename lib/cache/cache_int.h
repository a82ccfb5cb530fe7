/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache_int.h - what the files of the cache share.
 *
 * Life of a buffer (struct buf comes from memory that stays of this type)
 *
 *    free --frame_get--> private --hash_insert--> hashed --+-- read failed
 *     ^                                             |      |
 *     |                     pins 0 -> BUF_DYING, unhashed  v
 *     +---- grace period ---- dying <------------------- failed
 *
 * pins counts users in the low bits and the cache's own *holds* (write-back,
 * prefetch) above them; negative: dying or free.  Only a thread that holds
 * the bucket's lock makes a hashed buffer die, and unhashes it before it lets
 * go, so that whoever finds a buffer under that lock can pin it (C1).
 */
#ifndef CACHE_CACHE_INT_H
#define CACHE_CACHE_INT_H

#include <pthread.h>

#include "base/cpu.h"
#include "cache/arena.h"
#include "cache/cache.h"
#include "cache/stock.h"

/* What a buffer is found by: block @block of a file, or of the device. */
struct buf_key {
	struct pages *owner; /* a file; NULL: the device */
	blk_no block;
};

static inline struct buf_key buf_key_of(const struct buf *b)
{
	return (struct buf_key){b->owner, b->block};
}

static inline struct buf_key buf_key_dev(blk_no block)
{
	return (struct buf_key){NULL, block};
}

/* buf.flags; the word that waiters for a read sleep on. */
enum buf_flags {
	BUF_READY = 1 << 0,   /* contents are valid */
	BUF_READING = 1 << 1, /* being read; waiters wait */
	BUF_FAILED = 1 << 2,  /* not hashed any more; error says why */
	BUF_SEEN = 1 << 3,    /* used since eviction last passed by */
	BUF_WAITERS = 1 << 4, /* somebody sleeps until READING is gone */
};

/* buf.wb; the word that waiters for a write-back sleep on.  DIRTY and CHANGED
 * change under buf.lock, or while the buffer dies. */
enum wb_flags {
	WB_DIRTY = 1 << 0,   /* the device has not got all of it */
	WB_CHANGED = 1 << 1, /* changed since the last copy was taken */
	WB_FAILED = 1 << 2,  /* the last attempt failed */
	WB_WRITING = 1 << 3, /* somebody writes it home; one at a time */
	WB_WAITERS = 1 << 4, /* somebody sleeps until WRITING is gone */
};

enum buf_pins {
	BUF_USER = 1,
	BUF_HOLD = 1 << 24,
	BUF_USERS = BUF_HOLD - 1, /* mask */
	BUF_DYING = -1,
};

/* A CPU's share of what all threads write. */
struct cache_shard {
	LINE_ALIGNED _Atomic uint64_t hits;
	_Atomic uint64_t misses;
	_Atomic uint64_t reads_in_op;
	_Atomic uint64_t evicted;
	_Atomic uint64_t memory_waits;

	LINE_ALIGNED struct mtx lock;
	struct list dirty; /* [lock] by dirty_gen, oldest first */
	struct list limbo; /* [lock] forgotten, waiting for a grace period */
	_Atomic uint32_t dirty_count; /* [lock] written */
	_Atomic uint32_t limbo_count; /* [lock] written */
};

struct hash_lock {
	LINE_ALIGNED struct mtx mtx;
};

struct hash {
	_Atomic(struct buf *) *heads; /* [rcu] [bucket lock] */
	struct hash_lock *locks;      /* [const] each for many buckets */
	uint64_t mask;                /* [const] bucket count - 1 */
	uint64_t lock_mask;           /* [const] lock count - 1 */
};

/* The thread that keeps memory free; evict.c. */
struct evict {
	LINE_ALIGNED _Atomic uint32_t kicked; /* futex: 1 there is work */
	_Atomic uint32_t news;                /* futex: cuts a nap short */
	_Atomic uint32_t rounds;              /* futex: that have ended */
	_Atomic uint64_t barren_since; /* ns; nothing was clean; 0: some */
	_Atomic uint64_t pinned_since; /* ... nor will be by write-back */
	_Atomic uint32_t waiters;      /* threads that wait for memory */
	_Atomic bool stop;
	uint64_t patience_ns; /* [const] until -ENOMEM */
	struct mtx pressure_lock;
	void (*on_pressure)(void *arg); /* [pressure_lock] */
	void *on_pressure_arg;          /* [pressure_lock] */
	uint64_t hand;                  /* [owner] the next buffer to look at */
	uint64_t low;  /* [const] pieces; below this a round begins */
	uint64_t high; /* [const] pieces; above this there are no more */
	pthread_t thread;
};

/* The thread that writes dirty buffers home; writeback.c. */
struct writeback {
	LINE_ALIGNED _Atomic uint32_t gen; /* stamped on what gets dirty */

	LINE_ALIGNED _Atomic uint32_t kicked; /* futex: 1 there is work */
	_Atomic uint32_t target; /* all that is older is to be written */
	_Atomic uint32_t done;   /* futex: all that is older was tried */
	_Atomic bool stop;
	_Atomic int error;      /* not yet told by cache_sync() */
	_Atomic int last_error; /* the latest */
	_Atomic uint32_t error_count;
	uint32_t tick_gen; /* [owner] gen at the last tick */
	uint32_t tick_ms;  /* [const] */
	uint32_t limit;    /* [const] buffers dirty that wake the thread */
	pthread_t thread;
};

/* Memory set aside for private copies; copies.c. */
struct copies {
	struct stock stock;
	void **items;   /* [stock.source_lock] */
	uint64_t count; /* [stock.source_lock] of items */
	uint64_t most;  /* [const] that can be reserved */
	LINE_ALIGNED _Atomic uint64_t reserved;
	_Atomic uint64_t debt; /* unreserved while still lent out */
};

struct cache {
	struct blk_dev *dev;           /* [const] */
	uint32_t block_bytes;          /* [const] */
	uint32_t block_shift;          /* [const] */
	blk_no block_count;            /* [const] */
	uint64_t capacity;             /* [const] pieces in the arena */
	uint32_t shard_count;          /* [const] */
	uint32_t client_bytes;         /* [const] */
	struct cache_shard *shards;    /* [const] */
	struct hash hash;              /* [const] */
	struct hash_lock *index_locks; /* [const] each for many files */
	char *bufs;                    /* [const] capacity of them */
	uint64_t buf_stride;           /* [const] bytes from one to the next */
	struct arena arena;

	struct stock buf_stock;
	struct buf *free_bufs;     /* [buf_stock.source_lock] by hash_next */
	_Atomic uint64_t buf_used; /* [buf_stock.source_lock] ever made */

	struct copies copies;
	struct evict evict;
	struct writeback wb;

	/* The means of a large cache_write(), from one to the next; or NULL. */
	_Atomic(struct staging *) spare_staging;

	/* Waits for holds and write-backs to end; seldom anybody does. */
	LINE_ALIGNED _Atomic uint32_t hold_waiters;
	_Atomic uint32_t hold_seq;    /* futex */
	_Atomic uint32_t prefetching; /* requests in flight; futex */
};

static inline struct cache_shard *cache_shard_here(struct cache *c)
{
	return &c->shards[cpu_shard(c->shard_count)];
}

static inline struct buf *cache_buf_at(const struct cache *c, uint64_t index)
{
	return (struct buf *)(c->bufs + index * c->buf_stride);
}

/* Zeroed memory on a line of its own, for free(); NULL. */
void *cache_lines_alloc(size_t bytes);

void cache_wait_for_prefetches(struct cache *c);

/* ---- hash.c ------------------------------------------------------------- */

MUST_USE int hash_init(struct hash *h, uint64_t entries);
void hash_fini(struct hash *h);

/* The lock that guards the chain of @key. */
struct mtx *hash_mtx(const struct hash *h, struct buf_key key);

/* Inside a read section or under the lock. */
struct buf *hash_find(const struct hash *h, struct buf_key key);

/* Under the lock.  Publishes all that was stored to @b before. */
void hash_insert(struct hash *h, struct buf *b);
void hash_remove(struct hash *h, struct buf *b);

/* ---- frame.c: struct buf with its memory -------------------------------- */

MUST_USE int frames_init(struct cache *c);
void frames_fini(struct cache *c);

/* A buffer for @key with memory, pinned by @pins, in state @flags, that
 * nobody can find yet.  NULL: nothing free now. */
struct buf *frame_get_try(
	struct cache *c, struct buf_key key, uint32_t flags, int32_t pins);

/* As above, waiting for memory.  -ENOMEM. */
MUST_USE int frame_get(
	struct cache *c, struct buf_key key, uint32_t flags, struct buf **out);

/* Give back buffers that nobody can reach, pins BUF_DYING. */
void frame_put(struct cache *c, struct buf *b);
void frame_put_many(struct cache *c, struct buf **bufs, uint32_t count);

/* ---- buf.c -------------------------------------------------------------- */

/* Add @unit to the pins of @b unless it is dying. */
bool buf_pin_try(struct buf *b, int32_t unit);

/* As cache_peek_rcu(), for any key. */
struct buf *buf_peek_rcu(struct cache *c, struct buf_key key);

/* The buffer of @key, pinned, or NULL: not cached, or about to go. */
struct buf *buf_find_pinned(struct cache *c, struct buf_key key);

/* Under its bucket's lock, @b comes into the table, and into the index of its
 * file; -ENOMEM.  Or it goes. */
MUST_USE int buf_enter(struct buf *b);
void buf_leave(struct buf *b);

/* The buffer of @key, pinned: one that was there, or a new one in state
 * @flags, and then *@mine.  Waits for memory. */
MUST_USE int buf_find_or_add(struct cache *c, struct buf_key key,
	uint32_t flags, struct buf **out, bool *mine);

/* Sleep until the read of @b, pinned, is over.  0, or its error. */
MUST_USE int buf_read_wait(struct buf *b);

/* As cache_forget(), for any key. */
MUST_USE int buf_forget(struct cache *c, struct buf_key key);

/* Drop a hold, and tell those who wait for it. */
void buf_unhold(struct buf *b);
void cache_hold_ended(struct cache *c);

/* The read of @b is over: let it be seen, or drop it from the hash. */
void buf_read_end(struct buf *b, int err);

/* 0, or what @check says of @b's contents. */
int buf_check_run(const struct buf *b, const struct buf_check *check);

/* ---- evict.c ------------------------------------------------------------ */

void evict_init(struct cache *c, uint32_t patience_ms);

/* Start and stop the thread; as often as one likes. */
MUST_USE int evict_start(struct cache *c);
void evict_stop(struct cache *c);

/* There is work; callable under any lock. */
void evict_kick(struct cache *c);

/* Something that was dirty is clean now: somebody may wait for it. */
void evict_news(struct cache *c);

/* Memory for a block; waits for it.  -ENOMEM: all is pinned, or, inside an
 * operation, nothing clean is left. */
MUST_USE int evict_piece_get(struct cache *c, void **out);

/* @b, dying, is to be freed after a grace period. */
void evict_later(struct cache *c, struct buf *b);

/* ---- write.c: private copies to the device ------------------------------ */

struct write_pick {
	bool (*want)(struct buf *b, void *arg); /* NULL: all */
	void *arg;
};

struct staging;

void staging_free(struct staging *s);

/* As cache_write(), with room for all results. */
MUST_USE int write_bufs(struct cache *c, struct buf **bufs, int *results,
	uint32_t count, const struct write_pick *pick);

/* ---- writeback.c -------------------------------------------------------- */

void wb_init(struct cache *c, uint32_t dirty_ms);

/* Start and stop the thread; as often as one likes. */
MUST_USE int wb_start(struct cache *c);
void wb_stop(struct cache *c);

/* Write all that is dirty now, without waiting for it. */
void wb_kick(struct cache *c);

/* Under b->lock: take @b off its dirty list, if it is on one. */
void wb_unlist(struct buf *b);

/* ---- copies.c ----------------------------------------------------------- */

MUST_USE int copies_init(struct cache *c);
void copies_fini(struct cache *c);

#endif /* CACHE_CACHE_INT_H */
