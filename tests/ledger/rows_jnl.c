/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows_jnl.c - operations of a journal, and the two controls of admission.
 *
 * Each cell begins with a commit, so that its first runs open a transaction's
 * shards; the rest of the cell is one transaction.
 */
#include "heap.h"
#include "jnl/jnl.h"
#include "ledger.h"
#include "toy.h"

/* For each CPU: blocks that it edits again and again, and blocks that it edits
 * once in a transaction. */
enum { OWN = 2, NEW = LEDGER_RUNS };

enum {
	OWN_FIRST = TOY_FIRST,
	NEW_FIRST = OWN_FIRST + OWN * RECORD_CPUS,
	BLOCKS = NEW_FIRST + NEW * RECORD_CPUS,
};

/* A journal of each kind of admission, on a device and cache of its own. */
static struct toy toys[3];
static struct blk_dev *devs[3];

/* Of the first, which all operations but the controls use. */
static struct jnl *main_jnl;
static struct buf *own[RECORD_CPUS][OWN];
static struct buf *new[RECORD_CPUS][NEW];

static struct {
	LINE_ALIGNED unsigned used; /* of its new blocks, since the commit */
} cpus[RECORD_CPUS];

static jnl_tid old_tid;

/* ---- the world ------------------------------------------------------------------- */

static int open_toy(unsigned i)
{
	static const enum jnl_admission admissions[] = {
		JNL_ADMIT_PERCPU, JNL_ADMIT_ATOMIC, JNL_ADMIT_LOCK};
	struct toy_opts opts = {
		.block_bytes = 1024,
		.home_blocks = 8192,
		.log_blocks = 32768,
		.cache_bytes = UINT64_C(256) << 20,
		.admission = admissions[i],
	};
	int err = blk_open_mem(toy_device_bytes(&opts), &devs[i]);

	if (err != 0)
		return err;
	toy_format(&opts, devs[i], NULL);
	toy_init(&toys[i], &opts, devs[i], NULL);
	return toy_start(&toys[i]);
}

static int pin(blk_no block, const char *what, struct buf **out)
{
	int err = cache_get(toys[0].cache, block, NULL, out);

	if (err != 0)
		return err;
	heap_name(*out, sizeof(**out) + JNL_BUF_BYTES, "%s.buf[%u]", what,
		(unsigned)block);
	heap_name((*out)->data, toys[0].opts.block_bytes, "%s.data[%u]", what,
		(unsigned)block);
	return 0;
}

/* Neighbours on the disk belong to different CPUs. */
static int pin_blocks(unsigned cpu)
{
	int err = 0;

	for (unsigned i = 0; i < OWN && err == 0; i++)
		err = pin(
			OWN_FIRST + i * RECORD_CPUS + cpu, "own", &own[cpu][i]);
	for (unsigned i = 0; i < NEW && err == 0; i++)
		err = pin(
			NEW_FIRST + i * RECORD_CPUS + cpu, "new", &new[cpu][i]);
	return err;
}

static void unpin_blocks(unsigned cpu)
{
	for (unsigned i = 0; i < OWN; i++)
		buf_put(own[cpu][i]);
	for (unsigned i = 0; i < NEW; i++)
		buf_put(new[cpu][i]);
}

static int open_jnl(void)
{
	int err = 0;

	for (unsigned i = 0; i < ARRAY_COUNT(toys) && err == 0; i++)
		err = open_toy(i);
	main_jnl = toys[0].jnl;
	for (unsigned i = 0; i < RECORD_CPUS && err == 0; i++)
		err = pin_blocks(i);
	return err;
}

static void close_jnl(void)
{
	for (unsigned i = 0; i < RECORD_CPUS; i++)
		unpin_blocks(i);
	for (unsigned i = 0; i < ARRAY_COUNT(toys); i++) {
		(void)!toy_stop(&toys[i]);
		toy_fini(&toys[i]);
		blk_close(devs[i]);
	}
}

