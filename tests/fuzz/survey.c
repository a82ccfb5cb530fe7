/* SPDX-License-Identifier: BSD-2-Clause */
/* survey.c - see canvas.h: what lies where on an image. */
#include <string.h>

#include "base/crc32c.h"
#include "canvas.h"

enum {
	SUPER_AT = 1024,
	SUPER_BYTES = 1024,
	COMPAT_SPARSE_SUPER2 = 0x200,
	INCOMPAT_META_BG = 0x10,
	INCOMPAT_64BIT = 0x80,
	INCOMPAT_CSUM_SEED = 0x2000,
	RO_SPARSE_SUPER = 0x1,
	RO_METADATA_CSUM = 0x400,
	FLAG_INDEX = 0x1000,
	FLAG_EXTENTS = 0x80000,
	FLAG_INLINE = 0x10000000,
	GROUPS_MAX = 64,
	INODES_MAX = 512,
	FILE_BLOCKS_MAX = 48, /* that are looked at */
	LEVELS_MAX = 5,
};

static void add(struct survey *s, enum item_kind kind, uint64_t at,
	uint32_t bytes, uint32_t number, uint32_t generation)
{
	if (s->count == ITEMS_MAX || bytes > ITEM_BYTES_MAX)
		return;
	s->items[s->count++] = (struct item){.kind = kind,
		.at = at,
		.bytes = bytes,
		.number = number,
		.generation = generation};
}

/* ---- the superblock and the groups --------------------------------------------- */

static uint32_t in_range(uint32_t value, uint32_t least, uint32_t most)
{
	return value < least || value > most ? least : value;
}

static bool read_super(struct survey *s, const struct canvas *c)
{
	uint8_t sb[SUPER_BYTES];

	canvas_load(c, SUPER_AT, sizeof(sb), sb);
	if (get32(sb + 0x18) > 6 || get32(sb + 0x20) == 0)
		return false;
	s->block_bytes = 1024U << get32(sb + 0x18);
	s->block_count = get32(sb + 4);
	s->first_data = get32(sb + 0x14);
	s->blocks_per_group = get32(sb + 0x20);
	s->inodes_per_group = get32(sb + 0x28);
	s->compat = get32(sb + 0x5c);
	s->incompat = get32(sb + 0x60);
	s->ro_compat = get32(sb + 0x64);
	s->inode_bytes = get32(sb + 0x4c) == 0 ? 128 : get16(sb + 0x58);
	s->inode_bytes = in_range(s->inode_bytes, 128, s->block_bytes);
	s->desc_bytes = 32;
	if (s->incompat & INCOMPAT_64BIT)
		s->desc_bytes = in_range(get16(sb + 0xfe), 64, s->block_bytes);
	memcpy(s->uuid, sb + 0x68, sizeof(s->uuid));
	s->csum = s->ro_compat & RO_METADATA_CSUM;
	s->seed = s->incompat & INCOMPAT_CSUM_SEED
			  ? get32(sb + 0x270)
			  : crc32c(~0U, s->uuid, sizeof(s->uuid));
	s->group_count =
		(s->block_count - s->first_data + s->blocks_per_group - 1) /
		s->blocks_per_group;
	add(s, ITEM_SUPER, SUPER_AT, SUPER_BYTES, 0, 0);
	return true;
}

static bool is_power(uint32_t v, uint32_t base)
{
	while (v > 1 && v % base == 0)
		v /= base;
	return v == 1;
}

static bool has_copy(const struct survey *s, uint32_t group)
{
	if (group == 0)
		return true;
	if (s->compat & COMPAT_SPARSE_SUPER2)
		return false;
	return !(s->ro_compat & RO_SPARSE_SUPER) || is_power(group, 3) ||
	       is_power(group, 5) || is_power(group, 7);
}

static uint64_t desc_at(const struct survey *s, uint32_t group)
{
	uint32_t per_block = s->block_bytes / s->desc_bytes;
	uint32_t index = group / per_block;
	uint64_t block = s->first_data + 1 + index;

	if (s->block_bytes == 1024 && s->first_data == 0)
		block++;
	if (s->incompat & INCOMPAT_META_BG && index > 0) {
		uint32_t first = index * per_block;

		block = s->first_data + (uint64_t)first * s->blocks_per_group +
			has_copy(s, first);
	}
	return block * s->block_bytes +
	       (uint64_t)(group % per_block) * s->desc_bytes;
}

/* ---- one inode ------------------------------------------------------------------- */

struct file {
	struct survey *s;
	const struct canvas *c;
	uint32_t ino;
	uint32_t generation;
	uint32_t flags;
	bool is_dir;
	uint32_t left; /* blocks that may still be looked at */
};

static uint64_t block_at(const struct file *f, uint64_t block)
{
	return block * f->s->block_bytes;
}

static void add_block(const struct file *f, enum item_kind kind, uint64_t block)
{
	add(f->s, kind, block_at(f, block), f->s->block_bytes, f->ino,
		f->generation);
}

