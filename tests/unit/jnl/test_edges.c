/* SPDX-License-Identifier: BSD-2-Clause */
/* Where numbers end: tids, credits, the smallest logs; and other people's
 * signals. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "base/assert.h"
#include "jnl/jnl_int.h"
#include "toy.h"

struct fixture {
	struct toy_opts opts;
	struct blk_dev *dev;
	struct toy toy;
};

/* 0, or why the toy does not start. */
static int fixture_try(struct fixture *f)
{
	int err;

	assert_int_equal(blk_open_mem(toy_device_bytes(&f->opts), &f->dev), 0);
	toy_format(&f->opts, f->dev, NULL);
	toy_init(&f->toy, &f->opts, f->dev, NULL);
	err = toy_start(&f->toy);
	if (err == 0)
		return 0;
	toy_fini(&f->toy);
	blk_close(f->dev);
	return err;
}

/* J3, J6: however often a block comes and goes within one transaction, it
 * costs one credit, and the transaction stays within its size. */
static void test_jnl_block_comes_and_goes_within_its_credit(void **state)
{
	struct fixture f = {0};
	struct jnl_op op;
	uint32_t turns;
	jnl_tid tid;

	(void)state;
	assert_int_equal(fixture_try(&f), 0);
	turns = 3 * jnl_op_max(f.toy.jnl);
	assert_int_equal(toy_write(&f.toy, 20, 1, 1, &tid), 0);
	assert_int_equal(jnl_wait(f.toy.jnl, tid), 0);
	assert_int_equal(jnl_begin(f.toy.jnl, 2, &op), 0);
	assert_int_equal(toy_touch(&f.toy, &op), 0);
	for (uint32_t i = 0; i < turns; i++) {
		assert_int_equal(toy_put(&f.toy, &op, 20, i, true), 0);
		assert_int_equal(jnl_forget(&op, 20, NULL), 0);
	}
	assert_int_equal(op.used, 2);
	tid = jnl_end(&op);
	assert_int_equal(jnl_sync(f.toy.jnl), 0);
	assert_int_equal(atomic_load(&f.toy.committed_tid), tid);
	assert_int_equal(toy_stop(&f.toy), 0);
	assert_int_not_equal(toy_version_on(&f.opts, f.dev, 20), turns - 1);
	toy_fini(&f.toy);
	blk_close(f.dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_jnl_block_comes_and_goes_within_its_credit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
