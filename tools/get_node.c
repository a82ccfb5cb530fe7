/* SPDX-License-Identifier: BSD-2-Clause */
/* get_node.c - `extant get`: symlinks, devices, fifos and sockets. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tools/get.h"
#include "tools/progress.h"

/* The target of symlink @s, terminated. */
static int target_read(const struct get_source *s, char to[PATH_MAX])
{
	size_t done;
	int err = extant_readlink(s->at.dir->get->fs, EXTANT_AT(.dir = s->file),
		"", to, PATH_MAX, &done);

	if (err != 0)
		return err;
	if (done >= PATH_MAX)
		return -ENAMETOOLONG;
	if (strnlen(to, done) != done)
		return -EUCLEAN;
	to[done] = '\0';
	return 0;
}

/* *@told: what is wrong is the image's, and was complained about. */
static int node_make(const struct get_source *s, struct place *p, bool *told)
{
	const struct extant_stat *st = &s->st;
	char target[PATH_MAX];
	int err;

	*told = false;
	switch (st->mode & S_IFMT) {
	case S_IFLNK:
		err = target_read(s, target);
		*told = err != 0;
		if (err != 0)
			get_fail_image(&s->at, err);
		return err != 0 ? err : place_symlink(p, s->at.dir->fd, target);
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		return place_node(p, s->at.dir->fd,
			(st->mode & S_IFMT) | get_attr_first(s),
			makedev(st->device_major, st->device_minor));
	default:
		*told = true;
		get_fail_image(&s->at, -EUCLEAN);
		return -EUCLEAN;
	}
}

void get_node_copy(struct get_worker *w, const struct get_source *s)
{
	struct place p;
	bool told;
	int err = node_make(s, &p, &told);

	if (err == 0) {
		get_attr_set_node(w, s, p.fd);
		err = place_commit(&p, s->at.name, w->get->options.force);
	}
	if (err == 0)
		progress_add(1, 0);
	else if (!told)
		get_fail_dest(&s->at, NULL, err);
	if (s->st.link_count > 1)
		get_link_done(w, s, err);
}
