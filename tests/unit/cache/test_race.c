/* SPDX-License-Identifier: BSD-2-Clause */
/* Two calls that meet on one block, held in the middle by a gated device. */
#include <errno.h>

#include "cache/cache_int.h"
#include "gate.h"
#include "sync/rcu.h"

static int call_get(struct call *call)
{
	return cache_get(call->gate->kit.cache, call->block, NULL, &call->buf);
}

static int call_get_new(struct call *call)
{
	return cache_get_new(call->gate->kit.cache, call->block, &call->buf);
}

static int call_forget(struct call *call)
{
	return cache_forget(call->gate->kit.cache, call->block);
}

static int call_sync(struct call *call)
{
	return cache_sync(call->gate->kit.cache);
}

static int call_write(struct call *call)
{
	return cache_write(
		call->gate->kit.cache, &call->buf, NULL, 1, NULL, NULL);
}

static void start_write(struct call *call, struct gate *g, struct buf *b)
{
	*call = (struct call){.gate = g, .fn = call_write, .buf = b};
	assert_int_equal(
		pthread_create(&call->thread, NULL, call_main, call), 0);
}

static bool is_cached(struct gate *g, blk_no block)
{
	bool cached;

	rcu_begin();
	cached = cache_peek_rcu(g->kit.cache, block) != NULL;
	rcu_end();
	return cached;
}

/* Wait until @block has @pins, in units of enum buf_pins. */
static void await_pins(struct gate *g, blk_no block, int32_t pins)
{
	bool there = false;

	while (!there) {
		struct buf *b;

		usleep(1000);
		rcu_begin();
		b = hash_find(&g->kit.cache->hash, buf_key_dev(block));
		there = b != NULL && atomic_load(&b->pins) == pins;
		rcu_end();
	}
}

/* ---- reading ------------------------------------------------------------ */

enum { GETTERS = 4 };

/* C1 */
static void test_cache_getters_share_one_read(void **state)
{
	struct gate *g = gate_open();
	struct call calls[GETTERS];

	(void)state;
	gate_set(g, GATE_READ, true, 0);
	for (int i = 0; i < GETTERS; i++)
		call_start(&calls[i], g, call_get, 7);
	await_pins(g, 7, GETTERS);
	/* C6: not before it has been read and checked. */
	assert_false(is_cached(g, 7));
	gate_set(g, GATE_READ, false, 0);
	for (int i = 0; i < GETTERS; i++) {
		assert_int_equal(call_join(&calls[i]), 0);
		assert_ptr_equal(calls[i].buf, calls[0].buf);
	}
	assert_int_equal(kit_version(calls[0].buf->data, GATE_BLOCK, 7), 1);
	assert_int_equal(gate_passed(g, GATE_READ), 1);
	for (int i = 0; i < GETTERS; i++)
		buf_put(calls[i].buf);
	gate_close(g);
}

static void test_cache_failed_read_is_told_to_all_who_wait(void **state)
{
	struct gate *g = gate_open();
	struct call calls[GETTERS];

	(void)state;
	gate_set(g, GATE_READ, true, 0);
	for (int i = 0; i < GETTERS; i++)
		call_start(&calls[i], g, call_get, 7);
	await_pins(g, 7, GETTERS);
	gate_set(g, GATE_READ, false, -EIO);
	for (int i = 0; i < GETTERS; i++)
		assert_int_equal(call_join(&calls[i]), -EIO);
	assert_int_equal(gate_passed(g, GATE_READ), 1);
	gate_set(g, GATE_READ, false, 0);
	buf_put(kit_get(&g->kit, 7));
	gate_close(g);
}

static void test_cache_get_new_waits_for_a_read_and_keeps_it(void **state)
{
	struct gate *g = gate_open();
	struct call getter;
	struct call fresh;

	(void)state;
	gate_set(g, GATE_READ, true, 0);
	call_start(&getter, g, call_get, 7);
	gate_await(g, GATE_READ);
	call_start(&fresh, g, call_get_new, 7);
	assert_true(call_waits(&fresh));
	gate_set(g, GATE_READ, false, 0);
	assert_int_equal(call_join(&getter), 0);
	assert_int_equal(call_join(&fresh), 0);
	assert_ptr_equal(fresh.buf, getter.buf);
	assert_int_equal(kit_version(fresh.buf->data, GATE_BLOCK, 7), 1);
	buf_put(fresh.buf);
	buf_put(getter.buf);
	gate_close(g);
}

