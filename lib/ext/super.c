/* SPDX-License-Identifier: BSD-2-Clause */
/* super.c - reading, checking and writing the primary superblock. */
#include <errno.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "ext/ext_int.h"

/* ---- on the device ------------------------------------------------------- */

/* The whole sectors that hold the superblock: it may share one of 4 KiB. */
struct super_span {
	uint64_t offset;
	size_t bytes;
	size_t inside; /* where in it the superblock begins */
};

static struct super_span super_span(const struct blk_dev *dev, uint64_t offset)
{
	uint64_t sector = blk_geom(dev).sector_bytes;
	uint64_t first = offset / sector * sector;
	uint64_t end = offset + EXT_SUPER_BYTES;

	end = (end + sector - 1) / sector * sector;
	return (struct super_span){
		.offset = first,
		.bytes = end - first,
		.inside = offset - first,
	};
}

int ext_super_read_at(struct blk_dev *dev, uint64_t offset,
	struct ext_disk_super *out, struct ext_damage *damage)
{
	struct super_span span = super_span(dev, offset);
	uint8_t *buf;
	int err;

	if (blk_geom(dev).bytes < span.offset + span.bytes)
		return EXT_DAMAGED(damage, -EUCLEAN, LOG_NO_BLOCK, 0,
			"too small to hold a file system");
	buf = malloc(span.bytes);
	if (!buf)
		return -ENOMEM;
	err = blk_read(dev, span.offset, span.bytes, buf);
	if (!err)
		memcpy(out, buf + span.inside, sizeof(*out));
	else
		ext_damage_say(
			damage, LOG_NO_BLOCK, 0, "cannot read the superblock");
	free(buf);
	return err;
}

int ext_super_read(struct blk_dev *dev, struct ext_disk_super *out,
	struct ext_damage *damage)
{
	return ext_super_read_at(dev, EXT_SUPER_OFFSET, out, damage);
}

int ext_super_write(struct blk_dev *dev, struct ext_disk_super *raw)
{
	struct super_span span = super_span(dev, EXT_SUPER_OFFSET);
	uint8_t *buf = malloc(span.bytes);
	int err;

	if (!buf)
		return -ENOMEM;
	if (le32_get(raw->feature_ro_compat) & EXT_RO_COMPAT_METADATA_CSUM)
		raw->checksum = le32_of(ext_csum_super(raw));
	err = blk_read(dev, span.offset, span.bytes, buf);
	if (!err) {
		memcpy(buf + span.inside, raw, sizeof(*raw));
		err = blk_write(dev, span.offset, span.bytes, buf);
	}
	free(buf);
	return err;
}

/* ---- decoding ------------------------------------------------------------ */

static int bad(
	struct ext_damage *damage, int error, const char *what, uint64_t value)
{
	return EXT_DAMAGED(damage, error, LOG_NO_BLOCK, 0,
		"superblock: %s (%llu)", what, (unsigned long long)value);
}

static bool power_of_two(uint32_t v)
{
	return v != 0 && (v & (v - 1)) == 0;
}

/* Revision 0 has no features and fixed sizes, whatever the fields hold. */
static int decode_revision(const struct ext_disk_super *raw,
	struct ext_super *sb, struct ext_damage *damage)
{
	uint32_t revision = le32_get(raw->rev_level);

	sb->inode_bytes = EXT_OLD_INODE_BYTES;
	sb->first_ino = EXT_OLD_FIRST_INO;
	if (revision > 1)
		return bad(damage, -EOPNOTSUPP, "unknown revision", revision);
	if (revision == 0)
		return 0;
	sb->inode_bytes = le16_get(raw->inode_size);
	sb->first_ino = le32_get(raw->first_ino);
	sb->features = (struct ext_features){
		.compat = le32_get(raw->feature_compat),
		.incompat = le32_get(raw->feature_incompat),
		.ro_compat = le32_get(raw->feature_ro_compat),
	};
	return 0;
}

