/* SPDX-License-Identifier: BSD-2-Clause */
/* journal.h - what the files of `extant journal` share. */
#ifndef TOOLS_JOURNAL_H
#define TOOLS_JOURNAL_H

#include "jnl/walk.h"
#include "tools/tool.h"

/* A journal, ready to be read, and where it came from. */
struct journal_image {
	const char *image;   /* as the user wrote it */
	const char *outside; /* the journal device, or NULL */
	struct blk_dev *dev;
	struct blk_dev *outside_dev;
	struct ext *fs; /* a file system or a journal device */
	struct ext_journal journal;
};

/* Names of what the log says; NULL at the end. */
struct journal_flag {
	uint32_t bit;
	const char *name;
};

extern const struct journal_flag journal_compat[];
extern const struct journal_flag journal_incompat[];
extern const struct journal_flag journal_tag_flags[];

const char *journal_kind_name(enum jnl_walk_kind kind);
const char *journal_sum_name(enum jnl_walk_sum sum);
const char *journal_source_name(enum ext_journal_source source);

/* The name of enum jbd_fast_tag @tag, or "unknown". */
const char *journal_fast_name(uint16_t tag);

/* Print what is in the log, for people and for programs; the flags of
 * jnl_walk().  0, or what ended the walk. */
MUST_USE int journal_dump_text(const struct journal_image *j, unsigned flags);
MUST_USE int journal_dump_json(const struct journal_image *j, unsigned flags);

#endif /* TOOLS_JOURNAL_H */
