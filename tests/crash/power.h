/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * power.h - the devices of a toy file system, which lose power together.
 *
 *    home, log         what the toy uses
 *      fault           delays flushes, fails what a test arms
 *        crash         records; one order of events for both
 *          late        (wanted) completes submitted requests later
 *            memory
 */
#ifndef TESTS_CRASH_POWER_H
#define TESTS_CRASH_POWER_H

#include "blk/blk.h"
#include "blk/layers.h"
#include "toy.h"

/* Devices without anything around them; the log's is NULL if internal. */
struct cold {
	struct blk_dev *home;
	struct blk_dev *log;
};

struct power {
	struct blk_dev *home;
	struct blk_dev *log; /* NULL: internal */
	struct blk_dev *crash_home;
	struct blk_dev *crash_log; /* NULL: internal */
};

/* Memory devices with an empty toy. */
void cold_format(const struct toy_opts *opts, struct cold *out);
void cold_close(struct cold *cold);

/* Recover, if the toy's superblock asks for it; *@asked is told. */
MUST_USE int cold_recover(
	const struct toy_opts *opts, const struct cold *cold, bool *asked);

/* All bytes of both, in memory that the caller frees. */
void *cold_bytes(const struct cold *cold, size_t *bytes);

enum power_pace {
	PACE_AT_ONCE, /* a request is complete when it has been submitted */
	PACE_LATE,    /* ... some time later */
	PACE_SLOW,    /* late, and writes home take longer than commits */
};

/* Put the layers around @cold, which belongs to @out from now on. */
void power_on(struct power *out, const struct toy_opts *opts,
	const struct cold *cold, enum power_pace pace);
void power_close(struct power *p);

uint64_t power_events(const struct power *p);

/* What a cut before event @cut leaves, by @seed, of both devices. */
void power_cut(struct power *p, uint64_t cut, uint64_t seed, struct cold *out);

/* A hash of that. */
uint64_t power_hash(struct power *p, uint64_t cut, uint64_t seed);

#endif /* TESTS_CRASH_POWER_H */
