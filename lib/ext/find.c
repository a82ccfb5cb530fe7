/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * find.c - where one block of a mounted file lies, and how many after it.
 *
 * The walks of extent.c and indirect.c read a whole map from the device; this
 * goes down one path, through the cache.  A cached node is checked whole when
 * it is first used; each use checks that the entry taken keeps within what its
 * parent promised.
 */
#include <errno.h>

#include "ext/mount_int.h"

/* ---- extents ----------------------------------------------------------------- */

struct descent {
	const struct ext_mount *m;
	const struct ext_inode *inode;
	uint32_t file;
	uint64_t lo; /* this node speaks for file blocks from here */
	uint64_t hi; /* ... to here */
	blk_no at;   /* the block of this node */
	unsigned depth;
	struct ext_damage *damage;
};

static int bad(const struct descent *d, const char *what)
{
	return EXT_DAMAGED(d->damage, -EUCLEAN, d->at, d->inode->ino,
		"extent tree: %s", what);
}

static uint32_t extent_count(const struct ext_disk_extent *e, bool *unwritten)
{
	uint32_t count = le16_get(e->len);

	*unwritten = count > EXT_EXTENT_INIT_MAX;
	return *unwritten ? count - EXT_EXTENT_INIT_MAX : count;
}

/* Entries of index nodes and leaves begin alike: with a file block. */
static uint32_t entry_file(const struct ext_disk_extent_head *head, uint32_t i)
{
	const struct ext_disk_extent *e =
		(const struct ext_disk_extent *)(head + 1) + i;

	return le32_get(e->block);
}

static const char *entries_flaw(const struct ext_disk_extent_head *head)
{
	const struct ext_disk_extent *e =
		(const struct ext_disk_extent *)(head + 1);
	uint32_t entries = le16_get(head->entries);
	bool leaf = le16_get(head->depth) == 0;
	uint64_t pos = 0;
	bool unwritten;

	for (uint32_t i = 0; i < entries; i++) {
		uint32_t count = leaf ? extent_count(&e[i], &unwritten) : 1;

		if (count == 0)
			return "empty extent";
		if (le32_get(e[i].block) < pos)
			return "entries out of order";
		pos = (uint64_t)le32_get(e[i].block) + count;
	}
	return NULL;
}

static int node_check(void *arg, blk_no at, const void *data)
{
	const struct descent *d = arg;
	const char *flaw = ext_extent_flaw(
		data, d->m->ext.super.block_bytes, d->depth, false);
	int err = 0;

	if (!flaw)
		err = ext_extent_csum_check(
			&d->m->ext.super, d->inode, at, data, d->damage);
	if (!flaw && !err)
		flaw = entries_flaw(data);
	return flaw ? bad(d, flaw) : err;
}

