/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_batch.c - see file.h: many requests at once.
 *
 * Requests that follow each other on the device, as they do in the array, are
 * joined to one call.  If that call fails each of them is tried alone, so
 * that every request gets the result that is its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "blk/file.h"

/* Joined requests stay below this: enough to be large, not so much that the
 * device has nothing to do side by side. */
enum { SPAN_BYTES = 1 << 20 };

struct batch {
	struct file_dev *file;
	struct blk_io *ios;
	unsigned count;
	struct file_span spans[FILE_BATCH];
	unsigned span_count;
	struct iovec *vectors; /* of the joined spans; NULL: none */
	size_t vector_count;
};

static bool is_transfer(const struct blk_io *io)
{
	return io->op == BLK_READ || io->op == BLK_WRITE;
}

/* ---- joining ----------------------------------------------------------- */

/* Whether request @i continues @span, of which it is the next in the array. */
static bool span_takes(
	const struct batch *b, const struct file_span *span, unsigned i)
{
	const struct blk_io *io = &b->ios[i];

	return span->op == io->op && span->first + span->count == i &&
	       span->offset + span->bytes == io->offset &&
	       span->bytes + io->bytes <= SPAN_BYTES &&
	       span->iov_count + io->iov_count <= BLK_IOV_MAX &&
	       span->way != WAY_BOUNCE && span->way == file_way(b->file, io);
}

static void span_add(struct batch *b, unsigned i)
{
	const struct blk_io *io = &b->ios[i];

	b->spans[b->span_count++] = (struct file_span){
		.op = io->op,
		.way = file_way(b->file, io),
		.offset = io->offset,
		.bytes = io->bytes,
		.iov = io->iov,
		.iov_count = io->iov_count,
		.first = i,
		.count = 1,
	};
}

/* Room for the vectors of every joined span; without it nothing is joined. */
static bool vectors_reserve(struct batch *b)
{
	size_t count = 0;

	if (b->vectors != NULL)
		return true;
	for (unsigned i = 0; i < b->count; i++)
		if (is_transfer(&b->ios[i]))
			count += (size_t)b->ios[i].iov_count;
	ASSERT(count > 0); /* there are two requests, and neither is empty */
	b->vectors = malloc(count * sizeof(*b->vectors));
	return b->vectors != NULL;
}

static void vectors_append(struct batch *b, const struct iovec *iov, int count)
{
	memcpy(&b->vectors[b->vector_count], iov, (size_t)count * sizeof(*iov));
	b->vector_count += (size_t)count;
}

/* Request @i becomes part of the last span. */
static void span_join(struct batch *b, unsigned i)
{
	struct file_span *span = &b->spans[b->span_count - 1];
	const struct blk_io *io = &b->ios[i];

	if (span->count == 1) {
		const struct iovec *own = span->iov;

		span->iov = &b->vectors[b->vector_count];
		vectors_append(b, own, span->iov_count);
	}
	vectors_append(b, io->iov, io->iov_count);
	span->iov_count += io->iov_count;
	span->bytes += io->bytes;
	span->count++;
}

static void spans_make(struct batch *b)
{
	for (unsigned i = 0; i < b->count; i++) {
		if (!is_transfer(&b->ios[i]))
			continue;
		if (b->span_count > 0 &&
			span_takes(b, &b->spans[b->span_count - 1], i) &&
			vectors_reserve(b))
			span_join(b, i);
		else
			span_add(b, i);
	}
}

/* ---- running ----------------------------------------------------------- */

/* See the top of file.h for what was measured. */
static bool ring_suits(const struct file_span *span)
{
	if (span->way == WAY_BOUNCE)
		return false;
	return span->op == BLK_READ || span->way == WAY_DIRECT;
}

static void spans_run_ring(struct batch *b)
{
	struct file_span *suited[FILE_BATCH];
	unsigned count = 0;

	if (atomic_load_explicit(&b->file->no_ring, memory_order_relaxed))
		return;
	for (unsigned i = 0; i < b->span_count; i++)
		if (ring_suits(&b->spans[i]))
			suited[count++] = &b->spans[i];
	if (count > 1)
		file_ring_run(b->file, suited, count);
}

static void span_run_call(struct batch *b, struct file_span *span)
{
	const struct blk_io joined = {.op = span->op,
		.offset = span->offset,
		.bytes = span->bytes,
		.iov = span->iov,
		.iov_count = span->iov_count};

	if (span->count > 1 &&
		file_call_transfer(b->file, &joined, span->way) == 0)
		span->done = true;
	for (unsigned i = 0; i < span->count && !span->done; i++) {
		struct blk_io *io = &b->ios[span->first + i];

		io->result = file_call(b->file, io);
	}
}

static void batch_run(struct batch *b)
{
	spans_make(b);
	spans_run_ring(b);
	for (unsigned i = 0; i < b->span_count; i++)
		if (!b->spans[i].done)
			span_run_call(b, &b->spans[i]);
	for (unsigned i = 0; i < b->count; i++)
		if (!is_transfer(&b->ios[i]))
			b->ios[i].result = file_call(b->file, &b->ios[i]);
	free(b->vectors);
}

void file_run(struct blk_dev *dev, struct blk_io *ios, unsigned count)
{
	struct file_dev *file = file_of(dev);

	if (count == 1) {
		ios->result = file_call(file, ios);
		return;
	}
	for (unsigned at = 0; at < count; at += FILE_BATCH) {
		unsigned left = count - at;
		struct batch b = {.file = file,
			.ios = ios + at,
			.count = left < FILE_BATCH ? left : FILE_BATCH};

		/* A span that is done speaks for its requests. */
		for (unsigned i = 0; i < b.count; i++)
			b.ios[i].result = 0;
		batch_run(&b);
	}
}
