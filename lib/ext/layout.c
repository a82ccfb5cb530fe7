/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layout.c - one pass over all group descriptors, when mounting: where the
 * fixed metadata lies, so that no file may, and how much is free.
 *
 * With flex_bg the bitmaps and tables of neighbouring groups are neighbours,
 * so three lists that merge as they grow keep this small: a file system of
 * 16 TiB has some thousand ranges.  A descriptor that is damaged is passed
 * over: its group's files fail by themselves.
 */
#include <errno.h>
#include <stdlib.h>

#include "ext/mount_int.h"

enum {
	/* Of descriptors; 128 TiB have as many.  Beyond this, files are not
	 * kept off the metadata and counts are the superblock's. */
	DESC_BYTES_MAX = 64 << 20,
	CHUNK_BYTES = 1 << 20,
};

struct range_list {
	struct ext_range *ranges;
	size_t count;
	size_t room;
};

struct pass {
	const struct ext *fs;
	struct ext_layout *out;
	struct range_list supers;
	struct range_list block_bitmaps;
	struct range_list inode_bitmaps;
	struct range_list tables;
	uint64_t damaged;
};

static int add(struct range_list *l, blk_no first, blk_no count)
{
	struct ext_range *last = l->count ? &l->ranges[l->count - 1] : NULL;

	if (last && last->first + last->count == first) {
		last->count += count;
		return 0;
	}
	if (l->count == l->room) {
		size_t room = l->room ? l->room * 2 : 16;
		struct ext_range *more =
			reallocarray(l->ranges, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		l->ranges = more;
		l->room = room;
	}
	l->ranges[l->count++] =
		(struct ext_range){.first = first, .count = count};
	return 0;
}

/* ---- the pass -------------------------------------------------------------- */

static int take_super(struct pass *p, uint32_t index)
{
	const struct ext_super *sb = &p->fs->super;
	blk_no count = ext_group_super_blocks(sb, index);

	if (count == 0)
		return 0;
	/* What is kept for more descriptors is fixed, but no overhead. */
	p->out->overhead_blocks += count;
	return add(&p->supers, ext_group_first(sb, index),
		count + sb->reserved_desc_blocks);
}

static int take_group(struct pass *p, uint32_t index, const void *raw)
{
	const struct ext_super *sb = &p->fs->super;
	blk_no table = ext_inode_table_blocks(sb);
	struct ext_group g;
	int err;

	if (ext_group_decode(sb, index, raw, LOG_NO_BLOCK, &g, NULL)) {
		p->damaged++;
		return 0;
	}
	p->out->free_blocks += g.free_blocks;
	p->out->free_inodes += g.free_inodes;
	p->out->overhead_blocks += 2 + table;
	err = add(&p->block_bitmaps, g.block_bitmap, 1);
	if (!err)
		err = add(&p->inode_bitmaps, g.inode_bitmap, 1);
	if (!err)
		err = add(&p->tables, g.inode_table, table);
	return err;
}

/* Descriptor block @index, of META_BG, and its copies: in the first, second
 * and last group that it describes. */
static int take_meta_desc(struct pass *p, uint32_t index)
{
	const struct ext_super *sb = &p->fs->super;
	uint32_t per_block = sb->block_bytes / sb->desc_bytes;
	const uint32_t groups[] = {0, 1, per_block - 1};
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_COUNT(groups); i++) {
		uint64_t group = (uint64_t)index * per_block + groups[i];

		if (group >= sb->group_count)
			continue;
		p->out->overhead_blocks++;
		err = add(&p->supers,
			ext_group_first(sb, (uint32_t)group) +
				ext_group_has_super(sb, (uint32_t)group),
			1);
	}
	return err;
}

static int take_desc_block(struct pass *p, uint32_t index, const uint8_t *data)
{
	const struct ext_super *sb = &p->fs->super;
	uint32_t per_block = sb->block_bytes / sb->desc_bytes;
	uint32_t group = index * per_block;
	int err = 0;

	if (index >= sb->first_meta_bg)
		err = take_meta_desc(p, index);
	for (uint32_t i = 0; !err && i < per_block && group < sb->group_count;
		i++, group++) {
		err = take_super(p, group);
		if (!err)
			err = take_group(
				p, group, data + (size_t)i * sb->desc_bytes);
	}
	return err;
}

/* How many descriptor blocks from @index on are neighbours. */
static uint32_t desc_run(const struct ext_super *sb, uint32_t index)
{
	uint32_t max = CHUNK_BYTES / sb->block_bytes;
	uint32_t run = 1;

	while (run < max && index + run < sb->desc_blocks &&
		ext_desc_block(sb, index + run) ==
			ext_desc_block(sb, index) + run)
		run++;
	return run;
}

