/* SPDX-License-Identifier: BSD-2-Clause */
/* What is taken, where, and when it may be taken again; in each mode. */
#include <errno.h>

#include "base/cpu.h"
#include "disk.h"

typedef void (*body)(struct disk *d);

static void run_modes(body test)
{
	for (int mode = ALLOC_CAS; mode <= ALLOC_HELD; mode++) {
		struct disk d;

		disk_init(&d, (enum alloc_mode)mode);
		test(&d);
		disk_fini(&d);
	}
}

static int take(struct disk *d, uint64_t goal, uint32_t count,
	struct alloc_window *w, struct alloc_run *out)
{
	struct alloc_want want = {.goal = goal, .count = count, .window = w};

	return alloc_take(d->a, d->tid, &want, out);
}

static void plan_all(struct disk *d)
{
	assert_int_equal(alloc_plan_free(d->a, 0, disk_units()), 0);
}

/* Take until nothing is left; returns how many. */
static uint64_t take_all(struct disk *d)
{
	struct alloc_run run;
	uint64_t sum = 0;
	int err;

	while ((err = take(d, 0, 777, NULL, &run)) == 0)
		sum += run.count;
	assert_int_equal(err, -ENOSPC);
	return sum;
}

/* ---- loading ------------------------------------------------------------------ */

static void unplanned_body(struct disk *d)
{
	struct alloc_run run = {.start = 99};

	assert_int_equal(take(d, 5000, 10, NULL, &run), -EAGAIN);
	assert_int_equal(run.start, 99);
	assert_int_equal(alloc_free(d->a, d->tid, 5000, 1), -EAGAIN);
	assert_int_equal(alloc_plan(d->a, 5000, 10), 0);
	assert_int_equal(d->loads, 1);
	assert_int_equal(take(d, 5000, 10, NULL, &run), 0);
	assert_int_equal(run.start, 5000);
	assert_int_equal(run.count, 10);
	disk_commit(d);
	assert_int_equal(disk_used(d), 10);
}

static void test_alloc_take_unplanned_is_eagain(void **state)
{
	(void)state;
	run_modes(unplanned_body);
}

static void test_alloc_bitmap_that_contradicts_is_out_of_use(void **state)
{
	struct alloc_stats stats;
	struct alloc_run run;
	struct disk d = {.load_error = -EIO, .load_error_at = 2};

	(void)state;
	for (uint32_t i = 0; i < GROUPS; i++)
		d.free[i] = disk_group_size(i);
	d.used[1][3] = 1; /* and the descriptor says that all is free */
	disk_open(&d, ALLOC_CAS);
	assert_int_equal(alloc_plan_free(d.a, GROUP, 1), -EUCLEAN);
	assert_int_equal(alloc_plan_free(d.a, 2 * GROUP, 1), -EUCLEAN);
	assert_int_equal(alloc_plan_free(d.a, GROUP, 1), -EUCLEAN);
	assert_int_equal(d.loads, 2);
	alloc_stats_read(d.a, &stats);
	assert_int_equal(stats.out_of_use, 2);
	assert_int_equal(alloc_plan(d.a, GROUP, 1), 0);
	assert_int_equal(take(&d, GROUP, 1, NULL, &run), 0);
	assert_true(run.start >= 3 * GROUP || run.start < GROUP);
	disk_commit(&d);
	disk_fini(&d);
}

static void test_alloc_load_without_memory_may_be_tried_again(void **state)
{
	struct disk d = {.load_error = -ENOMEM};

	(void)state;
	d.free[0] = GROUP;
	disk_open(&d, ALLOC_CAS);
	assert_int_equal(alloc_plan(d.a, 0, 1), -ENOMEM);
	d.load_error = 0;
	assert_int_equal(alloc_plan(d.a, 0, 1), 0);
	disk_fini(&d);
}

