/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * P1 to P4 of pages.h, on files whose bytes say which file and which place
 * they are, scattered over a device.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../cmocka_all.h"
#include "base/assert.h"
#include "base/hash.h"
#include "blk/layers.h"
#include "cache/pages.h"

enum { FILE_BLOCKS = 400, FILES = 4, ARENA = 1 << 20 };

/*
 * Block @index of file @n lies at device block place(n, index): neighbours for
 * runs of sixteen, every tenth block a hole, and the first one of file 3 in
 * memory.
 */
struct file {
	struct pages pages;
	_Atomic uint64_t size;
	uint32_t number;
	_Atomic uint32_t generation; /* moves all blocks */
	_Atomic int error;
	uint32_t block;
	const void *inline_data;
};

static uint64_t place(const struct file *f, uint64_t index)
{
	uint64_t run = index / 16;
	uint64_t slot =
		(run * 7 + f->number + 4 * atomic_load(&f->generation)) % 32;

	return (f->number * 32 + slot) * 16 + index % 16;
}

static bool is_hole(uint64_t index)
{
	return index % 10 == 9;
}

static int file_map(struct pages *p, uint64_t offset, struct pages_run *out)
{
	struct file *f = CONTAINER_OF(p, struct file, pages);
	uint64_t index = offset / f->block;
	uint64_t blocks = 1;

	if (atomic_load(&f->error) != 0)
		return atomic_load(&f->error);
	if (f->inline_data != NULL) {
		*out = (struct pages_run){PAGES_MEMORY, 11, 0, f->inline_data};
		return 0;
	}
	if (is_hole(index)) {
		*out = (struct pages_run){PAGES_ZERO, f->block, 0, NULL};
		return 0;
	}
	while ((index + blocks) % 16 != 0 && !is_hole(index + blocks))
		blocks++;
	*out = (struct pages_run){PAGES_DEVICE, blocks * f->block,
		place(f, index) * f->block, NULL};
	return 0;
}

static const struct pages_ops file_ops = {.map = file_map};

/* The byte that the device holds at @offset. */
static unsigned char device_byte(uint64_t offset)
{
	return (unsigned char)(hash_u64(offset / 8) >> (offset % 8 * 8));
}

static unsigned char file_byte(const struct file *f, uint64_t offset)
{
	uint64_t index = offset / f->block;

	if (is_hole(index))
		return 0;
	return device_byte(place(f, index) * f->block + offset % f->block);
}

struct world {
	struct blk_dev *dev;
	struct cache *cache;
	struct file file[FILES];
	uint32_t block;
};

static void world_open(struct world *w, uint32_t block)
{
	struct cache_opts opts = {.bytes = ARENA, .block_bytes = block};
	uint64_t bytes = (uint64_t)FILES * 32 * 16 * block;
	unsigned char *all = malloc(bytes);

	memset(w, 0, sizeof(*w));
	w->block = block;
	assert_non_null(all);
	for (uint64_t i = 0; i < bytes; i++)
		all[i] = device_byte(i);
	assert_int_equal(blk_open_mem(bytes, &w->dev), 0);
	assert_int_equal(blk_write(w->dev, 0, bytes, all), 0);
	free(all);
	assert_int_equal(blk_wrap_stats(w->dev, &w->dev), 0);
	if (opts.bytes < 64ULL * block)
		opts.bytes = 64ULL * block;
	assert_int_equal(cache_open(w->dev, &opts, &w->cache), 0);
	for (uint32_t i = 0; i < FILES; i++) {
		w->file[i].number = i;
		w->file[i].block = block;
		w->file[i].size = (uint64_t)FILE_BLOCKS * block - 5;
		pages_init(&w->file[i].pages, w->cache, &file_ops);
	}
}

static void world_close(struct world *w)
{
	for (uint32_t i = 0; i < FILES; i++)
		pages_fini(&w->file[i].pages);
	cache_close(w->cache);
	blk_close(w->dev);
}

/* Read and compare every byte; the number of bytes, or the error. */
static int64_t read_checked(struct file *f, struct pages_ahead *ahead,
	uint64_t offset, size_t bytes)
{
	unsigned char *to = malloc(bytes);
	size_t done = 0;
	int err;

	CHECK(to != NULL);
	err = pages_read(&f->pages, &f->size, ahead, offset, bytes, to, &done);
	for (size_t i = 0; err == 0 && i < done; i++)
		if (to[i] != file_byte(f, offset + i))
			err = -EIO;
	free(to);
	return err != 0 ? err : (int64_t)done;
}

static void any_block_size(void (*body)(struct world *w))
{
	for (uint32_t block = 1024; block <= 65536; block *= 4) {
		struct world w;

		world_open(&w, block);
		body(&w);
		world_close(&w);
	}
}

