/* SPDX-License-Identifier: BSD-2-Clause */
/* inode.c - reading inodes out of their tables. */
#include <errno.h>
#include <stdlib.h>

#include "ext/ext_int.h"

static void inode_decode(const struct ext_disk_inode *raw, uint32_t ino,
	blk_no at, struct ext_inode *out)
{
	*out = (struct ext_inode){
		.ino = ino,
		.at = at,
		.mode = le16_get(raw->mode),
		.links = le16_get(raw->links_count),
		.flags = le32_get(raw->flags),
		.generation = le32_get(raw->generation),
		.bytes = (uint64_t)le32_get(raw->size_hi) << 32 |
			 le32_get(raw->size_lo),
	};
	memcpy(out->block, raw->block, sizeof(out->block));
}

int ext_inode_read(const struct ext *fs, uint32_t ino, struct ext_inode *out,
	struct ext_damage *damage)
{
	const struct ext_super *sb = &fs->super;
	uint32_t per_block = sb->block_bytes / sb->inode_bytes;
	struct ext_group group;
	uint32_t index;
	uint8_t *buf;
	blk_no block;
	int err;

	if (ino == 0 || ino > sb->inode_count)
		return EXT_DAMAGED(
			damage, -EUCLEAN, LOG_NO_BLOCK, ino, "no such inode");
	err = ext_group_read(
		fs, (ino - 1) / sb->inodes_per_group, &group, damage);
	if (err)
		return err;
	buf = malloc(sb->block_bytes);
	if (!buf)
		return -ENOMEM;
	index = (ino - 1) % sb->inodes_per_group;
	block = group.inode_table + index / per_block;
	err = ext_block_read(fs, block, buf, damage);
	if (!err) {
		const void *raw =
			buf + (size_t)(index % per_block) * sb->inode_bytes;

		if (ext_csum_inode_ok(sb, ino, raw))
			inode_decode(raw, ino, block, out);
		else
			err = EXT_DAMAGED(damage, -EBADMSG, block, ino,
				"inode has a bad checksum");
	}
	free(buf);
	return err;
}
