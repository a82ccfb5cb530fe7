/* SPDX-License-Identifier: BSD-2-Clause */
/* Salts: no two alike. */
#include "../cmocka_all.h"
#include "base/salt.h"

static void test_base_salt_is_new_each_time(void **state)
{
	uint64_t first = salt_new();
	uint64_t second = salt_new();

	(void)state;
	assert_true(first != second);
	assert_true(first != salt_new());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base_salt_is_new_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
