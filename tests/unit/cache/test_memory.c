/* SPDX-License-Identifier: BSD-2-Clause */
/* Bounded memory: eviction, waiting for it, reservations, fragments. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cpu.h"
#include "cache/cache_int.h"
#include "kit.h"

enum { PINS_MAX = 256 };

struct pins {
	struct buf *bufs[PINS_MAX];
	uint32_t count;
};

/* Pin block after block until there is no memory. */
static void pin_all(struct kit *k, struct pins *p)
{
	int err = 0;

	p->count = 0;
	while (p->count < PINS_MAX) {
		err = cache_get(k->cache, p->count, NULL, &p->bufs[p->count]);
		if (err != 0)
			break;
		p->count++;
	}
	assert_int_equal(err, -ENOMEM);
}

static void unpin_all(struct pins *p)
{
	while (p->count > 0)
		buf_put(p->bufs[--p->count]);
}

/* A cache that does not wait for long while all is pinned. */
static void open_impatient(struct kit *k)
{
	struct cache_opts opts = {
		.bytes = 64 * 65536, .block_bytes = 65536, .patience_ms = 60};

	kit_open_with(k, &opts, 200);
}

/* ---- eviction ----------------------------------------------------------- */

/* C4 */
static void test_cache_memory_is_bounded_for_each_size(void **state)
{
	struct kit k;

	(void)state;
	for (uint32_t size = 1024; size <= 65536; size *= 2) {
		uint64_t bytes = size * 64 > 1 << 20 ? size * 64 : 1 << 20;
		blk_no blocks = 10 * bytes / size;

		kit_open(&k, size, 64, blocks);
		for (blk_no n = 0; n < blocks; n++) {
			struct buf *b = kit_get(&k, n);

			memset(b->data, 1, size);
			buf_put(b);
		}
		assert_true(kit_stats(&k).peak_bytes <= bytes);
		assert_true(kit_stats(&k).used_bytes <= bytes);
		assert_true(kit_stats(&k).evicted >= blocks - bytes / size);
		kit_close(&k);
	}
}

/* Sanitizers have memory of their own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifndef SANITIZED
static uint64_t resident_bytes(void)
{
	/* The size, then what of it is resident, in pages. */
	char text[128];
	char *at = text;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	(void)fclose(f);
	(void)strtoull(at, &at, 10);
	return strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void test_cache_process_stays_as_small_as_its_arena(void **state)
{
	const uint64_t arena = 8 << 20;
	uint64_t before = resident_bytes();
	struct kit k;

	(void)state;
	kit_open(&k, 4096, arena / 4096, 30000);
	for (blk_no n = 0; n < 30000; n++)
		buf_put(kit_get(&k, n));
	assert_true(resident_bytes() < before + arena + (4 << 20));
	kit_close(&k);
}
#else
static void test_cache_process_stays_as_small_as_its_arena(void **state)
{
	(void)state;
	skip_because("sanitizers need memory of their own");
}
#endif

/* C2 */
static void test_cache_pinned_buffers_stay(void **state)
{
	struct buf *pinned[20];
	struct kit k;

	(void)state;
	kit_open(&k, 16384, 64, 700);
	kit_write_raw(&k, 0, 700, 4);
	for (blk_no n = 0; n < 20; n++)
		pinned[n] = kit_get(&k, n * 3);
	for (blk_no n = 0; n < 700; n++)
		buf_put(kit_get(&k, n));
	for (blk_no n = 0; n < 20; n++) {
		assert_int_equal(pinned[n]->block, n * 3);
		assert_int_equal(kit_version(pinned[n]->data, 16384, n * 3), 4);
		assert_ptr_equal(kit_get(&k, n * 3), pinned[n]);
		buf_put(pinned[n]);
		buf_put(pinned[n]);
	}
	kit_close(&k);
}

static void test_cache_hot_blocks_survive_a_scan(void **state)
{
	struct cache_stats before;
	struct kit k;

	(void)state;
	kit_open(&k, 16384, 64, 2000);
	for (int i = 0; i < 2; i++) {
		for (blk_no n = 0; n < 8; n++)
			buf_put(kit_get(&k, n));
	}
	before = kit_stats(&k);
	for (blk_no n = 8; n < 1008; n++) {
		buf_put(kit_get(&k, n));
		buf_put(kit_get(&k, n % 8));
	}
	assert_int_equal(kit_stats(&k).misses - before.misses, 1000);
	kit_close(&k);
}

/* ---- waiting ------------------------------------------------------------ */

static void test_cache_all_pinned_enomem_until_a_put(void **state)
{
	struct pins pins;
	struct buf *b;
	struct kit k;

	(void)state;
	open_impatient(&k);
	pin_all(&k, &pins);
	assert_in_range(pins.count, 55, 64);
	assert_true(kit_stats(&k).memory_waits > 0);
	/* What is cached needs no memory. */
	buf_put(kit_get(&k, 0));
	assert_int_equal(cache_get(k.cache, 150, NULL, &b), -ENOMEM);
	buf_put(pins.bufs[--pins.count]);
	buf_put(kit_get(&k, 150));
	unpin_all(&pins);
	kit_close(&k);
}

