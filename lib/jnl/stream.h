/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - blocks on their way to a device, in few large requests.
 *
 * The owner asks for the memory of one block after the other and fills it.
 * Full pieces are submitted while the next is being filled; blocks with
 * neighbouring addresses share a request.  One thread uses a stream at a time.
 * Order on the device is undefined until jnl_stream_wait() and a flush.
 */
#ifndef JNL_STREAM_H
#define JNL_STREAM_H

#include <stdatomic.h>

#include "base/cc.h"
#include "blk/blk.h"
#include "cache/cache.h"

enum { JNL_PIECE_BYTES = 4 << 20, JNL_PIECES = 2 };

struct jnl_piece {
	unsigned char *mem;
	blk_no *address;    /* of each block in mem */
	uint32_t count;     /* blocks filled */
	struct blk_io *ios; /* one a run of neighbours */
	struct iovec *iovs;
	_Atomic uint32_t pending; /* requests in flight; a futex word */
	_Atomic int error;        /* the first */
};

struct jnl_stream {
	struct blk_dev *dev;
	uint32_t block_bytes;
	uint32_t piece_blocks;
	struct jnl_piece piece[JNL_PIECES];
	unsigned current;
	int error; /* the first since the last wait */
};

/* Pieces hold @most blocks or JNL_PIECE_BYTES.  -ENOMEM. */
MUST_USE int jnl_stream_init(struct jnl_stream *s, struct blk_dev *dev,
	uint32_t block_bytes, uint32_t most);
void jnl_stream_fini(struct jnl_stream *s);

/* How many blocks from the next one on will lie side by side in memory. */
uint32_t jnl_stream_room(const struct jnl_stream *s);

/* Submit the piece being filled and go on in an empty one; its room. */
uint32_t jnl_stream_break(struct jnl_stream *s);

/* Memory for the block at device block @address, to be filled before the next
 * call on @s.  May wait for a piece in flight. */
void *jnl_stream_block(struct jnl_stream *s, blk_no address);

/* Submit what is left and wait for all: 0 or the first error. */
MUST_USE int jnl_stream_wait(struct jnl_stream *s);

#endif /* JNL_STREAM_H */
