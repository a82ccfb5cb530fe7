/* SPDX-License-Identifier: BSD-2-Clause */
/* Grids: runs go round, values land where they belong, pairs are compared. */
#include <errno.h>
#include <math.h>

#include "../cmocka_all.h"
#include "bench/grid.h"

enum { RUNS = 3 };

static const char *const blocks[] = {"one", "two"};
static const char *const rows[] = {"new", "old"};
static const struct bench_metric metrics[] = {{"a", "a", 0}, {"b", "b", 0}};

struct log {
	unsigned count;
	unsigned cell[2 * 2 * RUNS]; /* ten times block, plus row */
	unsigned fail_at;            /* 0: never */
};

/* Each value says where it comes from. */
static int log_run(void *arg, unsigned block, unsigned row, double *values)
{
	struct log *log = arg;
	unsigned run = log->count / 4;

	log->cell[log->count++] = block * 10 + row;
	if (log->fail_at == log->count)
		return -EIO;
	values[0] = block * 100 + row * 10 + run;
	values[1] = -values[0];
	return 0;
}

static struct bench_grid grid_of(
	int (*run)(void *, unsigned, unsigned, double *), void *arg)
{
	return (struct bench_grid){.name = "test",
		.title = "test",
		.block_count = 2,
		.blocks = blocks,
		.row_count = 2,
		.rows = rows,
		.metric_count = 2,
		.metrics = metrics,
		.runs = RUNS,
		.run = run,
		.arg = arg};
}

static void test_grid_runs_go_round(void **state)
{
	static const unsigned round[] = {0, 1, 10, 11};
	struct log log = {0};
	struct bench_grid g = grid_of(log_run, &log);

	(void)state;
	assert_int_equal(bench_grid_run(&g), 0);
	assert_int_equal(log.count, 4 * RUNS);
	for (unsigned i = 0; i < log.count; i++)
		assert_int_equal(log.cell[i], round[i % 4]);
	bench_grid_fini(&g);
}

static void test_grid_values_stay_with_their_cell(void **state)
{
	struct log log = {0};
	struct bench_grid g = grid_of(log_run, &log);

	(void)state;
	assert_int_equal(bench_grid_run(&g), 0);
	for (unsigned block = 0; block < 2; block++)
		for (unsigned row = 0; row < 2; row++)
			for (unsigned run = 0; run < RUNS; run++) {
				double want = block * 100 + row * 10 + run;

				assert_true(bench_grid_cell(&g, block, row,
						    0)[run] == want);
				assert_true(bench_grid_cell(&g, block, row,
						    1)[run] == -want);
			}
	assert_true(bench_grid_summary(&g, 1, 1, 0).median == 111);
	bench_grid_fini(&g);
}

static void test_grid_failed_run_ends_it(void **state)
{
	struct log log = {.fail_at = 6};
	struct bench_grid g = grid_of(log_run, &log);

	(void)state;
	assert_int_equal(bench_grid_run(&g), -EIO);
	assert_int_equal(log.count, 6);
	bench_grid_fini(&g);
}

/* The machine is twice as slow in every other run: pairs do not see it. */
static int uneven_run(void *arg, unsigned block, unsigned row, double *values)
{
	unsigned *count = arg;
	double slow = *count / 4 % 2 ? 2 : 1;

	(*count)++;
	values[0] = (block + 1) * (row + 1) / slow;
	return 0;
}

static void test_grid_ratio_compares_pairs(void **state)
{
	unsigned count = 0;
	struct bench_grid g = grid_of(uneven_run, &count);
	struct bench_place low = {
		bench_grid_block(&g, "one"), bench_grid_row(&g, "new")};
	struct bench_place high = {
		bench_grid_block(&g, "two"), bench_grid_row(&g, "old")};
	struct bench_place nowhere = {0, bench_grid_row(&g, "none")};

	(void)state;
	assert_int_equal(bench_grid_run(&g), 0);
	assert_true(fabs(bench_grid_ratio(&g, high, low) - 4) < 1e-9);
	assert_true(bench_grid_ratio(&g, nowhere, low) < 0);
	assert_true(bench_grid_ratio(&g, low, nowhere) < 0);
	bench_grid_fini(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grid_runs_go_round),
		cmocka_unit_test(test_grid_values_stay_with_their_cell),
		cmocka_unit_test(test_grid_failed_run_ends_it),
		cmocka_unit_test(test_grid_ratio_compares_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