static void *put_later(void *arg)
{
	usleep(30000);
	buf_put(arg);
	return NULL;
}

static void test_cache_get_waits_for_a_put(void **state)
{
	struct pins pins;
	pthread_t thread;
	struct kit k;

	(void)state;
	open_impatient(&k);
	pin_all(&k, &pins);
	assert_int_equal(pthread_create(&thread, NULL, put_later,
				 pins.bufs[--pins.count]),
		0);
	buf_put(kit_get(&k, 199));
	assert_int_equal(pthread_join(thread, NULL), 0);
	unpin_all(&pins);
	kit_close(&k);
}

static void test_cache_operations_have_memory_of_their_own(void **state)
{
	struct pins pins;
	struct buf *b;
	struct kit k;

	(void)state;
	open_impatient(&k);
	pin_all(&k, &pins);
	cache_ops_open++;
	b = kit_get(&k, 150);
	cache_ops_open--;
	buf_put(b);
	unpin_all(&pins);
	kit_close(&k);
}

/* Nothing is clean, and dirty blocks cannot go home: no hang, no loss. */
static void test_cache_broken_device_enomem_then_recovers(void **state)
{
	struct buf *b = NULL;
	blk_no n = 0;
	struct kit k;

	(void)state;
	open_impatient(&k);
	kit_fail(&k, BLK_WRITE, 1, UINT64_MAX, -EIO);
	while (cache_get_new(k.cache, n, &b) == 0) {
		kit_change(&k, b, 5);
		buf_put(b);
		n++;
		assert_true(n < 100);
	}
	cache_ops_open++;
	while (cache_get(k.cache, n, NULL, &b) == 0) {
		kit_change(&k, b, 5);
		buf_put(b);
		n++;
		assert_true(n < 100);
	}
	cache_ops_open--;
	assert_int_equal(cache_sync(k.cache), -EIO);
	blk_fault_disarm(k.dev);
	assert_int_equal(cache_sync(k.cache), 0);
	while (n-- > 0)
		assert_int_equal(kit_read_raw(&k, n), 5);
	buf_put(kit_get(&k, 199));
	kit_close(&k);
}

/* ---- reservations ------------------------------------------------------- */

static void test_cache_reserved_copies_never_fail(void **state)
{
	struct pins pins;
	char *copies[20];
	struct kit k;

	(void)state;
	open_impatient(&k);
	assert_int_equal(cache_reserve(k.cache, 12), 0);
	assert_int_equal(cache_reserve(k.cache, 8), 0);
	pin_all(&k, &pins);
	assert_in_range(pins.count, 35, 44);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 20; i++) {
			copies[i] = cache_copy_alloc(k.cache);
			assert_non_null(copies[i]);
			memset(copies[i], i, 65536);
		}
		assert_null(cache_copy_alloc(k.cache));
		for (int i = 0; i < 20; i++) {
			assert_int_equal(copies[i][0], i);
			assert_int_equal(copies[i][65535], i);
			cache_copy_free(k.cache, copies[i]);
		}
	}
	cache_unreserve(k.cache, 20);
	assert_null(cache_copy_alloc(k.cache));
	unpin_all(&pins);
	kit_close(&k);
}

static void test_cache_reserve_waits_for_eviction(void **state)
{
	struct kit k;

	(void)state;
	open_impatient(&k);
	for (blk_no n = 0; n < 200; n++)
		buf_put(kit_get(&k, n));
	assert_int_equal(cache_reserve(k.cache, 32), 0);
	assert_int_equal(cache_reserve(k.cache, 1), -ENOMEM);
	cache_unreserve(k.cache, 32);
	kit_close(&k);
}

static void test_cache_reserve_too_much_enomem_takes_nothing(void **state)
{
	struct pins pins;
	struct kit k;

	(void)state;
	open_impatient(&k);
	assert_int_equal(cache_reserve(k.cache, 33), -ENOMEM);
	assert_int_equal(cache_reserve(k.cache, UINT64_MAX), -ENOMEM);
	assert_null(cache_copy_alloc(k.cache));
	pin_all(&k, &pins);
	buf_put(pins.bufs[--pins.count]);
	assert_int_equal(cache_reserve(k.cache, 10), -ENOMEM);
	assert_null(cache_copy_alloc(k.cache));
	unpin_all(&pins);
	kit_close(&k);
}

static void test_cache_unreserved_copy_returns_to_the_arena(void **state)
{
	void *copies[4];
	struct kit k;

	(void)state;
	open_impatient(&k);
	assert_int_equal(cache_reserve(k.cache, 4), 0);
	for (int i = 0; i < 4; i++)
		copies[i] = cache_copy_alloc(k.cache);
	cache_unreserve(k.cache, 3);
	for (int i = 0; i < 4; i++)
		cache_copy_free(k.cache, copies[i]);
	copies[0] = cache_copy_alloc(k.cache);
	assert_non_null(copies[0]);
	assert_null(cache_copy_alloc(k.cache));
	cache_copy_free(k.cache, copies[0]);
	cache_unreserve(k.cache, 1);
	kit_close(&k);
}

