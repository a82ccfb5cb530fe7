/* SPDX-License-Identifier: BSD-2-Clause */
/* load.c - see load.h. */
#include "load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/hash.h"
#include "blk/layers.h"
#include "sync/futex.h"

enum {
	STEP_CREDITS = 2, /* the most that one step may cost */
	THREADS_MAX = 64,
};

#define TOLD (UINT64_C(1) << 32)

enum step_kind {
	STEP_EDIT,
	STEP_CREATE_META,
	STEP_CREATE_DATA,
	STEP_FREE_META,
	STEP_FREE_DATA,
	STEP_RECREATE, /* free and create in one go */
	STEP_REVIVE,   /* create what another operation of the transaction
	                  freed */
};

enum data_state { DATA_WRITTEN, DATA_COUNTED, DATA_SUBMITTED };

struct step {
	enum step_kind kind;
	blk_no block;
	struct buf *pinned; /* read before the operation began, or NULL */
	/* Data on its way to the device. */
	struct load *load;
	bool has_data;
	_Atomic uint32_t pending; /* enum data_state; a futex word */
	struct jnl_ordered ordered;
	struct blk_io io;
	struct iovec iov;
	char *data;
};

struct worker {
	struct load *load;
	uint64_t rng;
	pthread_t thread;
	struct step steps[LOAD_STEPS];
	uint32_t count;
};

static uint64_t draw(struct worker *w, uint64_t limit)
{
	return hash_next(&w->rng) % limit;
}

static void sleep_us(uint64_t us)
{
	struct timespec time = {0, (long)us * 1000};

	(void)nanosleep(&time, NULL);
}

