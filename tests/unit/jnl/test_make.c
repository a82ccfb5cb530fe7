/* SPDX-License-Identifier: BSD-2-Clause */
/* A new log: what its superblock says, byte for byte where others look. */
#include <string.h>

#include "../cmocka_all.h"
#include "jnl/codec.h"

enum { BLOCK_BYTES = 2048, BLOCKS = 300, AT = 7, LATER_AT = 400 };

static const uint8_t uuid[16] = "a uuid of a log";

/* In two extents, on a device that is not blank. */
static struct blk_dev *device(struct jnl_place *place)
{
	static const struct jnl_extent map[] = {
		{0, 100, AT}, {100, BLOCKS - 100, LATER_AT}};
	unsigned char junk[BLOCK_BYTES];
	struct blk_dev *dev;

	assert_int_equal(blk_open_mem(1024 * BLOCK_BYTES, &dev), 0);
	memset(junk, 0xa5, sizeof(junk));
	for (blk_no b = 0; b < 20; b++)
		assert_int_equal(
			blk_write(dev, b * BLOCK_BYTES, BLOCK_BYTES, junk), 0);
	*place = (struct jnl_place){.dev = dev,
		.block_bytes = BLOCK_BYTES,
		.map = map,
		.map_count = ARRAY_COUNT(map)};
	return dev;
}

static void block_read(struct blk_dev *dev, blk_no block, void *data)
{
	assert_int_equal(
		blk_read(dev, block * BLOCK_BYTES, BLOCK_BYTES, data), 0);
}

static uint32_t be32_at(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
	       (uint32_t)at[2] << 8 | at[3];
}

static void test_jnl_make_writes_each_field_where_it_belongs(void **state)
{
	struct jnl_make_opts opts = {.checksum = JNL_CHECKSUM_V3,
		.wide = true,
		.sequence = 0x12345678};
	unsigned char raw[BLOCK_BYTES];
	struct jnl_place place;
	struct blk_dev *dev = device(&place);

	(void)state;
	memcpy(opts.uuid, uuid, sizeof(uuid));
	assert_int_equal(jnl_make(&place, &opts), 0);
	block_read(dev, AT, raw);
	assert_int_equal(be32_at(raw), 0xc03b3998);
	assert_int_equal(be32_at(raw + 4), 4); /* version 2 */
	assert_int_equal(be32_at(raw + 0x0c), BLOCK_BYTES);
	assert_int_equal(be32_at(raw + 0x10), BLOCKS);
	assert_int_equal(be32_at(raw + 0x14), 1);          /* first */
	assert_int_equal(be32_at(raw + 0x18), 0x12345678); /* sequence */
	assert_int_equal(be32_at(raw + 0x1c), 0);          /* empty */
	assert_int_equal(be32_at(raw + 0x20), 0);          /* no error */
	assert_int_equal(be32_at(raw + 0x24), 0);
	assert_int_equal(be32_at(raw + 0x28), 0x12); /* 64BIT, CSUM_V3 */
	assert_memory_equal(raw + 0x30, uuid, sizeof(uuid));
	assert_int_equal(be32_at(raw + 0x40), 1); /* users */
	assert_int_equal(raw[0x50], 4);           /* crc32c */
	/* Its neighbours are as they were. */
	block_read(dev, AT + 1, raw);
	assert_int_equal(raw[0], 0xa5);
	block_read(dev, AT - 1, raw);
	assert_int_equal(raw[BLOCK_BYTES - 1], 0xa5);
	blk_close(dev);
}

static void test_jnl_make_of_each_checksum_is_valid(void **state)
{
	struct jnl_place place;
	struct blk_dev *dev = device(&place);

	(void)state;
	for (int c = JNL_CHECKSUM_KEEP; c <= JNL_CHECKSUM_V3; c++) {
		const struct jnl_make_opts opts = {
			.checksum = (enum jnl_checksum)c};
		_Alignas(struct jbd_super) unsigned char raw[BLOCK_BYTES];
		struct jnl_super sb;

		assert_int_equal(jnl_make(&place, &opts), 0);
		block_read(dev, AT, raw);
		assert_int_equal(jnl_super_decode((void *)raw, BLOCK_BYTES,
					 BLOCKS, &sb, NULL, 0),
			0);
		assert_int_equal(sb.csum_v1, c == JNL_CHECKSUM_V1);
		assert_int_equal(sb.csum_v23, c >= JNL_CHECKSUM_V2);
		assert_int_equal(sb.csum_v3, c == JNL_CHECKSUM_V3);
		assert_int_equal(sb.wide, 0);
		assert_int_equal(sb.sequence, 1);
		assert_int_equal(sb.end, BLOCKS);
	}
	blk_close(dev);
}

/* An external log: blocks count from the start of its device. */
static void test_jnl_make_external_keeps_the_label(void **state)
{
	static const struct jnl_extent map = {0, BLOCKS, 0};
	const struct jnl_make_opts opts = {.checksum = JNL_CHECKSUM_NONE};
	unsigned char raw[BLOCK_BYTES];
	struct jnl_place place;
	struct blk_dev *dev = device(&place);

	(void)state;
	place.map = &map;
	place.map_count = 1;
	place.super = 2;
	place.external = true;
	assert_int_equal(jnl_make(&place, &opts), 0);
	block_read(dev, 1, raw);
	assert_int_equal(raw[0], 0xa5);
	block_read(dev, 2, raw);
	assert_int_equal(be32_at(raw), 0xc03b3998);
	assert_int_equal(be32_at(raw + 0x14), 3);
	blk_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_jnl_make_writes_each_field_where_it_belongs),
		cmocka_unit_test(test_jnl_make_of_each_checksum_is_valid),
		cmocka_unit_test(test_jnl_make_external_keeps_the_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
