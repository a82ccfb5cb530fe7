/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.c - building the tree; see mem.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "mem/mem_int.h"

struct mem_node *mem_node(const struct mem_fs *mem, vfs_ino ino)
{
	return ino >= 1 && ino <= mem->node_count ? mem->nodes[ino - 1] : NULL;
}

/* ---- names ------------------------------------------------------------------- */

static uint32_t name_bucket(
	const struct mem_node *dir, const char *name, uint32_t bytes)
{
	return (uint32_t)XXH3_64bits(name, bytes) & (dir->bucket_count - 1);
}

struct mem_name *mem_find(
	const struct mem_node *dir, const char *name, uint32_t bytes)
{
	struct mem_name *n = NULL;

	if (dir->bucket_count != 0)
		n = dir->bucket[name_bucket(dir, name, bytes)];
	while (n != NULL &&
		(n->bytes != bytes || memcmp(n->text, name, bytes) != 0))
		n = n->next;
	return n;
}

static void name_hash(struct mem_node *dir, struct mem_name *n)
{
	struct mem_name **bucket =
		&dir->bucket[name_bucket(dir, n->text, n->bytes)];

	n->next = *bucket;
	*bucket = n;
}

/* Room for one more name; the hash doubles with the list. */
static int names_grow(struct mem_node *dir)
{
	uint32_t count = dir->bucket_count == 0 ? 8 : dir->bucket_count * 2;
	struct mem_name **bucket;
	struct mem_name **names;

	if (dir->name_count < dir->bucket_count)
		return 0;
	names = realloc(dir->names, count * sizeof(struct mem_name *));
	if (names == NULL)
		return -ENOMEM;
	dir->names = names;
	bucket = calloc(count, sizeof(struct mem_name *));
	if (bucket == NULL)
		return -ENOMEM;
	free(dir->bucket);
	dir->bucket = bucket;
	dir->bucket_count = count;
	for (uint32_t i = 0; i < dir->name_count; i++)
		name_hash(dir, dir->names[i]);
	return 0;
}

static int name_add(
	struct mem_node *dir, const char *text, struct mem_node *node)
{
	size_t bytes = strlen(text);
	struct mem_name *n;
	int err;

	if (!S_ISDIR(dir->attr.mode))
		return -ENOTDIR;
	if (bytes > VFS_NAME_MAX)
		return -ENAMETOOLONG;
	if (mem_find(dir, text, (uint32_t)bytes) != NULL)
		return -EEXIST;
	err = names_grow(dir);
	if (err != 0)
		return err;
	n = malloc(sizeof(*n) + bytes + 1);
	if (n == NULL)
		return -ENOMEM;
	n->node = node;
	n->bytes = (uint32_t)bytes;
	memcpy(n->text, text, bytes + 1);
	dir->names[dir->name_count++] = n;
	name_hash(dir, n);
	return 0;
}

/* ---- nodes --------------------------------------------------------------------- */

static int node_new(struct mem_fs *mem, uint32_t mode, struct mem_node **out)
{
	uint64_t count = mem->node_count;
	struct mem_node *node;

	/* The table doubles at powers of two. */
	if ((count & (count - 1)) == 0) {
		uint64_t room = count == 0 ? 1 : count * 2;
		struct mem_node **nodes =
			realloc(mem->nodes, room * sizeof(struct mem_node *));

		if (nodes == NULL)
			return -ENOMEM;
		mem->nodes = nodes;
	}
	node = calloc(1, sizeof(*node));
	if (node == NULL)
		return -ENOMEM;
	node->ino = count + 1;
	node->attr = (struct vfs_attr){.ino = node->ino,
		.mode = mode,
		.link_count = S_ISDIR(mode) ? 2 : 1,
		.block_bytes = 4096};
	mem->nodes[mem->node_count++] = node;
	*out = node;
	return 0;
}

