/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * backup.c - copies of the superblock.
 *
 * A copy is where the block size says, so each block size has its own places
 * to look; a copy counts only when it names that block size and that group.
 * Without any intact superblock only the usual sizes of groups can be tried.
 */
#include <errno.h>

#include "ext/mount_int.h"

/* Which groups have a copy, most likely first: all schemes share the first. */
static const uint32_t groups[] = {1, 3, 5, 7, 9, 25, 27, 49};

/* Blocks of a cluster: none, and mke2fs's default. */
static const uint32_t ratios[] = {1, 16};

static int copy_read(struct blk_dev *dev, uint64_t block, uint32_t block_bytes,
	struct ext_super *out, struct ext_damage *damage)
{
	struct ext_disk_super raw;
	struct ext_super sb;
	uint64_t offset;
	int err;

	if (__builtin_mul_overflow(block, block_bytes, &offset) ||
		offset >= blk_geom(dev).bytes)
		return EXT_DAMAGED(damage, -EUCLEAN, block, 0,
			"no superblock: beyond the end of the device");
	if (offset == 0)
		offset = EXT_SUPER_OFFSET;
	err = ext_super_read_at(dev, offset, &raw, damage);
	if (!err)
		err = ext_super_decode(&raw, &sb, damage);
	if (!err && sb.block_bytes != block_bytes)
		err = EXT_DAMAGED(damage, -EUCLEAN, block, 0,
			"superblock: says blocks of %u bytes, is in one of %u",
			sb.block_bytes, block_bytes);
	if (!err && ext_is_journal_super(&sb))
		err = EXT_DAMAGED(damage, -EUCLEAN, block, 0,
			"a journal device has no copies of its superblock");
	if (!err)
		err = ext_super_admit(&sb, dev, damage);
	if (err)
		return err;
	sb.at = offset / block_bytes;
	*out = sb;
	return 0;
}

int ext_backup_read(struct blk_dev *dev, uint64_t block, uint32_t block_bytes,
	struct ext_super *out, struct ext_damage *damage)
{
	int err = -EUCLEAN;

	if (block_bytes != 0)
		return copy_read(dev, block, block_bytes, out, damage);
	for (int log = EXT_BLOCK_LOG_MIN; err && log <= EXT_BLOCK_LOG_MAX;
		log++)
		err = copy_read(dev, block, UINT32_C(1) << log, out, NULL);
	if (err)
		err = EXT_DAMAGED(damage, -EUCLEAN, block, 0,
			"block %llu holds no superblock, of any block size",
			(unsigned long long)block);
	return err;
}

/* A bitmap of one block limits a group, and so does the count of its free
 * clusters in 16 bits. */
static uint64_t group_clusters(uint32_t block_bytes)
{
	uint64_t bits = UINT64_C(8) * block_bytes;
	uint64_t counted = UINT16_MAX - 7;

	return bits < counted ? bits : counted;
}

static int find_of_size(
	struct blk_dev *dev, uint32_t block_bytes, struct ext_super *out)
{
	for (size_t r = 0; r < ARRAY_COUNT(ratios); r++) {
		uint64_t per_group = group_clusters(block_bytes) * ratios[r];
		uint64_t first =
			block_bytes * ratios[r] > EXT_SUPER_OFFSET ? 0 : 1;

		for (size_t i = 0; i < ARRAY_COUNT(groups); i++) {
			uint64_t block = first + groups[i] * per_group;

			if (!copy_read(dev, block, block_bytes, out, NULL))
				return 0;
		}
	}
	return -EUCLEAN;
}

int ext_backup_find(
	struct blk_dev *dev, struct ext_super *out, struct ext_damage *damage)
{
	int err = -EUCLEAN;

	for (int log = EXT_BLOCK_LOG_MIN; err && log <= EXT_BLOCK_LOG_MAX;
		log++)
		err = find_of_size(dev, UINT32_C(1) << log, out);
	if (err)
		err = EXT_DAMAGED(damage, err, LOG_NO_BLOCK, 0,
			"superblock: no intact copy found");
	return err;
}

int ext_super_find(struct blk_dev *dev, uint64_t block, uint32_t block_bytes,
	struct ext_super *out, struct ext_damage *damage)
{
	struct ext_damage first = {.block = LOG_NO_BLOCK};
	int err;

	if (block)
		return ext_backup_read(dev, block, block_bytes, out, damage);
	err = ext_super_primary(dev, out, &first);
	if (err == -EUCLEAN || err == -EBADMSG || err == -EIO) {
		if (!ext_backup_find(dev, out, NULL)) {
			log_block(LOG_WARN, "ext", out->at,
				"%s; using the copy in block %llu", first.why,
				(unsigned long long)out->at);
			return 0;
		}
	}
	if (err && damage)
		*damage = first;
	return err;
}
