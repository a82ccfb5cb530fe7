/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * htread.c - reading an indexed directory in the order of its hashes.
 *
 * Entries move when a leaf is split, so their place is no cookie; their hash
 * is what stays.  A cookie is
 *
 *     bit 63   62 ... 32                31 ... 0
 *         0    hash, without bit 0      place among the names of that hash
 *
 * with 1 and 2 for "." and "..".  The place is 31 bits of another hash of the
 * name, moved up by as little as makes it larger than the one before; the
 * other half of the 32 bits leaves room for that.  Two names share hash and
 * place by a chance of one in 2^62; then they go by name, and only removing
 * the first of them while somebody stands between them could hide the second.
 *
 * One leaf is sorted at a time, and memory is that of its entries.  A name in
 * a leaf where its hash does not belong counts as having the nearest hash that
 * does: it is shown, and cookies still only grow.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "ext/dir_int.h"

enum { COOKIE_DOT = 1, COOKIE_DOTDOT = 2, ENTRY_MIN = 12, MAJOR_SHIFT = 32 };

struct item {
	uint64_t cookie;
	struct ext_dirent entry;
};

struct reading {
	struct ext_htree t;
	uint64_t after; /* only cookies above it are wanted */
	uint64_t last;  /* given to an entry */
	vfs_dirent_fn emit;
	void *arg;
	struct item *items; /* of one leaf */
	bool stopped;
};

static uint64_t major_cookie(uint32_t hash)
{
	return (uint64_t)(hash >> 1) << MAJOR_SHIFT;
}

/* ---- a leaf -------------------------------------------------------------------- */

static int item_order(const void *a, const void *b)
{
	const struct item *x = a;
	const struct item *y = b;
	uint32_t bytes = x->entry.name_bytes < y->entry.name_bytes
				 ? x->entry.name_bytes
				 : y->entry.name_bytes;
	int order;

	if (x->cookie != y->cookie)
		return x->cookie < y->cookie ? -1 : 1;
	order = memcmp(x->entry.name, y->entry.name, bytes);
	if (order == 0)
		order = (x->entry.name_bytes > y->entry.name_bytes) -
			(x->entry.name_bytes < y->entry.name_bytes);
	return order;
}

/* What the entry's cookie is when it stands alone. */
static uint64_t cookie_alone(
	const struct ext_htree *t, const struct ext_dirent *e)
{
	const struct ext_super *sb = &ext_node_mount(t->dir)->ext.super;
	uint32_t low = t->lo & ~UINT32_C(1);
	uint32_t high = t->hi & 1 ? t->hi - 1 : t->hi - 2;
	uint32_t minor;
	uint32_t hash = ext_hash_name(
		t->version, sb->hash_seed, e->name, e->name_bytes, &minor);

	if (hash > high)
		hash = high;
	if (hash < low)
		hash = low;
	return major_cookie(hash) | XXH32(e->name, e->name_bytes, 0) >> 1;
}

static int leaf_gather(
	struct reading *r, const struct ext_dir_area *area, uint32_t *count)
{
	struct ext_dirent e;
	uint32_t pos = 0;
	uint32_t n = 0;
	int err;

	while (!(err = ext_dirent_next(area, &pos, &e, r->t.damage))) {
		if (e.ino == 0)
			continue;
		r->items[n].cookie = cookie_alone(&r->t, &e);
		r->items[n++].entry = e;
	}
	*count = n;
	return err == -ENOENT ? 0 : err;
}

static void leaf_emit(struct reading *r, uint32_t count)
{
	for (uint32_t i = 0; !r->stopped && i < count; i++) {
		const struct ext_dirent *e = &r->items[i].entry;
		struct vfs_dirent out = {
			.ino = e->ino,
			.cookie = r->items[i].cookie,
			.type = e->type,
			.name_bytes = (uint8_t)e->name_bytes,
			.name = e->name,
		};

		if (out.cookie <= r->last)
			out.cookie = r->last + 1;
		r->last = out.cookie;
		if (out.cookie > r->after)
			r->stopped = r->emit(r->arg, &out) != 0;
	}
}

static int leaf_read(struct reading *r)
{
	struct ext_dir_area area;
	uint32_t count;
	struct buf *buf;
	int err = ext_dir_block_get(
		r->t.dir, r->t.leaf, EXT_DIR_LEAF, &buf, r->t.damage);

	if (err)
		return err;
	area = ext_dir_area_of(r->t.dir, buf);
	err = leaf_gather(r, &area, &count);
	if (!err) {
		qsort(r->items, count, sizeof(*r->items), item_order);
		leaf_emit(r, count);
	}
	buf_put(buf);
	return err;
}

/* ---- the directory ------------------------------------------------------------------ */

static int dots_read(struct reading *r)
{
	struct vfs_dirent out = {.cookie = COOKIE_DOT, .type = DT_DIR};
	struct ext_dir_area area = ext_dir_area_of(r->t.dir, r->t.level[0].buf);
	struct ext_dirent dotdot;
	int err;

	if (r->after < COOKIE_DOT) {
		out.ino = r->t.dir->core.ino;
		out.name = ".";
		out.name_bytes = 1;
		r->stopped = r->emit(r->arg, &out) != 0;
	}
	if (r->stopped || r->after >= COOKIE_DOTDOT)
		return 0;
	err = ext_dirent_find(&area, "..", 2, &dotdot, r->t.damage);
	if (err)
		return err == -ENOENT ? 0 : err;
	out = (struct vfs_dirent){
		.ino = dotdot.ino,
		.cookie = COOKIE_DOTDOT,
		.type = DT_DIR,
		.name_bytes = 2,
		.name = "..",
	};
	r->stopped = r->emit(r->arg, &out) != 0;
	return 0;
}

static int reading_run(struct reading *r)
{
	int err = dots_read(r);

	if (!err && !r->stopped)
		err = ext_htree_seek(
			&r->t, (uint32_t)(r->after >> MAJOR_SHIFT) << 1);
	while (!err && !r->stopped) {
		err = leaf_read(r);
		if (!err && !r->stopped)
			err = ext_htree_next(&r->t);
	}
	return err == -ENOENT ? 0 : err;
}

int ext_htree_readdir(const struct ext_node *dir, uint64_t cookie,
	vfs_dirent_fn emit, void *arg, struct ext_damage *damage)
{
	uint32_t block_bytes = ext_node_mount(dir)->ext.super.block_bytes;
	struct reading r = {
		.after = cookie,
		.last = COOKIE_DOTDOT,
		.emit = emit,
		.arg = arg,
	};
	int err = ext_htree_open(&r.t, dir, damage);

	if (err)
		return err;
	r.items = malloc(block_bytes / ENTRY_MIN * sizeof(*r.items));
	err = r.items ? reading_run(&r) : -ENOMEM;
	free(r.items);
	ext_htree_close(&r.t);
	return err;
}
