/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * writeback.c - dirty buffers reach home by themselves.
 *
 * Each CPU has a list of dirty buffers, oldest first.  Age is a generation
 * number, which advances with every order to write: "all that is older than
 * T".  Orders come from the clock, from too many dirty buffers, from a lack
 * of memory, and from cache_sync(), which waits for its order to be carried
 * out.  One thread carries them out.
 *
 * A buffer is on a list exactly when it is dirty, except while that thread
 * has it in hand: then it is held, and off its list until the thread puts it
 * back, or somebody else writes it home and it becomes dirty anew.  Buffers
 * are listed under their own lock, and dirty_shard changes only then.
 */
#include <errno.h>
#include <pthread.h>

#include "base/assert.h"
#include "base/cpu.h"
#include "cache/cache_int.h"
#include "sync/futex.h"
#include "sync/thread.h"

enum {
	HAND_MAX = 1024, /* buffers in hand at once */
	TICK_MS = 5000,
	NS_PER_MS = 1000000,
};

/* Wraps, like all comparisons of generations. */
static bool gen_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* ---- lists -------------------------------------------------------------- */

static struct cache_shard *shard_of(const struct buf *b)
{
	return &b->cache->shards[b->dirty_shard];
}

static uint32_t shard_dirty(const struct cache_shard *sh)
{
	return atomic_load_explicit(&sh->dirty_count, memory_order_relaxed);
}

static void set_shard_dirty(struct cache_shard *sh, uint32_t count)
	REQUIRES(sh->lock)
{
	atomic_store_explicit(&sh->dirty_count, count, memory_order_relaxed);
}

static uint64_t total_dirty(const struct cache *c)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < c->shard_count; i++)
		sum += shard_dirty(&c->shards[i]);
	return sum;
}

/* Every so often in one CPU's list, look at all of them. */
static void check_limit(struct cache *c, uint32_t here)
{
	uint32_t limit = c->wb.limit;
	uint32_t step = limit / c->shard_count + 1;

	if (here % step == 0 && total_dirty(c) >= limit)
		wb_kick(c);
}

/* Newly dirty: to the young end of this CPU's list.  Under b->lock. */
static void list_young(struct buf *b)
{
	struct cache *c = b->cache;
	uint32_t index = cpu_shard(c->shard_count);
	struct cache_shard *sh = &c->shards[index];
	uint32_t count;

	mtx_lock(&sh->lock);
	b->dirty_shard = index;
	b->dirty_gen = atomic_load(&c->wb.gen);
	list_add_tail(&sh->dirty, &b->dirty_link);
	count = shard_dirty(sh) + 1;
	set_shard_dirty(sh, count);
	mtx_unlock(&sh->lock);
	check_limit(c, count);
}

/*
 * Dirty again while its write was under way: to the old end, where it may
 * look older than it is but never younger.  Under b->lock.
 */
static void list_old(struct buf *b)
{
	struct cache_shard *sh = shard_of(b);

	mtx_lock(&sh->lock);
	if (!list_empty(&sh->dirty)) {
		const struct buf *oldest =
			LIST_ENTRY(sh->dirty.next, struct buf, dirty_link);

		if (gen_before(oldest->dirty_gen, b->dirty_gen))
			b->dirty_gen = oldest->dirty_gen;
	}
	list_add_head(&sh->dirty, &b->dirty_link);
	set_shard_dirty(sh, shard_dirty(sh) + 1);
	mtx_unlock(&sh->lock);
}

/* Under b->lock, asked by the thread that takes buffers off their lists. */
static bool is_listed(struct buf *b)
{
	struct cache_shard *sh = shard_of(b);
	bool listed;

	mtx_lock(&sh->lock);
	listed = !list_empty(&b->dirty_link);
	mtx_unlock(&sh->lock);
	return listed;
}

