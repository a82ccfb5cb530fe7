/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gate.h - a device whose reads and writes stop at a gate until a test opens
 * it, so that a race can be held in the middle.
 */
#ifndef TESTS_CACHE_GATE_H
#define TESTS_CACHE_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "kit.h"

enum { GATE_BLOCK = 16384, GATE_BLOCKS = 200 };

enum gate_side { GATE_READ, GATE_WRITE };

struct gate {
	struct kit kit;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	bool closed[2];
	int inside[2]; /* requests at the gate or beyond */
	int most[2];   /* ever inside at once */
	int passed[2]; /* requests that are over */
	int error[2];  /* what requests get while it is set */
	blk_no only;   /* whose requests stop; all if beyond the device */
	char bytes[GATE_BLOCKS * GATE_BLOCK];
};

static inline int gate_pass(struct gate *g, enum gate_side side,
	uint64_t offset, size_t n, void *to, const void *from)
{
	bool stops;
	int err;

	pthread_mutex_lock(&g->lock);
	stops = g->only >= GATE_BLOCKS || offset / GATE_BLOCK == g->only;
	g->inside[side]++;
	if (g->inside[side] > g->most[side])
		g->most[side] = g->inside[side];
	pthread_cond_broadcast(&g->moved);
	while (stops && g->closed[side])
		pthread_cond_wait(&g->moved, &g->lock);
	err = g->error[side];
	if (err == 0)
		memcpy(to, from, n);
	g->inside[side]--;
	g->passed[side]++;
	pthread_mutex_unlock(&g->lock);
	return err;
}

static inline int gate_pread(void *arg, uint64_t offset, size_t n, void *data)
{
	struct gate *g = arg;

	return gate_pass(g, GATE_READ, offset, n, data, g->bytes + offset);
}

static inline int gate_pwrite(
	void *arg, uint64_t offset, size_t n, const void *data)
{
	struct gate *g = arg;

	return gate_pass(g, GATE_WRITE, offset, n, g->bytes + offset, data);
}

static inline void gate_set(
	struct gate *g, enum gate_side side, bool closed, int error)
{
	pthread_mutex_lock(&g->lock);
	g->closed[side] = closed;
	g->error[side] = error;
	pthread_cond_broadcast(&g->moved);
	pthread_mutex_unlock(&g->lock);
}

/* Wait until somebody stands at the gate. */
static inline void gate_await(struct gate *g, enum gate_side side)
{
	pthread_mutex_lock(&g->lock);
	while (g->inside[side] == 0)
		pthread_cond_wait(&g->moved, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

static inline int gate_passed(struct gate *g, enum gate_side side)
{
	int passed;

	pthread_mutex_lock(&g->lock);
	passed = g->passed[side];
	pthread_mutex_unlock(&g->lock);
	return passed;
}

/* A cache of 64 blocks over GATE_BLOCKS blocks of version 1, gates open. */
static inline struct gate *gate_open(void)
{
	static const struct blk_caller_ops ops = {
		.pread = gate_pread, .pwrite = gate_pwrite};
	struct blk_geom geom = {
		.bytes = GATE_BLOCKS * GATE_BLOCK, .sector_bytes = 512};
	struct cache_opts opts = {.bytes = 64 * GATE_BLOCK,
		.block_bytes = GATE_BLOCK,
		.patience_ms = 200};
	struct gate *g = test_calloc(1, sizeof(*g));

	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->moved, NULL);
	for (blk_no n = 0; n < GATE_BLOCKS; n++)
		kit_fill(g->bytes + n * GATE_BLOCK, GATE_BLOCK, n, 1);
	g->only = GATE_BLOCKS;
	g->kit.block_bytes = GATE_BLOCK;
	g->kit.blocks = GATE_BLOCKS;
	assert_int_equal(blk_open_caller(&ops, g, geom, &g->kit.dev), 0);
	assert_int_equal(cache_open(g->kit.dev, &opts, &g->kit.cache), 0);
	return g;
}

static inline void gate_close(struct gate *g)
{
	kit_close(&g->kit);
	pthread_cond_destroy(&g->moved);
	pthread_mutex_destroy(&g->lock);
	test_free(g);
}

/* ---- a call in a thread of its own -------------------------------------- */

struct call {
	struct gate *gate;
	int (*fn)(struct call *call);
	blk_no block;
	struct buf *buf;
	int result;
	_Atomic bool over;
	pthread_t thread;
};

static inline void *call_main(void *arg)
{
	struct call *call = arg;

	call->result = call->fn(call);
	atomic_store(&call->over, true);
	return NULL;
}

static inline void call_start(struct call *call, struct gate *g,
	int (*fn)(struct call *call), blk_no block)
{
	*call = (struct call){.gate = g, .fn = fn, .block = block};
	assert_int_equal(
		pthread_create(&call->thread, NULL, call_main, call), 0);
}

/* Give @call time to come back if it wrongly does; true: it still waits. */
static inline bool call_waits(struct call *call)
{
	usleep(20000);
	return !atomic_load(&call->over);
}

static inline int call_join(struct call *call)
{
	assert_int_equal(pthread_join(call->thread, NULL), 0);
	return call->result;
}

#endif /* TESTS_CACHE_GATE_H */
