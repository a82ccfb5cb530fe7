/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A kernel that moves less than it was asked to, and is interrupted: the
 * calls that this program defines stand before those of the C library.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "../seed.h"
#include "base/hash.h"
#include "blk/blk.h"

enum { DEV_BYTES = 1 << 20, VECTORS = 9 };

/* 0: calls are as they are.  Else they move at most this much. */
static _Atomic size_t most;
static _Atomic unsigned calls;

static bool interrupted(void)
{
	unsigned call = atomic_fetch_add(&calls, 1);

	if (most == 0 || call % 3 != 0)
		return false;
	errno = EINTR;
	return true;
}

static size_t limited(size_t bytes)
{
	size_t limit = most;

	return limit != 0 && bytes > limit ? limit : bytes;
}

ssize_t pread(int fd, void *buf, size_t nbytes, off_t offset)
{
	if (interrupted())
		return -1;
	return syscall(SYS_pread64, fd, buf, limited(nbytes), offset);
}

ssize_t pwrite(int fd, const void *buf, size_t nbytes, off_t offset)
{
	if (interrupted())
		return -1;
	return syscall(SYS_pwrite64, fd, buf, limited(nbytes), offset);
}

/* As many whole vectors as the limit allows, and a part of the next. */
static int cut(const struct iovec *iov, int count, struct iovec *to)
{
	size_t left = most == 0 ? SIZE_MAX : most;
	int n = 0;

	for (; n < count && left > 0; n++) {
		to[n] = iov[n];
		if (to[n].iov_len > left)
			to[n].iov_len = left;
		left -= to[n].iov_len;
	}
	return n;
}

ssize_t preadv(int fd, const struct iovec *iovec, int count, off_t offset)
{
	struct iovec to[1024];

	if (interrupted())
		return -1;
	return syscall(
		SYS_preadv, fd, to, (long)cut(iovec, count, to), offset, 0L);
}

ssize_t pwritev(int fd, const struct iovec *iovec, int count, off_t offset)
{
	struct iovec to[1024];

	if (interrupted())
		return -1;
	return syscall(
		SYS_pwritev, fd, to, (long)cut(iovec, count, to), offset, 0L);
}

static void vectors_cut(
	struct iovec *iov, uint8_t *data, size_t bytes, uint64_t *rng)
{
	size_t at = 0;

	for (int i = 0; i < VECTORS; i++) {
		size_t left = bytes - at;
		size_t piece = hash_next(rng) % (left / 2 + 1);

		if (i == VECTORS - 1)
			piece = left;
		iov[i].iov_base = data + at;
		iov[i].iov_len = piece;
		at += piece;
	}
}

static void test_file_short_calls_are_continued(void **state)
{
	static const size_t limits[] = {1, 7, 511, 512, 5000, 65536};
	static uint8_t data[65536];
	static uint8_t back[65536];
	char path[] = "blk-short-XXXXXX";
	struct blk_dev *dev = NULL;
	uint64_t rng = test_seed();
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, DEV_BYTES), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(blk_open_file(path, BLK_OPEN_WRITE, NULL, 0, &dev), 0);
	for (size_t i = 0; i < ARRAY_COUNT(limits); i++) {
		size_t bytes = limits[i] < 512 ? 2048 : sizeof(data);
		struct iovec iov[VECTORS];
		struct blk_io io = {.op = BLK_WRITE,
			.offset = 4096 * i,
			.bytes = bytes,
			.iov = iov,
			.iov_count = VECTORS};

		for (size_t at = 0; at < bytes; at++)
			data[at] = (uint8_t)hash_next(&rng);
		memset(back, 0, bytes);
		most = limits[i];
		vectors_cut(iov, data, bytes, &rng);
		assert_int_equal(blk_run(dev, &io, 1), 0);
		io.op = BLK_READ;
		vectors_cut(iov, back, bytes, &rng);
		assert_int_equal(blk_run(dev, &io, 1), 0);
		most = 0;
		assert_memory_equal(data, back, bytes);
		assert_int_equal(blk_read(dev, io.offset, bytes, back), 0);
		assert_memory_equal(data, back, bytes);
	}
	blk_close(dev);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_short_calls_are_continued),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