static int pass_run(struct pass *p, uint8_t *chunk)
{
	const struct ext_super *sb = &p->fs->super;
	int err = 0;

	for (uint32_t i = 0; !err && i < sb->desc_blocks;) {
		uint32_t run = desc_run(sb, i);
		blk_no at = ext_desc_block(sb, i);
		bool good = at < sb->block_count &&
			    run <= sb->block_count - at &&
			    !blk_read(p->fs->dev, at * sb->block_bytes,
				    (size_t)run * sb->block_bytes, chunk);

		p->damaged += !good;
		for (uint32_t k = 0; !err && good && k < run; k++)
			err = take_desc_block(
				p, i + k, chunk + (size_t)k * sb->block_bytes);
		i += run;
	}
	return err;
}

/* ---- one list out of four ----------------------------------------------------- */

static int range_order(const void *a, const void *b)
{
	const struct ext_range *x = a;
	const struct ext_range *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Neighbours and overlaps become one; returns where the first overlap is, or
 * LOG_NO_BLOCK. */
static blk_no list_merge(struct range_list *l)
{
	blk_no overlap = LOG_NO_BLOCK;
	size_t kept = 0;

	if (l->count == 0)
		return overlap;
	qsort(l->ranges, l->count, sizeof(*l->ranges), range_order);
	for (size_t i = 1; i < l->count; i++) {
		struct ext_range *last = &l->ranges[kept];
		blk_no end = l->ranges[i].first + l->ranges[i].count;

		if (overlap == LOG_NO_BLOCK &&
			l->ranges[i].first < last->first + last->count)
			overlap = l->ranges[i].first;
		if (l->ranges[i].first > last->first + last->count)
			l->ranges[++kept] = l->ranges[i];
		else if (end > last->first + last->count)
			last->count = end - last->first;
	}
	l->count = kept + 1;
	return overlap;
}

static int pass_collect(struct pass *p)
{
	const struct range_list *more[] = {
		&p->block_bitmaps, &p->inode_bitmaps, &p->tables};
	struct range_list *all = &p->supers;
	int err = 0;

	for (size_t i = 0; i < ARRAY_COUNT(more); i++)
		for (size_t k = 0; !err && k < more[i]->count; k++)
			err = add(all, more[i]->ranges[k].first,
				more[i]->ranges[k].count);
	if (err)
		return err;
	p->out->overlap = list_merge(all);
	p->out->fixed = all->ranges;
	p->out->fixed_count = all->count;
	*all = (struct range_list){0};
	return 0;
}

static void pass_say(const struct pass *p)
{
	if (p->damaged)
		log_say(LOG_WARN, "ext",
			"%llu group descriptors or blocks of them are damaged",
			(unsigned long long)p->damaged);
}

int ext_layout_read(const struct ext *fs, struct ext_layout *out)
{
	const struct ext_super *sb = &fs->super;
	struct ext_layout layout = {.overlap = LOG_NO_BLOCK};
	struct pass p = {.fs = fs, .out = &layout};
	uint8_t *chunk;
	int err;

	if ((uint64_t)sb->desc_blocks * sb->block_bytes > DESC_BYTES_MAX) {
		log_say(LOG_WARN, "ext",
			"%u groups are too many to look at each",
			sb->group_count);
		out->free_blocks = sb->free_blocks;
		out->free_inodes = sb->free_inodes;
		out->overlap = LOG_NO_BLOCK;
		return 0;
	}
	chunk = malloc(CHUNK_BYTES);
	err = chunk ? pass_run(&p, chunk) : -ENOMEM;
	if (!err)
		err = pass_collect(&p);
	free(chunk);
	free(p.supers.ranges);
	free(p.block_bitmaps.ranges);
	free(p.inode_bitmaps.ranges);
	free(p.tables.ranges);
	if (err)
		return err;
	pass_say(&p);
	*out = layout;
	return 0;
}

void ext_layout_drop(struct ext_layout *l)
{
	free(l->fixed);
	l->fixed = NULL;
}

bool ext_layout_touches(const struct ext_layout *l, blk_no dev, uint32_t count)
{
	size_t i = ext_range_after(l->fixed, l->fixed_count, dev);

	return i < l->fixed_count && l->fixed[i].first < dev + count;
}

int ext_layout_check(const struct ext_mount *m, const struct ext_inode *inode,
	blk_no at, blk_no dev, uint32_t count, struct ext_damage *damage)
{
	const struct ext_super *sb = &m->ext.super;

	if (dev <= ext_super_block(sb) || dev >= sb->block_count ||
		count > sb->block_count - dev)
		return EXT_DAMAGED(damage, -EUCLEAN, at, inode->ino,
			"map points at %u blocks from %llu, outside the file "
			"system",
			count, (unsigned long long)dev);
	if (ext_layout_touches(&m->layout, dev, count))
		return EXT_DAMAGED(damage, -EUCLEAN, at, inode->ino,
			"map points at %u blocks from %llu, which overlap "
			"fixed metadata",
			count, (unsigned long long)dev);
	return 0;
}