/* The last entry that begins at or before the block sought; -1: none. */
static int entry_find(
	const struct descent *d, const struct ext_disk_extent_head *head)
{
	int lo = -1;
	int hi = le16_get(head->entries);

	while (hi - lo > 1) {
		int mid = lo + (hi - lo) / 2;

		if (entry_file(head, (uint32_t)mid) <= d->file)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* Narrow what this node speaks for down to its entry @i. */
static int narrow(
	struct descent *d, const struct ext_disk_extent_head *head, int i)
{
	uint32_t entries = le16_get(head->entries);
	uint64_t lo = i < 0 ? d->lo : entry_file(head, (uint32_t)i);
	uint64_t hi = (uint32_t)(i + 1) < entries
			      ? entry_file(head, (uint32_t)(i + 1))
			      : d->hi;

	if (lo < d->lo || hi > d->hi || lo >= hi)
		return bad(d, "an entry is out of its parent's range");
	d->lo = lo;
	d->hi = hi;
	return 0;
}

static void hole_set(const struct descent *d, struct ext_run *out)
{
	uint64_t count = d->hi - d->file;

	*out = (struct ext_run){
		.file = d->file,
		.count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX,
	};
}

static int leaf_take(struct descent *d, const struct ext_disk_extent_head *head,
	int i, struct ext_run *out)
{
	const struct ext_disk_extent *e =
		(const struct ext_disk_extent *)(head + 1) + i;
	struct ext_run run = {.file = d->file};
	uint32_t skip;
	int err;

	if (i < 0) {
		hole_set(d, out);
		return 0;
	}
	run.count = extent_count(e, &run.unwritten);
	run.dev = (blk_no)le16_get(e->start_hi) << 32 | le32_get(e->start_lo);
	if (run.count == 0 || d->lo + run.count > d->hi)
		return bad(d, "an extent is out of its leaf's range");
	skip = (uint32_t)(d->file - d->lo);
	if (skip >= run.count) {
		hole_set(d, out);
		return 0;
	}
	err = ext_layout_check(
		d->m, d->inode, d->at, run.dev, run.count, d->damage);
	if (err)
		return err;
	run.dev += skip;
	run.count -= skip;
	*out = run;
	return 0;
}

/* Go down entry @i of @head; *@buf holds it, and then the node below. */
static int index_enter(struct descent *d,
	const struct ext_disk_extent_head *head, int i, struct buf **buf)
{
	const struct ext_disk_extent_index *x =
		(const struct ext_disk_extent_index *)(head + 1) + i;
	blk_no node = (blk_no)le16_get(x->leaf_hi) << 32 | le32_get(x->leaf_lo);
	struct ext_check check = {.run = node_check, .arg = d};
	struct buf *below;
	int err = ext_layout_check(d->m, d->inode, d->at, node, 1, d->damage);

	if (err)
		return err;
	d->at = node;
	d->depth--;
	check.as = ext_check_as(EXT_ROLE_EXTENTS + d->depth, d->inode);
	err = ext_buf_get(d->m, node, &check, &below, d->damage);
	if (err)
		return err;
	if (*buf)
		buf_put(*buf);
	*buf = below;
	return 0;
}

static int descend(struct descent *d, const struct ext_disk_extent_head *head,
	struct buf **buf, struct ext_run *out)
{
	uint32_t bytes = EXT_MAP_WORDS * 4;

	for (;;) {
		const char *flaw =
			ext_extent_flaw(head, bytes, d->depth, *buf == NULL);
		int i;
		int err;

		if (flaw)
			return bad(d, flaw);
		i = entry_find(d, head);
		err = narrow(d, head, i);
		if (err)
			return err;
		if (d->depth == 0)
			return leaf_take(d, head, i, out);
		if (i < 0) {
			hole_set(d, out);
			return 0;
		}
		err = index_enter(d, head, i, buf);
		if (err)
			return err;
		head = (*buf)->data;
		bytes = d->m->ext.super.block_bytes;
	}
}

int ext_extent_find(const struct ext_mount *m, const struct ext_inode *inode,
	uint32_t file, struct ext_run *out, struct ext_damage *damage)
{
	const struct ext_disk_extent_head *root =
		(const struct ext_disk_extent_head *)inode->block;
	struct descent d = {
		.m = m,
		.inode = inode,
		.file = file,
		.hi = UINT64_C(1) << 32,
		.at = inode->at,
		.depth = le16_get(root->depth),
		.damage = damage,
	};
	struct buf *buf = NULL;
	int err;

	if (d.depth > EXT_EXTENT_DEPTH_MAX)
		return bad(&d, "too deep");
	err = descend(&d, root, &buf, out);
	if (buf)
		buf_put(buf);
	return err;
}

/* ---- indirect blocks ----------------------------------------------------------- */

enum { LEVELS = 3 };

struct path {
	const struct ext_mount *m;
	const struct ext_inode *inode;
	uint32_t per_block;
	blk_no at; /* where @dev was said */
	struct ext_damage *damage;
};

/* Blocks below an entry of a node at @level, 0 the lowest. */
static uint64_t level_span(const struct path *p, unsigned level)
{
	uint64_t blocks = 1;

	while (level-- > 0)
		blocks *= p->per_block;
	return blocks;
}

/* How many of @words, up to @room, go on what the first begins. */
static uint32_t words_run(const struct le32 *words, uint32_t room)
{
	uint64_t first = le32_get(words[0]);
	uint32_t n = 1;

	while (n < room && le32_get(words[n]) == (first ? first + n : 0))
		n++;
	return n;
}

/* A run that begins with @words[0]; each stands for @span blocks, of which
 * @skip precede the block sought. */
static int words_take(struct path *p, const struct le32 *words, uint32_t room,
	uint64_t span, uint64_t skip, struct ext_run *out)
{
	uint32_t n = words_run(words, room);
	blk_no dev = le32_get(words[0]);
	uint64_t count = n * span - skip;

	if (dev) {
		int err = ext_layout_check(
			p->m, p->inode, p->at, dev, n, p->damage);

		if (err)
			return err;
	}
	out->dev = dev;
	out->count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
	return 0;
}

/* Block @offset of the tree of @depth levels under @root. */
static int tree_find(struct path *p, unsigned depth, struct le32 root,
	uint64_t offset, struct ext_run *out)
{
	struct le32 word = root;
	int err = 0;

	for (unsigned level = depth; level > 0; level--) {
		uint64_t span = level_span(p, level - 1);
		uint32_t i = (uint32_t)(offset / span);
		blk_no node = le32_get(word);
		struct buf *buf;
		const struct le32 *words;

		if (node == 0)
			return words_take(
				p, &word, 1, span * p->per_block, offset, out);
		err = ext_layout_check(
			p->m, p->inode, p->at, node, 1, p->damage);
		if (!err)
			err = ext_buf_get(p->m, node, NULL, &buf, p->damage);
		if (err)
			return err;
		p->at = node;
		words = (const struct le32 *)buf->data + i;
		word = *words;
		offset %= span;
		if (level == 1)
			err = words_take(p, words, p->per_block - i, 1, 0, out);
		buf_put(buf);
	}
	return err;
}

int ext_indirect_find(const struct ext_mount *m, const struct ext_inode *inode,
	uint32_t file, struct ext_run *out, struct ext_damage *damage)
{
	struct path p = {
		.m = m,
		.inode = inode,
		.per_block = m->ext.super.block_bytes / sizeof(struct le32),
		.at = inode->at,
		.damage = damage,
	};
	struct le32 words[EXT_MAP_WORDS];
	struct ext_run run = {.file = file};
	uint64_t offset = file;
	int err = -EUCLEAN;

	memcpy(words, inode->block, sizeof(words));
	if (offset < EXT_MAP_DIRECT) {
		err = words_take(&p, &words[offset],
			EXT_MAP_DIRECT - (uint32_t)offset, 1, 0, &run);
		if (!err)
			*out = run;
		return err;
	}
	offset -= EXT_MAP_DIRECT;
	for (unsigned depth = 1; depth <= LEVELS; depth++) {
		uint64_t span = level_span(&p, depth);

		if (offset < span) {
			err = tree_find(&p, depth,
				words[EXT_MAP_DIRECT + depth - 1], offset,
				&run);
			if (!err)
				*out = run;
			return err;
		}
		offset -= span;
	}
	return EXT_DAMAGED(damage, err, inode->at, inode->ino,
		"file block %u is beyond what a block map can reach", file);
}

int ext_map_find(const struct ext_mount *m, const struct ext_inode *inode,
	uint32_t file, struct ext_run *out, struct ext_damage *damage)
{
	if (inode->flags & EXT_INODE_EXTENTS)
		return ext_extent_find(m, inode, file, out, damage);
	return ext_indirect_find(m, inode, file, out, damage);
}
