/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * journal_latency.c - how long single begins take, with and without commits.
 *
 * One thread runs the operation of journal_ops.c and times each begin by the
 * time stamp counter.  The kernel's account of the thread is read every 64
 * operations: when it shows a switch against the thread's will, those 64 go
 * to a histogram of their own, "apart", because the time of one of them was
 * not spent in begin.  Begins that slept for a commit stay: that wait is
 * theirs.
 *
 * The first row times nothing at all: what the clock adds to each sample.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hist.h"
#include "bench/clock.h"
#include "bench/journal.h"
#include "bench/team.h"

enum { BATCH = 64, OWN = 4, NO_COMMITS = 0, TIMED = 1, BACK_TO_BACK = 2 };

static const char *const blocks[] = {
	[NO_COMMITS] = "no commits",
	[TIMED] = "every 100 ms",
	[BACK_TO_BACK] = "back to back",
};

static const struct bench_metric metrics[] = {
	{"p50_ns", "p50 ns", 1},
	{"p99_ns", "p99 ns", 1},
	{"p99_99_ns", "p99.99 ns", 1},
	{"max_ns", "max ns", 0},
	{"apart_percent", "apart %", 3},
	{"all_p99_99_ns", "all p99.99", 1},
	{"commits_per_s", "commits/s", 0},
	{"switches_per_op", "switches/op", 7},
};

struct latency {
	struct stand_rows rows; /* the first is the clock alone */
	uint64_t run_ns;
	struct blk_dev *dev;
	struct stand stand;
	struct hist *on_cpu; /* ticks */
	struct hist *apart;
	_Atomic bool stop; /* the committing thread */
};

static int latency_one(struct jnl *j, struct buf *const *own, uint64_t *ticks)
{
	struct jnl_op op;
	uint64_t from = bench_tick_first();
	int err = jnl_begin(j, OWN, &op);

	*ticks = bench_tick_last() - from;
	if (err != 0)
		return err;
	for (unsigned i = 0; i < OWN && err == 0; i++) {
		err = jnl_get_write(&op, own[i]);
		if (err == 0)
			(*(uint64_t *)own[i]->data)++;
	}
	(void)jnl_end(&op);
	return err;
}

static int latency_batch(
	struct latency *lat, struct buf *const *own, uint64_t *ticks)
{
	int err = 0;

	for (unsigned i = 0; i < BATCH && err == 0; i++)
		err = latency_one(lat->stand.jnl, own, &ticks[i]);
	return err;
}

static int clock_batch(uint64_t *ticks)
{
	for (unsigned i = 0; i < BATCH; i++) {
		uint64_t from = bench_tick_first();

		ticks[i] = bench_tick_last() - from;
	}
	return 0;
}

static int latency_loop(
	struct bench_member *m, struct buf *const *own, bool clock)
{
	struct latency *lat = bench_arg(m);
	uint64_t ticks[BATCH];
	struct bench_cost before;
	struct bench_cost after;
	int err = 0;

	bench_cost_read(&before);
	while (err == 0 && bench_next(m)) {
		struct hist *h = lat->on_cpu;

		err = clock ? clock_batch(ticks)
			    : latency_batch(lat, own, ticks);
		bench_cost_read(&after);
		if (after.preempted != before.preempted)
			h = lat->apart;
		before = after;
		for (unsigned i = 0;
			i < BATCH && m->seen == BENCH_MEASURE && err == 0; i++)
			hist_add(h, ticks[i]);
	}
	return err;
}

static int latency_body(struct bench_member *m)
{
	struct latency *lat = bench_arg(m);
	struct buf *own[OWN];
	int err = stand_pin(&lat->stand, 0, OWN, own);

	if (err != 0)
		return err;
	err = latency_loop(m, own, false);
	stand_unpin(own, OWN);
	return err;
}

static int clock_body(struct bench_member *m)
{
	return latency_loop(m, NULL, true);
}

/* ---- commits -------------------------------------------------------------- */

static void *committer(void *arg)
{
	struct latency *lat = arg;

	/* An abort shows in the operations. */
	while (!atomic_load_explicit(&lat->stop, memory_order_relaxed))
		(void)!jnl_sync(lat->stand.jnl);
	return NULL;
}