static int decode_csum(const struct ext_disk_super *raw, struct ext_super *sb,
	struct ext_damage *damage)
{
	memcpy(sb->uuid, raw->uuid, sizeof(sb->uuid));
	sb->csum = sb->features.ro_compat & EXT_RO_COMPAT_METADATA_CSUM;
	if (!sb->csum)
		return 0;
	if (raw->checksum_type != 1)
		return bad(damage, -EOPNOTSUPP, "unknown checksum type",
			raw->checksum_type);
	if (le32_get(raw->checksum) != ext_csum_super(raw))
		return EXT_DAMAGED(damage, -EBADMSG, LOG_NO_BLOCK, 0,
			"superblock: checksum is %08x, should be %08x",
			le32_get(raw->checksum), ext_csum_super(raw));
	sb->csum_seed = sb->features.incompat & EXT_INCOMPAT_CSUM_SEED
				? le32_get(raw->checksum_seed)
				: crc32c(~0U, sb->uuid, sizeof(sb->uuid));
	return 0;
}

static int decode_sizes(const struct ext_disk_super *raw, struct ext_super *sb,
	struct ext_damage *damage)
{
	uint32_t block_log = le32_get(raw->log_block_size);
	uint32_t cluster_log = le32_get(raw->log_cluster_size);
	bool bigalloc = sb->features.ro_compat & EXT_RO_COMPAT_BIGALLOC;

	if (block_log > EXT_BLOCK_LOG_MAX - EXT_BLOCK_LOG_MIN)
		return bad(damage, -EUCLEAN, "block size out of range, log",
			block_log);
	if (bigalloc ? cluster_log < block_log ||
				cluster_log >
					EXT_CLUSTER_LOG_MAX - EXT_BLOCK_LOG_MIN
		     : cluster_log != block_log)
		return bad(damage, -EUCLEAN, "cluster size out of range, log",
			cluster_log);
	sb->block_bytes = UINT32_C(1) << (EXT_BLOCK_LOG_MIN + block_log);
	sb->cluster_bytes = UINT32_C(1) << (EXT_BLOCK_LOG_MIN + cluster_log);

	sb->block_count = le32_get(raw->blocks_count_lo);
	if (sb->features.incompat & EXT_INCOMPAT_64BIT)
		sb->block_count |= (uint64_t)le32_get(raw->blocks_count_hi)
				   << 32;
	sb->at = ext_super_block(sb);
	/* Extents have 48 bits for a block. */
	if (sb->block_count > UINT64_C(1) << 48)
		return bad(
			damage, -EUCLEAN, "too many blocks", sb->block_count);
	return 0;
}

static int decode_records(const struct ext_disk_super *raw,
	struct ext_super *sb, struct ext_damage *damage)
{
	if (!power_of_two(sb->inode_bytes) ||
		sb->inode_bytes < EXT_OLD_INODE_BYTES ||
		sb->inode_bytes > sb->block_bytes)
		return bad(damage, -EUCLEAN, "bad inode size", sb->inode_bytes);
	sb->desc_bytes = EXT_OLD_DESC_BYTES;
	if (!(sb->features.incompat & EXT_INCOMPAT_64BIT))
		return 0;
	sb->desc_bytes = le16_get(raw->desc_size);
	if (!power_of_two(sb->desc_bytes) ||
		sb->desc_bytes < EXT_WIDE_DESC_BYTES ||
		sb->desc_bytes > sb->block_bytes)
		return bad(damage, -EUCLEAN, "bad group descriptor size",
			sb->desc_bytes);
	return 0;
}

static int decode_per_group(const struct ext_disk_super *raw,
	struct ext_super *sb, struct ext_damage *damage)
{
	uint32_t bits = sb->block_bytes * 8;
	uint32_t ratio = sb->cluster_bytes / sb->block_bytes;
	uint32_t clusters = le32_get(raw->clusters_per_group);

