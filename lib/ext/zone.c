/* SPDX-License-Identifier: BSD-2-Clause */
/* zone.c - keeping files off the fixed metadata. */
#include <errno.h>
#include <stdlib.h>

#include "ext/ext_int.h"

struct zone {
	const struct ext *fs;
	const struct ext_range *ranges;
	size_t count;
	struct ext_damage *damage;
};

size_t ext_range_after(
	const struct ext_range *ranges, size_t count, blk_no block)
{
	size_t lo = 0;
	size_t hi = count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ranges[mid].first + ranges[mid].count > block)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static int fixed(const struct zone *z, const char *what, uint32_t group,
	blk_no first, blk_no count)
{
	size_t i = ext_range_after(z->ranges, z->count, first);

	if (i == z->count || z->ranges[i].first >= first + count)
		return 0;
	return EXT_DAMAGED(z->damage, -EUCLEAN, z->ranges[i].first, 0,
		"map overlaps the %s of group %u", what, group);
}

static int fixed_group(
	const struct zone *z, uint32_t index, const struct ext_group *g)
{
	blk_no table = ext_inode_table_blocks(&z->fs->super);
	int err = fixed(z, "block bitmap", index, g->block_bitmap, 1);

	if (!err)
		err = fixed(z, "inode bitmap", index, g->inode_bitmap, 1);
	if (!err)
		err = fixed(z, "inode table", index, g->inode_table, table);
	return err;
}

/* The copy of the superblock, and of the classic part of the descriptors. */
static int fixed_super(const struct zone *z, uint32_t index)
{
	const struct ext_super *sb = &z->fs->super;
	blk_no count = ext_group_super_blocks(sb, index);

	if (count == 0)
		return 0;
	return fixed(z, "superblock and descriptors", index,
		ext_group_first(sb, index), count + sb->reserved_desc_blocks);
}

/* Descriptor block @index and the groups that it describes. */
static int fixed_desc_block(const struct zone *z, uint32_t index, void *buf)
{
	const struct ext_super *sb = &z->fs->super;
	uint32_t per_block = sb->block_bytes / sb->desc_bytes;
	uint32_t group = index * per_block;
	blk_no block = ext_desc_block(sb, index);
	int err = fixed(z, "descriptors", group, block, 1);

	if (!err)
		err = ext_block_read(z->fs, block, buf, z->damage);
	for (uint32_t i = 0; !err && i < per_block && group < sb->group_count;
		i++) {
		const uint8_t *raw =
			(uint8_t *)buf + (size_t)i * sb->desc_bytes;
		struct ext_group g;

		if (!ext_group_decode(sb, group, raw, block, &g, NULL))
			err = fixed_group(z, group, &g);
		if (!err)
			err = fixed_super(z, group);
		group++;
	}
	return err;
}

int ext_zone_check(const struct ext *fs, const struct ext_range *ranges,
	size_t count, struct ext_damage *damage)
{
	const struct zone z = {
		.fs = fs, .ranges = ranges, .count = count, .damage = damage};
	void *buf = malloc(fs->super.block_bytes);
	int err = buf ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < fs->super.desc_blocks; i++)
		err = fixed_desc_block(&z, i, buf);
	free(buf);
	return err;
}
