/* SPDX-License-Identifier: BSD-2-Clause */
/* file.c - open files: they pin what they stand on, and read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vfs/vfs_int.h"

static uint32_t file_type(const struct vfs_file *file)
{
	return vfs_inode_mode(file->spot.inode) & S_IFMT;
}

int vfs_file_open(const struct vfs_at *at, const char *path, unsigned flags,
	struct vfs_file **out)
{
	struct vfs_file *file = aligned_alloc(LINE_BYTES, sizeof(*file));
	int err;

	if (file == NULL)
		return -ENOMEM;
	memset(file, 0, sizeof(*file));
	err = vfs_walk_get(at, path, flags, &file->spot);
	if (err != 0)
		goto out_free;
	err = vfs_permission(file->spot.inode, at->cred, R_OK, true);
	if (err != 0)
		goto out_put;
	*out = file;
	return 0;

out_put:
	vfs_spot_put(&file->spot);
out_free:
	free(file);
	return err;
}

void vfs_file_close(struct vfs_file *file)
{
	vfs_spot_put(&file->spot);
	free(file);
}

struct vfs_inode *vfs_file_inode(struct vfs_file *file)
{
	return file->spot.inode;
}

int vfs_pread(struct vfs_file *file, uint64_t offset, size_t bytes, void *to,
	size_t *done)
{
	struct vfs_inode *inode = file->spot.inode;

	if (file_type(file) == S_IFDIR)
		return -EISDIR;
	if (file_type(file) != S_IFREG)
		return -EINVAL;
	return inode->fs->ops->pread(
		inode, &file->ahead, offset, bytes, to, done);
}

int vfs_seek(struct vfs_file *file, uint64_t offset, bool data, uint64_t *out)
{
	struct vfs_inode *inode = file->spot.inode;

	if (file_type(file) != S_IFREG)
		return -EINVAL;
	return inode->fs->ops->seek(inode, offset, data, out);
}

int vfs_readdir(
	struct vfs_file *dir, uint64_t cookie, vfs_dirent_fn emit, void *arg)
{
	struct vfs_inode *inode = dir->spot.inode;
	int err;

	if (file_type(dir) != S_IFDIR)
		return -ENOTDIR;
	rwl_read_lock(&inode->lock);
	err = inode->fs->ops->readdir(inode, cookie, emit, arg);
	rwl_read_unlock(&inode->lock);
	return err;
}

/* ---- the way back --------------------------------------------------------------- */

/* Put "/name" in front of what stands at *@at; false: no room. */
static bool path_prepend(char *to, size_t *at, const struct vfs_name *name)
{
	if (*at < name->bytes + 1)
		return false;
	*at -= name->bytes;
	memcpy(to + *at, name->text, name->bytes);
	to[--*at] = '/';
	return true;
}

/* From the file's dentry up; -EAGAIN: something moved meanwhile. */
static int path_climb_rcu(const struct vfs_spot *spot, char *to, size_t *at)
{
	const struct vfs_mount *m = spot->mount;
	const struct dentry *d = spot->dentry;

	for (;;) {
		uint32_t seq = seq_read_peek(&d->seq);
		const struct vfs_name *name = SEQ_LOAD(d->name);
		const struct dentry *parent = SEQ_LOAD(d->parent);

		if (d == m->root) {
			if (m->under == NULL)
				return 0;
			d = m->under;
			m = m->above;
			continue;
		}
		if (seq_read_retry(&d->seq, seq))
			return -EAGAIN;
		if (parent == d)
			return -ENOENT;
		if (!path_prepend(to, at, name))
			return -ERANGE;
		d = parent;
	}
}

int vfs_path_of(struct vfs_file *file, char *to, size_t bytes)
{
	size_t at;
	int err;

	if (bytes < 2)
		return -ERANGE;
	do {
		at = bytes - 1;
		rcu_begin();
		err = path_climb_rcu(&file->spot, to, &at);
		rcu_end();
	} while (err == -EAGAIN);
	if (err != 0)
		return err;
	if (at == bytes - 1)
		to[--at] = '/';
	memmove(to, to + at, bytes - 1 - at);
	to[bytes - 1 - at] = '\0';
	return 0;
}
