/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding the journal, through maps good and hostile. */
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

/* Find the journal as the image says now. */
static int find(struct ext_journal *j, struct ext_damage *damage)
{
	struct ext *fs;
	int err;

	image_write(&img);
	memset(damage, 0, sizeof(*damage));
	assert_int_equal(ext_open(img.dev, &fs, damage), 0);
	err = ext_journal_find(fs, NULL, j, damage);
	ext_close(fs);
	return err;
}

static void expect_damage(int error, blk_no block, const char *words)
{
	struct ext_damage damage;
	struct ext_journal j;

	assert_int_equal(find(&j, &damage), error);
	assert_non_null(strstr(damage.why, words));
	assert_int_equal(damage.block, block);
	assert_int_equal(damage.inode, EXT_INO_JOURNAL);
}

/* The found map as a list of device blocks, compared with @want. */
static void expect_map(const blk_no *want)
{
	struct ext_damage damage;
	struct ext_journal j;
	uint32_t log = 0;

	assert_int_equal(find(&j, &damage), 0);
	assert_int_equal(j.source, EXT_JOURNAL_INODE);
	for (uint32_t i = 0; i < j.place.map_count; i++) {
		const struct jnl_extent *e = &j.place.map[i];

		assert_int_equal(e->log, log);
		for (uint32_t k = 0; k < e->count; k++)
			assert_int_equal(e->dev + k, want[log++]);
	}
	assert_int_equal(log, IMG_LOG_BLOCKS);
	ext_journal_drop(&j);
}

/* ---- good maps ----------------------------------------------------------- */

static void test_ext_journal_one_extent_found(void **state)
{
	blk_no want[IMG_LOG_BLOCKS];

	(void)state;
	for (uint32_t i = 0; i < IMG_LOG_BLOCKS; i++)
		want[i] = IMG_LOG_AT + i;
	expect_map(want);
}

/* Blocks of the log backwards but for the first, an extent each, under
 * @depth levels of index nodes. */
static void fragment(uint16_t depth, blk_no want[IMG_LOG_BLOCKS])
{
	enum { PER_LEAF = 84, PER_INDEX = 4 };

	uint8_t leaf[IMG_BLOCK];
	uint8_t index[IMG_BLOCK];
	uint32_t file = 0;
	uint16_t tops = 0;
	blk_no node = IMG_NODE_AT;

	want[0] = IMG_LOG_AT;
	for (uint32_t i = 1; i < IMG_LOG_BLOCKS; i++)
		want[i] = IMG_LOG_AT + 2 * (IMG_LOG_BLOCKS - i);
	image_extent_head(img.inode.block, 60, depth, 0);
	while (file < IMG_LOG_BLOCKS) {
		uint16_t leaves = 0;

		image_index_set(img.inode.block, tops, file, node);
		blk_no index_at = node++;

		image_extent_head(index, IMG_BLOCK, 1, 0);
		while (leaves < PER_INDEX && file < IMG_LOG_BLOCKS) {
			uint16_t n = 0;

			image_index_set(index, leaves, file, node);
			image_extent_head(leaf, IMG_BLOCK, 0, 0);
			while (n < PER_LEAF && file < IMG_LOG_BLOCKS) {
				image_extent_set(leaf, n, file, 1, want[file]);
				n++;
				file++;
			}
			((struct ext_disk_extent_head *)leaf)->entries =
				le16_of(n);
			image_write_block(&img, node++, leaf);
			leaves++;
		}
		((struct ext_disk_extent_head *)index)->entries =
			le16_of(leaves);
		image_write_block(&img, index_at, index);
		tops++;
	}
	((struct ext_disk_extent_head *)img.inode.block)->entries =
		le16_of(tops);
}

static void test_ext_journal_deep_extents_found(void **state)
{
	blk_no want[IMG_LOG_BLOCKS];

	(void)state;
	fragment(2, want);
	expect_map(want);
}

static void map_word(unsigned i, blk_no block)
{
	struct le32 raw = le32_of((uint32_t)block);

	memcpy(img.inode.block + i * sizeof(raw), &raw, sizeof(raw));
}