static void test_alloc_trim_keeps_what_records_and_windows_need(void **state)
{
	struct alloc_window w = {0};
	struct alloc_stats stats;
	struct alloc_run run;
	struct disk d;

	(void)state;
	disk_init(&d, ALLOC_CAS); /* nothing may stay loaded without need */
	plan_all(&d);
	assert_int_equal(take(&d, 0, 100, NULL, &run), 0);
	assert_int_equal(take(&d, GROUP, 1, &w, &run), 0);
	alloc_trim(d.a);
	alloc_stats_read(d.a, &stats);
	assert_int_equal(stats.loaded, 2); /* A3 */
	disk_commit(&d);
	alloc_trim(d.a);
	alloc_stats_read(d.a, &stats);
	assert_int_equal(stats.loaded, 1);
	alloc_window_drop(d.a, &w);
	alloc_trim(d.a);
	alloc_stats_read(d.a, &stats);
	assert_int_equal(stats.loaded, 0);
	/* And what comes back is what was folded. */
	assert_int_equal(alloc_plan(d.a, 0, 1), 0);
	assert_int_equal(take(&d, 0, 1, NULL, &run), 0);
	assert_int_equal(run.start, 100);
	disk_commit(&d);
	disk_fini(&d);
}

/* ---- freeing ------------------------------------------------------------------- */

static void a2_body(struct disk *d)
{
	struct alloc_run run;

	plan_all(d);
	assert_int_equal(take(d, 10, 20, NULL, &run), 0);
	disk_commit(d);
	assert_int_equal(alloc_free(d->a, d->tid, 10, 20), 0);
	assert_int_equal(take(d, 10, 20, NULL, &run), 0);
	assert_int_equal(run.start, 30);
	disk_fold(d);
	assert_int_equal(take(d, 10, 20, NULL, &run), 0);
	assert_int_equal(run.start, 50);
}

static void test_alloc_freed_is_not_reused_before_release_a2(void **state)
{
	struct alloc_run run;
	struct disk d;

	(void)state;
	for (int mode = ALLOC_CAS; mode <= ALLOC_HELD; mode++) {
		disk_init(&d, (enum alloc_mode)mode);
		a2_body(&d);
		alloc_release(d.a, d.tid);
		d.tid++;
		assert_int_equal(take(&d, 10, 20, NULL, &run), 0);
		assert_int_equal(run.start, 10);
		alloc_close(d.a);
	}
}

static void same_transaction_body(struct disk *d)
{
	struct alloc_run run;

	plan_all(d);
	assert_int_equal(take(d, 10, 20, NULL, &run), 0);
	assert_int_equal(alloc_free(d->a, d->tid, 15, 5), 0);
	disk_commit(d); /* A4: disk_change() sees takes first */
	assert_int_equal(disk_used(d), 15);
	assert_int_equal(take(d, 15, 9, NULL, &run), 0);
	assert_int_equal(run.count, 9);
	assert_int_equal(run.start, 30);
	assert_int_equal(take(d, 15, 5, NULL, &run), 0);
	assert_int_equal(run.start, 15);
	disk_commit(d);
}

static void test_alloc_take_and_free_in_one_transaction_a4(void **state)
{
	(void)state;
	run_modes(same_transaction_body);
}

/* A4: what is folded and not released yet is nobody else's to fold. */
static void test_alloc_late_release_keeps_transactions_apart_a4(void **state)
{
	struct alloc_run run;
	struct disk d;

	(void)state;
	disk_init(&d, ALLOC_CAS);
	plan_all(&d);
	assert_int_equal(take(&d, 10, 20, NULL, &run), 0);
	disk_fold(&d);
	d.tid++;
	assert_int_equal(alloc_free(d.a, d.tid, 10, 5), 0);
	disk_fold(&d);
	d.tid++;
	/* The first and this one have the same parity. */
	assert_int_equal(take(&d, 10, 20, NULL, &run), 0);
	assert_int_equal(run.start, 30);
	assert_true(alloc_check(d.a));
	alloc_release(d.a, d.tid - 2);
	assert_true(alloc_check(d.a));
	assert_int_equal(take(&d, 10, 1, NULL, &run), 0);
	assert_int_equal(run.start, 50);
	alloc_release(d.a, d.tid - 1);
	assert_true(alloc_check(d.a));
	assert_int_equal(take(&d, 10, 5, NULL, &run), 0);
	assert_int_equal(run.start, 10);
	disk_commit(&d);
	assert_int_equal(disk_used(&d), 20 - 5 + 20 + 1 + 5);
	disk_fini(&d);
}

