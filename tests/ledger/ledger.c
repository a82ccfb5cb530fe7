/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ledger.c - run every operation against every other, and tell who meets whom.
 *
 * Exit status: 0 if what must scale does, and the controls do not; 1 if not;
 * 2 if something could not be run.
 */
#include "ledger.h"

#include <fnmatch.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap.h"
#include "symbols.h"

enum { OPS_MAX = 40 };

static const struct ledger_group *const groups[] = {
	&ledger_sync,
	&ledger_cache,
	&ledger_jnl,
	&ledger_vfs,
};

static struct {
	const char *exceptions;
	const char *only; /* operations to run: a pattern of fnmatch(3) */
	bool strict;      /* a meeting on a pair of lines is red too */
	bool all;
} options = {.exceptions = LEDGER_EXCEPTIONS, .only = "*"};

static const struct ledger_op *ops[OPS_MAX];
static unsigned op_count;
static unsigned wrong;

static int groups_open(void)
{
	for (size_t i = 0; i < ARRAY_COUNT(groups); i++) {
		const struct ledger_group *g = groups[i];
		int err = g->open != NULL ? g->open() : 0;

		if (err != 0) {
			(void)fprintf(stderr, "ledger: %s: cannot open: %s\n",
				g->ops[0].name, strerrordesc_np(-err));
			return err;
		}
		for (unsigned k = 0; k < g->count; k++) {
			if (fnmatch(options.only, g->ops[k].name, 0) != 0)
				continue;
			if (op_count == OPS_MAX)
				abort();
			ops[op_count++] = &g->ops[k];
		}
	}
	return 0;
}

static void groups_close(void)
{
	for (size_t i = ARRAY_COUNT(groups); i-- > 0;) {
		if (groups[i]->close != NULL)
			groups[i]->close();
	}
}

static bool group_has(const struct ledger_group *g, const struct ledger_op *op)
{
	return op >= g->ops && op < g->ops + g->count;
}

static int groups_fresh(const struct ledger_op *a, const struct ledger_op *b)
{
	int err = 0;

	for (size_t i = 0; i < ARRAY_COUNT(groups) && err == 0; i++) {
		const struct ledger_group *g = groups[i];

		if (g->fresh != NULL && (group_has(g, a) || group_has(g, b)))
			err = g->fresh();
	}
	return err;
}

static int run_one(const struct ledger_op *a, const struct ledger_op *b)
{
	enum verdict verdict;
	bool red;
	int err = groups_fresh(a, b);

	if (err == 0)
		err = cell_run(a, b);
	if (err != 0) {
		(void)fprintf(stderr, "ledger: %s x %s: %s\n", a->name, b->name,
			strerrordesc_np(-err));
		return err;
	}
	verdict = report_cell(a, b, options.strict);
	heap_release();
	red = verdict == RED;
	if (red != (a == b && a->control))
		wrong++;
	return 0;
}

static int run_all(void)
{
	int err = 0;

	for (unsigned i = 0; i < op_count && err == 0; i++) {
		for (unsigned k = 0; k <= i && err == 0; k++)
			err = run_one(ops[k], ops[i]);
	}
	return err;
}

static int usage(void)
{
	(void)fputs("usage: ledger [--only PATTERN] [--exceptions FILE] "
		    "[--strict] [--all]\n",
		stderr);
	return 2;
}

static int parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{"only", required_argument, NULL, 'o'},
		{"exceptions", required_argument, NULL, 'e'},
		{"strict", no_argument, NULL, 's'},
		{"all", no_argument, NULL, 'a'},
		{NULL, 0, NULL, 0},
	};
	int c;

	/* One thread, so far. */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'o')
			options.only = optarg;
		else if (c == 'e')
			options.exceptions = optarg;
		else if (c == 's')
			options.strict = true;
		else if (c == 'a')
			options.all = true;
		else
			return usage();
	}
	return optind == argc ? 0 : usage();
}

int main(int argc, char **argv)
{
	int rc = parse(argc, argv);

	if (rc != 0)
		return rc;
	if (exceptions_read(options.exceptions) != 0 || symbols_open() != 0 ||
		cell_open() != 0 || groups_open() != 0 || run_all() != 0)
		return 2;
	(void)printf("%u operations on %u virtual CPUs; in each cell %u runs "
		     "recorded, after %u to warm up\n\n",
		op_count, RECORD_CPUS, cell_runs(), RECORD_CPUS * LEDGER_WARM);
	report_print(ops, op_count, options.all);
	groups_close();
	(void)printf("\nledger: %u of %u cells are as they must be\n",
		op_count * (op_count + 1) / 2 - wrong,
		op_count * (op_count + 1) / 2);
	return wrong == 0 ? 0 : 1;
}
