/* SPDX-License-Identifier: BSD-2-Clause */
/* Summaries of runs against values worked out by hand. */
#include <math.h>

#include "../cmocka_all.h"
#include "bench/stats.h"

static void close_to(double got, double want)
{
	assert_true(fabs(got - want) < 1e-9);
}

static void test_stats_known_values_summarized(void **state)
{
	/* The textbook's example: mean 5, squares of differences sum to 32. */
	const double values[] = {9, 2, 4, 7, 4, 4, 5, 5};
	struct bench_summary s = bench_summarize(values, 8);

	(void)state;
	close_to(s.median, 4.5);
	close_to(s.mean, 5);
	close_to(s.deviation, sqrt(32.0 / 7));
	close_to(bench_spread(&s), sqrt(32.0 / 7) / 5 * 100);
	close_to(values[0], 9);
}

static void test_stats_outlier_leaves_median_alone(void **state)
{
	const double values[] = {10, 11, 1e9, 9, 10.5};
	struct bench_summary s = bench_summarize(values, 5);

	(void)state;
	close_to(s.median, 10.5);
	assert_true(bench_spread(&s) > 10);
}

static void test_stats_one_run_has_no_deviation(void **state)
{
	const double value = -3;
	const double nothing = 0;
	struct bench_summary s = bench_summarize(&value, 1);

	(void)state;
	close_to(s.median, -3);
	close_to(s.deviation, 0);
	s = bench_summarize(&nothing, 1);
	close_to(bench_spread(&s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stats_known_values_summarized),
		cmocka_unit_test(test_stats_outlier_leaves_median_alone),
		cmocka_unit_test(test_stats_one_run_has_no_deviation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
