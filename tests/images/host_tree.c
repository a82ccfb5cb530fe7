/* SPDX-License-Identifier: BSD-2-Clause */
/* host_tree.c - a tree as system calls show it: the kernel is the judge. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tree_view.h"

static const char *host_path(const struct tree *t, const char *path)
{
	static char full[2 * PATH_MAX];

	(void)snprintf(full, sizeof(full), "%s/%s", t->host, path);
	return full;
}

static struct vfs_time host_time(struct statx_timestamp ts)
{
	return (struct vfs_time){
		.seconds = ts.tv_sec, .nanoseconds = ts.tv_nsec};
}

/* Encrypted files cannot be opened without their key, but their directory
 * entry's stat still counts; they show no flags then. */
static void host_flags(struct tree *t, const char *path, struct vfs_attr *out)
{
	int fd = open(host_path(t, path), O_RDONLY | O_NOFOLLOW);
	struct fsxattr more;
	int flags = 0;

	if (fd < 0)
		return;
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0)
		out->flags = (uint32_t)flags;
	if (ioctl(fd, FS_IOC_FSGETXATTR, &more) == 0)
		out->project = more.fsx_projid;
	close(fd);
}

static int host_attr(struct tree *t, const char *path, struct vfs_attr *out)
{
	struct statx st;

	if (statx(AT_FDCWD, host_path(t, path), AT_SYMLINK_NOFOLLOW,
		    STATX_BASIC_STATS | STATX_BTIME, &st))
		return -errno;
	*out = (struct vfs_attr){
		.ino = st.stx_ino,
		.size = st.stx_size,
		.blocks = st.stx_blocks,
		.mode = st.stx_mode,
		.uid = st.stx_uid,
		.gid = st.stx_gid,
		.link_count = st.stx_nlink,
		.device_major = st.stx_rdev_major,
		.device_minor = st.stx_rdev_minor,
		.atime = host_time(st.stx_atime),
		.mtime = host_time(st.stx_mtime),
		.ctime = host_time(st.stx_ctime),
		.crtime = host_time(st.stx_btime),
	};
	if (S_ISREG(st.stx_mode) || S_ISDIR(st.stx_mode))
		host_flags(t, path, out);
	return 0;
}

static int host_names(struct tree *t, const char *path,
	void (*add)(void *arg, const char *name, size_t bytes, vfs_ino ino,
		unsigned type),
	void *arg)
{
	DIR *dir = opendir(host_path(t, path));
	struct dirent *e;
	int err;

	if (!dir)
		return -errno;
	errno = 0;
	while ((e = readdir(dir))) /* NOLINT(concurrency-mt-unsafe) */
		add(arg, e->d_name, strlen(e->d_name), e->d_ino, e->d_type);
	err = -errno;
	closedir(dir);
	return err;
}

static int host_result(ssize_t n, size_t *done)
{
	if (n < 0)
		return -errno;
	*done = (size_t)n;
	return 0;
}

static int host_target(
	struct tree *t, const char *path, char *to, size_t bytes, size_t *done)
{
	return host_result(readlink(host_path(t, path), to, bytes), done);
}

static int host_list(
	struct tree *t, const char *path, char *to, size_t bytes, size_t *done)
{
	return host_result(llistxattr(host_path(t, path), to, bytes), done);
}

static int host_value(struct tree *t, const char *path, const char *name,
	void *to, size_t bytes, size_t *done)
{
	return host_result(
		lgetxattr(host_path(t, path), name, to, bytes), done);
}

static int host_open(struct tree *t, const char *path)
{
	t->fd = open(host_path(t, path), O_RDONLY | O_NOFOLLOW);
	return t->fd < 0 ? -errno : 0;
}

static int host_read(
	struct tree *t, uint64_t offset, size_t bytes, void *to, size_t *done)
{
	return host_result(pread(t->fd, to, bytes, (off_t)offset), done);
}

static int host_seek(struct tree *t, uint64_t offset, bool data, uint64_t *out)
{
	off_t at = lseek(t->fd, (off_t)offset, data ? SEEK_DATA : SEEK_HOLE);

	if (at < 0)
		return -errno;
	*out = (uint64_t)at;
	return 0;
}

static void host_close(struct tree *t)
{
	close(t->fd);
}

static int host_space(struct tree *t, struct vfs_statfs *out)
{
	struct statfs st;

	if (statfs(t->host, &st))
		return -errno;
	*out = (struct vfs_statfs){
		.blocks = st.f_blocks,
		.blocks_free = st.f_bfree,
		.blocks_available = st.f_bavail,
		.inodes = st.f_files,
		.inodes_free = st.f_ffree,
		.block_bytes = (uint32_t)st.f_bsize,
		.name_bytes_max = (uint32_t)st.f_namelen,
	};
	memcpy(&out->fsid, &st.f_fsid, sizeof(out->fsid));
	return 0;
}

const struct tree host_tree = {
	.attr = host_attr,
	.names = host_names,
	.target = host_target,
	.list = host_list,
	.value = host_value,
	.open = host_open,
	.read = host_read,
	.seek = host_seek,
	.close = host_close,
	.space = host_space,
};
