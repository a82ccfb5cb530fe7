/* SPDX-License-Identifier: BSD-2-Clause */
/* check_inode.c - the quick check of the inodes that are in use. */
#include <errno.h>
#include <string.h>

#include "ext/check_int.h"

/* ---- maps --------------------------------------------------------------------- */

struct map_count {
	const struct check *c;
	uint64_t blocks; /* of data and of the tree */
};

static int off_metadata(struct ext_map_walk *w, blk_no dev, uint32_t count)
{
	const struct map_count *m = w->arg;

	if (!ext_layout_touches(&m->c->layout, dev, count))
		return 0;
	return EXT_DAMAGED(w->damage, -EUCLEAN, w->inode->at, w->inode->ino,
		"map points at %u blocks from %llu, which overlap fixed "
		"metadata",
		count, (unsigned long long)dev);
}

static int take_run(struct ext_map_walk *w, const struct ext_run *run)
{
	struct map_count *m = w->arg;

	m->blocks += run->count;
	return off_metadata(w, run->dev, run->count);
}

static int take_node(struct ext_map_walk *w, blk_no block)
{
	struct map_count *m = w->arg;

	m->blocks++;
	return off_metadata(w, block, 1);
}

/* -EUCLEAN: not as many sectors as @blocks, of the map, and the attributes. */
static int check_sectors(const struct ext_super *sb,
	const struct ext_inode *inode, uint64_t blocks,
	struct ext_damage *damage)
{
	uint64_t sectors =
		(blocks + (inode->xattr_block != 0)) * (sb->block_bytes / 512);

	/* With bigalloc, clusters count. */
	if (sb->cluster_bytes != sb->block_bytes || sectors == inode->sectors)
		return 0;
	return EXT_DAMAGED(damage, -EUCLEAN, inode->at, inode->ino,
		"takes %llu sectors, but its map has %llu",
		(unsigned long long)inode->sectors,
		(unsigned long long)sectors);
}

/* The whole tree: what lies below the root is little. */
static int check_extents(const struct check *c, const struct ext_inode *inode,
	struct ext_damage *damage)
{
	struct map_count m = {.c = c};
	struct ext_map_walk w = {
		.fs = &c->fs,
		.inode = inode,
		.end = UINT32_MAX,
		.check_csum = true,
		.run = take_run,
		.node = take_node,
		.arg = &m,
		.damage = damage,
	};
	int err = ext_map_walk(&w);

	return err ? err : check_sectors(&c->fs.super, inode, m.blocks, damage);
}

/* Only what is in the inode itself. */
static int check_words(const struct check *c, const struct ext_inode *inode,
	struct ext_damage *damage)
{
	const struct ext_super *sb = &c->fs.super;
	bool indirect = false;
	uint64_t blocks = 0;

	for (unsigned i = 0; i < EXT_MAP_WORDS; i++) {
		struct le32 raw;
		blk_no block;

		memcpy(&raw, inode->block + (size_t)i * 4, sizeof(raw));
		block = le32_get(raw);
		if (block == 0)
			continue;
		blocks++;
		indirect |= i >= EXT_MAP_DIRECT;
		if (block <= ext_super_block(sb) || block >= sb->block_count)
			return EXT_DAMAGED(damage, -EUCLEAN, inode->at,
				inode->ino,
				"map points at block %llu, outside the file "
				"system",
				(unsigned long long)block);
		if (ext_layout_touches(&c->layout, block, 1))
			return EXT_DAMAGED(damage, -EUCLEAN, inode->at,
				inode->ino,
				"map points at block %llu of the fixed "
				"metadata",
				(unsigned long long)block);
	}
	return indirect ? 0 : check_sectors(sb, inode, blocks, damage);
}

static int check_map(const struct check *c, const struct ext_inode *inode,
	struct ext_damage *damage)
{
	unsigned type = inode->mode & EXT_MODE_TYPE;
	bool mapped = type == EXT_MODE_REG || type == EXT_MODE_DIR;

	if (inode->flags & EXT_INODE_INLINE_DATA)
		return 0;
	if (inode->flags & EXT_INODE_EXTENTS)
		return check_extents(c, inode, damage);
	/* The target of a short symlink is where the map would be. */
	if (type == EXT_MODE_LINK)
		mapped = inode->bytes >= sizeof(inode->block);
	return mapped ? check_words(c, inode, damage) : 0;
}

/* ---- one inode ------------------------------------------------------------------- */

static bool type_known(uint16_t mode)
{
	switch (mode & EXT_MODE_TYPE) {
	case EXT_MODE_FIFO:
	case EXT_MODE_CHAR:
	case EXT_MODE_DIR:
	case EXT_MODE_BLOCK:
	case EXT_MODE_REG:
	case EXT_MODE_LINK:
	case EXT_MODE_SOCK:
		return true;
	default:
		return false;
	}
}

static bool dir_size_ok(
	const struct ext_super *sb, const struct ext_inode *inode)
{
	if ((inode->mode & EXT_MODE_TYPE) != EXT_MODE_DIR ||
		inode->flags & EXT_INODE_INLINE_DATA)
		return true;
	return inode->bytes != 0 && inode->bytes % sb->block_bytes == 0;
}

static bool extra_ok(const struct ext_super *sb, const struct ext_inode *inode)
{
	return sb->inode_bytes == EXT_OLD_INODE_BYTES ||
	       (inode->extra % 4 == 0 &&
		       inode->extra <= sb->inode_bytes - EXT_OLD_INODE_BYTES);
}

