/* SPDX-License-Identifier: BSD-2-Clause */
/* The way home when memory is short: it waits, or makes room; nothing is lost
 * and nothing aborts. */
#include <errno.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "deny.h"
#include "plain.h"
#include "toy.h"

enum { BLOCKS = 20, PINS_MAX = 1024 };

struct fixture {
	struct toy_opts opts;
	struct blk_dev *dev;
	struct toy toy;
};

static void fixture_start(struct fixture *f)
{
	(void)deny_disarm();
	assert_int_equal(plain_open(toy_device_bytes(&f->opts), &f->dev), 0);
	toy_format(&f->opts, f->dev, NULL);
	toy_init(&f->toy, &f->opts, f->dev, NULL);
	assert_int_equal(toy_start(&f->toy), 0);
}

static void fixture_stop(struct fixture *f)
{
	assert_int_equal(toy_stop(&f->toy), 0);
	assert_int_equal(atomic_load(&f->toy.aborted_calls), 0);
	toy_fini(&f->toy);
	blk_close(f->dev);
}

static uint64_t checkpointed(struct fixture *f)
{
	struct jnl_stats stats;

	jnl_stats_read(f->toy.jnl, &stats);
	return stats.checkpointed;
}

static void test_jnl_checkpoint_without_memory_can_be_repeated(void **state)
{
	struct fixture f = {0};
	jnl_tid tid;

	(void)state;
	fixture_start(&f);
	assert_int_equal(toy_write(&f.toy, TOY_FIRST, BLOCKS, 1, &tid), 0);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	deny_arm(DENY_MEMORY, 1, true);
	assert_int_equal(jnl_checkpoint(f.toy.jnl), -ENOMEM);
	assert_true(deny_disarm());
	assert_int_equal(jnl_error(f.toy.jnl), 0);
	assert_int_not_equal(toy_version_on(&f.opts, f.dev, TOY_FIRST), 1);
	assert_int_equal(toy_write(&f.toy, TOY_FIRST, 1, 2, &tid), 0);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	assert_int_equal(jnl_checkpoint(f.toy.jnl), 0);
	assert_int_equal(toy_version_on(&f.opts, f.dev, TOY_FIRST), 2);
	assert_int_equal(toy_version_on(&f.opts, f.dev, TOY_FIRST + 1), 1);
	fixture_stop(&f);
}

/* The checkpoint thread tries again by itself, before the log is full. */
static void test_jnl_checkpoint_thread_outlives_lack_of_memory(void **state)
{
	struct fixture f = {.opts = {.log_blocks = 256}};
	jnl_tid tid;

	(void)state;
	fixture_start(&f);
	assert_int_equal(toy_write(&f.toy, TOY_FIRST, 4, 1, &tid), 0);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	deny_arm(DENY_MEMORY, 1, true);
	/* Of seven log blocks each: over a quarter of the log, not all. */
	for (uint64_t i = 2; i < 16; i++) {
		assert_int_equal(toy_write(&f.toy, TOY_FIRST, 4, i, &tid), 0);
		assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	}
	(void)usleep(10000);
	assert_int_equal(checkpointed(&f), 0);
	assert_true(deny_disarm());
	for (int i = 0; i < 5000 && checkpointed(&f) == 0; i++)
		(void)usleep(1000);
	assert_int_not_equal(checkpointed(&f), 0);
	fixture_stop(&f);
}

/* Pin one block after the other until the journal has let go of some; without
 * its help there would be no memory in the end. */
static void squeeze(struct fixture *f, blk_no from)
{
	struct buf *pinned[PINS_MAX];
	uint32_t count = 0;

	while (checkpointed(f) == 0) {
		assert_true(count < PINS_MAX);
		assert_int_equal(cache_get(f->toy.cache, from + count, NULL,
					 &pinned[count]),
			0);
		count++;
	}
	while (count > 0)
		buf_put(pinned[--count]);
}

static const struct toy_opts tight = {.cache_bytes = 1 << 20};

static void test_jnl_cache_pressure_starts_a_checkpoint(void **state)
{
	struct fixture f = {.opts = tight};
	jnl_tid tid;

	(void)state;
	fixture_start(&f);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(
			toy_write(&f.toy, TOY_FIRST + 8 * i, 8, 1, &tid), 0);
		assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	}
	assert_int_equal(checkpointed(&f), 0);
	squeeze(&f, TOY_FIRST + 24);
	fixture_stop(&f);
}

static void test_jnl_cache_pressure_commits_what_runs(void **state)
{
	struct fixture f = {.opts = tight};
	struct jnl_stats stats;
	jnl_tid tid;

	(void)state;
	fixture_start(&f);
	assert_int_equal(toy_write(&f.toy, TOY_FIRST, 8, 1, &tid), 0);
	squeeze(&f, TOY_FIRST + 8);
	jnl_stats_read(f.toy.jnl, &stats);
	assert_true(stats.commits >= 1);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_jnl_checkpoint_without_memory_can_be_repeated),
		cmocka_unit_test(
			test_jnl_checkpoint_thread_outlives_lack_of_memory),
		cmocka_unit_test(test_jnl_cache_pressure_starts_a_checkpoint),
		cmocka_unit_test(test_jnl_cache_pressure_commits_what_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
