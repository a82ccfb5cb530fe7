/* SPDX-License-Identifier: BSD-2-Clause */
/* Promises of space: never more than there is, and the last unit is found. */
#include <errno.h>
#include <pthread.h>

#include "../cmocka_all.h"
#include "alloc/alloc.h"
#include "base/cpu.h"

enum { CPUS = 64, THREADS = 8, EACH = 20000, FREE = 50000 };

static _Thread_local uint32_t cpu;

static uint32_t this_cpu(void)
{
	return cpu;
}

static void test_space_last_unit_is_found_on_any_cpu_a5(void **state)
{
	struct alloc_space *s;
	uint32_t got = 0;

	(void)state;
	cpu_override(this_cpu, CPUS);
	assert_int_equal(alloc_space_open(FREE, &s), 0);
	while (alloc_space_reserve(s, 1) == 0) {
		got++;
		cpu = got % CPUS;
	}
	assert_int_equal(got, FREE);
	assert_int_equal(alloc_space_left(s), 0);
	cpu = 3;
	alloc_space_return(s, 5);
	cpu = 9;
	assert_int_equal(alloc_space_reserve(s, 6), -ENOSPC);
	assert_int_equal(alloc_space_reserve(s, 5), 0);
	assert_int_equal(alloc_space_reserve(s, 1), -ENOSPC);
	alloc_space_return(s, FREE);
	assert_int_equal(alloc_space_left(s), FREE);
	assert_int_equal(alloc_space_reserve(s, FREE + 1), -ENOSPC);
	assert_int_equal(alloc_space_reserve(s, FREE), 0);
	alloc_space_close(s);
	cpu_override(NULL, 0);
}

struct worker {
	struct alloc_space *s;
	uint32_t number;
	uint32_t got;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	for (uint32_t i = 0; i < EACH; i++) {
		cpu = (w->number * 17 + i) % CPUS;
		if (alloc_space_reserve(w->s, 1 + i % 3) == 0)
			w->got += 1 + i % 3;
		if (i % 5 == 0 && w->got >= 2) {
			alloc_space_return(w->s, 2);
			w->got -= 2;
		}
	}
	return NULL;
}

static void test_space_threads_never_promise_more_than_there_is_a5(void **state)
{
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	struct alloc_space *s;
	uint64_t got = 0;

	(void)state;
	cpu_override(this_cpu, CPUS);
	assert_int_equal(alloc_space_open(FREE, &s), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.s = s, .number = i};
		assert_int_equal(
			pthread_create(&threads[i], NULL, work, &workers[i]),
			0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		got += workers[i].got;
	}
	assert_true(got <= FREE);
	assert_int_equal(got + alloc_space_left(s), FREE);
	assert_int_equal(alloc_space_reserve(s, alloc_space_left(s)), 0);
	assert_int_equal(alloc_space_left(s), 0);
	alloc_space_close(s);
	cpu_override(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_space_last_unit_is_found_on_any_cpu_a5),
		cmocka_unit_test(
			test_space_threads_never_promise_more_than_there_is_a5),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
