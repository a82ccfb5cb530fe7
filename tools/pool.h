/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool.h - work that makes more work, shared by several threads.
 *
 * Jobs are taken last in, first out: a tree is gone through in depth, and
 * what is queued stays within what a few levels of it hold.
 *
 * Who opens the pool works too, in pool_drain(); the other threads start there
 * the first time.
 */
#ifndef TOOLS_POOL_H
#define TOOLS_POOL_H

#include "base/cc.h"

struct pool;

/* Owned by whoever pushes it, and by run() when that is called. */
struct pool_job {
	struct pool_job *next; /* [pool] */
	/* @worker: which thread it is, below the number of threads. */
	void (*run)(struct pool_job *job, unsigned worker);
};

MUST_USE int pool_open(unsigned threads, struct pool **out);

/* Nothing is queued, and nothing runs. */
void pool_close(struct pool *pool);

/* From any thread, inside of jobs too. */
void pool_push(struct pool *pool, struct pool_job *job);

/* CPUs that this process may run on. */
unsigned pool_cpus(void);

/* Work until there are no jobs and none runs. */
void pool_drain(struct pool *pool);

#endif /* TOOLS_POOL_H */
