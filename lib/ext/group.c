/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.c - where block groups keep their fixed metadata.
 *
 * Classic layout: copies of the superblock at the start of some groups, each
 * followed by all descriptors and room reserved for more.  META_BG: from
 * descriptor block first_meta_bg on, descriptor block i describes the groups
 * of one meta group and lies in its first, second and last group, behind the
 * superblock copy if the group has one.
 */
#include <errno.h>
#include <stdlib.h>

#include "ext/ext_int.h"

static bool power_of(uint32_t v, uint32_t base)
{
	while (v > 1 && v % base == 0)
		v /= base;
	return v == 1;
}

bool ext_group_has_super(const struct ext_super *sb, uint32_t index)
{
	if (index == 0)
		return true;
	if (sb->features.compat & EXT_COMPAT_SPARSE_SUPER2)
		return index == sb->backup_bgs[0] || index == sb->backup_bgs[1];
	if (!(sb->features.ro_compat & EXT_RO_COMPAT_SPARSE_SUPER))
		return true;
	return power_of(index, 3) || power_of(index, 5) || power_of(index, 7);
}

blk_no ext_group_super_blocks(const struct ext_super *sb, uint32_t index)
{
	uint32_t per_block = sb->block_bytes / sb->desc_bytes;

	if (!ext_group_has_super(sb, index))
		return 0;
	/* Groups that META_BG describes have no classic descriptors. */
	return 1 + (index / per_block < sb->first_meta_bg
				   ? (blk_no)sb->first_meta_bg
				   : 0);
}

blk_no ext_group_first(const struct ext_super *sb, uint32_t index)
{
	/* Group 0 of 1 KiB blocks in larger clusters begins with the boot
	 * block, all others where their number says. */
	if (index == 0)
		return ext_super_block(sb);
	return sb->first_data_block + (blk_no)index * sb->blocks_per_group;
}

blk_no ext_desc_block(const struct ext_super *sb, uint32_t index)
{
	uint32_t per_block = sb->block_bytes / sb->desc_bytes;
	uint32_t group;

	/* A copy of the superblock has its own copy of these. */
	if (index < sb->first_meta_bg)
		return sb->at + 1 + index;
	group = index * per_block;
	/* So has its meta group, in its second group. */
	if (sb->at != ext_super_block(sb) && group + 1 < sb->group_count)
		group++;
	return ext_group_first(sb, group) + ext_group_has_super(sb, group);
}

uint32_t ext_inode_table_blocks(const struct ext_super *sb)
{
	uint32_t per_block = sb->block_bytes / sb->inode_bytes;

	return (sb->inodes_per_group + per_block - 1) / per_block;
}

int ext_block_read(const struct ext *fs, blk_no block, void *data,
	struct ext_damage *damage)
{
	uint32_t bytes = fs->super.block_bytes;
	int err;

	if (block >= fs->super.block_count)
		return EXT_DAMAGED(damage, -EUCLEAN, block, 0,
			"block beyond the end of the file system");
	err = blk_read(fs->dev, block * bytes, bytes, data);
	if (err)
		ext_damage_say(damage, block, 0, "cannot read");
	return err;
}

static blk_no wide(const struct ext_super *sb, struct le32 lo, struct le32 hi)
{
	blk_no block = le32_get(lo);

	if (sb->desc_bytes >= EXT_WIDE_DESC_BYTES)
		block |= (blk_no)le32_get(hi) << 32;
	return block;
}

static uint32_t wide16(
	const struct ext_super *sb, struct le16 lo, struct le16 hi)
{
	uint32_t value = le16_get(lo);

	if (sb->desc_bytes >= EXT_WIDE_DESC_BYTES)
		value |= (uint32_t)le16_get(hi) << 16;
	return value;
}

static void decode_counts(const struct ext_super *sb,
	const struct ext_disk_group *d, struct ext_group *g)
{
	g->free_blocks =
		wide16(sb, d->free_blocks_count_lo, d->free_blocks_count_hi);
	g->free_inodes =
		wide16(sb, d->free_inodes_count_lo, d->free_inodes_count_hi);
	g->used_dirs = wide16(sb, d->used_dirs_count_lo, d->used_dirs_count_hi);
	if (!sb->csum && !(sb->features.ro_compat & EXT_RO_COMPAT_GDT_CSUM))
		return;
	g->flags = le16_get(d->flags);
	g->unused_inodes = wide16(sb, d->itable_unused_lo, d->itable_unused_hi);
	g->block_bitmap_csum =
		wide16(sb, d->block_bitmap_csum_lo, d->block_bitmap_csum_hi);
	g->inode_bitmap_csum =
		wide16(sb, d->inode_bitmap_csum_lo, d->inode_bitmap_csum_hi);
}

int ext_group_decode(const struct ext_super *sb, uint32_t index,
	const void *raw, blk_no block, struct ext_group *out,
	struct ext_damage *damage)
{
	struct ext_disk_group d = {0};
	struct ext_group g = {0};
	blk_no low = ext_super_block(sb);

	/* Narrow descriptors are shorter than the struct. */
	memcpy(&d, raw,
		sb->desc_bytes < sizeof(d) ? sb->desc_bytes : sizeof(d));
	if (!ext_csum_group_ok(sb, index, raw))
		return EXT_DAMAGED(damage, -EBADMSG, block, 0,
			"descriptor of group %u has a bad checksum", index);
	g.block_bitmap = wide(sb, d.block_bitmap_lo, d.block_bitmap_hi);
	g.inode_bitmap = wide(sb, d.inode_bitmap_lo, d.inode_bitmap_hi);
	g.inode_table = wide(sb, d.inode_table_lo, d.inode_table_hi);
	if (g.block_bitmap <= low || g.block_bitmap >= sb->block_count ||
		g.inode_bitmap <= low || g.inode_bitmap >= sb->block_count)
		return EXT_DAMAGED(damage, -EUCLEAN, block, 0,
			"descriptor of group %u: bitmap out of range", index);
	if (g.inode_table <= low || g.inode_table >= sb->block_count ||
		sb->block_count - g.inode_table < ext_inode_table_blocks(sb))
		return EXT_DAMAGED(damage, -EUCLEAN, block, 0,
			"descriptor of group %u: inode table out of range",
			index);
	decode_counts(sb, &d, &g);
	*out = g;
	return 0;
}

int ext_group_read(const struct ext *fs, uint32_t index, struct ext_group *out,
	struct ext_damage *damage)
{
	const struct ext_super *sb = &fs->super;
	uint32_t per_block = sb->block_bytes / sb->desc_bytes;
	blk_no block = ext_desc_block(sb, index / per_block);
	uint8_t *buf = malloc(sb->block_bytes);
	int err;

	if (!buf)
		return -ENOMEM;
	err = ext_block_read(fs, block, buf, damage);
	if (!err)
		err = ext_group_decode(sb, index,
			buf + (size_t)(index % per_block) * sb->desc_bytes,
			block, out, damage);
	free(buf);
	return err;
}