static void count(_Atomic uint64_t *counter)
{
	(void)atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void keep_first(_Atomic int *error, int err)
{
	int none = 0;

	if (err != 0)
		(void)atomic_compare_exchange_strong(error, &none, err);
}

/* ---- planning: claims and pins, before the operation begins -------------------- */

static enum step_kind draw_kind(struct worker *w)
{
	/* In 128ths; what is created and freed is about in balance. */
	static const uint8_t shares[][STEP_REVIVE + 1] = {
		[LOAD_MIXED] = {[STEP_EDIT] = 44,
			[STEP_CREATE_META] = 24,
			[STEP_CREATE_DATA] = 16,
			[STEP_FREE_META] = 20,
			[STEP_FREE_DATA] = 12,
			[STEP_RECREATE] = 4,
			[STEP_REVIVE] = 8},
		[LOAD_EDITS] = {[STEP_EDIT] = 119,
			[STEP_CREATE_META] = 3,
			[STEP_CREATE_DATA] = 2,
			[STEP_FREE_META] = 1,
			[STEP_FREE_DATA] = 1,
			[STEP_RECREATE] = 1,
			[STEP_REVIVE] = 1},
	};
	uint64_t at = draw(w, 128);
	unsigned kind = 0;

	while (at >= shares[w->load->opts.mix][kind])
		at -= shares[w->load->opts.mix][kind++];
	return (enum step_kind)kind;
}

/* A freed block that is created again may be charged for twice. */
static uint32_t credits_of(enum step_kind kind)
{
	return kind == STEP_RECREATE ? STEP_CREDITS : 1;
}

static enum model_want want_of(enum step_kind kind)
{
	switch (kind) {
	case STEP_CREATE_META:
	case STEP_CREATE_DATA:
		return WANT_FREE;
	case STEP_FREE_DATA:
		return WANT_DATA;
	case STEP_REVIVE:
		return WANT_DYING;
	default:
		return WANT_META;
	}
}

/* Most edits pin their block first; some read it inside the operation. */
static void step_plan(struct worker *w, struct step *s)
{
	bool meta = s->kind == STEP_EDIT || s->kind == STEP_FREE_META ||
		    s->kind == STEP_RECREATE;
	struct cache *cache = w->load->toy->cache;

	if (meta && draw(w, 8) != 0 &&
		cache_get(cache, s->block, NULL, &s->pinned) != 0)
		s->pinned = NULL;
	if (s->kind == STEP_CREATE_DATA)
		s->data = malloc(w->load->toy->opts.block_bytes);
}

static void plan(struct worker *w)
{
	uint64_t most = (jnl_op_max(w->load->toy->jnl) - 1) / STEP_CREDITS;
	uint64_t tries;

	if (w->load->opts.steps < most)
		most = w->load->opts.steps;
	tries = 1 + draw(w, most);

	w->count = 0;
	while (tries-- > 0) {
		struct step *s = &w->steps[w->count];

		*s = (struct step){.kind = draw_kind(w)};
		s->block =
			model_claim(w->load->model, want_of(s->kind), &w->rng);
		if (s->block == 0)
			continue;
		step_plan(w, s);
		w->count++;
	}
}

static void unplan(struct worker *w)
{
	for (uint32_t i = 0; i < w->count; i++) {
		struct step *s = &w->steps[i];

		if (s->pinned != NULL)
			buf_put(s->pinned);
		free(s->data);
		model_unclaim(w->load->model, s->block);
	}
}

/* ---- ordered data ------------------------------------------------------------- */

static void data_done(struct blk_io *io)
{
	struct step *s = io->owner;

	jnl_ordered_end(s->load->toy->jnl, &s->ordered, io->result);
	atomic_store(&s->pending, DATA_WRITTEN);
	futex_wake_all(&s->pending);
}

static void data_submit(struct step *s)
{
	size_t bytes = s->load->toy->opts.block_bytes;

	atomic_store(&s->pending, DATA_SUBMITTED);
	s->iov = (struct iovec){s->data, bytes};
	s->io = (struct blk_io){.op = BLK_WRITE,
		.offset = s->block * bytes,
		.bytes = bytes,
		.iov = &s->iov,
		.iov_count = 1,
		.done = data_done,
		.owner = s};
	blk_submit(s->load->toy->dev, &s->io);
}

static void data_wait(struct step *s)
{
	uint32_t pending;

	while ((pending = atomic_load(&s->pending)) != DATA_WRITTEN)
		(void)futex_wait(&s->pending, pending, FUTEX_FOREVER);
}

/* ---- steps ---------------------------------------------------------------------- */

static void record(struct worker *w, struct step *s, struct jnl_op *op,
	enum model_kind kind, uint64_t version)
{
	model_record(w->load->model, s->block, jnl_op_tid(op), kind, version);
}

static int step_write(
	struct worker *w, struct step *s, struct jnl_op *op, bool create)
{
	uint64_t version = model_version(w->load->model);
	int err = toy_put(w->load->toy, op, s->block, version, create);

	if (err == 0)
		record(w, s, op, MODEL_META, version);
	return err;
}

static int step_create_meta(struct worker *w, struct step *s, struct jnl_op *op)
{
	int err = step_write(w, s, op, true);

	if (err == 0 && model_is_reused(w->load->model, s->block))
		count(&w->load->counts.reused_meta);
	return err;
}

static int step_create_data(struct worker *w, struct step *s, struct jnl_op *op)
{
	struct load *l = w->load;
	uint64_t version = model_version(l->model);

	if (s->data == NULL)
		return -ENOMEM;
	toy_fill(&l->toy->opts, s->data, s->block, version);
	jnl_ordered_begin(op, &s->ordered);
	s->has_data = true;
	s->load = l;
	atomic_store(&s->pending, DATA_COUNTED);
	record(w, s, op, MODEL_DATA, version);
	if (model_is_reused(l->model, s->block))
		count(&l->counts.reused_data);
	return 0;
}

static int step_free(struct worker *w, struct step *s, struct jnl_op *op)
{
	bool by_buf = s->pinned != NULL && draw(w, 2) != 0;
	int err = 0;

	/* Of data the journal has no copy; telling it does no harm. */
	if (s->kind != STEP_FREE_DATA || draw(w, 2) != 0)
		err = jnl_forget(op, s->block, by_buf ? s->pinned : NULL);
	if (err == 0)
		record(w, s, op, MODEL_FREE, 0);
	if (err == 0 && s->kind == STEP_FREE_META)
		count(&w->load->counts.frees);
	return err;
}

static int step_recreate(struct worker *w, struct step *s, struct jnl_op *op)
{
	int err = step_free(w, s, op);

	if (err == 0)
		err = step_write(w, s, op, true);
	if (err == 0)
		count(&w->load->counts.recreated);
	return err;
}

/* Only while the transaction that freed it still runs. */
static int step_revive(struct worker *w, struct step *s, struct jnl_op *op)
{
	int err;

	if (model_now(w->load->model, s->block)->tid != jnl_op_tid(op))
		return 0;
	err = step_write(w, s, op, true);
	if (err == 0)
		count(&w->load->counts.recreated);
	return err;
}

static int step_do(struct worker *w, struct step *s, struct jnl_op *op)
{
	switch (s->kind) {
	case STEP_EDIT:
		return step_write(w, s, op, false);
	case STEP_CREATE_META:
		return step_create_meta(w, s, op);
	case STEP_CREATE_DATA:
		return step_create_data(w, s, op);
	case STEP_FREE_META:
	case STEP_FREE_DATA:
		return step_free(w, s, op);
	case STEP_RECREATE:
		return step_recreate(w, s, op);
	case STEP_REVIVE:
		return step_revive(w, s, op);
	}
	return 0;
}

/* ---- operations ------------------------------------------------------------------- */

/* A step that pays for itself: by a larger operation, or one inside it. */
static int step_pay_do(struct worker *w, struct step *s, struct jnl_op *op)
{
	uint32_t credits = credits_of(s->kind);
	struct jnl_op inner;
	int err;

	if (draw(w, 2) != 0) {
		err = jnl_extend(op, credits);
		return err == 0 ? step_do(w, s, op) : err;
	}
	err = jnl_begin(op->jnl, credits, &inner);
	if (err != 0)
		return err;
	err = step_do(w, s, &inner);
	CHECK(jnl_end(&inner) == jnl_op_tid(op));
	return err;
}

/* The first @paid steps have their credits; others pay for themselves. */
static int op_steps(struct worker *w, struct jnl_op *op, uint32_t paid)
{
	int err = toy_touch(w->load->toy, op);

	for (uint32_t i = 0; i < w->count && err == 0; i++) {
		struct step *s = &w->steps[i];

		err = i < paid ? step_do(w, s, op) : step_pay_do(w, s, op);
	}
	return err == -EAGAIN ? 0 : err;
}

/* Data goes out inside the operation, or after its end. */
static void op_data(struct worker *w, bool late)
{
	for (uint32_t i = 0; i < w->count; i++) {
		struct step *s = &w->steps[i];

		if (!s->has_data || atomic_load(&s->pending) != DATA_COUNTED)
			continue;
		if (late)
			count(&w->load->counts.late_data);
		data_submit(s);
	}
}

static int op_run(struct worker *w, jnl_tid *tid)
{
	uint32_t paid = w->count - (uint32_t)draw(w, w->count / 2 + 1);
	bool late = draw(w, 2) != 0;
	uint32_t credits = 1; /* for the folded block */
	struct jnl_op op;
	int err;

	for (uint32_t i = 0; i < paid; i++)
		credits += credits_of(w->steps[i].kind);
	err = jnl_begin(w->load->toy->jnl, credits, &op);
	if (err != 0)
		return err;
	err = op_steps(w, &op, paid);
	if (!late)
		op_data(w, false);
	*tid = jnl_end(&op);
	if (late && draw(w, 2) != 0)
		jnl_kick(w->load->toy->jnl, *tid);
	if (late && draw(w, 2) != 0)
		sleep_us(draw(w, 200));
	op_data(w, true);
	for (uint32_t i = 0; i < w->count; i++)
		if (w->steps[i].has_data)
			data_wait(&w->steps[i]);
	count(&w->load->counts.ops);
	return err;
}

static int wait_for(struct worker *w, jnl_tid tid)
{
	struct load *l = w->load;
	int err = draw(w, 8) == 0 ? jnl_sync(l->toy->jnl)
				  : jnl_wait(l->toy->jnl, tid);

	if (err != 0)
		return err;
	count(&l->counts.waits);
	if (l->crash != NULL)
		model_mark(l->model, blk_crash_events(l->crash), tid);
	return 0;
}

static int worker_op(struct worker *w)
{
	struct load *l = w->load;
	jnl_tid tid = 0;
	int err;

	plan(w);
	err = op_run(w, &tid);
	unplan(w);
	keep_first(&l->counts.error, err);
	if (err != 0)
		return err;
	if (draw(w, l->opts.wait_every) == 0) {
		err = wait_for(w, tid);
		keep_first(&l->counts.wait_error, err);
	} else if (draw(w, 16) == 0) {
		jnl_kick(l->toy->jnl, tid);
	}
	return err;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct load *l = w->load;
	int err = 0;

	for (uint32_t i = 0; i < l->opts.ops && err == 0; i++)
		err = worker_op(w);
	CHECK(err == 0 || l->opts.may_fail);
	return NULL;
}

void load_run(struct load *l)
{
	/* One load at a time, and no memory that a test of faults denies. */
	static struct worker workers[THREADS_MAX];

	CHECK(l->opts.threads <= THREADS_MAX && l->opts.steps <= LOAD_STEPS);
	for (uint32_t i = 0; i < l->opts.threads; i++) {
		struct worker *w = &workers[i];

		*w = (struct worker){
			.load = l, .rng = hash_u64(l->opts.seed + i)};
		CHECK(pthread_create(&w->thread, NULL, worker_main, w) == 0);
	}
	for (uint32_t i = 0; i < l->opts.threads; i++)
		CHECK(pthread_join(workers[i].thread, NULL) == 0);
}

/* ---- the client --------------------------------------------------------------------- */

/* As the toy folds, but with the life's number, and taking its time. */
static int load_fold(void *arg, struct jnl_fold *f, jnl_tid tid)
{
	struct toy *toy = arg;
	struct load *l = toy->user;
	struct buf *b = toy->folded;
	uint64_t turn = l->folds++;
	int err;

	if (l->opts.fold_us != 0)
		sleep_us(hash_u64(l->opts.seed + turn) % l->opts.fold_us);
	mtx_lock(&b->lock);
	err = jnl_fold_write(f, b);
	if (err == 0)
		toy_fill(&toy->opts, b->data, TOY_FOLDED,
			model_folded(l->model, tid));
	mtx_unlock(&b->lock);
	if (err == 0)
		atomic_store(&l->folded[tid % LOAD_FOLDS], TOLD | tid);
	return err == -EUCLEAN ? 0 : err;
}

/* The newest up to @tid that folded: an empty transaction, which leaves no
 * trace, has a tid, too. */
static bool load_newest_folded(struct load *l, jnl_tid *tid)
{
	for (unsigned i = 0; i < LOAD_FOLDS; i++, (*tid)--)
		if (atomic_load(&l->folded[*tid % LOAD_FOLDS]) == (TOLD | *tid))
			return true;
	return false;
}

static void load_committed(struct toy *toy, jnl_tid tid)
{
	struct load *l = toy->user;
	jnl_tid folded = tid;

	if (l->crash != NULL && load_newest_folded(l, &folded))
		model_mark(l->model, blk_crash_events(l->crash), folded);
	model_committed(l->model, tid);
}

void load_bind(struct load *l)
{
	l->toy->user = l;
	l->toy->client.fold = load_fold;
	l->toy->on_committed = load_committed;
}
