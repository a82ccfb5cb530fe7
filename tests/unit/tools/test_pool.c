/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pool.c - jobs that make jobs: each runs once, and none after the end. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../cmocka_all.h"
#include "tools/pool.h"

enum { DEPTH = 6, WIDTH = 5, THREADS = 4 };

static struct pool *pool;
static _Atomic unsigned runs;
static _Atomic unsigned running;
static _Atomic bool busy[THREADS];

struct node {
	struct pool_job job;
	unsigned depth;
};

static struct node *node_new(unsigned depth);

static void node_run(struct pool_job *job, unsigned worker)
{
	struct node *node = CONTAINER_OF(job, struct node, job);

	assert_true(worker < THREADS);
	/* A worker's things are its own. */
	assert_false(atomic_exchange(&busy[worker], true));
	atomic_fetch_add(&running, 1);
	for (unsigned i = 0; node->depth < DEPTH && i < WIDTH; i++)
		pool_push(pool, &node_new(node->depth + 1)->job);
	free(node);
	atomic_fetch_add(&runs, 1);
	atomic_fetch_sub(&running, 1);
	atomic_store(&busy[worker], false);
}

static struct node *node_new(unsigned depth)
{
	struct node *node = malloc(sizeof(*node));

	assert_non_null(node);
	*node = (struct node){.job.run = node_run, .depth = depth};
	return node;
}

/* Jobs that a tree of so many levels has. */
static unsigned tree_size(void)
{
	unsigned size = 0;
	unsigned level = 1;

	for (unsigned i = 0; i <= DEPTH; i++, level *= WIDTH)
		size += level;
	return size;
}

static void drain_trees(unsigned threads)
{
	assert_int_equal(pool_open(threads, &pool), 0);
	for (unsigned round = 1; round <= 3; round++) {
		pool_push(pool, &node_new(0)->job);
		pool_drain(pool);
		assert_int_equal(atomic_load(&running), 0);
		assert_int_equal(atomic_load(&runs), round * tree_size());
	}
	pool_close(pool);
	atomic_store(&runs, 0);
}

static void test_pool_alone_runs_each_once(void **state)
{
	(void)state;
	drain_trees(1);
}

static void test_pool_threads_run_each_once(void **state)
{
	(void)state;
	drain_trees(THREADS);
}

static void test_pool_unused_closes(void **state)
{
	(void)state;
	assert_int_equal(pool_open(THREADS, &pool), 0);
	pool_drain(pool);
	pool_close(pool);
	assert_true(pool_cpus() >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool_alone_runs_each_once),
		cmocka_unit_test(test_pool_threads_run_each_once),
		cmocka_unit_test(test_pool_unused_closes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
