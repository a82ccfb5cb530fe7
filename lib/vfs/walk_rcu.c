/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk_rcu.c - steps that store nothing.
 *
 * Inside one read section, what is found stays in memory.  That it still is
 * what it was is checked by sequence counts: a child is trusted once its own
 * count and then its parent's have not moved since they were read, so each
 * step was true at one instant.
 */
#include <errno.h>

#include "vfs/walk_int.h"

/* Stand on @d of @m, or on what is mounted over it. */
static int rcu_stand(struct walk *w, struct vfs_mount *m, struct dentry *d)
{
	struct vfs_spot *s = &w->spot;

	mount_cross_rcu(&m, &d);
	s->mount = m;
	s->dentry = d;
	s->seq = seq_read_peek(&d->seq);
	s->inode = SEQ_LOAD(d->inode);
	return seq_read_retry(&d->seq, s->seq) || s->inode == NULL ? -ECHILD
								   : 0;
}

static int rcu_start(struct walk *w, bool root)
{
	struct vfs_mount *top = RCU_DEREF(w->vfs->top);

	if (!root && w->at->dir != NULL) {
		struct vfs_spot *at = &w->at->dir->spot;

		/* An open file keeps its dentry and inode, so its own seq is
		 * of no interest; its children's parent is. */
		w->spot = *at;
		w->spot.seq = seq_read_peek(&at->dentry->seq);
		return 0;
	}
	if (top == NULL)
		return -ENOENT;
	return rcu_stand(w, top, top->root);
}

static int rcu_down(struct walk *w, const char *name, uint32_t bytes)
{
	struct vfs_spot *s = &w->spot;
	uint64_t hash = dentry_hash(s->dentry, name, bytes);
	struct vfs_inode *inode;
	struct dentry *d;
	uint32_t seq;

	d = dentry_find_rcu(w->vfs, s->dentry, name, bytes, hash, &seq);
	if (d == NULL)
		return -ECHILD;
	inode = SEQ_LOAD(d->inode);
	if (seq_read_retry(&d->seq, seq) ||
		seq_read_retry(&s->dentry->seq, s->seq))
		return -ECHILD;
	dentry_mark_seen(d);
	if (inode == NULL)
		return -ENOENT;
	if (UNLIKELY(RCU_DEREF(d->covered_by) != NULL))
		return rcu_stand(w, s->mount, d);
	s->dentry = d;
	s->inode = inode;
	s->seq = seq;
	return 0;
}

static int rcu_up(struct walk *w)
{
	struct vfs_spot *s = &w->spot;
	struct vfs_mount *m = s->mount;
	struct dentry *d = s->dentry;
	struct dentry *parent;
	uint32_t seq = s->seq;

	while (d == m->root && m->under != NULL) {
		d = m->under;
		m = m->above;
		seq = seq_read_peek(&d->seq);
	}
	parent = SEQ_LOAD(d->parent);
	if (seq_read_retry(&d->seq, seq))
		return -ECHILD;
	return rcu_stand(w, m, parent);
}

static int rcu_link(struct walk *w, const char **out)
{
	*out = w->spot.inode->link;
	return *out != NULL ? 0 : -ECHILD;
}

const struct walk_mode walk_rcu = {
	.sleeps = false,
	.start = rcu_start,
	.down = rcu_down,
	.up = rcu_up,
	.link = rcu_link,
};
