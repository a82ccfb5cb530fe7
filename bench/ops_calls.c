/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ops_calls.c - operations by system calls.
 *
 * The kernel gets its best case: each thread has a working directory of its
 * own, so no descriptor is shared and no count of one is taken.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "bench/ops.h"
#include "tools/tool.h"

enum { EXT4_MAGIC = 0xef53 };

static int result(long got)
{
	return got < 0 ? -errno : 0;
}

static int calls_stat(struct ops_client *c, unsigned i)
{
	struct stat st;

	return result(fstatat(AT_FDCWD, c->names.file[i], &st, 0));
}

static int calls_missing(struct ops_client *c, unsigned i)
{
	struct stat st;
	int err = result(fstatat(AT_FDCWD, c->names.missing[i], &st, 0));

	return err == -ENOENT ? 0 : -EEXIST;
}

static int calls_open(struct ops_client *c, unsigned i)
{
	int fd = open(c->names.file[i], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : result(close(fd));
}

static int calls_pread(struct ops_client *c, size_t bytes)
{
	ssize_t n = pread(
		c->data_fd, c->buffer, bytes, (off_t)ops_offset(c, bytes));

	if (n < 0)
		return -errno;
	return (size_t)n == bytes ? 0 : -EIO;
}

static int calls_pread_4k(struct ops_client *c, unsigned i)
{
	(void)i;
	return calls_pread(c, OPS_SMALL_BYTES);
}

static int calls_pread_1m(struct ops_client *c, unsigned i)
{
	(void)i;
	return calls_pread(c, OPS_LARGE_BYTES);
}

static int calls_readdir(struct ops_client *c, unsigned i)
{
	ssize_t n = 1;

	(void)i;
	if (lseek(c->dir_fd, 0, SEEK_SET) != 0)
		return -errno;
	while (n > 0)
		n = getdents64(c->dir_fd, c->buffer, OPS_LARGE_BYTES);
	return result(n);
}

static int calls_readlink(struct ops_client *c, unsigned i)
{
	return result(readlinkat(
		AT_FDCWD, c->names.link[i], c->buffer, OPS_SMALL_BYTES));
}

static int calls_getxattr(struct ops_client *c, unsigned i)
{
	return result(getxattr(
		c->names.file[i], OPS_XATTR, c->buffer, OPS_SMALL_BYTES));
}

static int calls_enter(struct ops_client *c)
{
	c->dir_fd = -1;
	c->data_fd = -1;
	if (unshare(CLONE_FS) != 0 || fchdir(c->side->dir_fd) != 0)
		return -errno;
	c->data_fd = open(c->names.data, O_RDONLY | O_CLOEXEC);
	if (c->data_fd < 0)
		return -errno;
	c->dir_fd = open(c->names.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return c->dir_fd < 0 ? -errno : 0;
}

static void calls_leave(struct ops_client *c)
{
	if (c->dir_fd >= 0)
		(void)close(c->dir_fd);
	if (c->data_fd >= 0)
		(void)close(c->data_fd);
}

static void calls_close(struct ops_side *side)
{
	(void)close(side->dir_fd);
}

static const struct ops_side_ops calls_ops = {
	.enter = calls_enter,
	.leave = calls_leave,
	.one =
		{
			[OPS_STAT] = calls_stat,
			[OPS_MISSING] = calls_missing,
			[OPS_OPEN] = calls_open,
			[OPS_PREAD_4K] = calls_pread_4k,
			[OPS_PREAD_1M] = calls_pread_1m,
			[OPS_READDIR] = calls_readdir,
			[OPS_READLINK] = calls_readlink,
			[OPS_GETXATTR] = calls_getxattr,
		},
	.close = calls_close,
};

void ops_calls_at(int dir_fd, struct ops_side *out)
{
	struct statfs fs;

	*out = (struct ops_side){
		.ops = &calls_ops, .name = "kernel", .dir_fd = dir_fd};
	out->is_kernel = fstatfs(dir_fd, &fs) == 0 && fs.f_type == EXT4_MAGIC;
}

int ops_calls_open(const char *path, struct ops_side *out)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return tool_fail(path, "%s", strerrordesc_np(errno));
	ops_calls_at(fd, out);
	out->name = path;
	return 0;
}
