/* SPDX-License-Identifier: BSD-2-Clause */
/* ext_int.h - what the files of lib/ext share. */
#ifndef EXT_EXT_INT_H
#define EXT_EXT_INT_H

#include "base/log.h"
#include "ext/ext.h"

/* ---- errors (damage.c) --------------------------------------------------- */

/* Fill @d, which may be NULL. */
void ext_damage_say(struct ext_damage *d, blk_no block, uint32_t inode,
	const char *fmt, ...) PRINTF(4, 5);

/* The same, and the value is @error; a macro, so that whoever reads a caller
 * (a static analyser, too) sees that it fails. */
#define EXT_DAMAGED(d, error, block, inode, ...)                               \
	(ext_damage_say(d, block, inode, __VA_ARGS__), (error))

/* ---- checksums (csum.c) -------------------------------------------------- */

/* What the superblock's checksum field should hold. */
uint32_t ext_csum_super(const struct ext_disk_super *raw);

/* Whether the checksum of group @index's descriptor, desc_bytes long, is
 * right; true where the file system has none. */
bool ext_csum_group_ok(
	const struct ext_super *sb, uint32_t index, const void *raw);

/* Likewise for inode @ino, inode_bytes long. */
bool ext_csum_inode_ok(
	const struct ext_super *sb, uint32_t ino, const void *raw);

/* Give inode @raw its checksum, if the file system has one. */
void ext_csum_inode_set(const struct ext_super *sb, uint32_t ino, void *raw);

/* What the tail of an extent-tree block should hold; the first @bytes of
 * @node are covered. */
uint32_t ext_csum_extents(const struct ext_super *sb, uint32_t ino,
	uint32_t generation, const void *node, uint32_t bytes);

/* Of a block of directory entries, whose first @bytes are covered. */
uint32_t ext_csum_dir(const struct ext_super *sb, uint32_t ino,
	uint32_t generation, const void *data, uint32_t bytes);

/* Of a node of a directory's index: @bytes of it, and @tail without the
 * checksum. */
uint32_t ext_csum_index(const struct ext_super *sb, uint32_t ino,
	uint32_t generation, const void *data, uint32_t bytes,
	const struct ext_disk_index_tail *tail);

/* Of @bytes of a bitmap. */
uint32_t ext_csum_bitmap(
	const struct ext_super *sb, const void *bitmap, uint32_t bytes);

/* Of the first @bytes of a block of the orphan file, in block @at. */
uint32_t ext_csum_orphans(const struct ext_super *sb, uint32_t ino,
	uint32_t generation, blk_no at, const void *data, uint32_t bytes);

/* ---- superblock (super.c) ------------------------------------------------ */

/* As ext_super_read(), of what lies at byte @offset. */
MUST_USE int ext_super_read_at(struct blk_dev *dev, uint64_t offset,
	struct ext_disk_super *out, struct ext_damage *damage);

/* -EOPNOTSUPP, -EUCLEAN: as for ext_open(). */
MUST_USE int ext_super_admit(const struct ext_super *sb,
	const struct blk_dev *dev, struct ext_damage *damage);

/* The primary superblock, decoded and admitted. */
MUST_USE int ext_super_primary(
	struct blk_dev *dev, struct ext_super *out, struct ext_damage *damage);

/* Give @raw its checksum, if it has one, and write it; volatile. */
MUST_USE int ext_super_write(struct blk_dev *dev, struct ext_disk_super *raw);

/* The block that holds the primary superblock. */
static inline blk_no ext_super_block(const struct ext_super *sb)
{
	return EXT_SUPER_OFFSET / sb->block_bytes;
}

/* ---- blocks, groups, inodes (group.c, inode.c) --------------------------- */

/* -EUCLEAN: @block is beyond the file system. */
MUST_USE int ext_block_read(const struct ext *fs, blk_no block, void *data,
	struct ext_damage *damage);

struct ext_group {
	blk_no block_bitmap;
	blk_no inode_bitmap;
	blk_no inode_table;
	/* Not checked. */
	uint32_t free_blocks; /* clusters, with BIGALLOC */
	uint32_t free_inodes;
	uint32_t used_dirs;
	uint32_t unused_inodes; /* at the end of the table, never used; here
	                           and below 0 without descriptor checksums */
	uint16_t flags;         /* enum ext_group_flag */
	/* 16 or, with 64BIT, 32 bits. */
	uint32_t block_bitmap_csum;
	uint32_t inode_bitmap_csum;
};

/* Whether group @index holds a copy of the superblock and, but for META_BG,
 * of the descriptors. */
bool ext_group_has_super(const struct ext_super *sb, uint32_t index);

/* Blocks that this copy and its descriptors take at the start of the group; 0:
 * it has none.  Those reserved for more descriptors follow. */
blk_no ext_group_super_blocks(const struct ext_super *sb, uint32_t index);

/* The first block of group @index that may hold a superblock. */
blk_no ext_group_first(const struct ext_super *sb, uint32_t index);

/* The block that holds descriptor block @index, 0 to desc_blocks - 1. */
blk_no ext_desc_block(const struct ext_super *sb, uint32_t index);

/* Blocks that the inode table of one group takes. */
uint32_t ext_inode_table_blocks(const struct ext_super *sb);

/* Decode and check descriptor @raw of group @index, found in @block. */
MUST_USE int ext_group_decode(const struct ext_super *sb, uint32_t index,
	const void *raw, blk_no block, struct ext_group *out,
	struct ext_damage *damage);

MUST_USE int ext_group_read(const struct ext *fs, uint32_t index,
	struct ext_group *out, struct ext_damage *damage);

