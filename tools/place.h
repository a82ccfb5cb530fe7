/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place.h - making files in a directory of the host, and nowhere else.
 *
 * Where something goes is said by a held directory and one name: a path of a
 * stranger is never looked up, and no symlink is ever followed.  What is made
 * gets a temporary name first, is completed, and then committed: it is seen
 * under its own name whole or not at all.
 *
 *    place_file(), place_symlink(), place_node()
 *         |  fd: contents, owner, attributes, mode, times
 *         v
 *    place_commit()   or   place_drop()
 *
 * A process that is killed leaves temporary names, ".extant-*", at most one a
 * thread; none is left by calls that fail.
 *
 * Threads: any, but the umask of the process must be 0.
 * Errors: 0 or -errno.
 */
#ifndef TOOLS_PLACE_H
#define TOOLS_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cc.h"

enum { PLACE_TEMP_MAX = 40 };

struct place {
	int dir;                   /* the caller's, held open */
	int fd;                    /* of what is made; -1: none */
	char temp[PLACE_TEMP_MAX]; /* its name in @dir by now */
};

/* Whether @name is one name: not empty, not "." or "..", without '/'. */
bool place_name_is_good(const char *name, size_t bytes);

/* Whether anything has this name. */
bool place_is_taken(int dir, const char *name);

/*
 * Directory @name in @dir, made with mode 0700 if there is none, opened.
 * *@made: it is new, and nobody else can have put anything into it.
 * -ENOTDIR: something else is there, be it a symlink to a directory.
 */
MUST_USE int place_dir(int dir, const char *name, int *fd, bool *made);

/* A regular file, open for writing. */
MUST_USE int place_file(struct place *p, int dir, mode_t mode);

/* A symlink; a device, fifo or socket.  The fd is an O_PATH one. */
MUST_USE int place_symlink(struct place *p, int dir, const char *target);
MUST_USE int place_node(struct place *p, int dir, mode_t mode, dev_t device);

/*
 * Give it its @name.  What has that name already, if it is no directory, is
 * replaced with @replace, and -EEXIST without.  Closes p->fd, and drops what
 * could not be committed.
 */
MUST_USE int place_commit(struct place *p, const char *name, bool replace);
void place_drop(struct place *p);

/*
 * A second name for file @path, which is relative to @root and leads through
 * no symlink.  -EEXIST as place_commit().
 */
MUST_USE int place_link(
	int root, const char *path, int dir, const char *name, bool replace);

#endif /* TOOLS_PLACE_H */
