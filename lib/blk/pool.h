/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool.h - threads that carry out submitted requests; private to lib/blk.
 *
 * For devices whose every call waits.  A pool starts no thread before it is
 * used, then as many as there is work for, up to a few.
 */
#ifndef BLK_POOL_H
#define BLK_POOL_H

#include <pthread.h>
#include <stdatomic.h>

#include "blk/blk_int.h"
#include "sync/lock.h"

enum { POOL_THREADS = 8 };

struct pool_call;

struct blk_pool {
	struct mtx lock;
	_Atomic uint32_t turn;   /* [atomic] futex; moves with each call */
	struct pool_call *first; /* [lock] oldest first */
	struct pool_call **last; /* [lock] where the next one goes */
	unsigned waiting;        /* [lock] calls on the list */
	unsigned idle;           /* [lock] threads that sleep */
	unsigned started;        /* [lock] */
	bool stop;               /* [lock] */
	pthread_t threads[POOL_THREADS]; /* [lock] */
};

void blk_pool_init(struct blk_pool *pool);

/* No call may be in flight. */
void blk_pool_fini(struct blk_pool *pool);

/*
 * Run @io on @dev (dev->ops->run) in a thread of the pool, then finish it.
 * Where no thread can be had, this happens before the call returns.
 */
void blk_pool_submit(
	struct blk_pool *pool, struct blk_dev *dev, struct blk_io *io);

#endif /* BLK_POOL_H */