static void places_body(struct world *w)
{
	struct file *f = &w->file[1];
	uint64_t size = atomic_load(&f->size);

	assert_int_equal(read_checked(f, NULL, 0, 1), 1);
	assert_int_equal(read_checked(f, NULL, 3, 20000), 20000);
	assert_int_equal(read_checked(f, NULL, size - 7, 100), 7);
	assert_int_equal(read_checked(f, NULL, size, 100), 0);
	assert_int_equal(read_checked(f, NULL, size + 5 * w->block, 1), 0);
	assert_int_equal(read_checked(f, NULL, 9ULL * w->block - 3, 6), 6);
	atomic_store(&f->size, 10);
	assert_int_equal(read_checked(f, NULL, 0, 100), 10);
}

static void test_pages_p1_bytes_are_the_files(void **state)
{
	(void)state;
	any_block_size(places_body);
}

static void inline_body(struct world *w)
{
	struct file *f = &w->file[3];
	char text[32];
	size_t done;

	f->inline_data = "hello world";
	atomic_store(&f->size, 20);
	assert_int_equal(pages_read(&f->pages, &f->size, NULL, 4, sizeof(text),
				 text, &done),
		0);
	assert_int_equal(done, 16);
	assert_memory_equal(text, "o world\0\0\0\0\0\0\0\0\0", 16);
}

static void test_pages_memory_runs_end_in_zeroes(void **state)
{
	(void)state;
	any_block_size(inline_body);
}

/* P2, and readahead: a sequential reader asks in few large requests. */
static void test_pages_p2_sequential_reads_in_large_runs(void **state)
{
	struct pages_ahead ahead = {0};
	struct blk_stats stats;
	struct world w;
	struct file *f;
	uint64_t at = 0;

	(void)state;
	world_open(&w, 1024);
	f = &w.file[0];
	while (at < atomic_load(&f->size))
		at += (uint64_t)read_checked(f, &ahead, at, 100);
	blk_stats_read(w.dev, &stats);
	/* No byte twice; a request per run of neighbours that no hole cuts. */
	assert_in_range(stats.bytes[BLK_READ], 1, FILE_BLOCKS * 1024);
	assert_true(
		stats.ops[BLK_READ] <= FILE_BLOCKS / 16 + FILE_BLOCKS / 10 + 2);
	for (at = 0; at < atomic_load(&f->size); at += 5000)
		assert_true(read_checked(f, NULL, at, 5000) > 0);
	{
		struct blk_stats again;

		blk_stats_read(w.dev, &again);
		assert_int_equal(again.ops[BLK_READ], stats.ops[BLK_READ]);
	}
	world_close(&w);
}

static void test_pages_errors_are_not_cached(void **state)
{
	struct world w;
	struct file *f;

	(void)state;
	world_open(&w, 4096);
	f = &w.file[2];
	atomic_store(&f->error, -EUCLEAN);
	assert_int_equal(read_checked(f, NULL, 0, 10), -EUCLEAN);
	atomic_store(&f->error, 0);
	assert_int_equal(read_checked(f, NULL, 0, 10), 10);
	world_close(&w);
}

/* P4: after a drop, only what the new map says. */
static void test_pages_p4_drop_leaves_nothing_old(void **state)
{
	struct world w;
	struct file *f;

	(void)state;
	world_open(&w, 4096);
	f = &w.file[1];
	assert_int_equal(read_checked(f, NULL, 0, 65536), 65536);
	atomic_fetch_add(&f->generation, 1);
	pages_drop(&f->pages, 0, UINT64_MAX);
	assert_int_equal(read_checked(f, NULL, 0, 65536), 65536);
	world_close(&w);
}

/* ---- large files ---------------------------------------------------------------- */

/* How many bytes the device has been asked for by reading a block at each
 * power of two of a file without end. */
static uint64_t read_powers(struct world *w, struct file *f)
{
	struct blk_stats before;
	struct blk_stats after;

	blk_stats_read(w->dev, &before);
	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(read_checked(f, NULL, UINT64_C(1) << i, 1), 1);
	blk_stats_read(w->dev, &after);
	return after.bytes[BLK_READ] - before.bytes[BLK_READ];
}

/* Blocks that lie far apart are found again, and dropped by their range, in
 * time that does not depend on how far apart they are. */
static void test_pages_sparse_blocks_are_found_and_dropped(void **state)
{
	struct world w;
	struct file *f;

	(void)state;
	world_open(&w, 4096);
	f = &w.file[1];
	atomic_store(&f->size, UINT64_C(1) << 51);
	/* The first twelve are of block 0. */
	assert_int_equal(read_powers(&w, f), 39 * 4096);
	assert_int_equal(read_powers(&w, f), 0);
	cache_assert(w.cache);
	pages_drop(&f->pages, UINT64_C(1) << 20,
		(UINT64_C(1) << 40) - (UINT64_C(1) << 20));
	cache_assert(w.cache);
	assert_int_equal(read_powers(&w, f), 20 * 4096);
	pages_drop(&f->pages, 0, 1);
	assert_int_equal(read_powers(&w, f), 4096);
	pages_drop(&f->pages, 0, UINT64_MAX);
	assert_int_equal(atomic_load(&f->pages.root), 0);
	assert_int_equal(read_powers(&w, f), 39 * 4096);
	world_close(&w);
}

