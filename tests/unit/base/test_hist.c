/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms against exact quantiles of sorted data. */
#include <stdlib.h>

#include "../cmocka_all.h"
#include "../seed.h"
#include "base/cc.h"
#include "base/hash.h"
#include "base/hist.h"

enum { VALUES = 20000 };

static const uint32_t quantiles[] = {0, 1, 1000, 250000, HIST_P50, HIST_P90,
	HIST_P99, 999000, HIST_P9999, 999999, HIST_MAX};

static int order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Nearest rank, counted one by one. */
static uint64_t exact(const uint64_t *sorted, uint64_t count, uint32_t ppm)
{
	uint64_t i = 0;

	while (i + 1 < count && (i + 1) * 1000000 < count * ppm)
		i++;
	return sorted[i];
}

static void check_all(uint64_t *values, uint64_t count)
{
	static struct hist h;
	uint64_t sum = 0;

	assert_true(count > 0);
	hist_init(&h);
	for (uint64_t i = 0; i < count; i++) {
		hist_add(&h, values[i]);
		sum += values[i];
	}
	qsort(values, count, sizeof(*values), order);
	assert_int_equal(h.count, count);
	assert_int_equal(h.sum, sum);
	assert_int_equal(h.min, values[0]);
	assert_int_equal(h.max, values[count - 1]);
	assert_int_equal(hist_mean(&h), count ? sum / count : 0);
	for (size_t i = 0; i < ARRAY_COUNT(quantiles); i++) {
		uint64_t want = exact(values, count, quantiles[i]);
		uint64_t got = hist_quantile(&h, quantiles[i]);
		uint64_t off = got > want ? got - want : want - got;

		assert_true(off <= want / HIST_ERROR_DIV);
	}
	assert_int_equal(hist_quantile(&h, 0), values[0]);
	assert_int_equal(hist_quantile(&h, HIST_MAX), values[count - 1]);
}

static void test_hist_known_data_quantiles_within_error(void **state)
{
	static uint64_t values[VALUES];
	uint64_t seed = test_seed();

	(void)state;
	for (int i = 0; i < VALUES; i++)
		values[i] = (uint64_t)i;
	check_all(values, VALUES);
	for (int i = 0; i < VALUES; i++)
		values[i] = 1000 + hash_next(&seed) % 1000000;
	check_all(values, VALUES);
	/* Every magnitude alike. */
	for (int i = 0; i < VALUES; i++)
		values[i] = hash_next(&seed) >> hash_next(&seed) % 64;
	check_all(values, VALUES);
	/* Two values far apart: no quantile may fall between them. */
	for (int i = 0; i < VALUES; i++)
		values[i] = i < VALUES / 2 ? 50 : 5000000;
	check_all(values, VALUES);
}

static void test_hist_bucket_edges_within_error(void **state)
{
	uint64_t values[64 * 3];
	size_t count = 0;

	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		values[count++] = (UINT64_C(1) << bit) - 1;
		values[count++] = UINT64_C(1) << bit;
		values[count++] = (UINT64_C(1) << bit) + 1;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t one[] = {values[i]};
		uint64_t three[] = {values[i] / 2, values[i], UINT64_MAX};

		check_all(one, 1);
		check_all(three, 3);
	}
	check_all(values, count);
}

static void test_hist_small_values_are_exact(void **state)
{
	struct hist h;

	(void)state;
	hist_init(&h);
	for (uint64_t v = 1; v <= 100; v++)
		hist_add(&h, v);
	for (uint32_t v = 1; v <= 100; v++)
		assert_int_equal(hist_quantile(&h, v * 10000), v);
}

static void test_hist_merged_equals_added_together(void **state)
{
	static struct hist parts[3];
	static struct hist whole;
	uint64_t seed = test_seed();

	(void)state;
	hist_init(&whole);
	for (size_t p = 0; p < ARRAY_COUNT(parts); p++) {
		hist_init(&parts[p]);
		for (int i = 0; i < 1000; i++) {
			uint64_t v = hash_next(&seed) >> (20 * p);

			hist_add(&parts[p], v);
			hist_add(&whole, v);
		}
	}
	hist_merge(&parts[1], &parts[2]);
	hist_merge(&parts[0], &parts[1]);
	assert_memory_equal(&parts[0], &whole, sizeof(whole));
}

static void test_hist_empty_answers_zero(void **state)
{
	struct hist h;
	struct hist other;

	(void)state;
	hist_init(&h);
	hist_init(&other);
	assert_int_equal(hist_quantile(&h, HIST_P50), 0);
	assert_int_equal(hist_mean(&h), 0);
	hist_add(&h, 7);
	hist_merge(&h, &other);
	assert_int_equal(h.min, 7);
	assert_int_equal(h.count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hist_known_data_quantiles_within_error),
		cmocka_unit_test(test_hist_bucket_edges_within_error),
		cmocka_unit_test(test_hist_small_values_are_exact),
		cmocka_unit_test(test_hist_merged_equals_added_together),
		cmocka_unit_test(test_hist_empty_answers_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
