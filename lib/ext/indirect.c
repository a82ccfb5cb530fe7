/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * indirect.c - walking the block map of ext2 and ext3: twelve direct blocks,
 * then a tree of depth one, two and three whose nodes are arrays of block
 * numbers.  0 is a hole, of a block or of a whole subtree.
 *
 * Nothing in a node tells whose it is, so a hostile map may visit one node
 * many times; the file's end bounds the walk.
 */
#include <errno.h>
#include <stdlib.h>

#include "ext/ext_int.h"

enum { LEVELS = 3 };

struct map {
	struct ext_map_walk *w;
	uint64_t pos;       /* file block that comes next */
	uint32_t per_block; /* block numbers in a node */
	struct ext_run run; /* not told yet; count 0: none */
	uint8_t *nodes;     /* LEVELS blocks */
};

static int run_tell(struct map *m, blk_no at)
{
	int err = m->run.count ? ext_map_tell(m->w, at, &m->run) : 0;

	m->run.count = 0;
	return err;
}

static int hole_add(struct map *m, blk_no at)
{
	int err = run_tell(m, at);

	return err ? err : ext_map_hole(m->w, at, m->pos);
}

/* File block pos is @dev, or a hole. */
static int block_add(struct map *m, blk_no at, blk_no dev)
{
	struct ext_run *run = &m->run;
	int err;

	if (dev == 0)
		return hole_add(m, at);
	err = ext_map_check(m->w, at, dev, 1);
	if (err)
		return err;
	if (run->count && run->dev + run->count == dev) {
		run->count++;
		return 0;
	}
	err = run_tell(m, at);
	*run = (struct ext_run){
		.file = (uint32_t)m->pos, .count = 1, .dev = dev};
	return err;
}

static struct le32 *node_of(const struct map *m, unsigned level)
{
	return (struct le32 *)(m->nodes +
			       (size_t)level * m->w->fs->super.block_bytes);
}

static int node_load(struct map *m, blk_no from, blk_no at, struct le32 *node)
{
	int err = ext_map_check(m->w, from, at, 1);

	if (!err)
		err = ext_block_read(m->w->fs, at, node, m->w->damage);
	if (!err && m->w->node)
		err = m->w->node(m->w, at);
	return err;
}

/* File blocks below one entry of a node of @level, 0 the lowest. */
static uint64_t span(const struct map *m, unsigned level)
{
	uint64_t blocks = 1;

	while (level-- > 0)
		blocks *= m->per_block;
	return blocks;
}

/*
 * The tree of @depth node levels whose root is block @root, 0 for a hole;
 * @from is where that was said.
 */
static int tree_walk(struct map *m, unsigned depth, blk_no from, blk_no root)
{
	uint32_t next[LEVELS] = {0};
	blk_no at[LEVELS] = {0};
	unsigned level = depth - 1;
	int err;

	if (root == 0) {
		err = hole_add(m, from);
		m->pos += span(m, depth);
		return err;
	}
	at[level] = root;
	err = node_load(m, from, root, node_of(m, level));
	while (!err && m->pos < m->w->end) {
		blk_no dev;

		if (next[level] == m->per_block) {
			if (++level == depth)
				break;
			continue;
		}
		dev = le32_get(node_of(m, level)[next[level]++]);
		if (level == 0 || dev == 0) {
			err = block_add(m, at[level], dev);
			m->pos += span(m, level);
		} else {
			err = node_load(
				m, at[level], dev, node_of(m, level - 1));
			at[--level] = dev;
			next[level] = 0;
		}
	}
	return err;
}

static blk_no root_word(const struct ext_inode *inode, unsigned i)
{
	struct le32 raw;

	memcpy(&raw, inode->block + i * sizeof(raw), sizeof(raw));
	return le32_get(raw);
}

int ext_indirect_walk(struct ext_map_walk *w)
{
	struct map m = {
		.w = w,
		.per_block = w->fs->super.block_bytes / sizeof(struct le32),
	};
	const struct ext_inode *inode = w->inode;
	int err = 0;

	m.nodes = malloc((size_t)LEVELS * w->fs->super.block_bytes);
	if (!m.nodes)
		return -ENOMEM;
	for (unsigned i = 0; !err && i < EXT_MAP_DIRECT && m.pos < w->end;
		i++) {
		err = block_add(&m, inode->at, root_word(inode, i));
		m.pos++;
	}
	for (unsigned i = 0; !err && i < LEVELS && m.pos < w->end; i++)
		err = tree_walk(&m, i + 1, inode->at,
			root_word(inode, EXT_MAP_DIRECT + i));
	if (!err)
		err = run_tell(&m, inode->at);
	free(m.nodes);
	return err;
}
