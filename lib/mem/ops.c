/* SPDX-License-Identifier: BSD-2-Clause */
/* ops.c - what the VFS asks of the tree in memory. */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "mem/mem_int.h"

static struct mem_node *node_of(const struct vfs_inode *inode)
{
	return ((const struct mem_inode *)(const void *)inode)->node;
}

static int mem_inode_load(struct vfs_fs *fs, struct vfs_inode *inode)
{
	struct mem_node *node =
		mem_node((struct mem_fs *)(void *)fs, inode->ino);

	if (node == NULL)
		return -ENOENT;
	((struct mem_inode *)(void *)inode)->node = node;
	vfs_inode_set_attr(inode, &node->attr);
	if (S_ISLNK(node->attr.mode))
		inode->link = node->data != NULL ? node->data : "";
	for (struct mem_xattr *x = node->xattrs; x != NULL; x = x->next)
		if (strcmp(x->name, "system.posix_acl_access") == 0)
			atomic_store(&inode->has_acl, true);
	return 0;
}

static void mem_inode_drop(struct vfs_inode *inode)
{
	(void)inode;
}

static int mem_lookup(struct vfs_inode *dir, const char *name,
	uint32_t name_bytes, vfs_ino *ino)
{
	const struct mem_name *n = mem_find(node_of(dir), name, name_bytes);

	if (n == NULL)
		return -ENOENT;
	*ino = n->node->ino;
	return 0;
}

static int emit_node(const struct mem_node *node, const char *name,
	uint32_t bytes, uint64_t cookie, vfs_dirent_fn emit, void *arg)
{
	struct vfs_dirent entry = {.ino = node->ino,
		.cookie = cookie,
		.type = (uint8_t)IFTODT(node->attr.mode),
		.name_bytes = (uint8_t)bytes,
		.name = name};

	return emit(arg, &entry);
}

/* A cookie is the number of entries that came before. */
static int mem_readdir(
	struct vfs_inode *dir, uint64_t cookie, vfs_dirent_fn emit, void *arg)
{
	const struct mem_node *node = node_of(dir);

	if (cookie < 1 && emit_node(node, ".", 1, 1, emit, arg) != 0)
		return 0;
	if (cookie < 2 && emit_node(node->parent, "..", 2, 2, emit, arg) != 0)
		return 0;
	for (uint64_t i = cookie < 2 ? 0 : cookie - 2; i < node->name_count;
		i++) {
		const struct mem_name *n = node->names[i];

		if (emit_node(n->node, n->text, n->bytes, i + 3, emit, arg) !=
			0)
			return 0;
	}
	return 0;
}

static int mem_pread(struct vfs_inode *inode, struct pages_ahead *ahead,
	uint64_t offset, size_t bytes, void *to, size_t *done)
{
	const struct mem_node *node = node_of(inode);
	uint64_t size = node->attr.size;
	size_t n = 0;

	(void)ahead;
	if (offset < size)
		n = size - offset < bytes ? (size_t)(size - offset) : bytes;
	if (n != 0)
		memcpy(to, node->data + offset, n);
	*done = n;
	return 0;
}

static int mem_readlink(
	struct vfs_inode *inode, char *to, size_t bytes, size_t *done)
{
	return mem_pread(inode, NULL, 0, bytes, to, done);
}

static int give(
	const void *from, size_t have, void *to, size_t bytes, size_t *done)
{
	if (bytes != 0 && bytes < have)
		return -ERANGE;
	if (bytes != 0)
		memcpy(to, from, have);
	*done = have;
	return 0;
}

static int mem_getxattr(struct vfs_inode *inode, const char *name, void *to,
	size_t bytes, size_t *done)
{
	const struct mem_xattr *x = node_of(inode)->xattrs;

	while (x != NULL && strcmp(x->name, name) != 0)
		x = x->next;
	return x != NULL ? give(x->value, x->bytes, to, bytes, done) : -ENODATA;
}

static int mem_listxattr(
	struct vfs_inode *inode, char *to, size_t bytes, size_t *done)
{
	size_t at = 0;

	for (const struct mem_xattr *x = node_of(inode)->xattrs; x != NULL;
		x = x->next) {
		size_t n = strlen(x->name) + 1;

		if (bytes != 0 && at + n > bytes)
			return -ERANGE;
		if (bytes != 0)
			memcpy(to + at, x->name, n);
		at += n;
	}
	*done = at;
	return 0;
}

/* All of a file is data. */
static int mem_seek(
	struct vfs_inode *inode, uint64_t offset, bool data, uint64_t *out)
{
	uint64_t size = node_of(inode)->attr.size;

	if (offset >= size)
		return -ENXIO;
	*out = data ? offset : size;
	return 0;
}

static int mem_statfs(struct vfs_fs *fs, struct vfs_statfs *out)
{
	const struct mem_fs *mem = (const struct mem_fs *)(const void *)fs;

	*out = (struct vfs_statfs){.inodes = mem->node_count,
		.block_bytes = 4096,
		.name_bytes_max = VFS_NAME_MAX};
	return 0;
}

static int mem_unmount(struct vfs_fs *fs)
{
	mem_close((struct mem_fs *)(void *)fs);
	return 0;
}

const struct vfs_fs_ops mem_ops = {
	.inode_bytes = sizeof(struct mem_inode),
	.inode_load = mem_inode_load,
	.inode_drop = mem_inode_drop,
	.lookup = mem_lookup,
	.readdir = mem_readdir,
	.readlink = mem_readlink,
	.getxattr = mem_getxattr,
	.listxattr = mem_listxattr,
	.pread = mem_pread,
	.seek = mem_seek,
	.statfs = mem_statfs,
	.unmount = mem_unmount,
};
