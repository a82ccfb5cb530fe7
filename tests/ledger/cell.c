/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cell.c - one pair of operations, on 64 virtual CPUs.
 *
 * Each virtual CPU is a thread, so that thread-local state is its own as on a
 * real machine.  They take turns: what is shared shows in the record, not in
 * the timing, and the record is the same on every run.
 *
 * In a pair, CPUs with an even number of one bits run the first operation and
 * the others the second: neighbours differ somewhere, and so do any two CPUs
 * a power of two apart, so shards that lie too close and shard counts that are
 * too small both show.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/cpu.h"
#include "heap.h"
#include "ledger.h"
#include "sync/futex.h"

struct worker {
	pthread_t thread;
	unsigned cpu;
	_Atomic uint32_t turn; /* odd: it runs; even: it waits */
	const struct ledger_op *op;
	unsigned role;
	unsigned times;
	bool record;
	int result;
};

static struct worker workers[RECORD_CPUS];
static unsigned runs;
static _Thread_local unsigned cpu_here;

static uint32_t cell_cpu(void)
{
	return cpu_here;
}

static int worker_work(const struct worker *w)
{
	int err = 0;

	for (unsigned i = 0; i < w->times && err == 0; i++) {
		if (w->record)
			record_begin(w->role, w->cpu);
		err = w->op->run(w->cpu);
		record_end();
	}
	return err;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	cpu_here = w->cpu;
	for (uint32_t turn = 0;; turn += 2) {
		while (atomic_load(&w->turn) == turn)
			(void)futex_wait(&w->turn, turn, FUTEX_FOREVER);
		w->result = worker_work(w);
		atomic_store(&w->turn, turn + 2);
		futex_wake(&w->turn, 1);
	}
	return NULL;
}

/* Let @w run @op, and wait for it. */
static int worker_turn(struct worker *w, const struct ledger_op *op,
	unsigned role, unsigned times, bool record)
{
	uint32_t turn = atomic_load(&w->turn);

	w->op = op;
	w->role = role;
	w->times = times;
	w->record = record;
	atomic_store(&w->turn, turn + 1);
	futex_wake(&w->turn, 1);
	while (atomic_load(&w->turn) == turn + 1)
		(void)futex_wait(&w->turn, turn + 1, FUTEX_FOREVER);
	return w->result;
}

int cell_open(void)
{
	cpu_override(cell_cpu, RECORD_CPUS);
	for (unsigned i = 0; i < RECORD_CPUS; i++) {
		workers[i].cpu = i;
		int err = pthread_create(
			&workers[i].thread, NULL, worker_main, &workers[i]);
		if (err != 0)
			return -err;
	}
	return 0;
}

static int cell_round(const struct ledger_op *a, const struct ledger_op *b,
	unsigned times, bool record)
{
	int err = 0;

	for (unsigned i = 0; i < RECORD_CPUS && err == 0; i++) {
		unsigned role = a == b ? 0 : __builtin_popcount(i) % 2;

		err = worker_turn(
			&workers[i], role == 0 ? a : b, role, times, record);
	}
	return err;
}

int cell_run(const struct ledger_op *a, const struct ledger_op *b)
{
	int err;

	record_reset();
	runs = 0;
	heap_keep();
	err = cell_round(a, b, LEDGER_WARM, false);
	for (int turn = 0; turn < LEDGER_TURNS && err == 0; turn++) {
		err = cell_round(a, b, LEDGER_RUNS_A_TURN, true);
		runs += RECORD_CPUS * LEDGER_RUNS_A_TURN;
	}
	return err;
}

unsigned cell_runs(void)
{
	return runs;
}