static void test_alloc_free_twice_is_euclean(void **state)
{
	struct alloc_run run;
	struct disk d;

	(void)state;
	disk_init(&d, ALLOC_CAS);
	plan_all(&d);
	assert_int_equal(take(&d, 10, 20, NULL, &run), 0);
	assert_int_equal(alloc_free(d.a, d.tid, 15, 5), 0);
	assert_int_equal(alloc_free(d.a, d.tid, 19, 1), -EUCLEAN);
	assert_int_equal(alloc_free(d.a, d.tid, 10, 20), -EUCLEAN);
	assert_int_equal(alloc_free(d.a, d.tid, 29, 2), -EUCLEAN);
	assert_int_equal(alloc_free(d.a, d.tid, 500, 1), -EUCLEAN);
	assert_int_equal(alloc_free(d.a, d.tid, disk_units() - 1, 2), -EUCLEAN);
	assert_int_equal(alloc_free(d.a, d.tid, disk_units(), 1), -EUCLEAN);
	assert_int_equal(alloc_free(d.a, d.tid, 0, UINT64_MAX), -EUCLEAN);
	disk_commit(&d);
	assert_int_equal(disk_used(&d), 15);
	disk_fini(&d);
}

static uint32_t cpu;

static uint32_t this_cpu(void)
{
	return cpu;
}

static void test_alloc_free_across_groups_is_all_or_nothing(void **state)
{
	struct alloc_run run;
	struct disk d;

	(void)state;
	cpu_override(this_cpu, 8);
	cpu = 5; /* which begins in the middle of other groups */
	disk_init(&d, ALLOC_CAS);
	plan_all(&d);
	assert_int_equal(take_all(&d), disk_units());
	assert_int_equal(alloc_free(d.a, d.tid, GROUP - 5, GROUP + 10), 0);
	disk_commit(&d);
	/* The last of these is free, in another group than the first. */
	assert_int_equal(alloc_free(d.a, d.tid, GROUP - 10, 6), -EUCLEAN);
	assert_int_equal(
		alloc_free(d.a, d.tid, 2 * GROUP + 5, GROUP + 1000), 0);
	assert_int_equal(
		alloc_free(d.a, d.tid, 3 * GROUP, 2 * GROUP), -EUCLEAN);
	assert_int_equal(alloc_free(d.a, d.tid, 3 * GROUP + 1005, 10), 0);
	disk_commit(&d);
	assert_int_equal(disk_used(&d),
		disk_units() - (GROUP + 10) - (GROUP + 1000) - 10);
	assert_int_equal(take(&d, GROUP - 5, GROUP, NULL, &run), 0);
	assert_int_equal(run.start, GROUP);
	assert_int_equal(run.count, GROUP);
	disk_commit(&d);
	disk_fini(&d);
	cpu_override(NULL, 0);
}

/* ---- where ---------------------------------------------------------------------- */

static void full_body(struct disk *d)
{
	struct alloc_run run;

	plan_all(d);
	assert_int_equal(take_all(d), disk_units());
	disk_commit(d);
	assert_int_equal(disk_used(d), disk_units());
	assert_int_equal(alloc_plan(d->a, 0, 1), -ENOSPC);
	assert_int_equal(alloc_free(d->a, d->tid, disk_units() - 1, 1), 0);
	assert_int_equal(take(d, 0, 1, NULL, &run), -ENOSPC);
	disk_commit(d);
	assert_int_equal(take(d, 0, 9, NULL, &run), 0);
	assert_int_equal(run.start, disk_units() - 1);
	assert_int_equal(run.count, 1);
	disk_commit(d);
}

static void test_alloc_takes_every_unit_once_then_enospc_a1(void **state)
{
	(void)state;
	run_modes(full_body);
}

static void windows_body(struct disk *d)
{
	struct alloc_window w[2] = {{0}, {0}};
	uint64_t next[2] = {100, 100};
	unsigned jumps[2] = {0, 0};

	plan_all(d);
	/* Two files that grow by turns, one unit at a time. */
	for (unsigned i = 0; i < 2000; i++) {
		struct alloc_run run;
		unsigned f = i % 2;

		assert_int_equal(take(d, next[f], 1, &w[f], &run), 0);
		jumps[f] += run.start != next[f];
		next[f] = run.start + 1;
	}
	/* 8, 16, 32, ... units at once: not more pieces than windows. */
	assert_true(jumps[0] <= 8);
	assert_true(jumps[1] <= 8);
	alloc_window_drop(d->a, &w[0]);
	alloc_window_drop(d->a, &w[1]);
	disk_commit(d);
	assert_int_equal(disk_used(d), 2000);
}

