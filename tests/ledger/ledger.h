/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ledger.h - operations that are run against each other, two at a time.
 *
 * An operation that scales stores to no cache line that another CPU touches,
 * neither against itself nor against any other operation.  A control is there
 * to show that the ledger would see it: against itself it must.
 */
#ifndef LEDGER_LEDGER_H
#define LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cc.h"
#include "record.h"

struct ledger_op {
	const char *name;
	bool control;
	/* Do it once, as CPU @cpu, on objects of that CPU's own where the
	 * operation is to scale.  0 or -errno. */
	int (*run)(unsigned cpu);
};

/* Operations with a world in common. */
struct ledger_group {
	const struct ledger_op *ops;
	unsigned count;
	int (*open)(void); /* 0 or -errno */
	void (*close)(void);
	int (*fresh)(void); /* before each of its cells; NULL: nothing */
};

extern const struct ledger_group ledger_sync;
extern const struct ledger_group ledger_cache;
extern const struct ledger_group ledger_jnl;
extern const struct ledger_group ledger_vfs;

/* Runs of each operation on each CPU: before the record begins, and in it. */
enum { LEDGER_WARM = 8, LEDGER_TURNS = 4, LEDGER_RUNS_A_TURN = 16 };

/* The most runs that a CPU makes in one cell. */
enum { LEDGER_RUNS = LEDGER_WARM + LEDGER_TURNS * LEDGER_RUNS_A_TURN };

/* ---- cell.c: one pair of operations ------------------------------------------ */

MUST_USE int cell_open(void);

/*
 * Run @a and @b (or @a alone, if they are one) on all virtual CPUs, each in a
 * thread of its own, one after the other, and leave the record in record.h.
 */
MUST_USE int cell_run(const struct ledger_op *a, const struct ledger_op *b);

/* How many recorded runs that was. */
unsigned cell_runs(void);

/* ---- exceptions.c: what is allowed, and why ------------------------------------ */

/* Read @path.  -EINVAL after telling stderr file, line and reason. */
MUST_USE int exceptions_read(const char *path);

/* Is it allowed that @a and @b meet on @line, in so many runs?  Notes that the
 * exception is of use. */
bool exceptions_allow(const char *a, const char *b,
	const struct record_line *line, uint64_t runs);

/* Print each exception, and "unused" at those that nothing needed. */
void exceptions_print(void);

/* ---- report.c ---------------------------------------------------------------------- */

enum verdict {
	GREEN,
	NEAR,    /* met on a pair of lines only */
	ALLOWED, /* every line they met on is listed in docs/ledger-exceptions */
	RED,
};

/* Judge the record that cell_run() left, and keep what the report needs. */
enum verdict report_cell(
	const struct ledger_op *a, const struct ledger_op *b, bool strict);

/* Print the matrix of @ops and what the cells met on. */
void report_print(const struct ledger_op *const *ops, unsigned count, bool all);

#endif /* LEDGER_LEDGER_H */
