/* SPDX-License-Identifier: BSD-2-Clause */
/* tree_view.h - what walk_tree asks of a tree, whoever shows it. */
#ifndef TESTS_IMAGES_TREE_VIEW_H
#define TESTS_IMAGES_TREE_VIEW_H

#include "vfs/vfs.h"

struct tree {
	/* -errno each; @path is relative and terminated, "" the root. */
	int (*attr)(struct tree *t, const char *path, struct vfs_attr *out);
	int (*names)(struct tree *t, const char *path,
		void (*add)(void *arg, const char *name, size_t bytes,
			vfs_ino ino, unsigned type),
		void *arg);
	int (*target)(struct tree *t, const char *path, char *to, size_t bytes,
		size_t *done);
	int (*list)(struct tree *t, const char *path, char *to, size_t bytes,
		size_t *done);
	int (*value)(struct tree *t, const char *path, const char *name,
		void *to, size_t bytes, size_t *done);
	int (*open)(struct tree *t, const char *path);
	int (*read)(struct tree *t, uint64_t offset, size_t bytes, void *to,
		size_t *done);
	int (*seek)(struct tree *t, uint64_t offset, bool data, uint64_t *out);
	void (*close)(struct tree *t);
	int (*space)(struct tree *t, struct vfs_statfs *out);

	struct vfs *vfs;
	struct vfs_file *file;
	const char *host;
	int fd;
};

/* Through system calls, below the folder @host. */
extern const struct tree host_tree;

#endif /* TESTS_IMAGES_TREE_VIEW_H */
