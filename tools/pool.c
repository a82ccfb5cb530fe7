/* SPDX-License-Identifier: BSD-2-Clause */
/* pool.c - see pool.h: one stack under one lock; jobs are large. */
#include "tools/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

struct pool_thread {
	struct pool *pool;
	unsigned index;
	pthread_t thread;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t more;  /* a job, the end of all jobs, or of the pool */
	struct pool_job *top; /* [lock] */
	unsigned running;     /* [lock] jobs taken and not ended */
	unsigned waiting;     /* [lock] threads */
	bool closing;         /* [lock] */
	unsigned started;     /* [opener] of @threads, after the opener's own */
	unsigned thread_count; /* [const] */
	struct pool_thread threads[];
};

unsigned pool_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0
		       ? (unsigned)CPU_COUNT(&set)
		       : 1;
}

int pool_open(unsigned threads, struct pool **out)
{
	struct pool *pool =
		calloc(1, sizeof(*pool) + threads * sizeof(pool->threads[0]));

	if (pool == NULL)
		return -ENOMEM;
	(void)pthread_mutex_init(&pool->lock, NULL);
	(void)pthread_cond_init(&pool->more, NULL);
	pool->thread_count = threads;
	*out = pool;
	return 0;
}

void pool_close(struct pool *pool)
{
	if (pool == NULL)
		return;
	(void)pthread_mutex_lock(&pool->lock);
	pool->closing = true;
	(void)pthread_cond_broadcast(&pool->more);
	(void)pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->started; i++)
		(void)pthread_join(pool->threads[i].thread, NULL);
	(void)pthread_cond_destroy(&pool->more);
	(void)pthread_mutex_destroy(&pool->lock);
	free(pool);
}

void pool_push(struct pool *pool, struct pool_job *job)
{
	(void)pthread_mutex_lock(&pool->lock);
	job->next = pool->top;
	pool->top = job;
	if (pool->waiting != 0)
		(void)pthread_cond_signal(&pool->more);
	(void)pthread_mutex_unlock(&pool->lock);
}

static void run_top(struct pool *pool, unsigned worker)
{
	struct pool_job *job = pool->top;

	pool->top = job->next;
	pool->running++;
	(void)pthread_mutex_unlock(&pool->lock);
	job->run(job, worker);
	(void)pthread_mutex_lock(&pool->lock);
	pool->running--;
	if (pool->running == 0 && pool->top == NULL)
		(void)pthread_cond_broadcast(&pool->more);
}

static void wait_for_more(struct pool *pool)
{
	pool->waiting++;
	(void)pthread_cond_wait(&pool->more, &pool->lock);
	pool->waiting--;
}

static void *thread_main(void *arg)
{
	struct pool_thread *self = arg;
	struct pool *pool = self->pool;

	(void)pthread_mutex_lock(&pool->lock);
	while (!pool->closing) {
		if (pool->top != NULL)
			run_top(pool, self->index);
		else
			wait_for_more(pool);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Fewer threads are slower, but no failure. */
static void threads_start(struct pool *pool)
{
	while (pool->started + 1 < pool->thread_count) {
		struct pool_thread *t = &pool->threads[pool->started];

		t->pool = pool;
		t->index = pool->started + 1;
		if (pthread_create(&t->thread, NULL, thread_main, t) != 0) {
			pool->thread_count = pool->started + 1;
			return;
		}
		pool->started++;
	}
}

void pool_drain(struct pool *pool)
{
	threads_start(pool);
	(void)pthread_mutex_lock(&pool->lock);
	while (pool->top != NULL || pool->running != 0) {
		if (pool->top != NULL)
			run_top(pool, 0);
		else
			wait_for_more(pool);
	}
	(void)pthread_mutex_unlock(&pool->lock);
}
