/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * journal_log.c - how fast a large transaction goes to the log.
 *
 * A transaction of 8192 blocks is committed; only the commit is timed, not
 * the changing of the blocks before it nor the way home after it.  The
 * yardstick writes as many bytes, from memory that is as cold, to the same
 * place in pieces of 4 MiB, and flushes as often: once before the last block
 * and once after it.
 *
 * A device that is no faster than memory copies hides nothing: every log
 * block is checksummed and copied once more than the yardstick's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clock.h"
#include "bench/journal.h"
#include "bench/team.h"
#include "blk/layers.h"

enum {
	TXN_BLOCKS = 8192,
	OP_BLOCKS = 512,
	PIECE_BYTES = 4 << 20,
	ROW_PLAIN = 0,
	ROW_LOG = 1,
};

static const char *const rows[] = {
	[ROW_PLAIN] = "plain writes",
	[ROW_LOG] = "log, crc32c",
	"log, no checksums",
};

static const enum jnl_checksum row_checksum[] = {
	JNL_CHECKSUM_KEEP, JNL_CHECKSUM_V3, JNL_CHECKSUM_NONE};

static const struct bench_metric metrics[] = {
	{"mib_per_s", "MiB/s", 0},
	{"switches_per_txn", "switches/op", 2},
	{"ms_per_txn", "ms/op", 2},
	{"mib_per_txn", "MiB/op", 2},
	{"writes_per_txn", "writes/op", 2},
	{"flushes_per_txn", "flushes/op", 2},
};

struct logger {
	uint64_t run_ns;
	struct stand_dev *devs;
	struct stand stand;
	struct buf *bufs[TXN_BLOCKS];
	unsigned char *plain; /* of a transaction's length */
	uint64_t plain_bytes;
	uint64_t plain_at; /* on the device */
};

/* What was spent on timed work. */
struct spent {
	uint64_t ns;
	uint64_t txns;
	uint64_t bytes;
	uint64_t writes;
	uint64_t flushes;
	uint64_t switches;
};

/* Add one run of @work to @spent. */
static int spend(struct logger *lg, struct blk_dev *dev,
	int (*work)(struct logger *lg, struct blk_dev *dev),
	struct spent *spent)
{
	struct blk_stats before;
	struct blk_stats after;
	struct bench_cost cost_before;
	struct bench_cost cost_after;
	uint64_t began;
	int err;

	blk_stats_read(dev, &before);
	bench_cost_read(&cost_before);
	began = bench_now_ns();
	err = work(lg, dev);
	spent->ns += bench_now_ns() - began;
	bench_cost_read(&cost_after);
	blk_stats_read(dev, &after);
	spent->txns++;
	spent->bytes += after.bytes[BLK_WRITE] - before.bytes[BLK_WRITE];
	spent->writes += after.ops[BLK_WRITE] - before.ops[BLK_WRITE];
	spent->flushes += after.ops[BLK_FLUSH] - before.ops[BLK_FLUSH];
	spent->switches += cost_after.slept - cost_before.slept +
			   cost_after.preempted - cost_before.preempted;
	return err;
}

/* ---- the log -------------------------------------------------------------- */

/* Change every block, in one transaction. */
static int log_dirty(struct logger *lg)
{
	struct jnl *j = lg->stand.jnl;
	struct jnl_op op;
	int err = 0;

	for (unsigned at = 0; at < TXN_BLOCKS && err == 0; at += OP_BLOCKS) {
		err = jnl_begin(j, OP_BLOCKS, &op);
		if (err != 0)
			return err;
		for (unsigned i = at; i < at + OP_BLOCKS && err == 0; i++) {
			err = jnl_get_write(&op, lg->bufs[i]);
			if (err == 0)
				(*(uint64_t *)lg->bufs[i]->data)++;
		}
		(void)jnl_end(&op);
	}
	return err;
}

static int log_commit(struct logger *lg, struct blk_dev *dev)
{
	(void)dev;
	return jnl_sync(lg->stand.jnl);
}

static int log_one(struct logger *lg, struct blk_dev *dev, struct spent *spent)
{
	int err = log_dirty(lg);

	if (err == 0)
		err = spend(lg, dev, log_commit, spent);
	/* The way home is not to run beside the next one. */
	return err == 0 ? jnl_checkpoint(lg->stand.jnl) : err;
}

/* The first transaction of an open log flags it as in use: not counted. */
static int log_loop(struct logger *lg, struct blk_dev *dev, uint64_t ns,
	struct spent *spent)
{
	struct spent first = {0};
	int err = log_one(lg, dev, &first);

	do {
		if (err == 0)
			err = log_one(lg, dev, spent);
	} while (err == 0 && spent->ns < ns);
	return err;
}

static int log_run(struct logger *lg, struct blk_dev *dev,
	enum jnl_checksum checksum, uint64_t ns, struct spent *spent)
{
	const struct stand_opts opts = {
		.checksum = checksum, .commit_ms = STAND_NO_TIMER};
	int err = stand_open(&lg->stand, dev, &opts);
	int close_err;

	if (err != 0)
		return err;
	err = stand_pin(&lg->stand, 0, TXN_BLOCKS, lg->bufs);
	if (err == 0) {
		err = log_loop(lg, dev, ns, spent);
		stand_unpin(lg->bufs, TXN_BLOCKS);
	}
	close_err = stand_close(&lg->stand);
	return err != 0 ? err : close_err;
}