void wb_unlist(struct buf *b)
{
	struct cache_shard *sh = shard_of(b);

	mtx_lock(&sh->lock);
	if (!list_empty(&b->dirty_link)) {
		list_del(&b->dirty_link);
		set_shard_dirty(sh, shard_dirty(sh) - 1);
	}
	mtx_unlock(&sh->lock);
}

/* Changed while a write is under way.  If the thread has it in hand it is to
 * be as young as this change; on a list its place says how old it is. */
static void change_again(struct buf *b)
{
	struct cache_shard *sh = shard_of(b);

	mtx_lock(&sh->lock);
	if (list_empty(&b->dirty_link))
		b->dirty_gen = atomic_load(&b->cache->wb.gen);
	mtx_unlock(&sh->lock);
}

void buf_dirty(struct buf *b)
{
	const uint32_t both = WB_DIRTY | WB_CHANGED;
	uint32_t old = atomic_load_explicit(&b->wb, memory_order_relaxed);

	mtx_assert_held(&b->lock);
	if ((old & both) == both)
		return;
	old = atomic_fetch_or(&b->wb, both);
	if (!(old & WB_DIRTY))
		list_young(b);
	else
		change_again(b);
}

/* ---- carrying out an order ---------------------------------------------- */

struct hand {
	struct buf *bufs[HAND_MAX];
	int results[HAND_MAX];
	uint32_t count;
};

/*
 * Hold @b, which is on a list.  Eviction makes a buffer die before it looks
 * whether it is dirty, and alive again if so, under the lock of its bucket:
 * whoever meets it in between waits for the outcome.  False: it is forgotten,
 * and about to leave its list.
 */
static bool hold_listed(struct cache *c, struct buf *b)
{
	bool held = buf_pin_try(b, BUF_HOLD);
	struct mtx *m;

	if (LIKELY(held))
		return true;
	m = hash_mtx(&c->hash, buf_key_of(b));
	mtx_lock(m);
	held = buf_pin_try(b, BUF_HOLD);
	mtx_unlock(m);
	return held;
}

/* Take what is older than @target off the list of @sh. */
static void take_from(struct cache *c, struct cache_shard *sh, uint32_t target,
	struct hand *h)
{
	struct list *pos;
	struct list *after;

	mtx_lock(&sh->lock);
	list_for_each_safe (pos, after, &sh->dirty) {
		struct buf *b = LIST_ENTRY(pos, struct buf, dirty_link);

		if (h->count == HAND_MAX || !gen_before(b->dirty_gen, target))
			break;
		if (!hold_listed(c, b))
			continue;
		list_del(pos);
		set_shard_dirty(sh, shard_dirty(sh) - 1);
		h->bufs[h->count++] = b;
	}
	mtx_unlock(&sh->lock);
}

static void fill_hand(struct cache *c, uint32_t target, struct hand *h)
{
	h->count = 0;
	for (uint32_t i = 0; i < c->shard_count && h->count < HAND_MAX; i++)
		take_from(c, &c->shards[i], target, h);
}

static void note_error(struct writeback *wb, int err)
{
	int none = 0;

	atomic_store(&wb->last_error, err);
	atomic_fetch_add(&wb->error_count, 1);
	atomic_compare_exchange_strong(&wb->error, &none, err);
}

/* Let go of @b; what still is dirty goes back to a list. */
static void put_back(struct buf *b, int result)
{
	mtx_lock(&b->lock);
	if ((atomic_load(&b->wb) & WB_DIRTY) && !is_listed(b)) {
		if (result < 0)
			list_young(b);
		else
			list_old(b);
	}
	mtx_unlock(&b->lock);
	buf_unhold(b);
}

static bool still_dirty(struct buf *b, void *arg)
{
	(void)arg;
	return atomic_load(&b->wb) & WB_DIRTY;
}

