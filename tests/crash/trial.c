/* SPDX-License-Identifier: BSD-2-Clause */
/* trial.c - see trial.h. */
#include "trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "keep.h"
#include "load.h"
#include "model.h"
#include "power.h"
#include "set.h"
#include "visit.h"

enum {
	BATCH = 128,          /* states that are sorted by their cut */
	VISITS_PER_STATE = 8, /* give up finding new ones after so many */
	RECOVERY_EVERY = 16,  /* one state of so many is cut while recovered */
	RECOVERY_CUTS = 4,
	FOLD_US = 150,
	FLUSH_NS = 40000,
	WAIT_EVERY = 5,
};

struct trial {
	const struct trial_config *config;
	const struct trial_opts *opts;
	struct trial_counts *counts;
	struct model model;
	struct cold start; /* of the life */
	struct power power;
	struct set states;
	struct set points;
	uint64_t rng;
};

/* What a power cut is made from. */
struct cut {
	uint64_t at;
	uint64_t seed;
};

/* ---- a life ------------------------------------------------------------------- */

static void life_account(struct trial *t, struct load *l, struct jnl *jnl)
{
	struct trial_counts *c = t->counts;
	struct jnl_stats stats;

	jnl_stats_read(jnl, &stats);
	c->commits += stats.commits;
	c->frozen += stats.frozen_copies;
	c->revokes += stats.revokes;
	c->checkpointed += stats.checkpointed;
	c->wraps += stats.logged_blocks / (t->config->toy.log_blocks - 1);
	c->ops += l->counts.ops;
	c->waits += l->counts.waits;
	c->frees += l->counts.frees;
	c->recreated += l->counts.recreated;
	c->reused_meta += l->counts.reused_meta;
	c->reused_data += l->counts.reused_data;
	c->late_data += l->counts.late_data;
}

static uint32_t either(uint32_t given, uint32_t otherwise)
{
	return given != 0 ? given : otherwise;
}

static struct load_opts load_opts(struct trial *t)
{
	const struct trial_config *c = t->config;

	return (struct load_opts){.seed = hash_next(&t->rng),
		.threads = t->opts->threads,
		.ops = (uint32_t)(t->opts->ops * (uint64_t)either(c->ops, 100) /
				  100 / t->opts->threads),
		.steps = either(c->steps, LOAD_STEPS),
		.mix = c->mix,
		.fold_us = FOLD_US,
		.wait_every = either(c->wait_every, WAIT_EVERY)};
}

/* The log that one life leaves is another's to begin with. */
static struct toy_opts life_toy(const struct trial *t)
{
	struct toy_opts opts = t->config->toy;

	if (t->config->changes)
		opts.checksum =
			JNL_CHECKSUM_NONE + (t->opts->seed + t->model.life) % 4;
	return opts;
}

static void life_live(struct trial *t)
{
	struct toy_opts opts = life_toy(t);
	struct toy toy;
	struct load load = {
		.opts = load_opts(t), .toy = &toy, .model = &t->model};

	power_on(&t->power, &t->config->toy, &t->start, t->config->pace);
	blk_fault_delay_flush(t->power.home, FLUSH_NS);
	load.crash = t->power.crash_home;
	toy_init(&toy, &opts, t->power.home, t->power.log);
	load_bind(&load);
	CHECK(toy_start(&toy) == 0);
	load_run(&load);
	life_account(t, &load, toy.jnl);
	CHECK(toy_stop(&toy) == 0);
	toy_fini(&toy);
	model_settle(&t->model);
	t->counts->events += power_events(&t->power);
}

/* ---- a state -------------------------------------------------------------------- */

static int state_failed(struct trial *t, struct cut cut, const char *why)
{
	struct model_point need = model_need(&t->model, cut.at);
	struct cold cold;
	char prefix[400];

	(void)fprintf(stderr,
		"jnl_crash: %s: seed %" PRIu64 ", life %" PRIu32
		", cut %" PRIu64 " of %" PRIu64 ", state seed %" PRIu64
		": %s\n",
		t->config->name, t->opts->seed, t->model.life, cut.at,
		power_events(&t->power), cut.seed, why);
	if (t->opts->keep == NULL)
		return -1;
	(void)snprintf(prefix, sizeof(prefix),
		"%s/jnl_crash-%s-%" PRIu64 "-%" PRIu32 "-%" PRIu64 "-%" PRIu64,
		t->opts->keep, t->config->name, t->opts->seed, t->model.life,
		cut.at, cut.seed);
	power_cut(&t->power, cut.at, cut.seed, &cold);
	keep_state(prefix, &t->model, &cold, need);
	cold_close(&cold);
	return -1;
}

static int state_recovery(
	struct trial *t, struct cut cut, struct model_point point)
{
	struct verdict v;
	struct cold cold;

