/* SPDX-License-Identifier: BSD-2-Clause */
/* ops_tree.c - the tree that operations are measured on: names, and makers. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "bench/ops.h"
#include "mem/mem.h"

#define TOP         "extant-bench"
#define FILES       "files"
#define LEAF        "b"
#define DATA        "data"
#define LINK_TARGET "f00"

static const char value[OPS_VALUE_BYTES] = "0123456789abcde";

/* Name @i of a kind, in its directory. */
static void leaf_name(char *to, char kind, unsigned i)
{
	(void)snprintf(to, OPS_NAME_BYTES, "%c%02u", kind, i % 100);
}

static void names_fill(char (*to)[OPS_NAME_BYTES], const char *dir, char kind)
{
	for (unsigned i = 0; i < OPS_FILES; i++)
		(void)snprintf(to[i], OPS_NAME_BYTES, "%.30s/%c%02u", dir, kind,
			i % 100);
}

void ops_names_init(struct ops_names *n, unsigned client)
{
	client %= OPS_CLIENTS_MAX;
	(void)snprintf(
		n->dir, sizeof(n->dir), TOP "/c%03u/" FILES "/" LEAF, client);
	(void)snprintf(n->data, sizeof(n->data), TOP "/c%03u/" DATA, client);
	names_fill(n->file, n->dir, 'f');
	names_fill(n->link, n->dir, 'l');
	names_fill(n->missing, n->dir, 'n');
}

static char *data_new(void)
{
	char *data = malloc(OPS_DATA_BYTES);

	for (size_t i = 0; i < OPS_DATA_BYTES && data != NULL; i++)
		data[i] = (char)(i * 2654435761U >> 24);
	return data;
}

/* ---- by system calls ----------------------------------------------------- */

static int calls_write(int dir_fd, const char *name, const char *data)
{
	int fd = openat(dir_fd, name,
		O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0644);
	size_t done = 0;
	int err = 0;

	if (fd < 0)
		return -errno;
	while (done < OPS_DATA_BYTES && err == 0) {
		ssize_t n = write(fd, data + done, OPS_DATA_BYTES - done);

		if (n < 0)
			err = -errno;
		else
			done += (size_t)n;
	}
	if (close(fd) != 0 && err == 0)
		err = -errno;
	return err;
}

/* Some file systems have no attributes; then these are not measured. */
static int calls_file(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name,
		O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0644);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fsetxattr(fd, OPS_XATTR, value, sizeof(value), 0) != 0 &&
		errno != EOPNOTSUPP)
		err = -errno;
	(void)close(fd);
	return err;
}

static int calls_leaves(int dir_fd)
{
	char name[OPS_NAME_BYTES];
	int err = 0;

	for (unsigned i = 0; i < OPS_FILES && err == 0; i++) {
		leaf_name(name, 'f', i);
		err = calls_file(dir_fd, name);
		leaf_name(name, 'l', i);
		if (err == 0 && symlinkat(LINK_TARGET, dir_fd, name) != 0 &&
			errno != EEXIST)
			err = -errno;
	}
	return err;
}

/* Directory @name, made if need be; its descriptor or -errno. */
static int calls_enter(int dir_fd, const char *name)
{
	int fd;

	if (mkdirat(dir_fd, name, 0755) != 0 && errno != EEXIST)
		return -errno;
	fd = openat(
		dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

/* The part of one client, in its directory. */
static int calls_client(int dir_fd, const char *data)
{
	int files = calls_enter(dir_fd, FILES);
	int leaf = files < 0 ? files : calls_enter(files, LEAF);
	int err = leaf < 0 ? leaf : calls_leaves(leaf);

	if (leaf >= 0)
		(void)close(leaf);
	if (files >= 0)
		(void)close(files);
	return err != 0 ? err : calls_write(dir_fd, DATA, data);
}

int ops_tree_make(int dir_fd, unsigned clients)
{
	int top = calls_enter(dir_fd, TOP);
	char *data = data_new();
	int err = data == NULL ? -ENOMEM : 0;

	if (top < 0)
		err = top;
	for (unsigned i = 0; i < clients && err == 0; i++) {
		char name[OPS_NAME_BYTES];
		int fd;

		(void)snprintf(name, sizeof(name), "c%03u", i);
		fd = calls_enter(top, name);
		err = fd < 0 ? fd : calls_client(fd, data);
		if (fd >= 0)
			(void)close(fd);
	}
	if (top >= 0) {
		if (err == 0 && syncfs(top) != 0)
			err = -errno;
		(void)close(top);
	}
	free(data);
	return err;
}

/* ---- in memory ----------------------------------------------------------- */

static int memory_leaves(struct mem_fs *mem, vfs_ino dir)
{
	char name[OPS_NAME_BYTES];
	vfs_ino ino;
	int err = 0;

	for (unsigned i = 0; i < OPS_FILES && err == 0; i++) {
		leaf_name(name, 'f', i);
		err = mem_add(mem, dir, name, S_IFREG | 0644, &ino);
		if (err == 0)
			err = mem_setxattr(
				mem, ino, OPS_XATTR, value, sizeof(value));
		leaf_name(name, 'l', i);
		if (err == 0)
			err = mem_add(mem, dir, name, S_IFLNK | 0777, &ino);
		if (err == 0)
			err = mem_fill(
				mem, ino, LINK_TARGET, strlen(LINK_TARGET));
	}
	return err;
}

static int memory_client(
	struct mem_fs *mem, vfs_ino top, unsigned client, const char *data)
{
	char name[OPS_NAME_BYTES];
	vfs_ino dir;
	vfs_ino ino;
	int err;

	(void)snprintf(name, sizeof(name), "c%03u", client);
	err = mem_add(mem, top, name, S_IFDIR | 0755, &dir);
	if (err == 0)
		err = mem_add(mem, dir, DATA, S_IFREG | 0644, &ino);
	if (err == 0)
		err = mem_fill(mem, ino, data, OPS_DATA_BYTES);
	if (err == 0)
		err = mem_add(mem, dir, FILES, S_IFDIR | 0755, &dir);
	if (err == 0)
		err = mem_add(mem, dir, LEAF, S_IFDIR | 0755, &dir);
	return err != 0 ? err : memory_leaves(mem, dir);
}

int ops_tree_in_memory(unsigned clients, struct vfs_fs **out)
{
	char *data = data_new();
	struct mem_fs *mem = NULL;
	vfs_ino top;
	int err = data == NULL ? -ENOMEM : mem_open(&mem);

	if (err == 0)
		err = mem_add(mem, MEM_ROOT, TOP, S_IFDIR | 0755, &top);
	for (unsigned i = 0; i < clients && err == 0; i++)
		err = memory_client(mem, top, i, data);
	free(data);
	if (err != 0 && mem != NULL)
		mem_close(mem);
	if (err == 0)
		*out = mem_vfs(mem);
	return err;
}
