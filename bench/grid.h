/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grid.h - configurations measured against each other.
 *
 * A grid has blocks (so many clients; this device), the same rows in each
 * (configurations), and in each cell a number of runs that yield a value for
 * each metric.  The first run of every cell comes before the second of any:
 *
 *     run 1:  block A: row 1, row 2 ...  block B: row 1, row 2 ...
 *     run 2:  the same again
 *
 * so what the machine does meanwhile meets all alike, and the n-th runs of
 * two cells make a pair.
 */
#ifndef BENCH_GRID_H
#define BENCH_GRID_H

#include "base/cc.h"
#include "bench/stats.h"

struct bench_metric {
	const char *key;  /* for programs: "ops_per_s" */
	const char *head; /* of a column: "ops/s" */
	int decimals;
};

struct bench_grid {
	const char *name;  /* for programs: "ops" */
	const char *title; /* for readers, one line */
	unsigned block_count;
	const char *const *blocks;
	unsigned row_count;
	const char *const *rows;
	unsigned metric_count;
	const struct bench_metric *metrics; /* the first one is compared */
	unsigned runs;                      /* 1 to BENCH_RUNS_MAX */
	/* One run of a cell: a value for each metric.  0 or -errno. */
	int (*run)(void *arg, unsigned block, unsigned row, double *values);
	void *arg;
	double *values; /* bench_grid_cell() */
};

/* Fill @g->values; -ENOMEM, or what a run said. */
MUST_USE int bench_grid_run(struct bench_grid *g);
void bench_grid_fini(struct bench_grid *g);

/* The @g->runs values of a metric in a cell, in the order of the runs. */
double *bench_grid_cell(const struct bench_grid *g, unsigned block,
	unsigned row, unsigned metric);

struct bench_summary bench_grid_summary(const struct bench_grid *g,
	unsigned block, unsigned row, unsigned metric);

/* The index of a block or row by its name; -1: there is none. */
int bench_grid_block(const struct bench_grid *g, const char *name);
int bench_grid_row(const struct bench_grid *g, const char *name);

struct bench_place {
	int block;
	int row;
};

/*
 * How many times as large the first metric is in @above as in @below: the
 * median over pairs of runs.  Negative if either place does not exist.
 */
double bench_grid_ratio(const struct bench_grid *g, struct bench_place above,
	struct bench_place below);

#endif /* BENCH_GRID_H */
