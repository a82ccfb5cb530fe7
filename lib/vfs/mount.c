/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mount.c - file systems come into the namespace and leave it.
 *
 * Walks cross mounts by one pointer in the covered dentry.  A mount goes when
 * nobody is inside it: open files and walks that hold references count in its
 * turnstile, lock-free walks end with their read section.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "vfs/vfs_int.h"

void mount_cross_rcu(struct vfs_mount **m, struct dentry **d)
{
	struct vfs_mount *over;

	while ((over = RCU_DEREF((*d)->covered_by)) != NULL) {
		*m = over;
		*d = over->root;
	}
}

/* ---- mounting ------------------------------------------------------------------ */

static int mount_new(struct vfs *vfs, struct vfs_fs *fs, struct vfs_mount **out)
{
	struct vfs_mount *m = calloc(1, sizeof(*m));
	struct vfs_inode *root;
	int err;

	if (m == NULL)
		return -ENOMEM;
	err = turnstile_init(&m->users);
	if (err != 0)
		goto out_free;
	err = vfs_inode_get(fs, fs->root, &root);
	if (err != 0)
		goto out_fini;
	if ((vfs_inode_mode(root) & S_IFMT) != S_IFDIR) {
		vfs_inode_put(root);
		err = -EUCLEAN;
		goto out_fini;
	}
	err = dentry_add(vfs, NULL, "", 0, root, &m->root);
	if (err != 0)
		goto out_fini;
	m->vfs = vfs;
	m->fs = fs;
	*out = m;
	return 0;

out_fini:
	turnstile_fini(&m->users);
out_free:
	free(m);
	return err;
}

static void mount_free(struct vfs_mount *m)
{
	int32_t one = 1;

	/* The mount's own reference on its root is the last. */
	CHECK(atomic_compare_exchange_strong(
		&m->root->refs, &one, DENTRY_DEAD));
	dentry_kill(m->vfs, m->root);
	turnstile_fini(&m->users);
	free(m);
}

/* @m goes over @spot, which it keeps; or to the top. */
static int mount_attach_locked(
	struct vfs *vfs, struct vfs_mount *m, const struct vfs_spot *spot)
{
	if (spot == NULL) {
		if (RCU_DEREF(vfs->top) != NULL)
			return -EBUSY;
		RCU_ASSIGN(vfs->top, m);
	} else {
		if ((vfs_inode_mode(spot->inode) & S_IFMT) != S_IFDIR)
			return -ENOTDIR;
		if (RCU_DEREF(spot->dentry->covered_by) != NULL)
			return -EBUSY;
		m->under_spot = *spot;
		m->under = spot->dentry;
		m->above = spot->mount;
		RCU_ASSIGN(spot->dentry->covered_by, m);
	}
	list_add_tail(&vfs->mounts, &m->link);
	return 0;
}

int vfs_mount(struct vfs *vfs, const char *path, struct vfs_fs *fs)
{
	struct vfs_at at = {.vfs = vfs};
	bool top = RCU_DEREF(vfs->top) == NULL;
	struct vfs_mount *m = NULL;
	struct vfs_spot spot;
	int err = 0;

	if (!top)
		err = vfs_walk_get(&at, path, VFS_DIRECTORY, &spot);
	else if (path[0] != '/' || path[1] != '\0')
		err = -ENOENT;
	if (err != 0)
		return err;
	mtx_lock(&vfs->mount_lock);
	fs->vfs = vfs;
	fs->id = ++vfs->next_id;
	mtx_unlock(&vfs->mount_lock);
	err = mount_new(vfs, fs, &m);
	if (err != 0)
		goto out_put;
	mtx_lock(&vfs->mount_lock);
	err = mount_attach_locked(vfs, m, top ? NULL : &spot);
	mtx_unlock(&vfs->mount_lock);
	if (err == 0)
		return 0;
	mount_free(m);
out_put:
	/* The caller keeps @fs, which inodes that wait to be freed use. */
	rcu_drain();
	if (!top)
		vfs_spot_put(&spot);
	return err;
}

/* ---- unmounting ---------------------------------------------------------------- */

/*
 * Every dentry holds its parent until it is gone, so the root is held by
 * nobody but the mount only when no other is left: neither one that is listed
 * nor one that somebody who makes room has claimed and not killed yet.
 */
static void mount_wait_for_evictors(const struct vfs_mount *m)
{
	/* Pairs with the release in dentry_put(). */
	while (atomic_load_explicit(&m->root->refs, memory_order_acquire) != 1)
		(void)sched_yield();
}

/* Nobody finds it any more; false: somebody is inside. */
static bool mount_detach_locked(struct vfs_mount *m)
{
	if (!turnstile_shut(&m->users))
		return false;
	if (m->under != NULL)
		RCU_ASSIGN(m->under->covered_by, NULL);
	else
		RCU_ASSIGN(m->vfs->top, NULL);
	list_del(&m->link);
	return true;
}

static int mount_end(struct vfs_mount *m)
{
	struct vfs *vfs = m->vfs;
	struct vfs_fs *fs = m->fs;

	/* Lock-free walks that are inside end with their read sections. */
	rcu_wait();
	dentry_evict_fs(vfs, fs);
	mount_wait_for_evictors(m);
	if (m->under != NULL)
		vfs_spot_put(&m->under_spot);
	mount_free(m);
	/* Its inodes are freed after a grace period, and use the fs. */
	rcu_drain();
	return fs->ops->unmount(fs);
}

int vfs_unmount(struct vfs *vfs, const char *path)
{
	struct vfs_at at = {.vfs = vfs};
	struct vfs_mount *m;
	struct vfs_spot spot;
	bool detached;
	int err;

	err = vfs_walk_get(&at, path, VFS_DIRECTORY, &spot);
	if (err != 0)
		return err;
	m = spot.mount;
	if (spot.dentry != m->root) {
		vfs_spot_put(&spot);
		return -EINVAL;
	}
	/* Whoever unmounts it at the same time finds this walk inside until
	 * the lock is held: so @m is still there. */
	mtx_lock(&vfs->mount_lock);
	vfs_spot_put(&spot);
	detached = mount_detach_locked(m);
	mtx_unlock(&vfs->mount_lock);
	return detached ? mount_end(m) : -EBUSY;
}

int vfs_unmount_all(struct vfs *vfs)
{
	int first = 0;

	/* Last mounted, first unmounted: children before parents. */
	while (!list_empty(&vfs->mounts)) {
		struct vfs_mount *m =
			LIST_ENTRY(vfs->mounts.prev, struct vfs_mount, link);
		bool detached;
		int err;

		mtx_lock(&vfs->mount_lock);
		detached = mount_detach_locked(m);
		mtx_unlock(&vfs->mount_lock);
		if (!detached)
			return -EBUSY;
		err = mount_end(m);
		if (first == 0)
			first = err;
	}
	return first;
}
