/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dir.c - directories for the VFS.
 *
 * A directory is a row of areas that hold entries: its blocks, or the parts of
 * its inode.  An index over them serves names and an order (htree.c, htread.c);
 * without one, or around a damaged one, areas are read in their order.
 *
 * Cookies then are byte offsets of what comes next.  An entry does not move
 * while it is there, but the one before it may grow over its place; so reading
 * goes on from the start of the block, past what was shown.  Inline entries
 * have the offsets that they would get in a block.
 */
#include <dirent.h>
#include <errno.h>

#include "ext/dir_int.h"

enum {
	INLINE_FIRST = 4, /* behind the number of the parent */
	DOT_END = 12,     /* of "." in a block */
	DOTDOT_END = 24,  /* of ".." */
};

/* ---- areas ------------------------------------------------------------------ */

/* The areas of @dir, and the offset of each. */
struct areas {
	const struct ext_node *dir;
	uint32_t index;
	struct buf *buf;
	struct ext_dir_area area;
	uint64_t base; /* plus an offset in the area: in the directory */
};

static void area_leave(struct areas *a)
{
	if (a->buf)
		buf_put(a->buf);
	a->buf = NULL;
}

/* Two parts: in the place of the block map, and in an attribute. */
static int inline_enter(struct areas *a)
{
	const struct ext_node *dir = a->dir;
	uint32_t first = sizeof(dir->core.block);
	uint32_t from = a->index ? first : INLINE_FIRST;
	uint32_t end = a->index ? dir->inlined_bytes : first;

	if (dir->core.bytes < end)
		end = (uint32_t)dir->core.bytes;
	if (a->index > 1 || from >= end)
		return -ENOENT;
	a->area = (struct ext_dir_area){
		.sb = &ext_node_mount(dir)->ext.super,
		.data = dir->inlined + from,
		.bytes = end - from,
		.at = dir->core.at,
		.ino = dir->core.ino,
		.raw = dir->core.flags & EXT_INODE_ENCRYPT,
	};
	a->base = DOTDOT_END - INLINE_FIRST + from;
	return 0;
}

/* Go to area a->index; -ENOENT: there are no more. */
static int area_enter(struct areas *a, struct ext_damage *damage)
{
	uint32_t block_bytes = ext_node_mount(a->dir)->ext.super.block_bytes;
	int err;

	area_leave(a);
	if (a->dir->inlined)
		return inline_enter(a);
	if (a->index >= ext_dir_blocks(a->dir))
		return -ENOENT;
	err = ext_dir_block_get(a->dir, a->index, EXT_DIR_ANY, &a->buf, damage);
	if (err)
		return err;
	a->area = ext_dir_area_of(a->dir, a->buf);
	a->base = (uint64_t)a->index * block_bytes;
	return 0;
}

static uint32_t inline_parent(const struct ext_node *dir)
{
	struct le32 raw;

	memcpy(&raw, dir->inlined, sizeof(raw));
	return le32_get(raw);
}

/* ---- reading ---------------------------------------------------------------------- */

struct reading {
	const struct ext_node *dir;
	uint64_t cookie;
	vfs_dirent_fn emit;
	void *arg;
	bool stopped;
};

static void emit(struct reading *r, uint32_t ino, uint8_t type,
	const char *name, uint32_t bytes, uint64_t cookie)
{
	struct vfs_dirent out = {
		.ino = ino,
		.cookie = cookie,
		.type = type,
		.name_bytes = (uint8_t)bytes,
		.name = name,
	};

	if (!r->stopped && r->cookie < cookie)
		r->stopped = r->emit(r->arg, &out) != 0;
}

static void inline_dots(struct reading *r)
{
	if (!r->dir->inlined)
		return;
	emit(r, r->dir->core.ino, DT_DIR, ".", 1, DOT_END);
	emit(r, inline_parent(r->dir), DT_DIR, "..", 2, DOTDOT_END);
}

static int area_read(
	struct reading *r, const struct areas *a, struct ext_damage *damage)
{
	char room[VFS_NAME_MAX];
	struct ext_dirent e;
	uint32_t pos = 0;
	int err = 0;

	while (!r->stopped &&
		!(err = ext_dirent_next(&a->area, &pos, &e, damage))) {
		uint32_t bytes;
		const char *name;

		if (e.ino == 0 || a->base + e.offset < r->cookie)
			continue;
		name = ext_name_shown(r->dir, &e, room, &bytes);
		emit(r, e.ino, e.type, name, bytes, a->base + pos);
	}
	return err == -ENOENT ? 0 : err;
}

