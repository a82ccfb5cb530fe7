/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Read sections: what they reach stays alive (AddressSanitizer would see a
 * freed object, the poison shows it in other builds, ThreadSanitizer checks
 * that the edges are drawn), and nobody waits who should not.
 */
#include <stdlib.h>

#include "base/cc.h"
#include "base/cpu.h"
#include "sync/lock.h"
#include "sync/rcu.h"
#include "sync_test.h"

enum { SWAPS = 2000, ALIVE = 0x600d, DEAD = 0xdead };

struct thing {
	struct rcu_node node;
	int state; /* plain: written before publication and at the end only */
};

struct world {
	_Atomic(struct thing *) now; /* [rcu] */
	_Atomic uint32_t readers_up;
	_Atomic bool stop;
	_Atomic uint32_t dead_seen;
};

static _Atomic uint32_t freed;

static struct thing *thing_new(void)
{
	struct thing *t = malloc(sizeof(*t));

	assert_non_null(t);
	t->state = ALIVE;
	return t;
}

static void thing_free(struct rcu_node *node)
{
	struct thing *t = CONTAINER_OF(node, struct thing, node);

	t->state = DEAD;
	free(t);
	atomic_fetch_add(&freed, 1);
}

static void *world_read(void *arg)
{
	struct world *w = arg;

	atomic_fetch_add(&w->readers_up, 1);
	while (!atomic_load(&w->stop)) {
		rcu_begin();

		struct thing *t = RCU_DEREF(w->now);

		for (int i = 0; i < 20; i++) {
			rcu_begin(); /* nests */
			if (t->state != ALIVE)
				atomic_fetch_add(&w->dead_seen, 1);
			rcu_end();
		}
		rcu_end();
	}
	return NULL;
}

static void swap_deferring(struct thing *old)
{
	rcu_free(&old->node, thing_free);
}

static void swap_waiting(struct thing *old)
{
	rcu_wait();
	thing_free(&old->node);
}

static void world_run(void (*retire)(struct thing *old), uint32_t swaps)
{
	struct world w = {.stop = false};
	pthread_t readers[3];

	atomic_store(&freed, 0);
	RCU_ASSIGN(w.now, thing_new());
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			pthread_create(&readers[i], NULL, world_read, &w), 0);
	while (atomic_load(&w.readers_up) < 3)
		(void)usleep(100);
	for (uint32_t i = 0; i < swaps; i++) {
		struct thing *old = atomic_load(&w.now);

		RCU_ASSIGN(w.now, thing_new());
		retire(old);
		if (i % 64 == 0)
			(void)usleep(100); /* let readers run */
	}
	atomic_store(&w.stop, true);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_join(readers[i], NULL), 0);
	retire(atomic_load(&w.now));
	rcu_drain();
	assert_int_equal(atomic_load(&freed), swaps + 1);
	assert_int_equal(atomic_load(&w.dead_seen), 0);
}

static void test_sync_rcu_deferred_free_spares_readers(void **state)
{
	(void)state;
	world_run(swap_deferring, SWAPS);
}

static void test_sync_rcu_wait_spares_readers(void **state)
{
	(void)state;
	world_run(swap_waiting, 20);
}

/* ---- waiting ------------------------------------------------------------- */

struct hold {
	_Atomic uint32_t phase; /* 1: inside; 2: may end */
	_Atomic bool ended;
};

static void *hold_section(void *arg)
{
	struct hold *h = arg;

	rcu_begin();
	atomic_store(&h->phase, 1);
	while (atomic_load(&h->phase) != 2)
		(void)usleep(100);
	atomic_store(&h->ended, true);
	rcu_end();
	return NULL;
}

static void *hold_release_later(void *arg)
{
	struct hold *h = arg;

	(void)usleep(20000);
	atomic_store(&h->phase, 2);
	return NULL;
}

static void hold_around(void (*wait)(void))
{
	struct hold h = {0};
	pthread_t reader;
	pthread_t timer;

	assert_int_equal(pthread_create(&reader, NULL, hold_section, &h), 0);
	while (atomic_load(&h.phase) != 1)
		(void)usleep(100);
	assert_int_equal(
		pthread_create(&timer, NULL, hold_release_later, &h), 0);
	wait();
	assert_true(atomic_load(&h.ended));
	assert_int_equal(pthread_join(reader, NULL), 0);
	assert_int_equal(pthread_join(timer, NULL), 0);
}

