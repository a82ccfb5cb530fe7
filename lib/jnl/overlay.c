/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * overlay.c - replayed blocks in memory, over a device that stays as it is.
 *
 * Filled by one thread, then sealed; a sealed overlay never changes, so reads
 * need no lock.
 */
#include <errno.h>
#include <stdlib.h>

#include "jnl/replay_int.h"
#include "jnl/sink.h"

struct jnl_overlay {
	struct blk_dev *below;
	uint32_t block_bytes;
	struct jnl_copies
		index; /* homes; log is an index into blocks, plus 1 */
	void **blocks;
	uint32_t count;
	uint32_t room;
};

int jnl_overlay_open(
	struct blk_dev *below, uint32_t block_bytes, struct jnl_overlay **out)
{
	struct jnl_overlay *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return -ENOMEM;
	o->below = below;
	o->block_bytes = block_bytes;
	*out = o;
	return 0;
}

void jnl_overlay_close(struct jnl_overlay *o)
{
	if (o == NULL)
		return;
	for (uint32_t i = 0; i < o->count; i++)
		free(o->blocks[i]);
	free(o->blocks);
	jnl_copies_fini(&o->index);
	free(o);
}

/* Room for one more block. */
static int make_room(struct jnl_overlay *o)
{
	uint32_t room = o->room == 0 ? 64 : 2 * o->room;
	void **more;

	if (o->count < o->room)
		return 0;
	more = reallocarray(o->blocks, room, sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	o->blocks = more;
	o->room = room;
	return 0;
}

/* A block for @home that has none yet; its contents are left open. */
static int add_block(struct jnl_overlay *o, blk_no home, void **out)
{
	void *block;
	int err = make_room(o);

	if (err != 0)
		return err;
	block = malloc(o->block_bytes);
	if (block == NULL)
		return -ENOMEM;
	o->blocks[o->count++] = block;
	err = jnl_copies_put(
		&o->index, &(struct jnl_copy){.home = home, .log = o->count});
	if (err == 0)
		*out = block;
	return err;
}

static int take_block(void *arg, blk_no home, const void *data)
{
	struct jnl_overlay *o = arg;
	void *block;
	int err = add_block(o, home, &block);

	if (err == 0)
		memcpy(block, data, o->block_bytes);
	return err;
}

const struct jnl_replay_sink jnl_overlay_ops = {.block = take_block};

const void *jnl_overlay_peek(const struct jnl_overlay *o, blk_no home)
{
	const struct jnl_copy *copy = jnl_copies_find(&o->index, home);

	return copy != NULL ? o->blocks[copy->log - 1] : NULL;
}

int jnl_overlay_edit(struct jnl_overlay *o, blk_no home, void **data)
{
	const struct jnl_copy *copy = jnl_copies_find(&o->index, home);
	void *block;
	int err;

	if (copy != NULL) {
		*data = o->blocks[copy->log - 1];
		return 0;
	}
	err = add_block(o, home, &block);
	if (err == 0)
		err = blk_read(
			o->below, home * o->block_bytes, o->block_bytes, block);
	if (err == 0)
		*data = block;
	return err;
}

/* Put what the overlay has of @block over @bytes at @data, which were read
 * from @skip bytes on inside it. */
static void cover(const struct jnl_overlay *o, blk_no block, uint32_t skip,
	size_t bytes, uint8_t *data)
{
	const struct jnl_copy *copy = jnl_copies_find(&o->index, block);

	if (copy != NULL)
		memcpy(data, (uint8_t *)o->blocks[copy->log - 1] + skip, bytes);
}

static int overlay_read(void *arg, uint64_t offset, size_t bytes, void *data)
{
	const struct jnl_overlay *o = arg;
	int err = blk_read(o->below, offset, bytes, data);
	uint8_t *at = data;

	while (err == 0 && bytes > 0) {
		uint32_t skip = (uint32_t)(offset % o->block_bytes);
		size_t piece = o->block_bytes - skip;

		if (piece > bytes)
			piece = bytes;
		cover(o, offset / o->block_bytes, skip, piece, at);
		offset += piece;
		bytes -= piece;
		at += piece;
	}
	return err;
}

static int overlay_refuse(
	void *arg, uint64_t offset, size_t bytes, const void *data)
{
	(void)arg;
	(void)offset;
	(void)bytes;
	(void)data;
	return -EROFS;
}

static void overlay_release(void *arg)
{
	struct jnl_overlay *o = arg;

	blk_close(o->below);
	jnl_overlay_close(o);
}

int jnl_overlay_seal(struct jnl_overlay *o, struct blk_dev **out)
{
	static const struct blk_caller_ops ops = {
		.pread = overlay_read,
		.pwrite = overlay_refuse,
		.close = overlay_release,
	};
	struct blk_geom geom = blk_geom(o->below);

	geom.read_only = true;
	return blk_open_caller(&ops, o, geom, out);
}
