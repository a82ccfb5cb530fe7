/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c - see report.h. */
#include "bench/report.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"

enum { NAME_WIDTH = 24, COLUMN_WIDTH = 14, SPREAD_MAX = 10 };

/* ---- bars ---------------------------------------------------------------- */

void bench_report_bar(struct bench_report *r, const char *what, double value,
	enum bench_bound bound, double limit)
{
	struct bench_bar *bar = &r->bars[r->bar_count];

	CHECK(r->bar_count < BENCH_BARS_MAX);
	*bar = (struct bench_bar){
		.value = value, .bound = bound, .limit = limit};
	(void)snprintf(bar->what, sizeof(bar->what), "%s", what);
	r->bar_count++;
}

void bench_report_ratio(struct bench_report *r, const struct bench_grid *g,
	const struct bench_ratio *ratio)
{
	const struct bench_place above = {
		bench_grid_block(g, ratio->above_block),
		bench_grid_row(g, ratio->above_row)};
	const struct bench_place below = {
		bench_grid_block(g, ratio->below_block),
		bench_grid_row(g, ratio->below_row)};
	double value = bench_grid_ratio(g, above, below);

	if (value >= 0)
		bench_report_bar(
			r, ratio->what, value, ratio->bound, ratio->limit);
}

static bool bar_met(const struct bench_bar *bar)
{
	return bar->bound == BENCH_NOTE ||
	       (bar->bound == BENCH_AT_LEAST ? bar->value >= bar->limit
					     : bar->value <= bar->limit);
}

static void text_bar(const struct bench_bar *bar)
{
	(void)printf("  %s: %.3g", bar->what, bar->value);
	if (bar->bound != BENCH_NOTE)
		(void)printf(", at %s %.3g: %s",
			bar->bound == BENCH_AT_LEAST ? "least" : "most",
			bar->limit, bar_met(bar) ? "met" : "MISSED");
	(void)printf("\n");
}

static void json_bar(struct json *j, const struct bench_bar *bar)
{
	json_line(j);
	json_object(j, NULL);
	json_string(j, "what", bar->what);
	json_real(j, "value", bar->value);
	if (bar->bound == BENCH_AT_LEAST)
		json_real(j, "at_least", bar->limit);
	if (bar->bound == BENCH_AT_MOST)
		json_real(j, "at_most", bar->limit);
	if (bar->bound != BENCH_NOTE)
		json_bool(j, "met", bar_met(bar));
	json_end(j);
}

/* ---- a table ------------------------------------------------------------- */

static void text_heads(const struct bench_grid *g, const char *block)
{
	(void)printf("%-*s%*s%8s%8s", NAME_WIDTH, block, COLUMN_WIDTH,
		g->metrics[0].head, "%", "sd %");
	for (unsigned m = 1; m < g->metric_count; m++)
		(void)printf("%*s", COLUMN_WIDTH, g->metrics[m].head);
	(void)printf("\n");
}

static void text_row(const struct bench_grid *g, unsigned block, unsigned row)
{
	struct bench_summary first = bench_grid_summary(g, block, 0, 0);
	struct bench_summary s = bench_grid_summary(g, block, row, 0);
	double spread = bench_spread(&s);

	(void)printf("  %-*s%*.*f%8.1f%7.1f%c", NAME_WIDTH - 2, g->rows[row],
		COLUMN_WIDTH, g->metrics[0].decimals, s.median,
		first.median == 0 ? 0 : s.median / first.median * 100, spread,
		spread > SPREAD_MAX ? '!' : ' ');
	for (unsigned m = 1; m < g->metric_count; m++)
		(void)printf("%*.*f", COLUMN_WIDTH, g->metrics[m].decimals,
			bench_grid_summary(g, block, row, m).median);
	(void)printf("\n");
}

static void text_grid(struct bench_report *r, const struct bench_grid *g)
{
	(void)printf("\n%s: %s\n", g->name, g->title);
	for (unsigned block = 0; block < g->block_count; block++) {
		text_heads(g, g->blocks[block]);
		for (unsigned row = 0; row < g->row_count; row++)
			text_row(g, block, row);
	}
	for (unsigned i = 0; i < r->bar_count; i++)
		text_bar(&r->bars[i]);
}

/* ---- JSON ---------------------------------------------------------------- */

