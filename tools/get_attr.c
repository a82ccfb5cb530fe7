/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get_attr.c - `extant get`: owner, attributes, mode and times.
 *
 * In this order: a change of owner takes set-id bits and capabilities away,
 * attributes need a file that its owner may write, and an access control list
 * changes the mode.
 *
 * A stranger's set-id bits and capabilities give rights to whoever runs the
 * file here: they are left out unless they are asked for, and in any case if
 * the owner cannot be the right one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tools/acl.h"
#include "tools/get.h"

enum {
	SET_ID = S_ISUID | S_ISGID,
	PROC_MAX = 32,          /* of "/proc/self/fd/N" */
	NAMES_MAX = 16 << 20,   /* bytes; Linux has 64 KiB */
	ATTRIBUTE_MAX = 1 << 20 /* likewise */
};

static const char acl_prefix[] = "system.posix_acl_";

/* Something to change: an open file, or what an O_PATH one holds, which calls
 * on paths reach by its name in /proc and no other way. */
struct subject {
	int fd;
	bool is_path;
	bool is_link;
	char proc[PROC_MAX];
};

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* ---- attributes ------------------------------------------------------------ */

static int room_grow(char **buffer, size_t *room, size_t bytes, size_t max)
{
	char *bigger;

	if (bytes <= *room)
		return 0;
	if (bytes > max)
		return -E2BIG;
	bigger = realloc(*buffer, bytes);
	if (bigger == NULL)
		return -ENOMEM;
	*buffer = bigger;
	*room = bytes;
	return 0;
}

static int names_read(
	struct get_worker *w, const struct get_source *s, size_t *done)
{
	const struct extant_at *at = EXTANT_AT(.dir = s->file);
	struct extant *fs = w->get->fs;
	int err = extant_listxattr(
		fs, at, "", EXTANT_EMPTY_PATH, w->names, w->names_room, done);

	if (err != -ERANGE)
		return err;
	err = extant_listxattr(fs, at, "", EXTANT_EMPTY_PATH, NULL, 0, done);
	if (err == 0)
		err = room_grow(&w->names, &w->names_room, *done, NAMES_MAX);
	if (err == 0)
		err = extant_listxattr(fs, at, "", EXTANT_EMPTY_PATH, w->names,
			w->names_room, done);
	return err;
}

static int value_read(struct get_worker *w, const struct get_source *s,
	const char *name, size_t *done)
{
	const struct extant_at *at = EXTANT_AT(.dir = s->file);
	struct extant *fs = w->get->fs;
	int err = extant_getxattr(fs, at, "", EXTANT_EMPTY_PATH, name, w->value,
		w->value_room, done);

	if (err != -ERANGE)
		return err;
	err = extant_getxattr(
		fs, at, "", EXTANT_EMPTY_PATH, name, NULL, 0, done);
	if (err == 0)
		err = room_grow(
			&w->value, &w->value_room, *done, ATTRIBUTE_MAX);
	if (err == 0)
		err = extant_getxattr(fs, at, "", EXTANT_EMPTY_PATH, name,
			w->value, w->value_room, done);
	return err;
}

static bool is_wanted(struct get *get, const char *name, bool owned)
{
	if (strcmp(name, "security.capability") == 0 &&
		!(get->options.special && owned)) {
		(void)atomic_fetch_add_explicit(
			&get->dropped, 1, memory_order_relaxed);
		return false;
	}
	if (starts_with(name, "trusted.") || starts_with(name, "security."))
		return get->options.system_xattrs;
	return starts_with(name, "user.") || starts_with(name, acl_prefix);
}

static void attribute_set(struct get_worker *w, const struct get_source *s,
	const struct subject *to, const char *name)
{
	char what[300];
	size_t bytes;
	int err = value_read(w, s, name, &bytes);
	int failed;

	if (err != 0) {
		get_fail_image(&s->at, err);
		return;
	}
	failed = to->is_path ? setxattr(to->proc, name, w->value, bytes, 0)
			     : fsetxattr(to->fd, name, w->value, bytes, 0);
	if (failed == 0)
		return;
	(void)snprintf(what, sizeof(what), "attribute %s", name);
	/* No room for attributes in an inode is no full disk. */
	get_fail_dest(&s->at, what, errno == ENOSPC ? -E2BIG : -errno);
}

