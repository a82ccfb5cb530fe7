/* SPDX-License-Identifier: BSD-2-Clause */
/* check.c - J1 to J6, as far as the present state shows them. */
#include "jnl/jnl_int.h"

/* J1: states follow each other, one transaction apart. */
static void check_states_locked(const struct jnl *j)
{
	uint64_t gate = atomic_load(&j->gate);
	uint64_t committed = atomic_load(&j->committed);

	CHECK(gate == 0 || gate == j->running);
	CHECK(j->running == 0 || j->running == j->newest);
	CHECK(j->flushing == 0 || j->flushing == committed + 1 ||
		jnl_error(j) != 0);
	CHECK(j->running == 0 || j->flushing == 0 ||
		j->running == j->flushing + 1);
	/* J3: frees are handed out no earlier than their commit. */
	CHECK(j->released <= committed);
}

/* J2 and J4: lists hold committed blocks, and account for the log. */
static uint64_t check_done_locked(const struct jnl *j, struct jnl_done *done)
{
	uint32_t count = 0;
	struct list *n;

	CHECK(done->stamp <= atomic_load(&j->committed));
	list_for_each (n, &done->home) {
		struct jnl_buf *jb = LIST_ENTRY(n, struct jnl_buf, home_link);

		CHECK(jb->done == done);
		CHECK(atomic_load(&jnl_buf_home(jb)->pins) > 0);
		count++;
	}
	CHECK(count == done->home_count);
	return count;
}

static void check_log_locked(const struct jnl *j)
{
	uint32_t ring = j->super.end - j->super.first;
	uint64_t home_blocks = 0;
	uint32_t blocks = 0;
	uint64_t last = 0;
	struct list *n;

	list_for_each (n, &j->done) {
		struct jnl_done *done = LIST_ENTRY(n, struct jnl_done, link);

		CHECK(done->stamp > last);
		last = done->stamp;
		blocks += done->log_blocks;
		home_blocks += check_done_locked(j, done);
	}
	CHECK(home_blocks == j->home_blocks);
	/* A tail on the move has left the list and is counted still. */
	CHECK(blocks <= j->done_blocks && j->done_blocks <= ring);
	/* J6: the running one fits beside the committing one. */
	if (j->log_dev != NULL && j->running != 0)
		CHECK(ring - j->done_blocks >= j->log_need);
}

static void check_all_locked(struct jnl *j)
{
	check_states_locked(j);
	check_log_locked(j);
}

void jnl_check_debug_locked(struct jnl *j)
{
#ifdef EXTANT_DEBUG
	check_all_locked(j);
#else
	(void)j;
#endif
}

void jnl_check(struct jnl *j)
{
	mtx_lock(&j->lock);
	check_all_locked(j);
	mtx_unlock(&j->lock);
}