static void test_cache_get_new_does_not_mind_a_failed_read(void **state)
{
	struct gate *g = gate_open();
	struct call getter;
	struct call fresh;

	(void)state;
	gate_set(g, GATE_READ, true, 0);
	call_start(&getter, g, call_get, 7);
	await_pins(g, 7, 1);
	call_start(&fresh, g, call_get_new, 7);
	await_pins(g, 7, 2);
	gate_set(g, GATE_READ, false, -EIO);
	assert_int_equal(call_join(&getter), -EIO);
	assert_int_equal(call_join(&fresh), 0);
	assert_int_equal(((char *)fresh.buf->data)[0], 0);
	assert_true(kit_is_uniform(fresh.buf->data, GATE_BLOCK));
	buf_put(fresh.buf);
	gate_close(g);
}

static void test_cache_get_waits_for_a_prefetch(void **state)
{
	struct gate *g = gate_open();
	struct call getter;

	(void)state;
	gate_set(g, GATE_READ, true, 0);
	cache_prefetch(g->kit.cache, 5, 4, NULL);
	call_start(&getter, g, call_get, 7);
	assert_true(call_waits(&getter));
	assert_false(is_cached(g, 5));
	gate_set(g, GATE_READ, false, 0);
	assert_int_equal(call_join(&getter), 0);
	assert_int_equal(kit_version(getter.buf->data, GATE_BLOCK, 7), 1);
	buf_put(getter.buf);
	assert_int_equal(kit_stats(&g->kit).misses, 0);
	gate_close(g);
}

static int call_close(struct call *call)
{
	cache_close(call->gate->kit.cache);
	return 0;
}

static void test_cache_close_waits_for_a_prefetch(void **state)
{
	struct gate *g = gate_open();
	struct call closer;

	(void)state;
	gate_set(g, GATE_READ, true, 0);
	cache_prefetch(g->kit.cache, 5, 4, NULL);
	call_start(&closer, g, call_close, 0);
	assert_true(call_waits(&closer));
	gate_set(g, GATE_READ, false, 0);
	assert_int_equal(call_join(&closer), 0);
	blk_close(g->kit.dev);
	test_free(g);
}

/* ---- forgetting --------------------------------------------------------- */

static void test_cache_forget_while_another_reads_is_busy(void **state)
{
	struct gate *g = gate_open();
	struct call getter;

	(void)state;
	gate_set(g, GATE_READ, true, 0);
	call_start(&getter, g, call_get, 7);
	gate_await(g, GATE_READ);
	assert_int_equal(cache_forget(g->kit.cache, 7), -EBUSY);
	gate_set(g, GATE_READ, false, 0);
	assert_int_equal(call_join(&getter), 0);
	assert_int_equal(kit_version(getter.buf->data, GATE_BLOCK, 7), 1);
	buf_put(getter.buf);
	assert_int_equal(cache_forget(g->kit.cache, 7), 0);
	gate_close(g);
}

static void test_cache_forget_waits_for_a_prefetch(void **state)
{
	struct gate *g = gate_open();
	struct call forget;

	(void)state;
	gate_set(g, GATE_READ, true, 0);
	cache_prefetch(g->kit.cache, 7, 1, NULL);
	call_start(&forget, g, call_forget, 7);
	assert_true(call_waits(&forget));
	gate_set(g, GATE_READ, false, 0);
	assert_int_equal(call_join(&forget), 0);
	assert_false(is_cached(g, 7));
	gate_close(g);
}

