/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats.c - count and time what passes.
 *
 * Each CPU counts in lines of its own, so that the layer adds no shared store
 * to the devices that it watches.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/cpu.h"
#include "blk/blk_int.h"
#include "blk/layers.h"

struct LINE_ALIGNED stats_shard { /* [atomic] */
	_Atomic uint64_t ops[BLK_OPS];
	_Atomic uint64_t bytes[BLK_OPS];
	_Atomic uint64_t errors[BLK_OPS];
	_Atomic uint64_t ns[BLK_OPS];
};

struct stats_layer {
	struct blk_layer layer;
	uint32_t shard_count;       /* [const] */
	struct stats_shard *shards; /* [const] the array */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	/* CLOCK_MONOTONIC cannot fail with a valid pointer. */
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void add(_Atomic uint64_t *word, uint64_t n)
{
	(void)atomic_fetch_add_explicit(word, n, memory_order_relaxed);
}

static bool stats_before(struct blk_layer *layer, struct blk_hop *hop)
{
	(void)layer;
	hop->number = now_ns();
	return true;
}

static void stats_after(struct blk_layer *layer, struct blk_hop *hop)
{
	struct stats_layer *stats =
		CONTAINER_OF(layer, struct stats_layer, layer);
	struct stats_shard *shard =
		&stats->shards[cpu_shard(stats->shard_count)];
	enum blk_op op = hop->io->op;

	add(&shard->ops[op], 1);
	add(&shard->ns[op], now_ns() - hop->number);
	if (hop->io->result != 0)
		add(&shard->errors[op], 1);
	else if (op != BLK_FLUSH)
		add(&shard->bytes[op], hop->io->bytes);
}

static void stats_close(struct blk_layer *layer)
{
	struct stats_layer *stats =
		CONTAINER_OF(layer, struct stats_layer, layer);

	free(stats->shards);
	free(stats);
}

int blk_wrap_stats(struct blk_dev *below, struct blk_dev **out)
{
	static const struct blk_layer_ops hooks = {
		stats_before, stats_after, stats_close};
	struct stats_layer *stats = calloc(1, sizeof(*stats));

	if (stats == NULL)
		return -ENOMEM;
	stats->shard_count = cpu_count();
	stats->shards = aligned_alloc(
		LINE_BYTES, stats->shard_count * sizeof(*stats->shards));
	if (stats->shards == NULL) {
		free(stats);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < stats->shard_count; i++)
		stats->shards[i] = (struct stats_shard){0};
	blk_layer_init(&stats->layer, below, &hooks);
	*out = &stats->layer.dev;
	return 0;
}

static uint64_t get(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

void blk_stats_read(const struct blk_dev *dev, struct blk_stats *out)
{
	const struct stats_layer *stats =
		CONTAINER_OF(dev, struct stats_layer, layer.dev);
	struct blk_stats sum = {0};

	for (uint32_t i = 0; i < stats->shard_count; i++) {
		const struct stats_shard *shard = &stats->shards[i];

		for (int op = 0; op < BLK_OPS; op++) {
			sum.ops[op] += get(&shard->ops[op]);
			sum.bytes[op] += get(&shard->bytes[op]);
			sum.errors[op] += get(&shard->errors[op]);
			sum.ns[op] += get(&shard->ns[op]);
		}
	}
	*out = sum;
}
