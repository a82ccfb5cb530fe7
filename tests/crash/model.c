/* SPDX-License-Identifier: BSD-2-Clause */
/* model.c - see model.h. */
#include "model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"

enum { CLAIM_TRIES = 48, ENTRIES_FIRST = 64, MARKS_FIRST = 1024 };

#define COMMITTED_ANY (UINT64_C(1) << 32)

static void *must(void *memory)
{
	CHECK(memory != NULL);
	return memory;
}

/* ---- life --------------------------------------------------------------------- */

void model_init(struct model *m, const struct toy_opts *opts)
{
	*m = (struct model){.opts = *opts, .life = 1};
	CHECK(pthread_mutex_init(&m->lock, NULL) == 0);
	m->blocks = must(calloc(opts->home_blocks, sizeof(*m->blocks)));
	/* Room enough that small tests never ask for more. */
	for (blk_no b = 0; b < opts->home_blocks; b++) {
		m->blocks[b].room = ENTRIES_FIRST;
		m->blocks[b].entries = must(
			malloc(ENTRIES_FIRST * sizeof(struct model_entry)));
	}
	m->mark_room = MARKS_FIRST;
	m->marks = must(malloc(MARKS_FIRST * sizeof(struct model_mark)));
}

void model_fini(struct model *m)
{
	for (blk_no b = 0; b < m->opts.home_blocks; b++)
		free(m->blocks[b].entries);
	free(m->blocks);
	free(m->marks);
	(void)pthread_mutex_destroy(&m->lock);
}

/* The last entry of @block's history that is part of @point. */
static const struct model_entry *block_at(
	const struct model_block *block, struct model_point point)
{
	for (uint32_t i = block->count; i-- > 0;)
		if (point.any &&
			!jnl_tid_after(block->entries[i].tid, point.tid))
			return &block->entries[i];
	return &block->base;
}

void model_advance(struct model *m, struct model_point point)
{
	for (blk_no b = 0; b < m->opts.home_blocks; b++) {
		struct model_block *block = &m->blocks[b];

		block->base = *block_at(block, point);
		block->count = 0;
		block->claimed = false;
	}
	m->life++;
	m->mark_count = 0;
	atomic_store(&m->committed, 0);
}

/* ---- claims ------------------------------------------------------------------- */

const struct model_entry *model_now(const struct model *m, blk_no block)
{
	const struct model_block *b = &m->blocks[block];

	return b->count == 0 ? &b->base : &b->entries[b->count - 1];
}

static bool block_is_dying(const struct model *m, blk_no b)
{
	uint64_t committed = atomic_load(&m->committed);

	if (m->blocks[b].count == 0)
		return false;
	return (committed & COMMITTED_ANY) == 0 ||
	       jnl_tid_after(model_now(m, b)->tid, (jnl_tid)committed);
}

static bool block_suits(const struct model *m, blk_no b, enum model_want want)
{
	enum model_kind kind = model_now(m, b)->kind;

	switch (want) {
	case WANT_META:
		return kind == MODEL_META;
	case WANT_DATA:
		return kind == MODEL_DATA;
	case WANT_FREE:
		return kind == MODEL_FREE && !block_is_dying(m, b);
	case WANT_DYING:
		return kind == MODEL_FREE && block_is_dying(m, b);
	}
	return false;
}

blk_no model_claim(struct model *m, enum model_want want, uint64_t *rng)
{
	uint64_t choice = m->opts.home_blocks - TOY_FIRST;
	blk_no found = 0;

	(void)pthread_mutex_lock(&m->lock);
	for (int i = 0; i < CLAIM_TRIES && found == 0; i++) {
		blk_no b = TOY_FIRST + hash_next(rng) % choice;

		if (!m->blocks[b].claimed && block_suits(m, b, want))
			found = b;
	}
	if (found != 0)
		m->blocks[found].claimed = true;
	(void)pthread_mutex_unlock(&m->lock);
	return found;
}

void model_unclaim(struct model *m, blk_no block)
{
	(void)pthread_mutex_lock(&m->lock);
	m->blocks[block].claimed = false;
	(void)pthread_mutex_unlock(&m->lock);
}

/* ---- histories ------------------------------------------------------------------ */

uint64_t model_version(struct model *m)
{
	return atomic_fetch_add(&m->version, 1) + 1;
}

void model_record(struct model *m, blk_no block, jnl_tid tid,
	enum model_kind kind, uint64_t version)
{
	struct model_block *b = &m->blocks[block];

	if (b->count == b->room) {
		b->room *= 2;
		b->entries = must(realloc(
			b->entries, b->room * sizeof(struct model_entry)));
	}
	b->entries[b->count++] = (struct model_entry){tid, kind, version};
}

bool model_is_reused(const struct model *m, blk_no block)
{
	const struct model_block *b = &m->blocks[block];
	bool freed = false;

	for (uint32_t i = 0; i < b->count; i++) {
		if (b->entries[i].kind == MODEL_FREE)
			freed = true;
		else if (freed)
			return true;
	}
	return false;
}

