/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.c - see stream.h. */
#include "jnl/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "sync/futex.h"

static int piece_init(struct jnl_piece *p, uint32_t blocks, uint32_t bytes)
{
	void *mem = NULL;

	if (posix_memalign(&mem, 4096, (size_t)blocks * bytes) != 0)
		return -ENOMEM;
	p->mem = mem;
	p->address = calloc(blocks, sizeof(*p->address));
	p->ios = calloc(blocks, sizeof(*p->ios));
	p->iovs = calloc(blocks, sizeof(*p->iovs));
	if (p->address == NULL || p->ios == NULL || p->iovs == NULL)
		return -ENOMEM;
	return 0;
}

int jnl_stream_init(struct jnl_stream *s, struct blk_dev *dev,
	uint32_t block_bytes, uint32_t most)
{
	uint32_t blocks = JNL_PIECE_BYTES / block_bytes;

	*s = (struct jnl_stream){.dev = dev, .block_bytes = block_bytes};
	s->piece_blocks = most < blocks ? most : blocks;
	for (unsigned i = 0; i < JNL_PIECES; i++) {
		if (piece_init(&s->piece[i], s->piece_blocks, block_bytes) !=
			0) {
			jnl_stream_fini(s);
			return -ENOMEM;
		}
	}
	return 0;
}

void jnl_stream_fini(struct jnl_stream *s)
{
	for (unsigned i = 0; i < JNL_PIECES; i++) {
		free(s->piece[i].mem);
		free(s->piece[i].address);
		free(s->piece[i].ios);
		free(s->piece[i].iovs);
	}
	*s = (struct jnl_stream){0};
}

static void piece_io_done(struct blk_io *io)
{
	struct jnl_piece *p = io->owner;
	int none = 0;

	if (io->result != 0)
		atomic_compare_exchange_strong(&p->error, &none, io->result);
	/* Pairs with the load in piece_wait(): error is seen with it. */
	if (atomic_fetch_sub(&p->pending, 1) == 1)
		futex_wake_all(&p->pending);
}

static void piece_submit(struct jnl_stream *s, struct jnl_piece *p)
{
	uint32_t runs = 0;

	for (uint32_t at = 0, next; at < p->count; at = next, runs++) {
		for (next = at + 1; next < p->count; next++)
			if (p->address[next] != p->address[next - 1] + 1)
				break;
		p->iovs[runs].iov_base = p->mem + (size_t)at * s->block_bytes;
		p->iovs[runs].iov_len = (size_t)(next - at) * s->block_bytes;
		p->ios[runs] = (struct blk_io){
			.op = BLK_WRITE,
			.offset = p->address[at] * s->block_bytes,
			.bytes = p->iovs[runs].iov_len,
			.iov = &p->iovs[runs],
			.iov_count = 1,
			.done = piece_io_done,
			.owner = p,
		};
	}
	atomic_store(&p->pending, runs);
	for (uint32_t i = 0; i < runs; i++)
		blk_submit(s->dev, &p->ios[i]);
}

/* Make @p empty again. */
static void piece_wait(struct jnl_stream *s, struct jnl_piece *p)
{
	uint32_t pending;

	while ((pending = atomic_load(&p->pending)) != 0)
		(void)futex_wait(&p->pending, pending, FUTEX_FOREVER);
	if (s->error == 0)
		s->error = atomic_load(&p->error);
	atomic_store(&p->error, 0);
	p->count = 0;
}

uint32_t jnl_stream_room(const struct jnl_stream *s)
{
	uint32_t count = s->piece[s->current].count;

	return count == s->piece_blocks ? s->piece_blocks
					: s->piece_blocks - count;
}

uint32_t jnl_stream_break(struct jnl_stream *s)
{
	piece_submit(s, &s->piece[s->current]);
	s->current = (s->current + 1) % JNL_PIECES;
	piece_wait(s, &s->piece[s->current]);
	return s->piece_blocks;
}

void *jnl_stream_block(struct jnl_stream *s, blk_no address)
{
	struct jnl_piece *p;

	if (s->piece[s->current].count == s->piece_blocks)
		(void)jnl_stream_break(s);
	p = &s->piece[s->current];
	p->address[p->count] = address;
	return p->mem + (size_t)p->count++ * s->block_bytes;
}

int jnl_stream_wait(struct jnl_stream *s)
{
	int err;

	if (s->piece[s->current].count != 0)
		piece_submit(s, &s->piece[s->current]);
	for (unsigned i = 0; i < JNL_PIECES; i++)
		piece_wait(s, &s->piece[i]);
	err = s->error;
	s->error = 0;
	return err;
}
