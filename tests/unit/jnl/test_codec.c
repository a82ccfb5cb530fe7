/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The codec against bytes that debugfs 1.47.0 wrote: on images made with uuid
 * 00112233-4455-6677-8899-aabbccddeeff and a journal of 1024 blocks of 4 KiB,
 *
 *   jo -c -v V
 *   jw -b 5000,5001,5002 FILE   (blocks of 0x5a, 0x5b, 0x5c bytes)
 *   jw -r 5001,7777
 *
 * which covers checksums v1, v2, v3 by 32 and 64-bit block numbers.
 */
#include <errno.h>
#include <stdlib.h>

#include "../cmocka_all.h"
#include "base/crc32c.h"
#include "jnl/codec.h"

enum { BLOCK = 4096, LOG_BLOCKS = 1024, TAGS = 3 };

/* What debugfs stored, and when it committed. */
struct golden {
	const char *name;
	uint32_t compat;
	uint32_t incompat;
	uint32_t super;
	uint32_t tag[TAGS];
	uint32_t descriptor;
	uint32_t revoke;
	uint32_t commit;
	uint32_t
		seconds; /* debugfs puts them into the upper half of the field */
	uint32_t nanoseconds;
	uint32_t last_tag_at; /* offset of the third tag */
};

static const struct golden goldens[] = {
	{"none, 32 bit", 0, 0x01, .last_tag_at = 0x2c},
	{"none, 64 bit", 0, 0x03, .last_tag_at = 0x34},
	{"v1, 32 bit", 1, 0x01, .commit = 0x44ea4c86, .seconds = 0x6b0df219,
		.nanoseconds = 0x38c8c610, .last_tag_at = 0x2c},
	{"v1, 64 bit", 1, 0x03, .commit = 0x96001495, .seconds = 0x6b0df21a,
		.nanoseconds = 0x290b1c50, .last_tag_at = 0x34},
	{"v2, 32 bit", 0, 0x09, 0xcb1a3886, {0x4d5e, 0x67a8, 0x5e88},
		0x272bc936, 0xee22014a, 0x23d71994, 0x6b0df22b, 0x19a20300,
		0x30},
	{"v2, 64 bit", 0, 0x0b, 0xf2bfa0d3, {0x4d5e, 0x67a8, 0x5e88},
		0x7209bdfa, 0xb53d26b8, 0x2e68a367, 0x6b0df22b, 0x27427dc8,
		0x38},
	{"v3, 32 bit", 0, 0x11, 0xe54ced8b,
		{0x7b504d5e, 0xa1b167a8, 0xaece5e88}, 0x20794abe, 0xee22014a,
		0xce1f9b1b, 0x6b0df22b, 0x34d6b008, 0x3c},
	{"v3, 64 bit", 0, 0x13, 0xdce975de,
		{0x7b504d5e, 0xa1b167a8, 0xaece5e88}, 0x20794abe, 0xb53d26b8,
		0x437a8b3a, 0x6b0df22c, 0x0854a120, 0x3c},
};

static const uint8_t uuid[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
	0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};

static struct be32 *word(void *raw, uint32_t at)
{
	return (struct be32 *)((uint8_t *)raw + at);
}

static uint32_t word_at(const void *raw, uint32_t at)
{
	return be32_get(*(const struct be32 *)((const uint8_t *)raw + at));
}

/* The superblock as debugfs left it, by the offsets of journal.rst. */
static void golden_super(const struct golden *g, struct jbd_super *raw)
{
	memset(raw, 0, sizeof(*raw));
	*word(raw, 0x00) = be32_of(0xc03b3998);
	*word(raw, 0x04) = be32_of(4);
	*word(raw, 0x0c) = be32_of(BLOCK);
	*word(raw, 0x10) = be32_of(LOG_BLOCKS);
	*word(raw, 0x14) = be32_of(1);
	*word(raw, 0x18) = be32_of(1);
	*word(raw, 0x1c) = be32_of(1);
	*word(raw, 0x24) = be32_of(g->compat);
	*word(raw, 0x28) = be32_of(g->incompat);
	memcpy((uint8_t *)raw + 0x30, uuid, sizeof(uuid));
	*word(raw, 0x40) = be32_of(1);
	if (g->super != 0)
		((uint8_t *)raw)[0x50] = 4;
	*word(raw, 0xfc) = be32_of(g->super);
}

