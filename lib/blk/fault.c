/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault.c - fail what a test names, and nothing else.
 *
 * Rules count requests of their kind; the first that is due decides.  A
 * failed request never reaches the device below, or half of it does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/list.h"
#include "blk/blk_int.h"
#include "blk/layers.h"
#include "blk/pool.h"

struct fault_rule {
	struct list link;       /* [lock] */
	struct blk_fault fault; /* [lock] nth and count go down */
};

struct fault_layer {
	struct blk_layer layer;
	struct blk_pool pool; /* for submitted flushes that are delayed */
	struct mtx lock;
	struct list rules;         /* [lock] fault_rule, in order of arming */
	_Atomic uint32_t armed;    /* [atomic] rules on the list */
	_Atomic uint64_t delay_ns; /* [atomic] of each flush */
	_Atomic uint64_t seen[BLK_OPS]; /* [atomic] */
};

static struct lock_class fault_class = {.name = "blk.fault", .rank = RANK_BLK};

static struct fault_layer *fault_of(struct blk_layer *layer)
{
	return CONTAINER_OF(layer, struct fault_layer, layer);
}

static struct fault_layer *fault_of_dev(const struct blk_dev *dev)
{
	return CONTAINER_OF(dev, struct fault_layer, layer.dev);
}

/* Count one request against @fault; true: it must fail. */
static bool rule_due(struct blk_fault *fault)
{
	if (fault->nth > 1) {
		fault->nth--;
		return false;
	}
	if (fault->count == 0)
		return false;
	if (fault->count != UINT64_MAX)
		fault->count--;
	return true;
}

/* The error that a request of kind @op must get, or 0. */
static int fault_draw(struct fault_layer *fl, enum blk_op op, bool *half)
{
	struct list *pos;
	int error = 0;

	if (atomic_load_explicit(&fl->armed, memory_order_relaxed) == 0)
		return 0;
	mtx_lock(&fl->lock);
	list_for_each (pos, &fl->rules) {
		struct fault_rule *rule =
			LIST_ENTRY(pos, struct fault_rule, link);

		if (rule->fault.op != op || !rule_due(&rule->fault))
			continue;
		if (error == 0) {
			error = rule->fault.error;
			*half = rule->fault.half;
		}
	}
	mtx_unlock(&fl->lock);
	return error;
}

/* Cut the transfer of @hop down to half of its sectors, at least one short of
 * all; false: nothing is left of it. */
static bool hop_halve(struct blk_layer *layer, struct blk_hop *hop)
{
	struct blk_io *io = hop->io;
	uint32_t sector = layer->dev.geom.sector_bytes;
	uint64_t keep = io->bytes / sector / 2 * sector;
	size_t room = sizeof(struct iovec) * (size_t)io->iov_count;
	struct iovec *iov;
	int count = 0;

	if ((io->op != BLK_READ && io->op != BLK_WRITE) || keep == 0)
		return false;
	iov = malloc(room);
	if (iov == NULL)
		return false;
	memcpy(iov, io->iov, room);
	io->bytes = keep;
	for (; keep > 0; count++) {
		if (iov[count].iov_len > keep)
			iov[count].iov_len = (size_t)keep;
		keep -= iov[count].iov_len;
	}
	io->iov = iov;
	io->iov_count = count;
	hop->memory = iov;
	return true;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec left = {
		(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

static bool fault_before(struct blk_layer *layer, struct blk_hop *hop)
{
	struct fault_layer *fl = fault_of(layer);
	enum blk_op op = hop->io->op;
	bool half = false;

	(void)atomic_fetch_add_explicit(&fl->seen[op], 1, memory_order_relaxed);
	if (op == BLK_FLUSH && hop->wait)
		sleep_ns(atomic_load_explicit(
			&fl->delay_ns, memory_order_relaxed));
	hop->error = fault_draw(fl, op, &half);
	if (hop->error == 0 || (half && hop_halve(layer, hop)))
		return true;
	hop->io->result = hop->error;
	return false;
}

static void fault_after(struct blk_layer *layer, struct blk_hop *hop)
{
	(void)layer;
	free(hop->memory);
	if (hop->error != 0)
		hop->io->result = hop->error;
}

/* A delayed flush must not keep its submitter waiting. */
static void fault_submit(struct blk_dev *dev, struct blk_io *io)
{
	struct fault_layer *fl = fault_of_dev(dev);

	if (io->op == BLK_FLUSH &&
		atomic_load_explicit(&fl->delay_ns, memory_order_relaxed) != 0)
		blk_pool_submit(&fl->pool, dev, io);
	else
		blk_layer_submit(dev, io);
}

static void fault_close(struct blk_layer *layer)
{
	struct fault_layer *fl = fault_of(layer);

	blk_fault_disarm(&layer->dev);
	blk_pool_fini(&fl->pool);
	mtx_fini(&fl->lock);
	free(fl);
}

int blk_wrap_fault(struct blk_dev *below, struct blk_dev **out)
{
	static const struct blk_layer_ops hooks = {
		fault_before, fault_after, fault_close};
	static const struct blk_ops ops = {
		blk_layer_run, fault_submit, blk_layer_close};
	struct fault_layer *fl = calloc(1, sizeof(*fl));

	if (fl == NULL)
		return -ENOMEM;
	blk_layer_init(&fl->layer, below, &hooks);
	fl->layer.dev.ops = &ops;
	blk_pool_init(&fl->pool);
	mtx_init(&fl->lock, &fault_class);
	list_init(&fl->rules);
	*out = &fl->layer.dev;
	return 0;
}

int blk_fault_arm(struct blk_dev *dev, const struct blk_fault *fault)
{
	struct fault_layer *fl = fault_of_dev(dev);
	struct fault_rule *rule = malloc(sizeof(*rule));

	if (rule == NULL)
		return -ENOMEM;
	rule->fault = *fault;
	mtx_lock(&fl->lock);
	list_add_tail(&fl->rules, &rule->link);
	(void)atomic_fetch_add_explicit(&fl->armed, 1, memory_order_relaxed);
	mtx_unlock(&fl->lock);
	return 0;
}

void blk_fault_disarm(struct blk_dev *dev)
{
	struct fault_layer *fl = fault_of_dev(dev);
	struct list gone;
	struct list *pos;
	struct list *after;

	list_init(&gone);
	mtx_lock(&fl->lock);
	list_splice_tail(&gone, &fl->rules);
	atomic_store_explicit(&fl->armed, 0, memory_order_relaxed);
	mtx_unlock(&fl->lock);
	list_for_each_safe (pos, after, &gone)
		free(LIST_ENTRY(pos, struct fault_rule, link));
}

void blk_fault_delay_flush(struct blk_dev *dev, uint64_t ns)
{
	atomic_store_explicit(
		&fault_of_dev(dev)->delay_ns, ns, memory_order_relaxed);
}

uint64_t blk_fault_seen(const struct blk_dev *dev, enum blk_op op)
{
	return atomic_load_explicit(
		&fault_of_dev(dev)->seen[op], memory_order_relaxed);
}
