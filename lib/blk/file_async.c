/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_async.c - see file.h: submitted requests.
 *
 * The kernel cancels what a thread has in a ring when that thread exits, so
 * no caller's thread touches this ring: it leaves its request on a list and
 * one thread of ours, which lives as long as the device, does the rest.  It
 * sleeps in its ring, where a read of an eventfd waits beside the I/O.
 *
 * What comes back short or interrupted, and what a ring cannot do, a pool
 * does by plain calls.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "blk/file.h"
#include "sync/thread.h"

enum { ASYNC_ENTRIES = 256 };

struct async_call {
	struct async_call *next;
	struct blk_io *io;
	struct file_span span; /* the same in the ring's words */
};

struct file_async {
	struct file_dev *file; /* [const] */
	struct mtx lock;
	struct async_call *first;   /* [lock] oldest first */
	struct async_call **last;   /* [lock] where the next one goes */
	bool stop;                  /* [lock] */
	_Atomic uint32_t signalled; /* [atomic] the event is on its way */
	int event_fd;               /* [const] */
	pthread_t thread;           /* [const] */
	/* The thread's own: */
	struct io_uring ring;
	struct async_call *ready; /* taken off the list, not yet in the ring */
	unsigned flying;          /* calls in the ring */
	bool event_armed;
	bool stopping;
	uint64_t event_count;
};

static struct lock_class async_class = {.name = "blk.async", .rank = RANK_BLK};

/* ---- the thread -------------------------------------------------------- */

static void call_finish(struct file_async *a, struct async_call *call, int res)
{
	struct file_dev *file = a->file;
	struct blk_io *io = call->io;
	bool whole = res >= 0 && (uint64_t)res == call->span.bytes;

	free(call);
	if (whole)
		blk_io_finish(&file->dev, io, 0);
	else if (res >= 0 || res == -EINTR || res == -EAGAIN)
		blk_pool_submit(&file->pool, &file->dev, io);
	else
		blk_io_finish(&file->dev, io, res);
}

static void async_reap(struct file_async *a)
{
	struct io_uring_cqe *cqe;

	while (io_uring_peek_cqe(&a->ring, &cqe) == 0) {
		struct async_call *call = io_uring_cqe_get_data(cqe);
		int res = cqe->res;

		io_uring_cqe_seen(&a->ring, cqe);
		if (call == NULL) {
			a->event_armed = false;
			continue;
		}
		a->flying--;
		call_finish(a, call, res);
	}
}

/* Take what callers have left.  The flag falls first: who adds a call after
 * that signals again; who added one before is seen under the lock. */
static void async_take(struct file_async *a)
{
	struct async_call **end = &a->ready;

	while (*end != NULL)
		end = &(*end)->next;
	atomic_store(&a->signalled, 0);
	mtx_lock(&a->lock);
	*end = a->first;
	a->first = NULL;
	a->last = &a->first;
	a->stopping = a->stop;
	mtx_unlock(&a->lock);
}

static void async_fill(struct file_async *a)
{
	if (!a->event_armed && !a->stopping) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&a->ring);

		io_uring_prep_read(sqe, RING_EVENT, &a->event_count,
			sizeof(a->event_count), 0);
		io_uring_sqe_set_data(sqe, NULL);
		sqe->flags |= IOSQE_FIXED_FILE;
		a->event_armed = true;
	}
	/* One entry stays free for the event. */
	while (a->ready != NULL && a->flying < ASYNC_ENTRIES - 1) {
		struct async_call *call = a->ready;
		struct io_uring_sqe *sqe = io_uring_get_sqe(&a->ring);

		if (sqe == NULL)
			break;
		a->ready = call->next;
		file_ring_prepare(sqe, &call->span);
		io_uring_sqe_set_data(sqe, call);
		a->flying++;
	}
}

static void *async_body(void *arg)
{
	struct file_async *a = arg;

	for (;;) {
		async_take(a);
		async_fill(a);
		if (a->stopping && !a->event_armed && a->flying == 0 &&
			a->ready == NULL)
			break;
		/* Errors are short of memory or signals: what has not been
		 * submitted stays in the ring for the next round. */
		(void)io_uring_submit_and_wait(&a->ring, 1);
		async_reap(a);
	}
	return NULL;
}

