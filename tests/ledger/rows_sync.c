/* SPDX-License-Identifier: BSD-2-Clause */
/* rows_sync.c - the words that everything else is made of. */
#include <errno.h>
#include <stdlib.h>

#include "ledger.h"
#include "sync/lock.h"
#include "sync/rcu.h"
#include "sync/ref.h"
#include "sync/rwl.h"
#include "sync/seq.h"

struct counter {
	LINE_ALIGNED _Atomic uint64_t value;
};

static struct counter counter_shared;
static struct counter counter_private[RECORD_CPUS];

static int run_counter_shared(unsigned cpu)
{
	(void)cpu;
	atomic_fetch_add(&counter_shared.value, 1);
	return 0;
}

static int run_counter_private(unsigned cpu)
{
	atomic_fetch_add(&counter_private[cpu].value, 1);
	return 0;
}

/* ---- locks ---------------------------------------------------------------------- */

struct lock {
	LINE_ALIGNED struct mtx mtx;
	LINE_ALIGNED struct rwl rwl;
	LINE_ALIGNED uint64_t guarded;
};

static struct lock_class mtx_class = {.name = "ledger.mtx", .rank = RANK_BUF};
static struct lock_class rwl_class = {.name = "ledger.rwl", .rank = RANK_DIR};
static struct lock lock_shared;
static struct lock lock_private[RECORD_CPUS];

static int open_locks(void)
{
	mtx_init(&lock_shared.mtx, &mtx_class);
	rwl_init(&lock_shared.rwl, &rwl_class);
	for (unsigned i = 0; i < RECORD_CPUS; i++) {
		mtx_init(&lock_private[i].mtx, &mtx_class);
		rwl_init(&lock_private[i].rwl, &rwl_class);
	}
	return 0;
}

static void use_mtx(struct lock *l)
{
	mtx_lock(&l->mtx);
	l->guarded++;
	mtx_unlock(&l->mtx);
}

static int run_mtx_shared(unsigned cpu)
{
	(void)cpu;
	use_mtx(&lock_shared);
	return 0;
}

static int run_mtx_private(unsigned cpu)
{
	use_mtx(&lock_private[cpu]);
	return 0;
}

static int run_rwl_private(unsigned cpu)
{
	struct lock *l = &lock_private[cpu];

	rwl_write_lock(&l->rwl);
	l->guarded++;
	rwl_write_unlock(&l->rwl);
	rwl_read_lock(&l->rwl);
	rwl_read_unlock(&l->rwl);
	return 0;
}

static int run_rwl_read_shared(unsigned cpu)
{
	(void)cpu;
	rwl_read_lock(&lock_shared.rwl);
	rwl_read_unlock(&lock_shared.rwl);
	return 0;
}

/* ---- readers ---------------------------------------------------------------------- */

struct thing {
	struct seq seq;
	struct ref ref;
	_Atomic uint64_t field; /* [seq] */
};

static struct thing thing;
static _Atomic(struct thing *) published = &thing;

/* What a walk does with an object that it takes no reference to. */
static int run_rcu_read(unsigned cpu)
{
	struct thing *t;
	uint32_t start;

	(void)cpu;
	rcu_begin();
	t = RCU_DEREF(published);
	do {
		start = seq_read_begin(&t->seq);
		(void)SEQ_LOAD(t->field);
	} while (seq_read_retry(&t->seq, start));
	rcu_end();
	return 0;
}

struct doomed {
	struct rcu_node node;
};

static void free_doomed(struct rcu_node *node)
{
	free(CONTAINER_OF(node, struct doomed, node));
}

static int run_rcu_free(unsigned cpu)
{
	struct doomed *d = malloc(sizeof(*d));

	(void)cpu;
	if (d == NULL)
		return -ENOMEM;
	rcu_free(&d->node, free_doomed);
	return 0;
}

static const struct ledger_op ops[] = {
	{"counter, one for all", true, run_counter_shared},
	{"counter, one each", false, run_counter_private},
	{"mtx, one for all", true, run_mtx_shared},
	{"mtx, one each", false, run_mtx_private},
	{"rwl read, one for all", true, run_rwl_read_shared},
	{"rwl, one each", false, run_rwl_private},
	{"rcu and seq read", false, run_rcu_read},
	{"rcu_free", false, run_rcu_free},
};

const struct ledger_group ledger_sync = {
	.ops = ops,
	.count = ARRAY_COUNT(ops),
	.open = open_locks,
	.close = rcu_drain,
};
