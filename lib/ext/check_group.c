/* SPDX-License-Identifier: BSD-2-Clause */
/* check_group.c - the quick check of one group's descriptor and bitmaps. */
#include <string.h>

#include "ext/check_int.h"

/* ---- bitmaps of any kind -------------------------------------------------------- */

/* What a bitmap should be like. */
struct bitmap {
	const char *name;
	uint32_t group;
	blk_no at;
	uint32_t bits;  /* that mean something */
	uint32_t bytes; /* that the checksum covers */
	uint32_t csum;  /* what the descriptor says */
	uint32_t free;  /* likewise */
};

/* How many of the first @bits bits are 0. */
static uint32_t count_free(const uint8_t *data, uint32_t bits)
{
	uint32_t used = 0;
	uint32_t whole = bits / 64 * 64;

	for (uint32_t at = 0; at < whole; at += 64) {
		uint64_t word;

		memcpy(&word, data + at / 8, sizeof(word));
		used += (uint32_t)__builtin_popcountll(word);
	}
	for (uint32_t at = whole; at < bits; at++)
		used += check_bit(data, at);
	return bits - used;
}

/* Whether all bits behind the first @bits are 1, as they should. */
static bool padded(const uint8_t *data, uint32_t bits, uint32_t bytes)
{
	uint32_t at = bits;

	for (; at % 8 != 0; at++)
		if (!check_bit(data, at))
			return false;
	for (at /= 8; at < bytes; at++)
		if (data[at] != 0xff)
			return false;
	return true;
}

/* Read and check; false: its bits are not to be used. */
static bool bitmap_get(
	struct check_worker *w, const struct bitmap *b, uint8_t *data)
{
	const struct ext_super *sb = &w->c->fs.super;
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	uint32_t mask = sb->desc_bytes < EXT_WIDE_DESC_BYTES ? 0xffff : ~0U;
	uint32_t free_count;

	if (ext_block_read(&w->c->fs, b->at, data, &damage)) {
		check_found(w, EXT_CHECK_GROUP, b->at, 0,
			"%s of group %u: cannot be read", b->name, b->group);
		return false;
	}
	if (sb->csum &&
		(ext_csum_bitmap(sb, data, b->bytes) & mask) != b->csum) {
		check_found(w, EXT_CHECK_GROUP, b->at, 0,
			"%s of group %u: bad checksum", b->name, b->group);
		return false;
	}
	if (!padded(data, b->bits, sb->block_bytes))
		check_found(w, EXT_CHECK_GROUP, b->at, 0,
			"%s of group %u: bits behind its end are not set",
			b->name, b->group);
	free_count = count_free(data, b->bits);
	if (free_count == b->free)
		return true;
	check_found(w, EXT_CHECK_GROUP, b->at, 0,
		"%s of group %u: %u free, the descriptor says %u", b->name,
		b->group, free_count, b->free);
	return false;
}

/* ---- blocks ---------------------------------------------------------------------- */

struct span {
	blk_no first; /* of the group */
	blk_no end;
	uint32_t ratio;    /* blocks of a cluster */
	uint32_t clusters; /* of the group */
};

static struct span group_span(const struct ext_super *sb, uint32_t index)
{
	struct span s = {.ratio = sb->cluster_bytes / sb->block_bytes};

	s.first = sb->first_data_block + (blk_no)index * sb->blocks_per_group;
	s.end = s.first + sb->blocks_per_group;
	if (s.end > sb->block_count)
		s.end = sb->block_count;
	s.clusters = (uint32_t)((s.end - s.first + s.ratio - 1) / s.ratio);
	return s;
}

/* Call @take for each cluster of the group that the fixed metadata touches, in
 * order; true ends it. */
static bool each_fixed(const struct check *c, const struct span *s,
	bool (*take)(void *arg, uint32_t cluster), void *arg)
{
	const struct ext_layout *l = &c->layout;
	size_t i = ext_range_after(l->fixed, l->fixed_count, s->first);
	uint64_t next = 0;

	for (; i < l->fixed_count && l->fixed[i].first < s->end; i++) {
		blk_no end = l->fixed[i].first + l->fixed[i].count;
		uint64_t at = 0;

		if (l->fixed[i].first > s->first)
			at = (l->fixed[i].first - s->first) / s->ratio;
		if (at < next)
			at = next;
		if (end > s->end)
			end = s->end;
		for (; s->first + at * s->ratio < end; at++)
			if (take(arg, (uint32_t)at))
				return true;
		next = at;
	}
	return false;
}

static bool is_free(void *arg, uint32_t cluster)
{
	return !check_bit(arg, cluster);
}

static bool count_one(void *arg, uint32_t cluster)
{
	uint32_t *count = arg;

	(void)cluster;
	++*count;
	return false;
}

/* A bitmap that was never written: only metadata is in use. */
static void check_unwritten(struct check_worker *w, uint32_t index,
	const struct ext_group *g, const struct span *s)
{
	uint32_t used = 0;

	(void)each_fixed(w->c, s, count_one, &used);
	if (w->c->layout.fixed && g->free_blocks != s->clusters - used)
		check_found(w, EXT_CHECK_GROUP, LOG_NO_BLOCK, 0,
			"descriptor of group %u: %u free blocks, should be %u",
			index, g->free_blocks, s->clusters - used);
}

static void check_blocks(
	struct check_worker *w, uint32_t index, const struct ext_group *g)
{
	const struct ext_super *sb = &w->c->fs.super;
	const struct span s = group_span(sb, index);
	const struct bitmap b = {
		.name = "block bitmap",
		.group = index,
		.at = g->block_bitmap,
		.bits = s.clusters,
		.bytes = sb->blocks_per_group / s.ratio / 8,
		.csum = g->block_bitmap_csum,
		.free = g->free_blocks,
	};

