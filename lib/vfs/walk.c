/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk.c - reading a path, component by component.
 *
 * A path is read from the left; a symlink on the way puts the rest aside and
 * goes on with its target.  Only when every rest is used up is a component the
 * last one.  Whatever is unusual ends the lock-free attempt (-ECHILD), and the
 * walk is done again with references.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vfs/walk_int.h"

static const char *skip_slashes(const char *p)
{
	while (*p == '/')
		p++;
	return p;
}

static bool is_type(const struct walk *w, uint32_t type)
{
	return (vfs_inode_mode(w->spot.inode) & S_IFMT) == type;
}

/* Nothing but slashes is left, here and in what was put aside. */
static bool rests_are_empty(const struct walk *w, const char *p)
{
	if (*skip_slashes(p) != '\0')
		return false;
	for (unsigned i = 0; i < w->depth; i++)
		if (*skip_slashes(w->rest[i]) != '\0')
			return false;
	return true;
}

/* A slash behind the last component says that it is a directory. */
static bool slash_follows(const struct walk *w, const char *p)
{
	if (*p == '/')
		return true;
	for (unsigned i = 0; i < w->depth; i++)
		if (*w->rest[i] == '/')
			return true;
	return false;
}

static int walk_up(struct walk *w)
{
	if (w->floor != NULL && w->spot.dentry == w->floor)
		return -EXDEV;
	if (spot_is_top(&w->spot))
		return 0;
	return w->mode->up(w);
}

/* One component, without following it. */
static int walk_step(struct walk *w, const char *name, uint32_t bytes)
{
	int err;

	if (!is_type(w, S_IFDIR))
		return -ENOTDIR;
	err = vfs_permission(w->spot.inode, w->at->cred, X_OK, w->mode->sleeps);
	if (err != 0)
		return err;
	if (bytes > VFS_NAME_MAX)
		return -ENAMETOOLONG;
	if (bytes == 1 && name[0] == '.')
		return 0;
	if (bytes == 2 && name[0] == '.' && name[1] == '.')
		return walk_up(w);
	return w->mode->down(w, name, bytes);
}

/* The target of the symlink stood on comes before what is left at *@p. */
static int walk_follow(struct walk *w, const char **p)
{
	const char *target;
	int err;

	if (++w->links > VFS_LINKS_MAX || w->depth == VFS_LINKS_MAX)
		return -ELOOP;
	err = w->mode->link(w, &target);
	if (err != 0)
		return err;
	if (*target == '\0')
		return -ENOENT;
	w->rest[w->depth++] = *p;
	*p = target;
	if (*target == '/' && w->floor != NULL)
		return -EXDEV;
	return *target == '/' ? w->mode->start(w, true) : w->mode->up(w);
}

/* Is the symlink stood on, before the rest @p, to be followed? */
static bool walk_follows(const struct walk *w, const char *p)
{
	if (!is_type(w, S_IFLNK))
		return false;
	if ((w->flags & VFS_NOFOLLOW) == 0 || w->depth != 0)
		return true;
	return !rests_are_empty(w, p) || slash_follows(w, p);
}

/* All components; *@directory: the end must be one. */
static int walk_components(struct walk *w, const char *p, bool *directory)
{
	int err;

	for (;;) {
		const char *name = skip_slashes(p);
		uint32_t bytes = (uint32_t)(strchrnul(name, '/') - name);

		if (bytes == 0) {
			if (w->depth == 0)
				return 0;
			p = w->rest[--w->depth];
			continue;
		}
		p = name + bytes;
		if (rests_are_empty(w, p))
			*directory = *directory || slash_follows(w, p);
		err = walk_step(w, name, bytes);
		if (err == 0 && walk_follows(w, p))
			err = walk_follow(w, &p);
		if (err != 0)
			return err;
	}
}

int walk_path(struct walk *w, const char *path)
{
	bool directory = (w->flags & VFS_DIRECTORY) != 0;
	bool root = *path == '/';
	int err;

	if (strnlen(path, VFS_PATH_MAX) == VFS_PATH_MAX)
		return -ENAMETOOLONG;
	if (*path == '\0' && (w->flags & VFS_EMPTY_PATH) == 0)
		return -ENOENT;
	if (root && (w->flags & VFS_BENEATH) != 0)
		return -EXDEV;
	err = w->mode->start(w, root);
	if (err != 0)
		return err;
	if ((w->flags & VFS_BENEATH) != 0)
		w->floor = w->spot.dentry;
	err = walk_components(w, path, &directory);
	if (err == 0 && directory && !is_type(w, S_IFDIR))
		err = -ENOTDIR;
	return err;
}

