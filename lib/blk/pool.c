/* SPDX-License-Identifier: BSD-2-Clause */
/* pool.c - see pool.h. */
#include "blk/pool.h"

#include <errno.h>
#include <stdlib.h>

#include "sync/futex.h"
#include "sync/thread.h"

struct pool_call {
	struct pool_call *next;
	struct blk_dev *dev;
	struct blk_io *io;
};

static struct lock_class pool_class = {.name = "blk.pool", .rank = RANK_BLK};

/* The oldest call, or NULL once the pool stops. */
static struct pool_call *call_take(struct blk_pool *pool)
{
	struct pool_call *call;

	mtx_lock(&pool->lock);
	while (pool->first == NULL && !pool->stop) {
		uint32_t seen = atomic_load(&pool->turn);

		pool->idle++;
		mtx_unlock(&pool->lock);
		(void)futex_wait(&pool->turn, seen, FUTEX_FOREVER);
		mtx_lock(&pool->lock);
		pool->idle--;
	}
	call = pool->first;
	if (call != NULL) {
		pool->first = call->next;
		pool->waiting--;
		if (pool->first == NULL)
			pool->last = &pool->first;
	}
	mtx_unlock(&pool->lock);
	return call;
}

static void *pool_body(void *arg)
{
	struct blk_pool *pool = arg;
	struct pool_call *call;

	while ((call = call_take(pool)) != NULL) {
		struct blk_dev *dev = call->dev;
		struct blk_io *io = call->io;

		free(call);
		dev->ops->run(dev, io, 1);
		blk_io_finish(dev, io, io->result);
	}
	return NULL;
}

/* One more thread if there is more work than hands. */
static void thread_add_locked(struct blk_pool *pool)
{
	if (pool->waiting <= pool->idle || pool->started == POOL_THREADS)
		return;
	if (thread_start(&pool->threads[pool->started], pool_body, pool) == 0)
		pool->started++;
}

/* False: there is no thread to do it. */
static bool call_add(struct blk_pool *pool, struct pool_call *call)
{
	bool taken;

	call->next = NULL;
	mtx_lock(&pool->lock);
	pool->waiting++;
	thread_add_locked(pool);
	taken = pool->started > 0;
	if (taken) {
		*pool->last = call;
		pool->last = &call->next;
		(void)atomic_fetch_add(&pool->turn, 1);
	} else {
		pool->waiting--;
	}
	mtx_unlock(&pool->lock);
	return taken;
}

void blk_pool_submit(
	struct blk_pool *pool, struct blk_dev *dev, struct blk_io *io)
{
	struct pool_call *call = malloc(sizeof(*call));

	if (call != NULL) {
		*call = (struct pool_call){.dev = dev, .io = io};
		if (call_add(pool, call)) {
			futex_wake(&pool->turn, 1);
			return;
		}
		free(call);
	}
	dev->ops->run(dev, io, 1);
	blk_io_finish(dev, io, io->result);
}

void blk_pool_init(struct blk_pool *pool)
{
	*pool = (struct blk_pool){0};
	mtx_init(&pool->lock, &pool_class);
	pool->last = &pool->first;
}

void blk_pool_fini(struct blk_pool *pool)
{
	mtx_lock(&pool->lock);
	pool->stop = true;
	(void)atomic_fetch_add(&pool->turn, 1);
	mtx_unlock(&pool->lock);
	futex_wake_all(&pool->turn);
	for (unsigned i = 0; i < pool->started; i++)
		(void)pthread_join(pool->threads[i], NULL);
	mtx_fini(&pool->lock);
}