static bool xattr_block_ok(const struct check *c, const struct ext_inode *inode)
{
	const struct ext_super *sb = &c->fs.super;
	blk_no block = inode->xattr_block;

	return block == 0 ||
	       (block > ext_super_block(sb) && block < sb->block_count &&
		       !ext_layout_touches(&c->layout, block, 1));
}

/* NULL, or what is wrong with the inode without its map. */
static const char *flaw(const struct check *c, const struct ext_inode *inode)
{
	const struct ext_super *sb = &c->fs.super;

	if (inode->links == 0 && !c->has_orphans)
		return "in use, but has no links";
	if (inode->links != 0 && inode->dtime != 0 && !c->has_orphans)
		return "in use, but has a time of deletion";
	if (!type_known(inode->mode))
		return "a type that there is not";
	if (inode->ino == EXT_INO_ROOT &&
		(inode->mode & EXT_MODE_TYPE) != EXT_MODE_DIR)
		return "the root is no directory";
	if (!dir_size_ok(sb, inode))
		return "a directory of a size that cannot be";
	if (!extra_ok(sb, inode))
		return "a bad size of the fields behind the first 128 bytes";
	if (!xattr_block_ok(c, inode))
		return "its attributes are outside the file system or in its "
		       "fixed metadata";
	return NULL;
}

/* Those that mkfs makes or leaves empty, without the root and the journal. */
static bool is_special(const struct ext_super *sb, uint32_t ino)
{
	return ino < sb->first_ino && ino != EXT_INO_ROOT &&
	       ino != sb->journal_inum;
}

static void check_used(struct check_worker *w, const struct ext_inode *inode)
{
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	const char *what = flaw(w->c, inode);

	if (what)
		check_found(
			w, EXT_CHECK_INODE, inode->at, inode->ino, "%s", what);
	else if (check_map(w->c, inode, &damage))
		check_found_damage(w, EXT_CHECK_INODE, &damage);
}

static bool all_zero(const uint8_t *raw, uint32_t bytes)
{
	return raw[0] == 0 && memcmp(raw, raw + 1, bytes - 1) == 0;
}

/* Whether @raw is a directory in use. */
static bool check_one(struct check_worker *w, uint32_t ino, const uint8_t *raw,
	blk_no at, bool used)
{
	const struct ext_super *sb = &w->c->fs.super;
	struct ext_inode inode;

	if (is_special(sb, ino) && all_zero(raw, sb->inode_bytes))
		return false;
	ext_inode_decode(sb, raw, ino, at, &inode);
	if (!used) {
		if (inode.links && inode.mode && inode.dtime == 0)
			check_found(w, EXT_CHECK_INODE, at, ino,
				"has links, but the bitmap says it is free");
		return false;
	}
	if (!ext_csum_inode_ok(sb, ino, raw))
		check_found(w, EXT_CHECK_INODE, at, ino,
			"inode has a bad checksum");
	else if (!is_special(sb, ino))
		check_used(w, &inode);
	return (inode.mode & EXT_MODE_TYPE) == EXT_MODE_DIR && inode.links;
}

/* ---- the table --------------------------------------------------------------------- */

/* A piece of a group's table. */
struct piece {
	uint32_t first; /* table blocks */
	uint32_t count;
};

static bool block_used(const struct check_worker *w, uint32_t block,
	uint32_t per_block, uint32_t count)
{
	uint32_t end = (block + 1) * per_block;

	if (end > count)
		end = count;
	for (uint32_t i = block * per_block; i < end; i++)
		if (check_bit(w->inodes, i))
			return true;
	return false;
}

/* The next run of table blocks from @from on with inodes in use. */
static struct piece next_piece(const struct check_worker *w, uint32_t from,
	uint32_t per_block, uint32_t count)
{
	uint32_t blocks = (count + per_block - 1) / per_block;
	struct piece p = {.first = from};

	while (p.first < blocks && !block_used(w, p.first, per_block, count))
		p.first++;
	while (p.first + p.count < blocks && p.count < w->table_blocks &&
		block_used(w, p.first + p.count, per_block, count))
		p.count++;
	return p;
}

static uint32_t check_piece(struct check_worker *w, uint32_t index,
	const struct ext_group *g, struct piece p, uint32_t count)
{
	const struct ext_super *sb = &w->c->fs.super;
	uint32_t per_block = sb->block_bytes / sb->inode_bytes;
	uint32_t first = p.first * per_block;
	uint32_t end = first + p.count * per_block;
	uint32_t dirs = 0;

	if (end > count)
		end = count;
	for (uint32_t i = first; i < end; i++) {
		uint32_t ino = index * sb->inodes_per_group + i + 1;

		dirs += check_one(w, ino,
			w->table + (size_t)(i - first) * sb->inode_bytes,
			g->inode_table + i / per_block,
			check_bit(w->inodes, i));
	}
	return dirs;
}

uint32_t check_inodes(struct check_worker *w, uint32_t index,
	const struct ext_group *g, uint32_t count)
{
	const struct ext_super *sb = &w->c->fs.super;
	uint32_t per_block = sb->block_bytes / sb->inode_bytes;
	struct piece p = next_piece(w, 0, per_block, count);
	uint32_t dirs = 0;

	while (p.count) {
		blk_no at = g->inode_table + p.first;

		if (blk_read(w->c->fs.dev, at * sb->block_bytes,
			    (size_t)p.count * sb->block_bytes, w->table))
			check_found(w, EXT_CHECK_INODE, at, 0,
				"inode table of group %u: %u blocks cannot be "
				"read",
				index, p.count);
		else
			dirs += check_piece(w, index, g, p, count);
		p = next_piece(w, p.first + p.count, per_block, count);
	}
	return dirs;
}
