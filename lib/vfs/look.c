/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look.c - calls that only look: the answer is copied inside the walk's read
 * section where that is possible, so that not even the file itself gets a
 * store.
 */
#include <errno.h>
#include <string.h>

#include "vfs/vfs_int.h"

static int look_stat(const struct vfs_spot *spot, bool sleeps, void *arg)
{
	(void)sleeps;
	vfs_inode_attr(spot->inode, arg);
	return 0;
}

int vfs_stat(const struct vfs_at *at, const char *path, unsigned flags,
	struct vfs_attr *out)
{
	struct vfs_attr attr;
	int err = vfs_walk_look(at, path, flags, look_stat, &attr);

	if (err == 0)
		*out = attr;
	return err;
}

struct access_look {
	const struct vfs_cred *cred;
	int mode;
};

static int look_access(const struct vfs_spot *spot, bool sleeps, void *arg)
{
	const struct access_look *look = arg;

	return vfs_permission(spot->inode, look->cred, look->mode, sleeps);
}

int vfs_access(
	const struct vfs_at *at, const char *path, unsigned flags, int mode)
{
	struct access_look look = {at->cred, mode};

	return vfs_walk_look(at, path, flags, look_access, &look);
}

/* ---- answers of variable length ------------------------------------------------ */

struct bytes_look {
	const char *name; /* of an attribute */
	void *to;
	size_t bytes;
	size_t done;
};

static int look_readlink(const struct vfs_spot *spot, bool sleeps, void *arg)
{
	struct vfs_inode *inode = spot->inode;
	struct bytes_look *look = arg;

	if ((vfs_inode_mode(inode) & S_IFMT) != S_IFLNK)
		return -EINVAL;
	if (inode->link != NULL) {
		size_t bytes = strlen(inode->link);

		look->done = bytes < look->bytes ? bytes : look->bytes;
		memcpy(look->to, inode->link, look->done);
		return 0;
	}
	if (!sleeps)
		return -ECHILD;
	return inode->fs->ops->readlink(
		inode, look->to, look->bytes, &look->done);
}

int vfs_readlink(const struct vfs_at *at, const char *path, void *to,
	size_t bytes, size_t *done)
{
	struct bytes_look look = {.to = to, .bytes = bytes};
	int err;

	err = vfs_walk_look(
		at, path, VFS_NOFOLLOW | VFS_EMPTY_PATH, look_readlink, &look);
	if (err == 0)
		*done = look.done;
	return err;
}

/*
 * Attributes may have to be read from the device, which a read section must
 * not wait for: they are looked at with the file held.
 */
static int look_getxattr(const struct vfs_spot *spot, bool sleeps, void *arg)
{
	struct bytes_look *look = arg;

	(void)sleeps;
	return spot->inode->fs->ops->getxattr(
		spot->inode, look->name, look->to, look->bytes, &look->done);
}

static int look_listxattr(const struct vfs_spot *spot, bool sleeps, void *arg)
{
	struct bytes_look *look = arg;

	(void)sleeps;
	return spot->inode->fs->ops->listxattr(
		spot->inode, look->to, look->bytes, &look->done);
}

static int look_held(const struct vfs_at *at, const char *path, unsigned flags,
	vfs_look_fn look, void *arg)
{
	struct vfs_spot spot;
	int err = vfs_walk_get(at, path, flags, &spot);

	if (err != 0)
		return err;
	err = look(&spot, true, arg);
	vfs_spot_put(&spot);
	return err;
}

int vfs_getxattr(const struct vfs_at *at, const char *path, unsigned flags,
	const char *name, void *to, size_t bytes, size_t *done)
{
	struct bytes_look look = {.name = name, .to = to, .bytes = bytes};
	int err = look_held(at, path, flags, look_getxattr, &look);

	if (err == 0)
		*done = look.done;
	return err;
}

int vfs_listxattr(const struct vfs_at *at, const char *path, unsigned flags,
	void *to, size_t bytes, size_t *done)
{
	struct bytes_look look = {.to = to, .bytes = bytes};
	int err = look_held(at, path, flags, look_listxattr, &look);

	if (err == 0)
		*done = look.done;
	return err;
}

static int look_statfs(const struct vfs_spot *spot, bool sleeps, void *arg)
{
	struct vfs_fs *fs = spot->mount->fs;

	(void)sleeps;
	return fs->ops->statfs(fs, arg);
}

int vfs_statfs(
	const struct vfs_at *at, const char *path, struct vfs_statfs *out)
{
	struct vfs_statfs answer;
	int err = look_held(at, path, 0, look_statfs, &answer);

	if (err == 0)
		*out = answer;
	return err;
}
