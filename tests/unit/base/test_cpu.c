/* SPDX-License-Identifier: BSD-2-Clause */
/* The CPU index: in range, and replaceable. */
#include "../cmocka_all.h"
#include "base/cpu.h"

static uint32_t fake_id(void)
{
	return 63;
}

static void test_base_cpu_id_is_in_range(void **state)
{
	(void)state;
	assert_true(cpu_count() >= 1);
	assert_true(cpu_id() < cpu_count());
}

static void test_base_cpu_override_acts_as_many(void **state)
{
	(void)state;
	cpu_override(fake_id, 64);
	assert_int_equal(cpu_count(), 64);
	assert_int_equal(cpu_id(), 63);
	assert_int_equal(cpu_shard(64), 63);
	assert_int_equal(cpu_shard(2), 1);
	cpu_override(NULL, 0);
	assert_true(cpu_id() < cpu_count());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base_cpu_id_is_in_range),
		cmocka_unit_test(test_base_cpu_override_acts_as_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
