/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * team.h - a number of threads do one thing, all at once, for a while.
 *
 * The members start together, warm up, and are measured from one moment to
 * another; each notices the moments by itself between two of its operations,
 * so nothing but a shared flag that nobody writes meanwhile is read on the
 * way:
 *
 *     create all -> gate opens -> WARM -> MEASURE -> STOP -> join all
 *
 * What a member costs the machine (time on a CPU, context switches) is the
 * kernel's account of that thread between the two moments.
 */
#ifndef BENCH_TEAM_H
#define BENCH_TEAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cc.h"

enum bench_phase { BENCH_WARM, BENCH_MEASURE, BENCH_STOP };

/* A thread's use of the machine. */
struct bench_cost {
	uint64_t cpu_ns;
	uint64_t slept;     /* context switches because it waited */
	uint64_t preempted; /* context switches against its will */
};

/* The kernel's account of the calling thread so far. */
void bench_cost_read(struct bench_cost *out);

struct bench_team;

/* One thread; all of it but @team and @index is its own. */
struct bench_member {
	LINE_ALIGNED struct bench_team *team; /* [const] */
	unsigned index;                       /* [const] 0, 1, 2, ... */
	enum bench_phase seen;
	uint64_t ops; /* since the phase was seen to change */
	int error;
	struct bench_cost from;
	struct bench_cost cost;
	pthread_t thread;
};

struct bench_team {
	_Atomic uint32_t phase; /* enum bench_phase; changes twice */
	_Atomic uint32_t gate;  /* futex: 0 until all are there */
	_Atomic uint32_t ready; /* futex: members that wait at the gate */
	void *arg;              /* [const] the plan's */
	int (*body)(struct bench_member *m); /* [const] */
};

struct bench_plan {
	unsigned threads;
	uint64_t warm_ns;
	uint64_t measure_ns;
	/*
	 * The whole life of a member: one operation for each time that
	 * bench_next() says true.  0 or -errno.
	 */
	int (*body)(struct bench_member *m);
	void *arg; /* bench_arg() */
};

struct bench_result {
	uint64_t ops;
	uint64_t ns; /* from MEASURE to STOP */
	struct bench_cost cost;
};

/* Run @plan to its end.  0, or the error of a body or of thread creation. */
MUST_USE int bench_team_run(
	const struct bench_plan *plan, struct bench_result *out);

static inline void *bench_arg(const struct bench_member *m)
{
	return m->team->arg;
}

/* The phase has changed; false: it is over. */
bool bench_turn(struct bench_member *m, enum bench_phase phase);

/* True: do one more operation. */
static inline bool bench_next(struct bench_member *m)
{
	enum bench_phase phase =
		atomic_load_explicit(&m->team->phase, memory_order_relaxed);

	if (UNLIKELY(phase != m->seen) && !bench_turn(m, phase))
		return false;
	m->ops++;
	return true;
}

#endif /* BENCH_TEAM_H */
