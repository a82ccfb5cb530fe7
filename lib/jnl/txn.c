/* SPDX-License-Identifier: BSD-2-Clause */
/* txn.c - the running transaction opens, is sealed, and drains. */
#include "jnl/jnl_int.h"
#include "sync/futex.h"

/* J6: room for a largest transaction beside the committing one, in the log
 * and among the buffers that may be pinned. */
static bool txn_fits_locked(const struct jnl *j)
{
	uint32_t ring = j->super.end - j->super.first;
	uint32_t used = j->done_blocks + (j->flushing != 0 ? j->log_need : 0);

	if (j->log_dev == NULL)
		return true;
	return ring - used >= j->log_need && j->home_blocks <= j->home_most;
}

void jnl_txn_open_locked(struct jnl *j)
{
	if (j->running != 0 || atomic_load(&j->error) != 0)
		return;
	if (!txn_fits_locked(j)) {
		jnl_signal(&j->home_work);
		return;
	}
	j->running = ++j->newest;
	j->opened_ns = jnl_now();
	j->admit->open(j, j->running, j->max_blocks);
	atomic_store(&j->gate, j->running);
	jnl_signal(&j->gate_seq);
}

static bool shard_empty(struct jnl_shard *s)
{
	return atomic_load(&s->joined) == NULL &&
	       atomic_load(&s->freed) == NULL && !atomic_load(&s->ordered_seen);
}

bool jnl_txn_empty(struct jnl *j, uint64_t stamp)
{
	for (uint32_t i = 0; i < j->shard_count; i++)
		if (!shard_empty(&j->shard[jnl_parity(stamp)][i]))
			return false;
	return true;
}

static void txn_drain(struct jnl *j, uint64_t stamp)
{
	uint64_t from = jnl_now();
	uint64_t took;

	for (;;) {
		uint32_t seen = atomic_load(&j->drain_seq);

		if (j->admit->drained(j, stamp))
			break;
		(void)futex_wait(&j->drain_seq, seen, FUTEX_FOREVER);
	}
	took = jnl_now() - from;
	if (took > j->stats.drain_ns_max)
		j->stats.drain_ns_max = took;
}

uint64_t jnl_txn_seal(struct jnl *j)
{
	uint64_t stamp;

	mtx_lock(&j->lock);
	stamp = j->running;
	if (stamp != 0 && jnl_txn_empty(j, stamp) &&
		atomic_load(&j->kicked) < stamp)
		stamp = 0;
	/* Pairs with the additions in admit_*.c: close, then look. */
	if (stamp != 0)
		atomic_store(&j->gate, 0);
	mtx_unlock(&j->lock);
	if (stamp == 0)
		return 0;

	txn_drain(j, stamp);

	mtx_lock(&j->lock);
	ASSERT(j->flushing == 0);
	j->flushing = stamp;
	j->running = 0;
	jnl_txn_open_locked(j);
	jnl_check_debug_locked(j);
	mtx_unlock(&j->lock);
	return stamp;
}

static bool txn_ordered_done(struct jnl *j, unsigned parity)
{
	for (uint32_t i = 0; i < j->shard_count; i++)
		if (atomic_load(&j->shard[parity][i].ordered) != 0)
			return false;
	return true;
}

void jnl_txn_wait_ordered(struct jnl *j, uint64_t stamp)
{
	atomic_store(&j->ordered_waiting, true);
	for (;;) {
		uint32_t seen = atomic_load(&j->drain_seq);

		if (txn_ordered_done(j, jnl_parity(stamp)))
			break;
		(void)futex_wait(&j->drain_seq, seen, FUTEX_FOREVER);
	}
	atomic_store(&j->ordered_waiting, false);
}
