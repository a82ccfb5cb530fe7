/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * load.h - random operations on a toy file system, told to a model.
 *
 * Each operation edits, creates and frees a few blocks; created ones are
 * metadata, or data whose write may still be on its way when the operation
 * ends.  Some operations are waited for.  What was promised is marked with
 * the number of crash events there were.
 */
#ifndef TESTS_CRASH_LOAD_H
#define TESTS_CRASH_LOAD_H

#include "model.h"
#include "toy.h"

enum { LOAD_STEPS = 6, LOAD_FOLDS = 4096 };

enum load_mix {
	LOAD_MIXED, /* all kinds */
	LOAD_EDITS, /* mostly edits: the log fills quickly */
};

struct load_opts {
	uint64_t seed;
	uint32_t threads;
	uint32_t ops;   /* of each thread */
	uint32_t steps; /* of an operation at the most, up to LOAD_STEPS */
	enum load_mix mix;
	uint32_t fold_us;    /* folding takes up to that long */
	uint32_t wait_every; /* one operation of so many is waited for */
	bool may_fail;       /* faults are about: errors end a thread */
};

struct load_counts {
	_Atomic uint64_t ops;
	_Atomic uint64_t waits;       /* that said 0 */
	_Atomic uint64_t frees;       /* of metadata */
	_Atomic uint64_t recreated;   /* freed and created in one transaction */
	_Atomic uint64_t reused_meta; /* freed blocks that became metadata */
	_Atomic uint64_t reused_data; /* ... or data */
	_Atomic uint64_t late_data;   /* writes that outlived their operation */
	_Atomic int error;            /* the first that an operation met */
	_Atomic int wait_error;       /* ... or a wait */
};

struct load {
	struct load_opts opts;
	struct toy *toy;
	struct model *model;
	struct blk_dev *crash; /* whose events date the promises; NULL: none */
	struct load_counts counts;
	/* Which transactions folded, by tid: 1 << 32 and the tid.  They are
	 * COMMITTED in order, some time after. */
	_Atomic uint64_t folded[LOAD_FOLDS];
	uint64_t folds; /* [owner] the committing thread */
};

/* Make @toy, which is not started yet, tell its folds and commits to @l. */
void load_bind(struct load *l);

/* Run all threads to their ends; the toy is started. */
void load_run(struct load *l);

#endif /* TESTS_CRASH_LOAD_H */