/* The log backwards through direct, indirect and double indirect blocks. */
static void indirect(blk_no want[IMG_LOG_BLOCKS])
{
	struct le32 node[IMG_BLOCK / 4];
	struct le32 top[IMG_BLOCK / 4] = {0};
	uint32_t file = 0;

	want[0] = IMG_LOG_AT;
	for (uint32_t i = 1; i < IMG_LOG_BLOCKS; i++)
		want[i] = IMG_LOG_AT + 2 * (IMG_LOG_BLOCKS - i);
	img.inode.flags = le32_of(0);
	memset(img.inode.block, 0, sizeof(img.inode.block));
	for (; file < EXT_MAP_DIRECT; file++)
		map_word(file, want[file]);
	map_word(EXT_MAP_DIRECT, IMG_NODE_AT);
	map_word(EXT_MAP_DIRECT + 1, IMG_NODE_AT + 1);
	for (unsigned k = 0; file < IMG_LOG_BLOCKS; k++) {
		blk_no at = k ? IMG_NODE_AT + 1 + k : IMG_NODE_AT;

		for (unsigned i = 0; i < ARRAY_COUNT(node); i++) {
			blk_no b = file < IMG_LOG_BLOCKS ? want[file++] : 0;

			node[i] = le32_of((uint32_t)b);
		}
		image_write_block(&img, at, node);
		if (k)
			top[k - 1] = le32_of((uint32_t)at);
	}
	image_write_block(&img, IMG_NODE_AT + 1, top);
}

static void test_ext_journal_indirect_found(void **state)
{
	blk_no want[IMG_LOG_BLOCKS];

	(void)state;
	indirect(want);
	expect_map(want);
}

/* ---- hostile maps -------------------------------------------------------- */

static void test_ext_journal_extent_outside_refused(void **state)
{
	(void)state;
	image_extent_set(img.inode.block, 0, 0, IMG_LOG_BLOCKS, 8000);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "outside the file system");
	image_extent_set(img.inode.block, 0, 0, IMG_LOG_BLOCKS,
		UINT64_C(0xffffffffffff));
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "outside the file system");
	image_extent_set(img.inode.block, 0, 0, IMG_LOG_BLOCKS, 1);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "outside the file system");
}

static void test_ext_journal_on_inode_table_refused(void **state)
{
	(void)state;
	image_extent_set(img.inode.block, 0, 0, IMG_LOG_BLOCKS,
		IMG_TABLE_AT + IMG_TABLE_BLOCKS - 1);
	struct ext_damage damage;
	struct ext_journal j;

	assert_int_equal(find(&j, &damage), -EUCLEAN);
	assert_non_null(strstr(damage.why, "inode table of group 0"));
	assert_int_equal(damage.block, IMG_TABLE_AT + IMG_TABLE_BLOCKS - 1);
}

static void test_ext_journal_overlapping_extents_refused(void **state)
{
	(void)state;
	image_extent_head(img.inode.block, 60, 0, 2);
	image_extent_set(img.inode.block, 0, 0, 512, IMG_LOG_AT);
	image_extent_set(img.inode.block, 1, 512, 512, IMG_LOG_AT + 511);
	expect_damage(-EUCLEAN, IMG_LOG_AT + 511, "mapped twice");
}

static void test_ext_journal_hole_refused(void **state)
{
	(void)state;
	image_extent_head(img.inode.block, 60, 0, 2);
	image_extent_set(img.inode.block, 0, 0, 512, IMG_LOG_AT);
	image_extent_set(img.inode.block, 1, 513, 511, IMG_LOG_AT + 512);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "file block 512 is not mapped");
	image_extent_head(img.inode.block, 60, 0, 1);
	image_extent_set(img.inode.block, 0, 0, 512, IMG_LOG_AT);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "file block 512 is not mapped");
}

static void test_ext_journal_unwritten_extent_refused(void **state)
{
	(void)state;
	image_extent_set(img.inode.block, 0, 0,
		EXT_EXTENT_INIT_MAX + IMG_LOG_BLOCKS, IMG_LOG_AT);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "file block 0 is not mapped");
}

static void test_ext_journal_empty_extent_refused(void **state)
{
	(void)state;
	image_extent_set(img.inode.block, 0, 0, 0, IMG_LOG_AT);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "empty extent");
}

static void test_ext_journal_extents_backwards_refused(void **state)
{
	(void)state;
	image_extent_head(img.inode.block, 60, 0, 2);
	image_extent_set(img.inode.block, 0, 0, 512, IMG_LOG_AT);
	image_extent_set(img.inode.block, 1, 511, 512, IMG_LOG_AT + 512);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "out of order");
}

static void test_ext_journal_bad_extent_header_refused(void **state)
{
	struct ext_disk_extent_head *head =
		(struct ext_disk_extent_head *)img.inode.block;
	struct ext_disk_extent_head good = *head;

	(void)state;
	head->magic = le16_of(0xf30b);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "no magic number");
	*head = good;
	head->max = le16_of(5);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "more entries than fit");
	*head = good;
	head->entries = le16_of(5);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "more entries than fit");
	*head = good;
	head->depth = le16_of(6);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "too deep");
	head->depth = le16_of(0xffff);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "too deep");
}

