/* SPDX-License-Identifier: BSD-2-Clause */
/* power.c - see power.h. */
#include "power.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "late.h"

/* ---- bare devices ---------------------------------------------------------- */

void cold_format(const struct toy_opts *opts, struct cold *out)
{
	*out = (struct cold){0};
	CHECK(blk_open_mem(toy_device_bytes(opts), &out->home) == 0);
	if (opts->external)
		CHECK(blk_open_mem(toy_log_bytes(opts), &out->log) == 0);
	toy_format(opts, out->home, out->log);
}

void cold_close(struct cold *cold)
{
	blk_close(cold->home);
	blk_close(cold->log);
	*cold = (struct cold){0};
}

int cold_recover(
	const struct toy_opts *opts, const struct cold *cold, bool *asked)
{
	*asked = toy_needs_recovery(opts, cold->home);
	return *asked ? toy_recover(opts, cold->home, cold->log) : 0;
}

static uint64_t dev_bytes(const struct blk_dev *dev)
{
	return dev == NULL ? 0 : blk_geom(dev).bytes;
}

void *cold_bytes(const struct cold *cold, size_t *bytes)
{
	size_t home = dev_bytes(cold->home);
	size_t log = dev_bytes(cold->log);
	char *all = malloc(home + log + 1);

	CHECK(all != NULL);
	CHECK(blk_read(cold->home, 0, home, all) == 0);
	if (log != 0)
		CHECK(blk_read(cold->log, 0, log, all + home) == 0);
	*bytes = home + log;
	return all;
}

/* ---- layers ------------------------------------------------------------------ */

static void wrap(struct blk_dev *below, struct blk_dev *beside,
	struct blk_dev **crash, struct blk_dev **top)
{
	CHECK((beside == NULL ? blk_wrap_crash(below, crash)
			      : blk_wrap_crash_beside(below, beside, crash)) ==
		0);
	CHECK(blk_wrap_fault(*crash, top) == 0);
}

void power_on(struct power *out, const struct toy_opts *opts,
	const struct cold *cold, enum power_pace pace)
{
	const struct late_opts paces[] = {
		[PACE_LATE] = {.us = 60, .very_us = 1200},
		[PACE_SLOW] = {.slow_us = 250,
			.slow_bytes = (uint64_t)opts->home_blocks *
				      opts->block_bytes},
	};
	struct cold below = *cold;

	if (pace != PACE_AT_ONCE) {
		CHECK(late_open(below.home, &paces[pace], &below.home) == 0);
		if (below.log != NULL)
			CHECK(late_open(below.log, &paces[PACE_LATE],
				      &below.log) == 0);
	}
	*out = (struct power){0};
	wrap(below.home, NULL, &out->crash_home, &out->home);
	if (below.log != NULL)
		wrap(below.log, out->crash_home, &out->crash_log, &out->log);
}

void power_close(struct power *p)
{
	blk_close(p->home);
	blk_close(p->log);
	*p = (struct power){0};
}

uint64_t power_events(const struct power *p)
{
	return blk_crash_events(p->crash_home);
}

/*
 * Two devices meet different fates, and often an extreme one: seeds 0 and 1
 * are none and all on both, others may be that on one of them.
 */
static uint64_t seed_of(const struct power *p, uint64_t seed, bool log)
{
	uint64_t own = hash_u64(seed + log) | 2;

	if (p->crash_log == NULL || seed < 2)
		return seed;
	if (hash_u64(seed) % 4 == (uint64_t)log)
		return hash_u64(seed) / 4 % 2;
	return own;
}

void power_cut(struct power *p, uint64_t cut, uint64_t seed, struct cold *out)
{
	*out = (struct cold){0};
	CHECK(blk_crash_state(p->crash_home, cut, seed_of(p, seed, false),
		      &out->home) == 0);
	if (p->crash_log != NULL)
		CHECK(blk_crash_state(p->crash_log, cut, seed_of(p, seed, true),
			      &out->log) == 0);
}

uint64_t power_hash(struct power *p, uint64_t cut, uint64_t seed)
{
	uint64_t home;
	uint64_t log = 0;

	CHECK(blk_crash_hash(
		      p->crash_home, cut, seed_of(p, seed, false), &home) == 0);
	if (p->crash_log != NULL)
		CHECK(blk_crash_hash(p->crash_log, cut, seed_of(p, seed, true),
			      &log) == 0);
	return hash_u64(home) + log;
}
