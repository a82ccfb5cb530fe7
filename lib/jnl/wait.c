/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait.c - those who need durability commit in groups.
 *
 * Whoever finds nobody committing commits the running transaction in its own
 * thread, for all that wait with it; the others sleep until a commit is done.
 *
 * A leader that starts at once would seal a transaction of one: the others,
 * woken by the same commit, are just about to begin.  So it first gives as
 * many as the last commit served a moment to join, a small part of what a
 * commit takes.
 */
#include <errno.h>

#include "jnl/jnl_int.h"
#include "sync/futex.h"

enum {
	GATHER_SHARE = 4, /* at most this part of a mean commit is waited */
	GATHER_NS_MAX = 2000000,
};

static void group_gather(struct jnl *j)
{
	uint64_t limit = j->commit_ns_mean / GATHER_SHARE;
	uint64_t began = jnl_now();
	uint64_t now = began;

	if (limit > GATHER_NS_MAX)
		limit = GATHER_NS_MAX;
	while (now - began < limit) {
		uint32_t seen = atomic_load(&j->group_seq);

		if (atomic_load(&j->group) >= j->last_group)
			break;
		(void)futex_wait(&j->group_seq, seen, limit - (now - began));
		now = jnl_now();
	}
}

/* This thread drives one commit for all who wait for @stamp. */
static int group_lead(struct jnl *j, uint64_t stamp) REQUIRES(j->commit_lock)
{
	if (j->last_group > 1)
		group_gather(j);
	if (atomic_load(&j->committed) >= stamp)
		return 0;
	j->last_group = atomic_load(&j->group);
	return jnl_commit(j);
}

static bool wait_is_over(struct jnl *j, uint64_t stamp, int *err)
{
	*err = 0;
	if (atomic_load(&j->committed) >= stamp)
		return true;
	*err = jnl_error(j) != 0 ? -EIO : 0;
	return *err != 0;
}

/*
 * Nothing that @stamp holds has to be made durable.  The commit that gathers
 * a transaction leaves it looking empty, but closes its gate before: the
 * second look at the gate says that the lists were still the operations' own.
 */
static bool wait_is_vain(struct jnl *j, uint64_t stamp)
{
	return atomic_load(&j->gate) == stamp && jnl_txn_empty(j, stamp) &&
	       atomic_load(&j->gate) == stamp;
}

static int wait_in_group(struct jnl *j, uint64_t stamp)
{
	int err;

	for (;;) {
		/* Read first: a commit that ends after the checks below has
		 * changed the word, and the sleep returns at once. */
		uint32_t seen = atomic_load(&j->commit_seq);

		if (wait_is_over(j, stamp, &err))
			return err;
		if (mtx_trylock(&j->commit_lock)) {
			err = group_lead(j, stamp);
			mtx_unlock(&j->commit_lock);
			/* Those who could not lead meanwhile try again. */
			jnl_signal(&j->commit_seq);
			jnl_release(j);
			if (err != 0 || wait_is_vain(j, stamp))
				return err;
		} else {
			(void)futex_wait(&j->commit_seq, seen, FUTEX_FOREVER);
		}
	}
}

int jnl_wait(struct jnl *j, jnl_tid tid)
{
	uint64_t stamp = jnl_stamp_of(j, tid);
	int err;

	rank_assert_below(RANK_JNL_COMMIT);
	if (wait_is_over(j, stamp, &err))
		return err;
	if (wait_is_vain(j, stamp))
		return 0;
	atomic_fetch_add(&j->stat_waits, 1);
	atomic_fetch_add(&j->group, 1);
	jnl_signal(&j->group_seq);
	err = wait_in_group(j, stamp);
	atomic_fetch_sub(&j->group, 1);
	return err;
}

void jnl_kick(struct jnl *j, jnl_tid tid)
{
	uint64_t stamp = jnl_stamp_of(j, tid);
	uint64_t kicked = atomic_load(&j->kicked);

	while (kicked < stamp)
		if (atomic_compare_exchange_weak(&j->kicked, &kicked, stamp)) {
			jnl_signal(&j->commit_work);
			break;
		}
}

int jnl_sync(struct jnl *j)
{
	uint64_t stamp;
	int err;

	mtx_lock(&j->lock);
	stamp = j->running;
	if (stamp == 0 || jnl_txn_empty(j, stamp))
		stamp = j->flushing;
	mtx_unlock(&j->lock);
	if (stamp != 0)
		err = jnl_wait(j, (jnl_tid)stamp);
	else
		err = jnl_error(j) != 0 ? -EIO : 0;
	if (err == 0)
		jnl_release_wait(j, atomic_load(&j->committed));
	return err;
}
