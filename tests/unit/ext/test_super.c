/* SPDX-License-Identifier: BSD-2-Clause */
/* The superblock: each field that sizes something is checked. */
#include <errno.h>
#include <string.h>

#include "../cmocka_all.h"
#include "ext_image.h"

static struct image img;

static int setup(void **state)
{
	(void)state;
	image_init(&img);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	image_fini(&img);
	return 0;
}

static int decode(struct ext_damage *damage)
{
	struct ext_super sb;

	memset(damage, 0, sizeof(*damage));
	return ext_super_decode(&img.super, &sb, damage);
}

/* Put @value into a field for one decode, which must be refused so. */
#define REFUSES(field, type, value, error, words)                              \
	do {                                                                   \
		struct type good = img.super.field;                            \
		struct ext_damage damage;                                      \
                                                                               \
		img.super.field = type##_of(value);                            \
		assert_int_equal(decode(&damage), error);                      \
		assert_non_null(strstr(damage.why, words));                    \
		img.super.field = good;                                        \
		assert_int_equal(decode(&damage), 0);                          \
	} while (0)

static void test_ext_super_absurd_fields_refused(void **state)
{
	(void)state;
	REFUSES(magic, le16, 0xef54, -EUCLEAN, "bad magic");
	REFUSES(rev_level, le32, 2, -EOPNOTSUPP, "revision");
	REFUSES(log_block_size, le32, 7, -EUCLEAN, "block size");
	REFUSES(log_block_size, le32, UINT32_MAX, -EUCLEAN, "block size");
	REFUSES(log_cluster_size, le32, 1, -EUCLEAN, "cluster size");
	REFUSES(inode_size, le16, 0, -EUCLEAN, "inode size");
	REFUSES(inode_size, le16, 64, -EUCLEAN, "inode size");
	REFUSES(inode_size, le16, 192, -EUCLEAN, "inode size");
	REFUSES(inode_size, le16, 2048, -EUCLEAN, "inode size");
	REFUSES(blocks_per_group, le32, 0, -EUCLEAN, "blocks per group");
	REFUSES(blocks_per_group, le32, 8193, -EUCLEAN, "blocks per group");
	REFUSES(inodes_per_group, le32, 0, -EUCLEAN, "inodes per group");
	REFUSES(inodes_per_group, le32, 8193, -EUCLEAN, "inodes per group");
	REFUSES(first_data_block, le32, 0, -EUCLEAN, "first data block");
	REFUSES(first_data_block, le32, 2, -EUCLEAN, "first data block");
	REFUSES(blocks_count_lo, le32, 0, -EUCLEAN, "too few blocks");
	REFUSES(blocks_count_lo, le32, 1, -EUCLEAN, "too few blocks");
	REFUSES(blocks_count_lo, le32, 8194, -EUCLEAN, "number of inodes");
	REFUSES(inodes_count, le32, 255, -EUCLEAN, "number of inodes");
}

static void test_ext_super_wide_fields_refused(void **state)
{
	(void)state;
	img.super.feature_incompat = le32_of(EXT_INCOMPAT_64BIT);
	img.super.desc_size = le16_of(64);
	REFUSES(desc_size, le16, 32, -EUCLEAN, "descriptor size");
	REFUSES(desc_size, le16, 0, -EUCLEAN, "descriptor size");
	REFUSES(desc_size, le16, 96, -EUCLEAN, "descriptor size");
	REFUSES(desc_size, le16, 2048, -EUCLEAN, "descriptor size");
	REFUSES(blocks_count_hi, le32, 0x10001, -EUCLEAN, "too many blocks");
	/* As many blocks as fit 48 bits need more groups than 32. */
	REFUSES(blocks_count_hi, le32, 0xffff, -EUCLEAN, "number of inodes");
}

