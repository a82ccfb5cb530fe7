/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * htree.c - the index of a directory: blocks of entries by the hash of names.
 *
 *     root    [   0 -> n1 | h2 -> n2 ]
 *     node n1 [   0 -> L1 | h1 -> L2 ]      0 <= L1 < h1 <= L2 < h2
 *
 * All names of a leaf hash to at least its lower bound and to less than the
 * next leaf's.  When names of one hash fill more than a leaf, the next leaf's
 * bound is that hash with the lowest bit set, which no hash has.
 *
 * Nothing of a node is trusted but that its entries fit the block.  Bounds
 * must not go back from leaf to leaf, and more leaves than the directory has
 * blocks are damage: so no loop, and every walk ends.
 */
#include <errno.h>

#include "ext/dir_int.h"

enum { COMPAT_DIR_INDEX = 0x20 };

bool ext_htree_usable(const struct ext_node *dir)
{
	const struct ext_super *sb = &ext_node_mount(dir)->ext.super;

	/* Where names are folded or ciphertext, so is what was hashed. */
	if (dir->core.flags & (EXT_INODE_ENCRYPT | EXT_INODE_CASEFOLD))
		return false;
	return !dir->inlined && dir->core.flags & EXT_INODE_INDEX &&
	       sb->features.compat & COMPAT_DIR_INDEX &&
	       atomic_load_explicit(&dir->index, memory_order_relaxed) !=
		       EXT_INDEX_BAD;
}

static int bad(const struct ext_htree *t, blk_no at, const char *what)
{
	return EXT_DAMAGED(t->damage, -EUCLEAN, at, t->dir->core.ino,
		"directory index: %s", what);
}

/* ---- nodes ------------------------------------------------------------------- */

static struct ext_disk_index entry_at(
	const struct ext_htree_level *l, uint32_t i)
{
	struct ext_disk_index e;

	memcpy(&e,
		(const uint8_t *)l->buf->data + l->first +
			(size_t)i * sizeof(e),
		sizeof(e));
	return e;
}

/* The first entry's place is taken by the counts; it stands for all below. */
static uint32_t entry_hash(const struct ext_htree_level *l, uint32_t i)
{
	return i ? le32_get(entry_at(l, i).hash) : 0;
}

static uint32_t entry_block(const struct ext_htree_level *l, uint32_t i)
{
	return le32_get(entry_at(l, i).block) & EXT_INDEX_BLOCK_MASK;
}

static int level_check(const struct ext_htree *t, struct ext_htree_level *l)
{
	const struct ext_super *sb = &ext_node_mount(t->dir)->ext.super;
	uint32_t room = (sb->block_bytes - l->first) /
				(uint32_t)sizeof(struct ext_disk_index) -
			(sb->csum ? 1 : 0);
	struct ext_disk_index_count head;

	memcpy(&head, (const uint8_t *)l->buf->data + l->first, sizeof(head));
	l->count = le16_get(head.count);
	if (le16_get(head.limit) != room)
		return bad(t, l->buf->block, "wrong limit of entries");
	if (l->count == 0 || l->count > room)
		return bad(t, l->buf->block, "wrong number of entries");
	return 0;
}

static void level_leave(struct ext_htree_level *l)
{
	if (l->buf)
		buf_put(l->buf);
	l->buf = NULL;
}

static int level_enter(struct ext_htree *t, unsigned level, uint32_t block)
{
	struct ext_htree_level *l = &t->level[level];
	int err;

	level_leave(l);
	err = ext_dir_block_get(t->dir, block,
		level ? EXT_DIR_NODE : EXT_DIR_ROOT, &l->buf, t->damage);
	if (err)
		return err;
	l->first = level ? EXT_INDEX_NODE_FIRST : EXT_INDEX_ROOT_FIRST;
	l->pos = 0;
	return level_check(t, l);
}

static int root_check(struct ext_htree *t)
{
	const struct ext_super *sb = &ext_node_mount(t->dir)->ext.super;
	const struct buf *buf = t->level[0].buf;
	unsigned levels_max = sb->features.incompat & EXT_INCOMPAT_LARGE_DIR
				      ? EXT_HTREE_LEVELS_MAX
				      : EXT_HTREE_LEVELS_MAX - 1;
	struct ext_disk_index_info info;

	memcpy(&info, (const uint8_t *)buf->data + EXT_INDEX_INFO,
		sizeof(info));
	if (le32_get(info.reserved) != 0 || info.bytes != sizeof(info))
		return bad(t, buf->block, "wrong header");
	if (info.hash_version >= EXT_HASH_COUNT)
		return bad(t, buf->block, "unknown hash");
	if (info.levels >= levels_max)
		return bad(t, buf->block, "too deep");
	t->levels = info.levels + 1U;
	t->version = info.hash_version;
	if (t->version < EXT_HASH_UNSIGNED && sb->hash_unsigned)
		t->version += EXT_HASH_UNSIGNED;
	return 0;
}

