/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trial.h - one journal configuration on trial.
 *
 * A life: random operations on a toy that began as the previous life ended,
 * recorded to the clean close.  Then many power cuts of that recording, each
 * recovered and judged, and one of them is where the next life begins.
 */
#ifndef TESTS_CRASH_TRIAL_H
#define TESTS_CRASH_TRIAL_H

#include "load.h"
#include "power.h"
#include "toy.h"

struct trial_config {
	const char *name;
	struct toy_opts toy; /* block_bytes and home_blocks are set */
	uint32_t share;      /* of the states, in hundredths of an even one */
	uint32_t ops;        /* in hundredths of what is asked for; 0: all */
	uint32_t steps;      /* of an operation; 0: up to LOAD_STEPS */
	uint32_t wait_every; /* operations to a waited one; 0: the default */
	bool changes;        /* each life has another checksum */
	enum load_mix mix;
	enum power_pace pace;
};

struct trial_opts {
	uint64_t seed;
	uint32_t threads;
	uint32_t ops; /* of all threads in a life */
	uint32_t lives;
	uint32_t states;  /* distinct ones to judge, over all lives */
	const char *keep; /* folder for a state that failed; NULL: none */
	/* Judge this state only. */
	bool one;
	uint32_t one_life;
	uint64_t one_cut;
	uint64_t one_seed;
};

struct trial_counts {
	uint64_t events;
	uint64_t visited;       /* states made */
	uint64_t distinct;      /* different ones: recovered and judged */
	uint64_t asked;         /* of these, those that asked for recovery */
	uint64_t recovery_cuts; /* power cuts inside a recovery */
	uint64_t points;        /* different prefixes found */
	uint64_t ops;
	uint64_t waits;
	uint64_t commits;
	uint64_t frozen;
	uint64_t revokes;
	uint64_t frees;
	uint64_t recreated;
	uint64_t reused_meta;
	uint64_t reused_data;
	uint64_t late_data;
	uint64_t checkpointed;
	uint64_t wraps; /* of the log */
};

/* Run @config; 0, or -1 after a message on stderr. */
int trial_run(const struct trial_config *config, const struct trial_opts *opts,
	struct trial_counts *out);

#endif /* TESTS_CRASH_TRIAL_H */
