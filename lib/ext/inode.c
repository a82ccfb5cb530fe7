/* SPDX-License-Identifier: BSD-2-Clause */
/* inode.c - reading inodes out of their tables. */
#include <errno.h>
#include <stdlib.h>

#include "ext/ext_int.h"

enum { EPOCH_BITS = 2, EPOCH_MASK = 3, NANOSECONDS = 1000000000 };

/* Whether a field of the larger part is in use, which ends at byte @end. */
static bool has(const struct ext_inode *inode, size_t end)
{
	return EXT_OLD_INODE_BYTES + (size_t)inode->extra >= end;
}

#define HAS(inode, field)                                                      \
	has((inode), offsetof(struct ext_disk_inode, field) +                  \
			     sizeof(((struct ext_disk_inode *)NULL)->field))

static struct ext_time time_of(
	struct le32 seconds, struct le32 extra, bool wide)
{
	struct ext_time t = {.seconds = (int32_t)le32_get(seconds)};
	uint32_t more = wide ? le32_get(extra) : 0;

	t.seconds += (int64_t)(more & EPOCH_MASK) << 32;
	t.nanoseconds = more >> EPOCH_BITS;
	if (t.nanoseconds >= NANOSECONDS)
		t.nanoseconds = 0;
	return t;
}

static void decode_times(
	const struct ext_disk_inode *raw, struct ext_inode *out)
{
	out->atime =
		time_of(raw->atime, raw->atime_extra, HAS(out, atime_extra));
	out->mtime =
		time_of(raw->mtime, raw->mtime_extra, HAS(out, mtime_extra));
	out->ctime =
		time_of(raw->ctime, raw->ctime_extra, HAS(out, ctime_extra));
	if (HAS(out, crtime))
		out->crtime = time_of(
			raw->crtime, raw->crtime_extra, HAS(out, crtime_extra));
}

static uint64_t sectors_of(const struct ext_super *sb,
	const struct ext_disk_inode *raw, uint32_t flags)
{
	uint64_t count = le32_get(raw->blocks_lo);

	if (!(sb->features.ro_compat & EXT_RO_COMPAT_HUGE_FILE))
		return count;
	count |= (uint64_t)le16_get(raw->blocks_hi) << 32;
	return flags & EXT_INODE_HUGE_FILE ? count * (sb->block_bytes / 512)
					   : count;
}

/* The high half was something else in directories of ext3 and before. */
static uint64_t size_of(const struct ext_super *sb,
	const struct ext_disk_inode *raw, uint16_t mode)
{
	uint64_t bytes = le32_get(raw->size_lo);

	if ((mode & EXT_MODE_TYPE) == EXT_MODE_REG ||
		sb->features.incompat & EXT_INCOMPAT_LARGE_DIR)
		bytes |= (uint64_t)le32_get(raw->size_hi) << 32;
	return bytes;
}

void ext_inode_decode(const struct ext_super *sb, const void *data,
	uint32_t ino, blk_no at, struct ext_inode *out)
{
	struct ext_disk_inode raw = {0};

	/* The smallest inodes are shorter than the struct. */
	memcpy(&raw, data,
		sb->inode_bytes < sizeof(raw) ? sb->inode_bytes : sizeof(raw));
	*out = (struct ext_inode){
		.ino = ino,
		.at = at,
		.mode = le16_get(raw.mode),
		.links = le16_get(raw.links_count),
		.flags = le32_get(raw.flags),
		.generation = le32_get(raw.generation),
		.bytes = size_of(sb, &raw, le16_get(raw.mode)),
		.sectors = sectors_of(sb, &raw, le32_get(raw.flags)),
		.uid = le16_get(raw.uid_lo) | (uint32_t)le16_get(raw.uid_hi)
						      << 16,
		.gid = le16_get(raw.gid_lo) | (uint32_t)le16_get(raw.gid_hi)
						      << 16,
		.xattr_block = le32_get(raw.file_acl_lo),
		.extra = le16_get(raw.extra_isize),
		.dtime = le32_get(raw.dtime),
	};
	if (sb->features.incompat & EXT_INCOMPAT_64BIT)
		out->xattr_block |= (blk_no)le16_get(raw.file_acl_hi) << 32;
	decode_times(&raw, out);
	if (sb->features.ro_compat & EXT_RO_COMPAT_PROJECT && HAS(out, projid))
		out->project = le32_get(raw.projid);
	memcpy(out->block, raw.block, sizeof(out->block));
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
			ext_inode_decode(sb, raw, ino, block, out);
		else
			err = EXT_DAMAGED(damage, -EBADMSG, block, ino,
				"inode has a bad checksum");
	}
	free(buf);
	return err;
}
