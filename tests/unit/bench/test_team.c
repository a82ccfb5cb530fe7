/* SPDX-License-Identifier: BSD-2-Clause */
/* Teams: all members start together, and are measured between two moments. */
#include <errno.h>
#include <sched.h>

#include "../cmocka_all.h"
#include "bench/clock.h"
#include "bench/team.h"

enum { MEMBERS = 5 };

#define MS UINT64_C(1000000)

struct tally {
	_Atomic uint64_t bodies;
	_Atomic uint64_t measured; /* operations, as the members counted */
	_Atomic uint32_t seen;     /* a bit for each index */
};

static int counting_body(struct bench_member *m)
{
	struct tally *tally = bench_arg(m);
	uint64_t measured = 0;

	atomic_fetch_add(&tally->bodies, 1);
	atomic_fetch_or(&tally->seen, 1U << m->index);
	while (bench_next(m)) {
		measured += m->seen == BENCH_MEASURE;
		(void)sched_yield();
	}
	atomic_fetch_add(&tally->measured, measured);
	return 0;
}

static void test_team_counts_measured_operations_only(void **state)
{
	struct tally tally = {0};
	struct bench_plan plan = {.threads = MEMBERS,
		.warm_ns = 20 * MS,
		.measure_ns = 200 * MS,
		.body = counting_body,
		.arg = &tally};
	struct bench_result r;

	(void)state;
	assert_int_equal(bench_team_run(&plan, &r), 0);
	assert_int_equal(atomic_load(&tally.bodies), MEMBERS);
	assert_int_equal(atomic_load(&tally.seen), (1U << MEMBERS) - 1);
	assert_true(r.ops > 0);
	assert_int_equal(r.ops, atomic_load(&tally.measured));
	assert_true(r.ns >= 200 * MS);
	assert_true(r.cost.cpu_ns > 0);
}

static int sleeping_body(struct bench_member *m)
{
	while (bench_next(m))
		bench_sleep_ns(MS);
	return 0;
}

static void test_team_sleeps_are_switches_not_cpu_time(void **state)
{
	struct bench_plan plan = {.threads = 1,
		.warm_ns = 1 * MS,
		.measure_ns = 200 * MS,
		.body = sleeping_body};
	struct bench_result r;

	(void)state;
	assert_int_equal(bench_team_run(&plan, &r), 0);
	assert_true(r.ops > 0);
	/* The last sleep may have ended in another phase. */
	assert_true(r.cost.slept + 1 >= r.ops);
	assert_true(r.cost.cpu_ns < r.ns);
}

static int failing_body(struct bench_member *m)
{
	return m->index == 1 ? -ENOSPC : 0;
}

static void test_team_error_of_a_body_is_told(void **state)
{
	struct bench_plan plan = {.threads = 2,
		.warm_ns = 1 * MS,
		.measure_ns = 1 * MS,
		.body = failing_body};
	struct bench_result r;

	(void)state;
	assert_int_equal(bench_team_run(&plan, &r), -ENOSPC);
}

static void test_clock_ticks_agree_with_nanoseconds(void **state)
{
	uint64_t ns = bench_now_ns();
	uint64_t ticks = bench_tick_first();
	double by_ticks;
	double by_ns;

	(void)state;
	bench_sleep_ns(20 * MS);
	by_ticks = (double)(bench_tick_last() - ticks) * bench_ns_per_tick();
	by_ns = (double)(bench_now_ns() - ns);
	/* The second clock ran longer: it was also on while ticks were
	 * compared with it. */
	assert_true(by_ticks >= 20.0 * MS * 0.9);
	assert_true(by_ticks <= by_ns * 1.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_team_counts_measured_operations_only),
		cmocka_unit_test(test_team_sleeps_are_switches_not_cpu_time),
		cmocka_unit_test(test_team_error_of_a_body_is_told),
		cmocka_unit_test(test_clock_ticks_agree_with_nanoseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