static int team_beside_commits(struct latency *lat, bool committing,
	const struct bench_plan *plan, struct bench_result *out)
{
	pthread_t thread;
	int err = 0;

	atomic_store(&lat->stop, false);
	if (committing)
		err = -pthread_create(&thread, NULL, committer, lat);
	if (err != 0)
		return err;
	err = bench_team_run(plan, out);
	atomic_store(&lat->stop, true);
	if (committing)
		(void)pthread_join(thread, NULL);
	return err;
}

/* ---- one run -------------------------------------------------------------- */

static void latency_values(
	const struct latency *lat, const struct bench_result *r, double *values)
{
	double tick = bench_ns_per_tick();
	double ops = (double)r->ops * BATCH;
	uint64_t apart = lat->apart->count;
	double all;

	values[0] = (double)hist_quantile(lat->on_cpu, HIST_P50) * tick;
	values[1] = (double)hist_quantile(lat->on_cpu, HIST_P99) * tick;
	values[2] = (double)hist_quantile(lat->on_cpu, HIST_P9999) * tick;
	values[3] = (double)hist_quantile(lat->on_cpu, HIST_MAX) * tick;
	hist_merge(lat->on_cpu, lat->apart);
	all = (double)lat->on_cpu->count;
	values[4] = all == 0 ? 0 : (double)apart * 100 / all;
	values[5] = (double)hist_quantile(lat->on_cpu, HIST_P9999) * tick;
	values[7] = ops == 0
			    ? 0
			    : (double)(r->cost.slept + r->cost.preempted) / ops;
}

static int latency_run(void *arg, unsigned block, unsigned row, double *values)
{
	struct latency *lat = arg;
	const struct stand_opts opts = {.admission = lat->rows.admission[row],
		.commit_ms = block == TIMED ? 100 : STAND_NO_TIMER};
	const struct bench_plan plan = {.threads = 1,
		.warm_ns = lat->run_ns / 5,
		.measure_ns = lat->run_ns,
		.body = row == 0 ? clock_body : latency_body,
		.arg = lat};
	struct bench_result r;
	struct jnl_stats stats;
	int err = stand_open(&lat->stand, lat->dev, &opts);
	int close_err;

	if (err != 0)
		return err;
	hist_init(lat->on_cpu);
	hist_init(lat->apart);
	err = team_beside_commits(
		lat, row != 0 && block == BACK_TO_BACK, &plan, &r);
	jnl_stats_read(lat->stand.jnl, &stats);
	close_err = stand_close(&lat->stand);
	if (err != 0 || close_err != 0)
		return err != 0 ? err : close_err;
	latency_values(lat, &r, values);
	values[6] = (double)stats.commits * 1e9 / (double)(r.ns + plan.warm_ns);
	return 0;
}

static int latency_part(const struct bench_opts *opts, struct stand_dev *devs,
	unsigned count, struct bench_report *report)
{
	struct latency lat = {
		.run_ns = opts->run_ns, .dev = devs[0].scratch.dev};
	struct bench_grid g = {.name = "latency",
		.title = "single begins while commits run",
		.block_count = ARRAY_COUNT(blocks),
		.blocks = blocks,
		.metric_count = ARRAY_COUNT(metrics),
		.metrics = metrics,
		.runs = opts->runs,
		.run = latency_run,
		.arg = &lat};
	int err = -ENOMEM;

	(void)count;
	lat.rows.names[lat.rows.count++] = "clock alone";
	stand_rows_add(&lat.rows, opts);
	g.rows = lat.rows.names;
	g.row_count = lat.rows.count;
	lat.on_cpu = malloc(sizeof(*lat.on_cpu));
	lat.apart = malloc(sizeof(*lat.apart));
	if (lat.on_cpu != NULL && lat.apart != NULL)
		err = bench_report_grid(report, &g, NULL);
	free(lat.on_cpu);
	free(lat.apart);
	return err;
}

const struct journal_part journal_part_latency = {"latency", latency_part};
