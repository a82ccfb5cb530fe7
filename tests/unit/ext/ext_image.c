/* SPDX-License-Identifier: BSD-2-Clause */
/* ext_image.c - see ext_image.h. */
#include "ext_image.h"

#include "../cmocka_all.h"
#include "jnl/format.h"

static void log_write(struct image *img)
{
	uint8_t block[IMG_BLOCK] = {0};
	struct jbd_super *js = (struct jbd_super *)block;

	js->header.magic = be32_of(JBD_MAGIC);
	js->header.type = be32_of(JBD_SUPER_V2);
	js->block_bytes = be32_of(IMG_BLOCK);
	js->block_count = be32_of(IMG_LOG_BLOCKS);
	js->first = be32_of(1);
	js->sequence = be32_of(1);
	js->user_count = be32_of(1);
	image_write_block(img, IMG_LOG_AT, block);
}

void image_init(struct image *img)
{
	struct ext_disk_super *sb = &img->super;

	memset(img, 0, sizeof(*img));
	assert_int_equal(
		blk_open_mem((uint64_t)IMG_BLOCKS * IMG_BLOCK, &img->dev), 0);
	sb->magic = le16_of(EXT_SUPER_MAGIC);
	sb->inodes_count = le32_of(256);
	sb->blocks_count_lo = le32_of(IMG_BLOCKS);
	sb->first_data_block = le32_of(1);
	sb->blocks_per_group = le32_of(8192);
	sb->clusters_per_group = le32_of(8192);
	sb->inodes_per_group = le32_of(256);
	sb->rev_level = le32_of(1);
	sb->first_ino = le32_of(EXT_OLD_FIRST_INO);
	sb->inode_size = le16_of(128);
	sb->feature_compat = le32_of(EXT_COMPAT_HAS_JOURNAL);
	sb->journal_inum = le32_of(EXT_INO_JOURNAL);

	img->group.block_bitmap_lo = le32_of(3);
	img->group.inode_bitmap_lo = le32_of(4);
	img->group.inode_table_lo = le32_of(IMG_TABLE_AT);

	img->inode.mode = le16_of(EXT_MODE_REG | 0600);
	img->inode.links_count = le16_of(1);
	img->inode.size_lo = le32_of(IMG_LOG_BLOCKS * IMG_BLOCK);
	img->inode.flags = le32_of(EXT_INODE_EXTENTS);
	image_extent_head(img->inode.block, sizeof(img->inode.block), 0, 1);
	image_extent_set(img->inode.block, 0, 0, IMG_LOG_BLOCKS, IMG_LOG_AT);
	log_write(img);
	image_write(img);
}

void image_fini(struct image *img)
{
	blk_close(img->dev);
}

void image_write_block(struct image *img, blk_no block, const void *data)
{
	assert_int_equal(
		blk_write(img->dev, block * IMG_BLOCK, IMG_BLOCK, data), 0);
}

void image_write(struct image *img)
{
	uint8_t block[IMG_BLOCK] = {0};

	assert_int_equal(blk_write(img->dev, EXT_SUPER_OFFSET,
				 sizeof(img->super), &img->super),
		0);
	memcpy(block, &img->group, EXT_OLD_DESC_BYTES);
	image_write_block(img, IMG_DESC_AT, block);
	memset(block, 0, sizeof(block));
	/* Inode 8 is the last of the first block of the table. */
	memcpy(block + (size_t)7 * EXT_OLD_INODE_BYTES, &img->inode,
		EXT_OLD_INODE_BYTES);
	image_write_block(img, IMG_TABLE_AT, block);
}

void image_extent_head(
	void *raw, uint32_t bytes, uint16_t depth, uint16_t entries)
{
	struct ext_disk_extent_head *head = raw;

	memset(raw, 0, bytes);
	head->magic = le16_of(EXT_EXTENT_MAGIC);
	head->max = le16_of((uint16_t)((bytes - sizeof(*head)) / 12));
	head->entries = le16_of(entries);
	head->depth = le16_of(depth);
}

void image_extent_set(
	void *raw, unsigned index, uint32_t file, uint16_t len, blk_no dev)
{
	struct ext_disk_extent *e =
		(struct ext_disk_extent *)((struct ext_disk_extent_head *)raw +
					   1) +
		index;

	e->block = le32_of(file);
	e->len = le16_of(len);
	e->start_hi = le16_of((uint16_t)(dev >> 32));
	e->start_lo = le32_of((uint32_t)dev);
}

void image_index_set(void *raw, unsigned index, uint32_t file, blk_no node)
{
	struct ext_disk_extent_index *x =
		(struct ext_disk_extent_index *)((struct ext_disk_extent_head *)
							 raw +
						 1) +
		index;

	x->block = le32_of(file);
	x->leaf_lo = le32_of((uint32_t)node);
	x->leaf_hi = le16_of((uint16_t)(node >> 32));
}
