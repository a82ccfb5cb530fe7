/* SPDX-License-Identifier: BSD-2-Clause */
/* blk.c - see blk.h: what all devices have in common. */
#include "blk/blk.h"

#include <errno.h>

#include "base/assert.h"
#include "blk/blk_int.h"

void blk_dev_init(
	struct blk_dev *dev, const struct blk_ops *ops, struct blk_geom geom)
{
	dev->ops = ops;
	dev->geom = geom;
	atomic_init(&dev->flush_error, 0);
}

int blk_geom_check(const struct blk_geom *geom)
{
	uint32_t sector = geom->sector_bytes;

	if (sector < 512 || sector > 4096 || (sector & (sector - 1)) != 0)
		return -EINVAL;
	if (geom->bytes % sector != 0 || geom->bytes > INT64_MAX)
		return -EINVAL;
	return 0;
}

struct blk_geom blk_geom(const struct blk_dev *dev)
{
	return dev->geom;
}

uint64_t blk_iov_bytes(const struct iovec *iov, int count)
{
	uint64_t sum = 0;

	for (int i = 0; i < count; i++)
		if (__builtin_add_overflow(sum, iov[i].iov_len, &sum))
			return UINT64_MAX;
	return sum;
}

static int range_check(const struct blk_geom *geom, const struct blk_io *io)
{
	if (((io->offset | io->bytes) & (geom->sector_bytes - 1)) != 0)
		return -EINVAL;
	if (io->offset > geom->bytes || io->bytes > geom->bytes - io->offset)
		return -EINVAL;
	return 0;
}

static int vector_check(const struct blk_io *io)
{
	if (io->iov_count < 0 || io->iov_count > BLK_IOV_MAX)
		return -EINVAL;
	return blk_iov_bytes(io->iov, io->iov_count) == io->bytes ? 0 : -EINVAL;
}

static int io_check(const struct blk_geom *geom, const struct blk_io *io)
{
	int err;

	switch (io->op) {
	case BLK_FLUSH:
		return 0;
	case BLK_READ:
		err = range_check(geom, io);
		return err != 0 ? err : vector_check(io);
	case BLK_WRITE:
		err = range_check(geom, io);
		if (err == 0)
			err = vector_check(io);
		break;
	case BLK_DISCARD:
	case BLK_WRITE_ZEROES:
		err = range_check(geom, io);
		break;
	default:
		return -EINVAL;
	}
	return err == 0 && geom->read_only ? -EROFS : err;
}

/* True: @io has its result and the device need not hear of it. */
static bool io_settle(struct blk_dev *dev, struct blk_io *io)
{
	io->result = io_check(&dev->geom, io);
	if (io->result != 0)
		return true;
	if (io->op != BLK_FLUSH)
		return io->bytes == 0;
	io->result =
		atomic_load_explicit(&dev->flush_error, memory_order_relaxed);
	return io->result != 0 || dev->geom.read_only;
}

/* Every flush that begins after this returned sees the error: who waited for
 * the failed one, and told others, did so through their own ordering. */
static void flush_note(struct blk_dev *dev, const struct blk_io *io)
{
	int none = 0;

	if (io->op == BLK_FLUSH && io->result != 0)
		(void)atomic_compare_exchange_strong_explicit(&dev->flush_error,
			&none, io->result, memory_order_relaxed,
			memory_order_relaxed);
}

void blk_io_finish(struct blk_dev *dev, struct blk_io *io, int result)
{
	io->result = result;
	flush_note(dev, io);
	io->done(io);
}

void blk_submit(struct blk_dev *dev, struct blk_io *io)
{
	if (io_settle(dev, io))
		io->done(io);
	else
		dev->ops->submit(dev, io);
}

static void run_span(struct blk_dev *dev, struct blk_io *ios, unsigned count)
{
	dev->ops->run(dev, ios, count);
	for (unsigned i = 0; i < count; i++)
		flush_note(dev, &ios[i]);
}

void blk_run_each(struct blk_dev *dev, struct blk_io *ios, unsigned count)
{
	unsigned first = 0;

	for (unsigned i = 0; i < count; i++) {
		if (!io_settle(dev, &ios[i]))
			continue;
		if (i > first)
			run_span(dev, &ios[first], i - first);
		first = i + 1;
	}
	if (count > first)
		run_span(dev, &ios[first], count - first);
}

int blk_run(struct blk_dev *dev, struct blk_io *ios, unsigned count)
{
	blk_run_each(dev, ios, count);
	for (unsigned i = 0; i < count; i++)
		if (ios[i].result != 0)
			return ios[i].result;
	return 0;
}

int blk_read(struct blk_dev *dev, uint64_t offset, size_t bytes, void *data)
{
	struct iovec iov = {data, bytes};
	struct blk_io io = {.op = BLK_READ,
		.offset = offset,
		.bytes = bytes,
		.iov = &iov,
		.iov_count = 1};

	return blk_run(dev, &io, 1);
}

int blk_write(
	struct blk_dev *dev, uint64_t offset, size_t bytes, const void *data)
{
	/* A write only reads from its vectors. */
	struct iovec iov = {(void *)data, bytes};
	struct blk_io io = {.op = BLK_WRITE,
		.offset = offset,
		.bytes = bytes,
		.iov = &iov,
		.iov_count = 1};

	return blk_run(dev, &io, 1);
}

int blk_discard(struct blk_dev *dev, uint64_t offset, uint64_t bytes)
{
	struct blk_io io = {
		.op = BLK_DISCARD, .offset = offset, .bytes = bytes};

	return blk_run(dev, &io, 1);
}

int blk_write_zeroes(struct blk_dev *dev, uint64_t offset, uint64_t bytes)
{
	struct blk_io io = {
		.op = BLK_WRITE_ZEROES, .offset = offset, .bytes = bytes};

	return blk_run(dev, &io, 1);
}

int blk_flush(struct blk_dev *dev)
{
	struct blk_io io = {.op = BLK_FLUSH};

	return blk_run(dev, &io, 1);
}

void blk_close(struct blk_dev *dev)
{
	if (dev != NULL)
		dev->ops->close(dev);
}
