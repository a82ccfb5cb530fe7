/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jnl_fault.c - each thing that can fail does so once, in turn.
 *
 * A case is a small run of random operations in which the n-th read, write or
 * flush of a device fails, or the n-th allocation, mapping or thread is
 * denied; n counts up until a run meets no fault.  Afterwards (J5)
 *
 *    the journal has aborted once, and for good, or not at all;
 *    who waited was told 0 only for what survives a power cut then and there;
 *    what survives is a prefix, nothing is half-applied;
 *    somebody was told of a write or flush that failed;
 *    nothing hangs, and nothing leaks (AddressSanitizer looks).
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/cmocka_all.h"
#include "base/cc.h"
#include "base/hash.h"
#include "deny.h"
#include "load.h"
#include "model.h"
#include "power.h"
#include "visit.h"

enum { HANG_SECONDS = 60, CUTS = 4 };

enum source { BY_HOME, BY_LOG, BY_DENIAL };

struct fault_case {
	const char *name;
	struct toy_opts toy;
	uint32_t threads;
	uint32_t ops; /* of all threads */
	enum power_pace pace;
	enum source source;
	enum blk_op op;      /* of a device */
	bool half;           /* ... and half of it is done */
	enum deny_kind kind; /* of a denial */
	bool for_good;       /* all later ones fail as well */
	bool in_start;       /* no longer armed once the journal is open */
	uint64_t nth;
};

/* One run of a case. */
struct run {
	const struct fault_case *c;
	struct cold cold;
	struct power power;
	struct model model;
	struct toy toy;
	struct load load;
	bool denied;
	int start; /* what toy_start() said */
	int error; /* of the journal, before it was closed */
	int stop;  /* what toy_stop() said */
	uint64_t cut;
};

static char current[200]; /* for who dies */

static const char *op_name(enum blk_op op)
{
	static const char *const names[] = {[BLK_READ] = "read",
		[BLK_WRITE] = "write",
		[BLK_FLUSH] = "flush"};

	return names[op];
}

static void describe(const struct fault_case *c)
{
	static const char *const kinds[] = {[DENY_MEMORY] = "allocation",
		[DENY_MAP] = "mapping",
		[DENY_THREAD] = "thread"};
	const char *what =
		c->source == BY_DENIAL ? kinds[c->kind] : op_name(c->op);

	(void)snprintf(current, sizeof(current),
		"%s: %s %" PRIu64 "%s of the %s%s%s", c->name, what, c->nth,
		c->for_good ? " and all later" : "",
		c->source == BY_HOME  ? "data device"
		: c->source == BY_LOG ? "log device"
				      : "process",
		c->half ? ", half done" : "", c->in_start ? ", opening" : "");
}

