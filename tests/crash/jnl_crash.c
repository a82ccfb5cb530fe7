/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jnl_crash.c - the journal's crash proof.
 *
 * Random transactions from several threads over devices that record writes
 * and barriers; then power cuts at any instant, with any subset and order of
 * what was not flushed.  Every state must recover to exactly a prefix of the
 * committed transactions that contains all that were waited for.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/seed.h"
#include "base/cc.h"
#include "keep.h"
#include "trial.h"
#include "visit.h"

enum { K1 = 1024, K4 = 4096, K64 = 65536 };

/* clang-format off */
static const struct trial_config configs[] = {
	{.name = "k1-none", .share = 150, .toy = {K1, 200, 200,
		.max_blocks = 32, .checksum = JNL_CHECKSUM_NONE}},
	{.name = "k1-none-late", .share = 150, .pace = PACE_LATE, .toy = {K1, 200,
		200, .max_blocks = 32, .checksum = JNL_CHECKSUM_NONE}},
	{.name = "k1-v1", .share = 100, .toy = {K1, 200, 200,
		.max_blocks = 32, .checksum = JNL_CHECKSUM_V1}},
	{.name = "k1-v2", .share = 100, .toy = {K1, 200, 200,
		.max_blocks = 32, .checksum = JNL_CHECKSUM_V2}},
	{.name = "k1-v3", .share = 100, .toy = {K1, 200, 200,
		.max_blocks = 32, .checksum = JNL_CHECKSUM_V3}},
	{.name = "k1-none-wide", .share = 100, .toy = {K1, 200, 200,
		.max_blocks = 32, .checksum = JNL_CHECKSUM_NONE, .wide = true,
		.admission = JNL_ADMIT_ATOMIC}},
	{.name = "k1-v2-wide", .share = 100, .toy = {K1, 200, 200,
		.max_blocks = 32, .checksum = JNL_CHECKSUM_V2, .wide = true,
		.admission = JNL_ADMIT_LOCK}},
	{.name = "k1-v3-timer", .share = 100, .ops = 200, .toy = {K1, 200, 400,
		.max_blocks = 64, .checksum = JNL_CHECKSUM_V3,
		.commit_ms = 1}},
	{.name = "k1-tiny-log", .share = 150, .toy = {K1, 120, 80,
		.checksum = JNL_CHECKSUM_NONE}},
	{.name = "k1-full-log", .share = 150, .pace = PACE_SLOW,
		.mix = LOAD_EDITS, .ops = 500, .steps = 3, .wait_every = 50,
		.toy = {K1, 120, 80, .checksum = JNL_CHECKSUM_NONE,
		.admission = JNL_ADMIT_LOCK, .map_extent = 3}},
	{.name = "k1-tid-wraps", .share = 50, .toy = {K1, 200, 200,
		.max_blocks = 32, .checksum = JNL_CHECKSUM_V3,
		.first_tid = UINT32_MAX - 40}},
	{.name = "k1-changes", .share = 100, .changes = true, .toy = {K1, 200,
		200, .max_blocks = 32}},
	{.name = "k1-map", .share = 100, .toy = {K1, 200, 200,
		.max_blocks = 32, .checksum = JNL_CHECKSUM_NONE,
		.map_extent = 5}},
	{.name = "k1-external", .share = 150, .toy = {K1, 200, 200,
		.max_blocks = 32, .checksum = JNL_CHECKSUM_NONE,
		.external = true}},
	{.name = "k1-external-late", .share = 100, .pace = PACE_LATE, .toy = {K1,
		200, 200, .max_blocks = 32, .checksum = JNL_CHECKSUM_V3,
		.external = true, .map_extent = 9}},
	{.name = "k1-small-cache", .share = 50, .toy = {K1, 1400, 200,
		.max_blocks = 32, .checksum = JNL_CHECKSUM_NONE,
		.cache_bytes = 1 << 20}},
	{.name = "k4-none", .share = 100, .toy = {K4, 120, 200,
		.max_blocks = 32, .checksum = JNL_CHECKSUM_NONE}},
	{.name = "k4-v1-wide", .share = 50, .toy = {K4, 120, 200,
		.max_blocks = 32, .checksum = JNL_CHECKSUM_V1, .wide = true,
		.admission = JNL_ADMIT_ATOMIC}},
	{.name = "k4-v3-wide", .share = 100, .toy = {K4, 120, 200,
		.max_blocks = 32, .checksum = JNL_CHECKSUM_V3, .wide = true,
		.admission = JNL_ADMIT_LOCK}},
	{.name = "k64-v3-wide", .share = 20, .ops = 50, .toy = {K64, 40, 110,
		.checksum = JNL_CHECKSUM_V3, .wide = true}},
};

