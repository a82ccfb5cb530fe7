/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_ring.c - see file.h: rings that their submitter waits on.
 *
 * A ring is locked from the first request to the last completion, so a thread
 * that finds its CPU's ring taken looks at the others' and, if all are busy,
 * goes without.  What a ring leaves undone, for whatever reason, is done
 * again by plain calls, which also find the true error.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "blk/file.h"

enum { RINGS_MAX = 16 };

static struct lock_class ring_class = {.name = "blk.ring", .rank = RANK_BLK};

/* ---- a ring ------------------------------------------------------------ */

static int ring_init(struct io_uring *ring, unsigned entries)
{
	int err = io_uring_queue_init(entries, ring,
		IORING_SETUP_R_DISABLED | IORING_SETUP_COOP_TASKRUN);

	/* Kernels before 5.19 do not know the second flag. */
	if (err == -EINVAL)
		err = io_uring_queue_init(
			entries, ring, IORING_SETUP_R_DISABLED);
	return err;
}

/* From now on the ring can do nothing but I/O on its files, and let go of
 * them: what takes over this process gains no way around a system call filter.
 * Called by number, as liburing 2.3 declares the calls without exporting them. */
static int ring_restrict(struct io_uring *ring)
{
	static const uint8_t calls[] = {IORING_OP_READV, IORING_OP_WRITEV,
		IORING_OP_READ, IORING_OP_FSYNC};

	enum { CALLS = ARRAY_COUNT(calls) };
	struct io_uring_restriction rules[CALLS + 2] = {0};

	for (unsigned i = 0; i < CALLS; i++) {
		rules[i].opcode = IORING_RESTRICTION_SQE_OP;
		rules[i].sqe_op = calls[i];
	}
	rules[CALLS].opcode = IORING_RESTRICTION_SQE_FLAGS_REQUIRED;
	rules[CALLS].sqe_flags = IOSQE_FIXED_FILE;
	rules[CALLS + 1].opcode = IORING_RESTRICTION_REGISTER_OP;
	rules[CALLS + 1].register_op = IORING_UNREGISTER_FILES;
	return io_uring_register(
		ring->ring_fd, IORING_REGISTER_RESTRICTIONS, rules, CALLS + 2);
}