static struct jnl_super decode_golden(const struct golden *g)
{
	struct jbd_super raw;
	struct jnl_super sb;
	char why[160] = "";

	golden_super(g, &raw);
	if (jnl_super_decode(&raw, BLOCK, LOG_BLOCKS, &sb, why, sizeof(why)))
		fail_msg("%s: %s", g->name, why);
	return sb;
}

static void *new_block(uint8_t fill)
{
	void *block = test_malloc(BLOCK);

	memset(block, fill, BLOCK);
	return block;
}

/*
 * The descriptor that debugfs wrote.  It leaves zeroes where the uuid belongs
 * and puts it behind the room of twelve tags instead, where no reader looks.
 */
static void *golden_descriptor(
	const struct golden *g, struct jnl_super sb, uint32_t *last_at)
{
	static const uint32_t flags[TAGS] = {0x0, 0x2, 0xa};
	uint32_t at = sizeof(struct jbd_header);
	void *block = new_block(0);

	memset(sb.uuid, 0, sizeof(sb.uuid));
	jnl_header_encode(block, JBD_DESCRIPTOR, 1);
	for (int i = 0; i < TAGS; i++) {
		struct jnl_tag tag = {5000 + i, flags[i], g->tag[i]};

		*last_at = at;
		jnl_tag_encode(&sb, block, &at, &tag);
	}
	at = 12 + 12 * jnl_tag_bytes(&sb);
	memcpy((uint8_t *)block + at, uuid, sizeof(uuid));
	jnl_block_seal(&sb, block);
	return block;
}

static void test_jnl_super_of_debugfs_decodes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(goldens); i++) {
		const struct golden *g = &goldens[i];
		struct jnl_super sb = decode_golden(g);

		assert_int_equal(sb.version, 2);
		assert_int_equal(sb.block_count, LOG_BLOCKS);
		assert_int_equal(sb.end, LOG_BLOCKS);
		assert_int_equal(sb.first, 1);
		assert_int_equal(sb.start, 1);
		assert_int_equal(sb.sequence, 1);
		assert_int_equal(sb.csum_v1, g->compat == 1);
		assert_int_equal(sb.csum_v23, g->super != 0);
		assert_int_equal(sb.csum_v3, (g->incompat & 0x10) != 0);
		assert_int_equal(sb.wide, (g->incompat & 0x02) != 0);
		assert_memory_equal(sb.uuid, uuid, sizeof(uuid));
	}
}

static void test_jnl_super_encode_restores_the_checksum(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(goldens); i++) {
		const struct golden *g = &goldens[i];
		struct jnl_super sb = decode_golden(g);
		struct jbd_super raw;
		struct jbd_super want;

		golden_super(g, &want);
		golden_super(g, &raw);
		raw.start = be32_of(99);
		raw.sequence = be32_of(98);
		raw.error = be32_of(97);
		raw.checksum = be32_of(g->super != 0 ? 96 : 0);
		jnl_super_encode(&sb, &raw);
		assert_memory_equal(&raw, &want, sizeof(raw));
	}
}

static void test_jnl_descriptor_has_the_bytes_of_debugfs(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(goldens); i++) {
		const struct golden *g = &goldens[i];
		struct jnl_super sb = decode_golden(g);
		uint32_t last_at;
		void *block = golden_descriptor(g, sb, &last_at);

		assert_int_equal(last_at, g->last_tag_at);
		assert_int_equal(word_at(block, BLOCK - 4), g->descriptor);
		assert_true(jnl_block_intact(&sb, block));
		((uint8_t *)block)[2000] ^= 1;
		assert_int_equal(jnl_block_intact(&sb, block), !sb.csum_v23);
		test_free(block);
	}
}

static void test_jnl_tags_decode_as_encoded(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(goldens); i++) {
		const struct golden *g = &goldens[i];
		struct jnl_super sb = decode_golden(g);
		uint32_t last_at;
		void *block = golden_descriptor(g, sb, &last_at);
		uint32_t at = sizeof(struct jbd_header);
		struct jnl_tag tag = {0};

		for (uint32_t n = 0; n < TAGS; n++) {
			assert_int_equal(
				jnl_tag_decode(&sb, block, &at, &tag), 0);
			assert_int_equal(tag.home, 5000 + n);
			assert_int_equal(tag.checksum, g->tag[n]);
		}
		assert_int_equal(tag.flags, JBD_TAG_SAME_UUID | JBD_TAG_LAST);
		assert_int_equal(at, g->last_tag_at + jnl_tag_bytes(&sb));
		test_free(block);
	}
}