/* Who is read again and again outlives, in a cache that is too small, those
 * that are read once. */
static void test_pages_eviction_spares_what_is_looked_at(void **state)
{
	struct blk_stats before;
	struct blk_stats after;
	struct world w;
	struct file *f;
	uint64_t again = 0;

	(void)state;
	world_open(&w, 4096);
	f = &w.file[0];
	assert_int_equal(read_checked(&w.file[1], NULL, 0, 10), 10);
	for (uint64_t i = 0; i < 4 * FILE_BLOCKS; i++) {
		assert_int_equal(
			read_checked(f, NULL, i % (FILE_BLOCKS - 1) * 4096, 10),
			10);
		blk_stats_read(w.dev, &before);
		assert_int_equal(read_checked(&w.file[1], NULL, 0, 10), 10);
		blk_stats_read(w.dev, &after);
		again += after.ops[BLK_READ] - before.ops[BLK_READ];
	}
	/* A sweep that takes all marks may meet it once between two looks; by
	 * age alone it would go with each turn of the cache. */
	assert_true(again <= 2);
	world_close(&w);
}

/* ---- all at once ---------------------------------------------------------------- */

enum { READERS = 6, READS = 600 };

struct racer {
	struct world *w;
	uint64_t random;
	uint32_t wrong;
};

/* Files 0 and 1 stay as they are: every byte must be right.  The arena holds
 * a part of them, so eviction works all the time. */
static void *race_read(void *arg)
{
	struct racer *r = arg;
	struct pages_ahead ahead = {0};

	for (int i = 0; i < READS; i++) {
		struct file *f = &r->w->file[hash_next(&r->random) % 2];
		uint64_t at = hash_next(&r->random) %
			      (FILE_BLOCKS * (uint64_t)r->w->block - 30000);

		r->wrong += read_checked(f, &ahead, at, 20000) != 20000;
	}
	return NULL;
}

/* File 2 moves; once its drop has returned, only the new place counts. */
static void *race_drop(void *arg)
{
	struct racer *r = arg;
	struct file *f = &r->w->file[2];

	for (int i = 0; i < READS / 4; i++) {
		atomic_fetch_add(&f->generation, 1);
		pages_drop(&f->pages, 0, UINT64_MAX);
		r->wrong += read_checked(f, NULL, 0, 40000) != 40000;
	}
	return NULL;
}

/* Reads of the file that moves: any bytes, but no harm. */
static void *race_disturb(void *arg)
{
	struct racer *r = arg;
	struct file *f = &r->w->file[2];
	char to[9000];
	size_t done;

	for (int i = 0; i < READS; i++)
		r->wrong += pages_read(&f->pages, &f->size, NULL,
				    hash_next(&r->random) % 40000, sizeof(to),
				    to, &done) != 0;
	return NULL;
}

static void test_pages_reads_race_eviction_and_drops(void **state)
{
	struct racer racer[READERS + 2];
	pthread_t thread[READERS + 2];
	struct cache_stats stats;
	struct world w;

	(void)state;
	world_open(&w, 4096);
	for (uint32_t i = 0; i < READERS + 2; i++) {
		void *(*body)(void *) = i < READERS    ? race_read
					: i == READERS ? race_drop
						       : race_disturb;

		racer[i] = (struct racer){.w = &w, .random = i};
		assert_int_equal(
			pthread_create(&thread[i], NULL, body, &racer[i]), 0);
	}
	for (uint32_t i = 0; i < READERS + 2; i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		assert_int_equal(racer[i].wrong, 0);
	}
	cache_stats_read(w.cache, &stats);
	assert_true(stats.evicted > 0);
	assert_true(stats.peak_bytes <= ARENA);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages_p1_bytes_are_the_files),
		cmocka_unit_test(test_pages_memory_runs_end_in_zeroes),
		cmocka_unit_test(test_pages_p2_sequential_reads_in_large_runs),
		cmocka_unit_test(test_pages_errors_are_not_cached),
		cmocka_unit_test(test_pages_p4_drop_leaves_nothing_old),
		cmocka_unit_test(
			test_pages_sparse_blocks_are_found_and_dropped),
		cmocka_unit_test(test_pages_eviction_spares_what_is_looked_at),
		cmocka_unit_test(test_pages_reads_race_eviction_and_drops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
