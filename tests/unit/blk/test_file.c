/* SPDX-License-Identifier: BSD-2-Clause */
/* Image files: rings, direct I/O, locks, what is refused and what it says. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "blk/blk.h"
#include "blk/file.h"
#include "sync/futex.h"

enum { SECTORS = 2048 };

#define SECTOR    UINT64_C(512)
#define DEV_BYTES (SECTORS * SECTOR)

static char image[] = "blk-file-XXXXXX";

static int image_make(void **state)
{
	int fd = mkstemp(image);

	(void)state;
	if (fd < 0 || ftruncate(fd, DEV_BYTES) != 0)
		return -1;
	return close(fd);
}

static int image_remove(void **state)
{
	(void)state;
	return unlink(image);
}

static struct blk_dev *image_open(unsigned flags)
{
	struct blk_dev *dev = NULL;
	char who[256] = "";

	if (blk_open_file(image, flags, who, sizeof(who), &dev) != 0)
		fail_msg("%s", who);
	return dev;
}

/* ---- batches ----------------------------------------------------------- */

enum { BATCH = 16 };

/* Reads or writes of every other page, which no joining makes into one. */
struct pages {
	struct blk_io ios[BATCH];
	struct iovec iov[BATCH];
	_Alignas(4096) uint8_t data[BATCH][4096];
};

static void pages_ask(struct pages *p, enum blk_op op)
{
	for (unsigned i = 0; i < BATCH; i++) {
		p->iov[i] = (struct iovec){p->data[i], sizeof(p->data[i])};
		p->ios[i] = (struct blk_io){.op = op,
			.offset = UINT64_C(8192) * i,
			.bytes = sizeof(p->data[i]),
			.iov = &p->iov[i],
			.iov_count = 1};
	}
}

static void pages_round_trip(struct blk_dev *dev, int salt)
{
	static struct pages p;

	pages_ask(&p, BLK_WRITE);
	for (int i = 0; i < BATCH; i++)
		memset(p.data[i], salt + i, sizeof(p.data[i]));
	assert_int_equal(blk_run(dev, p.ios, BATCH), 0);
	pages_ask(&p, BLK_READ);
	memset(p.data, 0, sizeof(p.data));
	assert_int_equal(blk_run(dev, p.ios, BATCH), 0);
	for (int i = 0; i < BATCH; i++) {
		assert_int_equal(p.data[i][0], salt + i);
		assert_int_equal(p.data[i][4095], salt + i);
	}
}

static unsigned rings_ready(struct blk_dev *dev)
{
	const struct file_dev *file = file_of(dev);
	unsigned count = 0;

	for (uint32_t i = 0; i < file->ring_count; i++)
		count += file->rings[i].ready;
	return count;
}

static bool rings_allowed(void)
{
	struct io_uring ring;

	if (io_uring_queue_init(1, &ring, 0) != 0)
		return false;
	io_uring_queue_exit(&ring);
	return true;
}

static void test_file_batch_of_reads_uses_a_ring(void **state)
{
	struct blk_dev *dev;

	(void)state;
	if (!rings_allowed()) {
		skip_because("io_uring is not to be had here");
	}
	dev = image_open(BLK_OPEN_WRITE);
	assert_int_equal(rings_ready(dev), 0);
	pages_round_trip(dev, 1);
	assert_int_equal(rings_ready(dev), 1);
	assert_false(file_of(dev)->no_ring);
	blk_close(dev);
	dev = image_open(BLK_OPEN_WRITE | BLK_OPEN_NO_URING);
	pages_round_trip(dev, 2);
	assert_int_equal(rings_ready(dev), 0);
	blk_close(dev);
}

/* The rings of a taken-over process open no files. */
static void test_file_ring_does_nothing_but_its_io(void **state)
{
	struct io_uring_cqe *cqe;
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	struct blk_dev *dev;

	(void)state;
	if (!rings_allowed()) {
		skip_because("io_uring is not to be had here");
	}
	dev = image_open(0);
	assert_int_equal(file_ring_open(&ring, file_of(dev), -1, 8), 0);
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_openat(sqe, AT_FDCWD, "/dev/null", O_RDONLY, 0);
	assert_int_equal(io_uring_submit(&ring), 1);
	assert_int_equal(io_uring_wait_cqe(&ring, &cqe), 0);
	assert_int_equal(cqe->res, -EACCES);
	io_uring_cqe_seen(&ring, cqe);
	/* Nor reads of what is not in its table. */
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_nop(sqe);
	assert_int_equal(io_uring_submit(&ring), 1);
	assert_int_equal(io_uring_wait_cqe(&ring, &cqe), 0);
	assert_int_equal(cqe->res, -EACCES);
	io_uring_cqe_seen(&ring, cqe);
	file_ring_close(&ring);
	blk_close(dev);
}

