/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layer.c - how requests pass through a layer.
 *
 * The caller's request stays as it is; a copy goes below.  A batch stays a
 * batch, so that a layer costs the device below none of its parallelism.
 */
#include <errno.h>
#include <stdlib.h>

#include "blk/blk_int.h"

enum { LAYER_BATCH = 64 };

/* A submitted request and its copy. */
struct layer_call {
	struct blk_layer *layer;
	struct blk_io *parent;
	struct blk_hop hop;
	struct blk_io copy;
};

static void copy_init(struct blk_io *copy, const struct blk_io *io)
{
	*copy = *io;
	copy->result = 0;
	copy->done = NULL;
	copy->owner = NULL;
}

static void run_batch(
	struct blk_layer *layer, struct blk_io *ios, unsigned count)
{
	struct blk_io copies[LAYER_BATCH];
	struct blk_hop hops[LAYER_BATCH];
	unsigned parents[LAYER_BATCH];
	unsigned passed = 0;

	for (unsigned i = 0; i < count; i++) {
		struct blk_hop *hop = &hops[passed];

		copy_init(&copies[passed], &ios[i]);
		*hop = (struct blk_hop){.io = &copies[passed], .wait = true};
		parents[passed] = i;
		if (layer->hooks->before(layer, hop))
			passed++;
		else
			ios[i].result = hop->io->result;
	}
	blk_run_each(layer->below, copies, passed);
	for (unsigned i = 0; i < passed; i++) {
		layer->hooks->after(layer, &hops[i]);
		ios[parents[i]].result = copies[i].result;
	}
}

void blk_layer_run(struct blk_dev *dev, struct blk_io *ios, unsigned count)
{
	struct blk_layer *layer = CONTAINER_OF(dev, struct blk_layer, dev);

	while (count > 0) {
		unsigned batch = count < LAYER_BATCH ? count : LAYER_BATCH;

		run_batch(layer, ios, batch);
		ios += batch;
		count -= batch;
	}
}

static void call_done(struct blk_io *copy)
{
	struct layer_call *call = copy->owner;
	struct blk_layer *layer = call->layer;
	struct blk_io *parent = call->parent;

	layer->hooks->after(layer, &call->hop);

	int result = copy->result;

	free(call);
	blk_io_finish(&layer->dev, parent, result);
}

void blk_layer_submit(struct blk_dev *dev, struct blk_io *io)
{
	struct blk_layer *layer = CONTAINER_OF(dev, struct blk_layer, dev);
	struct layer_call *call = calloc(1, sizeof(*call));

	if (call == NULL) {
		blk_io_finish(dev, io, -ENOMEM);
		return;
	}
	copy_init(&call->copy, io);
	call->copy.done = call_done;
	call->copy.owner = call;
	call->layer = layer;
	call->parent = io;
	call->hop.io = &call->copy;
	if (layer->hooks->before(layer, &call->hop)) {
		blk_submit(layer->below, &call->copy);
		return;
	}

	int result = call->copy.result;

	free(call);
	blk_io_finish(dev, io, result);
}

void blk_layer_close(struct blk_dev *dev)
{
	struct blk_layer *layer = CONTAINER_OF(dev, struct blk_layer, dev);

	blk_close(layer->below);
	layer->hooks->close(layer);
}

void blk_layer_init(struct blk_layer *layer, struct blk_dev *below,
	const struct blk_layer_ops *hooks)
{
	static const struct blk_ops ops = {
		blk_layer_run, blk_layer_submit, blk_layer_close};

	blk_dev_init(&layer->dev, &ops, below->geom);
	layer->below = below;
	layer->hooks = hooks;
}
