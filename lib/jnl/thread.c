/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.c - the journal's two threads: one commits, one brings blocks home.
 *
 * The commit thread acts when a transaction is old, or full, or somebody
 * asked without waiting.  The checkpoint thread acts when log space or pinned
 * buffers run short; neither ever waits for the other while holding a lock,
 * so a commit never waits for a checkpoint (J6).
 */
#include "sync/thread.h"

#include <errno.h>

#include "jnl/jnl_int.h"
#include "sync/futex.h"

enum { HOME_REST_NS = 1000000, HOME_REST_NS_MAX = 1000000000 };

/* Is a commit due?  If not, *@ns is when to look again. */
static bool commit_due(struct jnl *j, uint64_t *ns)
{
	uint64_t running;
	uint64_t age;

	mtx_lock(&j->lock);
	running = j->running;
	age = jnl_now() - j->opened_ns;
	mtx_unlock(&j->lock);
	*ns = j->commit_ns;
	if (running == 0)
		return false;
	/* Also an empty one when asked: somebody waits for its credits. */
	if (atomic_load(&j->kicked) >= running)
		return true;
	if (jnl_txn_empty(j, running))
		return false;
	if (age >= j->commit_ns)
		return true;
	*ns = j->commit_ns - age;
	return false;
}

static void commit_once(struct jnl *j)
{
	mtx_lock(&j->commit_lock);
	(void)!jnl_commit(j);
	mtx_unlock(&j->commit_lock);
	jnl_signal(&j->commit_seq);
	jnl_release(j);
}

static void *commit_main(void *arg)
{
	struct jnl *j = arg;

	for (;;) {
		/* Read first: what is asked for later ends the sleep at once,
		 * and so does jnl_threads_stop(). */
		uint32_t seen = atomic_load(&j->commit_work);
		uint64_t ns;

		if (atomic_load(&j->stopping))
			break;
		if (jnl_error(j) != 0) {
			jnl_superblock_store_error(j);
			(void)futex_wait(&j->commit_work, seen, FUTEX_FOREVER);
		} else if (commit_due(j, &ns)) {
			commit_once(j);
		} else {
			(void)futex_wait(&j->commit_work, seen, ns);
		}
	}
	return NULL;
}

static bool home_due(struct jnl *j)
{
	bool due;

	mtx_lock(&j->lock);
	due = jnl_error(j) == 0 && (atomic_exchange(&j->pressed, false) ||
					   jnl_home_pressed_locked(j));
	mtx_unlock(&j->lock);
	return due;
}

/* What is left, in the log or in memory, belongs to the running transaction:
 * it must commit. */
static void home_unstick(struct jnl *j)
{
	uint64_t stamp = atomic_load(&j->gate);

	if (stamp != 0 && !jnl_txn_empty(j, stamp))
		jnl_kick(j, (jnl_tid)stamp);
}

/* How long to rest when there was no memory for home writes. */
static uint64_t home_rest(uint64_t ns)
{
	if (ns == 0)
		return HOME_REST_NS;
	return ns < HOME_REST_NS_MAX ? 2 * ns : ns;
}

static void *home_main(void *arg)
{
	struct jnl *j = arg;
	uint64_t rest = 0;
	bool stuck;
	int err;

	for (;;) {
		/* Read first, as in commit_main(). */
		uint32_t seen = atomic_load(&j->home_work);

		if (atomic_load(&j->stopping))
			break;
		if (!home_due(j)) {
			(void)futex_wait(&j->home_work, seen, FUTEX_FOREVER);
			continue;
		}
		mtx_lock(&j->home_lock);
		err = jnl_home_some(j, &stuck);
		mtx_unlock(&j->home_lock);
		jnl_release(j);
		rest = err == -ENOMEM ? home_rest(rest) : 0;
		if (stuck)
			home_unstick(j);
		if (stuck || rest != 0)
			(void)futex_wait(&j->home_work, seen,
				rest != 0 ? rest : FUTEX_FOREVER);
	}
	return NULL;
}

int jnl_threads_start(struct jnl *j)
{
	int err = thread_start(&j->commit_thread, commit_main, j);

	if (err != 0)
		return err;
	err = thread_start(&j->home_thread, home_main, j);
	if (err == 0)
		return 0;
	atomic_store(&j->stopping, true);
	jnl_signal(&j->commit_work);
	(void)pthread_join(j->commit_thread, NULL);
	return err;
}

void jnl_threads_stop(struct jnl *j)
{
	atomic_store(&j->stopping, true);
	jnl_signal(&j->commit_work);
	jnl_signal(&j->home_work);
	(void)pthread_join(j->commit_thread, NULL);
	(void)pthread_join(j->home_thread, NULL);
}
