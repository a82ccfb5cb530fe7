/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk_int.h - one reading of paths, two ways to take a step.
 *
 * walk.c reads the path: slashes, dots, symlinks, limits.  How a step is taken
 * is the mode's: walk_rcu.c stores nothing and gives up with -ECHILD,
 * walk_ref.c holds what it stands on and may sleep.
 */
#ifndef VFS_WALK_INT_H
#define VFS_WALK_INT_H

#include "vfs/vfs_int.h"

struct walk_mode;

struct walk {
	const struct walk_mode *mode;
	struct vfs *vfs;
	const struct vfs_at *at;
	unsigned flags;
	struct vfs_spot spot;
	const struct dentry *floor;      /* VFS_BENEATH: never above this */
	const char *rest[VFS_LINKS_MAX]; /* of paths that led to a symlink */
	unsigned depth;                  /* of rest */
	unsigned links;                  /* symlinks followed */
	char *texts[VFS_LINKS_MAX];      /* targets that the walk owns */
	unsigned text_count;
};

struct walk_mode {
	bool sleeps;
	/* Stand on the start, or on the root of the namespace. */
	int (*start)(struct walk *w, bool root);
	/* To a child of the directory stood on; -ENOENT, -ECHILD. */
	int (*down)(struct walk *w, const char *name, uint32_t bytes);
	/* To the parent; not called at the root of the namespace. */
	int (*up)(struct walk *w);
	/* The target of the symlink stood on, valid until the walk ends. */
	int (*link)(struct walk *w, const char **out);
};

extern const struct walk_mode walk_rcu;
extern const struct walk_mode walk_ref;

/* Read @path; on success w->spot is the end.  On error the mode has let go. */
MUST_USE int walk_path(struct walk *w, const char *path);

/* Drop what a walk holds besides its spot. */
void walk_fini(struct walk *w);

/* Is @s the root of the whole namespace? */
static inline bool spot_is_top(const struct vfs_spot *s)
{
	return s->dentry == s->mount->root && s->mount->under == NULL;
}

#endif /* VFS_WALK_INT_H */
