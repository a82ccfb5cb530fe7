/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff.h - inside `extant diff`: two trees, path by path.
 *
 *    diff_plan.c      walks both at once; an item for each path
 *         |
 *    diff_compare.c   looks into what both have; several threads
 *         |
 *    diff_tell.c      tells, in the order of the walks
 */
#ifndef TOOLS_DIFF_H
#define TOOLS_DIFF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "extant/extant.h"
#include "tools/inomap.h"
#include "tools/json.h"
#include "tools/ordered.h"
#include "tools/show.h"

enum {
	DIFF_PIECE_BYTES = 1 << 20,
	DIFF_AHEAD_ITEMS = 512, /* compared and not yet told, at most */
	DIFF_VALUE_MAX = 48     /* characters of a number or a time */
};

struct diff_options {
	bool times;  /* of modification are compared */
	bool owners; /* uid and gid */
	bool xattrs; /* attributes and access control lists */
	bool quiet;  /* only whether there is a difference */
	bool json;
	bool nul;
};

/* One thing in which two files differ.  Strings are its own. */
struct diff_change {
	const char *what; /* [const] "mode" */
	char *name; /* which attribute, or from which byte on; else NULL */
	char *old;  /* NULL: nothing, or not to be shown */
	char *new;
};

/* A path in one or both trees. */
struct diff_item {
	struct ordered_item item;
	char *path;                   /* below both tops; "." is these */
	struct extant_file *files[2]; /* NULL: not there */
	struct extant_stat stats[2];  /* where files[] is there */
	struct diff_change *changes;
	size_t change_count;
};

/* One of the two trees. */
struct diff_side {
	struct extant *fs;   /* [const] */
	const char *image;   /* [const] as the user named it */
	const char *top;     /* [const] path in the image */
	struct inomap names; /* [teller] the first of files with several */
};

struct diff {
	struct diff_options options; /* [const] */
	struct diff_side sides[2];
	bool differ;               /* [teller] */
	_Atomic uint64_t failures; /* [atomic] each complained about */
	struct show show;          /* [teller] */
	struct json json;          /* [teller] */
};

/* See struct ordered_opts. */
void diff_plan(void *arg, struct ordered *ordered);
void diff_compare(void *arg, struct ordered_item *ordered);
void diff_drop(void *arg, struct ordered_item *ordered);

/* Another change of @item; @old and @new are copied, and may be NULL. */
void diff_change_add(struct diff *diff, struct diff_item *item,
	const char *what, const char *name, const char *old, const char *new);

/* Tell all there is to tell. */
void diff_tell(struct diff *diff, struct ordered *ordered);

/* Complain about @path of @side, and count it. */
void diff_fail(struct diff *diff, unsigned side, const char *path, int err);

#endif /* TOOLS_DIFF_H */
