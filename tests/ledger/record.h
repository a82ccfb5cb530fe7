/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.h - which cache lines a virtual CPU has loaded and stored.
 *
 * Code compiled with -fsanitize=thread calls runtime.c for each access that
 * it makes, and that calls record_access().  What counts is on only between
 * record_begin() and record_end(), in the thread that called them; so other
 * threads of the library pass unseen.
 *
 * Two operations run against each other, on disjoint sets of CPUs, as *roles*
 * 0 and 1; an operation against itself runs as role 0 on all.  At most one
 * thread records at a time.
 *
 * Not seen: code that is not instrumented, which is libc, liburcu, isa-l and
 * the kernel.  memcpy() and its kin are (runtime.c).
 */
#ifndef LEDGER_RECORD_H
#define LEDGER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RECORD_LINE = 64,  /* bytes */
	RECORD_CPUS = 64,  /* one bit each */
	RECORD_SITES = 16, /* accesses of a line that are told apart */
};

/* One place in the code that accessed the line. */
struct record_site {
	uintptr_t pc;   /* return address of the access's call */
	uintptr_t addr; /* of the first byte it accessed */
	bool store;
};

struct record_side {
	uint64_t loads;  /* CPUs that loaded */
	uint64_t stores; /* CPUs that stored, or tried to by an atomic */
	uint32_t store_count;
	uint32_t load_count;
};

struct record_line {
	uintptr_t line; /* its address / RECORD_LINE */
	struct record_side side[2];
	unsigned site_count;
	struct record_site sites[RECORD_SITES];
};

/* Count this thread's accesses as those of @role on @cpu. */
void record_begin(unsigned role, unsigned cpu);
void record_end(void);

/* Forget everything. */
void record_reset(void);

/* @bytes at @addr were loaded or stored by code that returns to @pc. */
void record_access(
	const volatile void *addr, size_t bytes, bool store, const void *pc);

/* The record of line number @line, or NULL. */
const struct record_line *record_find(uintptr_t line);

/* Tell @fn of every line, in any order. */
void record_each(
	void (*fn)(void *arg, const struct record_line *line), void *arg);

/*
 * Do the roles meet on @line: does one CPU store what another loads or stores?
 * @alone: only role 0 ran, on all CPUs.
 */
bool record_meets(const struct record_line *line, bool alone);

/* Do they meet on the pair of lines of @line, though on neither by itself?
 * The adjacent-line prefetcher couples such pairs. */
bool record_meets_near(const struct record_line *line, bool alone);

#endif /* LEDGER_RECORD_H */
