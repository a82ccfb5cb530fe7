/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get.h - inside `extant get`: files of an image are made again on the host.
 *
 *    get_entry.c  what is it?
 *       | a directory      get_dir.c   made, listed in batches, each a job
 *       | a regular file   get_file.c  copied by one thread, or by several
 *       | anything else    get_node.c
 *       | copied already   get_link.c  a second name
 *       v
 *    get_attr.c  owner, attributes, mode, times; then its name (place.h)
 *
 * A directory is finished, its times set, when nothing is to come in it any
 * more: it counts what is.  Everything is done relative to held directories.
 *
 * What fails is named and counted, and the rest goes on; but a full disk or a
 * signal stops it all: jobs end without doing anything, so that directories
 * are finished and temporary names are gone.
 */
#ifndef TOOLS_GET_H
#define TOOLS_GET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "extant/extant.h"
#include "tools/inomap.h"
#include "tools/place.h"
#include "tools/pool.h"

enum {
	GET_PIECE_BYTES = 1 << 20,
	GET_BATCH_BYTES = 1 << 13, /* of entries, about two hundred */
};

struct get_options {
	bool owner;         /* uid and gid too */
	bool xattrs;        /* attributes and access control lists too */
	bool special;       /* devices, set-id bits and capabilities too */
	bool force;         /* replace what is there */
	bool system_xattrs; /* trusted.* and security.* may be set */
};

/* What one thread needs again and again. */
struct get_worker {
	struct get *get;
	unsigned char *piece; /* GET_PIECE_BYTES */
	uint64_t *batch;      /* GET_BATCH_BYTES */
	char *names;          /* of attributes; grow as needed */
	size_t names_room;
	char *value;
	size_t value_room;
};

struct get_links;

/* One run. */
struct get {
	struct extant *fs; /* [const] */
	const char *image; /* [const] as the user named it */
	const char *dest;  /* [const] likewise, the directory to begin in */
	struct get_options options; /* [const] */
	unsigned thread_count;      /* [const] */
	struct get_worker *workers; /* [const] one a thread */
	struct pool *pool;          /* [const] */
	struct get_links *links;    /* [const] */
	int top_fd;                 /* [const] of the directory @dest */
	pthread_mutex_t seen_lock;
	struct inomap seen; /* [seen_lock] directories of this source */
	_Atomic int stop;   /* [atomic] a signal, or -errno of a full disk */
	_Atomic uint64_t failures; /* [atomic] each complained about */
	_Atomic uint64_t dropped;  /* [atomic] set-id modes and capabilities */
};

/* A directory that is being filled. */
struct get_dir {
	struct get *get;
	struct get_dir *parent;   /* [const] held; NULL: the copy begins here */
	struct extant_file *from; /* [const] in the image; NULL: at the top */
	int fd;                   /* [const] on the host */
	bool made;                /* [const] just now, and closed to others */
	bool keeps;               /* [const] its own attributes, in the end */
	bool inherits; /* [const] what is made in it gets a default ACL */
	_Atomic uint32_t pending; /* [atomic] what is to come, or holds it */
	const char *path; /* [const] in the image; NULL: @name in the parent */
	char name[];      /* [const] on the host; empty: the parent itself */
};

/* Something in the image that goes to @name in @dir. */
struct get_entry {
	struct get_dir *dir;
	const char *name;
	const char *path; /* in the image; NULL: @name in dir->from */
};

/* What it is, once it is open. */
struct get_source {
	struct get_entry at;
	struct extant_file *file;
	struct extant_stat st;
};

/* ---- get_entry.c ----------------------------------------------------------- */

/* Copy @at, now. */
void get_entry_copy(struct get_worker *w, const struct get_entry *at);

/* A job that copies it and holds its directory until then; NULL: no memory.
 * The name is copied, the path is not. */
struct pool_job *get_entry_job(const struct get_entry *at);

/* ---- get_dir.c ------------------------------------------------------------- */

/* Where copies begin: @fd, which passes.  The caller holds it. */
MUST_USE int get_dir_top(struct get *get, int fd, struct get_dir **out);

void get_dir_hold(struct get_dir *dir);

/* The last one finishes it, and then those above. */
void get_dir_put(struct get_worker *w, struct get_dir *dir);

/* Begin to copy directory @s, with what is in it; s->file passes. */
void get_dir_copy(struct get_worker *w, const struct get_source *s);

/* Likewise what is in it, into s->at.dir itself. */
void get_dir_copy_contents(struct get_worker *w, const struct get_source *s);

/* ---- get_file.c, get_node.c ------------------------------------------------ */

/* s->file passes. */
void get_file_copy(struct get_worker *w, const struct get_source *s);

/* Anything but files and directories. */
void get_node_copy(struct get_worker *w, const struct get_source *s);

/* ---- get_link.c ------------------------------------------------------------ */

MUST_USE int get_links_open(struct get_links **out);
void get_links_close(struct get_links *links);

/*
 * Whether @s is to be copied, and get_link_done() called then.  If not, it has
 * been linked to its first copy, or will be when that is there.
 */
bool get_link_claim(struct get_worker *w, const struct get_source *s);
void get_link_done(struct get_worker *w, const struct get_source *s, int err);

/* ---- get_attr.c ------------------------------------------------------------ */

/* Mode to make @s with, so that it need not be changed later where nobody else
 * can come to it. */
mode_t get_attr_first(const struct get_source *s);

/*
 * Give @fd, a file or directory that has mode @first, all that @s has; or what
 * an O_PATH @fd holds.  What cannot be given is complained about.
 */
void get_attr_set(
	struct get_worker *w, const struct get_source *s, int fd, mode_t first);
void get_attr_set_node(
	struct get_worker *w, const struct get_source *s, int fd);

/* ---- get_tell.c ------------------------------------------------------------ */

/* Below the top, on the host; the caller frees it.  NULL: no memory. */
char *get_path_dest(const struct get_entry *at);

/* Complain about @at and count it: the image's side, and the host's, where
 * @what ("owner") may be NULL.  A disk that is full stops everything. */
void get_fail_image(const struct get_entry *at, int err);
void get_fail_dest(const struct get_entry *at, const char *what, int err);

/* It is left out on purpose: that is told, but no failure. */
void get_leave_out(const struct get_entry *at, const char *what);

static inline bool get_is_stopped(struct get *get)
{
	return atomic_load_explicit(&get->stop, memory_order_relaxed) != 0;
}

#endif /* TOOLS_GET_H */
