/* SPDX-License-Identifier: BSD-2-Clause */
/* The bitmap of the arena: runs are aligned, apart, and merge again. */
#include <string.h>

#include "../cmocka_all.h"
#include "../seed.h"
#include "base/hash.h"
#include "cache/runs.h"

static void test_cache_runs_each_order_fills_all(void **state)
{
	struct runs r;

	(void)state;
	for (int order = 0; order <= RUN_ORDER_MAX; order++) {
		uint64_t size = UINT64_C(1) << order;

		assert_int_equal(runs_init(&r, 256), 0);
		for (uint64_t i = 0; i < 256 / size; i++)
			assert_int_equal(runs_take(&r, order) % size, 0);
		assert_int_equal(r.free_units, 0);
		assert_int_equal(r.low_units, 0);
		assert_true(runs_take(&r, 0) == RUN_NONE);
		for (uint64_t i = 0; i < 256; i += size)
			runs_give(&r, i, order);
		/* All merged: four chunks again. */
		for (int i = 0; i < 4; i++)
			assert_true(runs_take(&r, RUN_ORDER_MAX) != RUN_NONE);
		runs_fini(&r);
	}
}

static void test_cache_runs_short_last_chunk_is_usable(void **state)
{
	struct runs r;

	(void)state;
	assert_int_equal(runs_init(&r, 64 + 12), 0);
	assert_int_equal(runs_take(&r, 6), 0);
	assert_true(runs_take(&r, 6) == RUN_NONE);
	assert_true(runs_take(&r, 4) == RUN_NONE);
	assert_int_equal(runs_take(&r, 3), 64);
	assert_int_equal(runs_take(&r, 2), 72);
	assert_true(runs_take(&r, 0) == RUN_NONE);
	runs_fini(&r);
}

/* The smallest run that serves is broken, also within a chunk. */
static void test_cache_runs_small_requests_keep_large_runs(void **state)
{
	struct runs r;

	(void)state;
	assert_int_equal(runs_init(&r, 128), 0);
	assert_int_equal(runs_take(&r, 2) % 4, 0);
	for (int i = 0; i < 15; i++)
		assert_true(runs_take(&r, 2) != RUN_NONE);
	assert_int_equal(r.free_units, 64);
	assert_true(runs_take(&r, 6) != RUN_NONE);
	assert_true(runs_take(&r, 0) == RUN_NONE);
	/* A single unit beside a free run of 8: the unit goes first. */
	runs_give(&r, 8, 3);
	runs_give(&r, 31, 0);
	assert_int_equal(runs_take(&r, 0), 31);
	assert_int_equal(runs_take(&r, 3), 8);
	runs_fini(&r);
}

enum { MODEL_UNITS = 1000 };

struct model {
	unsigned char owner[MODEL_UNITS]; /* 0: free, else order + 1 */
	uint64_t first[MODEL_UNITS];      /* of each run in use */
	int order[MODEL_UNITS];
	int count;
};

static void model_take(struct model *m, struct runs *r, int order)
{
	uint64_t unit = runs_take(r, order);
	uint64_t size = UINT64_C(1) << order;

	if (unit == RUN_NONE)
		return;
	assert_int_equal(unit % size, 0);
	assert_true(unit + size <= MODEL_UNITS);
	for (uint64_t i = unit; i < unit + size; i++) {
		assert_int_equal(m->owner[i], 0);
		m->owner[i] = (unsigned char)(order + 1);
	}
	m->first[m->count] = unit;
	m->order[m->count++] = order;
}

static void model_give(struct model *m, struct runs *r, int index)
{
	uint64_t unit = m->first[index];
	int order = m->order[index];

	memset(&m->owner[unit], 0, (size_t)1 << order);
	runs_give(r, unit, order);
	m->first[index] = m->first[--m->count];
	m->order[index] = m->order[m->count];
}

/* Is there an aligned free run of @order? */
static int model_has(const struct model *m, int order)
{
	uint64_t size = UINT64_C(1) << order;

	for (uint64_t i = 0; i + size <= MODEL_UNITS; i += size) {
		uint64_t used = 0;

		while (used < size && m->owner[i + used] == 0)
			used++;
		if (used == size)
			return 1;
	}
	return 0;
}

static void test_cache_runs_random_use_matches_model(void **state)
{
	static struct model m;
	uint64_t seed = test_seed();
	struct runs r;

	(void)state;
	assert_int_equal(runs_init(&r, MODEL_UNITS), 0);
	for (int i = 0; i < 20000; i++) {
		uint64_t dice = hash_next(&seed);
		int order = (int)(dice / 4 % 7);
		int had = m.count;

		if (dice % 4 == 0 && m.count > 0) {
			model_give(&m, &r, (int)(dice / 4 % (uint64_t)had));
			continue;
		}
		int possible = model_has(&m, order);

		model_take(&m, &r, order);
		assert_int_equal(m.count - had, possible);
	}
	while (m.count > 0)
		model_give(&m, &r, 0);
	assert_int_equal(r.free_units, MODEL_UNITS);
	runs_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache_runs_each_order_fills_all),
		cmocka_unit_test(test_cache_runs_short_last_chunk_is_usable),
		cmocka_unit_test(
			test_cache_runs_small_requests_keep_large_runs),
		cmocka_unit_test(test_cache_runs_random_use_matches_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