int ext_htree_open(struct ext_htree *t, const struct ext_node *dir,
	struct ext_damage *damage)
{
	int err;

	*t = (struct ext_htree){.dir = dir, .damage = damage};
	err = level_enter(t, 0, 0);
	if (!err)
		err = root_check(t);
	if (err)
		ext_htree_close(t);
	return err;
}

void ext_htree_close(struct ext_htree *t)
{
	for (unsigned i = 0; i < EXT_HTREE_LEVELS_MAX; i++)
		level_leave(&t->level[i]);
}

/* ---- going from leaf to leaf ----------------------------------------------------- */

/* The bound behind the current leaf: of the deepest level that has one. */
static uint32_t bound_after(const struct ext_htree *t)
{
	for (unsigned i = t->levels; i-- > 0;) {
		const struct ext_htree_level *l = &t->level[i];

		if (l->pos + 1 < l->count)
			return entry_hash(l, l->pos + 1);
	}
	return 0;
}

/* The positions of all levels are set: note the leaf they point at. */
static int leaf_set(struct ext_htree *t, uint32_t lo)
{
	const struct ext_htree_level *l = &t->level[t->levels - 1];
	uint32_t hi = bound_after(t);

	t->leaf = entry_block(l, l->pos);
	if (t->leaf == 0 || t->leaf >= ext_dir_blocks(t->dir))
		return bad(t, l->buf->block, "no such leaf");
	if (hi != 0 && hi <= lo)
		return bad(t, l->buf->block, "hashes out of order");
	if (t->steps++ > ext_dir_blocks(t->dir))
		return bad(t, l->buf->block, "more leaves than blocks");
	t->lo = lo;
	t->hi = hi;
	return 0;
}

/* The last entry whose bound is at most @hash. */
static uint32_t entry_find(const struct ext_htree_level *l, uint32_t hash)
{
	uint32_t lo = 0;
	uint32_t hi = l->count;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (entry_hash(l, mid) <= hash)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

int ext_htree_seek(struct ext_htree *t, uint32_t hash)
{
	uint32_t lo = 0;
	int err = 0;

	for (unsigned i = 0; i < t->levels; i++) {
		struct ext_htree_level *l = &t->level[i];

		if (i > 0)
			err = level_enter(t, i, entry_block(l - 1, l[-1].pos));
		if (err)
			return err;
		l->pos = entry_find(l, hash);
		if (l->pos > 0)
			lo = entry_hash(l, l->pos);
	}
	return leaf_set(t, lo);
}

int ext_htree_next(struct ext_htree *t)
{
	unsigned i = t->levels;
	uint32_t lo;
	int err = 0;

	while (i > 0 && t->level[i - 1].pos + 1 >= t->level[i - 1].count)
		i--;
	if (i == 0)
		return -ENOENT;
	t->level[i - 1].pos++;
	lo = entry_hash(&t->level[i - 1], t->level[i - 1].pos);
	for (; !err && i < t->levels; i++)
		err = level_enter(t, i,
			entry_block(&t->level[i - 1], t->level[i - 1].pos));
	return err ? err : leaf_set(t, lo);
}

/* ---- using it -------------------------------------------------------------------------- */

static int leaf_find(const struct ext_htree *t, const char *name,
	uint32_t bytes, uint32_t *ino)
{
	struct ext_dir_area area;
	struct ext_dirent e;
	struct buf *buf;
	int err = ext_dir_block_get(
		t->dir, t->leaf, EXT_DIR_LEAF, &buf, t->damage);

	if (err)
		return err;
	area = ext_dir_area_of(t->dir, buf);
	err = ext_dirent_find(&area, name, bytes, &e, t->damage);
	buf_put(buf);
	if (!err)
		*ino = e.ino;
	return err;
}

int ext_htree_lookup(const struct ext_node *dir, const char *name,
	uint32_t bytes, uint32_t *ino, struct ext_damage *damage)
{
	const struct ext_super *sb = &ext_node_mount(dir)->ext.super;
	struct ext_htree t;
	uint32_t minor;
	uint32_t hash;
	int err = ext_htree_open(&t, dir, damage);

	if (err)
		return err;
	hash = ext_hash_name(t.version, sb->hash_seed, name, bytes, &minor);
	err = ext_htree_seek(&t, hash);
	while (!err) {
		err = leaf_find(&t, name, bytes, ino);
		if (err != -ENOENT || t.hi != (hash | 1))
			break;
		err = ext_htree_next(&t);
	}
	ext_htree_close(&t);
	return err;
}

int ext_htree_verify(const struct ext_node *dir, struct ext_damage *damage)
{
	struct ext_htree t;
	int err = ext_htree_open(&t, dir, damage);

	if (err)
		return err;
	err = ext_htree_seek(&t, 0);
	while (!err)
		err = ext_htree_next(&t);
	ext_htree_close(&t);
	return err == -ENOENT ? 0 : err;
}