void walk_fini(struct walk *w)
{
	while (w->text_count > 0)
		free(w->texts[--w->text_count]);
}

/* ---- the two attempts ----------------------------------------------------------- */

static void walk_init(struct walk *w, const struct vfs_at *at, unsigned flags,
	const struct walk_mode *mode)
{
	/* Not the arrays, which would take longer than a short walk. */
	w->mode = mode;
	w->vfs = at->vfs;
	w->at = at;
	w->flags = flags;
	w->spot = (struct vfs_spot){0};
	w->floor = NULL;
	w->depth = 0;
	w->links = 0;
	w->text_count = 0;
}

static int walk_by_ref(const struct vfs_at *at, const char *path,
	unsigned flags, struct vfs_spot *out)
{
	struct walk w;
	int err;

	walk_init(&w, at, flags, &walk_ref);
	err = walk_path(&w, path);
	walk_fini(&w);
	if (err != 0 && w.spot.dentry != NULL)
		vfs_spot_put(&w.spot);
	if (err == 0)
		*out = w.spot;
	return err;
}

/* Is what @spot says still so? */
static bool spot_holds(const struct vfs_spot *spot)
{
	return !seq_read_retry(&spot->dentry->seq, spot->seq);
}

static int look_by_rcu(const struct vfs_at *at, const char *path,
	unsigned flags, vfs_look_fn look, void *arg)
{
	struct walk w;
	int err;

	walk_init(&w, at, flags, &walk_rcu);
	rcu_begin();
	err = walk_path(&w, path);
	if (err == 0)
		err = look(&w.spot, false, arg);
	if (w.spot.dentry != NULL && !spot_holds(&w.spot))
		err = -ECHILD;
	rcu_end();
	return err;
}

int vfs_walk_look(const struct vfs_at *at, const char *path, unsigned flags,
	vfs_look_fn look, void *arg)
{
	struct vfs_spot spot;
	int err = -ECHILD;

	if (at->vfs->walk == VFS_WALK_RCU)
		err = look_by_rcu(at, path, flags, look, arg);
	if (err != -ECHILD)
		return err;
	tally_add(&at->vfs->fallback_count, 1);
	err = walk_by_ref(at, path, flags, &spot);
	if (err != 0)
		return err;
	err = look(&spot, true, arg);
	vfs_spot_put(&spot);
	return err;
}

/* Take references on a spot found under RCU; false: it is gone or moved. */
static bool spot_legitimise(struct vfs_spot *spot)
{
	if (!turnstile_enter(&spot->mount->users, &spot->mount_shard))
		return false;
	if (!dentry_get_try(spot->dentry))
		goto out_leave;
	if (!ref_get_unless_zero(&spot->inode->refs))
		goto out_put;
	if (spot_holds(spot))
		return true;
	vfs_inode_put(spot->inode);
out_put:
	dentry_put(spot->dentry);
out_leave:
	turnstile_leave(&spot->mount->users, spot->mount_shard);
	return false;
}

static int get_by_rcu(const struct vfs_at *at, const char *path, unsigned flags,
	struct vfs_spot *out)
{
	struct walk w;
	int err;

	walk_init(&w, at, flags, &walk_rcu);
	rcu_begin();
	err = walk_path(&w, path);
	if (err == 0 && !spot_legitimise(&w.spot))
		err = -ECHILD;
	rcu_end();
	if (err == 0)
		*out = w.spot;
	return err;
}

int vfs_walk_get(const struct vfs_at *at, const char *path, unsigned flags,
	struct vfs_spot *out)
{
	int err = -ECHILD;

	if (at->vfs->walk == VFS_WALK_RCU)
		err = get_by_rcu(at, path, flags, out);
	if (err != -ECHILD)
		return err;
	tally_add(&at->vfs->fallback_count, 1);
	return walk_by_ref(at, path, flags, out);
}

void vfs_spot_put(struct vfs_spot *spot)
{
	vfs_inode_put(spot->inode);
	dentry_put(spot->dentry);
	turnstile_leave(&spot->mount->users, spot->mount_shard);
}