	w->sums.free_blocks = g->free_blocks;
	if (g->free_blocks <= s.clusters)
		w->sums.blocks_used = s.clusters - g->free_blocks;
	if (g->flags & EXT_GROUP_BLOCK_UNINIT) {
		check_unwritten(w, index, g, &s);
	} else if (bitmap_get(w, &b, w->blocks) &&
		   each_fixed(w->c, &s, is_free, w->blocks)) {
		check_found(w, EXT_CHECK_GROUP, b.at, 0,
			"block bitmap of group %u: blocks of the fixed "
			"metadata are free",
			index);
	}
}

/* ---- inodes ----------------------------------------------------------------------- */

/* Whether bits from @from on say that an inode is in use. */
static bool used_behind(const uint8_t *data, uint32_t from, uint32_t bits)
{
	while (from < bits)
		if (check_bit(data, from++))
			return true;
	return false;
}

static void check_table(
	struct check_worker *w, uint32_t index, const struct ext_group *g)
{
	uint32_t inodes = w->c->fs.super.inodes_per_group;
	uint32_t count;
	uint32_t dirs;

	if (g->unused_inodes > inodes) {
		check_found(w, EXT_CHECK_GROUP, LOG_NO_BLOCK, 0,
			"descriptor of group %u: %u unused inodes of %u", index,
			g->unused_inodes, inodes);
		return;
	}
	count = inodes - g->unused_inodes;
	if (used_behind(w->inodes, count, inodes))
		check_found(w, EXT_CHECK_GROUP, g->inode_bitmap, 0,
			"inode bitmap of group %u: inodes in use where the "
			"descriptor says none ever was",
			index);
	dirs = check_inodes(w, index, g, count);
	if (dirs != g->used_dirs)
		check_found(w, EXT_CHECK_GROUP, LOG_NO_BLOCK, 0,
			"descriptor of group %u: %u directories, but there are "
			"%u",
			index, g->used_dirs, dirs);
}

static void check_inode_bitmap(
	struct check_worker *w, uint32_t index, const struct ext_group *g)
{
	const struct ext_super *sb = &w->c->fs.super;
	const struct bitmap b = {
		.name = "inode bitmap",
		.group = index,
		.at = g->inode_bitmap,
		.bits = sb->inodes_per_group,
		.bytes = sb->inodes_per_group / 8,
		.csum = g->inode_bitmap_csum,
		.free = g->free_inodes,
	};

	w->sums.free_inodes = g->free_inodes;
	if (g->flags & EXT_GROUP_INODE_UNINIT) {
		if (g->free_inodes != sb->inodes_per_group || g->used_dirs)
			check_found(w, EXT_CHECK_GROUP, LOG_NO_BLOCK, 0,
				"descriptor of group %u: inodes in use, but "
				"the bitmap was never written",
				index);
	} else if (bitmap_get(w, &b, w->inodes)) {
		w->sums.inodes_used = sb->inodes_per_group - g->free_inodes;
		check_table(w, index, g);
	}
}

/* ---- the group ---------------------------------------------------------------------- */

/* Without checksums nobody looks at these fields, until they are turned on. */
static void check_flags(
	struct check_worker *w, uint32_t index, const uint8_t *raw)
{
	const struct ext_super *sb = &w->c->fs.super;
	const uint16_t uninit = EXT_GROUP_INODE_UNINIT | EXT_GROUP_BLOCK_UNINIT;
	struct ext_disk_group d = {0};

	if (sb->csum || sb->features.ro_compat & EXT_RO_COMPAT_GDT_CSUM)
		return;
	memcpy(&d, raw, EXT_OLD_DESC_BYTES);
	if (le16_get(d.flags) & uninit || le16_get(d.itable_unused_lo))
		check_found(w, EXT_CHECK_GROUP, w->descs_at, 0,
			"descriptor of group %u: parts said to be unused, "
			"which takes checksums",
			index);
}

static int group_get(
	struct check_worker *w, uint32_t index, struct ext_group *out)
{
	const struct ext *fs = &w->c->fs;
	const struct ext_super *sb = &fs->super;
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	uint32_t per_block = sb->block_bytes / sb->desc_bytes;
	blk_no at = ext_desc_block(sb, index / per_block);
	const uint8_t *raw =
		w->descs + (size_t)(index % per_block) * sb->desc_bytes;
	int err = 0;

	if (at != w->descs_at) {
		w->descs_at = LOG_NO_BLOCK;
		err = ext_block_read(fs, at, w->descs, &damage);
		if (!err)
			w->descs_at = at;
	}
	if (!err)
		err = ext_group_decode(sb, index, raw, at, out, &damage);
	if (err)
		check_found_damage(w, EXT_CHECK_GROUP, &damage);
	else
		check_flags(w, index, raw);
	return err;
}

void check_group(struct check_worker *w, uint32_t index)
{
	const struct ext_super *sb = &w->c->fs.super;
	struct ext_group g;

	w->findings.count = 0;
	w->findings.dropped = 0;
	w->sums = (struct check_sums){0};
	if (index != 0 && ext_group_has_super(sb, index) &&
		ext_group_first(sb, index) != sb->at)
		check_super_copy(w, index);
	if (group_get(w, index, &g)) {
		w->sums.unknown = 1;
		return;
	}
	check_blocks(w, index, &g);
	check_inode_bitmap(w, index, &g);
}