	sb->blocks_per_group = le32_get(raw->blocks_per_group);
	sb->inodes_per_group = le32_get(raw->inodes_per_group);
	if (ratio == 1)
		clusters = sb->blocks_per_group;
	if (clusters == 0 || clusters > bits ||
		sb->blocks_per_group / ratio != clusters ||
		sb->blocks_per_group % ratio != 0)
		return bad(damage, -EUCLEAN, "bad number of blocks per group",
			sb->blocks_per_group);
	if (sb->inodes_per_group < sb->block_bytes / sb->inode_bytes ||
		sb->inodes_per_group > bits)
		return bad(damage, -EUCLEAN, "bad number of inodes per group",
			sb->inodes_per_group);
	return 0;
}

static int decode_groups(const struct ext_disk_super *raw, struct ext_super *sb,
	struct ext_damage *damage)
{
	uint64_t groups;

	sb->first_data_block = le32_get(raw->first_data_block);
	if (sb->first_data_block !=
		(sb->cluster_bytes > EXT_SUPER_OFFSET ? 0 : 1))
		return bad(damage, -EUCLEAN, "bad first data block",
			sb->first_data_block);
	if (sb->block_count <= ext_super_block(sb))
		return bad(damage, -EUCLEAN, "too few blocks", sb->block_count);
	groups = (sb->block_count - sb->first_data_block +
			 sb->blocks_per_group - 1) /
		 sb->blocks_per_group;
	sb->inode_count = le32_get(raw->inodes_count);
	if (groups * sb->inodes_per_group != sb->inode_count)
		return bad(damage, -EUCLEAN,
			"number of inodes does not fit the groups",
			sb->inode_count);
	sb->group_count = (uint32_t)groups;
	if (sb->first_ino < EXT_OLD_FIRST_INO ||
		sb->first_ino > sb->inode_count)
		return bad(damage, -EUCLEAN, "bad first inode", sb->first_ino);
	return 0;
}

/* What only statfs and directories need; nothing here is trusted. */
static void decode_rest(const struct ext_disk_super *raw, struct ext_super *sb)
{
	bool wide = sb->features.incompat & EXT_INCOMPAT_64BIT;

	sb->reserved_blocks = le32_get(raw->r_blocks_count_lo);
	sb->free_blocks = le32_get(raw->free_blocks_count_lo);
	if (wide) {
		sb->reserved_blocks |=
			(uint64_t)le32_get(raw->r_blocks_count_hi) << 32;
		sb->free_blocks |= (uint64_t)le32_get(raw->free_blocks_count_hi)
				   << 32;
	}
	sb->free_inodes = le32_get(raw->free_inodes_count);
	sb->overhead_clusters = le32_get(raw->overhead_clusters);
	for (int i = 0; i < 4; i++)
		sb->hash_seed[i] = le32_get(raw->hash_seed[i]);
	sb->hash_unsigned = le32_get(raw->flags) & EXT_SUPER_UNSIGNED_HASH;
}

static int decode_descs(const struct ext_disk_super *raw, struct ext_super *sb,
	struct ext_damage *damage)
{
	uint32_t per_block = sb->block_bytes / sb->desc_bytes;

	sb->desc_blocks = (sb->group_count + per_block - 1) / per_block;
	sb->reserved_desc_blocks = le16_get(raw->reserved_gdt_blocks);
	if (!(sb->features.compat & EXT_COMPAT_RESIZE_INODE))
		sb->reserved_desc_blocks = 0;
	if (sb->reserved_desc_blocks > sb->block_bytes / 4)
		return bad(damage, -EUCLEAN,
			"too many reserved descriptor blocks",
			sb->reserved_desc_blocks);
	sb->first_meta_bg = sb->desc_blocks;
	if (sb->features.incompat & EXT_INCOMPAT_META_BG)
		sb->first_meta_bg = le32_get(raw->first_meta_bg);
	if (sb->first_meta_bg > sb->desc_blocks)
		return bad(damage, -EUCLEAN, "bad first meta block group",
			sb->first_meta_bg);
	for (int i = 0; i < 2; i++)
		sb->backup_bgs[i] = le32_get(raw->backup_bgs[i]);
	return 0;
}

