/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.h - a namespace over a small tree in memory, for the VFS's tests. */
#ifndef TESTS_VFS_TREE_H
#define TESTS_VFS_TREE_H

#include "mem/mem.h"
#include "vfs/vfs.h"

/*
 *    /a/b/c/file      "hello", owner 1000:100, mode 0640
 *    /a/b/up          -> ../..
 *    /a/abs           -> /a/b/c
 *    /a/rel           -> b/c/file
 *    /a/slash         -> b/
 *    /a/loop          -> loop
 *    /a/dangling      -> nowhere
 *    /a/null          a character device
 *    /mnt/            empty
 *    /private/        owner 1000, mode 0700; /private/x inside
 */
struct tree {
	struct vfs *vfs;
	struct mem_fs *mem;
	vfs_ino file;
	vfs_ino c;
	vfs_ino private;
	vfs_ino private_x;
};

void tree_open(struct tree *t, const struct vfs_opts *opts);
void tree_close(struct tree *t);

vfs_ino tree_add(struct mem_fs *mem, vfs_ino dir, const char *name,
	uint32_t mode, const char *data);

#endif /* TESTS_VFS_TREE_H */