void model_committed(struct model *m, jnl_tid tid)
{
	atomic_store(&m->committed, COMMITTED_ANY | tid);
}

void model_mark(struct model *m, uint64_t events, jnl_tid tid)
{
	(void)pthread_mutex_lock(&m->lock);
	if (m->mark_count == m->mark_room) {
		m->mark_room *= 2;
		m->marks = must(realloc(
			m->marks, m->mark_room * sizeof(struct model_mark)));
	}
	m->marks[m->mark_count++] = (struct model_mark){events, tid};
	(void)pthread_mutex_unlock(&m->lock);
}

/* ---- judging -------------------------------------------------------------------- */

uint64_t model_folded(const struct model *m, jnl_tid tid)
{
	return (uint64_t)m->life << 32 | tid;
}

bool model_after(struct model_point a, struct model_point b)
{
	return a.any && (!b.any || jnl_tid_after(a.tid, b.tid));
}

static int order_marks(const void *a, const void *b)
{
	const struct model_mark *x = a;
	const struct model_mark *y = b;

	return x->events < y->events ? -1 : x->events > y->events;
}

void model_settle(struct model *m)
{
	if (m->mark_count == 0)
		return;
	qsort(m->marks, m->mark_count, sizeof(*m->marks), order_marks);
	/* A later promise includes the earlier ones. */
	for (uint32_t i = 1; i < m->mark_count; i++)
		if (jnl_tid_after(m->marks[i - 1].tid, m->marks[i].tid))
			m->marks[i].tid = m->marks[i - 1].tid;
}

struct model_point model_need(const struct model *m, uint64_t cut)
{
	uint32_t low = 0;
	uint32_t high = m->mark_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (m->marks[middle].events <= cut)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return (struct model_point){.any = false};
	return (struct model_point){true, m->marks[low - 1].tid};
}

static bool all_zero(const char *data, size_t bytes)
{
	return data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0;
}

/* Which transaction folded last.  Before the first life the block is zero. */
static int judge_point(const struct model *m, const char *all,
	struct model_point *point, char *why, size_t why_bytes)
{
	size_t bytes = m->opts.block_bytes;
	const char *data = all + TOY_FOLDED * bytes;
	uint64_t version = toy_version(&m->opts, data, TOY_FOLDED);

	*point = (struct model_point){
		.any = version >> 32 == m->life, .tid = (jnl_tid)version};
	if (version == UINT64_MAX && (m->life > 1 || !all_zero(data, bytes))) {
		(void)snprintf(why, why_bytes, "the folded block is torn");
		return -1;
	}
	return 0;
}

static void point_text(struct model_point point, char *text, size_t bytes)
{
	if (point.any)
		(void)snprintf(text, bytes, "transaction %" PRIu32, point.tid);
	else
		(void)snprintf(text, bytes, "the beginning");
}

static int judge_block(const struct model *m, const char *all, blk_no b,
	struct model_point point, char *why, size_t why_bytes)
{
	const struct model_entry *want = block_at(&m->blocks[b], point);
	const char *data = all + b * m->opts.block_bytes;
	uint64_t got;
	char state[40];

	if (want->kind == MODEL_FREE)
		return 0;
	got = toy_version(&m->opts, data, b);
	if (got == want->version)
		return 0;
	point_text(point, state, sizeof(state));
	if (got == UINT64_MAX)
		(void)snprintf(why, why_bytes,
			"block %" PRIu64 " (%s) is torn or another's in the "
			"state after %s, version %" PRIu64 " expected",
			b, want->kind == MODEL_META ? "meta" : "data", state,
			want->version);
	else
		(void)snprintf(why, why_bytes,
			"block %" PRIu64 " (%s) holds version %" PRIu64
			" in the state after %s, %" PRIu64 " expected",
			b, want->kind == MODEL_META ? "meta" : "data", got,
			state, want->version);
	return -1;
}

int model_judge(const struct model *m, struct blk_dev *home,
	struct model_point need, struct model_point *point, char *why,
	size_t why_bytes)
{
	size_t bytes = (size_t)m->opts.home_blocks * m->opts.block_bytes;
	char *all = must(malloc(bytes));
	char has[40];
	char wants[40];
	int err;

	CHECK(blk_read(home, 0, bytes, all) == 0);
	err = judge_point(m, all, point, why, why_bytes);
	if (err == 0 && model_after(need, *point)) {
		point_text(*point, has, sizeof(has));
		point_text(need, wants, sizeof(wants));
		(void)snprintf(why, why_bytes,
			"the state is that after %s, but %s was waited for",
			has, wants);
		err = -1;
	}
	for (blk_no b = TOY_FIRST; b < m->opts.home_blocks && err == 0; b++)
		err = judge_block(m, all, b, *point, why, why_bytes);
	free(all);
	return err;
}
