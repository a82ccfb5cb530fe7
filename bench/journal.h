/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * journal.h - what the parts of `extant bench journal` share.
 *
 * A stand is a cache and a journal over a scratch device: home blocks first,
 * the log behind them.  It has no file system around it; its blocks belong to
 * the benchmark's threads, so no lock but the journal's own is met.
 */
#ifndef BENCH_JOURNAL_H
#define BENCH_JOURNAL_H

#include "bench/bench.h"
#include "bench/scratch.h"
#include "jnl/jnl.h"

enum {
	STAND_BLOCK_BYTES = 4096,
	STAND_LOG_AT = 16384,     /* first block of the log: home is 64 MiB */
	STAND_LOG_BLOCKS = 65536, /* 256 MiB */
	STAND_BLOCKS = STAND_LOG_AT + STAND_LOG_BLOCKS,
};

/* What a device for a stand must hold. */
#define STAND_BYTES ((uint64_t)STAND_BLOCKS * STAND_BLOCK_BYTES)

enum { STAND_NO_TIMER = 24 * 3600 * 1000 };

struct stand_opts {
	enum jnl_admission admission;
	enum jnl_checksum checksum; /* KEEP: v3, as mke2fs's default implies */
	uint32_t commit_ms;         /* STAND_NO_TIMER: whoever waits commits */
};

struct stand {
	struct cache *cache;
	struct jnl *jnl;
};

/* Make an empty log on @dev, with every block of it allocated. */
MUST_USE int stand_format(struct blk_dev *dev);

/* @dev stays the caller's. */
MUST_USE int stand_open(
	struct stand *s, struct blk_dev *dev, const struct stand_opts *opts);

/* Commit, write everything home, and close; the journal's first error. */
MUST_USE int stand_close(struct stand *s);

/* Pin home blocks @first .. @first + @count - 1; none on an error. */
MUST_USE int stand_pin(
	struct stand *s, uint32_t first, uint32_t count, struct buf **bufs);
void stand_unpin(struct buf **bufs, uint32_t count);

/* ---- admissions as rows -------------------------------------------------- */

enum { ADMISSIONS = 3 };

struct stand_rows {
	unsigned count;
	const char *names[ADMISSIONS + 2]; /* with room for a part's own */
	enum jnl_admission admission[ADMISSIONS + 2];
};

bool stand_row_known(const char *name);

/* Append those that @opts asks for. */
void stand_rows_add(struct stand_rows *rows, const struct bench_opts *opts);

/* ---- parts --------------------------------------------------------------- */

/* A scratch device under a layer that counts, over one that delays. */
struct stand_dev {
	struct bench_scratch scratch; /* scratch.dev is the statistics layer */
	struct blk_dev *fault;        /* inside it */
};

/* Measure on @devs and report.  0 or -errno. */
struct journal_part {
	const char *name;
	int (*run)(const struct bench_opts *opts, struct stand_dev *devs,
		unsigned count, struct bench_report *report);
};

extern const struct journal_part journal_part_ops;
extern const struct journal_part journal_part_begin;
extern const struct journal_part journal_part_latency;
extern const struct journal_part journal_part_group;
extern const struct journal_part journal_part_log;

#endif /* BENCH_JOURNAL_H */
