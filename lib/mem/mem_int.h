/* SPDX-License-Identifier: BSD-2-Clause */
/* mem_int.h - the tree in memory: nodes by number, names in their directory. */
#ifndef MEM_MEM_INT_H
#define MEM_MEM_INT_H

#include "mem/mem.h"

struct mem_node;

struct mem_name {
	struct mem_name *next; /* hash chain of the directory */
	struct mem_node *node;
	uint32_t bytes;
	char text[];
};

struct mem_xattr {
	struct mem_xattr *next;
	char *name;
	size_t bytes;
	unsigned char value[];
};

struct mem_node {
	vfs_ino ino;
	struct vfs_attr attr;
	struct mem_node *parent; /* directories */
	char *data;              /* files and symlinks; terminated by a NUL */
	struct mem_xattr *xattrs;

	struct mem_name **names; /* directories: in order of creation */
	uint32_t name_count;
	struct mem_name **bucket; /* a power of two of them */
	uint32_t bucket_count;
};

struct mem_fs {
	struct vfs_fs fs;        /* first */
	struct mem_node **nodes; /* by number - 1 */
	uint64_t node_count;
};

struct mem_inode {
	struct vfs_inode inode; /* first */
	struct mem_node *node;
};

extern const struct vfs_fs_ops mem_ops;

struct mem_node *mem_node(const struct mem_fs *mem, vfs_ino ino);
struct mem_name *mem_find(
	const struct mem_node *dir, const char *name, uint32_t bytes);

#endif /* MEM_MEM_INT_H */
