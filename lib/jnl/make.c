/* SPDX-License-Identifier: BSD-2-Clause */
/* make.c - the superblock of a new log, with nothing behind it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jnl/codec.h"

static void make_encode(const struct jnl_place *place,
	const struct jnl_make_opts *opts, struct jbd_super *raw)
{
	struct jnl_super sb = {.version = 2,
		.sequence = opts->sequence != 0 ? opts->sequence : 1};

	memcpy(sb.uuid, opts->uuid, sizeof(sb.uuid));
	jnl_super_choose(&sb, opts->checksum, opts->wide);
	raw->header.magic = be32_of(JBD_MAGIC);
	raw->block_bytes = be32_of(place->block_bytes);
	raw->block_count = be32_of(jnl_place_blocks(place));
	raw->first = be32_of(place->super + 1);
	memcpy(raw->uuid, sb.uuid, sizeof(sb.uuid));
	raw->user_count = be32_of(1);
	/* Last, since it makes the checksum. */
	jnl_super_encode(&sb, raw);
}

int jnl_make(const struct jnl_place *place, const struct jnl_make_opts *opts)
{
	blk_no at = jnl_place_dev(place, place->super);
	void *block = calloc(1, place->block_bytes);
	int err;

	if (block == NULL)
		return -ENOMEM;
	make_encode(place, opts, block);
	err = blk_write(
		place->dev, at * place->block_bytes, place->block_bytes, block);
	free(block);
	return err == 0 ? blk_flush(place->dev) : err;
}
