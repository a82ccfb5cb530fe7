/* SPDX-License-Identifier: BSD-2-Clause */
/* get_tell.c - `extant get`: paths, and what is said about them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/get.h"
#include "tools/image.h"

/* ---- paths ----------------------------------------------------------------- */

/* A path is put together from its end: where it begins in @room bytes, or how
 * many are missing. */
struct path {
	char *room;
	size_t at;
};

static void path_prepend(struct path *p, const char *name)
{
	size_t bytes = strlen(name);
	bool slash =
		p->room[p->at] != '\0' && bytes > 0 && name[bytes - 1] != '/';

	if (slash)
		p->room[--p->at] = '/';
	p->at -= bytes;
	memcpy(p->room + p->at, name, bytes);
}

/* Bytes that any path of @at takes. */
static size_t path_room(const struct get_entry *at)
{
	size_t bytes = strlen(at->name) + 2;

	if (at->path != NULL)
		bytes += strlen(at->path) + 1;
	for (const struct get_dir *d = at->dir; d != NULL; d = d->parent) {
		bytes += strlen(d->name) + 1;
		if (d->path != NULL)
			bytes += strlen(d->path) + 1;
	}
	return bytes;
}

/* The path of @at in the image, or else on the host, below the top. */
static char *path_make(const struct get_entry *at, bool in_image)
{
	struct path p = {.at = path_room(at) - 1};
	const char *whole = in_image ? at->path : NULL;
	char *path;

	p.room = malloc(p.at + 1);
	if (p.room == NULL)
		return NULL;
	p.room[p.at] = '\0';
	path_prepend(&p, whole != NULL ? whole : at->name);
	for (const struct get_dir *d = at->dir; d != NULL && whole == NULL;
		d = d->parent) {
		whole = in_image ? d->path : NULL;
		path_prepend(&p, whole != NULL ? whole : d->name);
	}
	path = strdup(p.room + p.at);
	free(p.room);
	return path;
}

char *get_path_dest(const struct get_entry *at)
{
	return path_make(at, false);
}

/* ---- complaints ------------------------------------------------------------ */

static void count_failure(struct get *get)
{
	(void)atomic_fetch_add_explicit(
		&get->failures, 1, memory_order_relaxed);
}

/* Complaints need a name, even if there is no memory for all of it. */
static const char *or_name(const char *path, const struct get_entry *at)
{
	return path != NULL ? path : at->name;
}

void get_fail_image(const struct get_entry *at, int err)
{
	struct get *get = at->dir->get;
	char *path = path_make(at, true);

	count_failure(get);
	if (err == -ELOOP)
		(void)tool_fail(get->image, "%s: another name of a directory",
			or_name(path, at));
	else
		image_complain(get->image, or_name(path, at), err);
	free(path);
}

/* What stopped it first. */
static void stop(struct get *get, int why)
{
	int none = 0;

	(void)atomic_compare_exchange_strong_explicit(&get->stop, &none, why,
		memory_order_relaxed, memory_order_relaxed);
}

/* Its whole path on the host, likewise. */
static char *host_path(const struct get_entry *at)
{
	const char *top = at->dir->get->dest;
	char *below = path_make(at, false);
	char *path = NULL;

	if (below == NULL || strcmp(top, ".") == 0)
		return below;
	if (asprintf(&path, "%s%s%s", top,
		    top[strlen(top) - 1] == '/' ? "" : "/", below) < 0)
		path = NULL;
	free(below);
	return path;
}

void get_fail_dest(const struct get_entry *at, const char *what, int err)
{
	struct get *get = at->dir->get;
	char *path = host_path(at);
	const char *why = strerrordesc_np(-err);

	count_failure(get);
	if (err == -EEXIST)
		why = "is there already; --force replaces it";
	(void)tool_fail(or_name(path, at), "%s%s%s", what != NULL ? what : "",
		what != NULL ? ": " : "", why != NULL ? why : "unknown error");
	if (err == -ENOSPC || err == -EDQUOT)
		stop(get, err);
	free(path);
}

void get_leave_out(const struct get_entry *at, const char *what)
{
	char *path = path_make(at, true);

	(void)tool_fail(at->dir->get->image,
		"%s: left out: %s; --special makes it", or_name(path, at),
		what);
	free(path);
}
