/* SPDX-License-Identifier: BSD-2-Clause */
/* Sleeping on a word: time limits, and no lost wake-up. */
#include <errno.h>

#include "sync/futex.h"
#include "sync_test.h"

enum { TURNS = 10000 };

static void test_sync_futex_unchanged_word_times_out(void **state)
{
	_Atomic uint32_t word = 7;
	uint64_t start = clock_ns();

	(void)state;
	assert_int_equal(futex_wait(&word, 7, 5000000), -ETIMEDOUT);
	assert_true(clock_ns() - start >= 5000000);
}

static void test_sync_futex_changed_word_returns_at_once(void **state)
{
	_Atomic uint32_t word = 8;

	(void)state;
	assert_int_equal(futex_wait(&word, 7, FUTEX_FOREVER), 0);
}

/* Two threads pass a ball: a lost wake-up would leave both asleep. */
struct table {
	_Atomic uint32_t ball; /* even: ours; odd: the other's */
};

static void table_play(struct table *t, uint32_t side)
{
	for (uint32_t turn = side; turn < TURNS; turn += 2) {
		uint32_t seen;

		while ((seen = atomic_load(&t->ball)) != turn)
			(void)futex_wait(&t->ball, seen, FUTEX_FOREVER);
		atomic_store(&t->ball, turn + 1);
		futex_wake(&t->ball, 1);
	}
}

static void *table_other(void *arg)
{
	table_play(arg, 1);
	return NULL;
}

static void test_sync_futex_ping_pong_loses_no_wake_up(void **state)
{
	struct table t = {0};
	pthread_t other;

	(void)state;
	assert_int_equal(pthread_create(&other, NULL, table_other, &t), 0);
	table_play(&t, 0);
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_int_equal(atomic_load(&t.ball), TURNS);
}

/* All threads meet, again and again: wake_all must reach every one. */
struct gate {
	_Atomic uint32_t round;
	_Atomic uint32_t here;
	_Atomic uint32_t passed;
};

enum { MEETINGS = 500 };

static void *gate_pass(void *arg)
{
	struct gate *g = arg;

	for (uint32_t i = 0; i < MEETINGS; i++) {
		if (atomic_fetch_add(&g->here, 1) == THREADS - 1) {
			atomic_store(&g->here, 0);
			atomic_store(&g->round, i + 1);
			futex_wake_all(&g->round);
		}
		while (atomic_load(&g->round) == i)
			(void)futex_wait(&g->round, i, FUTEX_FOREVER);
		atomic_fetch_add(&g->passed, 1);
	}
	return NULL;
}

static void test_sync_futex_wake_all_reaches_everybody(void **state)
{
	struct gate g = {0};

	(void)state;
	threads_run(gate_pass, gate_pass, &g);
	assert_int_equal(atomic_load(&g.passed), MEETINGS * THREADS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sync_futex_unchanged_word_times_out),
		cmocka_unit_test(test_sync_futex_changed_word_returns_at_once),
		cmocka_unit_test(test_sync_futex_ping_pong_loses_no_wake_up),
		cmocka_unit_test(test_sync_futex_wake_all_reaches_everybody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