static void write_older(struct cache *c, uint32_t target, struct hand *h)
{
	static const struct write_pick dirty = {.want = still_dirty};

	for (;;) {
		int err;

		fill_hand(c, target, h);
		if (h->count == 0)
			break;
		err = write_bufs(c, h->bufs, h->results, h->count, &dirty);
		if (err != 0)
			note_error(&c->wb, err);
		for (uint32_t i = 0; i < h->count; i++)
			put_back(h->bufs[i], h->results[i]);
		evict_news(c);
	}
}

/* ---- the thread --------------------------------------------------------- */

static void kick(struct writeback *wb)
{
	if (atomic_load(&wb->kicked) == 0 &&
		atomic_exchange(&wb->kicked, 1) == 0)
		futex_wake(&wb->kicked, 1);
}

/* Order that all that is older than @target be written. */
static void order(struct writeback *wb, uint32_t target)
{
	uint32_t seen = atomic_load(&wb->target);

	while (gen_before(seen, target)) {
		if (atomic_compare_exchange_weak(&wb->target, &seen, target))
			break;
	}
	kick(wb);
}

static uint32_t next_gen(struct writeback *wb)
{
	return atomic_fetch_add(&wb->gen, 1) + 1;
}

void wb_kick(struct cache *c)
{
	/* An order that nobody has begun on will do. */
	if (atomic_load(&c->wb.kicked) == 0)
		order(&c->wb, next_gen(&c->wb));
}

/* What was dirty at the last tick already is old enough. */
static void tick(struct cache *c)
{
	struct writeback *wb = &c->wb;

	order(wb, wb->tick_gen);
	wb->tick_gen = next_gen(wb);
}

static void carry_out(struct cache *c, struct hand *h)
{
	struct writeback *wb = &c->wb;
	uint32_t target = atomic_load(&wb->target);

	if (!gen_before(atomic_load(&wb->done), target))
		return;
	write_older(c, target, h);
	atomic_store(&wb->done, target);
	futex_wake_all(&wb->done);
}

static void *wb_main(void *arg)
{
	struct hand h;
	struct cache *c = arg;
	struct writeback *wb = &c->wb;
	uint64_t wait_ns = (uint64_t)wb->tick_ms * NS_PER_MS;

	while (!atomic_load(&wb->stop)) {
		if (atomic_exchange(&wb->kicked, 0) != 0) {
			carry_out(c, &h);
			continue;
		}
		if (futex_wait(&wb->kicked, 0, wait_ns) == -ETIMEDOUT)
			tick(c);
	}
	return NULL;
}

int cache_sync(struct cache *c)
{
	struct writeback *wb = &c->wb;
	uint32_t errors = atomic_load(&wb->error_count);
	uint32_t target = next_gen(wb);
	uint32_t done;
	int err;

	rank_assert_below(RANK_BUF);
	order(wb, target);
	done = atomic_load(&wb->done);
	while (gen_before(done, target)) {
		(void)futex_wait(&wb->done, done, FUTEX_FOREVER);
		done = atomic_load(&wb->done);
	}
	err = atomic_exchange(&wb->error, 0);
	/* Another caller may have been told of what failed meanwhile. */
	if (err == 0 && atomic_load(&wb->error_count) != errors)
		err = atomic_load(&wb->last_error);
	return err;
}

/* ---- life --------------------------------------------------------------- */

void wb_init(struct cache *c, uint32_t dirty_ms)
{
	struct writeback *wb = &c->wb;

	atomic_init(&wb->gen, 1);
	atomic_init(&wb->target, 1);
	atomic_init(&wb->done, 1);
	wb->tick_gen = 1;
	wb->tick_ms = dirty_ms != 0 ? dirty_ms : TICK_MS;
	wb->limit = (uint32_t)(c->capacity / 4);
}

int wb_start(struct cache *c)
{
	atomic_store(&c->wb.stop, false);
	return thread_start(&c->wb.thread, wb_main, c);
}

void wb_stop(struct cache *c)
{
	atomic_store(&c->wb.stop, true);
	kick(&c->wb);
	(void)pthread_join(c->wb.thread, NULL);
}