/* ---- the yardstick ---------------------------------------------------------- */

static int plain_pieces(struct logger *lg, struct blk_dev *dev, uint64_t bytes)
{
	int err = 0;

	for (uint64_t at = 0; at < bytes && err == 0; at += PIECE_BYTES) {
		uint64_t piece = bytes - at;

		if (piece > PIECE_BYTES)
			piece = PIECE_BYTES;
		err = blk_write(dev, lg->plain_at + at, piece, lg->plain + at);
	}
	return err;
}

static int plain_write(struct logger *lg, struct blk_dev *dev)
{
	uint64_t most = lg->plain_bytes - STAND_BLOCK_BYTES;
	int err = plain_pieces(lg, dev, most);

	if (err == 0)
		err = blk_flush(dev);
	if (err == 0)
		err = blk_write(dev, lg->plain_at + most, STAND_BLOCK_BYTES,
			lg->plain + most);
	return err == 0 ? blk_flush(dev) : err;
}

/* Round the log, past its superblock, as the log itself goes. */
static void plain_advance(struct logger *lg)
{
	const uint64_t first = (STAND_LOG_AT + 1) * (uint64_t)STAND_BLOCK_BYTES;

	lg->plain_at += lg->plain_bytes;
	if (lg->plain_at + lg->plain_bytes > STAND_BYTES)
		lg->plain_at = first;
}

static int plain_run(struct logger *lg, struct blk_dev *dev, uint64_t ns,
	struct spent *spent)
{
	int err = 0;

	plain_advance(lg);
	while (err == 0 && (spent->ns < ns || spent->txns == 0)) {
		/* As the blocks of a transaction are: changed before. */
		for (uint64_t i = 0; i < lg->plain_bytes;
			i += STAND_BLOCK_BYTES)
			lg->plain[i]++;
		err = spend(lg, dev, plain_write, spent);
		plain_advance(lg);
	}
	return err;
}

/* How many bytes one transaction is in the log. */
static int plain_calibrate(struct logger *lg, struct blk_dev *dev)
{
	struct spent spent = {0};
	int err = log_run(lg, dev, JNL_CHECKSUM_V3, 0, &spent);

	if (err != 0)
		return err;
	lg->plain_bytes = spent.bytes / spent.txns;
	lg->plain_at = STAND_BYTES;
	lg->plain = malloc(lg->plain_bytes);
	if (lg->plain == NULL)
		return -ENOMEM;
	memset(lg->plain, 0, lg->plain_bytes);
	return 0;
}

/* ---- the grid ---------------------------------------------------------------- */

static int logger_run(void *arg, unsigned block, unsigned row, double *values)
{
	struct logger *lg = arg;
	struct blk_dev *dev = lg->devs[block].scratch.dev;
	struct spent spent = {0};
	double txns;
	int err;

	if (row == ROW_PLAIN)
		err = plain_run(lg, dev, lg->run_ns, &spent);
	else
		err = log_run(lg, dev, row_checksum[row], lg->run_ns, &spent);
	if (err != 0)
		return err;
	txns = (double)spent.txns;
	values[0] = (double)spent.bytes / (1 << 20) * 1e9 / (double)spent.ns;
	values[1] = (double)spent.switches / txns;
	values[2] = (double)spent.ns / 1e6 / txns;
	values[3] = (double)spent.bytes / (1 << 20) / txns;
	values[4] = (double)spent.writes / txns;
	values[5] = (double)spent.flushes / txns;
	return 0;
}

static void log_judge(struct bench_report *report, const struct bench_grid *g)
{
	for (unsigned b = 0; b < g->block_count; b++) {
		const char *dev = g->blocks[b];
		char what[80];
		const struct bench_ratio ratio = {what, dev, rows[ROW_LOG], dev,
			rows[ROW_PLAIN], BENCH_AT_LEAST, 0.8};

		(void)snprintf(
			what, sizeof(what), "log over plain writes, %s", dev);
		bench_report_ratio(report, g, &ratio);
	}
}

static int log_part(const struct bench_opts *opts, struct stand_dev *devs,
	unsigned count, struct bench_report *report)
{
	const char *names[BENCH_LIST_MAX];
	struct bench_grid g = {.name = "log",
		.title = "commit 8192 blocks, against plain writes of 4 MiB",
		.block_count = count,
		.blocks = names,
		.row_count = ARRAY_COUNT(rows),
		.rows = rows,
		.metric_count = ARRAY_COUNT(metrics),
		.metrics = metrics,
		.runs = opts->runs,
		.run = logger_run};
	struct logger *lg = calloc(1, sizeof(*lg));
	int err;

	if (lg == NULL)
		return -ENOMEM;
	lg->run_ns = opts->run_ns;
	lg->devs = devs;
	g.arg = lg;
	for (unsigned i = 0; i < count; i++)
		names[i] = devs[i].scratch.spec;
	err = plain_calibrate(lg, devs[0].scratch.dev);
	if (err == 0)
		err = bench_report_grid(report, &g, log_judge);
	free(lg->plain);
	free(lg);
	return err;
}

const struct journal_part journal_part_log = {"log", log_part};
