/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything at once: lookup, eviction, write-back and invalidation, from
 * eight threads on sixteen pretended CPUs, with a working set ten times the
 * arena and a device that fails now and then.
 *
 * Blocks come in three kinds: some are only read, some are changed and never
 * forgotten, and so must always show their latest version, and some are
 * forgotten as well, and may fall back to what was last written home.
 *
 * EXTANT_STRESS=N makes it N times as long.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "../seed.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "kit.h"
#include "sync/rcu.h"

enum {
	THREADS = 8,
	CPUS = 16,
	ARENA = 64,
	READ_ONLY = 200,           /* blocks 0 .. 199 */
	CHANGED = READ_ONLY + 240, /* blocks 200 .. 439 */
	BLOCKS = CHANGED + 200,    /* forgotten too: 440 .. 639 */
	STEPS = 1500,
};

struct stress {
	struct kit kit;
	uint64_t latest[BLOCKS];       /* under the buffer's lock */
	_Atomic uint64_t home[BLOCKS]; /* at least this is on the device */
	_Atomic uint64_t wrong;        /* what threads found amiss */
	_Atomic uint64_t done;         /* successful steps */
	uint64_t steps;
	uint64_t seed;
};

struct worker {
	struct stress *stress;
	uint64_t random;
};

static _Thread_local uint32_t pretend_cpu;

static uint32_t pretended_cpu(void)
{
	return pretend_cpu;
}

static uint64_t draw(struct worker *w, uint64_t below)
{
	return hash_next(&w->random) % below;
}

static blk_no draw_block(struct worker *w, uint64_t from, uint64_t to)
{
	/* Half of all steps in a small part, so that threads meet. */
	uint64_t count = draw(w, 2) == 0 ? to - from : 12;

	return from + draw(w, count);
}

static void expect(struct stress *s, bool holds)
{
	if (!holds)
		atomic_fetch_add(&s->wrong, 1);
}

/* Is @b, locked or never changed, a whole version of its block? */
static bool is_whole(struct stress *s, const struct buf *b, uint64_t *version)
{
	struct kit_stamp stamp;

	memcpy(&stamp, b->data, sizeof(stamp));
	*version = stamp.version;
	return stamp.block == b->block &&
	       kit_is_uniform(b->data, s->kit.block_bytes);
}

static void check_locked(struct stress *s, struct buf *b, blk_no block)
{
	uint64_t version;

	expect(s, b->block == block);
	expect(s, is_whole(s, b, &version));
	if (block < CHANGED)
		expect(s, version == s->latest[block]);
	else
		expect(s, version <= s->latest[block] &&
				  version >= atomic_load(&s->home[block]));
}

/* The check of each read; also that contents are whole (C6). */
static int check_read(void *arg, blk_no block, const void *data)
{
	struct stress *s = arg;
	struct kit_stamp stamp;

	memcpy(&stamp, data, sizeof(stamp));
	expect(s, stamp.block == block);
	expect(s, kit_is_uniform(data, s->kit.block_bytes));
	return 0;
}

static struct buf *get(struct worker *w, blk_no block)
{
	struct buf_check check = {check_read, w->stress};
	struct buf *b = NULL;
	int err = cache_get(w->stress->kit.cache, block, &check, &b);

	expect(w->stress, err == 0 || err == -EIO);
	if (err == 0)
		atomic_fetch_add(&w->stress->done, 1);
	return err == 0 ? b : NULL;
}

static void step_read(struct worker *w)
{
	blk_no block = draw_block(w, 0, BLOCKS);
	struct buf *b = get(w, block);

	if (b == NULL)
		return;
	mtx_lock(&b->lock);
	check_locked(w->stress, b, block);
	mtx_unlock(&b->lock);
	buf_put(b);
}

