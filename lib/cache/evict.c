/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * evict.c - a background thread that keeps a part of the arena free, and asks
 * for huge pages for the rest.
 *
 * CLOCK over the array of buffers: who was seen since the hand last passed
 * loses the mark and stays, who was not dies.  A round unhashes a batch,
 * waits for one grace period, and frees the batch (C3).  Forgotten buffers
 * wait in limbo for the same grace period.
 *
 * Threads that find nothing free wait for rounds to end.  A round that frees
 * nothing says why: something dirty or in flight will be clean in a while, or
 * all is pinned.  Pins are often short, so a waiter gives up only after some
 * time of such rounds in a row.  Between them the thread naps, for as long as
 * the round took at least.
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/assert.h"
#include "base/cpu.h"
#include "cache/index.h"
#include "sync/futex.h"
#include "sync/rcu.h"
#include "sync/thread.h"

enum {
	BATCH = 512,      /* buffers to one grace period */
	LIMBO_BATCH = 32, /* forgotten on one CPU that wake the thread */
	HOPE_ROUNDS = 3,  /* fruitless ones that a waiter sees at least */
	PATIENCE_MS = 1000,
	NAP_NS_MIN = 2000000, /* after a fruitless round */
	NAP_NS_MAX = 100000000,
	NS_PER_MS = 1000000,
	NS_PER_S = 1000000000,
};

static struct lock_class pressure_class = {
	.name = "cache.pressure", .rank = RANK_CACHE};

struct round {
	struct buf *bufs[BATCH];
	uint32_t count;
	uint32_t want;
	uint32_t evicted; /* of count: those that were not forgotten */
	bool busy;        /* something may be evicted before long */
	bool stuck;       /* the round before freed nothing */
	uint64_t ended_ns;
};

static uint64_t clock_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- picking ------------------------------------------------------------ */

static void take_limbo(struct cache *c, struct round *r)
{
	for (uint32_t i = 0; i < c->shard_count; i++) {
		struct cache_shard *sh = &c->shards[i];

		mtx_lock(&sh->lock);
		while (!list_empty(&sh->limbo) && r->count < BATCH) {
			struct buf *b = LIST_ENTRY(
				sh->limbo.next, struct buf, dirty_link);

			list_del(&b->dirty_link);
			atomic_fetch_sub_explicit(
				&sh->limbo_count, 1, memory_order_relaxed);
			r->bufs[r->count++] = b;
		}
		mtx_unlock(&sh->lock);
	}
}

static uint64_t limbo_count(const struct cache *c)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < c->shard_count; i++)
		sum += atomic_load_explicit(
			&c->shards[i].limbo_count, memory_order_relaxed);
	return sum;
}

static uint32_t wb_of(const struct buf *b)
{
	return atomic_load_explicit(&b->wb, memory_order_relaxed);
}

/* From pins 0 to dying; acquire pairs with the last user's buf_put(). */
static bool make_dying(struct buf *b)
{
	int32_t none = 0;

	return atomic_compare_exchange_strong_explicit(&b->pins, &none,
		BUF_DYING, memory_order_acquire, memory_order_relaxed);
}

/*
 * Unhash @b if it still is of no use to anybody.  Of file data only the index
 * knows whether it was looked at.  While its lock is held it may look dead and
 * not be: see hold_listed() in writeback.c.
 */
static bool unhash(struct cache *c, struct buf *b, struct round *r)
{
	struct mtx *m = hash_mtx(&c->hash, buf_key_of(b));
	bool seen;
	bool dead;

	mtx_lock(m);
	dead = make_dying(b);
	seen = dead && b->owner != NULL && index_take_seen(b);
	r->busy |= seen;
	if (dead && (seen || (wb_of(b) & WB_DIRTY))) {
		atomic_store_explicit(&b->pins, 0, memory_order_release);
		dead = false;
	}
	if (dead)
		buf_leave(b);
	mtx_unlock(m);
	return dead;
}

/* One step of the hand.  Only this thread gives buffers back for another life,
 * so what pins 0 let it see of @b stays as it is. */
