/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads take, free, reserve and plan, transaction after transaction, while
 * another unloads whatever it may.  Each unit has one owner at a time (A1),
 * and none gets what its own transaction freed (A2).
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "../seed.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "disk.h"

enum {
	CPUS = 16,
	THREADS = 6,
	TRANSACTIONS = 40,
	OPS = 60,
	RUNS = 64,
	UNITS = (GROUPS - 1) * GROUP + TAIL,
};

static _Thread_local uint32_t cpu;

static uint32_t this_cpu(void)
{
	return cpu;
}

struct race {
	struct disk disk;
	pthread_barrier_t barrier;
	_Atomic bool owned[UNITS];
	_Atomic jnl_tid freed[UNITS]; /* in which transaction, last */
	_Atomic bool stop;
};

struct worker {
	struct race *race;
	uint64_t random;
	struct alloc_run run[RUNS];
	uint32_t run_count;
	struct alloc_window window;
};

static void own(struct race *r, const struct alloc_run *run)
{
	for (uint64_t u = run->start; u < run->start + run->count; u++) {
		assert_false(atomic_exchange(&r->owned[u], true));
		assert_int_not_equal(atomic_load(&r->freed[u]), r->disk.tid);
	}
}

static void disown(struct race *r, const struct alloc_run *run)
{
	for (uint64_t u = run->start; u < run->start + run->count; u++) {
		atomic_store(&r->freed[u], r->disk.tid);
		assert_true(atomic_exchange(&r->owned[u], false));
	}
}

static void worker_take(struct worker *w)
{
	struct race *r = w->race;
	struct alloc_want want = {
		.goal = hash_next(&w->random) % UNITS,
		.count = (uint32_t)(1 + hash_next(&w->random) % 200),
		.spread = hash_next(&w->random) % 4 == 0,
	};
	int err;

	if (hash_next(&w->random) % 2 == 0) {
		want.window = &w->window;
		want.goal = w->window.next;
	}
	do {
		err = alloc_plan(r->disk.a, want.goal, want.count);
		assert_true(err == 0 || err == -ENOSPC);
		err = alloc_take(
			r->disk.a, r->disk.tid, &want, &w->run[w->run_count]);
	} while (err == -EAGAIN);
	if (err == 0)
		own(r, &w->run[w->run_count++]);
	else
		assert_int_equal(err, -ENOSPC);
}

static void worker_free(struct worker *w)
{
	struct race *r = w->race;
	uint32_t which = (uint32_t)(hash_next(&w->random) % w->run_count);
	struct alloc_run run = w->run[which];
	int err;

	w->run[which] = w->run[--w->run_count];
	disown(r, &run);
	do {
		assert_int_equal(
			alloc_plan_free(r->disk.a, run.start, run.count), 0);
		err = alloc_free(r->disk.a, r->disk.tid, run.start, run.count);
	} while (err == -EAGAIN);
	assert_int_equal(err, 0);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	for (unsigned t = 0; t < TRANSACTIONS; t++) {
		for (unsigned i = 0; i < OPS; i++) {
			cpu = (uint32_t)(hash_next(&w->random) % CPUS);
			if (w->run_count == RUNS ||
				(w->run_count != 0 &&
					hash_next(&w->random) % 3 == 0))
				worker_free(w);
			else
				worker_take(w);
			if (hash_next(&w->random) % 50 == 0)
				alloc_window_drop(w->race->disk.a, &w->window);
		}
		/* The main thread commits between the two. */
		(void)pthread_barrier_wait(&w->race->barrier);
		(void)pthread_barrier_wait(&w->race->barrier);
	}
	alloc_window_drop(w->race->disk.a, &w->window);
	return NULL;
}

static void *trim_main(void *arg)
{
	struct race *r = arg;

	while (!atomic_load(&r->stop))
		alloc_trim(r->disk.a);
	return NULL;
}

static uint64_t owned_count(struct race *r)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < UNITS; i++)
		sum += atomic_load(&r->owned[i]);
	return sum;
}

static void race_run(struct race *r, uint64_t seed)
{
	static struct worker workers[THREADS];
	pthread_t threads[THREADS];
	pthread_t trimmer;

	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.race = r, .random = seed + i};
		assert_int_equal(pthread_create(&threads[i], NULL, worker_main,
					 &workers[i]),
			0);
	}
	assert_int_equal(pthread_create(&trimmer, NULL, trim_main, r), 0);
	for (unsigned t = 0; t < TRANSACTIONS; t++) {
		(void)pthread_barrier_wait(&r->barrier);
		disk_fold(&r->disk);
		alloc_release(r->disk.a, r->disk.tid);
		r->disk.tid++;
		(void)pthread_barrier_wait(&r->barrier);
	}
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	atomic_store(&r->stop, true);
	assert_int_equal(pthread_join(trimmer, NULL), 0);
}

static void test_alloc_threads_and_unloading_a1_a2_a3(void **state)
{
	uint64_t seed = test_seed();
	static struct race r;

	(void)state;
	cpu_override(this_cpu, CPUS);
	for (int mode = ALLOC_CAS; mode <= ALLOC_HELD; mode++) {
		memset(&r, 0, sizeof(r));
		disk_init(&r.disk, (enum alloc_mode)mode);
		assert_int_equal(
			pthread_barrier_init(&r.barrier, NULL, THREADS + 1), 0);
		race_run(&r, seed);
		assert_int_equal(disk_used(&r.disk), owned_count(&r));
		assert_true(disk_used(&r.disk) != 0);
		alloc_trim(r.disk.a);
		disk_fini(&r.disk);
		assert_int_equal(pthread_barrier_destroy(&r.barrier), 0);
	}
	cpu_override(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc_threads_and_unloading_a1_a2_a3),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
