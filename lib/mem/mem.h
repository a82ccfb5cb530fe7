/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem.h - a file system in memory: what the VFS costs when nothing is below.
 *
 * The control of every measurement of a real file system, and the test-bed of
 * the VFS.  A tree is built first, by the calls below, from one thread; then
 * it is mounted and read by any number.
 */
#ifndef MEM_MEM_H
#define MEM_MEM_H

#include "base/cc.h"
#include "vfs/vfs.h"

struct mem_fs;

enum { MEM_ROOT = 1 };

/* An empty tree: a root directory of mode 0755.  -ENOMEM. */
MUST_USE int mem_open(struct mem_fs **out);

/* For one that was never mounted; the namespace closes the others. */
void mem_close(struct mem_fs *mem);

/* For vfs_mount(). */
struct vfs_fs *mem_vfs(struct mem_fs *mem);

/*
 * A new file of @mode (type and permission bits) in directory @dir; *@ino is
 * its number.  -EEXIST, -ENOTDIR, -ENOENT (no such @dir), -ENAMETOOLONG.
 */
MUST_USE int mem_add(struct mem_fs *mem, vfs_ino dir, const char *name,
	uint32_t mode, vfs_ino *ino);

/* One more name for @ino; -EPERM: a directory. */
MUST_USE int mem_link(
	struct mem_fs *mem, vfs_ino dir, const char *name, vfs_ino ino);

/* Replace the contents of regular file, or the target of symlink @ino. */
MUST_USE int mem_fill(
	struct mem_fs *mem, vfs_ino ino, const void *data, size_t bytes);

MUST_USE int mem_chown(
	struct mem_fs *mem, vfs_ino ino, uint32_t uid, uint32_t gid);

/* Add an extended attribute; -EEXIST. */
MUST_USE int mem_setxattr(struct mem_fs *mem, vfs_ino ino, const char *name,
	const void *value, size_t bytes);

#endif /* MEM_MEM_H */
