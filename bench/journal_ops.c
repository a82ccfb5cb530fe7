/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * journal_ops.c - operations on blocks that no other thread touches.
 *
 * Each thread begins, gets write access to four blocks of its own, changes a
 * word in each, and ends; a commit takes place ten times a second.  Whatever
 * keeps this from growing with the processors is the journal's.
 *
 * Two controls are the kernel's earlier answers, atomic counters and a lock.
 * The third shares nothing at all and asks no journal: two atomic additions
 * on a line of the thread's own around the four changes.  It says what these
 * processors can do.
 */
#include "bench/journal.h"
#include "bench/team.h"

enum { OWN = 4, COMMIT_MS = 100 };

static const struct bench_metric metrics[] = {
	{"ops_per_s", "ops/s", 0},
	{"switches_per_op", "switches/op", 6},
	{"cpu_ns_per_op", "cpu ns/op", 1},
	{"commits_per_s", "commits/s", 1},
};

struct ops {
	struct stand_rows rows;
	struct bench_clients clients;
	uint64_t run_ns;
	struct blk_dev *dev;
	struct stand stand;
};

static int ops_one(struct jnl *j, struct buf *const *own, uint64_t value)
{
	struct jnl_op op;
	int err = jnl_begin(j, OWN, &op);

	if (err != 0)
		return err;
	for (unsigned i = 0; i < OWN && err == 0; i++) {
		err = jnl_get_write(&op, own[i]);
		if (err == 0)
			*(uint64_t *)own[i]->data = value;
	}
	(void)jnl_end(&op);
	return err;
}

static int ops_body(struct bench_member *m)
{
	struct ops *ops = bench_arg(m);
	struct buf *own[OWN];
	int err = stand_pin(&ops->stand, m->index * OWN, OWN, own);

	if (err != 0)
		return err;
	while (err == 0 && bench_next(m))
		err = ops_one(ops->stand.jnl, own, m->ops);
	stand_unpin(own, OWN);
	return err;
}

static int bare_body(struct bench_member *m)
{
	struct LINE_ALIGNED {
		_Atomic uint64_t word;
	} line = {0};
	struct ops *ops = bench_arg(m);
	struct buf *own[OWN];
	int err = stand_pin(&ops->stand, m->index * OWN, OWN, own);

	if (err != 0)
		return err;
	while (bench_next(m)) {
		atomic_fetch_add(&line.word, 1);
		for (unsigned i = 0; i < OWN; i++)
			*(volatile uint64_t *)own[i]->data = m->ops;
		atomic_fetch_sub(&line.word, 1);
	}
	stand_unpin(own, OWN);
	return 0;
}

static bool row_is_bare(const struct ops *ops, unsigned row)
{
	return row == ops->rows.count - 1;
}

static int ops_run(void *arg, unsigned block, unsigned row, double *values)
{
	struct ops *ops = arg;
	const struct stand_opts opts = {
		.admission = ops->rows.admission[row], .commit_ms = COMMIT_MS};
	const struct bench_plan plan = {.threads = ops->clients.threads[block],
		.warm_ns = ops->run_ns / 5,
		.measure_ns = ops->run_ns,
		.body = row_is_bare(ops, row) ? bare_body : ops_body,
		.arg = ops};
	struct bench_result r;
	struct jnl_stats stats;
	int err = stand_open(&ops->stand, ops->dev, &opts);
	int close_err;

	if (err != 0)
		return err;
	err = bench_team_run(&plan, &r);
	jnl_stats_read(ops->stand.jnl, &stats);
	close_err = stand_close(&ops->stand);
	if (err != 0 || close_err != 0 || r.ops == 0)
		return err != 0 ? err : close_err;
	values[0] = (double)r.ops * 1e9 / (double)r.ns;
	values[1] = (double)(r.cost.slept + r.cost.preempted) / (double)r.ops;
	values[2] = (double)r.cost.cpu_ns / (double)r.ops;
	values[3] = (double)stats.commits * 1e9 / (double)(r.ns + plan.warm_ns);
	return 0;
}

/* ---- bars ---------------------------------------------------------------- */

static void ops_judge(struct bench_report *report, const struct bench_grid *g)
{
	static const struct bench_ratio ratios[] = {
		{"percpu: T(2)/T(1)", "2 clients", "percpu", "1 client",
			"percpu", BENCH_AT_LEAST, 1.7},
		{"percpu: T(128)/T(2)", "128 clients", "percpu", "2 clients",
			"percpu", BENCH_AT_LEAST, 0.95},
		{"lock, which must show its lesson: T(2)/T(1)", "2 clients",
			"lock", "1 client", "lock", BENCH_AT_MOST, 1.2},
		{"atomic: T(2)/T(1)", "2 clients", "atomic", "1 client",
			"atomic", BENCH_NOTE, 0},
		{"bare: T(2)/T(1)", "2 clients", "bare", "1 client", "bare",
			BENCH_NOTE, 0},
		{"bare: T(128)/T(2)", "128 clients", "bare", "2 clients",
			"bare", BENCH_NOTE, 0},
	};

	for (size_t i = 0; i < ARRAY_COUNT(ratios); i++)
		bench_report_ratio(report, g, &ratios[i]);
}

static int ops_part(const struct bench_opts *opts, struct stand_dev *devs,
	unsigned count, struct bench_report *report)
{
	static const unsigned usual[] = {1, 2, 8, 32, 128};
	struct ops ops = {.run_ns = opts->run_ns, .dev = devs[0].scratch.dev};
	struct bench_grid g = {.name = "ops",
		.title = "begin, get_write of 4 own blocks, end; "
			 "commits every 100 ms",
		.metric_count = ARRAY_COUNT(metrics),
		.metrics = metrics,
		.runs = opts->runs,
		.run = ops_run,
		.arg = &ops};

	(void)count;
	bench_clients_init(&ops.clients, opts, usual, ARRAY_COUNT(usual));
	g.block_count = ops.clients.count;
	g.blocks = ops.clients.names;
	stand_rows_add(&ops.rows, opts);
	ops.rows.names[ops.rows.count++] = "bare";
	g.row_count = ops.rows.count;
	g.rows = ops.rows.names;
	return bench_report_grid(report, &g, ops_judge);
}

const struct journal_part journal_part_ops = {"ops", ops_part};