/* clang-format on */

struct options {
	struct trial_opts trial;
	uint32_t states; /* over all configurations */
	bool seeded;
	const char *config;
	const char *judge;
};

static int usage(void)
{
	(void)fputs(
		"usage: jnl_crash [--states N] [--seed S] [--threads N] "
		"[--ops N]\n"
		"                 [--lives N] [--config NAME] [--keep DIR]\n"
		"       jnl_crash --config NAME --seed S --life N --cut N "
		"--state-seed N\n"
		"       jnl_crash --judge PREFIX\n"
		"configurations:\n",
		stderr);
	for (unsigned i = 0; i < ARRAY_COUNT(configs); i++)
		(void)fprintf(stderr, "  %s\n", configs[i].name);
	return 2;
}

static int number(const char *text, uint64_t most, uint64_t *out)
{
	char *end;

	*out = strtoull(text, &end, 0);
	if (end != text && *end == 0 && *out <= most)
		return 0;
	(void)fprintf(stderr,
		"jnl_crash: '%s' is not a number up to %" PRIu64 "\n", text,
		most);
	return -1;
}

static int number32(const char *text, uint32_t most, uint32_t *out)
{
	uint64_t value;
	int err = number(text, most, &value);

	*out = (uint32_t)value;
	return err;
}

static int option(struct options *o, int name, char *text)
{
	struct trial_opts *t = &o->trial;

	switch (name) {
	case 'n':
		return number32(text, UINT32_MAX, &o->states);
	case 's':
		o->seeded = true;
		return number(text, UINT64_MAX, &t->seed);
	case 't':
		return number32(text, 64, &t->threads);
	case 'o':
		return number32(text, UINT32_MAX, &t->ops);
	case 'v':
		return number32(text, 1000, &t->lives);
	case 'c':
		o->config = text;
		return 0;
	case 'k':
		t->keep = text;
		return 0;
	case 'j':
		o->judge = text;
		return 0;
	case 'l':
		return number32(text, UINT32_MAX, &t->one_life);
	case 'x':
		t->one = true;
		return number(text, UINT64_MAX, &t->one_cut);
	case 'y':
		return number(text, UINT64_MAX, &t->one_seed);
	default:
		return -1;
	}
}

static int options_read(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{"states", required_argument, NULL, 'n'},
		{"seed", required_argument, NULL, 's'},
		{"threads", required_argument, NULL, 't'},
		{"ops", required_argument, NULL, 'o'},
		{"lives", required_argument, NULL, 'v'},
		{"config", required_argument, NULL, 'c'},
		{"keep", required_argument, NULL, 'k'},
		{"judge", required_argument, NULL, 'j'},
		{"life", required_argument, NULL, 'l'},
		{"cut", required_argument, NULL, 'x'},
		{"state-seed", required_argument, NULL, 'y'},
		{NULL, 0, NULL, 0},
	};
	int name;

	/* NOLINTNEXTLINE(concurrency*): before any thread is started */
	while ((name = getopt_long(argc, argv, "", longs, NULL)) != -1)
		if (option(o, name, optarg) != 0)
			return -1;
	if (optind != argc || o->trial.threads == 0 || o->trial.lives == 0 ||
		o->trial.ops < o->trial.threads)
		return -1;
	return 0;
}

/* ---- one configuration ------------------------------------------------------- */

enum { ATTEMPTS = 5 };

