/* SPDX-License-Identifier: BSD-2-Clause */
/* grid.c - see grid.h. */
#include "bench/grid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { METRICS_MAX = 16 };

double *bench_grid_cell(const struct bench_grid *g, unsigned block,
	unsigned row, unsigned metric)
{
	size_t cell = (size_t)block * g->row_count + row;

	return g->values + (cell * g->metric_count + metric) * g->runs;
}

/* Somebody waits for minutes: say how far it is. */
static void grid_tell(const struct bench_grid *g, unsigned done, unsigned all)
{
	if (isatty(STDERR_FILENO) == 1)
		(void)fprintf(stderr, "\r%s: run %u of %u%s", g->name, done,
			all, done == all ? "\n" : "");
}

static int grid_run_cell(
	struct bench_grid *g, unsigned run, unsigned block, unsigned row)
{
	double values[METRICS_MAX] = {0};
	int err = g->run(g->arg, block, row, values);

	for (unsigned m = 0; m < g->metric_count; m++)
		bench_grid_cell(g, block, row, m)[run] = values[m];
	return err;
}

int bench_grid_run(struct bench_grid *g)
{
	unsigned cells = g->block_count * g->row_count;
	unsigned all = cells * g->runs;
	int err = 0;

	if (g->metric_count > METRICS_MAX || g->runs > BENCH_RUNS_MAX)
		return -EINVAL;
	g->values =
		calloc((size_t)all * g->metric_count + 1, sizeof(*g->values));
	if (g->values == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < all && err == 0; i++) {
		unsigned cell = i % cells;

		grid_tell(g, i, all);
		err = grid_run_cell(
			g, i / cells, cell / g->row_count, cell % g->row_count);
	}
	grid_tell(g, all, all);
	return err;
}

void bench_grid_fini(struct bench_grid *g)
{
	free(g->values);
	g->values = NULL;
}

struct bench_summary bench_grid_summary(const struct bench_grid *g,
	unsigned block, unsigned row, unsigned metric)
{
	return bench_summarize(bench_grid_cell(g, block, row, metric), g->runs);
}

static int index_of(const char *const *names, unsigned count, const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return (int)i;
	return -1;
}

int bench_grid_block(const struct bench_grid *g, const char *name)
{
	return index_of(g->blocks, g->block_count, name);
}

int bench_grid_row(const struct bench_grid *g, const char *name)
{
	return index_of(g->rows, g->row_count, name);
}

static const double *place_cell(
	const struct bench_grid *g, struct bench_place place)
{
	if (place.block < 0 || place.row < 0)
		return NULL;
	return bench_grid_cell(
		g, (unsigned)place.block, (unsigned)place.row, 0);
}

double bench_grid_ratio(const struct bench_grid *g, struct bench_place above,
	struct bench_place below)
{
	const double *x = place_cell(g, above);
	const double *y = place_cell(g, below);
	double ratios[BENCH_RUNS_MAX];

	if (x == NULL || y == NULL)
		return -1;
	for (unsigned i = 0; i < g->runs; i++)
		ratios[i] = y[i] == 0 ? 0 : x[i] / y[i];
	return bench_summarize(ratios, g->runs).median;
}
