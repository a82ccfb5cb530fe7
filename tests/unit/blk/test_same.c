/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every constructor makes the same device: one body of random I/O against an
 * array in memory, run over each of them, alone and stacked.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "../seed.h"
#include "base/hash.h"
#include "blk/blk.h"
#include "blk/layers.h"
#include "sync/futex.h"

enum { SECTORS = 2053, TAIL = 100, BATCH = 100, THREADS = 4, ROUNDS = 200 };

#define SECTOR    UINT64_C(512)
#define DEV_BYTES (SECTORS * SECTOR)

/* ---- the kinds --------------------------------------------------------- */

struct kind {
	const char *name;
	struct blk_dev *(*open)(const char *path);
	bool is_file;
};

static struct blk_dev *mem_open(const char *path)
{
	struct blk_dev *dev = NULL;

	(void)path;
	assert_int_equal(blk_open_mem(DEV_BYTES, &dev), 0);
	return dev;
}

static struct blk_dev *file_open(const char *path, unsigned flags)
{
	struct blk_dev *dev = NULL;
	char who[256] = "";

	if (blk_open_file(
		    path, BLK_OPEN_WRITE | flags, who, sizeof(who), &dev) != 0)
		fail_msg("%s", who);
	return dev;
}

static struct blk_dev *buffered_open(const char *path)
{
	return file_open(path, 0);
}

static struct blk_dev *buffered_plain_open(const char *path)
{
	return file_open(path, BLK_OPEN_NO_URING);
}

static struct blk_dev *direct_open(const char *path)
{
	return file_open(path, BLK_OPEN_DIRECT);
}

static struct blk_dev *direct_plain_open(const char *path)
{
	return file_open(path, BLK_OPEN_DIRECT | BLK_OPEN_NO_URING);
}

static int caller_pread(void *arg, uint64_t offset, size_t bytes, void *data)
{
	return blk_read(arg, offset, bytes, data);
}

static int caller_pwrite(
	void *arg, uint64_t offset, size_t bytes, const void *data)
{
	return blk_write(arg, offset, bytes, data);
}

static void caller_close(void *arg)
{
	blk_close(arg);
}

static struct blk_dev *caller_open(const char *path)
{
	const struct blk_caller_ops ops = {.pread = caller_pread,
		.pwrite = caller_pwrite,
		.close = caller_close};
	struct blk_dev *below = mem_open(path);
	struct blk_dev *dev = NULL;

	assert_int_equal(
		blk_open_caller(&ops, below, blk_geom(below), &dev), 0);
	return dev;
}

static struct blk_dev *range_open(const char *path)
{
	struct blk_dev *below = NULL;
	struct blk_dev *dev = NULL;

	(void)path;
	assert_int_equal(blk_open_mem(2 * DEV_BYTES, &below), 0);
	assert_int_equal(blk_open_range(below, 7 * SECTOR, DEV_BYTES, &dev), 0);
	return dev;
}

static struct blk_dev *stats_open(const char *path)
{
	struct blk_dev *dev = mem_open(path);

	assert_int_equal(blk_wrap_stats(dev, &dev), 0);
	return dev;
}

static struct blk_dev *fault_open(const char *path)
{
	struct blk_dev *dev = mem_open(path);

	assert_int_equal(blk_wrap_fault(dev, &dev), 0);
	return dev;
}

static struct blk_dev *crash_open(const char *path)
{
	struct blk_dev *dev = mem_open(path);

	assert_int_equal(blk_wrap_crash(dev, &dev), 0);
	return dev;
}

static struct blk_dev *stack_open(const char *path)
{
	struct blk_dev *dev = direct_open(path);

	assert_int_equal(blk_open_range(dev, 0, DEV_BYTES, &dev), 0);
	assert_int_equal(blk_wrap_crash(dev, &dev), 0);
	assert_int_equal(blk_wrap_fault(dev, &dev), 0);
	assert_int_equal(blk_wrap_stats(dev, &dev), 0);
	return dev;
}