static void test_file_direct_takes_whole_pages(void **state)
{
	struct blk_dev *dev = image_open(BLK_OPEN_WRITE | BLK_OPEN_DIRECT);
	struct file_dev *file = file_of(dev);
	_Alignas(4096) static uint8_t data[8192];
	struct iovec iov = {data, 4096};
	struct blk_io io = {
		.op = BLK_READ, .bytes = 4096, .iov = &iov, .iov_count = 1};

	(void)state;
	if (file->direct_fd < 0) {
		blk_close(dev);
		skip_because("no direct I/O on this file system");
	}
	assert_int_equal(file_way(file, &io), WAY_DIRECT);
	iov.iov_base = data + 1;
	assert_int_equal(file_way(file, &io), WAY_BOUNCE);
	iov.iov_base = data;
	io.offset = 512;
	assert_int_equal(file_way(file, &io), WAY_BUFFERED);
	pages_round_trip(dev, 40);
	blk_close(dev);
	dev = image_open(BLK_OPEN_DIRECT | BLK_OPEN_NO_URING | BLK_OPEN_WRITE);
	pages_round_trip(dev, 80);
	blk_close(dev);
}

/* ---- submissions ------------------------------------------------------- */

struct errand {
	struct blk_dev *dev;
	struct blk_io io;
	struct iovec iov;
	_Atomic uint32_t done;
	_Alignas(4096) uint8_t data[4096];
};

static void errand_done(struct blk_io *io)
{
	struct errand *e = io->owner;

	atomic_store(&e->done, 1);
	futex_wake_all(&e->done);
}

static void errand_begin(struct errand *e, uint64_t offset)
{
	e->iov = (struct iovec){e->data, sizeof(e->data)};
	e->io = (struct blk_io){.op = BLK_READ,
		.offset = offset,
		.bytes = sizeof(e->data),
		.iov = &e->iov,
		.iov_count = 1,
		.done = errand_done,
		.owner = e};
	atomic_store(&e->done, 0);
	blk_submit(e->dev, &e->io);
}

static int errand_wait(struct errand *e)
{
	while (atomic_load(&e->done) == 0)
		(void)futex_wait(&e->done, 0, FUTEX_FOREVER);
	return e->io.result;
}

static void *errand_submit(void *arg)
{
	errand_begin(arg, UINT64_C(64) * 4096);
	return NULL;
}

/* The kernel cancels what an exiting thread has in a ring; not ours. */
static void test_file_submitter_may_exit(void **state)
{
	static const unsigned flags[] = {0, BLK_OPEN_NO_URING, BLK_OPEN_DIRECT};
	static struct errand errands[8];

	(void)state;
	for (unsigned f = 0; f < ARRAY_COUNT(flags); f++) {
		struct blk_dev *dev = image_open(flags[f]);
		pthread_t threads[ARRAY_COUNT(errands)];

		for (unsigned i = 0; i < ARRAY_COUNT(errands); i++) {
			errands[i] = (struct errand){.dev = dev};
			assert_int_equal(pthread_create(&threads[i], NULL,
						 errand_submit, &errands[i]),
				0);
		}
		for (unsigned i = 0; i < ARRAY_COUNT(errands); i++)
			assert_int_equal(pthread_join(threads[i], NULL), 0);
		for (unsigned i = 0; i < ARRAY_COUNT(errands); i++)
			assert_int_equal(errand_wait(&errands[i]), 0);
		blk_close(dev);
	}
}

/* ---- a medium that ends early ------------------------------------------ */

static void expect_cut(struct blk_dev *dev, uint64_t step)
{
	static struct pages p;

	pages_ask(&p, BLK_READ);
	for (unsigned i = 0; i < BATCH; i++)
		p.ios[i].offset = step * i;
	/* In the middle of the fifth. */
	assert_int_equal(truncate(image, (off_t)(4 * step + 512)), 0);
	assert_int_equal(blk_run(dev, p.ios, BATCH), -EIO);
	for (unsigned i = 0; i < BATCH; i++)
		assert_int_equal(p.ios[i].result, i < 4 ? 0 : -EIO);
	assert_int_equal(truncate(image, DEV_BYTES), 0);
	assert_int_equal(blk_run(dev, p.ios, BATCH), 0);
}