static void test_sync_rcu_wait_outlasts_open_section(void **state)
{
	(void)state;
	hold_around(rcu_wait);
}

static void free_and_drain(void)
{
	rcu_free(&thing_new()->node, thing_free);
	rcu_drain();
	assert_int_equal(atomic_load(&freed), 1);
}

static void test_sync_rcu_drain_outlasts_open_section(void **state)
{
	(void)state;
	atomic_store(&freed, 0);
	hold_around(free_and_drain);
}

/* Nobody drains: the background thread alone frees, also after it has gone to
 * sleep and must be woken. */
static void wait_freed(uint32_t count)
{
	for (int i = 0; atomic_load(&freed) != count; i++) {
		assert_true(i < 5000);
		(void)usleep(1000);
	}
}

static void test_sync_rcu_free_needs_no_drain(void **state)
{
	(void)state;
	atomic_store(&freed, 0);
	rcu_free(&thing_new()->node, thing_free);
	wait_freed(1);
	(void)usleep(500000); /* longer than the reclaimer stays awake */
	rcu_free(&thing_new()->node, thing_free);
	wait_freed(2);
}

/* ---- many CPUs, many threads ----------------------------------------------- */

static _Thread_local uint32_t pretended;

static uint32_t pretend_cpu(void)
{
	return pretended++ % 64;
}

static void *free_many(void *arg)
{
	for (int i = 0; i < 500; i++) {
		rcu_begin();
		rcu_free(&thing_new()->node, thing_free);
		rcu_end();
		if (i % 100 == 0)
			rcu_drain();
	}
	return arg;
}

static void test_sync_rcu_free_from_many_cpus_drains_all(void **state)
{
	(void)state;
	rcu_drain();
	atomic_store(&freed, 0);
	cpu_override(pretend_cpu, 64);
	threads_run(free_many, free_many, NULL);
	cpu_override(NULL, 0); /* what is queued must be found all the same */
	rcu_drain();
	assert_int_equal(atomic_load(&freed), THREADS * 500);
}

/* ---- rules ------------------------------------------------------------------- */

static struct lock_class buf_class = {.name = "buffer", .rank = RANK_BUF};
static struct lock_class map_class = {.name = "map", .rank = RANK_MAP};
static struct mtx buf_lock = MTX_INIT(&buf_class);
static struct mtx map_lock = MTX_INIT(&map_class);

static void wait_inside(void)
{
	rcu_begin();
	rcu_wait();
}

static void drain_inside(void)
{
	rcu_begin();
	rcu_drain();
}

static void lock_low_inside(void) NO_LOCK_ANALYSIS
{
	rcu_begin();
	mtx_lock(&map_lock);
}

static void wait_with_lock(void) NO_LOCK_ANALYSIS
{
	mtx_lock(&buf_lock);
	rcu_wait();
}

static void wait_in_operation(void)
{
	rank_enter(RANK_JNL_OP, &buf_lock);
	rcu_wait();
}

static void test_sync_rcu_rules_broken_aborts(void **state)
{
	(void)state;
	assert_aborts(wait_inside, "lock order", "read section");
	assert_aborts(drain_inside, "lock order", "read section");
	assert_aborts(lock_low_inside, "'map'", "read section");
	assert_aborts(wait_with_lock, "'buffer'", "wait");
	assert_aborts(wait_in_operation, "operation", "wait");
}

static void test_sync_rcu_high_rank_inside_is_allowed(void **state)
{
	(void)state;
	rcu_begin();
	mtx_lock(&buf_lock);
	mtx_unlock(&buf_lock);
	rcu_end();
	rcu_wait();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sync_rcu_deferred_free_spares_readers),
		cmocka_unit_test(test_sync_rcu_wait_spares_readers),
		cmocka_unit_test(test_sync_rcu_wait_outlasts_open_section),
		cmocka_unit_test(test_sync_rcu_drain_outlasts_open_section),
		cmocka_unit_test(test_sync_rcu_free_needs_no_drain),
		cmocka_unit_test(test_sync_rcu_free_from_many_cpus_drains_all),
		cmocka_unit_test(test_sync_rcu_rules_broken_aborts),
		cmocka_unit_test(test_sync_rcu_high_rank_inside_is_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