static void file_block(struct file *f, uint64_t logical, uint64_t block)
{
	enum item_kind kind = f->is_dir ? ITEM_DIR : ITEM_DATA;
	uint8_t head[8];

	if (f->left == 0 || (!f->is_dir && logical > 1))
		return;
	f->left--;
	canvas_load(f->c, block_at(f, block), sizeof(head), head);
	if (f->is_dir && f->flags & FLAG_INDEX && logical == 0)
		kind = ITEM_INDEX_ROOT;
	else if (f->is_dir && get32(head) == 0 &&
		 get16(head + 4) == (f->s->block_bytes & 0xffff))
		kind = ITEM_INDEX_NODE;
	add_block(f, kind, block);
}

/* Bounded by depth and by the blocks that may be looked at.
 * NOLINTNEXTLINE(misc-no-recursion) */
static void extents(
	struct file *f, const uint8_t *node, uint32_t bytes, unsigned depth)
{
	uint32_t entries = get16(node + 2);
	bool leaf = get16(node + 6) == 0;
	uint8_t below[ITEM_BYTES_MAX];

	for (uint32_t i = 0; i < entries && 24 + 12 * i <= bytes; i++) {
		const uint8_t *e = node + 12 + (size_t)12 * i;
		uint64_t block;

		if (leaf) {
			block = get32(e + 8) | (uint64_t)get16(e + 6) << 32;
			for (uint32_t k = 0; k < get16(e + 4) && f->left; k++)
				file_block(
					f, (uint64_t)get32(e) + k, block + k);
			continue;
		}
		if (depth == LEVELS_MAX || f->left == 0)
			return;
		f->left--;
		block = get32(e + 4) | (uint64_t)get16(e + 8) << 32;
		add_block(f, ITEM_EXTENTS, block);
		canvas_load(f->c, block_at(f, block), f->s->block_bytes, below);
		extents(f, below, f->s->block_bytes, depth + 1);
	}
}

/* As deep as a block map is. NOLINTNEXTLINE(misc-no-recursion) */
static void indirect(
	struct file *f, uint32_t block, unsigned level, uint64_t logical)
{
	uint8_t node[ITEM_BYTES_MAX];

	if (block == 0 || f->left == 0)
		return;
	if (level == 0) {
		file_block(f, logical, block);
		return;
	}
	f->left--;
	add_block(f, ITEM_INDIRECT, block);
	canvas_load(f->c, block_at(f, block), f->s->block_bytes, node);
	for (uint32_t i = 0; i < f->s->block_bytes / 4; i++)
		indirect(f, get32(node + (size_t)4 * i), level - 1,
			logical + i + 1);
}

static void survey_inode(
	struct survey *s, const struct canvas *c, uint64_t at, uint32_t ino)
{
	const uint8_t *raw = s->inode;
	struct file f = {.s = s, .c = c, .ino = ino, .left = FILE_BLOCKS_MAX};
	uint32_t mode;

	canvas_load(c, at, s->inode_bytes, s->inode);
	mode = get16(raw);
	if (mode == 0)
		return;
	f.generation = get32(raw + 0x64);
	f.flags = get32(raw + 0x20);
	f.is_dir = (mode & 0xf000) == 0x4000;
	add(s, ITEM_INODE, at, s->inode_bytes, ino, f.generation);
	if (get32(raw + 0x68))
		add_block(&f, ITEM_XATTR, get32(raw + 0x68));
	if (f.flags & FLAG_INLINE || (!f.is_dir && (mode & 0xf000) != 0x8000 &&
					     (mode & 0xf000) != 0xa000))
		return;
	if (f.flags & FLAG_EXTENTS)
		extents(&f, raw + 0x28, 60, 0);
	else if (f.is_dir || get32(raw + 0x1c) > 0)
		for (unsigned i = 0; i < 15; i++)
			indirect(&f, get32(raw + 0x28 + (size_t)4 * i),
				i < 12 ? 0 : i - 11, i);
}

/* ---- all ------------------------------------------------------------------------- */

static void survey_group(
	struct survey *s, const struct canvas *c, uint32_t group)
{
	uint64_t at = desc_at(s, group);
	uint8_t desc[ITEM_BYTES_MAX];
	uint64_t table;

	canvas_load(c, at, s->desc_bytes, desc);
	add(s, ITEM_GROUP, at, s->desc_bytes, group, 0);
	table = get32(desc + 8);
	for (uint32_t i = 0; i < s->inodes_per_group && i < INODES_MAX; i++)
		survey_inode(s, c,
			table * s->block_bytes + (uint64_t)i * s->inode_bytes,
			group * s->inodes_per_group + i + 1);
}

bool survey_make(struct survey *s, const struct canvas *c)
{
	s->count = 0;
	if (!read_super(s, c))
		return false;
	for (uint32_t g = 0; g < s->group_count && g < GROUPS_MAX; g++)
		survey_group(s, c, g);
	return true;
}