static void test_file_cut_short_fails_what_lies_beyond(void **state)
{
	static const unsigned flags[] = {0, BLK_OPEN_NO_URING, BLK_OPEN_DIRECT};
	static struct errand e;

	(void)state;
	for (unsigned f = 0; f < ARRAY_COUNT(flags); f++) {
		e.dev = image_open(flags[f]);
		expect_cut(e.dev, 4096); /* neighbours, joined to one call */
		expect_cut(e.dev, 8192);
		assert_int_equal(truncate(image, 512), 0);
		errand_begin(&e, 0);
		assert_int_equal(errand_wait(&e), -EIO);
		errand_begin(&e, 4096);
		assert_int_equal(errand_wait(&e), -EIO);
		assert_int_equal(truncate(image, DEV_BYTES), 0);
		errand_begin(&e, 0);
		assert_int_equal(errand_wait(&e), 0);
		blk_close(e.dev);
	}
}

/* ---- without rings ----------------------------------------------------- */

/* From now on this process gets EPERM for any new ring. */
static void rings_forbid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {ARRAY_COUNT(code), code};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* In a child, which says by its exit status that all went well. */
static int in_child(void (*body)(void))
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void forbidden_body(void)
{
	static struct errand e;
	struct blk_dev *dev;

	rings_forbid();
	if (rings_allowed())
		_exit(3);
	dev = image_open(BLK_OPEN_WRITE);
	pages_round_trip(dev, 120);
	e.dev = dev;
	errand_begin(&e, 0);
	if (errand_wait(&e) != 0 || !file_of(dev)->no_ring)
		_exit(4);
	blk_close(dev);
}

static void test_file_works_where_rings_are_forbidden(void **state)
{
	(void)state;
	assert_int_equal(in_child(forbidden_body), 0);
}

/* ---- locks ------------------------------------------------------------- */

struct holder {
	pid_t pid;
	int go; /* closed when the holder may end */
};

/* A process that has the image open. */
static struct holder holder_start(unsigned flags)
{
	struct holder h;
	int ready[2];
	int go[2];
	char byte = 0;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	h.pid = fork();
	assert_true(h.pid >= 0);
	if (h.pid == 0) {
		struct blk_dev *dev = NULL;

		(void)close(go[1]);
		(void)prctl(PR_SET_NAME, "the holder");
		if (blk_open_file(image, flags, NULL, 0, &dev) != 0 ||
			write(ready[1], &byte, 1) != 1)
			_exit(1);
		(void)!read(go[0], &byte, 1);
		blk_close(dev);
		_exit(0);
	}
	h.go = go[1];
	(void)close(go[0]);
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return h;
}

static void holder_end(const struct holder *h)
{
	int status = -1;

	(void)close(h->go);
	assert_int_equal(waitpid(h->pid, &status, 0), h->pid);
	assert_int_equal(status, 0);
}

static void expect_refused(unsigned flags, const struct holder *h)
{
	struct blk_dev *dev = NULL;
	char who[256] = "";
	char want[256];

	(void)snprintf(want, sizeof(want),
		"%s: locked by process %d (the holder)", image, (int)h->pid);
	assert_int_equal(
		blk_open_file(image, flags, who, sizeof(who), &dev), -EBUSY);
	assert_null(dev);
	assert_string_equal(who, want);
	assert_int_equal(blk_open_file(image, flags, NULL, 0, &dev), -EBUSY);
}

static void test_file_writer_keeps_others_out(void **state)
{
	struct holder h = holder_start(BLK_OPEN_WRITE);
	struct blk_dev *dev = NULL;

	(void)state;
	expect_refused(0, &h);
	expect_refused(BLK_OPEN_WRITE, &h);
	dev = image_open(BLK_OPEN_NO_LOCK);
	blk_close(dev);
	holder_end(&h);
	blk_close(image_open(BLK_OPEN_WRITE));
}

static void test_file_readers_share(void **state)
{
	struct holder h = holder_start(0);

	(void)state;
	blk_close(image_open(0));
	expect_refused(BLK_OPEN_WRITE, &h);
	holder_end(&h);
}

