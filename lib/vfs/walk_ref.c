/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk_ref.c - steps that hold what they stand on.
 *
 * For names that are not cached, and as the control: how paths were walked
 * before RCU, two counts a component.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "vfs/walk_int.h"

/*
 * Hold mount, dentry and inode of a spot found under RCU.  False: one of them
 * is going away, or changing this moment; look again.
 */
static bool ref_hold_rcu(
	struct vfs_mount *m, struct dentry *d, struct vfs_spot *out)
{
	struct vfs_inode *inode;

	if (!turnstile_enter(&m->users, &out->mount_shard))
		return false;
	if (!dentry_get_try(d))
		goto out_leave;
	inode = SEQ_LOAD(d->inode);
	if (inode == NULL || !ref_get_unless_zero(&inode->refs))
		goto out_put;
	out->mount = m;
	out->dentry = d;
	out->inode = inode;
	return true;

out_put:
	dentry_put(d);
out_leave:
	turnstile_leave(&m->users, out->mount_shard);
	return false;
}

/* The same for what is mounted over it. */
static bool ref_cross_rcu(
	struct vfs_mount *m, struct dentry *d, struct vfs_spot *out)
{
	mount_cross_rcu(&m, &d);
	return ref_hold_rcu(m, d, out);
}

/* Stand on @next; let go of where the walk stood. */
static void ref_move(struct walk *w, const struct vfs_spot *next)
{
	if (w->spot.dentry != NULL)
		vfs_spot_put(&w->spot);
	w->spot = *next;
}

static int ref_start(struct walk *w, bool root)
{
	bool from_dir = !root && w->at->dir != NULL;
	struct vfs_spot next;
	bool held = false;

	while (!held) {
		struct vfs_mount *m;

		rcu_begin();
		m = RCU_DEREF(w->vfs->top);
		if (from_dir)
			held = ref_hold_rcu(w->at->dir->spot.mount,
				w->at->dir->spot.dentry, &next);
		else if (m != NULL)
			held = ref_cross_rcu(m, m->root, &next);
		rcu_end();
		if (!from_dir && m == NULL)
			return -ENOENT;
		if (!held)
			(void)sched_yield();
	}
	ref_move(w, &next);
	return 0;
}

/* The dentry of a name, referenced: cached, or asked of the file system. */
static int ref_lookup(
	struct walk *w, const char *name, uint32_t bytes, struct dentry **out)
{
	struct vfs_inode *dir = w->spot.inode;
	struct vfs_inode *inode = NULL;
	vfs_ino ino;
	int err;

	/* Nobody changes the directory between the question and the entry
	 * in the cache. */
	rwl_read_lock(&dir->lock);
	err = dir->fs->ops->lookup(dir, name, bytes, &ino);
	if (err == 0)
		err = vfs_inode_get(dir->fs, ino, &inode);
	if (err == 0 || err == -ENOENT)
		err = dentry_add(
			w->vfs, w->spot.dentry, name, bytes, inode, out);
	rwl_read_unlock(&dir->lock);
	tally_add(&w->vfs->lookup_count, 1);
	return err;
}

static struct dentry *ref_cached(
	struct walk *w, const char *name, uint32_t bytes)
{
	uint64_t hash = dentry_hash(w->spot.dentry, name, bytes);
	struct dentry *d;
	uint32_t seq;

	rcu_begin();
	d = dentry_find_rcu(w->vfs, w->spot.dentry, name, bytes, hash, &seq);
	if (d != NULL && !dentry_get_try(d))
		d = NULL;
	rcu_end();
	if (d != NULL)
		dentry_mark_seen(d);
	return d;
}

static int ref_down(struct walk *w, const char *name, uint32_t bytes)
{
	struct vfs_spot next;
	bool held = false;
	int err = 0;

	while (err == 0 && !held) {
		struct dentry *d = ref_cached(w, name, bytes);

		if (d == NULL)
			err = ref_lookup(w, name, bytes, &d);
		if (err != 0)
			break;
		if (SEQ_LOAD(d->inode) == NULL)
			err = -ENOENT;
		rcu_begin();
		if (err == 0)
			held = ref_cross_rcu(w->spot.mount, d, &next);
		rcu_end();
		dentry_put(d);
		if (err == 0 && !held)
			(void)sched_yield();
	}
	if (held)
		ref_move(w, &next);
	return err;
}

static int ref_up(struct walk *w)
{
	struct vfs_spot next;
	bool held = false;

	while (!held) {
		struct vfs_mount *m = w->spot.mount;
		struct dentry *d = w->spot.dentry;

		rcu_begin();
		while (d == m->root && m->under != NULL) {
			d = m->under;
			m = m->above;
		}
		held = ref_cross_rcu(m, SEQ_LOAD(d->parent), &next);
		rcu_end();
		if (!held)
			(void)sched_yield();
	}
	ref_move(w, &next);
	return 0;
}

/* A copy: the walk lets go of the symlink before it has read the target. */
static int ref_link(struct walk *w, const char **out)
{
	struct vfs_inode *inode = w->spot.inode;
	char *text;
	size_t done;
	int err = 0;

	if (inode->link != NULL) {
		text = strdup(inode->link);
		if (text == NULL)
			return -ENOMEM;
	} else {
		text = malloc(VFS_PATH_MAX);
		if (text == NULL)
			return -ENOMEM;
		err = inode->fs->ops->readlink(
			inode, text, VFS_PATH_MAX - 1, &done);
		if (err != 0) {
			free(text);
			return err;
		}
		text[done] = '\0';
	}
	w->texts[w->text_count++] = text;
	*out = text;
	return 0;
}

const struct walk_mode walk_ref = {
	.sleeps = true,
	.start = ref_start,
	.down = ref_down,
	.up = ref_up,
	.link = ref_link,
};
