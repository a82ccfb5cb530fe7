/* SPDX-License-Identifier: BSD-2-Clause */
/* stats.h - what repeated runs say together. */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

enum { BENCH_RUNS_MAX = 99 };

struct bench_summary {
	double median; /* of an even count: the mean of the middle two */
	double mean;
	double deviation; /* standard deviation of a sample; 0 of one run */
};

/* @count is 1 to BENCH_RUNS_MAX; @values keep their order. */
struct bench_summary bench_summarize(const double *values, unsigned count);

/* The standard deviation in percent of the mean; 0 if that is 0. */
double bench_spread(const struct bench_summary *s);

#endif /* BENCH_STATS_H */
