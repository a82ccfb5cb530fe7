/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * caller.c - a device made of a caller's own functions.
 *
 * Those get whole sectors in one piece of memory, whatever the vectors look
 * like, and may wait; so submitted requests go to a pool.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blk/blk_int.h"
#include "blk/pool.h"

enum { ZERO_BYTES = 1 << 16 };

struct caller_dev {
	struct blk_dev dev;
	struct blk_caller_ops calls; /* [const] */
	void *arg;                   /* [const] */
	struct blk_pool pool;
};

static struct caller_dev *caller_of(struct blk_dev *dev)
{
	return CONTAINER_OF(dev, struct caller_dev, dev);
}

/* Whatever is not 0 or an errno is an error without a name. */
static int caller_result(int ret)
{
	return ret > 0 || ret < -4095 ? -EIO : ret;
}

static int caller_move(struct caller_dev *c, enum blk_op op, uint64_t offset,
	size_t bytes, void *data)
{
	return caller_result(
		op == BLK_READ ? c->calls.pread(c->arg, offset, bytes, data)
			       : c->calls.pwrite(c->arg, offset, bytes, data));
}

static bool vectors_are_sectors(
	const struct caller_dev *c, const struct blk_io *io)
{
	size_t bits = 0;

	for (int i = 0; i < io->iov_count; i++)
		bits |= io->iov[i].iov_len;
	return (bits & (c->dev.geom.sector_bytes - 1)) == 0;
}

static int caller_vectors(struct caller_dev *c, const struct blk_io *io)
{
	uint64_t offset = io->offset;
	int err = 0;

	for (int i = 0; i < io->iov_count && err == 0; i++) {
		const struct iovec *v = &io->iov[i];

		if (v->iov_len > 0)
			err = caller_move(
				c, io->op, offset, v->iov_len, v->iov_base);
		offset += v->iov_len;
	}
	return err;
}

/* Copy between @flat and the vectors of @io. */
static void vectors_copy(const struct blk_io *io, uint8_t *flat)
{
	for (int i = 0; i < io->iov_count; i++) {
		const struct iovec *v = &io->iov[i];

		if (v->iov_len > 0 && io->op == BLK_READ)
			memcpy(v->iov_base, flat, v->iov_len);
		else if (v->iov_len > 0)
			memcpy(flat, v->iov_base, v->iov_len);
		flat += v->iov_len;
	}
}

static int caller_flat(struct caller_dev *c, const struct blk_io *io)
{
	uint8_t *flat = malloc(io->bytes);
	int err;

	if (flat == NULL)
		return -ENOMEM;
	if (io->op == BLK_WRITE)
		vectors_copy(io, flat);
	err = caller_move(c, io->op, io->offset, (size_t)io->bytes, flat);
	if (err == 0 && io->op == BLK_READ)
		vectors_copy(io, flat);
	free(flat);
	return err;
}

static int caller_zero(struct caller_dev *c, const struct blk_io *io)
{
	static const uint8_t zeroes[ZERO_BYTES];
	uint64_t done = 0;
	int err = 0;

	while (done < io->bytes && err == 0) {
		uint64_t left = io->bytes - done;
		size_t piece = left < ZERO_BYTES ? (size_t)left : ZERO_BYTES;

		err = caller_result(c->calls.pwrite(
			c->arg, io->offset + done, piece, zeroes));
		done += piece;
	}
	return err;
}

static int caller_run_one(struct caller_dev *c, const struct blk_io *io)
{
	switch (io->op) {
	case BLK_READ:
	case BLK_WRITE:
		return vectors_are_sectors(c, io) ? caller_vectors(c, io)
						  : caller_flat(c, io);
	case BLK_FLUSH:
		return c->calls.flush == NULL
			       ? 0
			       : caller_result(c->calls.flush(c->arg));
	case BLK_DISCARD:
		return c->calls.discard == NULL
			       ? 0
			       : caller_result(c->calls.discard(
					 c->arg, io->offset, io->bytes));
	case BLK_WRITE_ZEROES:
		return caller_zero(c, io);
	default:
		return -EINVAL;
	}
}

static void caller_run(struct blk_dev *dev, struct blk_io *ios, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		ios[i].result = caller_run_one(caller_of(dev), &ios[i]);
}

static void caller_submit(struct blk_dev *dev, struct blk_io *io)
{
	blk_pool_submit(&caller_of(dev)->pool, dev, io);
}

static void caller_close(struct blk_dev *dev)
{
	struct caller_dev *c = caller_of(dev);

	blk_pool_fini(&c->pool);
	if (c->calls.close != NULL)
		c->calls.close(c->arg);
	free(c);
}

int blk_open_caller(const struct blk_caller_ops *ops, void *arg,
	struct blk_geom geom, struct blk_dev **out)
{
	static const struct blk_ops caller_ops = {
		caller_run, caller_submit, caller_close};
	struct caller_dev *c;
	int err = blk_geom_check(&geom);

	if (err != 0)
		return err;
	if (ops->pread == NULL || (ops->pwrite == NULL && !geom.read_only))
		return -EINVAL;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	blk_dev_init(&c->dev, &caller_ops, geom);
	blk_pool_init(&c->pool);
	c->calls = *ops;
	c->arg = arg;
	*out = &c->dev;
	return 0;
}