static _Thread_local uint32_t pretend_cpu;

static uint32_t pretended_cpu(void)
{
	return pretend_cpu;
}

enum { COPIERS = 4, COPIES_EACH = 3, COPY_ROUNDS = 3000 };

struct copier {
	struct kit *kit;
	uint32_t number;
	int missed;
};

static void *copy_often(void *arg)
{
	struct copier *me = arg;
	struct cache *c = me->kit->cache;

	for (uint32_t i = 0; i < COPY_ROUNDS; i++) {
		void *copies[COPIES_EACH];

		pretend_cpu = (me->number + i) % COPIERS;
		for (int j = 0; j < COPIES_EACH; j++) {
			copies[j] = cache_copy_alloc(c);
			me->missed += copies[j] == NULL;
		}
		pretend_cpu = (me->number + i * 7) % COPIERS;
		for (int j = 0; j < COPIES_EACH; j++) {
			if (copies[j] != NULL)
				cache_copy_free(c, copies[j]);
		}
	}
	return NULL;
}

/* Each thread stays within its part; memory wanders between CPUs. */
static void test_cache_reserved_copies_never_fail_any_thread(void **state)
{
	struct copier copiers[COPIERS];
	pthread_t threads[COPIERS];
	struct kit k;

	(void)state;
	cpu_override(pretended_cpu, COPIERS);
	kit_open(&k, 16384, 128, 2000);
	assert_int_equal(cache_reserve(k.cache, COPIERS * COPIES_EACH), 0);
	for (uint32_t i = 0; i < COPIERS; i++) {
		copiers[i] = (struct copier){&k, i, 0};
		assert_int_equal(pthread_create(&threads[i], NULL, copy_often,
					 &copiers[i]),
			0);
	}
	for (blk_no n = 0; n < 2000; n++)
		buf_put(kit_get(&k, n));
	for (uint32_t i = 0; i < COPIERS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(copiers[i].missed, 0);
	}
	cache_unreserve(k.cache, COPIERS * COPIES_EACH);
	kit_close(&k);
	cpu_override(NULL, 0);
}

/* ---- fragments ---------------------------------------------------------- */

/* Large blocks when only single pages are free: all through views. */
static void test_cache_large_blocks_work_in_fragments(void **state)
{
	enum { PAGES = 128 * 16, PAGE_ORDER = 2 };

	static char *pages[PAGES];
	struct arena *a;
	struct kit k;

	(void)state;
	kit_open(&k, 65536, 128, 640);
	kit_write_raw(&k, 0, 640, 8);
	a = &k.cache->arena;
	for (int i = 0; i < PAGES; i++) {
		pages[i] = arena_run_get(a, PAGE_ORDER);
		assert_non_null(pages[i]);
	}
	for (int i = 0; i < PAGES; i += 2)
		arena_run_put(a, pages[i], PAGE_ORDER);
	for (int round = 0; round < 2; round++) {
		for (blk_no n = 0; n < 640; n++) {
			struct buf *b = kit_get(&k, n);

			assert_true(views_own(&a->views, b->data));
			assert_int_equal(kit_version(b->data, 65536, n),
				8 + (uint64_t)round);
			kit_change(&k, b, 9 + (uint64_t)round);
			buf_put(b);
		}
	}
	assert_int_equal(cache_sync(k.cache), 0);
	for (blk_no n = 0; n < 640; n++)
		assert_int_equal(kit_read_raw(&k, n), 10);
	for (int i = 1; i < PAGES; i += 2)
		arena_run_put(a, pages[i], PAGE_ORDER);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache_memory_is_bounded_for_each_size),
		cmocka_unit_test(
			test_cache_process_stays_as_small_as_its_arena),
		cmocka_unit_test(test_cache_pinned_buffers_stay),
		cmocka_unit_test(test_cache_hot_blocks_survive_a_scan),
		cmocka_unit_test(test_cache_all_pinned_enomem_until_a_put),
		cmocka_unit_test(test_cache_get_waits_for_a_put),
		cmocka_unit_test(
			test_cache_operations_have_memory_of_their_own),
		cmocka_unit_test(test_cache_broken_device_enomem_then_recovers),
		cmocka_unit_test(test_cache_reserved_copies_never_fail),
		cmocka_unit_test(test_cache_reserve_waits_for_eviction),
		cmocka_unit_test(
			test_cache_reserve_too_much_enomem_takes_nothing),
		cmocka_unit_test(
			test_cache_unreserved_copy_returns_to_the_arena),
		cmocka_unit_test(
			test_cache_reserved_copies_never_fail_any_thread),
		cmocka_unit_test(test_cache_large_blocks_work_in_fragments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
