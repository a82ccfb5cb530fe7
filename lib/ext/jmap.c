/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jmap.c - the block map of an internal journal.
 *
 * Two lists grow during one walk: the log's extents, in log order, and what
 * the file claims on the device, its tree included.  Claims are checked for
 * overlaps each time their list doubles, so that a map which points at few
 * blocks many times is found out early, whatever size it pretends to have.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "ext/ext_int.h"

enum { CLAIMS_MIN = 64 };

struct jmap {
	struct jnl_extent *map;
	size_t map_count;
	size_t map_room;
	struct ext_range *claims;
	size_t claim_count;
	size_t claim_room;
};

static int range_order(const void *a, const void *b)
{
	const struct ext_range *x = a;
	const struct ext_range *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static int claims_check(struct ext_map_walk *w)
{
	struct jmap *m = w->arg;

	if (m->claim_count == 0)
		return 0;
	qsort(m->claims, m->claim_count, sizeof(*m->claims), range_order);
	for (size_t i = 1; i < m->claim_count; i++) {
		const struct ext_range *before = &m->claims[i - 1];

		if (before->first + before->count > m->claims[i].first)
			return EXT_DAMAGED(w->damage, -EUCLEAN,
				m->claims[i].first, w->inode->ino,
				"mapped twice in one file");
	}
	return 0;
}

/* @old with twice the room, or NULL. */
static void *list_grow(void *old, size_t *room, size_t bytes)
{
	size_t want = *room ? *room * 2 : CLAIMS_MIN;
	void *grown = reallocarray(old, want, bytes);

	if (grown)
		*room = want;
	return grown;
}

static int claim(struct ext_map_walk *w, blk_no first, blk_no count)
{
	struct jmap *m = w->arg;

	if (m->claim_count == m->claim_room) {
		int err = claims_check(w);
		struct ext_range *grown;

		if (err)
			return err;
		grown = list_grow(m->claims, &m->claim_room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		m->claims = grown;
	}
	m->claims[m->claim_count++] =
		(struct ext_range){.first = first, .count = count};
	return 0;
}

static int on_node(struct ext_map_walk *w, blk_no block)
{
	return claim(w, block, 1);
}

static int on_run(struct ext_map_walk *w, const struct ext_run *run)
{
	struct jmap *m = w->arg;
	struct jnl_extent *last =
		m->map_count ? &m->map[m->map_count - 1] : NULL;
	int err = claim(w, run->dev, run->count);

	if (err)
		return err;
	if (last && last->dev + last->count == run->dev) {
		last->count += run->count;
		return 0;
	}
	if (m->map_count == m->map_room) {
		struct jnl_extent *grown =
			list_grow(m->map, &m->map_room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		m->map = grown;
	}
	ASSERT(m->map);
	m->map[m->map_count++] = (struct jnl_extent){
		.log = run->file, .count = run->count, .dev = run->dev};
	return 0;
}

static int size_check(const struct ext *fs, const struct ext_inode *inode,
	struct ext_damage *damage)
{
	uint64_t blocks = inode->bytes / fs->super.block_bytes;

	if (blocks > 0 && blocks < fs->super.block_count &&
		blocks <= UINT32_MAX)
		return 0;
	return EXT_DAMAGED(damage, -EUCLEAN, inode->at, inode->ino,
		"a journal cannot have %llu bytes",
		(unsigned long long)inode->bytes);
}

int ext_jmap_build(const struct ext *fs, const struct ext_inode *inode,
	bool check_csum, struct jnl_extent **map, uint32_t *map_count,
	struct ext_damage *damage)
{
	struct jmap m = {0};
	struct ext_map_walk w = {
		.fs = fs,
		.inode = inode,
		.check_csum = check_csum,
		.complete = true,
		.run = on_run,
		.node = on_node,
		.arg = &m,
		.damage = damage,
	};
	int err = size_check(fs, inode, damage);

	w.end = (uint32_t)(inode->bytes / fs->super.block_bytes);
	if (!err)
		err = ext_map_walk(&w);
	if (!err)
		err = claims_check(&w);
	if (!err)
		err = ext_zone_check(fs, m.claims, m.claim_count, damage);
	free(m.claims);
	if (err) {
		free(m.map);
		return err;
	}
	*map = m.map;
	*map_count = (uint32_t)m.map_count;
	return 0;
}