static int linear_readdir(struct reading *r, struct ext_damage *damage)
{
	uint32_t block_bytes = ext_node_mount(r->dir)->ext.super.block_bytes;
	struct areas a = {.dir = r->dir};
	int err = 0;

	inline_dots(r);
	if (!r->dir->inlined && r->cookie / block_bytes >= UINT32_MAX)
		return 0;
	if (!r->dir->inlined)
		a.index = (uint32_t)(r->cookie / block_bytes);
	while (!err && !r->stopped) {
		err = area_enter(&a, damage);
		if (!err)
			err = area_read(r, &a, damage);
		a.index++;
	}
	area_leave(&a);
	return err == -ENOENT ? 0 : err;
}

/* Note that the index is damaged, aloud, so that everybody reads around it. */
static void index_give_up(struct ext_node *dir, const struct ext_damage *damage)
{
	uint32_t before = atomic_exchange_explicit(
		&dir->index, EXT_INDEX_BAD, memory_order_relaxed);

	if (before != EXT_INDEX_BAD)
		log_block(LOG_WARN, "ext", damage->block,
			"inode %u: %s; reading the directory without it",
			dir->core.ino, damage->why);
}

static bool is_damage(int err)
{
	return err == -EUCLEAN || err == -EBADMSG;
}

/*
 * Whether to read in the order of hashes.  It must not change on the way, so
 * the whole index is looked at before its first use.
 */
static int index_decide(
	struct ext_node *dir, bool *use, struct ext_damage *damage)
{
	uint32_t unknown = EXT_INDEX_UNKNOWN;
	int err = 0;

	*use = ext_htree_usable(dir);
	if (*use && atomic_load_explicit(&dir->index, memory_order_relaxed) ==
			    EXT_INDEX_UNKNOWN) {
		err = ext_htree_verify(dir, damage);
		if (is_damage(err)) {
			index_give_up(dir, damage);
			*use = false;
			return 0;
		}
		if (!err)
			(void)atomic_compare_exchange_strong_explicit(
				&dir->index, &unknown, EXT_INDEX_GOOD,
				memory_order_relaxed, memory_order_relaxed);
	}
	return err;
}

int ext_readdir(
	struct vfs_inode *inode, uint64_t cookie, vfs_dirent_fn fn, void *arg)
{
	struct ext_node *dir = ext_node_of(inode);
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct reading r = {
		.dir = dir, .cookie = cookie, .emit = fn, .arg = arg};
	bool indexed;
	int err = index_decide(dir, &indexed, &damage);

	if (!err && indexed)
		err = ext_htree_readdir(dir, cookie, fn, arg, &damage);
	else if (!err)
		err = linear_readdir(&r, &damage);
	return ext_report(err, &damage);
}

/* ---- looking up ---------------------------------------------------------------------- */

struct wanted {
	const struct ext_node *dir;
	const char *name;
	uint32_t bytes;
	bool folded;  /* case does not matter */
	bool foreign; /* a name was met that takes tables to fold */
	uint32_t ino;
};

static bool is_ascii(const char *name, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		if ((uint8_t)name[i] >= 0x80)
			return false;
	return true;
}

static unsigned fold(char c)
{
	unsigned byte = (uint8_t)c;

	return byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte;
}

static bool folds_alike(const char *a, const char *b, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		if (fold(a[i]) != fold(b[i]))
			return false;
	return true;
}

static bool matches(struct wanted *w, const struct ext_dirent *e)
{
	char room[VFS_NAME_MAX];
	uint32_t bytes;
	const char *name = ext_name_shown(w->dir, e, room, &bytes);

	if (bytes == w->bytes && memcmp(name, w->name, bytes) == 0)
		return true;
	if (!w->folded)
		return false;
	if (!is_ascii(name, bytes))
		w->foreign = true;
	return bytes == w->bytes && folds_alike(name, w->name, bytes);
}

static int area_lookup(struct wanted *w, const struct ext_dir_area *area,
	struct ext_damage *damage)
{
	struct ext_dirent e;
	uint32_t pos = 0;
	int err;

	while (!(err = ext_dirent_next(area, &pos, &e, damage)))
		if (e.ino != 0 && matches(w, &e)) {
			w->ino = e.ino;
			return 0;
		}
	return err;
}

static int linear_lookup(struct wanted *w, struct ext_damage *damage)
{
	struct areas a = {.dir = w->dir};
	int err;

	do {
		err = area_enter(&a, damage);
		if (err)
			break;
		a.index++;
		err = area_lookup(w, &a.area, damage);
	} while (err == -ENOENT);
	area_leave(&a);
	return err;
}

