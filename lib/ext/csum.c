/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * csum.c - the checksums of ext4's metadata.
 *
 * With metadata_csum a crc32c over the file system's seed, where the thing
 * stands (group or inode number, generation), and its bytes with the checksum
 * itself as zero.  With uninit_bg only group descriptors have one, a crc16.
 */
#include "base/crc32c.h"
#include "ext/ext_int.h"

/* CRC-16 (reflected 0x8005), raw register.  Few bytes, so bit by bit. */
static uint16_t crc16(uint16_t crc, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < bytes; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = (uint16_t)(crc >> 1 ^ (crc & 1 ? 0xa001 : 0));
	}
	return crc;
}

static uint32_t crc32c_u32(uint32_t seed, uint32_t v)
{
	struct le32 raw = le32_of(v);

	return crc32c(seed, &raw, sizeof(raw));
}

/* Over @data with the @hole_bytes from @hole on as zero. */
static uint32_t crc32c_around(uint32_t seed, const void *data, size_t bytes,
	size_t hole, size_t hole_bytes)
{
	static const uint8_t zeroes[4];
	const uint8_t *p = data;
	size_t after = hole + hole_bytes;

	seed = crc32c(seed, p, hole);
	seed = crc32c(seed, zeroes, hole_bytes);
	return crc32c(seed, p + after, bytes - after);
}

uint32_t ext_csum_super(const struct ext_disk_super *raw)
{
	return crc32c(~0U, raw, offsetof(struct ext_disk_super, checksum));
}

static uint16_t group_crc16(
	const struct ext_super *sb, uint32_t index, const void *raw)
{
	const size_t hole = offsetof(struct ext_disk_group, checksum);
	const uint8_t *p = raw;
	struct le32 number = le32_of(index);
	uint16_t crc = crc16(0xffff, sb->uuid, sizeof(sb->uuid));

	crc = crc16(crc, &number, sizeof(number));
	crc = crc16(crc, p, hole);
	if (sb->desc_bytes > hole + 2)
		crc = crc16(crc, p + hole + 2, sb->desc_bytes - hole - 2);
	return crc;
}

bool ext_csum_group_ok(
	const struct ext_super *sb, uint32_t index, const void *raw)
{
	const struct ext_disk_group *g = raw;
	uint16_t stored = le16_get(g->checksum);

	if (sb->csum) {
		uint32_t crc = crc32c_u32(sb->csum_seed, index);

		crc = crc32c_around(crc, raw, sb->desc_bytes,
			offsetof(struct ext_disk_group, checksum), 2);
		return stored == (uint16_t)crc;
	}
	if (sb->features.ro_compat & EXT_RO_COMPAT_GDT_CSUM)
		return stored == group_crc16(sb, index, raw);
	return true;
}

/* Over the part of inode @raw behind the first 128 bytes. */
static uint32_t inode_large(
	uint32_t crc, const struct ext_super *sb, const void *raw, bool has_hi)
{
	const size_t hi = offsetof(struct ext_disk_inode, checksum_hi);
	const uint8_t *rest = (const uint8_t *)raw + EXT_OLD_INODE_BYTES;
	size_t bytes = sb->inode_bytes - EXT_OLD_INODE_BYTES;

	if (!has_hi)
		return crc32c(crc, rest, bytes);
	return crc32c_around(crc, rest, bytes, hi - EXT_OLD_INODE_BYTES, 2);
}

/* The fields of the larger part count themselves and what precedes them: four
 * bytes. */
static bool inode_has_hi(const struct ext_super *sb, const void *raw)
{
	const struct ext_disk_inode *node = raw;

	return sb->inode_bytes > EXT_OLD_INODE_BYTES &&
	       le16_get(node->extra_isize) >= 4;
}

static uint32_t inode_crc(
	const struct ext_super *sb, uint32_t ino, const void *raw)
{
	const struct ext_disk_inode *node = raw;
	uint32_t crc = crc32c_u32(sb->csum_seed, ino);

	crc = crc32c_u32(crc, le32_get(node->generation));
	crc = crc32c_around(crc, raw, EXT_OLD_INODE_BYTES,
		offsetof(struct ext_disk_inode, checksum_lo), 2);
	if (sb->inode_bytes > EXT_OLD_INODE_BYTES)
		crc = inode_large(crc, sb, raw, inode_has_hi(sb, raw));
	return crc;
}

bool ext_csum_inode_ok(
	const struct ext_super *sb, uint32_t ino, const void *raw)
{
	const struct ext_disk_inode *node = raw;
	uint32_t stored = le16_get(node->checksum_lo);
	uint32_t crc;

	if (!sb->csum)
		return true;
	crc = inode_crc(sb, ino, raw);
	if (!inode_has_hi(sb, raw))
		return stored == (crc & 0xffff);
	return (stored | (uint32_t)le16_get(node->checksum_hi) << 16) == crc;
}

void ext_csum_inode_set(const struct ext_super *sb, uint32_t ino, void *raw)
{
	struct ext_disk_inode *node = raw;
	uint32_t crc;

	if (!sb->csum)
		return;
	crc = inode_crc(sb, ino, raw);
	node->checksum_lo = le16_of((uint16_t)crc);
	if (inode_has_hi(sb, raw))
		node->checksum_hi = le16_of((uint16_t)(crc >> 16));
}

/* Whatever belongs to one inode begins so. */
static uint32_t owner_seed(
	const struct ext_super *sb, uint32_t ino, uint32_t generation)
{
	return crc32c_u32(crc32c_u32(sb->csum_seed, ino), generation);
}

uint32_t ext_csum_extents(const struct ext_super *sb, uint32_t ino,
	uint32_t generation, const void *node, uint32_t bytes)
{
	return crc32c(owner_seed(sb, ino, generation), node, bytes);
}

uint32_t ext_csum_dir(const struct ext_super *sb, uint32_t ino,
	uint32_t generation, const void *data, uint32_t bytes)
{
	return crc32c(owner_seed(sb, ino, generation), data, bytes);
}

uint32_t ext_csum_bitmap(
	const struct ext_super *sb, const void *bitmap, uint32_t bytes)
{
	return crc32c(sb->csum_seed, bitmap, bytes);
}

uint32_t ext_csum_orphans(const struct ext_super *sb, uint32_t ino,
	uint32_t generation, blk_no at, const void *data, uint32_t bytes)
{
	struct le64 block = le64_of(at);
	uint32_t crc =
		crc32c(owner_seed(sb, ino, generation), &block, sizeof(block));

	return crc32c(crc, data, bytes);
}

uint32_t ext_csum_index(const struct ext_super *sb, uint32_t ino,
	uint32_t generation, const void *data, uint32_t bytes,
	const struct ext_disk_index_tail *tail)
{
	static const struct le32 none;
	uint32_t crc = crc32c(owner_seed(sb, ino, generation), data, bytes);

	crc = crc32c(crc, &tail->reserved, sizeof(tail->reserved));
	return crc32c(crc, &none, sizeof(none));
}
