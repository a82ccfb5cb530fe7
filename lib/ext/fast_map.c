/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fast_map.c - the extents of a file after its fast commits.
 *
 * The old map and what the records changed are merged in one pass, and a new
 * tree is built from the bottom: full leaves, then indexes over them until
 * the inode holds the rest.
 */
#include <errno.h>
#include <stdlib.h>

#include "ext/fast_int.h"

enum {
	SPANS_MAX = 1 << 15, /* of one file: to insert costs their square */
	ENTRY_BYTES = sizeof(struct ext_disk_extent),
	HEAD_BYTES = sizeof(struct ext_disk_extent_head),
};

/* ---- spans --------------------------------------------------------------------- */

static int span_room(struct fast_spans *l, size_t more)
{
	size_t room = l->room ? l->room * 2 : 16;
	struct fast_span *list;

	if (l->list && l->count + more <= l->room)
		return 0;
	list = reallocarray(l->list, room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	l->list = list;
	l->room = room;
	return 0;
}

static void span_insert(
	struct fast_spans *l, size_t at, const struct fast_span *s)
{
	memmove(&l->list[at + 1], &l->list[at],
		(l->count - at) * sizeof(l->list[0]));
	l->list[at] = *s;
	l->count++;
}

/* The first that ends behind @file. */
static size_t span_after(const struct fast_spans *l, uint64_t file)
{
	size_t lo = 0;
	size_t hi = l->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->list[mid].file + l->list[mid].count > file)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

bool fast_spans_have(const struct fast_spans *l, uint64_t file)
{
	size_t i = span_after(l, file);

	return i < l->count && l->list[i].file <= file;
}

/* What is left of @s from @file on. */
static struct fast_span span_from(const struct fast_span *s, uint64_t file)
{
	uint64_t skip = file - s->file;
	struct fast_span rest = *s;

	rest.file += skip;
	rest.count -= skip;
	if (rest.dev)
		rest.dev += skip;
	return rest;
}

int fast_span_put(struct fast_spans *l, const struct fast_span *s)
{
	uint64_t end = s->file + s->count;
	size_t first;
	size_t last;
	int err = span_room(l, 2);

	if (!err && l->count >= SPANS_MAX)
		err = -E2BIG;
	if (err)
		return err;
	first = span_after(l, s->file);
	if (first < l->count && l->list[first].file < s->file) {
		struct fast_span rest = span_from(&l->list[first], s->file);

		l->list[first].count -= rest.count;
		span_insert(l, ++first, &rest);
	}
	last = first;
	while (last < l->count &&
		l->list[last].file + l->list[last].count <= end)
		last++;
	if (last < l->count && l->list[last].file < end)
		l->list[last] = span_from(&l->list[last], end);
	memmove(&l->list[first], &l->list[last],
		(l->count - last) * sizeof(l->list[0]));
	l->count -= last - first;
	span_insert(l, first, s);
	return 0;
}

/* ---- merging --------------------------------------------------------------------- */

struct merge {
	const struct fast_spans *now;
	struct fast_spans *out;
	size_t next;   /* of now */
	uint64_t done; /* file blocks below are decided */
};

/* Append; neighbours become one. */
static int merge_add(struct merge *m, const struct fast_span *s)
{
	struct fast_span *last =
		m->out->count ? &m->out->list[m->out->count - 1] : NULL;
	int err;

	if (s->dev == 0 || s->count == 0)
		return 0;
	if (last && last->file + last->count == s->file &&
		last->dev + last->count == s->dev &&
		last->unwritten == s->unwritten) {
		last->count += s->count;
		return 0;
	}
	err = span_room(m->out, 1);
	if (!err)
		m->out->list[m->out->count++] = *s;
	return err;
}

/* All that is new and begins before @file. */
static int merge_now(struct merge *m, uint64_t file)
{
	int err = 0;

	while (!err && m->next < m->now->count &&
		m->now->list[m->next].file < file) {
		const struct fast_span *s = &m->now->list[m->next++];

		err = merge_add(m, s);
		m->done = s->file + s->count;
	}
	return err;
}

static int merge_old(struct ext_map_walk *w, const struct ext_run *run)
{
	struct merge *m = w->arg;
	struct fast_span s = {.file = run->file,
		.count = run->count,
		.dev = run->dev,
		.unwritten = run->unwritten};
	uint64_t end = s.file + s.count;

	while (s.count > 0) {
		struct fast_span head;
		int err = merge_now(m, s.file + 1);

		if (err)
			return err;
		if (m->done >= end)
			return 0;
		if (m->done > s.file)
			s = span_from(&s, m->done);
		head = s;
		if (m->next < m->now->count && m->now->list[m->next].file < end)
			head.count = m->now->list[m->next].file - s.file;
		err = merge_add(m, &head);
		if (err)
			return err;
		s.file += head.count;
		s.dev += head.count;
		s.count -= head.count;
	}
	return 0;
}

int fast_map_merge(
	struct fast *f, struct fast_file *file, struct fast_spans *out)
{
	struct merge m = {.now = &file->now, .out = out};
	struct ext_map_walk w = {
		.fs = f->fs,
		.inode = &file->old,
		.end = UINT32_MAX,
		.check_csum = true,
		.run = merge_old,
		.arg = &m,
		.damage = f->damage,
	};
	int err = file->fresh ? 0 : ext_map_walk(&w);

	return err ? err : merge_now(&m, UINT64_MAX);
}

/* ---- a tree ------------------------------------------------------------------------- */

/* Entries of one level, on their way into nodes. */
struct row {
	struct ext_disk_extent *list;
	size_t count;
};

static struct ext_disk_extent extent_of(
	const struct fast_span *s, uint64_t skip, uint32_t count)
{
	blk_no dev = s->dev + skip;

	return (struct ext_disk_extent){
		.block = le32_of((uint32_t)(s->file + skip)),
		.len = le16_of(
			(uint16_t)(s->unwritten ? count + EXT_EXTENT_INIT_MAX
						: count)),
		.start_hi = le16_of((uint16_t)(dev >> 32)),
		.start_lo = le32_of((uint32_t)dev),
	};
}

/* Spans in pieces that an extent can count. */
static int row_of_spans(const struct fast_spans *l, struct row *out)
{
	size_t count = 0;

	for (size_t i = 0; i < l->count; i++)
		count +=
			(size_t)(l->list[i].count / (EXT_EXTENT_INIT_MAX - 1)) +
			1;
	out->list = calloc(count + 1, sizeof(out->list[0]));
	if (!out->list)
		return -ENOMEM;
	for (size_t i = 0; i < l->count; i++) {
		const struct fast_span *s = &l->list[i];
		uint32_t most = EXT_EXTENT_INIT_MAX - s->unwritten;

		for (uint64_t at = 0; at < s->count; at += most) {
			uint64_t left = s->count - at;

			out->list[out->count++] = extent_of(
				s, at, left < most ? (uint32_t)left : most);
		}
	}
	return 0;
}

static void node_fill(uint8_t *to, const struct ext_disk_extent *from,
	size_t count, uint32_t max, unsigned depth)
{
	struct ext_disk_extent_head head = {
		.magic = le16_of(EXT_EXTENT_MAGIC),
		.entries = le16_of((uint16_t)count),
		.max = le16_of((uint16_t)max),
		.depth = le16_of((uint16_t)depth),
	};

	memcpy(to, &head, sizeof(head));
	if (count)
		memcpy(to + HEAD_BYTES, from, count * ENTRY_BYTES);
}

static int node_write(struct fast *f, const struct fast_file *file,
	const struct ext_disk_extent *from, size_t count, unsigned depth,
	blk_no *out)
{
	const struct ext_super *sb = &f->fs->super;
	uint32_t max = (sb->block_bytes - HEAD_BYTES) / ENTRY_BYTES;
	uint32_t covered = HEAD_BYTES + max * ENTRY_BYTES;
	struct le32 sum;
	void *data;
	int err = fast_block_take(f, out);

	if (!err)
		err = jnl_overlay_edit(f->o, *out, &data);
	if (err)
		return err;
	memset(data, 0, sb->block_bytes);
	node_fill(data, from, count, max, depth);
	if (sb->csum) {
		sum = le32_of(ext_csum_extents(sb, file->ino,
			le32_get(fast_raw(file)->generation), data, covered));
		memcpy((uint8_t *)data + covered, &sum, sizeof(sum));
	}
	return 0;
}

/* Put the entries of @row, at @depth, into nodes; @row becomes theirs. */
static int row_raise(struct fast *f, const struct fast_file *file,
	struct row *row, unsigned depth)
{
	size_t max = (f->fs->super.block_bytes - HEAD_BYTES) / ENTRY_BYTES;
	size_t nodes = 0;

	for (size_t at = 0; at < row->count; at += max) {
		size_t count = row->count - at < max ? row->count - at : max;
		blk_no block;
		int err = node_write(
			f, file, &row->list[at], count, depth, &block);
		struct ext_disk_extent_index x = {
			.block = row->list[at].block,
			.leaf_lo = le32_of((uint32_t)block),
			.leaf_hi = le16_of((uint16_t)(block >> 32)),
		};

		if (err)
			return err;
		/* Never ahead of what is still to be read. */
		memcpy(&row->list[nodes++], &x, sizeof(x));
	}
	row->count = nodes;
	return 0;
}

static int tree_write(
	struct fast *f, struct fast_file *file, const struct fast_spans *l)
{
	struct row row = {0};
	unsigned depth = 0;
	int err = row_of_spans(l, &row);

	while (!err && row.count > EXT_EXTENT_ROOT_MAX)
		err = row_raise(f, file, &row, depth++);
	if (!err && depth > EXT_EXTENT_DEPTH_MAX)
		err = FAST_BAD(f, -E2BIG, file->ino, "too many extents");
	if (!err) {
		memset(fast_raw(file)->block, 0, sizeof(file->old.block));
		node_fill(fast_raw(file)->block, row.list, row.count,
			EXT_EXTENT_ROOT_MAX, depth);
	}
	free(row.list);
	return err;
}

/* ---- block maps ---------------------------------------------------------------------- */

/* The record of the inode had all of them, if they are in the inode. */
static int words_check(struct fast *f, const struct fast_file *file)
{
	struct le32 words[EXT_MAP_WORDS];

	memcpy(words, fast_raw(file)->block, sizeof(words));
	for (unsigned i = EXT_MAP_DIRECT; i < EXT_MAP_WORDS; i++)
		if (le32_get(words[i]) != 0)
			return FAST_BAD(f, -EOPNOTSUPP, file->ino,
				"a map with indirect blocks");
	return 0;
}

int fast_map_write(struct fast *f, struct fast_file *file)
{
	uint32_t flags = le32_get(fast_raw(file)->flags);
	struct fast_spans all = {0};
	int err;

	if (flags & EXT_INODE_INLINE_DATA ||
		(file->now.count == 0 && !file->fresh))
		return 0;
	if (!(flags & EXT_INODE_EXTENTS))
		return file->now.count ? words_check(f, file) : 0;
	err = fast_map_merge(f, file, &all);
	if (!err)
		err = tree_write(f, file, &all);
	free(all.list);
	return err;
}