static void test_jnl_tag_checksum_is_that_of_debugfs(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(goldens); i++) {
		struct jnl_super sb = decode_golden(&goldens[i]);

		for (int n = 0; n < TAGS; n++) {
			void *data = new_block((uint8_t)(0x5a + n));

			assert_int_equal(jnl_tag_checksum(&sb, 1, data),
				goldens[i].tag[n]);
			test_free(data);
		}
	}
}

static void test_jnl_revoke_block_has_the_checksum_of_debugfs(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(goldens); i++) {
		const struct golden *g = &goldens[i];
		struct jnl_super sb = decode_golden(g);
		uint32_t each = jnl_revoke_bytes(&sb);
		void *block = new_block(0);

		assert_int_equal(each, sb.wide ? 8 : 4);
		jnl_header_encode(block, JBD_REVOKE, 2);
		*word(block, 12) = be32_of(16 + 2 * each);
		*word(block, 16 + each - 4) = be32_of(5001);
		*word(block, 16 + 2 * each - 4) = be32_of(7777);
		jnl_block_seal(&sb, block);
		assert_int_equal(word_at(block, BLOCK - 4), g->revoke);
		test_free(block);
	}
}

/* v1: descriptor and data, as they lie in the log. */
static uint32_t v1_checksum(const struct golden *g, const struct jnl_super *sb)
{
	uint32_t last_at;
	void *block = golden_descriptor(g, *sb, &last_at);
	uint32_t crc = crc32_be(~0U, block, BLOCK);

	test_free(block);
	for (int n = 0; n < TAGS; n++) {
		block = new_block((uint8_t)(0x5a + n));
		crc = crc32_be(crc, block, BLOCK);
		test_free(block);
	}
	return crc;
}

static void test_jnl_commit_block_has_the_bytes_of_debugfs(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(goldens); i++) {
		const struct golden *g = &goldens[i];
		struct jnl_super sb = decode_golden(g);
		uint32_t v1 = v1_checksum(g, &sb);
		void *block = new_block(0xee);

		jnl_commit_encode(&sb, block, 1, (uint64_t)g->seconds << 32,
			g->nanoseconds, v1);
		assert_int_equal(word_at(block, 0x00), 0xc03b3998);
		assert_int_equal(word_at(block, 0x04), 2);
		assert_int_equal(word_at(block, 0x08), 1);
		assert_int_equal(
			word_at(block, 0x0c), sb.csum_v1 ? 0x01040000 : 0);
		assert_int_equal(word_at(block, 0x10), g->commit);
		assert_int_equal(word_at(block, 0x30), g->seconds);
		assert_int_equal(word_at(block, 0x34), 0);
		assert_int_equal(word_at(block, 0x38), g->nanoseconds);
		assert_true(jnl_commit_intact(&sb, block));
		assert_true(jnl_commit_covers(&sb, block, v1));
		assert_int_equal(
			jnl_commit_covers(&sb, block, v1 ^ 1), !sb.csum_v1);
		((uint8_t *)block)[0x35] ^= 1;
		assert_int_equal(jnl_commit_intact(&sb, block), !sb.csum_v23);
		test_free(block);
	}
}

static void test_jnl_commit_without_v1_fields_covers_anything(void **state)
{
	struct jnl_super sb = decode_golden(&goldens[2]);
	struct jnl_super off = decode_golden(&goldens[0]);
	void *block = new_block(0);

	(void)state;
	jnl_commit_encode(&off, block, 1, 0, 0, 0);
	assert_true(jnl_commit_covers(&sb, block, 12345));
	*word(block, 0x10) = be32_of(1);
	assert_false(jnl_commit_covers(&sb, block, 12345));
	test_free(block);
}