static void test_alloc_windows_keep_growing_files_together(void **state)
{
	(void)state;
	run_modes(windows_body);
}

static void steal_body(struct disk *d)
{
	struct alloc_window w = {0};
	struct alloc_stats stats;
	struct alloc_run run;
	uint64_t sum = 1;

	plan_all(d);
	assert_int_equal(take(d, 50, 1, &w, &run), 0);
	assert_int_equal(w.left, ALLOC_WINDOW_LEAST);
	sum += take_all(d);
	assert_int_equal(sum, disk_units());
	alloc_stats_read(d->a, &stats);
	assert_int_equal(stats.took_reserved, ALLOC_WINDOW_LEAST);
	assert_int_equal(take(d, w.next, 1, &w, &run), -ENOSPC);
	assert_int_equal(alloc_free(d->a, d->tid, 4000, 10), 0);
	disk_commit(d);
	assert_int_equal(take(d, w.next, 4, &w, &run), 0);
	assert_int_equal(run.start, 4000);
	alloc_window_drop(d->a, &w);
	disk_commit(d);
}

static void test_alloc_reserved_is_taken_when_all_else_is_gone(void **state)
{
	(void)state;
	run_modes(steal_body);
}

static void test_alloc_window_ends_with_its_group(void **state)
{
	struct alloc_window w = {0};
	struct alloc_run run;
	struct disk d;

	(void)state;
	disk_init(&d, ALLOC_CAS);
	plan_all(&d);
	assert_int_equal(take(&d, GROUP - 3, 1, &w, &run), 0);
	assert_int_equal(w.left, 2);
	assert_int_equal(take(&d, GROUP - 2, 8, &w, &run), 0);
	assert_int_equal(run.count, 2);
	assert_int_equal(take(&d, GROUP, 8, &w, &run), 0);
	assert_int_equal(run.start, GROUP);
	assert_int_equal(run.count, 8);
	assert_int_equal(take(&d, disk_units() - 1, 1, &w, &run), 0);
	assert_int_equal(w.left, 0);
	alloc_window_drop(d.a, &w);
	disk_commit(&d);
	disk_fini(&d);
}

static void test_alloc_spread_cpus_take_from_different_lines(void **state)
{
	struct alloc_want want = {.count = 1, .spread = true};
	struct alloc_run run[2];
	struct disk d;

	(void)state;
	cpu_override(this_cpu, 8);
	disk_init(&d, ALLOC_CAS);
	plan_all(&d);
	for (cpu = 0; cpu < 2; cpu++)
		assert_int_equal(alloc_take(d.a, d.tid, &want, &run[cpu]), 0);
	assert_int_equal(run[1].start - run[0].start, GROUP / 8);
	disk_commit(&d);
	disk_fini(&d);
	cpu_override(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc_take_unplanned_is_eagain),
		cmocka_unit_test(
			test_alloc_bitmap_that_contradicts_is_out_of_use),
		cmocka_unit_test(
			test_alloc_load_without_memory_may_be_tried_again),
		cmocka_unit_test(
			test_alloc_trim_keeps_what_records_and_windows_need),
		cmocka_unit_test(
			test_alloc_freed_is_not_reused_before_release_a2),
		cmocka_unit_test(
			test_alloc_take_and_free_in_one_transaction_a4),
		cmocka_unit_test(
			test_alloc_late_release_keeps_transactions_apart_a4),
		cmocka_unit_test(test_alloc_free_twice_is_euclean),
		cmocka_unit_test(
			test_alloc_free_across_groups_is_all_or_nothing),
		cmocka_unit_test(
			test_alloc_takes_every_unit_once_then_enospc_a1),
		cmocka_unit_test(
			test_alloc_windows_keep_growing_files_together),
		cmocka_unit_test(
			test_alloc_reserved_is_taken_when_all_else_is_gone),
		cmocka_unit_test(test_alloc_window_ends_with_its_group),
		cmocka_unit_test(
			test_alloc_spread_cpus_take_from_different_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
