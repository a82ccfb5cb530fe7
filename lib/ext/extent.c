/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extent.c - walking an extent tree.
 *
 * The root is in the inode, every other node fills a block.  The position in
 * the file never goes back: an index entry must begin at or behind it, and so
 * must an extent.  A node below the root has at least one entry.  Together
 * this bounds the walk by what the device really stores, since no node can be
 * visited twice and be in order both times.
 */
#include <errno.h>
#include <stdlib.h>

#include "ext/ext_int.h"

struct level {
	const struct ext_disk_extent_head *head;
	blk_no at; /* the block that holds it */
	uint32_t next;
	uint32_t entries;
	bool leaf;
};

struct tree {
	struct ext_map_walk *w;
	uint64_t pos; /* file blocks below it are done */
	unsigned depth;
	struct level levels[EXT_EXTENT_DEPTH_MAX + 1];
	uint8_t *nodes; /* depth blocks, one a level below the root */
};

static int bad(const struct tree *t, blk_no at, const char *what)
{
	return EXT_DAMAGED(t->w->damage, -EUCLEAN, at, t->w->inode->ino,
		"extent tree: %s", what);
}

const char *ext_extent_flaw(
	const void *raw, uint32_t bytes, unsigned depth, bool root)
{
	const struct ext_disk_extent_head *head = raw;
	uint32_t entries = le16_get(head->entries);
	uint32_t max = le16_get(head->max);
	uint32_t room =
		(bytes - sizeof(*head)) / sizeof(struct ext_disk_extent);

	if (le16_get(head->magic) != EXT_EXTENT_MAGIC)
		return "no magic number";
	if (max == 0 || max > room || entries > max)
		return "more entries than fit";
	if (!root && entries == 0)
		return "empty node";
	if (le16_get(head->depth) != depth)
		return "wrong depth";
	return NULL;
}

int ext_extent_csum_check(const struct ext_super *sb,
	const struct ext_inode *inode, blk_no at, const void *raw,
	struct ext_damage *damage)
{
	const struct ext_disk_extent_head *head = raw;
	uint32_t covered = sizeof(*head) +
			   le16_get(head->max) * sizeof(struct ext_disk_extent);
	struct le32 tail;

	if (!sb->csum)
		return 0;
	if (covered + sizeof(tail) > sb->block_bytes)
		return EXT_DAMAGED(damage, -EUCLEAN, at, inode->ino,
			"extent tree: no room for the checksum");
	memcpy(&tail, (const uint8_t *)raw + covered, sizeof(tail));
	if (le32_get(tail) != ext_csum_extents(sb, inode->ino,
				      inode->generation, raw, covered))
		return EXT_DAMAGED(damage, -EBADMSG, at, inode->ino,
			"extent tree: bad checksum");
	return 0;
}

static int node_check(
	const struct tree *t, unsigned level, const void *raw, blk_no at)
{
	uint32_t bytes =
		level ? t->w->fs->super.block_bytes : EXT_MAP_WORDS * 4;
	const char *flaw =
		ext_extent_flaw(raw, bytes, t->depth - level, level == 0);

	return flaw ? bad(t, at, flaw) : 0;
}

static int node_check_csum(const struct tree *t, const void *raw, blk_no at)
{
	const struct ext_map_walk *w = t->w;

	if (!w->check_csum)
		return 0;
	return ext_extent_csum_check(
		&w->fs->super, w->inode, at, raw, w->damage);
}

static void level_enter(
	struct tree *t, unsigned level, const void *raw, blk_no at)
{
	t->levels[level] = (struct level){
		.head = raw,
		.at = at,
		.entries = le16_get(
			((const struct ext_disk_extent_head *)raw)->entries),
		.leaf = level == t->depth,
	};
}

/* Take the next entry of leaf @l. */
static int leaf_step(struct tree *t, struct level *l)
{
	const struct ext_disk_extent *e =
		(const struct ext_disk_extent *)(l->head + 1) + l->next++;
	struct ext_run run = {
		.file = le32_get(e->block),
		.count = le16_get(e->len),
		.dev = (blk_no)le16_get(e->start_hi) << 32 |
		       le32_get(e->start_lo),
	};
	int err;

	if (run.count > EXT_EXTENT_INIT_MAX) {
		run.unwritten = true;
		run.count -= EXT_EXTENT_INIT_MAX;
	}
	if (run.count == 0)
		return bad(t, l->at, "empty extent");
	if (run.file < t->pos)
		return bad(t, l->at, "extents out of order");
	if ((uint64_t)run.file + run.count > UINT64_C(1) << 32)
		return bad(t, l->at, "extent beyond the largest file");
	err = ext_map_check(t->w, l->at, run.dev, run.count);
	if (err)
		return err;
	t->pos = (uint64_t)run.file + run.count;
	if (run.file >= t->w->end)
		return 0;
	if (t->pos > t->w->end)
		run.count = (uint32_t)(t->w->end - run.file);
	return ext_map_tell(t->w, l->at, &run);
}

/* Go down the next entry of level @level. */
static int index_step(struct tree *t, unsigned level)
{
	struct level *l = &t->levels[level];
	const struct ext_disk_extent_index *x =
		(const struct ext_disk_extent_index *)(l->head + 1) + l->next++;
	blk_no at = (blk_no)le16_get(x->leaf_hi) << 32 | le32_get(x->leaf_lo);
	uint8_t *node = t->nodes + (size_t)level * t->w->fs->super.block_bytes;
	int err;

	if (le32_get(x->block) < t->pos)
		return bad(t, l->at, "index entries out of order");
	err = ext_map_check(t->w, l->at, at, 1);
	if (err)
		return err;
	t->pos = le32_get(x->block);
	if (t->pos >= t->w->end)
		return 0;
	err = ext_block_read(t->w->fs, at, node, t->w->damage);
	if (!err)
		err = node_check(t, level + 1, node, at);
	if (!err)
		err = node_check_csum(t, node, at);
	if (!err && t->w->node)
		err = t->w->node(t->w, at);
	if (!err)
		level_enter(t, level + 1, node, at);
	return err;
}

static int tree_run(struct tree *t)
{
	unsigned level = 0;
	int err = 0;

	while (!err) {
		struct level *l = &t->levels[level];

		if (l->next == l->entries || t->pos >= t->w->end) {
			if (level == 0)
				break;
			level--;
		} else if (l->leaf) {
			err = leaf_step(t, l);
		} else {
			err = index_step(t, level);
			level += !err && t->pos < t->w->end;
		}
	}
	return err;
}

int ext_extent_walk(struct ext_map_walk *w)
{
	const struct ext_disk_extent_head *root =
		(const struct ext_disk_extent_head *)w->inode->block;
	struct tree t = {.w = w, .depth = le16_get(root->depth)};
	int err;

	if (t.depth > EXT_EXTENT_DEPTH_MAX)
		return bad(&t, w->inode->at, "too deep");
	err = node_check(&t, 0, root, w->inode->at);
	if (err)
		return err;
	if (t.depth > 0) {
		t.nodes = malloc((size_t)t.depth * w->fs->super.block_bytes);
		if (!t.nodes)
			return -ENOMEM;
	}
	level_enter(&t, 0, root, w->inode->at);
	err = tree_run(&t);
	free(t.nodes);
	return err;
}
