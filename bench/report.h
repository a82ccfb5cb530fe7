/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - grids on paper: a table for readers, or JSON with every run.
 *
 * A table has a block per client count and a row per configuration: the median
 * of the first metric, that in percent of the block's first row, the standard
 * deviation (marked where it is over 10%), then the medians of the other
 * metrics.  Below it, what the table is to be judged by.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdbool.h>

#include "bench/grid.h"
#include "bench/host.h"
#include "tools/json.h"

enum bench_bound {
	BENCH_NOTE, /* no bound, just worth saying */
	BENCH_AT_LEAST,
	BENCH_AT_MOST,
};

struct bench_bar {
	char what[80];
	double value;
	enum bench_bound bound;
	double limit;
};

enum { BENCH_BARS_MAX = 16 };

struct bench_report {
	bool as_json;
	bool begun; /* something was printed */
	struct json json;
	struct bench_host host; /* as it was at first */
	int argc;
	char *const *argv;
	unsigned bar_count; /* of the grid that comes next */
	struct bench_bar bars[BENCH_BARS_MAX];
};

/* @argv is the command, told for repeating it.  Nothing is printed before the
 * first grid, so that what cannot run leaves no half of a report. */
void bench_report_init(
	struct bench_report *r, bool as_json, int argc, char *const *argv);

/* A bar of the grid that is printed next. */
void bench_report_bar(struct bench_report *r, const char *what, double value,
	enum bench_bound bound, double limit);

/* How many times as large the first metric is in one place as in another. */
struct bench_ratio {
	const char *what;
	const char *above_block;
	const char *above_row;
	const char *below_block;
	const char *below_row;
	enum bench_bound bound;
	double limit;
};

/* A bar of @g's runs in pairs; none where a place was not measured. */
void bench_report_ratio(struct bench_report *r, const struct bench_grid *g,
	const struct bench_ratio *ratio);

/* Measure @g, let @judge (may be NULL) add its bars, print, and release it. */
MUST_USE int bench_report_grid(struct bench_report *r, struct bench_grid *g,
	void (*judge)(struct bench_report *r, const struct bench_grid *g));

void bench_report_end(struct bench_report *r);

#endif /* BENCH_REPORT_H */