int file_ring_open(struct io_uring *ring, const struct file_dev *file,
	int event_fd, unsigned entries)
{
	const int fds[RING_FILES] = {
		[RING_BUFFERED] = file->fd,
		[RING_DIRECT] = file->direct_fd,
		[RING_EVENT] = event_fd,
	};
	int err = ring_init(ring, entries);

	if (err != 0)
		return err;
	err = io_uring_register_files(ring, fds, RING_FILES);
	if (err == 0)
		err = ring_restrict(ring);
	if (err == 0)
		err = io_uring_register(
			ring->ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
	if (err != 0)
		io_uring_queue_exit(ring);
	return err;
}

/* The kernel takes a ring apart some time later; the files it must give back
 * now, as whoever closes an image may open it again at once. */
void file_ring_close(struct io_uring *ring)
{
	(void)io_uring_unregister_files(ring);
	io_uring_queue_exit(ring);
}

void file_ring_prepare(struct io_uring_sqe *sqe, const struct file_span *span)
{
	int fd = span->way == WAY_DIRECT ? RING_DIRECT : RING_BUFFERED;
	unsigned vectors = (unsigned)span->iov_count;

	if (span->op == BLK_READ)
		io_uring_prep_readv(sqe, fd, span->iov, vectors, span->offset);
	else if (span->op == BLK_WRITE)
		io_uring_prep_writev(sqe, fd, span->iov, vectors, span->offset);
	else
		io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
	sqe->flags |= IOSQE_FIXED_FILE;
}

/* ---- run and wait ------------------------------------------------------ */

/* A locked ring, or NULL. */
static struct file_ring *ring_borrow(struct file_dev *file) NO_LOCK_ANALYSIS
{
	uint32_t at = cpu_shard(file->ring_count);

	for (uint32_t i = 0; i < file->ring_count; i++) {
		struct file_ring *r = &file->rings[(at + i) % file->ring_count];

		if (!mtx_trylock(&r->lock))
			continue;
		if (r->ready ||
			file_ring_open(&r->ring, file, -1, FILE_BATCH) == 0) {
			r->ready = true;
			return r;
		}
		mtx_unlock(&r->lock);
		atomic_store_explicit(
			&file->no_ring, true, memory_order_relaxed);
		break;
	}
	return NULL;
}

static unsigned ring_reap(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	unsigned head;
	unsigned count = 0;

	io_uring_for_each_cqe(ring, head, cqe)
	{
		struct file_span *span = io_uring_cqe_get_data(cqe);

		span->done = cqe->res >= 0 && (uint64_t)cqe->res == span->bytes;
		count++;
	}
	io_uring_cq_advance(ring, count);
	return count;
}

/* Wait until the kernel has let go of all that it took.  Anything else would
 * leave it writing into memory that is no longer ours to give. */
static void ring_drain(struct io_uring *ring, unsigned flying)
{
	struct io_uring_cqe *cqe;

	while (flying > 0) {
		(void)io_uring_wait_cqe(ring, &cqe);
		flying -= ring_reap(ring);
	}
}

/* False: the ring failed, and holds nothing of ours any more. */
static bool ring_complete(struct io_uring *ring, unsigned count)
{
	unsigned reaped = 0;

	while (reaped < count) {
		int n = io_uring_submit_and_wait(ring, count - reaped);

		reaped += ring_reap(ring);
		if (n < 0 && n != -EINTR) {
			ring_drain(
				ring, count - reaped - io_uring_sq_ready(ring));
			return false;
		}
	}
	return true;
}

/* A ring that failed is made anew for the next who wants it. */
static void ring_return(struct file_ring *r, bool good) NO_LOCK_ANALYSIS
{
	if (!good) {
		file_ring_close(&r->ring);
		r->ready = false;
	}
	mtx_unlock(&r->lock);
}

void file_ring_run(
	struct file_dev *file, struct file_span *const *spans, unsigned count)
{
	struct file_ring *r = ring_borrow(file);

	if (r == NULL)
		return;
	for (unsigned i = 0; i < count; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&r->ring);

		file_ring_prepare(sqe, spans[i]);
		io_uring_sqe_set_data(sqe, spans[i]);
	}
	ring_return(r, ring_complete(&r->ring, count));
}

int file_rings_init(struct file_dev *file)
{
	uint32_t count = cpu_count() < RINGS_MAX ? cpu_count() : RINGS_MAX;
	struct file_ring *rings =
		aligned_alloc(LINE_BYTES, count * sizeof(*rings));

	if (rings == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		rings[i] = (struct file_ring){.ready = false};
		mtx_init(&rings[i].lock, &ring_class);
	}
	file->rings = rings;
	file->ring_count = count;
	return 0;
}

void file_rings_warm(struct file_dev *file) NO_LOCK_ANALYSIS
{
	uint32_t made = 0;

	while (made < file->ring_count) {
		struct file_ring *r = &file->rings[made];

		if (file_ring_open(&r->ring, file, -1, FILE_BATCH) != 0)
			break;
		r->ready = true;
		made++;
	}
	for (uint32_t i = made; i < file->ring_count; i++)
		mtx_fini(&file->rings[i].lock);
	file->ring_count = made;
	if (made == 0)
		atomic_store_explicit(
			&file->no_ring, true, memory_order_relaxed);
}

void file_rings_fini(struct file_dev *file)
{
	for (uint32_t i = 0; i < file->ring_count; i++) {
		if (file->rings[i].ready)
			file_ring_close(&file->rings[i].ring);
		mtx_fini(&file->rings[i].lock);
	}
	free(file->rings);
}
