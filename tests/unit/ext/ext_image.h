/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ext_image.h - a small file system in memory, put together field by field.
 *
 * 8192 blocks of 1 KiB in one group: superblock 1, descriptors 2, bitmaps 3
 * and 4, inode table 5 to 36 (256 inodes of 128 bytes), the log from LOG_AT
 * on.  No checksums, no features but has_journal.
 */
#ifndef TESTS_EXT_IMAGE_H
#define TESTS_EXT_IMAGE_H

#include "ext/ext_int.h"

enum {
	IMG_BLOCK = 1024,
	IMG_BLOCKS = 8192,
	IMG_DESC_AT = 2,
	IMG_TABLE_AT = 5,
	IMG_TABLE_BLOCKS = 32,
	IMG_NODE_AT = 100, /* free for nodes of maps */
	IMG_LOG_AT = 1000,
	IMG_LOG_BLOCKS = 1024,
};

struct image {
	struct blk_dev *dev;
	struct ext_disk_super super;
	struct ext_disk_group group;
	struct ext_disk_inode inode; /* the journal's */
};

/* A good image; the log is mapped by one extent in the inode. */
void image_init(struct image *img);
void image_fini(struct image *img);

/* Bring superblock, descriptor and inode to the device. */
void image_write(struct image *img);

void image_write_block(struct image *img, blk_no block, const void *data);

/* Fill @raw, of @bytes, with the header of an extent node. */
void image_extent_head(
	void *raw, uint32_t bytes, uint16_t depth, uint16_t entries);
void image_extent_set(
	void *raw, unsigned index, uint32_t file, uint16_t len, blk_no dev);
void image_index_set(void *raw, unsigned index, uint32_t file, blk_no node);

#endif /* TESTS_EXT_IMAGE_H */