static void test_cache_forget_waits_for_a_write_back(void **state)
{
	struct gate *g = gate_open();
	struct buf *b = kit_get(&g->kit, 7);
	struct call forget;
	struct call sync;

	(void)state;
	kit_change(&g->kit, b, 2);
	buf_put(b);
	gate_set(g, GATE_WRITE, true, 0);
	call_start(&sync, g, call_sync, 0);
	gate_await(g, GATE_WRITE);
	call_start(&forget, g, call_forget, 7);
	assert_true(call_waits(&forget));
	gate_set(g, GATE_WRITE, false, 0);
	assert_int_equal(call_join(&forget), 0);
	assert_int_equal(call_join(&sync), 0);
	assert_false(is_cached(g, 7));
	assert_int_equal(gate_passed(g, GATE_WRITE), 1);
	gate_close(g);
}

/* The writer's pin is not the forgetter's business until its write is over. */
static void test_cache_forget_waits_for_a_write_then_is_busy(void **state)
{
	struct gate *g = gate_open();
	struct buf *b = kit_get(&g->kit, 7);
	struct call forget;
	struct call write;

	(void)state;
	gate_set(g, GATE_WRITE, true, 0);
	start_write(&write, g, b);
	gate_await(g, GATE_WRITE);
	call_start(&forget, g, call_forget, 7);
	assert_true(call_waits(&forget));
	gate_set(g, GATE_WRITE, false, 0);
	assert_int_equal(call_join(&forget), -EBUSY);
	assert_int_equal(call_join(&write), 0);
	buf_put(b);
	gate_close(g);
}

/* ---- writing ------------------------------------------------------------ */

/* C5 */
static void test_cache_change_during_write_back_is_not_lost(void **state)
{
	struct gate *g = gate_open();
	struct buf *b = kit_get(&g->kit, 7);
	struct call sync;

	(void)state;
	kit_change(&g->kit, b, 2);
	gate_set(g, GATE_WRITE, true, 0);
	call_start(&sync, g, call_sync, 0);
	gate_await(g, GATE_WRITE);
	/* Waits for nobody, though the write is in flight. */
	kit_change(&g->kit, b, 3);
	kit_change(&g->kit, b, 4);
	buf_put(b);
	gate_set(g, GATE_WRITE, false, 0);
	assert_int_equal(call_join(&sync), 0);
	assert_int_equal(kit_read_raw(&g->kit, 7), 2);
	assert_int_equal(cache_sync(g->kit.cache), 0);
	assert_int_equal(kit_read_raw(&g->kit, 7), 4);
	gate_close(g);
}

static void test_cache_writes_of_one_block_never_overlap(void **state)
{
	struct gate *g = gate_open();
	struct buf *b = kit_get(&g->kit, 7);
	struct call write;
	struct call sync;

	(void)state;
	kit_change(&g->kit, b, 2);
	gate_set(g, GATE_WRITE, true, 0);
	call_start(&sync, g, call_sync, 0);
	gate_await(g, GATE_WRITE);
	kit_change(&g->kit, b, 3);
	start_write(&write, g, b);
	assert_true(call_waits(&write));
	gate_set(g, GATE_WRITE, false, 0);
	assert_int_equal(call_join(&sync), 0);
	assert_int_equal(call_join(&write), 0);
	assert_int_equal(g->most[GATE_WRITE], 1);
	assert_int_equal(kit_read_raw(&g->kit, 7), 3);
	buf_put(b);
	gate_close(g);
}

/* A block that cache_write() has in flight is dirty still. */
static void test_cache_sync_waits_for_a_write_in_flight(void **state)
{
	struct gate *g = gate_open();
	struct buf *b = kit_get(&g->kit, 7);
	struct call write;
	struct call sync;

	(void)state;
	kit_change(&g->kit, b, 2);
	gate_set(g, GATE_WRITE, true, 0);
	start_write(&write, g, b);
	gate_await(g, GATE_WRITE);
	call_start(&sync, g, call_sync, 0);
	assert_true(call_waits(&sync));
	gate_set(g, GATE_WRITE, false, 0);
	assert_int_equal(call_join(&write), 0);
	assert_int_equal(call_join(&sync), 0);
	assert_int_equal(gate_passed(g, GATE_WRITE), 1);
	buf_put(b);
	gate_close(g);
}