static const struct kind kinds[] = {
	{"mem", mem_open, false},
	{"buffered", buffered_open, true},
	{"buffered, plain calls", buffered_plain_open, true},
	{"direct", direct_open, true},
	{"direct, plain calls", direct_plain_open, true},
	{"caller", caller_open, false},
	{"range", range_open, false},
	{"stats", stats_open, false},
	{"fault", fault_open, false},
	{"crash", crash_open, false},
	{"stack", stack_open, true},
};

/* ---- a device, its file, its shadow ------------------------------------ */

struct bench {
	const struct kind *kind;
	struct blk_dev *dev;
	uint8_t *shadow; /* DEV_BYTES */
	uint64_t rng;
};

/* One file for all, as making and removing them is the disk's slowest work;
 * what one test leaves there the next one finds. */
static char file_path[] = "blk-same-XXXXXX";

static int file_make(void **state)
{
	uint8_t tail[TAIL];
	int fd = mkstemp(file_path);

	(void)state;
	memset(tail, 0x77, sizeof(tail));
	if (fd < 0 || pwrite(fd, tail, TAIL, DEV_BYTES) != TAIL)
		return -1;
	return close(fd);
}

static int file_remove(void **state)
{
	(void)state;
	return unlink(file_path);
}

static void file_read(uint8_t *data)
{
	int fd = open(file_path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, data, DEV_BYTES, 0), DEV_BYTES);
	assert_int_equal(close(fd), 0);
}

/* Bytes that fill no sector are as they were, and the file has not grown. */
static void file_check_tail(void)
{
	uint8_t tail[2 * TAIL];
	int fd = open(file_path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, tail, sizeof(tail), DEV_BYTES), TAIL);
	for (int i = 0; i < TAIL; i++)
		assert_int_equal(tail[i], 0x77);
	assert_int_equal(close(fd), 0);
}

static void bench_open(struct bench *b, const struct kind *kind)
{
	*b = (struct bench){.kind = kind, .rng = test_seed()};
	b->shadow = calloc(1, DEV_BYTES);
	assert_non_null(b->shadow);
	if (kind->is_file)
		file_read(b->shadow);
	b->dev = kind->open(file_path);
	assert_int_equal(blk_geom(b->dev).bytes, DEV_BYTES);
	assert_int_equal(blk_geom(b->dev).sector_bytes, SECTOR);
	assert_false(blk_geom(b->dev).read_only);
}

static void bench_close(struct bench *b)
{
	uint8_t *all = malloc(DEV_BYTES);

	assert_non_null(all);
	assert_int_equal(blk_flush(b->dev), 0);
	assert_int_equal(blk_read(b->dev, 0, DEV_BYTES, all), 0);
	assert_memory_equal(all, b->shadow, DEV_BYTES);
	blk_close(b->dev);
	if (b->kind->is_file) {
		file_read(all);
		assert_memory_equal(all, b->shadow, DEV_BYTES);
		file_check_tail();
	}
	free(all);
	free(b->shadow);
}

/* ---- random requests --------------------------------------------------- */

enum { VECTORS = 5 };

/* A request with memory of its own, cut into vectors of any length. */
struct request {
	struct blk_io io;
	struct iovec iov[VECTORS];
	uint8_t *memory;
	_Atomic uint32_t done;
};

static void vectors_cut(struct request *r, uint64_t bytes, uint64_t *rng)
{
	/* Direct I/O sees aligned memory, and memory off by some bytes. */
	uint8_t *at = r->memory + (hash_next(rng) % 2) * (hash_next(rng) % 64);
	bool pages = hash_next(rng) % 2 == 0;
	uint64_t left = bytes;

	for (int i = 0; i < VECTORS; i++) {
		uint64_t piece = hash_next(rng) % (left + 1);

		if (pages)
			piece = piece / 4096 * 4096;
		if (i == VECTORS - 1)
			piece = left;
		r->iov[i] = (struct iovec){at, piece};
		at += piece;
		left -= piece;
	}
}

