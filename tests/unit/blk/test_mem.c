/* SPDX-License-Identifier: BSD-2-Clause */
/* The sparse store: holes, copies, zeroing, threads in one page. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "../seed.h"
#include "base/hash.h"
#include "blk/blk.h"
#include "blk/mem_store.h"

enum { SMALL = 64 * 1024, PAGE = 4096, THREADS = 8 };

#define SECTOR UINT64_C(512)

static uint64_t resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	char line[128];
	char *at;

	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	assert_int_equal(fclose(f), 0);
	at = strchr(line, ' '); /* after the total comes what is resident */
	assert_non_null(at);
	return strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void test_mem_terabytes_cost_nothing_until_written(void **state)
{
	const uint64_t tib = UINT64_C(1) << 40;
	uint64_t before = resident_bytes();
	struct blk_dev *dev = NULL;
	uint8_t data[PAGE];
	uint8_t back[PAGE];

	(void)state;
	memset(data, 0x5a, sizeof(data));
	assert_int_equal(blk_open_mem(4096 * tib, &dev), 0);
	for (uint64_t at = 0; at < 4096 * tib; at += 64 * tib) {
		assert_int_equal(blk_write(dev, at, sizeof(data), data), 0);
		assert_int_equal(blk_read(dev, at, sizeof(back), back), 0);
		assert_memory_equal(back, data, sizeof(back));
		assert_int_equal(
			blk_read(dev, at + PAGE, sizeof(back), back), 0);
		assert_int_equal(back[0] | back[PAGE - 1], 0);
	}
	assert_int_equal(blk_discard(dev, 0, 4096 * tib), 0);
	assert_int_equal(blk_write_zeroes(dev, 0, 4096 * tib), 0);
	assert_int_equal(blk_read(dev, 64 * tib, sizeof(back), back), 0);
	assert_int_equal(back[0] | back[PAGE - 1], 0);
	assert_true(resident_bytes() - before < 64 << 20);
	blk_close(dev);
}

/* Random writes and zeroings against an array, in a store and its child. */
struct shadow {
	struct mem_store *store;
	uint8_t bytes[SMALL];
};

static void shadow_step(struct shadow *s, uint64_t *rng)
{
	uint64_t at = hash_next(rng) % (SMALL / SECTOR);
	uint64_t count = 1 + hash_next(rng) % 24;
	uint8_t data[24 * SECTOR];
	uint8_t back[24 * SECTOR];

	if (count > SMALL / SECTOR - at)
		count = SMALL / SECTOR - at;
	at *= SECTOR;
	count *= SECTOR;
	if (hash_next(rng) % 3 == 0) {
		memset(s->bytes + at, 0, count);
		assert_int_equal(mem_store_zero(s->store, at, count), 0);
	} else {
		memset(data, (int)(hash_next(rng) & 0xff), count);
		memcpy(s->bytes + at, data, count);
		assert_int_equal(mem_store_write(s->store, at, count, data), 0);
	}
	mem_store_read(s->store, at, count, back);
	assert_memory_equal(back, s->bytes + at, count);
}

static void shadow_compare(const struct shadow *s)
{
	static uint8_t back[SMALL];

	mem_store_read(s->store, 0, SMALL, back);
	assert_memory_equal(back, s->bytes, SMALL);
}

static void test_mem_store_child_and_clone_match_shadows(void **state)
{
	static struct shadow parent;
	static struct shadow child;
	static struct shadow copy;
	uint64_t rng = test_seed();

	(void)state;
	for (int round = 0; round < 30; round++) {
		memset(parent.bytes, 0, SMALL);
		assert_int_equal(mem_store_new(SMALL, NULL, &parent.store), 0);
		for (int i = 0; i < 40; i++)
			shadow_step(&parent, &rng);
		memcpy(child.bytes, parent.bytes, SMALL);
		assert_int_equal(
			mem_store_new(SMALL, parent.store, &child.store), 0);
		shadow_compare(&child);
		assert_false(mem_store_is_mine(parent.store));
		for (int i = 0; i < 40; i++)
			shadow_step(&child, &rng);
		shadow_compare(&parent);
		memcpy(copy.bytes, child.bytes, SMALL);
		assert_int_equal(mem_store_clone(child.store, &copy.store), 0);
		shadow_compare(&copy);
		for (int i = 0; i < 40; i++)
			shadow_step(&copy, &rng);
		shadow_compare(&child);
		mem_store_put(child.store);
		shadow_compare(&copy);
		mem_store_put(copy.store);
		assert_true(mem_store_is_mine(parent.store));
		mem_store_put(parent.store);
	}
}