static void consider(struct cache *c, struct buf *b, struct round *r)
{
	int32_t pins = atomic_load_explicit(&b->pins, memory_order_acquire);
	uint32_t wb = wb_of(b);
	uint32_t flags;
	bool dead;

	/* What the cache itself is busy with will be free before long; but a
	 * write that failed will fail again. */
	if (pins != 0) {
		r->busy |= pins > 0 && (pins & BUF_USERS) == 0 &&
			   !(wb & WB_FAILED);
		return;
	}
	flags = atomic_load_explicit(&b->flags, memory_order_relaxed);
	if (flags & BUF_SEEN) {
		atomic_fetch_and_explicit(
			&b->flags, ~(uint32_t)BUF_SEEN, memory_order_relaxed);
		r->busy = true;
		return;
	}
	if (wb & WB_DIRTY) {
		r->busy |= !(wb & WB_FAILED);
		return;
	}
	dead = flags & BUF_FAILED ? make_dying(b) : unhash(c, b, r);
	if (dead) {
		r->bufs[r->count++] = b;
		r->evicted++;
	}
}

/* Two turns at most: the first takes marks, the second finds. */
static void sweep(struct cache *c, struct round *r)
{
	uint64_t used =
		atomic_load_explicit(&c->buf_used, memory_order_acquire);

	for (uint64_t i = 0; i < 2 * used && r->count < r->want; i++) {
		if (i == used)
			r->busy = false;
		if (c->evict.hand >= used)
			c->evict.hand = 0;
		consider(c, cache_buf_at(c, c->evict.hand++), r);
	}
}

/* ---- rounds ------------------------------------------------------------- */

static bool someone_waits(const struct cache *c)
{
	return atomic_load(&c->evict.waiters) > 0;
}

/* How many to evict.  Callers may still wait although enough is free: either
 * they are about to wake up, or free memory is in parts too small for them. */
static uint32_t wanted(struct cache *c, bool stuck)
{
	uint64_t available = arena_free_pieces(&c->arena);
	uint64_t want = 0;

	if (available < c->evict.high)
		want = c->evict.high - available;
	else if (stuck && someone_waits(c))
		want = c->evict.low;
	return want < BATCH ? (uint32_t)want : BATCH;
}

/* Keep the time since when rounds have been of a kind; 0: the last was not. */
static void note_since(_Atomic uint64_t *since, bool such, uint64_t now)
{
	if (!such)
		atomic_store(since, 0);
	else if (atomic_load(since) == 0)
		atomic_store(since, now);
}

static void end_round(struct evict *e, struct round *r)
{
	bool barren = r->count == 0;

	r->stuck = barren;
	r->ended_ns = clock_ns();
	note_since(&e->barren_since, barren, r->ended_ns);
	note_since(&e->pinned_since, barren && !r->busy, r->ended_ns);
	atomic_fetch_add(&e->rounds, 1);
	if (atomic_load(&e->waiters) > 0)
		futex_wake_all(&e->rounds);
}

static void run_round(struct cache *c, struct round *r)
{
	r->count = 0;
	r->evicted = 0;
	r->busy = false;
	take_limbo(c, r);
	r->want = wanted(c, r->stuck);
	if (r->want == 0)
		r->busy = true;
	sweep(c, r);
	if (r->count > 0) {
		rcu_wait();
		frame_put_many(c, r->bufs, r->count);
		atomic_fetch_add_explicit(&cache_shard_here(c)->evicted,
			r->evicted, memory_order_relaxed);
	}
	end_round(&c->evict, r);
}

static bool work_left(struct cache *c)
{
	return someone_waits(c) || limbo_count(c) >= LIMBO_BATCH ||
	       arena_free_pieces(&c->arena) < c->evict.high;
}

/* Longer if nobody waits: what is pinned may stay so for long. */
static void nap(struct cache *c, uint32_t news, uint64_t round_ns)
{
	uint64_t ns = round_ns > NAP_NS_MIN ? round_ns : NAP_NS_MIN;

	if (!someone_waits(c))
		ns *= 16;
	(void)futex_wait(
		&c->evict.news, news, ns < NAP_NS_MAX ? ns : NAP_NS_MAX);
}

static void tell_pressure(struct evict *e)
{
	mtx_lock(&e->pressure_lock);
	if (e->on_pressure != NULL)
		e->on_pressure(e->on_pressure_arg);
	mtx_unlock(&e->pressure_lock);
}

/* Rounds until enough is free, or nothing more can be done for now. */
static void work(struct cache *c, struct round *r)
{
	struct evict *e = &c->evict;

	r->stuck = false;
	while (work_left(c) && !atomic_load(&e->stop)) {
		uint32_t news = atomic_load(&e->news);
		uint64_t began = clock_ns();

		run_round(c, r);
		if (r->count < r->want)
			tell_pressure(e);
		if (r->count > 0)
			continue;
		if (r->want > 0 && r->busy)
			wb_kick(c);
		nap(c, news, r->ended_ns - began);
		if (!someone_waits(c))
			break;
	}
}

