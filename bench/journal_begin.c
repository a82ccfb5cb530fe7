/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * journal_begin.c - what begin and end cost alone.
 *
 * One thread, nothing written, no commit: time on the CPU per pair.  The
 * yardstick, measured beside, is six atomic additions on a line that nobody
 * else touches.
 */
#include "bench/journal.h"
#include "bench/team.h"

enum { BATCH = 16, CREDITS = 4 };

#define YARDSTICK "six atomic additions"

static const struct bench_metric metrics[] = {
	{"ns", "ns", 2},
	{"switches_per_op", "switches/op", 7},
};

struct pair {
	struct stand_rows rows; /* the first is the yardstick */
	uint64_t run_ns;
	struct blk_dev *dev;
	struct stand stand;
};

static int adds_body(struct bench_member *m)
{
	struct LINE_ALIGNED {
		_Atomic uint64_t word;
	} line = {0};

	while (bench_next(m))
		for (unsigned i = 0; i < BATCH; i++) {
			atomic_fetch_add(&line.word, 1);
			atomic_fetch_add(&line.word, 1);
			atomic_fetch_add(&line.word, 1);
			atomic_fetch_add(&line.word, 1);
			atomic_fetch_add(&line.word, 1);
			atomic_fetch_add(&line.word, 1);
		}
	return 0;
}

static int pair_body(struct bench_member *m)
{
	struct pair *pair = bench_arg(m);
	struct jnl *j = pair->stand.jnl;
	struct jnl_op op;
	int err = 0;

	while (err == 0 && bench_next(m))
		for (unsigned i = 0; i < BATCH; i++) {
			err = jnl_begin(j, CREDITS, &op);
			if (err != 0)
				break;
			(void)jnl_end(&op);
		}
	return err;
}

static int pair_run(void *arg, unsigned block, unsigned row, double *values)
{
	struct pair *pair = arg;
	const struct stand_opts opts = {.admission = pair->rows.admission[row],
		.commit_ms = STAND_NO_TIMER};
	const struct bench_plan plan = {.threads = 1,
		.warm_ns = pair->run_ns / 5,
		.measure_ns = pair->run_ns,
		.body = row == 0 ? adds_body : pair_body,
		.arg = pair};
	struct bench_result r;
	int err = stand_open(&pair->stand, pair->dev, &opts);
	int close_err;
	double pairs;

	(void)block;
	if (err != 0)
		return err;
	err = bench_team_run(&plan, &r);
	close_err = stand_close(&pair->stand);
	if (err != 0 || close_err != 0 || r.ops == 0)
		return err != 0 ? err : close_err;
	pairs = (double)r.ops * BATCH;
	values[0] = (double)r.cost.cpu_ns / pairs;
	values[1] = (double)(r.cost.slept + r.cost.preempted) / pairs;
	return 0;
}

static void begin_judge(struct bench_report *report, const struct bench_grid *g)
{
	static const struct bench_ratio ratio = {
		"percpu over six atomic additions", "1 client", "percpu",
		"1 client", YARDSTICK, BENCH_AT_MOST, 1};

	bench_report_ratio(report, g, &ratio);
}

static int begin_part(const struct bench_opts *opts, struct stand_dev *devs,
	unsigned count, struct bench_report *report)
{
	static const char *const blocks[] = {"1 client"};
	struct pair pair = {.run_ns = opts->run_ns, .dev = devs[0].scratch.dev};
	struct bench_grid g = {.name = "begin",
		.title = "begin and end alone, time on the CPU",
		.block_count = ARRAY_COUNT(blocks),
		.blocks = blocks,
		.metric_count = ARRAY_COUNT(metrics),
		.metrics = metrics,
		.runs = opts->runs,
		.run = pair_run,
		.arg = &pair};

	(void)count;
	pair.rows.names[pair.rows.count++] = YARDSTICK;
	stand_rows_add(&pair.rows, opts);
	g.rows = pair.rows.names;
	g.row_count = pair.rows.count;
	return bench_report_grid(report, &g, begin_judge);
}

const struct journal_part journal_part_begin = {"begin", begin_part};
