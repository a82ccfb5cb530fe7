/* SPDX-License-Identifier: BSD-2-Clause */
/* file_call.c - see file.h: requests by plain system calls. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/assert.h"
#include "blk/file.h"

enum { BOUNCE_BYTES = 1 << 20, ZERO_BYTES = 1 << 16 };

/* ---- transfers --------------------------------------------------------- */

/* A place in a request's vectors. */
struct cursor {
	const struct iovec *iov;
	int count;
	size_t skip; /* bytes of iov[0] that are done */
};

static void cursor_advance(struct cursor *c, size_t bytes)
{
	bytes += c->skip;
	while (c->count > 0 && bytes >= c->iov->iov_len) {
		bytes -= c->iov->iov_len;
		c->iov++;
		c->count--;
	}
	c->skip = bytes;
}

/* One call: the vectors from the cursor on, or the rest of a broken one. */
static ssize_t cursor_call(
	const struct cursor *c, int fd, enum blk_op op, off_t offset)
{
	ASSERT(c->count > 0); /* there are bytes left, so there is memory */
	if (c->skip > 0) {
		uint8_t *base = (uint8_t *)c->iov->iov_base + c->skip;
		size_t bytes = c->iov->iov_len - c->skip;

		return op == BLK_READ ? pread(fd, base, bytes, offset)
				      : pwrite(fd, base, bytes, offset);
	}
	return op == BLK_READ ? preadv(fd, c->iov, c->count, offset)
			      : pwritev(fd, c->iov, c->count, offset);
}

/* Move all of @bytes; a medium that stops short is asked again, one that
 * gives nothing has an error. */
static int transfer(int fd, enum blk_op op, struct cursor c, uint64_t offset,
	uint64_t bytes)
{
	while (bytes > 0) {
		ssize_t n = cursor_call(&c, fd, op, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		cursor_advance(&c, (size_t)n);
		offset += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return 0;
}

/* Copy between @flat and the vectors, as much as @bytes. */
static void cursor_copy(
	struct cursor *c, enum blk_op op, uint8_t *flat, size_t bytes)
{
	while (bytes > 0) {
		uint8_t *base = (uint8_t *)c->iov->iov_base + c->skip;
		size_t piece = c->iov->iov_len - c->skip;

		if (piece > bytes)
			piece = bytes;
		if (op == BLK_READ)
			memcpy(base, flat, piece);
		else
			memcpy(flat, base, piece);
		cursor_advance(c, piece);
		flat += piece;
		bytes -= piece;
	}
}

/* Move everything through memory that the device accepts. */
static int transfer_bounced(struct file_dev *file, const struct blk_io *io)
{
	struct cursor at = {io->iov, io->iov_count, 0};
	size_t room =
		io->bytes < BOUNCE_BYTES ? (size_t)io->bytes : BOUNCE_BYTES;
	uint8_t *flat = aligned_alloc(file->direct_unit, room);
	uint64_t done = 0;
	int err = 0;

	if (flat == NULL)
		return -ENOMEM;
	cursor_advance(&at, 0); /* past vectors of no length */
	while (done < io->bytes && err == 0) {
		uint64_t left = io->bytes - done;
		struct iovec iov = {flat, left < room ? (size_t)left : room};

		if (io->op == BLK_WRITE)
			cursor_copy(&at, io->op, flat, iov.iov_len);
		err = transfer(file->direct_fd, io->op,
			(struct cursor){&iov, 1, 0}, io->offset + done,
			iov.iov_len);
		if (err == 0 && io->op == BLK_READ)
			cursor_copy(&at, io->op, flat, iov.iov_len);
		done += iov.iov_len;
	}
	free(flat);
	return err;
}

int file_call_transfer(
	struct file_dev *file, const struct blk_io *io, enum file_way way)
{
	struct cursor all = {io->iov, io->iov_count, 0};

	if (way == WAY_BOUNCE)
		return transfer_bounced(file, io);
	return transfer(way == WAY_DIRECT ? file->direct_fd : file->fd, io->op,
		all, io->offset, io->bytes);
}

/* ---- the others -------------------------------------------------------- */

static int file_flush(struct file_dev *file)
{
	while (fdatasync(file->fd) != 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* -EOPNOTSUPP in any of its dialects. */
static bool unsupported(int err)
{
	return err == -EOPNOTSUPP || err == -ENOTTY || err == -EINVAL ||
	       err == -ENOSYS;
}

static int block_ioctl(const struct file_dev *file, unsigned long call,
	const struct blk_io *io)
{
	uint64_t range[2] = {io->offset, io->bytes};

	while (ioctl(file->fd, call, range) != 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static int punch(const struct file_dev *file, int mode, const struct blk_io *io)
{
	while (fallocate(file->fd, mode | FALLOC_FL_KEEP_SIZE,
		       (off_t)io->offset, (off_t)io->bytes) != 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* A device that cannot discard has nothing to do. */
static int file_discard(struct file_dev *file, const struct blk_io *io)
{
	int err;

	if (atomic_load_explicit(&file->no_discard, memory_order_relaxed))
		return 0;
	err = file->is_block ? block_ioctl(file, BLKDISCARD, io)
			     : punch(file, FALLOC_FL_PUNCH_HOLE, io);
	if (!unsupported(err))
		return err;
	atomic_store_explicit(&file->no_discard, true, memory_order_relaxed);
	return 0;
}

/* A hole reads as zeroes too, and more file systems can make one. */
static int zero_cheaply(struct file_dev *file, const struct blk_io *io)
{
	int err;

	if (file->is_block)
		return block_ioctl(file, BLKZEROOUT, io);
	err = punch(file, FALLOC_FL_ZERO_RANGE, io);
	return unsupported(err) ? punch(file, FALLOC_FL_PUNCH_HOLE, io) : err;
}

static int zero_by_writing(struct file_dev *file, const struct blk_io *io)
{
	static const uint8_t zeroes[ZERO_BYTES];
	uint64_t done = 0;
	int err = 0;

	while (done < io->bytes && err == 0) {
		uint64_t left = io->bytes - done;
		struct iovec iov = {(void *)zeroes,
			left < ZERO_BYTES ? (size_t)left : ZERO_BYTES};

		err = transfer(file->fd, BLK_WRITE, (struct cursor){&iov, 1, 0},
			io->offset + done, iov.iov_len);
		done += iov.iov_len;
	}
	return err;
}

static int file_zero(struct file_dev *file, const struct blk_io *io)
{
	int err;

	if (!atomic_load_explicit(&file->no_zeroing, memory_order_relaxed)) {
		err = zero_cheaply(file, io);
		if (!unsupported(err))
			return err;
		atomic_store_explicit(
			&file->no_zeroing, true, memory_order_relaxed);
	}
	return zero_by_writing(file, io);
}

int file_call(struct file_dev *file, const struct blk_io *io)
{
	switch (io->op) {
	case BLK_READ:
	case BLK_WRITE:
		return file_call_transfer(file, io, file_way(file, io));
	case BLK_FLUSH:
		return file_flush(file);
	case BLK_DISCARD:
		return file_discard(file, io);
	case BLK_WRITE_ZEROES:
		return file_zero(file, io);
	default:
		return -EINVAL;
	}
}