/* No lock, no pin: bytes of another block would show. */
static void step_peek(struct worker *w)
{
	struct stress *s = w->stress;
	blk_no block = draw_block(w, 0, READ_ONLY);
	uint64_t version;
	struct buf *b;

	rcu_begin();
	b = cache_peek_rcu(s->kit.cache, block);
	if (b != NULL) {
		expect(s, b->block == block);
		expect(s, is_whole(s, b, &version) && version == 1);
		atomic_fetch_add(&s->done, 1);
	}
	rcu_end();
}

static void step_peek_locked(struct worker *w)
{
	blk_no block = draw_block(w, READ_ONLY, CHANGED);
	struct buf *b;

	rcu_begin();
	b = cache_peek_rcu(w->stress->kit.cache, block);
	if (b != NULL) {
		mtx_lock(&b->lock);
		check_locked(w->stress, b, block);
		mtx_unlock(&b->lock);
	}
	rcu_end();
}

static void change(struct stress *s, struct buf *b)
{
	mtx_lock(&b->lock);
	check_locked(s, b, b->block);
	kit_fill(b->data, s->kit.block_bytes, b->block, ++s->latest[b->block]);
	buf_dirty(b);
	mtx_unlock(&b->lock);
}

static void step_change(struct worker *w)
{
	struct buf *b = get(w, draw_block(w, READ_ONLY, BLOCKS));

	if (b == NULL)
		return;
	change(w->stress, b);
	buf_put(b);
}

/* Under the buffer's lock: note what the copy is that goes home. */
struct written {
	struct buf *bufs[6];
	uint64_t versions[6];
	uint32_t count;
};

static bool note_version(struct buf *b, void *arg)
{
	struct written *noted = arg;
	struct kit_stamp stamp;

	memcpy(&stamp, b->data, sizeof(stamp));
	noted->bufs[noted->count] = b;
	noted->versions[noted->count++] = stamp.version;
	return true;
}

static void raise_home(struct stress *s, blk_no block, uint64_t version)
{
	uint64_t old = atomic_load(&s->home[block]);

	while (old < version) {
		if (atomic_compare_exchange_weak(
			    &s->home[block], &old, version))
			break;
	}
}

static void step_write(struct worker *w)
{
	struct written noted = {.count = 0};
	struct stress *s = w->stress;
	struct buf *bufs[6];
	int results[6];
	uint32_t count = 0;

	for (int i = 0; i < 6; i++) {
		bufs[count] = get(w, draw_block(w, READ_ONLY, BLOCKS));
		if (bufs[count] != NULL)
			count++;
	}
	for (uint32_t i = 0; i < count; i++)
		change(s, bufs[i]);
	(void)!cache_write(
		s->kit.cache, bufs, results, count, note_version, &noted);
	expect(s, noted.count == count);
	for (uint32_t i = 0; i < count; i++) {
		expect(s, noted.bufs[i] == bufs[i]);
		expect(s, results[i] == 0 || results[i] == -EIO);
		if (results[i] == 0)
			raise_home(s, bufs[i]->block, noted.versions[i]);
		buf_put(bufs[i]);
	}
}

static void step_forget(struct worker *w)
{
	int err = cache_forget(
		w->stress->kit.cache, draw_block(w, CHANGED, BLOCKS));

	expect(w->stress, err == 0 || err == -EBUSY);
}

/* Blocks that nobody ever reads from the device: zero, or whole. */
static void step_new(struct worker *w)
{
	struct stress *s = w->stress;
	blk_no block = draw_block(w, CHANGED, BLOCKS);
	struct buf *b;

	if (cache_get_new(s->kit.cache, block, &b) != 0)
		return;
	mtx_lock(&b->lock);
	kit_fill(b->data, s->kit.block_bytes, block, ++s->latest[block]);
	buf_dirty(b);
	mtx_unlock(&b->lock);
	buf_put(b);
}

static void step_prefetch(struct worker *w)
{
	struct buf_check check = {check_read, w->stress};

	cache_prefetch(w->stress->kit.cache, draw_block(w, 0, BLOCKS),
		(uint32_t)draw(w, 6), &check);
}

