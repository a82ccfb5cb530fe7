/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export.h - inside `extant export`: a tree of an image becomes an archive.
 *
 *    export_plan.c     walks the tree; an item for each file, and for each
 *         |            further piece of a large one
 *    export_read.c     fills items: attributes, targets, data; several threads
 *         |
 *    export_write.c    writes them, in the order of the walk
 *
 * The order is that of walk.h, and nothing comes from the host or the clock:
 * the same image gives the same bytes.
 */
#ifndef TOOLS_EXPORT_H
#define TOOLS_EXPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "extant/extant.h"
#include "tools/attributes.h"
#include "tools/inomap.h"
#include "tools/ordered.h"

struct archive;

enum {
	EXPORT_PIECE_BYTES = 1 << 20,
	EXPORT_AHEAD_BYTES = 32 << 20, /* read and not yet written, at most */
	EXPORT_AHEAD_ITEMS = 1024,
	/* Pieces of data that are kept apart in one file; what is behind the
	 * last of them counts as data to its end. */
	EXPORT_SEGMENTS_MAX = 1 << 20,
};

/* Data between holes. */
struct export_segment {
	uint64_t from;
	uint64_t bytes;
};

/* One file, which its items and whoever plans it hold. */
struct export_file {
	_Atomic uint32_t holders; /* [atomic] */
	struct extant_file *file;
	struct extant_stat st;
	char *path; /* in the image, for complaints */
	char *name; /* in the archive */
	char *link; /* the name in the archive of what it is one with, or NULL */
	struct export_segment *segments;
	size_t segment_count;
	bool skipped;     /* [writer] it has no header in the archive */
	uint64_t written; /* [writer] bytes, with holes */
};

struct export_item {
	struct ordered_item item;
	struct export_file *file;
	bool first;    /* the one with the header */
	uint64_t from; /* of the piece of data */
	size_t bytes;  /* likewise, may be 0 */
	int error;     /* of reading data or target */
	unsigned char *data;
	char *target;                 /* [first] of a symlink */
	struct attributes attributes; /* [first] */
	int attributes_error;         /* [first] */
};

struct export
{
	struct extant *fs;         /* [const] */
	const char *image;         /* [const] as the user named it */
	const char *top;           /* [const] path in the image */
	struct archive *archive;   /* [writer] */
	const void *zeroes;        /* [const] EXPORT_ZEROES_BYTES to read */
	struct inomap names;       /* [plan] the first of files with several */
	struct inomap lost;        /* [writer] of these, the ones left out */
	_Atomic uint64_t failures; /* [atomic] each complained about */
};

#define EXPORT_ZEROES_BYTES ((size_t)1 << 30)

void export_file_hold(struct export_file *f);
void export_file_put(struct export_file *f);

/* See struct ordered_opts. */
void export_plan(void *arg, struct ordered *ordered);
void export_read(void *arg, struct ordered_item *ordered);
void export_drop(void *arg, struct ordered_item *ordered);

/* Write all items.  -errno: the archive could not be written. */
MUST_USE int export_write(struct export *export, struct ordered *ordered);

/* Complain about @path in the image, and count it. */
void export_fail(struct export *export, const char *path, int err);

#endif /* TOOLS_EXPORT_H */