static void node_free(struct mem_node *node)
{
	while (node->xattrs != NULL) {
		struct mem_xattr *x = node->xattrs;

		node->xattrs = x->next;
		free(x->name);
		free(x);
	}
	for (uint32_t i = 0; i < node->name_count; i++)
		free(node->names[i]);
	free(node->names);
	free(node->bucket);
	free(node->data);
	free(node);
}

int mem_open(struct mem_fs **out)
{
	struct mem_fs *mem = calloc(1, sizeof(*mem));
	struct mem_node *root;
	int err;

	if (mem == NULL)
		return -ENOMEM;
	mem->fs.ops = &mem_ops;
	mem->fs.root = MEM_ROOT;
	err = node_new(mem, S_IFDIR | 0755, &root);
	if (err != 0) {
		mem_close(mem);
		return err;
	}
	root->parent = root;
	*out = mem;
	return 0;
}

void mem_close(struct mem_fs *mem)
{
	for (uint64_t i = 0; i < mem->node_count; i++)
		node_free(mem->nodes[i]);
	free(mem->nodes);
	free(mem);
}

struct vfs_fs *mem_vfs(struct mem_fs *mem)
{
	return &mem->fs;
}

int mem_add(struct mem_fs *mem, vfs_ino dir, const char *name, uint32_t mode,
	vfs_ino *ino)
{
	struct mem_node *parent = mem_node(mem, dir);
	struct mem_node *node;
	int err;

	if (parent == NULL)
		return -ENOENT;
	err = node_new(mem, mode, &node);
	if (err != 0)
		return err;
	err = name_add(parent, name, node);
	if (err != 0) {
		node_free(mem->nodes[--mem->node_count]);
		return err;
	}
	if (S_ISDIR(mode)) {
		node->parent = parent;
		parent->attr.link_count++;
	}
	*ino = node->ino;
	return 0;
}

int mem_link(struct mem_fs *mem, vfs_ino dir, const char *name, vfs_ino ino)
{
	struct mem_node *parent = mem_node(mem, dir);
	struct mem_node *node = mem_node(mem, ino);
	int err;

	if (parent == NULL || node == NULL)
		return -ENOENT;
	if (S_ISDIR(node->attr.mode))
		return -EPERM;
	err = name_add(parent, name, node);
	if (err == 0)
		node->attr.link_count++;
	return err;
}

int mem_fill(struct mem_fs *mem, vfs_ino ino, const void *data, size_t bytes)
{
	struct mem_node *node = mem_node(mem, ino);
	char *copy;

	if (node == NULL)
		return -ENOENT;
	if (!S_ISREG(node->attr.mode) && !S_ISLNK(node->attr.mode))
		return -EINVAL;
	copy = malloc(bytes + 1);
	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, data, bytes);
	copy[bytes] = '\0';
	free(node->data);
	node->data = copy;
	node->attr.size = bytes;
	node->attr.blocks = (bytes + 511) / 512;
	return 0;
}

int mem_chown(struct mem_fs *mem, vfs_ino ino, uint32_t uid, uint32_t gid)
{
	struct mem_node *node = mem_node(mem, ino);

	if (node == NULL)
		return -ENOENT;
	node->attr.uid = uid;
	node->attr.gid = gid;
	return 0;
}

int mem_setxattr(struct mem_fs *mem, vfs_ino ino, const char *name,
	const void *value, size_t bytes)
{
	struct mem_node *node = mem_node(mem, ino);
	struct mem_xattr *x;

	if (node == NULL)
		return -ENOENT;
	for (x = node->xattrs; x != NULL; x = x->next)
		if (strcmp(x->name, name) == 0)
			return -EEXIST;
	x = malloc(sizeof(*x) + bytes);
	if (x == NULL)
		return -ENOMEM;
	x->name = strdup(name);
	if (x->name == NULL) {
		free(x);
		return -ENOMEM;
	}
	memcpy(x->value, value, bytes);
	x->bytes = bytes;
	x->next = node->xattrs;
	node->xattrs = x;
	return 0;
}