/* Returns whether an access control list was among them, which decides about
 * the bits of the group. */
static bool attributes_set(struct get_worker *w, const struct get_source *s,
	const struct subject *to, bool owned)
{
	bool has_acl = false;
	size_t bytes = 0;
	int err = 0;

	if (w->get->options.xattrs)
		err = names_read(w, s, &bytes);
	if (err != 0) {
		get_fail_image(&s->at, err);
		return false;
	}
	for (size_t at = 0; at < bytes; at += strlen(w->names + at) + 1) {
		const char *name = w->names + at;

		if (!is_wanted(w->get, name, owned))
			continue;
		attribute_set(w, s, to, name);
		has_acl = has_acl || strcmp(name, ACL_ACCESS_NAME) == 0;
	}
	return has_acl;
}

/* ---- the rest -------------------------------------------------------------- */

/* Returns whether the owner is as it should be. */
static bool owner_set(const struct get_source *s, const struct subject *to)
{
	struct stat st;

	if (!s->at.dir->get->options.owner)
		return true;
	if (fstat(to->fd, &st) == 0 && st.st_uid == s->st.uid &&
		st.st_gid == s->st.gid)
		return true;
	if (fchownat(to->fd, "", s->st.uid, s->st.gid, AT_EMPTY_PATH) == 0)
		return true;
	get_fail_dest(&s->at, "owner", -errno);
	return false;
}

static void mode_set(
	const struct get_source *s, const struct subject *to, mode_t mode)
{
	int failed = to->is_path ? fchmodat(AT_FDCWD, to->proc, mode, 0)
				 : fchmod(to->fd, mode);

	if (failed != 0)
		get_fail_dest(&s->at, "mode", -errno);
}

static void times_set(const struct get_source *s, const struct subject *to)
{
	const struct extant_time *from[2] = {&s->st.atime, &s->st.mtime};
	struct timespec times[2];

	for (unsigned i = 0; i < 2; i++)
		times[i] = (struct timespec){.tv_sec = from[i]->seconds,
			.tv_nsec = from[i]->nanoseconds};
	if ((to->is_path ? utimensat(to->fd, "", times, AT_EMPTY_PATH)
			 : futimens(to->fd, times)) != 0)
		get_fail_dest(&s->at, "times", -errno);
}

static mode_t mode_of(const struct get_source *s, bool owned)
{
	struct get *get = s->at.dir->get;
	mode_t mode = s->st.mode & 07777;

	if ((mode & SET_ID) == 0 || (get->options.special && owned))
		return mode;
	(void)atomic_fetch_add_explicit(&get->dropped, 1, memory_order_relaxed);
	return mode & ~(mode_t)SET_ID;
}

mode_t get_attr_first(const struct get_source *s)
{
	return s->at.dir->made ? s->st.mode & 0777 : s->st.mode & 0700;
}

static void set_all(struct get_worker *w, const struct get_source *s,
	const struct subject *to, mode_t first)
{
	bool inherits = s->at.dir->inherits && !to->is_path;
	bool owned = owner_set(s, to);
	mode_t mode = mode_of(s, owned);
	bool has_acl;

	if (inherits)
		(void)fremovexattr(to->fd, ACL_ACCESS_NAME);
	has_acl = attributes_set(w, s, to, owned);
	if (!to->is_link && (mode != first || has_acl || inherits))
		mode_set(s, to, mode);
	times_set(s, to);
}

void get_attr_set(
	struct get_worker *w, const struct get_source *s, int fd, mode_t first)
{
	struct subject to = {.fd = fd};

	set_all(w, s, &to, first);
}

void get_attr_set_node(struct get_worker *w, const struct get_source *s, int fd)
{
	struct subject to = {
		.fd = fd,
		.is_path = true,
		.is_link = S_ISLNK(s->st.mode),
	};

	(void)snprintf(to.proc, sizeof(to.proc), "/proc/self/fd/%d", fd);
	set_all(w, s, &to, get_attr_first(s));
}
