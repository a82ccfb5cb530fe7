/* SPDX-License-Identifier: BSD-2-Clause */
/* range.c - a part of another device: a layer that moves offsets. */
#include <errno.h>
#include <stdlib.h>

#include "blk/blk_int.h"

struct range_layer {
	struct blk_layer layer;
	uint64_t start; /* [const] bytes from the beginning of the one below */
};

static struct range_layer *range_of(struct blk_layer *layer)
{
	return CONTAINER_OF(layer, struct range_layer, layer);
}

static bool range_before(struct blk_layer *layer, struct blk_hop *hop)
{
	hop->io->offset += range_of(layer)->start;
	return true;
}

static void range_after(struct blk_layer *layer, struct blk_hop *hop)
{
	(void)layer;
	(void)hop;
}

static void range_close(struct blk_layer *layer)
{
	free(range_of(layer));
}

int blk_open_range(struct blk_dev *below, uint64_t offset, uint64_t bytes,
	struct blk_dev **out)
{
	static const struct blk_layer_ops hooks = {
		range_before, range_after, range_close};
	const struct blk_geom *geom = &below->geom;
	struct range_layer *range;

	if (((offset | bytes) & (geom->sector_bytes - 1)) != 0 ||
		offset > geom->bytes || bytes > geom->bytes - offset)
		return -EINVAL;
	range = calloc(1, sizeof(*range));
	if (range == NULL)
		return -ENOMEM;
	blk_layer_init(&range->layer, below, &hooks);
	range->layer.dev.geom.bytes = bytes;
	range->start = offset;
	*out = &range->layer.dev;
	return 0;
}