/* Pieces of odd length, so that no two sectors are alike. */
static void request_fill(struct request *r, uint64_t *rng)
{
	uint8_t *data = r->iov[0].iov_base;
	uint64_t at = 0;

	while (at < r->io.bytes) {
		uint64_t piece = 1 + hash_next(rng) % 400;

		if (piece > r->io.bytes - at)
			piece = r->io.bytes - at;
		memset(data + at, (int)(hash_next(rng) & 255), piece);
		at += piece;
	}
}

static void request_make(
	struct request *r, uint64_t first, uint64_t count, uint64_t *rng)
{
	static const enum blk_op ops[] = {BLK_READ, BLK_READ, BLK_READ,
		BLK_WRITE, BLK_WRITE, BLK_WRITE, BLK_WRITE_ZEROES, BLK_DISCARD};

	bool flush = hash_next(rng) % 128 == 0;

	r->io = (struct blk_io){
		.op = flush ? BLK_FLUSH : ops[hash_next(rng) % 8],
		.offset = first * SECTOR,
		.bytes = count * SECTOR,
		.iov = r->iov,
		.iov_count = VECTORS,
		.result = 1};
	r->memory = aligned_alloc(4096, (count * SECTOR + 8191) / 4096 * 4096);
	assert_non_null(r->memory);
	vectors_cut(r, r->io.bytes, rng);
	request_fill(r, rng);
}

/* What the request did, told to the shadow. */
static void request_settle(struct bench *b, struct request *r)
{
	const uint8_t *data = r->iov[0].iov_base;
	uint8_t *shadow = b->shadow + r->io.offset;

	assert_int_equal(r->io.result, 0);
	if (r->io.op == BLK_READ)
		assert_memory_equal(data, shadow, r->io.bytes);
	if (r->io.op == BLK_WRITE)
		memcpy(shadow, data, r->io.bytes);
	if (r->io.op == BLK_WRITE_ZEROES)
		memset(shadow, 0, r->io.bytes);
	/* Discarded sectors hold anything, until they are read. */
	if (r->io.op == BLK_DISCARD)
		assert_int_equal(
			blk_read(b->dev, r->io.offset, r->io.bytes, shadow), 0);
	free(r->memory);
}

/* Requests side by side, in order, sometimes neighbours, never on the same
 * sector. */
static unsigned requests_make(struct bench *b, struct request *list)
{
	uint64_t first = hash_next(&b->rng) % 64;
	unsigned count = 0;

	while (count < BATCH && first < SECTORS) {
		uint64_t sectors = 1 + hash_next(&b->rng) % 64;

		if (hash_next(&b->rng) % 2 == 0)
			sectors = 8 * (1 + sectors / 8);
		if (hash_next(&b->rng) % 2 == 0)
			first = (first + 7) / 8 * 8;
		if (first >= SECTORS)
			break;
		if (sectors > SECTORS - first)
			sectors = SECTORS - first;
		request_make(&list[count++], first, sectors, &b->rng);
		first += sectors;
		if (hash_next(&b->rng) % 3 == 0)
			first += hash_next(&b->rng) % 16;
	}
	return count;
}

static void test_blk_batches_match_shadow(void **state)
{
	static struct request list[BATCH];
	static struct blk_io ios[BATCH];
	struct bench b;

	bench_open(&b, *state);
	for (int round = 0; round < 8; round++) {
		unsigned count = requests_make(&b, list);

		for (unsigned i = 0; i < count; i++)
			ios[i] = list[i].io;
		assert_int_equal(blk_run(b.dev, ios, count), 0);
		for (unsigned i = 0; i < count; i++) {
			list[i].io.result = ios[i].result;
			request_settle(&b, &list[i]);
		}
	}
	bench_close(&b);
}

