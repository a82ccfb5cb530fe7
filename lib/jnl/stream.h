/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - blocks on their way to a device, in large requests.
 *
 * The owner asks for the memory of one block after the other and fills it;
 * what is full goes out while the next is being filled.
 *
 *      freed          sent           filled
 *   ----|--in flight---|----full------|---------   a ring, by pieces
 *
 * At the end of a piece what is full is submitted if the device is idle, and
 * otherwise waits for more, up to JNL_IO_BYTES.  So a slow device sees few large
 * requests, while for one that is as fast as memory a piece is still in the
 * CPU's cache when it goes out, and its memory is used again at once.
 *
 * Blocks with neighbouring addresses share a request.  One thread uses a stream
 * at a time.  Order on the device is undefined until jnl_stream_wait() and a
 * flush.
 */
#ifndef JNL_STREAM_H
#define JNL_STREAM_H

#include <stdatomic.h>

#include "base/cc.h"
#include "blk/blk.h"
#include "cache/cache.h"

enum {
	JNL_RING_BYTES = 8 << 20,
	JNL_IO_BYTES = 4 << 20,
	JNL_PIECE_BYTES = 256 << 10,
	JNL_PIECE_BLOCKS = 64, /* at least, since a descriptor serves one */
};

/* Blocks of @block_bytes in a piece. */
static inline uint32_t jnl_piece_blocks(uint32_t block_bytes)
{
	uint32_t blocks = JNL_PIECE_BYTES / block_bytes;

	return blocks > JNL_PIECE_BLOCKS ? blocks : JNL_PIECE_BLOCKS;
}

struct jnl_stream;

struct jnl_request {
	struct blk_io io;
	struct iovec iov;
	struct jnl_stream *stream;
	_Atomic uint32_t busy; /* in flight; a futex word */
};

struct jnl_stream {
	struct blk_dev *dev; /* [const] as are all sizes and arrays */
	uint32_t block_bytes;
	uint32_t piece_blocks;
	uint32_t ring_blocks;         /* a multiple of piece_blocks */
	uint32_t io_blocks;           /* of the largest request */
	unsigned char *mem;           /* of ring_blocks */
	blk_no *address;              /* of each; JNL_HOLE: of none */
	struct jnl_request *requests; /* each at the index of its first block */

	/* [owner] Blocks since the stream was last empty, holes included. */
	uint64_t filled;
	uint64_t sent;
	uint64_t freed;

	_Atomic uint32_t in_flight; /* requests */
	_Atomic int error;          /* the first since the last wait */
};

/* A ring of @pieces pieces of @piece_blocks blocks each.  -ENOMEM. */
MUST_USE int jnl_stream_init(struct jnl_stream *s, struct blk_dev *dev,
	uint32_t block_bytes, uint32_t piece_blocks, uint32_t pieces);
void jnl_stream_fini(struct jnl_stream *s);

/* How many blocks from the next one on will lie side by side in memory, and
 * not be sent before all of them are filled. */
uint32_t jnl_stream_room(const struct jnl_stream *s);

/* Go on in an empty piece; its room. */
uint32_t jnl_stream_break(struct jnl_stream *s);

/* Memory for the block at device block @address, to be filled before the next
 * piece begins or jnl_stream_wait() is called.  May wait for the device. */
void *jnl_stream_block(struct jnl_stream *s, blk_no address);

/* Submit what is left and wait for all: 0 or the first error. */
MUST_USE int jnl_stream_wait(struct jnl_stream *s);

#endif /* JNL_STREAM_H */
