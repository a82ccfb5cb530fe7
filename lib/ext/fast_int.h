/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fast_int.h - applying fast commits in memory.
 *
 * Records say what an operation came to: this inode is so, these blocks of a
 * file lie there, this name leads to that inode.  The later one wins, so they
 * are first gathered by inode and by name, and then put over what the last
 * full commit left:
 *
 *   fast.c       gathering; inodes
 *   fast_map.c   the extents of a file, as a new tree
 *   fast_dir.c   the names in a directory
 *   fast_room.c  free blocks for nodes of trees and blocks of directories
 *
 * What changes goes into an overlay over the device of struct ext, which stays
 * as it was before.  When something cannot be applied the overlay is thrown
 * away.  Free counts and bitmaps are not kept up.
 */
#ifndef EXT_FAST_INT_H
#define EXT_FAST_INT_H

#include "ext/ext_int.h"
#include "jnl/sink.h"

/* File blocks @file ... now lie at @dev ..., or nowhere: 0. */
struct fast_span {
	uint64_t file;
	uint64_t count;
	blk_no dev;
	bool unwritten;
};

struct fast_spans {
	struct fast_span *list; /* sorted, no overlaps */
	size_t count;
	size_t room;
};

struct fast_file {
	struct fast_file *next; /* of the same bucket */
	uint32_t ino;
	uint32_t parent; /* of a directory that is new, or 0 */
	blk_no table;    /* the block of its inode, and where in it */
	uint32_t offset;
	bool fresh;            /* it was not in use: there is no old map */
	struct ext_inode old;  /* unless fresh */
	struct fast_spans now; /* what is different */
	uint8_t *raw;          /* the inode as it will be */
};

struct fast_name {
	uint32_t parent;
	uint32_t ino; /* 0: no longer there */
	uint32_t order;
	uint8_t bytes;
	bool placed;
	const char *text; /* in the records */
};

enum { FAST_BUCKETS = 1024 };

struct fast {
	const struct ext *fs;
	struct jnl_overlay *o;
	struct ext_damage *damage;
	struct fast_file *files[FAST_BUCKETS]; /* by number */
	struct fast_name *names;
	size_t name_count;
	size_t name_room;
	struct fast_spans taken; /* of the device, by .file; not free */
	uint8_t *bitmap;         /* of group next_group - 1 */
	uint32_t next_group;
	uint32_t next_bit;
	uint32_t bits;
};

/* ---- fast.c ---------------------------------------------------------------- */

/* The file of that number, as it is so far. */
MUST_USE int fast_file_get(
	struct fast *f, uint32_t ino, struct fast_file **out);

/* f->damage says why; the value is @error. */
#define FAST_BAD(f, error, ino, what)                                          \
	EXT_DAMAGED((f)->damage, error, LOG_NO_BLOCK, ino, "fast commit: %s",  \
		what)

static inline struct ext_disk_inode *fast_raw(const struct fast_file *file)
{
	return (struct ext_disk_inode *)(void *)file->raw;
}

/* ---- fast_map.c -------------------------------------------------------------- */

/* Put @s over whatever @l says of these blocks. */
MUST_USE int fast_span_put(struct fast_spans *l, const struct fast_span *s);

bool fast_spans_have(const struct fast_spans *l, uint64_t file);

/* All extents of @file, as they will be; the caller frees the list. */
MUST_USE int fast_map_merge(
	struct fast *f, struct fast_file *file, struct fast_spans *out);

/* Make @file's map say so. */
MUST_USE int fast_map_write(struct fast *f, struct fast_file *file);

/* ---- fast_dir.c --------------------------------------------------------------- */

/* Put all of f->names in their places. */
MUST_USE int fast_names_apply(struct fast *f);

/* ---- fast_room.c --------------------------------------------------------------- */

/* A block that nobody uses.  -ENOSPC. */
MUST_USE int fast_block_take(struct fast *f, blk_no *out);

#endif /* EXT_FAST_INT_H */
