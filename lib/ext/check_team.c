/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_team.c - threads that check groups, and findings in order.
 *
 * A thread takes the next group, checks it, and waits for its turn to tell:
 * when all groups before have been told.  The turn is a word that only its
 * holder changes, so what is done in one's turn needs no lock.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "ext/check_int.h"
#include "sync/futex.h"

enum { THREADS_MAX = 16, TABLE_BYTES = 256 << 10 };

struct team {
	struct check *c;
	_Atomic uint32_t next; /* [atomic] group that nobody has taken */
	_Atomic uint32_t turn; /* [atomic] group that tells next */
};

struct member {
	struct team *team;
	struct check_worker worker;
	pthread_t thread;
	bool started;
};

/* ---- one worker -------------------------------------------------------------- */

static void worker_fini(struct check_worker *w)
{
	free(w->descs);
	free(w->blocks);
	free(w->inodes);
	free(w->table);
}

/* What it gets is given back by worker_fini() in any case. */
static int worker_init(struct check_worker *w, const struct check *c)
{
	uint32_t block = c->fs.super.block_bytes;

	w->c = c;
	w->descs_at = LOG_NO_BLOCK;
	w->table_blocks = TABLE_BYTES / block;
	w->descs = malloc(block);
	w->blocks = malloc(block);
	w->inodes = malloc(block);
	w->table = malloc(TABLE_BYTES);
	return w->descs && w->blocks && w->inodes && w->table ? 0 : -ENOMEM;
}

/* ---- turns ------------------------------------------------------------------- */

/* Sees all that was done in earlier turns. */
static void turn_wait(struct team *t, uint32_t group)
{
	uint32_t now;

	while ((now = atomic_load(&t->turn)) != group)
		(void)futex_wait(&t->turn, now, FUTEX_FOREVER);
}

static void turn_pass(struct team *t, uint32_t group)
{
	atomic_store(&t->turn, group + 1);
	futex_wake_all(&t->turn);
}

static void tell(struct check *c, const struct check_worker *w, uint32_t group)
{
	check_tell(c, &w->findings, group);
	c->sums.free_blocks += w->sums.free_blocks;
	c->sums.free_inodes += w->sums.free_inodes;
	c->sums.blocks_used += w->sums.blocks_used;
	c->sums.inodes_used += w->sums.inodes_used;
	c->sums.unknown += w->sums.unknown;
	if (c->opts->done)
		c->opts->done(c->opts->arg, group + 1);
}

static void *work(void *arg)
{
	struct member *m = arg;
	struct team *t = m->team;
	uint32_t groups = t->c->fs.super.group_count;
	uint32_t group;

	while ((group = atomic_fetch_add(&t->next, 1)) < groups) {
		check_group(&m->worker, group);
		turn_wait(t, group);
		tell(t->c, &m->worker, group);
		turn_pass(t, group);
	}
	return NULL;
}

/* ---- all --------------------------------------------------------------------- */

static unsigned thread_count(const struct check *c)
{
	unsigned threads = c->opts->threads ? c->opts->threads : cpu_count();

	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	if (threads > c->fs.super.group_count)
		threads = c->fs.super.group_count;
	return threads;
}

/* Whoever cannot be had is done without; the caller is the first. */
int check_groups(struct check *c)
{
	struct team team = {.c = c};
	unsigned threads = thread_count(c);
	struct member *members = calloc(threads, sizeof(*members));
	int err = members ? worker_init(&members[0].worker, c) : -ENOMEM;

	if (err)
		goto out_free;
	members[0].team = &team;
	for (unsigned i = 1; i < threads; i++) {
		members[i].team = &team;
		if (worker_init(&members[i].worker, c))
			break;
		members[i].started = !pthread_create(
			&members[i].thread, NULL, work, &members[i]);
	}
	(void)work(&members[0]);
out_free:
	for (unsigned i = 0; members && i < threads; i++) {
		if (members[i].started)
			(void)pthread_join(members[i].thread, NULL);
		worker_fini(&members[i].worker);
	}
	free(members);
	return err;
}