/* Make memory huge, until there is something more urgent. */
static void settle(struct cache *c)
{
	const struct evict *e = &c->evict;

	while (!atomic_load(&e->stop) && atomic_load(&e->kicked) == 0)
		if (!arena_settle(&c->arena))
			break;
}

static void *evict_main(void *arg)
{
	struct round r;
	struct cache *c = arg;
	struct evict *e = &c->evict;

	while (!atomic_load(&e->stop)) {
		if (atomic_exchange(&e->kicked, 0) != 0) {
			work(c, &r);
			settle(c);
		} else {
			(void)futex_wait(&e->kicked, 0, FUTEX_FOREVER);
		}
	}
	return NULL;
}

void evict_kick(struct cache *c)
{
	struct evict *e = &c->evict;

	if (atomic_load(&e->kicked) == 0 && atomic_exchange(&e->kicked, 1) == 0)
		futex_wake(&e->kicked, 1);
}

static void cut_nap(struct evict *e)
{
	atomic_fetch_add(&e->news, 1);
	futex_wake(&e->news, 1);
}

void evict_news(struct cache *c)
{
	if (someone_waits(c))
		cut_nap(&c->evict);
}

void evict_later(struct cache *c, struct buf *b)
{
	struct cache_shard *sh = cache_shard_here(c);
	uint32_t before;

	mtx_lock(&sh->lock);
	list_add_tail(&sh->limbo, &b->dirty_link);
	before = atomic_fetch_add_explicit(
		&sh->limbo_count, 1, memory_order_relaxed);
	mtx_unlock(&sh->lock);
	if (before + 1 >= LIMBO_BATCH)
		evict_kick(c);
}

/* ---- waiting for memory ------------------------------------------------- */

/* A thread that waits for memory. */
struct waiter {
	bool in_op; /* takes clean memory only */
	uint32_t round;
	uint64_t since_ns;
};

static bool is_hopeless(struct evict *e, const struct waiter *w)
{
	uint64_t fruitless =
		atomic_load(w->in_op ? &e->barren_since : &e->pinned_since);
	uint64_t since = fruitless > w->since_ns ? fruitless : w->since_ns;

	return fruitless != 0 && clock_ns() - since >= e->patience_ns &&
	       atomic_load(&e->rounds) - w->round >= HOPE_ROUNDS;
}

/* The thread runs rounds as long as anybody waits: one kick will do. */
static void *wait_for_piece(struct cache *c, bool in_op)
{
	struct evict *e = &c->evict;
	struct waiter w = {in_op, atomic_load(&e->rounds), clock_ns()};
	void *piece;

	atomic_fetch_add_explicit(
		&cache_shard_here(c)->memory_waits, 1, memory_order_relaxed);
	atomic_fetch_add(&e->waiters, 1);
	evict_kick(c);
	cut_nap(e);
	for (;;) {
		uint32_t seen = atomic_load(&e->rounds);

		piece = arena_piece_get(&c->arena, in_op);
		if (piece != NULL || is_hopeless(e, &w))
			break;
		(void)futex_wait(&e->rounds, seen, FUTEX_FOREVER);
	}
	atomic_fetch_sub(&e->waiters, 1);
	return piece;
}

int evict_piece_get(struct cache *c, void **out)
{
	bool in_op = cache_ops_open > 0;
	void *piece = arena_piece_get(&c->arena, in_op);

	if (piece == NULL)
		piece = wait_for_piece(c, in_op);
	if (piece == NULL)
		return -ENOMEM;
	*out = piece;
	return 0;
}

/* ---- life --------------------------------------------------------------- */

void evict_init(struct cache *c, uint32_t patience_ms)
{
	uint64_t ms = patience_ms != 0 ? patience_ms : PATIENCE_MS;

	c->evict.patience_ns = ms * NS_PER_MS;
	mtx_init(&c->evict.pressure_lock, &pressure_class);
}

int evict_start(struct cache *c)
{
	atomic_store(&c->evict.stop, false);
	atomic_store(&c->evict.kicked, 1); /* somebody may wait already */
	return thread_start(&c->evict.thread, evict_main, c);
}

void evict_stop(struct cache *c)
{
	atomic_store(&c->evict.stop, true);
	evict_kick(c);
	cut_nap(&c->evict);
	(void)pthread_join(c->evict.thread, NULL);
}

void cache_on_pressure(struct cache *c, void (*fn)(void *arg), void *arg)
{
	struct evict *e = &c->evict;

	mtx_lock(&e->pressure_lock);
	e->on_pressure = fn;
	e->on_pressure_arg = arg;
	mtx_unlock(&e->pressure_lock);
}