	power_cut(&t->power, cut.at, cut.seed, &cold);
	t->counts->recovery_cuts += RECOVERY_CUTS;
	if (visit_recovery(
		    &t->model, &cold, RECOVERY_CUTS, cut.seed, point, &v) == 0)
		return 0;
	return state_failed(t, cut, v.why);
}

static int state_judge(struct trial *t, struct cut cut)
{
	struct model_point need = model_need(&t->model, cut.at);
	struct verdict v;
	struct cold cold;
	int err;

	power_cut(&t->power, cut.at, cut.seed, &cold);
	err = visit_state(&t->model, &cold, need, &v);
	if (err == 0)
		err = visit_again(&t->model, &cold, &v);
	cold_close(&cold);
	if (err != 0)
		return state_failed(t, cut, v.why);
	t->counts->asked += v.asked;
	t->counts->points += set_add(
		&t->points, (uint64_t)t->model.life << 33 |
				    (uint64_t)v.point.any << 32 | v.point.tid);
	if (v.asked && t->counts->asked % RECOVERY_EVERY == 1)
		return state_recovery(t, cut, v.point);
	return 0;
}

/* Judge it unless an equal one was judged. */
static int state_visit(struct trial *t, struct cut cut)
{
	t->counts->visited++;
	if (!set_add(&t->states, power_hash(&t->power, cut.at, cut.seed)))
		return 0;
	t->counts->distinct++;
	return state_judge(t, cut);
}

/* ---- many states ---------------------------------------------------------------- */

static int order_cuts(const void *a, const void *b)
{
	const struct cut *x = a;
	const struct cut *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Nothing and everything of what was not flushed are tried often. */
static uint64_t draw_seed(struct trial *t)
{
	uint64_t seed = hash_next(&t->rng);

	return seed % 8 < 2 ? seed % 8 : seed >> 44;
}

static int life_batch(struct trial *t, uint64_t enough)
{
	uint64_t events = power_events(&t->power);
	struct cut cuts[BATCH];
	int err = 0;

	for (unsigned i = 0; i < BATCH; i++)
		cuts[i] = (struct cut){
			hash_next(&t->rng) % (events + 1), draw_seed(t)};
	qsort(cuts, BATCH, sizeof(*cuts), order_cuts);
	/* The last event can be cut off or not: the clean close. */
	cuts[BATCH - 1].at = events;
	for (unsigned i = 0; i < BATCH && err == 0; i++)
		if (t->counts->distinct < enough)
			err = state_visit(t, cuts[i]);
	return err;
}

static int life_judge(struct trial *t)
{
	uint64_t want = t->opts->states / t->opts->lives + 1;
	uint64_t enough = t->counts->distinct + want;
	uint64_t limit = t->counts->visited + want * VISITS_PER_STATE;
	int err = 0;

	set_clear(&t->states);
	while (err == 0 && t->counts->distinct < enough &&
		t->counts->visited < limit)
		err = life_batch(t, enough);
	return err;
}

static int life_judge_one(struct trial *t)
{
	struct cut cut = {t->opts->one_cut, t->opts->one_seed};

	if (t->model.life != t->opts->one_life)
		return 0;
	if (cut.at > power_events(&t->power)) {
		(void)fprintf(stderr,
			"jnl_crash: this time there are only "
			"%" PRIu64 " events\n",
			power_events(&t->power));
		return -1;
	}
	return state_visit(t, cut);
}

/* Begin the next life where a power cut in the later half leaves this one. */
static int life_end(struct trial *t)
{
	uint64_t events = power_events(&t->power);
	struct cut cut = {events / 2 + hash_next(&t->rng) % (events / 2 + 1),
		draw_seed(t)};
	struct verdict v;

	power_cut(&t->power, cut.at, cut.seed, &t->start);
	if (visit_state(&t->model, &t->start, model_need(&t->model, cut.at),
		    &v) != 0) {
		cold_close(&t->start);
		return state_failed(t, cut, v.why);
	}
	model_advance(&t->model, v.point);
	return 0;
}

int trial_run(const struct trial_config *config, const struct trial_opts *opts,
	struct trial_counts *out)
{
	struct trial t = {.config = config,
		.opts = opts,
		.counts = out,
		.rng = hash_u64(opts->seed)};
	int err = 0;

	*out = (struct trial_counts){0};
	model_init(&t.model, &config->toy);
	set_init(&t.states);
	set_init(&t.points);
	cold_format(&config->toy, &t.start);
	for (uint32_t i = 0; i < opts->lives && err == 0; i++) {
		life_live(&t);
		err = opts->one ? life_judge_one(&t) : life_judge(&t);
		if (err == 0)
			err = life_end(&t);
		power_close(&t.power);
	}
	if (err == 0)
		cold_close(&t.start);
	set_fini(&t.states);
	set_fini(&t.points);
	model_fini(&t.model);
	return err;
}
