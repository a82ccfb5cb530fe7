/* SPDX-License-Identifier: BSD-2-Clause */
/* detail.h - what is known of a file, as a line for people and as JSON. */
#ifndef TOOLS_DETAIL_H
#define TOOLS_DETAIL_H

#include "base/cc.h"
#include "extant/extant.h"
#include "tools/json.h"
#include "tools/show.h"

/* A file as commands find it: @name below @at, told to the user as @path. */
struct detail {
	struct extant *fs;
	const struct extant_at *at; /* NULL: the root */
	const char *name;
	const char *path;
	const struct extant_stat *stat;
};

/* The target of a symlink, ended by NUL, to be freed; NULL and -errno. */
MUST_USE int detail_target(const struct detail *file, char **out);

/*
 * Mode, links, owner, group, size or device, time, path, and the target of a
 * symlink; without the end of the line.  @human: sizes as show_size().  What
 * cannot be read is -errno, and the line stands without it.
 */
MUST_USE int detail_line(
	const struct show *show, const struct detail *file, bool human);

/* The members of an object that is open: path, type, mode, ...  Likewise. */
MUST_USE int detail_json(struct json *json, const struct detail *file);

/* A time as "2038-01-19T03:14:08.123456789Z". */
void detail_json_time(
	struct json *json, const char *key, struct extant_time time);

/* Inode flags by the letters of lsattr(1), those that are set; and with a
 * dash for each that is not if @all. */
enum { DETAIL_FLAGS_MAX = 32 };

const char *detail_flags(char to[DETAIL_FLAGS_MAX], uint32_t flags, bool all);

#endif /* TOOLS_DETAIL_H */
