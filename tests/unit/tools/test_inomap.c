/* SPDX-License-Identifier: BSD-2-Clause */
/* test_inomap.c - a map beside an array that cannot be wrong. */
#include <stdbool.h>
#include <stdlib.h>

#include "../cmocka_all.h"
#include "../seed.h"
#include "tools/inomap.h"

enum { INODES = 300, STEPS = 20000 };

static char values[INODES];
static unsigned seen;

static void see(void *value)
{
	assert_true((char *)value >= values && (char *)value < values + INODES);
	seen++;
}

static void test_inomap_empty_finds_nothing(void **state)
{
	struct inomap map = {0};

	(void)state;
	assert_null(inomap_find(&map, 1));
	inomap_remove(&map, 1);
	inomap_each(&map, see);
	inomap_fini(&map);
}

/* Numbers that are far apart, close together, and over 32 bits. */
static uint64_t ino_of(unsigned index)
{
	return index % 3 == 0 ? index + 1
			      : (uint64_t)(index + 1) << (index % 3 * 20);
}

static void test_inomap_random_changes_keep_all(void **state)
{
	struct inomap map = {0};
	bool has[INODES] = {false};
	unsigned count = 0;
	uint64_t seed = test_seed();

	(void)state;
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned index;

		seed = seed * UINT64_C(6364136223846793005) + 1;
		index = (unsigned)(seed >> 33) % INODES;
		if (has[index]) {
			inomap_remove(&map, ino_of(index));
			count--;
		} else {
			assert_int_equal(
				inomap_add(&map, ino_of(index), &values[index]),
				0);
			count++;
		}
		has[index] = !has[index];
		for (unsigned i = 0; step % 50 == 0 && i < INODES; i++)
			assert_ptr_equal(inomap_find(&map, ino_of(i)),
				has[i] ? &values[i] : NULL);
	}
	seen = 0;
	inomap_each(&map, see);
	assert_int_equal(seen, count);
	inomap_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inomap_empty_finds_nothing),
		cmocka_unit_test(test_inomap_random_changes_keep_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
