/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blk_int.h - what devices and layers build on; private to lib/blk.
 *
 * The core (blk.c) answers for every device alike: it refuses bad requests,
 * completes empty ones, and repeats a flush's error for ever.  A device sees
 * only requests that it can carry out.
 *
 * A layer is a device that passes copies of requests to the device below it
 * with a look at each before and after; layer.c does the passing.
 */
#ifndef BLK_BLK_INT_H
#define BLK_BLK_INT_H

#include <stdatomic.h>

#include "blk/blk.h"

enum { BLK_OPS = BLK_WRITE_ZEROES + 1, BLK_IOV_MAX = 1024 };

struct blk_ops {
	/* Carry out @count requests, set each result, then return.  done() is
	 * not called. */
	void (*run)(struct blk_dev *dev, struct blk_io *ios, unsigned count);

	/* Start @io without waiting; blk_io_finish() when it is complete. */
	void (*submit)(struct blk_dev *dev, struct blk_io *io);

	/* Release everything, @dev too. */
	void (*close)(struct blk_dev *dev);
};

struct blk_dev {
	const struct blk_ops *ops; /* [const] */
	struct blk_geom geom;      /* [const] */
	_Atomic int flush_error;   /* [atomic] the first one, for good */
};

void blk_dev_init(
	struct blk_dev *dev, const struct blk_ops *ops, struct blk_geom geom);

/* -EINVAL unless @geom describes a device as blk.h promises. */
MUST_USE int blk_geom_check(const struct blk_geom *geom);

/* blk_run() for whoever looks at each result. */
void blk_run_each(struct blk_dev *dev, struct blk_io *ios, unsigned count);

/* A submitted @io of @dev is complete; @io may be gone on return. */
void blk_io_finish(struct blk_dev *dev, struct blk_io *io, int result);

/* Bytes of @iov; UINT64_MAX if they overflow. */
uint64_t blk_iov_bytes(const struct iovec *iov, int count);

/* ---- layers ------------------------------------------------------------ */

/* One request on its way through a layer; the notes are the layer's own. */
struct blk_hop {
	struct blk_io *io; /* the copy that goes below; may be changed */
	uint64_t number;
	void *memory;
	int error;
	bool wait; /* somebody waits: the layer may sleep */
};

struct blk_layer;

struct blk_layer_ops {
	/* False: do not pass it on, it ends with hop->io->result now. */
	bool (*before)(struct blk_layer *layer, struct blk_hop *hop);

	/* What was passed on has come back; hop->io->result may be changed. */
	void (*after)(struct blk_layer *layer, struct blk_hop *hop);

	/* The device below is closed; release the layer's own. */
	void (*close)(struct blk_layer *layer);
};

struct blk_layer {
	struct blk_dev dev;
	struct blk_dev *below;             /* [const] owned */
	const struct blk_layer_ops *hooks; /* [const] */
};

/* The three device calls of every layer, for blk_ops tables. */
void blk_layer_run(struct blk_dev *dev, struct blk_io *ios, unsigned count);
void blk_layer_submit(struct blk_dev *dev, struct blk_io *io);
void blk_layer_close(struct blk_dev *dev);

/* A layer over all of @below, with the device calls above. */
void blk_layer_init(struct blk_layer *layer, struct blk_dev *below,
	const struct blk_layer_ops *hooks);

#endif /* BLK_BLK_INT_H */
