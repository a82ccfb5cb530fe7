/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blk.h - a device is an array of sectors with an explicit barrier.
 *
 * Everything below the cache is a blk_dev: an image file, a block device,
 * plain memory, a caller's own functions, a byte range of another device, or
 * a layer that wraps another device to count, fail, delay or forget.  Layers
 * stack, so a crash test runs the production stack over one more layer and
 * nothing else changes.
 *
 * Addresses are bytes: an image is read before its block size is known.
 * Offsets and lengths are multiples of the sector, 512 bytes unless
 * blk_geom() says otherwise; buffers need no alignment (O_DIRECT bounces).
 *
 * Durability: a write is volatile until a blk_flush() that began after the
 * write had completed succeeds.  Between flushes a device may keep any subset
 * of the writes, in any order, torn at sector boundaries.  Callers that need
 * less chaos must flush.  Discarded bytes read as anything.
 *
 * Threads: every call may run beside every other, except that blk_close() is
 * last.  Overlapping I/O in flight is the caller's to order.
 *
 * Waiting: blk_read(), blk_write(), blk_flush(), blk_run() wait.  blk_submit()
 * does not; its completion runs on any thread, perhaps before it returns.
 *
 * Errors: 0 or -errno.  An error from a flush is final: the device reports it
 * again for every later flush, because what was lost is unknowable.  -EROFS:
 * the device is open for reading.  -EINVAL: misaligned, or beyond the end.
 */
#ifndef BLK_BLK_H
#define BLK_BLK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/cc.h"

struct blk_dev;

struct blk_geom {
	uint64_t bytes; /* size of the device, a multiple of the sector */
	uint32_t sector_bytes; /* never tears; power of two, 512 to 4096 */
	bool read_only;
};

struct blk_geom blk_geom(const struct blk_dev *dev);

enum blk_op {
	BLK_READ,
	BLK_WRITE,
	BLK_FLUSH,       /* offset and vectors unused */
	BLK_DISCARD,     /* contents become undefined; may do nothing */
	BLK_WRITE_ZEROES /* contents become zero, cheaply where possible */
};

/*
 * One request.  The caller owns it and everything it points to, and leaves
 * them alone until it has completed.  A request completes once, whole: a
 * short transfer of the medium is continued or becomes -EIO.
 */
struct blk_io {
	enum blk_op op;
	uint64_t offset; /* bytes */
	uint64_t bytes;  /* the sum of iov's lengths, where there is one */
	const struct iovec *iov; /* READ, WRITE */
	int iov_count;           /* at most IOV_MAX (1024) */
	int result;              /* out: 0 or -errno */

	/* blk_submit(): called once when the request is complete. */
	void (*done)(struct blk_io *io);
	void *owner; /* the caller's */
};

/* Start @io; @io->done is told.  Order between requests is undefined. */
void blk_submit(struct blk_dev *dev, struct blk_io *io);

/*
 * Run @count requests, in any order and side by side, and wait for all.
 * Returns the first error in array order, or 0; each has its result.
 */
MUST_USE int blk_run(struct blk_dev *dev, struct blk_io *ios, unsigned count);

/* One request each, waited for: all of it or an error. */
MUST_USE int blk_read(
	struct blk_dev *dev, uint64_t offset, size_t bytes, void *data);
MUST_USE int blk_write(
	struct blk_dev *dev, uint64_t offset, size_t bytes, const void *data);
MUST_USE int blk_discard(struct blk_dev *dev, uint64_t offset, uint64_t bytes);
MUST_USE int blk_write_zeroes(
	struct blk_dev *dev, uint64_t offset, uint64_t bytes);

/* Make every write that completed before this call survive power loss. */
MUST_USE int blk_flush(struct blk_dev *dev);

/* Release @dev and whatever it wraps.  NULL is allowed.  Does not flush.
 * No request may be in flight. */
void blk_close(struct blk_dev *dev);

/* Constructors.  *@out is set on success and untouched on failure. */

enum blk_open_flags {
	BLK_OPEN_WRITE = 1 << 0,  /* else read-only */
	BLK_OPEN_DIRECT = 1 << 1, /* O_DIRECT where alignment allows */
	BLK_OPEN_NO_URING = 1
			    << 2, /* preadv/pwritev even where io_uring works */
	BLK_OPEN_NO_LOCK = 1 << 3, /* take no lock on the image */
	BLK_OPEN_EAGER = 1 << 4,   /* make rings now, not on first use: for who
				      will not be allowed to any more */
};

/*
 * An image file or a block device.  Locked: shared for readers, exclusive for
 * a writer.  -EBUSY: locked by somebody, or the kernel has it mounted (itself
 * or through a loop device); a reader of one that is mounted read-write gets
 * a warning in the log instead.  @who, if not NULL, is told in one line why
 * there is no device, and by whom it is held.  A file's bytes beyond its last
 * whole sector are out of reach.
 */
MUST_USE int blk_open_file(const char *path, unsigned flags, char *who,
	size_t who_bytes, struct blk_dev **out);

/* @bytes of zeroes that cost memory only where they are written. */
MUST_USE int blk_open_mem(uint64_t bytes, struct blk_dev **out);

/* A caller's own device.  Each call waits and returns 0 or -errno, all of it
 * or an error; flush and discard may be NULL.  @close may be NULL; it is called
 * by blk_close() only. */
struct blk_caller_ops {
	int (*pread)(void *arg, uint64_t offset, size_t bytes, void *data);
	int (*pwrite)(
		void *arg, uint64_t offset, size_t bytes, const void *data);
	int (*flush)(void *arg);
	int (*discard)(void *arg, uint64_t offset, uint64_t bytes);
	void (*close)(void *arg);
};

MUST_USE int blk_open_caller(const struct blk_caller_ops *ops, void *arg,
	struct blk_geom geom, struct blk_dev **out);

/* The part of @below from @offset on; @below is owned by the result, and stays
 * the caller's on failure. */
MUST_USE int blk_open_range(struct blk_dev *below, uint64_t offset,
	uint64_t bytes, struct blk_dev **out);

#endif /* BLK_BLK_H */