static void test_cache_sync_error_is_told_to_all_who_wait(void **state)
{
	struct gate *g = gate_open();
	struct buf *b = kit_get(&g->kit, 7);
	struct call first;
	struct call second;

	(void)state;
	kit_change(&g->kit, b, 2);
	buf_put(b);
	gate_set(g, GATE_WRITE, true, 0);
	call_start(&first, g, call_sync, 0);
	gate_await(g, GATE_WRITE);
	call_start(&second, g, call_sync, 0);
	assert_true(call_waits(&second));
	gate_set(g, GATE_WRITE, false, -EIO);
	assert_int_equal(call_join(&first), -EIO);
	assert_int_equal(call_join(&second), -EIO);
	gate_set(g, GATE_WRITE, false, 0);
	assert_int_equal(cache_sync(g->kit.cache), 0);
	assert_int_equal(kit_read_raw(&g->kit, 7), 2);
	gate_close(g);
}

/*
 * The write-back thread has blocks 3 and 7 in hand and waits for another's
 * write of 3; meanwhile 7 is written home and gets dirty anew.
 */
static void test_cache_dirty_anew_while_in_hand_is_listed_once(void **state)
{
	struct gate *g = gate_open();
	struct buf *low = kit_get(&g->kit, 3);
	struct buf *high = kit_get(&g->kit, 7);
	struct call write;
	struct call sync;

	(void)state;
	kit_change(&g->kit, low, 2);
	kit_change(&g->kit, high, 2);
	g->only = 3;
	gate_set(g, GATE_WRITE, true, 0);
	start_write(&write, g, low);
	gate_await(g, GATE_WRITE);
	call_start(&sync, g, call_sync, 0);
	assert_true(call_waits(&sync));
	assert_int_equal(
		cache_write(g->kit.cache, &high, NULL, 1, NULL, NULL), 0);
	kit_change(&g->kit, high, 3);
	gate_set(g, GATE_WRITE, false, -EIO);
	assert_int_equal(call_join(&write), -EIO);
	assert_int_equal(call_join(&sync), -EIO);
	gate_set(g, GATE_WRITE, false, 0);
	cache_assert(g->kit.cache);
	assert_int_equal(cache_sync(g->kit.cache), 0);
	assert_int_equal(kit_read_raw(&g->kit, 3), 2);
	assert_int_equal(kit_read_raw(&g->kit, 7), 3);
	buf_put(low);
	buf_put(high);
	gate_close(g);
}

/*
 * C2: a sync overlooks nothing.  Eviction marks a buffer as dying before it
 * finds out that it is dirty, under the lock of its bucket; here for a while.
 */
static void test_cache_sync_sees_what_eviction_looks_at(void **state)
{
	struct gate *g = gate_open();
	struct buf *b = kit_get(&g->kit, 7);
	struct mtx *m = hash_mtx(&g->kit.cache->hash, buf_key_of(b));
	struct call sync;

	(void)state;
	kit_change(&g->kit, b, 2);
	buf_put(b);
	mtx_lock(m);
	atomic_store(&b->pins, BUF_DYING);
	call_start(&sync, g, call_sync, 0);
	assert_true(call_waits(&sync));
	atomic_store(&b->pins, 0);
	mtx_unlock(m);
	assert_int_equal(call_join(&sync), 0);
	assert_int_equal(kit_read_raw(&g->kit, 7), 2);
	gate_close(g);
}

static uint32_t first_cpu(void)
{
	return 0;
}

/* What is dirty again does not stand in the way of what is older. */
static void test_cache_sync_writes_what_is_behind_a_change(void **state)
{
	struct call first;
	struct call second;
	struct gate *g;
	struct buf *again;
	struct buf *older;

	(void)state;
	cpu_override(first_cpu, 1);
	g = gate_open();
	again = kit_get(&g->kit, 7);
	older = kit_get(&g->kit, 3);
	kit_change(&g->kit, again, 2);
	gate_set(g, GATE_WRITE, true, 0);
	call_start(&first, g, call_sync, 0);
	gate_await(g, GATE_WRITE);
	kit_change(&g->kit, older, 2);
	call_start(&second, g, call_sync, 0);
	assert_true(call_waits(&second));
	kit_change(&g->kit, again, 3);
	gate_set(g, GATE_WRITE, false, 0);
	assert_int_equal(call_join(&first), 0);
	assert_int_equal(call_join(&second), 0);
	assert_int_equal(kit_read_raw(&g->kit, 3), 2);
	buf_put(again);
	buf_put(older);
	gate_close(g);
	cpu_override(NULL, 0);
}