/* What the proof is about did happen. */
static int not_vacuous(
	const char *name, const struct trial_counts *c, uint32_t lives)
{
	/* There are as many as commits, however many states are looked at. */
	const uint64_t prefixes = c->distinct / 16 < c->commits / 2
					  ? c->distinct / 16 + 1
					  : c->commits / 2;

	const struct {
		const char *what;
		uint64_t has;
		uint64_t least;
	} needs[] = {
		{"commits", c->commits, UINT64_C(8) * lives},
		{"waits that said 0", c->waits, UINT64_C(5) * lives},
		{"copies frozen for a commit beside running operations",
			c->frozen, 1},
		{"log wraps, with the tail moving", c->wraps, lives},
		{"home writes", c->checkpointed, UINT64_C(8) * lives},
		{"revokes", c->revokes, UINT64_C(4) * lives},
		{"blocks freed and created in one transaction", c->recreated,
			1},
		{"freed blocks reused as metadata", c->reused_meta, 1},
		{"freed blocks reused as data", c->reused_data, 1},
		{"data writes that outlived their operation", c->late_data, 1},
		{"different prefixes", c->points, prefixes},
		{"states that asked for recovery", c->asked, 1},
		{"power cuts inside recovery", c->recovery_cuts, 1},
	};

	int err = 0;

	for (unsigned i = 0; i < ARRAY_COUNT(needs); i++) {
		if (needs[i].has >= needs[i].least)
			continue;
		(void)fprintf(stderr, "jnl_crash: %s: only %" PRIu64 " %s\n",
			name, needs[i].has, needs[i].what);
		err = -1;
	}
	return err;
}

static void report(const char *name, const struct trial_counts *c)
{
	(void)printf(
		"%-17s %6" PRIu64 " visited %6" PRIu64 " distinct %5" PRIu64
		" prefixes %4" PRIu64 " cut recoveries | %5" PRIu64
		" events %4" PRIu64 " commits %4" PRIu64 " frozen %4" PRIu64
		" revokes %4" PRIu64 "+%" PRIu64 " reused %3" PRIu64 " wraps\n",
		name, c->visited, c->distinct, c->points, c->recovery_cuts,
		c->events, c->commits, c->frozen, c->revokes, c->reused_meta,
		c->reused_data, c->wraps);
	(void)fflush(stdout);
}

static bool chosen(const struct options *o, unsigned i)
{
	return o->config == NULL || strcmp(configs[i].name, o->config) == 0;
}

static int run_one(const struct options *o, const struct trial_config *config,
	uint64_t states, struct trial_counts *c)
{
	struct trial_opts opts = o->trial;
	int err = -1;

	opts.states = (uint32_t)states;
	/* A short run may happen to miss what it is about: then it is no
	 * proof, and another seed may have its turn.  What is never met in
	 * several runs is out of reach, and that is a failure. */
	for (unsigned i = 0; err != 0 && i < ATTEMPTS; i++, opts.seed++) {
		if (trial_run(config, &opts, c) != 0)
			return -1;
		report(config->name, c);
		err = opts.one ? 0 : not_vacuous(config->name, c, opts.lives);
	}
	return err;
}

static int run_all(const struct options *o)
{
	uint64_t shares = 0;
	uint64_t visited = 0;
	uint64_t distinct = 0;
	int err = 0;

	for (unsigned i = 0; i < ARRAY_COUNT(configs); i++)
		shares += chosen(o, i) ? configs[i].share : 0;
	if (shares == 0)
		return usage();
	for (unsigned i = 0; i < ARRAY_COUNT(configs) && err == 0; i++) {
		struct trial_counts c = {0};

		if (!chosen(o, i))
			continue;
		err = run_one(o, &configs[i],
			(uint64_t)o->states * configs[i].share / shares + 1,
			&c);
		visited += c.visited;
		distinct += c.distinct;
	}
	if (err == 0 && !o->trial.one && distinct < o->states)
		err = -1;
	(void)printf("jnl_crash: %" PRIu64 " states visited, %" PRIu64
		     " distinct, %s\n",
		visited, distinct,
		err == 0 ? "all a prefix with all that was waited for"
			 : "FAILED");
	return err == 0 ? 0 : 1;
}

/* ---- a kept state ------------------------------------------------------------- */

static int judge(const char *prefix)
{
	struct model_point need;
	struct verdict v = {0};
	struct model model;
	struct cold cold;
	int err;

	if (keep_load(prefix, &model, &cold, &need) != 0)
		return 2;
	err = visit_state(&model, &cold, need, &v);
	if (err == 0)
		err = visit_again(&model, &cold, &v);
	(void)printf("%s: recovery %s, %s\n", prefix,
		v.asked ? "asked for" : "not asked for",
		err == 0 ? "a prefix with all that was waited for" : v.why);
	cold_close(&cold);
	model_fini(&model);
	return err == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct options o = {.states = 12000,
		.trial = {.threads = 4,
			.ops = 400,
			.lives = 2,
			.one_life = 1,
			.keep = "."}};

	if (options_read(&o, argc, argv) != 0)
		return usage();
	if (o.judge != NULL)
		return judge(o.judge);
	if (!o.seeded)
		o.trial.seed = test_seed();
	return run_all(&o);
}