/* One committed transaction, and what it committed is at home. */
static int fresh_toy(struct toy *toy, jnl_tid *tid)
{
	struct jnl_op op;
	int err = jnl_begin(toy->jnl, 1, &op);

	if (err != 0)
		return err;
	err = toy_touch(toy, &op);
	*tid = jnl_end(&op);
	if (err == 0)
		err = jnl_wait(toy->jnl, *tid);
	return err == 0 ? jnl_checkpoint(toy->jnl) : err;
}

static int fresh_jnl(void)
{
	jnl_tid tid = 0;
	int err = 0;

	for (unsigned i = ARRAY_COUNT(toys); i-- > 0 && err == 0;)
		err = fresh_toy(&toys[i], &tid);
	old_tid = tid;
	for (unsigned i = 0; i < RECORD_CPUS; i++)
		cpus[i].used = 0;
	return err;
}

/* ---- the operations ----------------------------------------------------------------- */

static int begin_and_end(struct jnl *j)
{
	struct jnl_op op;
	int err = jnl_begin(j, 4, &op);

	if (err == 0)
		(void)jnl_end(&op);
	return err;
}

static int run_begin(unsigned cpu)
{
	(void)cpu;
	return begin_and_end(toys[0].jnl);
}

static int run_begin_atomic(unsigned cpu)
{
	(void)cpu;
	return begin_and_end(toys[1].jnl);
}

static int run_begin_lock(unsigned cpu)
{
	(void)cpu;
	return begin_and_end(toys[2].jnl);
}

static int write_blocks(unsigned cpu, struct buf **bufs, unsigned count)
{
	struct jnl_op op;
	int err = jnl_begin(main_jnl, count, &op);

	if (err != 0)
		return err;
	for (unsigned i = 0; i < count && err == 0; i++) {
		err = jnl_get_write(&op, bufs[i]);
		if (err == 0)
			((unsigned char *)bufs[i]->data)[cpu]++;
	}
	(void)jnl_end(&op);
	return err;
}

static int run_write_own(unsigned cpu)
{
	return write_blocks(cpu, own[cpu], OWN);
}

static int run_write_new(unsigned cpu)
{
	unsigned i = cpus[cpu].used++;

	return write_blocks(cpu, &new[cpu][i], 1);
}

/* What is folded is pledged by many operations, and stays unwritten by them:
 * bitmaps, group descriptors, inode tables. */
static int run_pledge_same(unsigned cpu)
{
	struct jnl_op op;
	int err = jnl_begin(main_jnl, 1, &op);

	(void)cpu;
	if (err != 0)
		return err;
	err = toy_touch(&toys[0], &op);
	(void)jnl_end(&op);
	return err;
}

static int run_ordered(unsigned cpu)
{
	struct jnl_ordered io;
	struct jnl_op op;
	int err = jnl_begin(main_jnl, 1, &op);

	(void)cpu;
	if (err != 0)
		return err;
	jnl_ordered_begin(&op, &io);
	(void)jnl_end(&op);
	jnl_ordered_end(main_jnl, &io, 0);
	return 0;
}

static int run_wait_nothing(unsigned cpu)
{
	(void)cpu;
	return jnl_wait(main_jnl, old_tid);
}

static const struct ledger_op ops[] = {
	{"jnl_begin, end", false, run_begin},
	{"jnl_get_write, own blocks", false, run_write_own},
	{"jnl_get_write, new blocks", false, run_write_new},
	{"jnl_pledge, same block", false, run_pledge_same},
	{"jnl_ordered_begin, end", false, run_ordered},
	{"jnl_wait, nothing to wait for", false, run_wait_nothing},
	{"journal=atomic begin, end", true, run_begin_atomic},
	{"journal=lock begin, end", true, run_begin_lock},
};

const struct ledger_group ledger_jnl = {
	.ops = ops,
	.count = ARRAY_COUNT(ops),
	.open = open_jnl,
	.close = close_jnl,
	.fresh = fresh_jnl,
};