static void test_jnl_tags_fill_a_block_to_the_last(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(goldens); i++) {
		struct jnl_super sb = decode_golden(&goldens[i]);
		uint32_t room = BLOCK - (sb.csum_v23 ? 4 : 0);
		uint32_t count = jnl_tags_per_block(&sb);
		uint32_t bytes = 12 + 16 + count * jnl_tag_bytes(&sb);

		assert_true(bytes <= room);
		assert_true(bytes + jnl_tag_bytes(&sb) > room);
	}
}

static void test_jnl_tag_beyond_the_block_is_euclean(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(goldens); i++) {
		struct jnl_super sb = decode_golden(&goldens[i]);
		uint32_t room = BLOCK - (sb.csum_v23 ? 4 : 0);
		uint32_t tag_bytes = jnl_tag_bytes(&sb);
		void *block = new_block(0);
		struct jnl_tag tag;
		uint32_t at = room - tag_bytes - 16;

		/* No SAME_UUID: the uuid must fit as well. */
		assert_int_equal(jnl_tag_decode(&sb, block, &at, &tag), 0);
		assert_int_equal(at, room);
		at = room - tag_bytes - 15;
		assert_int_equal(
			jnl_tag_decode(&sb, block, &at, &tag), -EUCLEAN);
		assert_int_equal(at, room - tag_bytes - 15);
		at = room - tag_bytes + 1;
		assert_int_equal(
			jnl_tag_decode(&sb, block, &at, &tag), -EUCLEAN);
		test_free(block);
	}
}

static void test_jnl_tag_keeps_64_bit_homes(void **state)
{
	const blk_no home = UINT64_C(0x123456789a);

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(goldens); i++) {
		struct jnl_super sb = decode_golden(&goldens[i]);
		struct jnl_tag tag = {home, JBD_TAG_ESCAPE | JBD_TAG_LAST, 0};
		void *block = new_block(0xff);
		uint32_t at = 12;

		jnl_tag_encode(&sb, block, &at, &tag);
		at = 12;
		assert_int_equal(jnl_tag_decode(&sb, block, &at, &tag), 0);
		assert_true(tag.home == (sb.wide ? home : (uint32_t)home));
		assert_int_equal(tag.flags, JBD_TAG_ESCAPE | JBD_TAG_LAST);
		test_free(block);
	}
}

/* One field of a good v3 superblock made bad, and what that must be told. */
struct bad_super {
	uint32_t at;
	uint32_t value;
	int error;
	bool keep_checksum; /* do not repair it */
};