static void test_mem_discard_frees_memory(void **state)
{
	const uint64_t bytes = 64 << 20;
	struct blk_dev *dev = NULL;
	uint8_t *data = malloc(1 << 20);
	size_t used;

	(void)state;
	assert_non_null(data);
	memset(data, 1, 1 << 20);
	assert_int_equal(blk_open_mem(bytes, &dev), 0);
	used = mallinfo2().uordblks;
	for (uint64_t at = 0; at < bytes; at += 1 << 20)
		assert_int_equal(blk_write(dev, at, 1 << 20, data), 0);
	assert_int_equal(blk_discard(dev, 0, bytes), 0);
	/* Sanitizers bring an allocator that does not say. */
	if (used != 0)
		assert_true(mallinfo2().uordblks < used + (1 << 20));
	blk_close(dev);
	free(data);
}

struct crowd {
	pthread_barrier_t start;
	struct blk_dev *dev;
	_Atomic int next;
};

/* Each thread owns one sector of every page. */
static void *crowd_body(void *arg)
{
	struct crowd *crowd = arg;
	int me = atomic_fetch_add(&crowd->next, 1);
	uint8_t data[SECTOR];
	uint8_t back[SECTOR];
	int bad = 0;

	memset(data, me + 1, sizeof(data));
	(void)pthread_barrier_wait(&crowd->start);
	for (uint64_t page = 0; page < 512; page++) {
		uint64_t at = page * 7 * PAGE + me * SECTOR;

		bad |= blk_write(crowd->dev, at, SECTOR, data);
		bad |= blk_read(crowd->dev, at, SECTOR, back);
		bad |= memcmp(data, back, SECTOR) != 0;
		if (page % 3 == 0)
			bad |= blk_write_zeroes(crowd->dev, at, SECTOR);
	}
	return bad != 0 ? crowd : NULL;
}

static void test_mem_threads_meet_in_fresh_pages(void **state)
{
	pthread_t threads[THREADS];
	struct crowd crowd = {.next = 0};
	uint8_t page[PAGE];

	(void)state;
	assert_int_equal(blk_open_mem(UINT64_C(1) << 40, &crowd.dev), 0);
	assert_int_equal(pthread_barrier_init(&crowd.start, NULL, THREADS), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, crowd_body, &crowd),
			0);
	for (int i = 0; i < THREADS; i++) {
		void *bad;

		assert_int_equal(pthread_join(threads[i], &bad), 0);
		assert_null(bad);
	}
	for (uint64_t n = 0; n < 512; n++) {
		assert_int_equal(
			blk_read(crowd.dev, n * 7 * PAGE, PAGE, page), 0);
		for (int i = 0; i < PAGE; i += SECTOR)
			assert_int_equal(
				page[i], n % 3 == 0 ? 0 : i / SECTOR + 1);
	}
	assert_int_equal(pthread_barrier_destroy(&crowd.start), 0);
	blk_close(crowd.dev);
}

static void test_mem_freeze_keeps_the_past(void **state)
{
	struct blk_dev *dev = NULL;
	struct blk_dev *other = NULL;
	struct mem_store *past = NULL;
	uint8_t data[SECTOR];
	uint8_t back[SECTOR];

	(void)state;
	memset(data, 1, sizeof(data));
	assert_int_equal(blk_open_mem(SMALL, &dev), 0);
	assert_int_equal(blk_write(dev, 0, SECTOR, data), 0);
	assert_int_equal(blk_mem_freeze(dev, &past), 0);
	memset(data, 2, sizeof(data));
	assert_int_equal(blk_read(dev, 0, SECTOR, back), 0);
	assert_int_equal(back[0], 1);
	assert_int_equal(blk_write(dev, 0, SECTOR, data), 0);
	assert_int_equal(blk_discard(dev, 0, PAGE), 0);
	assert_int_equal(blk_write(dev, SECTOR, SECTOR, data), 0);
	blk_close(dev);
	assert_int_equal(blk_open_store(past, SECTOR, &other), 0);
	assert_int_equal(blk_read(other, 0, SECTOR, back), 0);
	assert_int_equal(back[0], 1);
	assert_int_equal(blk_read(other, SECTOR, SECTOR, back), 0);
	assert_int_equal(back[0], 0);
	blk_close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mem_terabytes_cost_nothing_until_written),
		cmocka_unit_test(test_mem_store_child_and_clone_match_shadows),
		cmocka_unit_test(test_mem_discard_frees_memory),
		cmocka_unit_test(test_mem_threads_meet_in_fresh_pages),
		cmocka_unit_test(test_mem_freeze_keeps_the_past),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