/* A node that is its own child has the wrong depth there. */
static void test_ext_journal_extent_loop_refused(void **state)
{
	uint8_t node[IMG_BLOCK];

	(void)state;
	image_extent_head(img.inode.block, 60, 5, 1);
	image_index_set(img.inode.block, 0, 0, IMG_NODE_AT);
	image_extent_head(node, sizeof(node), 4, 1);
	image_index_set(node, 0, 0, IMG_NODE_AT);
	image_write_block(&img, IMG_NODE_AT, node);
	expect_damage(-EUCLEAN, IMG_NODE_AT, "wrong depth");
}

/* All entries of each level point at the same child: visiting every path
 * would take 4 * 84^4 steps. */
static void test_ext_journal_extent_fan_refused(void **state)
{
	uint8_t node[IMG_BLOCK];

	(void)state;
	image_extent_head(img.inode.block, 60, 5, 4);
	for (unsigned i = 0; i < 4; i++)
		image_index_set(img.inode.block, i, i, IMG_NODE_AT);
	for (uint16_t depth = 4; depth > 0; depth--) {
		blk_no at = IMG_NODE_AT + 4 - depth;

		image_extent_head(node, sizeof(node), depth, 84);
		for (unsigned i = 0; i < 84; i++)
			image_index_set(node, i, i, at + 1);
		image_write_block(&img, at, node);
	}
	image_extent_head(node, sizeof(node), 0, 1);
	image_extent_set(node, 0, 0, 1, IMG_LOG_AT);
	image_write_block(&img, IMG_NODE_AT + 4, node);
	expect_damage(-EUCLEAN, IMG_NODE_AT + 4, "out of order");

	image_extent_head(node, sizeof(node), 0, 0);
	image_write_block(&img, IMG_NODE_AT + 4, node);
	expect_damage(-EUCLEAN, IMG_NODE_AT + 4, "empty node");
}

static void test_ext_journal_node_in_log_refused(void **state)
{
	uint8_t node[IMG_BLOCK];

	(void)state;
	image_extent_head(img.inode.block, 60, 1, 1);
	image_index_set(img.inode.block, 0, 0, IMG_LOG_AT + 5);
	image_extent_head(node, sizeof(node), 0, 1);
	image_extent_set(node, 0, 0, IMG_LOG_BLOCKS, IMG_LOG_AT);
	image_write_block(&img, IMG_LOG_AT + 5, node);
	expect_damage(-EUCLEAN, IMG_LOG_AT + 5, "mapped twice");
}

static void test_ext_journal_indirect_hole_refused(void **state)
{
	blk_no want[IMG_LOG_BLOCKS];

	(void)state;
	indirect(want);
	map_word(5, 0);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "file block 5 is not mapped");
	map_word(5, want[5]);
	map_word(EXT_MAP_DIRECT, 0);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "file block 12 is not mapped");
}

static void test_ext_journal_indirect_outside_refused(void **state)
{
	blk_no want[IMG_LOG_BLOCKS];

	(void)state;
	indirect(want);
	map_word(EXT_MAP_DIRECT, IMG_BLOCKS);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "outside the file system");
	map_word(EXT_MAP_DIRECT, IMG_NODE_AT);
	map_word(3, UINT32_MAX);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "outside the file system");
}

/* A file of 8000 blocks whose double indirect tree is one node, its own
 * child: found out by its overlaps, not by walking it all. */
static void test_ext_journal_indirect_loop_refused(void **state)
{
	struct le32 node[IMG_BLOCK / 4];

	(void)state;
	img.inode.flags = le32_of(0);
	img.inode.size_lo = le32_of(8000 * IMG_BLOCK);
	memset(img.inode.block, 0, sizeof(img.inode.block));
	for (unsigned i = 0; i < EXT_MAP_DIRECT; i++)
		map_word(i, IMG_LOG_AT + i);
	for (unsigned i = 0; i < ARRAY_COUNT(node); i++)
		node[i] = le32_of(IMG_NODE_AT);
	image_write_block(&img, IMG_NODE_AT, node);
	map_word(EXT_MAP_DIRECT, IMG_NODE_AT);
	map_word(EXT_MAP_DIRECT + 1, IMG_NODE_AT);
	map_word(EXT_MAP_DIRECT + 2, IMG_NODE_AT);
	expect_damage(-EUCLEAN, IMG_NODE_AT, "mapped twice");
}

/* ---- the inode ----------------------------------------------------------- */