/* Without tables of Unicode only ASCII can be folded. */
static int folded_lookup(struct wanted *w, struct ext_damage *damage)
{
	int err = linear_lookup(w, damage);

	if (err == -ENOENT && (w->foreign || !is_ascii(w->name, w->bytes)))
		return EXT_DAMAGED(damage, -EOPNOTSUPP, w->dir->core.at,
			w->dir->core.ino,
			"casefold: names beyond ASCII are found by their exact "
			"bytes only");
	return err;
}

static int dots_lookup(struct wanted *w)
{
	if (w->bytes == 1)
		w->ino = w->dir->core.ino;
	else
		w->ino = inline_parent(w->dir);
	return 0;
}

static int dir_lookup(
	struct ext_node *dir, struct wanted *w, struct ext_damage *damage)
{
	bool dots = ext_name_is_dots(w->name, w->bytes);
	int err;

	if (dots && dir->inlined)
		return dots_lookup(w);
	if (w->folded)
		return folded_lookup(w, damage);
	if (!dots && ext_htree_usable(dir)) {
		err = ext_htree_lookup(dir, w->name, w->bytes, &w->ino, damage);
		if (!is_damage(err))
			return err;
		index_give_up(dir, damage);
	}
	return linear_lookup(w, damage);
}

/* The number that ".." of directory @core has. */
static int parent_read(const struct ext_node *dir, const struct ext_inode *core,
	uint32_t *parent, struct ext_damage *damage)
{
	struct ext_node child = {.inode.fs = dir->inode.fs, .core = *core};
	struct ext_dir_area area;
	struct ext_dirent e;
	struct le32 raw;
	struct buf *buf;
	int err;

	if (core->flags & EXT_INODE_INLINE_DATA) {
		memcpy(&raw, core->block, sizeof(raw));
		*parent = le32_get(raw);
		return 0;
	}
	err = ext_dir_block_get(&child, 0, EXT_DIR_ANY, &buf, damage);
	if (err)
		return err;
	area = ext_dir_area_of(&child, buf);
	err = ext_dirent_find(&area, "..", 2, &e, damage);
	buf_put(buf);
	if (!err)
		*parent = e.ino;
	return err;
}

/*
 * A directory hangs where its ".." says and nowhere else, so that nobody who
 * goes down meets one that he is inside of.
 */
static int place_check(
	const struct ext_node *dir, uint32_t ino, struct ext_damage *damage)
{
	const struct ext_mount *m = ext_node_mount(dir);
	struct ext_inode core;
	uint32_t parent = 0;
	const uint8_t *raw;
	struct buf *buf;
	int err = ext_inode_get(m, ino, &core, &buf, &raw, damage);

	if (err)
		return err;
	buf_put(buf);
	if (!S_ISDIR(core.mode))
		return 0;
	err = parent_read(dir, &core, &parent, damage);
	if (err && err != -ENOENT)
		return err;
	if (parent == dir->core.ino && ino != EXT_INO_ROOT)
		return 0;
	return EXT_DAMAGED(damage, -EUCLEAN, dir->core.at, dir->core.ino,
		"directory: a name leads to directory %u, which belongs to %u",
		ino, parent);
}

/* No name leads to the journal and its like. */
static int ino_check(
	const struct ext_node *dir, uint32_t ino, struct ext_damage *damage)
{
	const struct ext_super *sb = &ext_node_mount(dir)->ext.super;

	if (ino == EXT_INO_ROOT ||
		(ino >= sb->first_ino && ino <= sb->inode_count))
		return 0;
	return EXT_DAMAGED(damage, -EUCLEAN, dir->core.at, dir->core.ino,
		"directory: a name leads to inode %u, which has none", ino);
}

int ext_lookup(struct vfs_inode *inode, const char *name, uint32_t name_bytes,
	vfs_ino *ino)
{
	struct ext_node *dir = ext_node_of(inode);
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct wanted w = {
		.dir = dir,
		.name = name,
		.bytes = name_bytes,
		.folded = dir->core.flags & EXT_INODE_CASEFOLD,
	};
	int err = dir_lookup(dir, &w, &damage);

	if (!err)
		err = ino_check(dir, w.ino, &damage);
	if (!err && !ext_name_is_dots(name, name_bytes))
		err = place_check(dir, w.ino, &damage);
	if (!err)
		*ino = w.ino;
	return ext_report(err, &damage);
}
