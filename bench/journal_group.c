/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * journal_group.c - many threads that all wait for their own operation.
 *
 * Each writes a block, and waits until that is durable, on a device whose
 * flushes take a millisecond.  A commit flushes twice, so whoever comes while
 * one is under way waits for up to two of them.
 *
 * The control lets one thread at a time write and wait: what a commit each
 * costs.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hist.h"
#include "bench/clock.h"
#include "bench/journal.h"
#include "bench/team.h"
#include "blk/layers.h"

enum { FLUSH_NS = 1000000, GROUPED = 0, ONE_BY_ONE = 1 };

static const struct bench_metric metrics[] = {
	{"waits_per_s", "waits/s", 0},
	{"switches_per_wait", "switches/op", 2},
	{"waits_per_commit", "waits/commit", 2},
	{"wait_ms_mean", "mean ms", 3},
	{"wait_ms_p50", "p50 ms", 3},
	{"wait_ms_p99", "p99 ms", 3},
	{"flush_ms_mean", "flush ms", 3},
};

static const char *const rows[] = {
	[GROUPED] = "in groups", [ONE_BY_ONE] = "one by one"};

struct waiter {
	struct hist ns;
	uint64_t waits; /* warming up included, as the journal's counts are */
};

struct group {
	struct bench_clients clients;
	uint64_t run_ns;
	struct stand_dev *dev;
	struct stand stand;
	struct waiter *waiters; /* one a member */
	bool one_by_one;
	pthread_mutex_t turn;
};

/* One operation on @b, made durable; how long that took is added to @w. */
static int group_one(struct group *g, struct buf *b, struct waiter *w)
{
	struct jnl *j = g->stand.jnl;
	struct jnl_op op;
	uint64_t began;
	jnl_tid tid;
	int err = jnl_begin(j, 1, &op);

	if (err != 0)
		return err;
	err = jnl_get_write(&op, b);
	if (err == 0)
		(*(uint64_t *)b->data)++;
	tid = jnl_end(&op);
	began = bench_now_ns();
	if (err == 0)
		err = jnl_wait(j, tid);
	hist_add(&w->ns, bench_now_ns() - began);
	w->waits++;
	return err;
}

static int group_body(struct bench_member *m)
{
	struct group *g = bench_arg(m);
	struct waiter *w = &g->waiters[m->index];
	bool measured = false;
	struct buf *own;
	int err = stand_pin(&g->stand, m->index, 1, &own);

	if (err != 0)
		return err;
	while (err == 0 && bench_next(m)) {
		if (!measured && m->seen == BENCH_MEASURE) {
			hist_init(&w->ns);
			measured = true;
		}
		if (g->one_by_one)
			(void)pthread_mutex_lock(&g->turn);
		err = group_one(g, own, w);
		if (g->one_by_one)
			(void)pthread_mutex_unlock(&g->turn);
	}
	stand_unpin(&own, 1);
	return err;
}

struct group_facts {
	struct bench_result team;
	struct jnl_stats jnl;
	struct blk_stats before;
	struct blk_stats after;
};

static void group_values(struct group *g, unsigned clients,
	struct group_facts *f, double *values)
{
	double flushes =
		(double)(f->after.ops[BLK_FLUSH] - f->before.ops[BLK_FLUSH]);
	double flush_ns =
		(double)(f->after.ns[BLK_FLUSH] - f->before.ns[BLK_FLUSH]);
	struct hist *all = &g->waiters[0].ns;
	uint64_t waits = g->waiters[0].waits;
	double ops = (double)f->team.ops;

	for (unsigned i = 1; i < clients; i++) {
		hist_merge(all, &g->waiters[i].ns);
		waits += g->waiters[i].waits;
	}
	values[0] = ops * 1e9 / (double)f->team.ns;
	values[1] = (double)(f->team.cost.slept + f->team.cost.preempted) / ops;
	values[2] = (double)waits / (double)f->jnl.commits;
	values[3] = (double)hist_mean(all) / 1e6;
	values[4] = (double)hist_quantile(all, HIST_P50) / 1e6;
	values[5] = (double)hist_quantile(all, HIST_P99) / 1e6;
	values[6] = flush_ns / flushes / 1e6;
}

static int group_measure(
	struct group *g, const struct bench_plan *plan, struct group_facts *f)
{
	const struct stand_opts opts = {.commit_ms = STAND_NO_TIMER};
	int err = stand_open(&g->stand, g->dev->scratch.dev, &opts);
	int close_err;

	if (err != 0)
		return err;
	blk_stats_read(g->dev->scratch.dev, &f->before);
	blk_fault_delay_flush(g->dev->fault, FLUSH_NS);
	err = bench_team_run(plan, &f->team);
	blk_fault_delay_flush(g->dev->fault, 0);
	blk_stats_read(g->dev->scratch.dev, &f->after);
	jnl_stats_read(g->stand.jnl, &f->jnl);
	close_err = stand_close(&g->stand);
	return err != 0 ? err : close_err;
}

static int group_run(void *arg, unsigned block, unsigned row, double *values)
{
	struct group *g = arg;
	unsigned clients = g->clients.threads[block];
	const struct bench_plan plan = {.threads = clients,
		.warm_ns = g->run_ns / 5,
		.measure_ns = g->run_ns,
		.body = group_body,
		.arg = g};
	struct group_facts facts;
	int err;

	g->waiters = calloc(clients, sizeof(*g->waiters));
	if (g->waiters == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < clients; i++)
		hist_init(&g->waiters[i].ns);
	g->one_by_one = row == ONE_BY_ONE;
	err = group_measure(g, &plan, &facts);
	if (err == 0 && facts.team.ops != 0 && facts.jnl.commits != 0)
		group_values(g, clients, &facts, values);
	free(g->waiters);
	return err;
}

/* The bars are for sixteen. */
static void group_judge(struct bench_report *report, const struct bench_grid *g)
{
	int block = bench_grid_block(g, "16 clients");

	if (block < 0)
		return;
	bench_report_bar(report, "waits per commit, in groups",
		bench_grid_summary(g, (unsigned)block, GROUPED, 2).median,
		BENCH_AT_LEAST, 8);
	bench_report_bar(report, "mean wait in ms, in groups",
		bench_grid_summary(g, (unsigned)block, GROUPED, 3).median,
		BENCH_AT_MOST, 4.5);
}

static int group_part(const struct bench_opts *opts, struct stand_dev *devs,
	unsigned count, struct bench_report *report)
{
	static const unsigned usual[] = {16};
	struct group group = {.run_ns = opts->run_ns,
		.dev = &devs[0],
		.turn = PTHREAD_MUTEX_INITIALIZER};
	struct bench_grid g = {.name = "group",
		.title = "write a block, wait for its commit; "
			 "a flush takes 1 ms",
		.row_count = ARRAY_COUNT(rows),
		.rows = rows,
		.metric_count = ARRAY_COUNT(metrics),
		.metrics = metrics,
		.runs = opts->runs,
		.run = group_run,
		.arg = &group};

	(void)count;
	bench_clients_init(&group.clients, opts, usual, ARRAY_COUNT(usual));
	g.block_count = group.clients.count;
	g.blocks = group.clients.names;
	return bench_report_grid(report, &g, group_judge);
}

const struct journal_part journal_part_group = {"group", group_part};
