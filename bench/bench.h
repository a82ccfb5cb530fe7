/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench.h - `extant bench WORKLOAD`: what all workloads are told.
 *
 * A workload is a file of its own: it fills grids (grid.h) with teams of
 * threads (team.h) and hands them to the report (report.h) with the bars that
 * they are judged by.  It always measures its controls beside.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cc.h"
#include "bench/report.h"

enum { BENCH_LIST_MAX = 16, BENCH_THREADS_MAX = 1024 };

struct bench_opts {
	unsigned thread_count; /* 0: the workload's own */
	unsigned threads[BENCH_LIST_MAX];
	unsigned config_count; /* 0: all */
	const char *configs[BENCH_LIST_MAX];
	uint64_t run_ns; /* length of one run */
	unsigned runs;   /* of each cell; 0: the workload's own */
	bool json;
	bool overwrite; /* scratch devices that exist may be destroyed */
	bool prepare;   /* make what is measured, do not measure */
	bool compare;   /* with the kernel */
	int word_count; /* after the workload's name: parts, devices */
	char *const *words;
};

struct bench_workload {
	const char *name;
	int (*run)(const struct bench_opts *opts, struct bench_report *report);
};

extern const struct bench_workload bench_journal;
extern const struct bench_workload bench_ops;

/* Was row @config asked for? */
bool bench_wants(const struct bench_opts *opts, const char *config);

/* Client counts as the blocks of a grid. */
struct bench_clients {
	unsigned count;
	unsigned threads[BENCH_LIST_MAX];
	const char *names[BENCH_LIST_MAX]; /* "1 client", "2 clients" */
	char text[BENCH_LIST_MAX][24];
};

/* Those that the user named, or else the @count of @usual. */
void bench_clients_init(struct bench_clients *c, const struct bench_opts *opts,
	const unsigned *usual, unsigned count);

#endif /* BENCH_BENCH_H */