static void request_done(struct blk_io *io)
{
	struct request *r = io->owner;

	assert_int_equal(atomic_load(&r->done), 0);
	atomic_store(&r->done, 1);
	futex_wake_all(&r->done);
}

static void test_blk_submissions_match_shadow(void **state)
{
	static struct request list[BATCH];
	struct bench b;

	bench_open(&b, *state);
	for (int round = 0; round < 8; round++) {
		unsigned count = requests_make(&b, list);

		for (unsigned i = 0; i < count; i++) {
			list[i].io.done = request_done;
			list[i].io.owner = &list[i];
			atomic_store(&list[i].done, 0);
			blk_submit(b.dev, &list[i].io);
		}
		for (unsigned i = 0; i < count; i++) {
			while (atomic_load(&list[i].done) == 0)
				(void)futex_wait(
					&list[i].done, 0, FUTEX_FOREVER);
			request_settle(&b, &list[i]);
		}
	}
	bench_close(&b);
}

/* ---- threads ----------------------------------------------------------- */

struct worker {
	struct bench *bench;
	uint64_t rng;
	unsigned index;
	bool failed;
};

/* Each thread has sectors of its own, and shares pages with the others. */
static bool worker_step(struct worker *w)
{
	struct bench *b = w->bench;
	uint64_t slot = hash_next(&w->rng) % (SECTORS / 16 / THREADS);
	uint64_t first = (slot * THREADS + w->index) * 16;
	uint64_t count = 1 + hash_next(&w->rng) % 16;
	uint8_t *shadow = b->shadow + first * SECTOR;
	uint64_t bytes = count * SECTOR;
	_Alignas(4096) uint8_t data[16 * SECTOR];

	switch (hash_next(&w->rng) % 4) {
	case 0:
		memset(shadow, (int)(hash_next(&w->rng) & 255), bytes);
		memcpy(data, shadow, bytes);
		return blk_write(b->dev, first * SECTOR, bytes, data) == 0;
	case 1:
		memset(shadow, 0, bytes);
		return blk_write_zeroes(b->dev, first * SECTOR, bytes) == 0;
	case 2:
		return hash_next(&w->rng) % 64 != 0 || blk_flush(b->dev) == 0;
	default:
		return blk_read(b->dev, first * SECTOR, bytes, data) == 0 &&
		       memcmp(data, shadow, bytes) == 0;
	}
}

static void *worker_body(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < ROUNDS && !w->failed; i++)
		w->failed = !worker_step(w);
	return NULL;
}

static void test_blk_threads_match_shadow(void **state)
{
	pthread_t threads[THREADS];
	struct worker workers[THREADS];
	struct bench b;

	bench_open(&b, *state);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){
			.bench = &b, .index = i, .rng = hash_next(&b.rng)};
		assert_int_equal(pthread_create(&threads[i], NULL, worker_body,
					 &workers[i]),
			0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_false(workers[i].failed);
	}
	bench_close(&b);
}

int main(void)
{
	static const struct {
		const char *name;
		CMUnitTestFunction body;
	} bodies[] = {
		{"test_blk_batches_match_shadow",
			test_blk_batches_match_shadow},
		{"test_blk_submissions_match_shadow",
			test_blk_submissions_match_shadow},
		{"test_blk_threads_match_shadow",
			test_blk_threads_match_shadow},
	};

	enum { KINDS = ARRAY_COUNT(kinds), BODIES = ARRAY_COUNT(bodies) };
	struct CMUnitTest tests[KINDS * BODIES];
	static char names[KINDS * BODIES][96];

	for (int i = 0; i < KINDS * BODIES; i++) {
		const struct kind *kind = &kinds[i / BODIES];

		(void)snprintf(names[i], sizeof(names[i]), "%s: %s",
			bodies[i % BODIES].name, kind->name);
		tests[i] = (struct CMUnitTest){.name = names[i],
			.test_func = bodies[i % BODIES].body,
			.initial_state = (void *)kind};
	}
	return cmocka_run_group_tests(tests, file_make, file_remove);
}