/* ---- callers ----------------------------------------------------------- */

static void async_signal(struct file_async *a)
{
	const uint64_t one = 1;

	/* Cannot fail: the count is far from overflow. */
	if (atomic_exchange(&a->signalled, 1) == 0)
		(void)!write(a->event_fd, &one, sizeof(one));
}

static int async_open(struct file_async *a)
{
	int err;

	a->event_fd = eventfd(0, EFD_CLOEXEC);
	if (a->event_fd < 0)
		return -errno;
	err = file_ring_open(&a->ring, a->file, a->event_fd, ASYNC_ENTRIES);
	if (err != 0)
		(void)close(a->event_fd);
	return err;
}

static struct file_async *async_make(struct file_dev *file)
{
	struct file_async *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->file = file;
	a->last = &a->first;
	mtx_init(&a->lock, &async_class);
	if (async_open(a) == 0)
		return a;
	mtx_fini(&a->lock);
	free(a);
	return NULL;
}

/* Its thread does not run, or has ended. */
static void async_free(struct file_async *a)
{
	file_ring_close(&a->ring);
	(void)close(a->event_fd);
	mtx_fini(&a->lock);
	free(a);
}

void file_async_warm(struct file_dev *file)
{
	mtx_lock(&file->start);
	file->idle = async_make(file);
	mtx_unlock(&file->start);
}

/* One with its thread, or NULL. */
static struct file_async *async_start(struct file_dev *file)
{
	struct file_async *a =
		file->idle != NULL ? file->idle : async_make(file);

	file->idle = NULL;
	if (a == NULL || thread_start(&a->thread, async_body, a) == 0)
		return a;
	async_free(a);
	return NULL;
}

/* NULL: there can be none, and rings are not tried again. */
static struct file_async *async_get(struct file_dev *file)
{
	struct file_async *a;

	/* Pairs with the release below. */
	a = atomic_load_explicit(&file->async, memory_order_acquire);
	if (a != NULL ||
		atomic_load_explicit(&file->no_ring, memory_order_relaxed))
		return a;
	mtx_lock(&file->start);
	a = atomic_load_explicit(&file->async, memory_order_relaxed);
	if (a == NULL)
		a = async_start(file);
	if (a != NULL)
		atomic_store_explicit(&file->async, a, memory_order_release);
	else
		atomic_store_explicit(
			&file->no_ring, true, memory_order_relaxed);
	mtx_unlock(&file->start);
	return a;
}

/* NULL: a ring cannot do it, or memory is out. */
static struct async_call *call_new(
	const struct file_dev *file, struct blk_io *io)
{
	struct file_span span = {.op = io->op, .way = WAY_BUFFERED};
	struct async_call *call;

	switch (io->op) {
	case BLK_READ:
	case BLK_WRITE:
		span.way = file_way(file, io);
		span.offset = io->offset;
		span.bytes = io->bytes;
		span.iov = io->iov;
		span.iov_count = io->iov_count;
		break;
	case BLK_FLUSH:
		break;
	default:
		return NULL;
	}
	if (span.way == WAY_BOUNCE)
		return NULL;
	call = malloc(sizeof(*call));
	if (call != NULL)
		*call = (struct async_call){.io = io, .span = span};
	return call;
}

void file_submit(struct blk_dev *dev, struct blk_io *io)
{
	struct file_dev *file = file_of(dev);
	struct file_async *a = async_get(file);
	struct async_call *call = a == NULL ? NULL : call_new(file, io);

	if (call == NULL) {
		blk_pool_submit(&file->pool, dev, io);
		return;
	}
	mtx_lock(&a->lock);
	*a->last = call;
	a->last = &call->next;
	mtx_unlock(&a->lock);
	async_signal(a);
}

void file_async_close(struct file_dev *file)
{
	struct file_async *a =
		atomic_load_explicit(&file->async, memory_order_acquire);

	if (file->idle != NULL)
		async_free(file->idle);
	if (a == NULL)
		return;
	mtx_lock(&a->lock);
	a->stop = true;
	mtx_unlock(&a->lock);
	async_signal(a);
	(void)pthread_join(a->thread, NULL);
	async_free(a);
}
