/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ops.h - what the parts of `extant bench ops` share.
 *
 * One tree, the same operations on it, several *sides* that do them: by system
 * calls in a directory, in process over an image, in process over memory, and
 * what only copies bytes.  Each client, a thread, has a part of the tree to
 * itself; every name is the last of five.
 *
 *      extant-bench/c000/files/b/f00 .. f63   empty, with an attribute
 *                             /l00 .. l63   symlinks
 *                       /data               a file of 8 MiB
 */
#ifndef BENCH_OPS_H
#define BENCH_OPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bench/bench.h"
#include "vfs/vfs.h"

enum ops_kind {
	OPS_STAT,
	OPS_MISSING,
	OPS_OPEN,
	OPS_PREAD_4K,
	OPS_PREAD_1M,
	OPS_READDIR,
	OPS_READLINK,
	OPS_GETXATTR,
	OPS_KINDS,
};

enum {
	OPS_FILES = 64, /* of a client */
	OPS_CLIENTS_MAX = 128,
	OPS_SMALL_BYTES = 4096,
	OPS_LARGE_BYTES = 1 << 20,
	OPS_DATA_BYTES = 8 << 20,
	OPS_VALUE_BYTES = 16, /* of the attribute */
	OPS_NAME_BYTES = 40,
};

#define OPS_XATTR "user.bench"

/* ---- the tree (ops_tree.c) ----------------------------------------------- */

/* A client's names, from where the tree is. */
struct ops_names {
	char file[OPS_FILES][OPS_NAME_BYTES];
	char missing[OPS_FILES][OPS_NAME_BYTES];
	char link[OPS_FILES][OPS_NAME_BYTES];
	char dir[OPS_NAME_BYTES]; /* of files and links */
	char data[OPS_NAME_BYTES];
};

void ops_names_init(struct ops_names *n, unsigned client);

/* Make the tree of @clients under directory @dir_fd: 0 or -errno. */
MUST_USE int ops_tree_make(int dir_fd, unsigned clients);

/* The same in memory. */
MUST_USE int ops_tree_in_memory(unsigned clients, struct vfs_fs **out);

/* ---- sides --------------------------------------------------------------- */

/* A thread that does one thing again and again. */
struct LINE_ALIGNED ops_client {
	struct ops_side *side;
	struct ops_names names;
	uint64_t random;
	bool in_order; /* pieces one after the other, not at random */
	char *buffer;  /* OPS_LARGE_BYTES */

	/* The side's. */
	struct vfs_file *data;
	struct vfs_file *dir;
	int data_fd;
	int dir_fd;
	char *memory;
};

/* Do it once, to file @i of the client's. */
typedef int (*ops_one)(struct ops_client *c, unsigned i);

struct ops_side_ops {
	int (*enter)(struct ops_client *c); /* in the thread; 0 or -errno */
	void (*leave)(struct ops_client *c);
	ops_one one[OPS_KINDS]; /* NULL: it has no such thing */
	void (*close)(struct ops_side *side);
};

struct ops_side {
	const struct ops_side_ops *ops;
	const char *name;
	bool walks_only;       /* differs from another only in how it walks */
	bool is_plain;         /* no file system */
	bool is_kernel;        /* ext4 of the kernel's: bars apply */
	bool lacks[OPS_KINDS]; /* found out at the start */
	int dir_fd;            /* system calls: where the tree is */
	struct vfs *vfs;       /* in process */
	struct vfs_cred cred;
	gid_t *groups; /* of cred */
};

/* Where a client's next piece of @bytes begins. */
uint64_t ops_offset(struct ops_client *c, uint64_t bytes);

/* Each of these complains itself: 0 or TOOL_FAILED. */

/* By system calls in @path. */
MUST_USE int ops_calls_open(const char *path, struct ops_side *out);
/* As above; @dir_fd becomes the side's. */
void ops_calls_at(int dir_fd, struct ops_side *out);

/* In process, over an image, or over a tree for @clients in memory. */
MUST_USE int ops_image_open(const char *spec, unsigned clients,
	enum vfs_walk_mode walk, struct ops_side *out);
MUST_USE int ops_memory_open(unsigned clients, struct ops_side *out);

/* Copies bytes: no file system. */
void ops_memcpy_open(struct ops_side *out);
/* Adds up the letters of a name: what the processors can do. */
void ops_bare_open(struct ops_side *out);

/* ---- against the kernel (ops_kernel.c) ----------------------------------- */

/*
 * A new ext4 in memory with the tree of @clients, mounted read-only by the
 * kernel, in no place: only *@mount_fd leads to it, and nothing is left behind
 * once that and *@image_fd are closed.  Complains itself.
 */
MUST_USE int ops_kernel_open(unsigned clients, int *image_fd, int *mount_fd);

#endif /* BENCH_OPS_H */
