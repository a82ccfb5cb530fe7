/* SPDX-License-Identifier: BSD-2-Clause */
/* mem.c - a device in memory: a mem_store with the calls of a blk_dev. */
#include <errno.h>
#include <stdlib.h>

#include "blk/blk_int.h"
#include "blk/mem_store.h"

enum { MEM_SECTOR = 512 };

struct mem_dev {
	struct blk_dev dev;
	struct mem_store *store; /* [const] while I/O is in flight; owned */
};

static int mem_transfer(struct mem_store *store, const struct blk_io *io)
{
	uint64_t offset = io->offset;
	int err = 0;

	for (int i = 0; i < io->iov_count && err == 0; i++) {
		const struct iovec *v = &io->iov[i];

		if (io->op == BLK_READ)
			mem_store_read(store, offset, v->iov_len, v->iov_base);
		else
			err = mem_store_write(
				store, offset, v->iov_len, v->iov_base);
		offset += v->iov_len;
	}
	return err;
}

static int mem_run_one(struct mem_store *store, const struct blk_io *io)
{
	switch (io->op) {
	case BLK_READ:
	case BLK_WRITE:
		return mem_transfer(store, io);
	case BLK_DISCARD:
	case BLK_WRITE_ZEROES:
		return mem_store_zero(store, io->offset, io->bytes);
	default:
		return 0;
	}
}

static void mem_run(struct blk_dev *dev, struct blk_io *ios, unsigned count)
{
	struct mem_dev *mem = CONTAINER_OF(dev, struct mem_dev, dev);

	for (unsigned i = 0; i < count; i++)
		ios[i].result = mem_run_one(mem->store, &ios[i]);
}

static void mem_submit(struct blk_dev *dev, struct blk_io *io)
{
	struct mem_dev *mem = CONTAINER_OF(dev, struct mem_dev, dev);

	blk_io_finish(dev, io, mem_run_one(mem->store, io));
}

static void mem_close(struct blk_dev *dev)
{
	struct mem_dev *mem = CONTAINER_OF(dev, struct mem_dev, dev);

	mem_store_put(mem->store);
	free(mem);
}

static const struct blk_ops mem_ops = {mem_run, mem_submit, mem_close};

static int mem_open(
	struct mem_store *store, struct blk_geom geom, struct blk_dev **out)
{
	struct mem_dev *mem = calloc(1, sizeof(*mem));

	if (mem == NULL)
		return -ENOMEM;
	blk_dev_init(&mem->dev, &mem_ops, geom);
	mem->store = store;
	*out = &mem->dev;
	return 0;
}

int blk_open_store(
	struct mem_store *store, uint32_t sector_bytes, struct blk_dev **out)
{
	struct blk_geom geom = {
		mem_store_bytes(store), sector_bytes, .read_only = false};

	return mem_open(store, geom, out);
}

int blk_open_mem(uint64_t bytes, struct blk_dev **out)
{
	struct blk_geom geom = {bytes, MEM_SECTOR, .read_only = false};
	struct mem_store *store;
	int err = blk_geom_check(&geom);

	if (err == 0)
		err = mem_store_new(bytes, NULL, &store);
	if (err != 0)
		return err;
	err = mem_open(store, geom, out);
	if (err != 0)
		mem_store_put(store);
	return err;
}

int blk_mem_freeze(struct blk_dev *dev, struct mem_store **out)
{
	struct mem_dev *mem = CONTAINER_OF(dev, struct mem_dev, dev);
	struct mem_store *child;

	if (dev->ops != &mem_ops)
		return -EINVAL;

	int err = mem_store_new(dev->geom.bytes, mem->store, &child);

	if (err != 0)
		return err;
	*out = mem->store; /* the device's reference becomes the caller's */
	mem->store = child;
	return 0;
}
