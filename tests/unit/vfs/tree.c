/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.c - see tree.h. */
#include "tree.h"

#include <string.h>

#include "base/assert.h"

vfs_ino tree_add(struct mem_fs *mem, vfs_ino dir, const char *name,
	uint32_t mode, const char *data)
{
	vfs_ino ino;

	CHECK(mem_add(mem, dir, name, mode, &ino) == 0);
	if (data != NULL)
		CHECK(mem_fill(mem, ino, data, strlen(data)) == 0);
	return ino;
}

void tree_open(struct tree *t, const struct vfs_opts *opts)
{
	struct mem_fs *mem;
	vfs_ino a;
	vfs_ino b;

	CHECK(mem_open(&mem) == 0);
	a = tree_add(mem, MEM_ROOT, "a", S_IFDIR | 0755, NULL);
	b = tree_add(mem, a, "b", S_IFDIR | 0755, NULL);
	t->c = tree_add(mem, b, "c", S_IFDIR | 0755, NULL);
	t->file = tree_add(mem, t->c, "file", S_IFREG | 0640, "hello");
	CHECK(mem_chown(mem, t->file, 1000, 100) == 0);
	(void)tree_add(mem, b, "up", S_IFLNK | 0777, "../..");
	(void)tree_add(mem, a, "abs", S_IFLNK | 0777, "/a/b/c");
	(void)tree_add(mem, a, "rel", S_IFLNK | 0777, "b/c/file");
	(void)tree_add(mem, a, "slash", S_IFLNK | 0777, "b/");
	(void)tree_add(mem, a, "loop", S_IFLNK | 0777, "loop");
	(void)tree_add(mem, a, "dangling", S_IFLNK | 0777, "nowhere");
	(void)tree_add(mem, a, "null", S_IFCHR | 0666, NULL);
	(void)tree_add(mem, MEM_ROOT, "mnt", S_IFDIR | 0755, NULL);
	t->private = tree_add(mem, MEM_ROOT, "private", S_IFDIR | 0700, NULL);
	CHECK(mem_chown(mem, t->private, 1000, 100) == 0);
	t->private_x = tree_add(mem, t->private, "x", S_IFREG | 0666, "x");
	t->mem = mem;
	CHECK(vfs_open(opts, &t->vfs) == 0);
	CHECK(vfs_mount(t->vfs, "/", mem_vfs(mem)) == 0);
}

void tree_close(struct tree *t)
{
	CHECK(vfs_close(t->vfs) == 0);
}