static void step_copy(struct worker *w)
{
	struct cache *c = w->stress->kit.cache;
	void *copy;

	if (cache_reserve(c, 1) != 0)
		return;
	copy = cache_copy_alloc(c);
	expect(w->stress, copy != NULL);
	if (copy != NULL) {
		memset(copy, 0xcc, w->stress->kit.block_bytes);
		cache_copy_free(c, copy);
	}
	cache_unreserve(c, 1);
}

static void step_fault(struct worker *w)
{
	struct blk_fault fault = {
		.op = draw(w, 2) == 0 ? BLK_READ : BLK_WRITE,
		.nth = 1 + draw(w, 20),
		.count = 1,
		.error = -EIO,
	};

	if (draw(w, 4) == 0)
		expect(w->stress,
			blk_fault_arm(w->stress->kit.dev, &fault) == 0);
}

static void step_sync(struct worker *w)
{
	int err;

	if (draw(w, 4) != 0)
		return;
	err = cache_sync(w->stress->kit.cache);
	expect(w->stress, err == 0 || err == -EIO);
}

static void *work(void *arg)
{
	static void (*const steps[])(struct worker *) = {step_read, step_read,
		step_read, step_peek, step_peek, step_peek_locked, step_change,
		step_change, step_write, step_forget, step_forget, step_new,
		step_prefetch, step_copy, step_fault, step_sync};
	struct worker *w = arg;

	for (uint64_t i = 0; i < w->stress->steps; i++) {
		pretend_cpu = (uint32_t)draw(w, CPUS);
		steps[draw(w, ARRAY_COUNT(steps))](w);
	}
	return NULL;
}

static void run_threads(struct stress *s)
{
	struct worker workers[THREADS];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){s, s->seed + (uint64_t)i};
		assert_int_equal(
			pthread_create(&threads[i], NULL, work, &workers[i]),
			0);
	}
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* Nothing that was changed is lost. */
static void check_device(struct stress *s)
{
	assert_int_equal(atomic_load(&s->wrong), 0);
	assert_true(atomic_load(&s->done) > s->steps);
	blk_fault_disarm(s->kit.dev);
	(void)!cache_sync(s->kit.cache);
	assert_int_equal(cache_sync(s->kit.cache), 0);
	for (blk_no n = 0; n < BLOCKS; n++) {
		uint64_t version = kit_read_raw(&s->kit, n);

		if (n < CHANGED)
			assert_int_equal(version, s->latest[n]);
		else
			assert_in_range(version, atomic_load(&s->home[n]),
				s->latest[n]);
	}
}

static void stress(uint32_t block_bytes, uint64_t steps)
{
	const char *times = getenv("EXTANT_STRESS");
	struct stress *s = test_calloc(1, sizeof(*s));

	s->seed = test_seed();
	s->steps = steps * (times != NULL ? strtoull(times, NULL, 0) : 1);
	cpu_override(pretended_cpu, CPUS);
	kit_open(&s->kit, block_bytes, ARENA, BLOCKS);
	kit_write_raw(&s->kit, 0, BLOCKS, 1);
	for (blk_no n = 0; n < BLOCKS; n++) {
		s->latest[n] = 1;
		atomic_init(&s->home[n], 1);
	}
	run_threads(s);
	check_device(s);
	assert_true(kit_stats(&s->kit).evicted > 0);
	assert_true(kit_stats(&s->kit).peak_bytes <= ARENA * block_bytes);
	kit_close(&s->kit);
	cpu_override(NULL, 0);
	test_free(s);
}

static void test_cache_all_at_once_loses_nothing(void **state)
{
	(void)state;
	stress(16384, STEPS);
}

static void test_cache_all_at_once_large_blocks(void **state)
{
	(void)state;
	stress(65536, STEPS / 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache_all_at_once_loses_nothing),
		cmocka_unit_test(test_cache_all_at_once_large_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