/* A child that was forked while the image was open has its descriptors, but
 * not its lock. */
static void test_file_close_gives_the_lock_back_at_once(void **state)
{
	struct blk_dev *dev = image_open(BLK_OPEN_WRITE | BLK_OPEN_DIRECT);
	int go[2];
	pid_t pid;
	char byte;

	(void)state;
	pages_round_trip(dev, 7);
	assert_int_equal(pipe(go), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(go[1]);
		(void)!read(go[0], &byte, 1);
		_exit(0);
	}
	blk_close(dev);
	blk_close(image_open(BLK_OPEN_WRITE));
	(void)close(go[1]);
	(void)close(go[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- refusals ---------------------------------------------------------- */

static void expect_error(
	const char *path, unsigned flags, int err, const char *text)
{
	struct blk_dev *dev = NULL;
	char who[256] = "";
	char want[256];

	(void)snprintf(want, sizeof(want), "%s: %s", path, text);
	assert_int_equal(
		blk_open_file(path, flags, who, sizeof(who), &dev), err);
	assert_null(dev);
	assert_string_equal(who, want);
}

static void test_file_other_things_are_refused(void **state)
{
	static const char fifo[] = "blk-file-fifo";

	(void)state;
	expect_error("blk-no-such", 0, -ENOENT, "No such file or directory");
	expect_error("/", 0, -EISDIR, "is a directory");
	expect_error("/dev/null", BLK_OPEN_WRITE, -EINVAL,
		"neither a file nor a block device");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	expect_error(fifo, 0, -EINVAL, "neither a file nor a block device");
	assert_int_equal(unlink(fifo), 0);
}

static void test_file_reader_cannot_write(void **state)
{
	struct blk_dev *dev = image_open(0);
	uint8_t data[512] = {0};

	(void)state;
	assert_true(blk_geom(dev).read_only);
	assert_int_equal(blk_write(dev, 0, sizeof(data), data), -EROFS);
	assert_int_equal(blk_discard(dev, 0, 512), -EROFS);
	assert_int_equal(blk_write_zeroes(dev, 0, 512), -EROFS);
	assert_int_equal(blk_flush(dev), 0);
	assert_int_equal(blk_read(dev, 0, sizeof(data), data), 0);
	blk_close(dev);
}

static void test_file_discard_and_zeroes_make_holes(void **state)
{
	struct blk_dev *dev = image_open(BLK_OPEN_WRITE);
	static uint8_t data[65536];
	struct stat before;
	struct stat after;

	(void)state;
	memset(data, 1, sizeof(data));
	for (uint64_t at = 0; at < DEV_BYTES; at += sizeof(data))
		assert_int_equal(blk_write(dev, at, sizeof(data), data), 0);
	assert_int_equal(blk_flush(dev), 0);
	assert_int_equal(stat(image, &before), 0);
	assert_int_equal(blk_discard(dev, 0, DEV_BYTES / 2), 0);
	assert_int_equal(blk_write_zeroes(dev, DEV_BYTES / 2, 65536), 0);
	assert_int_equal(blk_read(dev, DEV_BYTES / 2, sizeof(data), data), 0);
	for (size_t i = 0; i < sizeof(data); i++)
		assert_int_equal(data[i], 0);
	assert_int_equal(stat(image, &after), 0);
	assert_int_equal(after.st_size, DEV_BYTES);
	if (!file_of(dev)->no_discard)
		assert_true(after.st_blocks <=
			    before.st_blocks - (blkcnt_t)(SECTORS / 2));
	blk_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_batch_of_reads_uses_a_ring),
		cmocka_unit_test(test_file_ring_does_nothing_but_its_io),
		cmocka_unit_test(test_file_direct_takes_whole_pages),
		cmocka_unit_test(test_file_submitter_may_exit),
		cmocka_unit_test(test_file_cut_short_fails_what_lies_beyond),
		cmocka_unit_test(test_file_works_where_rings_are_forbidden),
		cmocka_unit_test(test_file_writer_keeps_others_out),
		cmocka_unit_test(test_file_readers_share),
		cmocka_unit_test(test_file_close_gives_the_lock_back_at_once),
		cmocka_unit_test(test_file_other_things_are_refused),
		cmocka_unit_test(test_file_reader_cannot_write),
		cmocka_unit_test(test_file_discard_and_zeroes_make_holes),
	};

	return cmocka_run_group_tests(tests, image_make, image_remove);
}
