/* SPDX-License-Identifier: BSD-2-Clause */
/* stats.c - see stats.h. */
#include "bench/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

static int order(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median_of(const double *values, unsigned count)
{
	double sorted[BENCH_RUNS_MAX];

	memcpy(sorted, values, sizeof(*sorted) * count);
	qsort(sorted, count, sizeof(*sorted), order);
	return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

struct bench_summary bench_summarize(const double *values, unsigned count)
{
	struct bench_summary s = {0};
	double squares = 0;

	CHECK(count >= 1 && count <= BENCH_RUNS_MAX);
	s.median = median_of(values, count);
	for (unsigned i = 0; i < count; i++)
		s.mean += values[i] / count;
	for (unsigned i = 0; i < count; i++)
		squares += (values[i] - s.mean) * (values[i] - s.mean);
	if (count > 1)
		s.deviation = sqrt(squares / (count - 1));
	return s;
}

double bench_spread(const struct bench_summary *s)
{
	return s->mean == 0 ? 0 : s->deviation / fabs(s->mean) * 100;
}