/* The copy counts as present when it maps anything. */
static void decode_journal(
	const struct ext_disk_super *raw, struct ext_super *sb)
{
	sb->journal_inum = le32_get(raw->journal_inum);
	memcpy(sb->journal_uuid, raw->journal_uuid, sizeof(sb->journal_uuid));
	memcpy(sb->jnl_blocks, raw->jnl_blocks, sizeof(sb->jnl_blocks));
	sb->has_jnl_backup = raw->jnl_backup_type <= 1 &&
			     le32_get(raw->jnl_blocks[0]) != 0 &&
			     le32_get(raw->jnl_blocks[EXT_JNL_WORDS - 1]) != 0;
}

int ext_super_decode(const struct ext_disk_super *raw, struct ext_super *out,
	struct ext_damage *damage)
{
	struct ext_super sb = {0};
	int err;

	if (le16_get(raw->magic) != EXT_SUPER_MAGIC)
		return EXT_DAMAGED(damage, -EUCLEAN, LOG_NO_BLOCK, 0,
			"no ext2, ext3 or ext4 file system (bad magic)");
	err = decode_revision(raw, &sb, damage);
	if (!err)
		err = decode_csum(raw, &sb, damage);
	if (!err)
		err = decode_sizes(raw, &sb, damage);
	sb.state = le16_get(raw->state);
	memcpy(sb.label, raw->volume_name, sizeof(raw->volume_name));
	if (!err && !(sb.features.incompat & EXT_INCOMPAT_JOURNAL_DEV)) {
		err = decode_records(raw, &sb, damage);
		if (!err)
			err = decode_per_group(raw, &sb, damage);
		if (!err)
			err = decode_groups(raw, &sb, damage);
		if (!err)
			err = decode_descs(raw, &sb, damage);
		decode_journal(raw, &sb);
		decode_rest(raw, &sb);
	}
	if (!err)
		*out = sb;
	return err;
}

/* ---- opening ------------------------------------------------------------- */

int ext_super_admit(const struct ext_super *sb, const struct blk_dev *dev,
	struct ext_damage *damage)
{
	uint32_t strange = ext_features_unknown(&sb->features).incompat;
	uint64_t fit = blk_geom(dev).bytes / sb->block_bytes;

	if (strange)
		return EXT_DAMAGED(damage, -EOPNOTSUPP, LOG_NO_BLOCK, 0,
			"unknown incompatible features (bits %#x)", strange);
	if (sb->block_count > fit)
		return EXT_DAMAGED(damage, -EUCLEAN, LOG_NO_BLOCK, 0,
			"file system of %llu blocks on a device of %llu",
			(unsigned long long)sb->block_count,
			(unsigned long long)fit);
	return 0;
}

int ext_super_primary(
	struct blk_dev *dev, struct ext_super *out, struct ext_damage *damage)
{
	struct ext_disk_super raw;
	struct ext_super sb;
	int err = ext_super_read(dev, &raw, damage);

	if (!err)
		err = ext_super_decode(&raw, &sb, damage);
	if (!err)
		err = ext_super_admit(&sb, dev, damage);
	if (!err)
		*out = sb;
	return err;
}

int ext_open(struct blk_dev *dev, struct ext **out, struct ext_damage *damage)
{
	struct ext *fs = calloc(1, sizeof(*fs));
	int err;

	if (!fs)
		return -ENOMEM;
	fs->dev = dev;
	err = ext_super_primary(dev, &fs->super, damage);
	if (err)
		free(fs);
	else
		*out = fs;
	return err;
}

void ext_close(struct ext *fs)
{
	free(fs);
}