static void test_ext_super_checksum_checked(void **state)
{
	struct ext_damage damage;

	(void)state;
	img.super.feature_ro_compat = le32_of(EXT_RO_COMPAT_METADATA_CSUM);
	img.super.checksum_type = 1;
	assert_int_equal(decode(&damage), -EBADMSG);
	img.super.checksum = le32_of(ext_csum_super(&img.super));
	assert_int_equal(decode(&damage), 0);
	img.super.volume_name[0] ^= 1;
	assert_int_equal(decode(&damage), -EBADMSG);
	img.super.checksum_type = 2;
	assert_int_equal(decode(&damage), -EOPNOTSUPP);
}

/* In revision 0 the feature words are not there, whatever they hold. */
static void test_ext_super_revision_0_has_no_features(void **state)
{
	struct ext_super sb;

	(void)state;
	img.super.rev_level = le32_of(0);
	img.super.feature_incompat = le32_of(UINT32_MAX);
	img.super.feature_ro_compat = le32_of(UINT32_MAX);
	img.super.inode_size = le16_of(7);
	assert_int_equal(ext_super_decode(&img.super, &sb, NULL), 0);
	assert_int_equal(sb.features.incompat, 0);
	assert_int_equal(sb.inode_bytes, 128);
}

static void test_ext_open_larger_than_device_refused(void **state)
{
	struct ext_damage damage;
	struct ext *fs;

	(void)state;
	img.super.blocks_count_lo = le32_of(IMG_BLOCKS + 1);
	image_write(&img);
	assert_int_equal(ext_open(img.dev, &fs, &damage), -EUCLEAN);
	assert_non_null(strstr(damage.why, "on a device of 8192"));
}

static void test_ext_open_tiny_device_refused(void **state)
{
	struct ext_damage damage;
	struct blk_dev *dev;
	struct ext *fs;

	(void)state;
	assert_int_equal(blk_open_mem(1024, &dev), 0);
	assert_int_equal(ext_open(dev, &fs, &damage), -EUCLEAN);
	assert_non_null(strstr(damage.why, "too small"));
	blk_close(dev);
}

static void test_ext_open_unknown_incompat_refused(void **state)
{
	struct ext_damage damage;
	struct ext *fs;

	(void)state;
	img.super.feature_incompat = le32_of(0x80000000);
	image_write(&img);
	assert_int_equal(ext_open(img.dev, &fs, &damage), -EOPNOTSUPP);
	assert_non_null(strstr(damage.why, "0x80000000"));
}

static void test_ext_feature_names_known(void **state)
{
	struct ext_features all = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
	struct ext_features strange = ext_features_unknown(&all);

	(void)state;
	assert_string_equal(ext_feature_name(0, 2), "has_journal");
	assert_string_equal(ext_feature_name(1, 2), "needs_recovery");
	assert_string_equal(ext_feature_name(2, 10), "metadata_csum");
	assert_null(ext_feature_name(1, 31));
	assert_null(ext_feature_name(3, 0));
	assert_null(ext_feature_name(0, 32));
	assert_int_equal(strange.incompat & EXT_INCOMPAT_64BIT, 0);
	assert_int_equal(strange.incompat & 0x20, 0x20);
}

/* Groups 0, 1 and the powers of 3, 5 and 7. */
static void test_ext_group_sparse_super_where_documented(void **state)
{
	static const uint32_t with[] = {
		0, 1, 3, 5, 7, 9, 25, 27, 49, 81, 125, 243, 343};
	struct ext_super sb = {
		.features.ro_compat = EXT_RO_COMPAT_SPARSE_SUPER};
	size_t next = 0;

	(void)state;
	for (uint32_t g = 0; g <= 343; g++) {
		bool want = with[next] == g;

		assert_int_equal(ext_group_has_super(&sb, g), want);
		next += want;
	}
	assert_int_equal(next, ARRAY_COUNT(with));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_ext_super_absurd_fields_refused),
		CASE(test_ext_super_wide_fields_refused),
		CASE(test_ext_super_checksum_checked),
		CASE(test_ext_super_revision_0_has_no_features),
		CASE(test_ext_open_larger_than_device_refused),
		CASE(test_ext_open_tiny_device_refused),
		CASE(test_ext_open_unknown_incompat_refused),
		CASE(test_ext_feature_names_known),
		CASE(test_ext_group_sparse_super_where_documented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