static void json_cell(struct json *j, const struct bench_grid *g,
	unsigned block, unsigned row)
{
	json_line(j);
	json_object(j, NULL);
	json_string(j, "block", g->blocks[block]);
	json_string(j, "row", g->rows[row]);
	for (unsigned m = 0; m < g->metric_count; m++) {
		struct bench_summary s = bench_grid_summary(g, block, row, m);
		const double *values = bench_grid_cell(g, block, row, m);

		json_object(j, g->metrics[m].key);
		json_real(j, "median", s.median);
		json_real(j, "mean", s.mean);
		json_real(j, "deviation", s.deviation);
		json_array(j, "runs");
		for (unsigned i = 0; i < g->runs; i++)
			json_real(j, NULL, values[i]);
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

static void json_grid(struct bench_report *r, const struct bench_grid *g)
{
	struct json *j = &r->json;

	json_line(j);
	json_object(j, NULL);
	json_string(j, "name", g->name);
	json_string(j, "title", g->title);
	json_array(j, "cells");
	for (unsigned block = 0; block < g->block_count; block++)
		for (unsigned row = 0; row < g->row_count; row++)
			json_cell(j, g, block, row);
	json_end(j);
	json_line(j);
	json_array(j, "bars");
	for (unsigned i = 0; i < r->bar_count; i++)
		json_bar(j, &r->bars[i]);
	json_end(j);
	json_end(j);
}

/* ---- the frame ----------------------------------------------------------- */

static void text_begin(const struct bench_report *r)
{
	const struct bench_host *h = &r->host;

	(void)printf("extant %s, %s build, %s\n", h->version, h->flavour,
		h->compiler);
	(void)printf("%s, %u x %s, %.1f GiB, load %.2f\n", h->kernel, h->cpus,
		h->cpu, (double)h->memory_bytes / (1 << 30), h->load);
	(void)printf("extant");
	for (int i = 0; i < r->argc; i++)
		(void)printf(" %s", r->argv[i]);
	(void)printf("\n");
	if (strcmp(h->flavour, "release") != 0)
		(void)printf("Not a release build: its figures say nothing.\n");
}

static void json_begin(struct bench_report *r)
{
	const struct bench_host *h = &r->host;
	struct json *j = &r->json;

	json_init(j, stdout);
	json_object(j, NULL);
	json_array(j, "command");
	json_string(j, NULL, "extant");
	for (int i = 0; i < r->argc; i++)
		json_string(j, NULL, r->argv[i]);
	json_end(j);
	json_line(j);
	json_object(j, "host");
	json_string(j, "kernel", h->kernel);
	json_string(j, "cpu", h->cpu);
	json_unsigned(j, "cpus", h->cpus);
	json_unsigned(j, "memory_bytes", h->memory_bytes);
	json_string(j, "version", h->version);
	json_string(j, "flavour", h->flavour);
	json_string(j, "compiler", h->compiler);
	json_real(j, "load_before", h->load);
	json_end(j);
	json_line(j);
	json_array(j, "grids");
}

void bench_report_init(
	struct bench_report *r, bool as_json, int argc, char *const *argv)
{
	*r = (struct bench_report){
		.as_json = as_json, .argc = argc, .argv = argv};
	bench_host_read(&r->host);
}

static void report_begin(struct bench_report *r)
{
	if (r->begun)
		return;
	r->begun = true;
	if (r->as_json)
		json_begin(r);
	else
		text_begin(r);
	(void)fflush(stdout);
}

int bench_report_grid(struct bench_report *r, struct bench_grid *g,
	void (*judge)(struct bench_report *r, const struct bench_grid *g))
{
	int err;

	report_begin(r);
	err = bench_grid_run(g);
	if (err != 0)
		goto out_fini;
	if (judge != NULL)
		judge(r, g);
	if (r->as_json)
		json_grid(r, g);
	else
		text_grid(r, g);
	(void)fflush(stdout);
out_fini:
	r->bar_count = 0;
	bench_grid_fini(g);
	return err;
}

void bench_report_end(struct bench_report *r)
{
	struct bench_host host;

	if (!r->as_json || !r->begun)
		return;
	bench_host_read(&host);
	json_end(&r->json);
	json_line(&r->json);
	json_real(&r->json, "load_after", host.load);
	json_end(&r->json);
}
