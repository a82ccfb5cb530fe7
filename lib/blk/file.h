/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file.h - image files and block devices; private to lib/blk.
 *
 *   file.c        open, geometry, close, and which way a request goes
 *   file_call.c   plain system calls, one request after the other
 *   file_batch.c  many requests at once: neighbours joined, then a ring
 *   file_ring.c   rings that their submitter waits on, one a CPU
 *   file_async.c  submitted requests: one thread with a ring of its own
 *   file_lock.c   who else has the image: locks and mounts
 *
 * Which way is quicker was measured on a cold and a warm file: one request is
 * best a plain call; several reads, or several direct writes, a ring overlaps;
 * buffered writes it only slows down, as the kernel hands them to threads of
 * its own.
 *
 * Direct I/O only where offset and length are whole pages; everything else
 * goes through the page cache.  Then no page is under direct and buffered I/O
 * at once unless the bytes overlap, which the caller orders; and a last page
 * that the file only half has is never written whole.
 */
#ifndef BLK_FILE_H
#define BLK_FILE_H

#include <liburing.h>
#include <sys/types.h>

#include "blk/blk_int.h"
#include "blk/pool.h"

/* Where a transfer goes. */
enum file_way {
	WAY_BUFFERED, /* the page cache */
	WAY_DIRECT,   /* the device, from and to the caller's memory */
	WAY_BOUNCE    /* the device, by way of aligned memory */
};

/* Places in each ring's table of fixed files. */
enum { RING_BUFFERED, RING_DIRECT, RING_EVENT, RING_FILES };

/* A ring that is locked while its submitter waits. */
struct LINE_ALIGNED file_ring {
	struct mtx lock;
	struct io_uring ring; /* [lock] */
	bool ready;           /* [lock] */
};

struct file_async;

struct file_dev {
	struct blk_dev dev;
	int fd;                  /* [const] also holds the image lock */
	int direct_fd;           /* [const] -1: no direct I/O */
	uint32_t direct_unit;    /* [const] of offset and length */
	uint32_t memory_unit;    /* [const] of addresses */
	bool is_block;           /* [const] */
	_Atomic bool no_discard; /* [atomic] found unsupported */
	_Atomic bool no_zeroing; /* [atomic] found unsupported */
	_Atomic bool no_ring;    /* [atomic] forbidden, or broken */
	uint32_t ring_count;     /* [const] once open */
	struct file_ring *rings; /* [const] the array */
	struct mtx start;        /* for making async */
	_Atomic(struct file_async *) async; /* [atomic] set once */
	struct file_async *idle; /* [start] made early, without its thread */
	struct blk_pool pool; /* for what a ring cannot do, or has not done */
};

static inline struct file_dev *file_of(struct blk_dev *dev)
{
	return CONTAINER_OF(dev, struct file_dev, dev);
}

/* One or more requests of one kind that lie side by side. */
struct file_span {
	enum blk_op op;
	enum file_way way;
	uint64_t offset;
	uint64_t bytes;
	const struct iovec *iov;
	int iov_count;
	unsigned first; /* of the batch */
	unsigned count;
	bool done; /* completed, whole */
};

/* ---- file.c ------------------------------------------------------------ */

enum file_way file_way(const struct file_dev *file, const struct blk_io *io);

/* ---- file_call.c ------------------------------------------------------- */

/* Carry out @io by plain calls; 0 or -errno. */
int file_call(struct file_dev *file, const struct blk_io *io);

/* As file_call() for a transfer that goes @way. */
int file_call_transfer(
	struct file_dev *file, const struct blk_io *io, enum file_way way);

/* ---- file_batch.c ------------------------------------------------------ */

/* Requests that are in flight together, at most. */
enum { FILE_BATCH = 64 };

void file_run(struct blk_dev *dev, struct blk_io *ios, unsigned count);

/* ---- file_ring.c ------------------------------------------------------- */

/*
 * A ring that can only read, write and sync @file, and read @event_fd if that
 * is not -1.  It is enabled.
 */
MUST_USE int file_ring_open(struct io_uring *ring, const struct file_dev *file,
	int event_fd, unsigned entries);

/* Nothing is in flight. */
void file_ring_close(struct io_uring *ring);

/* Prepare what @span asks for. */
void file_ring_prepare(struct io_uring_sqe *sqe, const struct file_span *span);

/* Run as many of the spans, at most FILE_BATCH, as a ring can; those have done
 * set. */
void file_ring_run(
	struct file_dev *file, struct file_span *const *spans, unsigned count);

MUST_USE int file_rings_init(struct file_dev *file);

/* Make all of them now; those that cannot be had are done without. */
void file_rings_warm(struct file_dev *file);
void file_rings_fini(struct file_dev *file);

/* ---- file_async.c ------------------------------------------------------ */

void file_submit(struct blk_dev *dev, struct blk_io *io);

/* Make the ring now; its thread starts with the first request. */
void file_async_warm(struct file_dev *file);
void file_async_close(struct file_dev *file);

/* ---- file_lock.c, file_mount.c ----------------------------------------- */

/* Where a refusal is explained, in one line. */
struct file_who {
	const char *path;
	char *text; /* may be NULL */
	size_t bytes;
};

/* "PATH: ..." into @who. */
void file_tell(const struct file_who *who, const char *fmt, ...) PRINTF(2, 3);

/* Lock the image, shared or exclusive; -EBUSY and the holder. */
MUST_USE int file_lock(
	int fd, bool exclusive, bool is_block, const struct file_who *who);

/* Give the lock back now, even if a forked child still has @fd. */
void file_unlock(int fd);

/* -EBUSY for a writer if the kernel has the image mounted; a reader of one
 * that is mounted read-write is warned in the log. */
MUST_USE int file_mount_check(int fd, bool write, const struct file_who *who);

#endif /* BLK_FILE_H */
