/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.c - see stream.h. */
#include "jnl/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "sync/futex.h"

#define JNL_HOLE UINT64_MAX

enum { DIRECT_ALIGN = 4096 };

int jnl_stream_init(struct jnl_stream *s, struct blk_dev *dev,
	uint32_t block_bytes, uint32_t piece_blocks, uint32_t pieces)
{
	uint32_t blocks = piece_blocks * pieces;
	void *mem = NULL;

	*s = (struct jnl_stream){.dev = dev,
		.block_bytes = block_bytes,
		.piece_blocks = piece_blocks,
		.ring_blocks = blocks,
		.io_blocks = JNL_IO_BYTES / block_bytes};
	if (posix_memalign(&mem, DIRECT_ALIGN, (size_t)blocks * block_bytes) !=
		0)
		return -ENOMEM;
	s->mem = mem;
	s->address = calloc(blocks, sizeof(*s->address));
	s->requests = calloc(blocks, sizeof(*s->requests));
	if (s->address != NULL && s->requests != NULL)
		return 0;
	jnl_stream_fini(s);
	return -ENOMEM;
}

void jnl_stream_fini(struct jnl_stream *s)
{
	free(s->mem);
	free(s->address);
	free(s->requests);
	*s = (struct jnl_stream){0};
}

/* ---- requests ------------------------------------------------------------- */

static void request_done(struct blk_io *io)
{
	struct jnl_request *r = io->owner;
	int none = 0;

	if (io->result != 0)
		atomic_compare_exchange_strong(
			&r->stream->error, &none, io->result);
	atomic_fetch_sub(&r->stream->in_flight, 1);
	/* Last, the stream may go with it.  Pairs with the load in
	 * stream_reclaim(): the error is seen with it. */
	atomic_store(&r->busy, 0);
	futex_wake_all(&r->busy);
}

static void request_submit(struct jnl_stream *s, uint32_t at, uint32_t blocks)
{
	struct jnl_request *r = &s->requests[at];
	size_t bytes = (size_t)blocks * s->block_bytes;

	r->iov = (struct iovec){s->mem + (size_t)at * s->block_bytes, bytes};
	r->io = (struct blk_io){
		.op = BLK_WRITE,
		.offset = s->address[at] * s->block_bytes,
		.bytes = bytes,
		.iov = &r->iov,
		.iov_count = 1,
		.done = request_done,
		.owner = r,
	};
	r->stream = s;
	atomic_store(&r->busy, 1);
	atomic_fetch_add(&s->in_flight, 1);
	blk_submit(s->dev, &r->io);
}

/* How many of the @most blocks from @at on share a request, or are holes. */
static uint32_t run_length(
	const struct jnl_stream *s, uint32_t at, uint64_t most)
{
	const blk_no *address = &s->address[at];
	uint32_t step = address[0] != JNL_HOLE;
	uint32_t n = 1;

	if (most > s->ring_blocks - at)
		most = s->ring_blocks - at;
	if (most > s->io_blocks)
		most = s->io_blocks;
	while (n < most && address[n] == address[n - 1] + step)
		n++;
	return n;
}

static void stream_send(struct jnl_stream *s)
{
	while (s->sent < s->filled) {
		uint32_t at = (uint32_t)(s->sent % s->ring_blocks);
		uint32_t n = run_length(s, at, s->filled - s->sent);

		if (s->address[at] != JNL_HOLE)
			request_submit(s, at, n);
		s->sent += n;
	}
}

/* ---- memory --------------------------------------------------------------- */

/* Take back the memory of what was sent first.  False: it is in flight. */
static bool stream_reclaim(struct jnl_stream *s, bool wait)
{
	uint32_t at = (uint32_t)(s->freed % s->ring_blocks);
	struct jnl_request *r = &s->requests[at];
	uint32_t busy;

	if (s->address[at] == JNL_HOLE) {
		s->freed++;
		return true;
	}
	while ((busy = atomic_load(&r->busy)) != 0) {
		if (!wait)
			return false;
		(void)futex_wait(&r->busy, busy, FUTEX_FOREVER);
	}
	s->freed += r->iov.iov_len / s->block_bytes;
	return true;
}

static bool stream_is_full(const struct jnl_stream *s)
{
	return s->filled + s->piece_blocks - s->freed > s->ring_blocks;
}

/* A piece ends, or none has begun: make room for the next. */
static void stream_turn(struct jnl_stream *s)
{
	if (atomic_load(&s->in_flight) == 0 ||
		s->filled - s->sent >= s->io_blocks)
		stream_send(s);
	while (s->freed < s->sent && stream_reclaim(s, false))
		;
	while (stream_is_full(s)) {
		if (s->freed == s->sent)
			stream_send(s);
		(void)stream_reclaim(s, true);
	}
	/* All is written: begin anew, in memory that is still cached. */
	if (s->freed == s->filled)
		s->filled = s->sent = s->freed = 0;
}

/* ---- blocks --------------------------------------------------------------- */

uint32_t jnl_stream_room(const struct jnl_stream *s)
{
	return s->piece_blocks - (uint32_t)(s->filled % s->piece_blocks);
}

uint32_t jnl_stream_break(struct jnl_stream *s)
{
	while (s->filled % s->piece_blocks != 0)
		s->address[s->filled++ % s->ring_blocks] = JNL_HOLE;
	return s->piece_blocks;
}

void *jnl_stream_block(struct jnl_stream *s, blk_no address)
{
	uint32_t at;

	if (s->filled % s->piece_blocks == 0)
		stream_turn(s);
	at = (uint32_t)(s->filled++ % s->ring_blocks);
	s->address[at] = address;
	return s->mem + (size_t)at * s->block_bytes;
}

int jnl_stream_wait(struct jnl_stream *s)
{
	stream_send(s);
	while (s->freed < s->sent)
		(void)stream_reclaim(s, true);
	s->filled = s->sent = s->freed = 0;
	return atomic_exchange(&s->error, 0);
}