#define NEED(cond)                                                             \
	do {                                                                   \
		if (!(cond))                                                   \
			fail_msg("%s: not so: %s", current, #cond);            \
	} while (0)

static void on_alarm(int number)
{
	static const char says[] = "\nhangs: ";

	(void)number;
	(void)!write(2, says, sizeof(says) - 1);
	(void)!write(2, current, strlen(current));
	(void)!write(2, "\n", 1);
	_exit(1);
}

/* ---- arming ------------------------------------------------------------------- */

static void run_arm(struct run *r)
{
	const struct fault_case *c = r->c;
	const struct blk_fault rule = {.op = c->op,
		.nth = c->nth,
		.count = c->for_good ? UINT64_MAX : 1,
		.error = -EIO,
		.half = c->half};

	if (c->source == BY_DENIAL)
		deny_arm(c->kind, c->nth, c->for_good);
	else
		NEED(blk_fault_arm(
			     c->source == BY_LOG ? r->power.log : r->power.home,
			     &rule) == 0);
}

static void run_disarm(struct run *r)
{
	r->denied |= deny_disarm();
}

static bool run_fired(const struct run *r)
{
	const struct fault_case *c = r->c;

	if (c->source == BY_DENIAL)
		return r->denied;
	return blk_fault_seen(
		       c->source == BY_LOG ? r->power.log : r->power.home,
		       c->op) >= c->nth;
}

/* ---- what must be so afterwards -------------------------------------------------- */

static void check_aborted_for_good(struct run *r)
{
	struct jnl *jnl = r->toy.jnl;
	struct jnl_op op;

	NEED(jnl_begin(jnl, 1, &op) == -EROFS);
	NEED(jnl_sync(jnl) == -EIO);
	NEED(jnl_checkpoint(jnl) == -EIO);
}

/* The faults were in the way of all that a journal does. */
static void check_not_vacuous(struct run *r)
{
	struct jnl_stats stats;

	jnl_stats_read(r->toy.jnl, &stats);
	NEED(r->c->threads > 1 || stats.logged_blocks > r->c->toy.log_blocks);
	NEED(stats.checkpointed > 0);
	NEED(stats.revokes > 0);
	NEED(atomic_load(&r->load.counts.waits) > 0);
}

static void check_told(struct run *r, bool fired)
{
	uint32_t aborted = atomic_load(&r->toy.aborted_calls);
	bool told = r->start != 0 || r->stop != 0 ||
		    atomic_load(&r->load.counts.error) != 0 ||
		    atomic_load(&r->load.counts.wait_error) != 0;

	NEED(aborted <= 1);
	NEED(r->error == 0 || aborted == 1);
	NEED(aborted == 0 || r->stop == atomic_load(&r->toy.aborted_error));
	if (!fired)
		NEED(!told && aborted == 0);
	else if (r->c->source != BY_DENIAL && r->c->op != BLK_READ)
		NEED(told);
}

static void check_cut(struct run *r, uint64_t cut, uint64_t seed)
{
	struct verdict v;
	struct cold cold;

	power_cut(&r->power, cut, seed, &cold);
	if (visit_state(&r->model, &cold, model_need(&r->model, cut), &v) != 0)
		fail_msg("%s: cut %" PRIu64 " of %" PRIu64
			 ", state seed %" PRIu64 ": %s",
			current, cut, power_events(&r->power), seed, v.why);
	cold_close(&cold);
}

/* The power goes now, or went some time before. */
static void check_survivors(struct run *r)
{
	uint64_t events = power_events(&r->power);
	uint64_t rng = r->c->nth;

	model_settle(&r->model);
	for (uint64_t seed = 0; seed < CUTS; seed++) {
		check_cut(r, events, seed);
		check_cut(r, hash_next(&rng) % (events + 1), seed);
	}
}

/* ---- a run ------------------------------------------------------------------------ */

/* Some blocks are metadata from the beginning, so that they must be read. */
static void run_fill(struct run *r)
{
	const struct toy_opts *opts = &r->c->toy;
	char *data = malloc(opts->block_bytes);

	assert_non_null(data);
	for (blk_no b = TOY_FIRST; b < opts->home_blocks / 2; b++) {
		uint64_t version = model_version(&r->model);

		toy_fill(opts, data, b, version);
		NEED(blk_write(r->cold.home, b * opts->block_bytes,
			     opts->block_bytes, data) == 0);
		r->model.blocks[b].base = (struct model_entry){
			.kind = MODEL_META, .version = version};
	}
	free(data);
}

static void run_open(struct run *r)
{
	const struct fault_case *c = r->c;

	cold_format(&c->toy, &r->cold);
	model_init(&r->model, &c->toy);
	run_fill(r);
	power_on(&r->power, &c->toy, &r->cold, c->pace);
	r->load = (struct load){.opts = {.seed = hash_u64(c->nth),
					.threads = c->threads,
					.ops = c->ops / c->threads,
					.steps = LOAD_STEPS,
					.wait_every = 3,
					.may_fail = true},
		.toy = &r->toy,
		.model = &r->model,
		.crash = r->power.crash_home};
	toy_init(&r->toy, &c->toy, r->power.home, r->power.log);
	load_bind(&r->load);
}

static void run_close(struct run *r)
{
	toy_fini(&r->toy);
	power_close(&r->power);
	model_fini(&r->model);
}

static void run_work(struct run *r)
{
	if (r->c->in_start)
		run_disarm(r);
	load_run(&r->load);
	r->error = jnl_error(r->toy.jnl);
	if (r->error != 0)
		check_aborted_for_good(r);
	else if (!run_fired(r) && r->c->source != BY_DENIAL)
		check_not_vacuous(r);
	r->stop = toy_stop(&r->toy);
}

/* True: the fault was met. */
static bool run_case(const struct fault_case *c)
{
	/* A run that fails goes on to hold what its threads still use. */
	struct run *r = calloc(1, sizeof(*r));
	bool fired;

	assert_non_null(r);
	r->c = c;
	describe(c);
	(void)alarm(HANG_SECONDS);
	run_open(r);
	run_arm(r);
	r->start = toy_start(&r->toy);
	if (r->start == 0)
		run_work(r);
	run_disarm(r);
	fired = run_fired(r);
	check_told(r, fired);
	check_survivors(r);
	run_close(r);
	free(r);
	(void)alarm(0);
	return fired;
}

/* n = 1, 2, 3 ..., in larger steps once past @dense. */
static void run_in_turn(struct fault_case c, uint64_t dense)
{
	uint64_t runs = 0;

	for (c.nth = 1; run_case(&c); runs++)
		c.nth += c.nth < dense ? 1 : 1 + c.nth / 8;
	describe(&c);
	print_message(
		"# %s was not met; %" PRIu64 " faults were\n", current, runs);
	assert_true(runs > 0);
}

/* ---- devices ---------------------------------------------------------------------- */

enum { DENSE = 400 };

/* A log that wraps, so that home writes and tail moves are among it. */
static const struct fault_case alone = {.name = "1 thread",
	.toy = {.block_bytes = 1024, .home_blocks = 60, .log_blocks = 60},
	.threads = 1,
	.ops = 60};

static const struct fault_case crowd = {.name = "4 threads",
	.toy = {.block_bytes = 1024,
		.home_blocks = 60,
		.log_blocks = 60,
		.checksum = JNL_CHECKSUM_V3},
	.threads = 4,
	.ops = 100};

static void device_in_turn(struct fault_case c, uint64_t dense)
{
	static const struct {
		enum blk_op op;
		bool half;
	} ways[] = {{BLK_READ, false}, {BLK_READ, true}, {BLK_WRITE, false},
		{BLK_WRITE, true}, {BLK_FLUSH, false}};

	for (unsigned i = 0; i < ARRAY_COUNT(ways); i++) {
		c.op = ways[i].op;
		c.half = ways[i].half;
		/* Of the log on its own device, one block is read. */
		run_in_turn(c, dense);
	}
}

static void test_jnl_each_device_call_fails_once(void **state)
{
	(void)state;
	device_in_turn(alone, DENSE);
}

static void test_jnl_each_device_call_fails_once_beside_threads(void **state)
{
	(void)state;
	device_in_turn(crowd, DENSE / 8);
}

static void test_jnl_device_fails_for_good(void **state)
{
	struct fault_case c = crowd;

	(void)state;
	c.for_good = true;
	device_in_turn(c, DENSE / 8);
}

static void test_jnl_each_call_fails_late(void **state)
{
	struct fault_case c = crowd;

	(void)state;
	c.pace = PACE_LATE;
	device_in_turn(c, DENSE / 32);
}

static void test_jnl_external_log_fails(void **state)
{
	struct fault_case c = alone;

	(void)state;
	c.toy.external = true;
	c.source = BY_LOG;
	device_in_turn(c, DENSE / 8);
}

static void test_jnl_data_device_of_external_log_fails(void **state)
{
	struct fault_case c = alone;

	(void)state;
	c.toy.external = true;
	device_in_turn(c, DENSE / 8);
}

/* ---- denials ------------------------------------------------------------------------ */

static void denied_in_turn(
	struct fault_case c, enum deny_kind kind, uint64_t dense)
{
	c.source = BY_DENIAL;
	c.kind = kind;
	run_in_turn(c, dense);
}

static void test_jnl_each_allocation_fails_once(void **state)
{
	(void)state;
	denied_in_turn(alone, DENY_MEMORY, DENSE);
	denied_in_turn(crowd, DENY_MEMORY, DENSE / 8);
}

static void test_jnl_memory_runs_out(void **state)
{
	struct fault_case c = alone;

	(void)state;
	c.for_good = true;
	denied_in_turn(c, DENY_MEMORY, DENSE / 4);
	c = crowd;
	c.for_good = true;
	denied_in_turn(c, DENY_MEMORY, DENSE / 8);
}

/* Blocks of 64 KiB may need a view of their own. */
static void test_jnl_each_mapping_fails_once(void **state)
{
	struct fault_case c = alone;

	(void)state;
	denied_in_turn(c, DENY_MAP, DENSE);
	c.toy = (struct toy_opts){
		.block_bytes = 65536, .home_blocks = 20, .log_blocks = 80};
	denied_in_turn(c, DENY_MAP, DENSE);
}

static void test_jnl_each_thread_fails_once(void **state)
{
	struct fault_case c = alone;

	(void)state;
	c.in_start = true;
	denied_in_turn(c, DENY_THREAD, DENSE);
	c.for_good = true;
	denied_in_turn(c, DENY_THREAD, DENSE);
}

/* ---- recovery ------------------------------------------------------------------------ */

/* A log so long that all is in it, and what recovery makes of it. */
static void recovery_open(
	struct run *r, const struct fault_case *c, struct model_point *point)
{
	struct verdict v;
	struct cold cold;

	r->c = c;
	describe(c);
	run_open(r);
	NEED(toy_start(&r->toy) == 0);
	load_run(&r->load);
	r->cut = power_events(&r->power);
	NEED(toy_stop(&r->toy) == 0);
	model_settle(&r->model);
	power_cut(&r->power, r->cut, 1, &cold);
	NEED(visit_state(&r->model, &cold, model_need(&r->model, r->cut), &v) ==
		0);
	NEED(v.asked && v.point.any);
	*point = v.point;
	cold_close(&cold);
}

/* True: the fault was met.  The next recovery makes up for it. */
static bool recovery_fails(
	struct run *r, struct model_point point, const struct blk_fault *rule)
{
	struct verdict v;
	struct power top;
	struct cold cold;
	bool fired;
	int err;

	(void)snprintf(current, sizeof(current), "recovery: %s %" PRIu64 "%s",
		op_name(rule->op), rule->nth, rule->half ? ", half done" : "");
	power_cut(&r->power, r->cut, 1, &cold);
	power_on(&top, &r->model.opts, &cold, PACE_AT_ONCE);
	NEED(toy_needs_recovery(&r->model.opts, cold.home));
	NEED(blk_fault_arm(top.home, rule) == 0);
	err = toy_recover(&r->model.opts, top.home, NULL);
	fired = blk_fault_seen(top.home, rule->op) >= rule->nth;
	NEED(err == (fired ? -EIO : 0));
	for (uint64_t seed = 0; seed < 2; seed++) {
		power_cut(&top, power_events(&top), seed, &cold);
		if (visit_state(&r->model, &cold, point, &v) != 0)
			fail_msg("%s: %s", current, v.why);
		NEED(!model_after(v.point, point));
		cold_close(&cold);
	}
	power_close(&top);
	return fired;
}

static void test_jnl_each_call_of_recovery_fails_once(void **state)
{
	static const struct blk_fault ways[] = {
		{.op = BLK_READ, .count = 1, .error = -EIO},
		{.op = BLK_READ, .count = 1, .error = -EIO, .half = true},
		{.op = BLK_WRITE, .count = 1, .error = -EIO},
		{.op = BLK_WRITE, .count = 1, .error = -EIO, .half = true},
		{.op = BLK_FLUSH, .count = 1, .error = -EIO}};
	static struct run r;
	struct fault_case c = alone;
	struct model_point point;

	(void)state;
	c.toy.log_blocks = 4000;
	(void)alarm(HANG_SECONDS);
	recovery_open(&r, &c, &point);
	for (unsigned i = 0; i < ARRAY_COUNT(ways); i++) {
		struct blk_fault rule = ways[i];

		for (rule.nth = 1; recovery_fails(&r, point, &rule);)
			rule.nth++;
		print_message("# %s was not met\n", current);
		assert_true(rule.nth > (rule.op == BLK_WRITE ? 5 : 1));
	}
	run_close(&r);
	(void)alarm(0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jnl_each_device_call_fails_once),
		cmocka_unit_test(
			test_jnl_each_device_call_fails_once_beside_threads),
		cmocka_unit_test(test_jnl_device_fails_for_good),
		cmocka_unit_test(test_jnl_each_call_fails_late),
		cmocka_unit_test(test_jnl_external_log_fails),
		cmocka_unit_test(test_jnl_data_device_of_external_log_fails),
		cmocka_unit_test(test_jnl_each_allocation_fails_once),
		cmocka_unit_test(test_jnl_memory_runs_out),
		cmocka_unit_test(test_jnl_each_mapping_fails_once),
		cmocka_unit_test(test_jnl_each_thread_fails_once),
		cmocka_unit_test(test_jnl_each_call_of_recovery_fails_once),
	};

	/* A pattern picks tests by name. */
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	(void)signal(SIGALRM, on_alarm);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
