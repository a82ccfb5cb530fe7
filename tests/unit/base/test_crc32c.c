/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checksums against the check values of the catalogue of parametrised CRC
 * algorithms: CRC-32C (iSCSI) and CRC-32/MPEG-2 of "123456789".
 */
#include "../cmocka_all.h"
#include "base/crc32c.h"

static const char digits[] = "123456789";

static void test_base_crc32c_check_value(void **state)
{
	(void)state;
	assert_int_equal(~crc32c(~0U, digits, 9), 0xe3069283U);
}

static void test_base_crc32c_pieces_chain(void **state)
{
	(void)state;

	uint32_t head = crc32c(~0U, digits, 4);

	assert_int_equal(crc32c(head, digits + 4, 5), crc32c(~0U, digits, 9));
}

static void test_base_crc32_be_check_value(void **state)
{
	(void)state;
	assert_int_equal(crc32_be(~0U, digits, 9), 0x0376e6e7U);
}

static void test_base_crc32_be_pieces_chain(void **state)
{
	(void)state;

	uint32_t head = crc32_be(~0U, digits, 4);

	assert_int_equal(
		crc32_be(head, digits + 4, 5), crc32_be(~0U, digits, 9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base_crc32c_check_value),
		cmocka_unit_test(test_base_crc32c_pieces_chain),
		cmocka_unit_test(test_base_crc32_be_check_value),
		cmocka_unit_test(test_base_crc32_be_pieces_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
