/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_int.h - what the files of the quick check share.
 *
 *   check.c          in which order; sums over all groups
 *   check_say.c      findings
 *   check_super.c    the superblock and its copies
 *   check_journal.c  the log, and bringing it in
 *   check_orphan.c   inodes that wait to be freed
 *   check_team.c     threads, and findings in order
 *   check_group.c    one group: descriptor and bitmaps
 *   check_inode.c    its inodes
 */
#ifndef EXT_CHECK_INT_H
#define EXT_CHECK_INT_H

#include "ext/check.h"
#include "ext/mount_int.h"

/* Findings in one group that are kept; of more only the number is. */
enum { CHECK_FINDINGS_MAX = 64 };

struct check_findings {
	uint32_t count;
	uint64_t dropped;
	struct ext_finding items[CHECK_FINDINGS_MAX];
};

struct check_sums {
	uint64_t free_blocks; /* clusters */
	uint64_t free_inodes;
	uint64_t inodes_used;
	uint64_t blocks_used; /* clusters */
	uint64_t unknown;     /* groups that could not be counted */
};

/* Constant while groups are checked, but for the result. */
struct check {
	const struct ext_check_opts *opts;
	struct ext fs; /* its device is ours */
	struct ext_disk_super raw;
	struct ext_layout layout;
	bool was_dirty;   /* counts of the superblock may lag behind */
	bool has_orphans; /* inodes without links may be in use */
	struct ext_check_result result; /* [its turn] check_team.c */
	struct check_sums sums;         /* likewise */
};

/* What one thread works with. */
struct check_worker {
	const struct check *c;
	struct check_findings findings; /* of the group at hand */
	struct check_sums sums;         /* likewise */
	uint8_t *descs;                 /* a block of them */
	blk_no descs_at;                /* LOG_NO_BLOCK: nothing is there */
	uint8_t *blocks;                /* block bitmap */
	uint8_t *inodes;                /* inode bitmap */
	uint8_t *table;                 /* a piece of the inode table */
	uint32_t table_blocks;          /* that fit in there */
};

/* ---- check_say.c ----------------------------------------------------------- */

/* A finding outside of groups, told at once. */
void check_say(struct check *c, enum ext_check_part part, blk_no block,
	uint32_t inode, const char *fmt, ...) PRINTF(5, 6);
void check_say_damage(struct check *c, enum ext_check_part part,
	const struct ext_damage *damage);
void check_note(struct check *c, enum ext_check_part part, const char *fmt, ...)
	PRINTF(3, 4);

/* A finding in the group at hand. */
void check_found(struct check_worker *w, enum ext_check_part part, blk_no block,
	uint32_t inode, const char *fmt, ...) PRINTF(5, 6);
void check_found_damage(struct check_worker *w, enum ext_check_part part,
	const struct ext_damage *damage);

/* Tell what was found in @group. */
void check_tell(
	struct check *c, const struct check_findings *f, uint32_t group);

/* ---- the parts --------------------------------------------------------------- */

void check_super(struct check *c);
void check_super_counts(struct check *c);
/* The copy in group @index. */
void check_super_copy(struct check_worker *w, uint32_t index);

MUST_USE int check_journal(struct check *c);
MUST_USE int check_orphans(struct check *c);
MUST_USE int check_groups(struct check *c);

void check_group(struct check_worker *w, uint32_t index);

/* The inodes in use of group @index, by w->inodes; the first @count of the
 * table.  Returns how many are directories. */
uint32_t check_inodes(struct check_worker *w, uint32_t index,
	const struct ext_group *g, uint32_t count);

static inline bool check_bit(const uint8_t *bitmap, uint32_t bit)
{
	return bitmap[bit / 8] >> (bit % 8) & 1;
}

#endif /* EXT_CHECK_INT_H */