static void test_ext_journal_absurd_size_refused(void **state)
{
	(void)state;
	img.inode.size_lo = le32_of(0);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "cannot have 0 bytes");
	img.inode.size_lo = le32_of(IMG_BLOCKS * IMG_BLOCK);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "cannot have");
	img.inode.size_hi = le32_of(UINT32_MAX);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "cannot have");
}

static void test_ext_journal_free_inode_refused(void **state)
{
	(void)state;
	img.inode.links_count = le16_of(0);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "not a file in use");
	img.inode.links_count = le16_of(1);
	img.inode.mode = le16_of(0040755);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "not a file in use");
}

static void test_ext_journal_inode_beyond_table_refused(void **state)
{
	struct ext_damage damage;
	struct ext_journal j;

	(void)state;
	img.super.journal_inum = le32_of(257);
	assert_int_equal(find(&j, &damage), -EUCLEAN);
	assert_int_equal(damage.inode, 257);
	assert_non_null(strstr(damage.why, "no such inode"));
}

/* ---- the copy in the superblock ------------------------------------------ */

static unsigned said; /* by the library */

static void on_log(void *arg, const struct log_record *r)
{
	(void)arg;
	assert_non_null(strstr(r->text, "copy"));
	said++;
}

static void backup_set(void)
{
	memcpy(img.super.jnl_blocks, img.inode.block, sizeof(img.inode.block));
	img.super.jnl_blocks[EXT_MAP_WORDS] = img.inode.size_hi;
	img.super.jnl_blocks[EXT_MAP_WORDS + 1] = img.inode.size_lo;
	img.super.jnl_backup_type = 1;
}

static void expect_backup(void)
{
	struct ext_damage damage;
	struct ext_journal j;

	said = 0;
	log_to(on_log, NULL);
	assert_int_equal(find(&j, &damage), 0);
	log_to(NULL, NULL);
	assert_int_equal(said, 1);
	assert_int_equal(j.source, EXT_JOURNAL_BACKUP);
	assert_int_equal(j.place.map[0].dev, IMG_LOG_AT);
	ext_journal_drop(&j);
}

static void test_ext_journal_bad_inode_copy_used(void **state)
{
	(void)state;
	backup_set();
	img.inode.mode = le16_of(0);
	expect_backup();
}

static void test_ext_journal_bad_inode_indirect_copy_used(void **state)
{
	blk_no want[IMG_LOG_BLOCKS];

	(void)state;
	indirect(want);
	backup_set();
	memset(&img.inode, 0, sizeof(img.inode));
	expect_backup();
}

/* A map that makes sense, of a file that is no log. */
static void test_ext_journal_wrong_inode_copy_used(void **state)
{
	(void)state;
	backup_set();
	image_extent_set(img.inode.block, 0, 0, IMG_LOG_BLOCKS, IMG_LOG_AT + 1);
	expect_backup();
}

static void test_ext_journal_bad_copy_not_used(void **state)
{
	(void)state;
	backup_set();
	img.super.jnl_blocks[0] = le32_of(1);
	img.inode.mode = le16_of(0);
	expect_damage(-EUCLEAN, IMG_TABLE_AT, "not a file in use");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_ext_journal_one_extent_found),
		CASE(test_ext_journal_deep_extents_found),
		CASE(test_ext_journal_indirect_found),
		CASE(test_ext_journal_extent_outside_refused),
		CASE(test_ext_journal_on_inode_table_refused),
		CASE(test_ext_journal_overlapping_extents_refused),
		CASE(test_ext_journal_hole_refused),
		CASE(test_ext_journal_unwritten_extent_refused),
		CASE(test_ext_journal_empty_extent_refused),
		CASE(test_ext_journal_extents_backwards_refused),
		CASE(test_ext_journal_bad_extent_header_refused),
		CASE(test_ext_journal_extent_loop_refused),
		CASE(test_ext_journal_extent_fan_refused),
		CASE(test_ext_journal_node_in_log_refused),
		CASE(test_ext_journal_indirect_hole_refused),
		CASE(test_ext_journal_indirect_outside_refused),
		CASE(test_ext_journal_indirect_loop_refused),
		CASE(test_ext_journal_absurd_size_refused),
		CASE(test_ext_journal_free_inode_refused),
		CASE(test_ext_journal_inode_beyond_table_refused),
		CASE(test_ext_journal_bad_inode_copy_used),
		CASE(test_ext_journal_bad_inode_indirect_copy_used),
		CASE(test_ext_journal_wrong_inode_copy_used),
		CASE(test_ext_journal_bad_copy_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
