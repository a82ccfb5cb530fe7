/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk.h - all files below a path of an image, one after the other.
 *
 * Order: a directory comes before what is in it, names of one directory in
 * the order of their bytes; the same in every run.  Symlinks are told and not
 * followed.  Entries "." and ".." are not told.
 *
 * Bounds, whatever the image holds: no recursion, WALK_OPEN_MAX directories
 * open, WALK_NAMES_MAX bytes of names in memory and one path with a few bytes
 * a level.  A directory whose names do not fit is read several times.  A
 * directory that is below itself is told as -ELOOP and not entered.
 *
 * What fails is complained about by its path and counted, and the walk goes
 * on.
 *
 * A walk belongs to one thread; several walks may run over one file system.
 */
#ifndef TOOLS_WALK_H
#define TOOLS_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cc.h"
#include "extant/extant.h"

enum {
	WALK_OPEN_MAX = 128,
	WALK_NAMES_MAX = 32 << 20,
};

struct walk_opts {
	const char *image;  /* for complaints */
	bool leave;         /* tell directories a second time, at their end */
	uint32_t depth_max; /* entries below are not told; 0: no bound */
	/* What the walk begins with is @name below @dir, and its path only
	 * what it is called; @name NULL: it is the path. */
	struct extant_file *dir;
	const char *name; /* stays the caller's, for as long as the walk */
};

/* Valid until the next call on its walk. */
struct walk_entry {
	const char *path; /* as the walk was begun, and names */
	size_t path_bytes;
	const char *name;        /* the last component; see walk_at() */
	struct extant_file *dir; /* that @name is below; NULL: the root */
	uint64_t ino;
	unsigned depth; /* 0: what the walk began with */
	uint8_t type;   /* DT_* of dirent.h, never DT_UNKNOWN */
	bool leaving;   /* told before, and so is all that is in it */
};

struct walk;

/*
 * Begin at @path, which the walk keeps a copy of; @opts is copied.
 * A @path that is not there is what the first walk_next() complains about.
 * -ENOMEM.
 */
MUST_USE int walk_open(struct extant *fs, const struct walk_opts *opts,
	const char *path, struct walk **out);
void walk_close(struct walk *walk); /* NULL is allowed */

/* The next entry; NULL: there are no more. */
const struct walk_entry *walk_next(struct walk *walk);

/* Do not go into the directory that was told last. */
void walk_skip(struct walk *walk);

/* Complain about the entry told last, and count it. */
void walk_complain(struct walk *walk, int err);

/* How many paths were complained about. */
uint64_t walk_failures(const struct walk *walk);

/* What calls take to look at @entry: extant_stat(fs, &at, entry->name,
 * EXTANT_NOFOLLOW, ...). */
static inline struct extant_at walk_at(const struct walk_entry *entry)
{
	return (struct extant_at){
		.size = sizeof(struct extant_at), .dir = entry->dir};
}

#endif /* TOOLS_WALK_H */