/* ---- memory ------------------------------------------------------------- */

static int call_get_many(struct call *call)
{
	for (blk_no n = 1; n < GATE_BLOCKS; n++)
		buf_put(kit_get(&call->gate->kit, n));
	return 0;
}

/* C3: whoever reads in a section may go on reading. */
static void test_cache_section_keeps_what_it_found(void **state)
{
	struct gate *g = gate_open();
	struct call getter;
	struct buf *b;

	(void)state;
	buf_put(kit_get(&g->kit, 0));
	rcu_begin();
	b = cache_peek_rcu(g->kit.cache, 0);
	assert_non_null(b);
	call_start(&getter, g, call_get_many, 0);
	/* It needs the whole arena several times over, this block too. */
	assert_true(call_waits(&getter));
	assert_int_equal(b->block, 0);
	assert_int_equal(kit_version(b->data, GATE_BLOCK, 0), 1);
	rcu_end();
	assert_int_equal(call_join(&getter), 0);
	assert_false(is_cached(g, 0));
	gate_close(g);
}

struct hoard {
	struct buf *bufs[64];
	_Atomic uint32_t count;
	_Atomic uint32_t asked;
};

static void let_go(void *arg)
{
	struct hoard *hoard = arg;
	uint32_t count = atomic_load(&hoard->count);

	/* Enough on the third request only: it is asked until it helps. */
	if (atomic_fetch_add(&hoard->asked, 1) < 2 || count == 0)
		return;
	atomic_store(&hoard->count, 0);
	while (count > 0)
		buf_put(hoard->bufs[--count]);
}

static void test_cache_pressure_makes_owners_let_go(void **state)
{
	struct gate *g = gate_open();
	struct hoard hoard = {.count = 0};
	struct buf *b;
	blk_no n;

	(void)state;
	for (n = 0; cache_get(g->kit.cache, n, NULL, &b) == 0; n++)
		hoard.bufs[n] = b;
	atomic_store(&hoard.count, (uint32_t)n);
	cache_on_pressure(g->kit.cache, let_go, &hoard);
	buf_put(kit_get(&g->kit, n));
	assert_true(atomic_load(&hoard.asked) >= 3);
	cache_on_pressure(g->kit.cache, NULL, NULL);
	gate_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache_getters_share_one_read),
		cmocka_unit_test(
			test_cache_failed_read_is_told_to_all_who_wait),
		cmocka_unit_test(
			test_cache_get_new_waits_for_a_read_and_keeps_it),
		cmocka_unit_test(
			test_cache_get_new_does_not_mind_a_failed_read),
		cmocka_unit_test(test_cache_get_waits_for_a_prefetch),
		cmocka_unit_test(test_cache_close_waits_for_a_prefetch),
		cmocka_unit_test(test_cache_forget_while_another_reads_is_busy),
		cmocka_unit_test(test_cache_forget_waits_for_a_prefetch),
		cmocka_unit_test(test_cache_forget_waits_for_a_write_back),
		cmocka_unit_test(
			test_cache_forget_waits_for_a_write_then_is_busy),
		cmocka_unit_test(
			test_cache_change_during_write_back_is_not_lost),
		cmocka_unit_test(test_cache_writes_of_one_block_never_overlap),
		cmocka_unit_test(test_cache_sync_waits_for_a_write_in_flight),
		cmocka_unit_test(test_cache_sync_error_is_told_to_all_who_wait),
		cmocka_unit_test(
			test_cache_dirty_anew_while_in_hand_is_listed_once),
		cmocka_unit_test(test_cache_sync_sees_what_eviction_looks_at),
		cmocka_unit_test(
			test_cache_sync_writes_what_is_behind_a_change),
		cmocka_unit_test(test_cache_section_keeps_what_it_found),
		cmocka_unit_test(test_cache_pressure_makes_owners_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