struct ext_time {
	int64_t seconds;
	uint32_t nanoseconds;
};

struct ext_inode {
	uint32_t ino;
	blk_no at; /* the block it was read from */
	uint16_t mode;
	uint16_t links;
	uint32_t flags; /* enum ext_inode_flag */
	uint32_t generation;
	uint64_t bytes;   /* size of the file */
	uint64_t sectors; /* of 512 bytes that it takes */
	uint32_t uid;
	uint32_t gid;
	uint32_t project;
	blk_no xattr_block; /* 0: none */
	uint16_t extra;     /* bytes in use behind the first 128 */
	uint32_t dtime;     /* when deleted; the next one while an orphan */
	struct ext_time atime;
	struct ext_time mtime;
	struct ext_time ctime;
	struct ext_time crtime;
	uint8_t block[EXT_MAP_WORDS * 4];
};

/* Whatever @data, of inode_bytes, says; nothing is checked. */
void ext_inode_decode(const struct ext_super *sb, const void *data,
	uint32_t ino, blk_no at, struct ext_inode *out);

MUST_USE int ext_inode_read(const struct ext *fs, uint32_t ino,
	struct ext_inode *out, struct ext_damage *damage);

/* ---- block maps (map.c, extent.c, indirect.c) ---------------------------- */

/* File blocks @file .. @file + @count - 1 lie at device blocks @dev ... */
struct ext_run {
	uint32_t file;
	uint32_t count; /* at least 1 */
	blk_no dev;     /* inside the file system, behind the superblock */
	bool unwritten; /* reads as zeroes */
};

/*
 * Walk the mapped blocks of a file below @end, in ascending order; holes are
 * left out.  Callbacks end the walk by returning non-zero, which the walk
 * then returns.
 */
struct ext_map_walk {
	const struct ext *fs;
	const struct ext_inode *inode; /* ino, flags, generation, block */
	uint32_t end;                  /* file blocks */
	bool check_csum; /* of extent blocks; off when generation is unknown */
	bool complete;   /* a hole or an unwritten block is -EUCLEAN */

	int (*run)(struct ext_map_walk *w, const struct ext_run *run);
	/* A block of the map itself; NULL if nobody cares. */
	int (*node)(struct ext_map_walk *w, blk_no block);
	void *arg;
	struct ext_damage *damage;

	uint64_t told; /* the walk's: file blocks below it have been told */
};

MUST_USE int ext_map_walk(struct ext_map_walk *w);
MUST_USE int ext_extent_walk(struct ext_map_walk *w);
MUST_USE int ext_indirect_walk(struct ext_map_walk *w);

/*
 * NULL, or what is wrong with the header of the extent-tree node @raw, of
 * @bytes, that should have @depth levels below it.
 */
const char *ext_extent_flaw(
	const void *raw, uint32_t bytes, unsigned depth, bool root);

/* The checksum of such a node, a good one by ext_extent_flaw(). */
MUST_USE int ext_extent_csum_check(const struct ext_super *sb,
	const struct ext_inode *inode, blk_no at, const void *raw,
	struct ext_damage *damage);

/* -EUCLEAN unless the map may point at @count blocks from @dev; @at is the
 * block that says so, here and below. */
MUST_USE int ext_map_check(
	struct ext_map_walk *w, blk_no at, blk_no dev, uint32_t count);

/* Pass @run on to the walk's owner. */
MUST_USE int ext_map_tell(
	struct ext_map_walk *w, blk_no at, const struct ext_run *run);

/* -EUCLEAN if the map was to be complete: file block @file is not mapped. */
MUST_USE int ext_map_hole(struct ext_map_walk *w, blk_no at, uint64_t file);

/* ---- fixed metadata (zone.c) --------------------------------------------- */

struct ext_range {
	blk_no first;
	blk_no count;
};

/* The first of @ranges, sorted and not overlapping, that ends behind @block;
 * @count if there is none. */
size_t ext_range_after(
	const struct ext_range *ranges, size_t count, blk_no block);

/*
 * -EUCLEAN if one of @ranges, sorted and not overlapping, touches superblock
 * copies, descriptors, bitmaps or inode tables.  Groups whose descriptor is
 * damaged are passed over: the journal may be what repairs them.
 */
MUST_USE int ext_zone_check(const struct ext *fs,
	const struct ext_range *ranges, size_t count,
	struct ext_damage *damage);

/* ---- fast commits (fast.c) ------------------------------------------------ */

struct jnl_overlay;

/* Records of fast commits, as they were in the log. */
struct ext_fast {
	uint8_t *data; /* of each: tag, length, body */
	size_t bytes;
	size_t room;
};

MUST_USE int ext_fast_take(
	struct ext_fast *r, uint16_t tag, const void *body, uint32_t bytes);
void ext_fast_drop(struct ext_fast *r);

/*
 * Put into @o, over fs->dev, what @r makes of @fs.  -EOPNOTSUPP: something
 * that this cannot apply; @o is of no use then.
 */
MUST_USE int ext_fast_apply(const struct ext *fs, const struct ext_fast *r,
	struct jnl_overlay *o, struct ext_damage *damage);

/* ---- the journal's own map (jmap.c) -------------------------------------- */

/*
 * The log's block map from @inode, whose i_block came out of the inode table
 * or, when @check_csum is off, out of the superblock.  *@map is malloc'd.
 */
MUST_USE int ext_jmap_build(const struct ext *fs, const struct ext_inode *inode,
	bool check_csum, struct jnl_extent **map, uint32_t *map_count,
	struct ext_damage *damage);

#endif /* EXT_EXT_INT_H */