static void test_jnl_super_with_a_bad_field_is_refused(void **state)
{
	static const struct bad_super bad[] = {
		{0x00, 0xc03b3999, -EUCLEAN}, /* magic */
		{0x04, 2, -EUCLEAN},          /* type */
		{0x0c, 1024, -EUCLEAN},       /* block size */
		{0x10, LOG_BLOCKS + 1, -EUCLEAN},
		{0x14, 0, -EUCLEAN}, /* first */
		{0x14, LOG_BLOCKS, -EUCLEAN},
		{0x1c, LOG_BLOCKS, -EUCLEAN}, /* start */
		{0x1c, UINT32_MAX, -EUCLEAN},
		{0x24, 1, -EUCLEAN},    /* v1 and v3 */
		{0x28, 0x1b, -EUCLEAN}, /* v2 and v3 */
		{0x28, 0x53, -EOPNOTSUPP},
		{0x2c, 1, -EOPNOTSUPP},
		{0x50, 0x01000000, -EOPNOTSUPP}, /* checksum type */
		{0x18, 2, -EBADMSG, true},
		{0xfc, 0, -EBADMSG, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		struct jbd_super raw;
		struct jnl_super sb;
		char why[160] = "";

		golden_super(&goldens[7], &raw);
		*word(&raw, bad[i].at) = be32_of(bad[i].value);
		if (!bad[i].keep_checksum) {
			*word(&raw, 0xfc) = be32_of(0);
			*word(&raw, 0xfc) =
				be32_of(crc32c(~0U, &raw, sizeof(raw)));
		}
		assert_int_equal(jnl_super_decode(&raw, BLOCK, LOG_BLOCKS, &sb,
					 why, sizeof(why)),
			bad[i].error);
		assert_true(why[0] != '\0');
		assert_int_equal(
			jnl_super_decode(&raw, BLOCK, LOG_BLOCKS, &sb, NULL, 0),
			bad[i].error);
	}
}

static void test_jnl_super_fast_commit_area_ends_the_ring(void **state)
{
	struct jbd_super raw;
	struct jnl_super sb;

	(void)state;
	golden_super(&goldens[0], &raw);
	*word(&raw, 0x28) = be32_of(0x21);
	assert_int_equal(
		jnl_super_decode(&raw, BLOCK, LOG_BLOCKS, &sb, NULL, 0), 0);
	assert_int_equal(sb.fc_blocks, 256); /* the default of 0 */
	assert_int_equal(sb.end, LOG_BLOCKS - 256);
	*word(&raw, 0x54) = be32_of(100);
	assert_int_equal(
		jnl_super_decode(&raw, BLOCK, LOG_BLOCKS, &sb, NULL, 0), 0);
	assert_int_equal(sb.end, LOG_BLOCKS - 100);
	*word(&raw, 0x54) = be32_of(LOG_BLOCKS - 1);
	assert_int_equal(
		jnl_super_decode(&raw, BLOCK, LOG_BLOCKS, &sb, NULL, 0),
		-EUCLEAN);
	*word(&raw, 0x54) = be32_of(UINT32_MAX);
	assert_int_equal(
		jnl_super_decode(&raw, BLOCK, LOG_BLOCKS, &sb, NULL, 0),
		-EUCLEAN);
}

static void test_jnl_super_v1_has_no_features(void **state)
{
	struct jbd_super raw;
	struct jnl_super sb;

	(void)state;
	golden_super(&goldens[7], &raw);
	*word(&raw, 0x04) = be32_of(3);
	*word(&raw, 0x20) = be32_of((uint32_t)-EIO);
	assert_int_equal(
		jnl_super_decode(&raw, BLOCK, LOG_BLOCKS, &sb, NULL, 0), 0);
	assert_int_equal(sb.version, 1);
	assert_int_equal(sb.incompat, 0);
	assert_int_equal(sb.error, EIO);
	assert_false(sb.csum_v23);
	assert_false(sb.wide);
	assert_int_equal(jnl_tag_bytes(&sb), 8);
}

static void test_jnl_place_maps_through_extents(void **state)
{
	static const struct jnl_extent map[] = {
		{0, 4, 100}, {4, 4, 104}, {8, 1, 50}, {9, 7, 200}};
	const struct jnl_place place = {
		.map = map, .map_count = 4, .block_bytes = BLOCK};

	(void)state;
	assert_int_equal(jnl_place_blocks(&place), 16);
	assert_int_equal(jnl_place_dev(&place, 0), 100);
	assert_int_equal(jnl_place_dev(&place, 7), 107);
	assert_int_equal(jnl_place_dev(&place, 8), 50);
	assert_int_equal(jnl_place_dev(&place, 15), 206);
	assert_int_equal(jnl_place_run(&place, 1), 7);
	assert_int_equal(jnl_place_run(&place, 8), 1);
	assert_int_equal(jnl_place_run(&place, 10), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jnl_super_of_debugfs_decodes),
		cmocka_unit_test(test_jnl_super_encode_restores_the_checksum),
		cmocka_unit_test(test_jnl_descriptor_has_the_bytes_of_debugfs),
		cmocka_unit_test(test_jnl_tags_decode_as_encoded),
		cmocka_unit_test(test_jnl_tag_checksum_is_that_of_debugfs),
		cmocka_unit_test(
			test_jnl_revoke_block_has_the_checksum_of_debugfs),
		cmocka_unit_test(
			test_jnl_commit_block_has_the_bytes_of_debugfs),
		cmocka_unit_test(
			test_jnl_commit_without_v1_fields_covers_anything),
		cmocka_unit_test(test_jnl_tags_fill_a_block_to_the_last),
		cmocka_unit_test(test_jnl_tag_beyond_the_block_is_euclean),
		cmocka_unit_test(test_jnl_tag_keeps_64_bit_homes),
		cmocka_unit_test(test_jnl_super_with_a_bad_field_is_refused),
		cmocka_unit_test(test_jnl_super_fast_commit_area_ends_the_ring),
		cmocka_unit_test(test_jnl_super_v1_has_no_features),
		cmocka_unit_test(test_jnl_place_maps_through_extents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
