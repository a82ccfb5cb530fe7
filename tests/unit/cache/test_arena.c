/* SPDX-License-Identifier: BSD-2-Clause */
/* The arena: stocks, pieces, runs, and views when memory is in fragments. */
#include <pthread.h>
#include <string.h>

#include "../cmocka_all.h"
#include "base/cpu.h"
#include "cache/arena.h"

/* ---- stocks ------------------------------------------------------------- */

static _Thread_local uint32_t pretend_cpu;

static uint32_t pretended_cpu(void)
{
	return pretend_cpu;
}

struct pile {
	int items[64];
	uint32_t count;
	uint32_t takes; /* calls */
};

static uint32_t pile_take(void *arg, void **items, uint32_t count, bool urgent)
{
	struct pile *p = arg;
	uint32_t keep = urgent ? 0 : 4;
	uint32_t got = 0;

	p->takes++;
	while (got < count && p->count > keep)
		items[got++] = &p->items[--p->count];
	return got;
}

static void pile_give(void *arg, void *const *items, uint32_t count)
{
	struct pile *p = arg;

	(void)items;
	p->count += count;
}

static const struct stock_source pile_source = {pile_take, pile_give};

static void test_cache_stock_moves_in_batches(void **state)
{
	struct pile pile = {.count = 64};
	struct stock s;

	(void)state;
	cpu_override(pretended_cpu, 4);
	pretend_cpu = 0;
	assert_int_equal(stock_init(&s, &pile_source, &pile, 8), 0);
	for (int i = 0; i < 1000; i++)
		stock_put(&s, stock_get(&s, false));
	assert_int_equal(pile.takes, 1);
	stock_drain(&s);
	assert_int_equal(pile.count, 64);
	stock_fini(&s);
	cpu_override(NULL, 0);
}

static void test_cache_stock_finds_what_others_hold(void **state)
{
	struct pile pile = {.count = 64};
	void *got[64];
	struct stock s;

	(void)state;
	cpu_override(pretended_cpu, 4);
	assert_int_equal(stock_init(&s, &pile_source, &pile, 8), 0);
	for (pretend_cpu = 1; pretend_cpu < 4; pretend_cpu++)
		stock_put(&s, stock_get(&s, false));
	assert_true(stock_idle(&s) > 3);
	pretend_cpu = 0;
	for (int i = 0; i < 60; i++) {
		got[i] = stock_get(&s, false);
		assert_non_null(got[i]);
	}
	assert_null(stock_get(&s, false));
	for (int i = 60; i < 64; i++)
		assert_non_null(stock_get(&s, true));
	assert_null(stock_get(&s, true));
	stock_fini(&s);
	cpu_override(NULL, 0);
}

enum { CALLERS = 4, ROUNDS = 20000 };

struct caller {
	struct stock *stock;
	uint32_t cpu;
	int missed;
};

static void *take_and_put(void *arg)
{
	struct caller *caller = arg;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		void *item;

		/* Take here, put there: items wander. */
		pretend_cpu = (caller->cpu + i) % CALLERS;
		item = stock_get(caller->stock, true);
		pretend_cpu = (pretend_cpu + 1) % CALLERS;
		if (item == NULL)
			caller->missed++;
		else
			stock_put(caller->stock, item);
	}
	return NULL;
}

/* As many items as callers: none may come back empty-handed. */
static void test_cache_stock_never_misses_what_must_be_there(void **state)
{
	struct pile pile = {.count = CALLERS};
	struct caller callers[CALLERS];
	pthread_t threads[CALLERS];
	struct stock s;

	(void)state;
	cpu_override(pretended_cpu, CALLERS);
	assert_int_equal(stock_init(&s, &pile_source, &pile, 3), 0);
	for (uint32_t i = 0; i < CALLERS; i++) {
		callers[i] = (struct caller){&s, i, 0};
		assert_int_equal(pthread_create(&threads[i], NULL, take_and_put,
					 &callers[i]),
			0);
	}
	for (uint32_t i = 0; i < CALLERS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(callers[i].missed, 0);
	}
	stock_fini(&s);
	cpu_override(NULL, 0);
}

/* ---- pieces ------------------------------------------------------------- */

static void open_arena(struct arena *a, uint64_t bytes, uint32_t piece)
{
	struct arena_opts opts = {.bytes = bytes, .piece_bytes = piece};

	assert_int_equal(arena_open(a, &opts), 0);
}

static void test_cache_arena_all_pieces_are_apart(void **state)
{
	static char *pieces[1024];
	struct arena a;

	(void)state;
	for (uint32_t size = 1024; size <= 65536; size *= 2) {
		uint32_t count = (1 << 20) / size;

		open_arena(&a, 1 << 20, size);
		assert_int_equal(arena_piece_count(&a), count);
		for (uint32_t i = 0; i < count; i++) {
			pieces[i] = arena_piece_get(&a, true);
			assert_non_null(pieces[i]);
			assert_int_equal((uintptr_t)pieces[i] % size, 0);
			memset(pieces[i], (int)i, size);
		}
		assert_null(arena_piece_get(&a, true));
		for (uint32_t i = 0; i < count; i++) {
			assert_int_equal((unsigned char)pieces[i][0], i % 256);
			assert_memory_equal(pieces[i], pieces[i] + 1, size - 1);
			arena_piece_put(&a, pieces[i]);
		}
		assert_int_equal(
			arena_free_pieces(&a) + stock_idle(&a.pieces), count);
		arena_close(&a);
	}
}

static void test_cache_arena_keeps_some_for_the_urgent(void **state)
{
	struct arena_opts opts = {
		.bytes = 1 << 20, .piece_bytes = 65536, .keep_pieces = 3};
	void *pieces[16];
	struct arena a;
	int count = 0;

	(void)state;
	assert_int_equal(arena_open(&a, &opts), 0);
	while ((pieces[count] = arena_piece_get(&a, false)) != NULL)
		count++;
	assert_int_equal(count, 13);
	while (count < 16 &&
		(pieces[count] = arena_piece_get(&a, true)) != NULL)
		count++;
	assert_int_equal(count, 16);
	while (count > 0)
		arena_piece_put(&a, pieces[--count]);
	arena_close(&a);
}

static int low_calls;

static void low(void *arg)
{
	(void)arg;
	low_calls++;
}

static void test_cache_arena_tells_when_it_runs_low(void **state)
{
	struct arena_opts opts = {.bytes = 1 << 20,
		.piece_bytes = 65536,
		.low_pieces = 3,
		.on_low = low};
	void *pieces[16];
	struct arena a;

	(void)state;
	low_calls = 0;
	assert_int_equal(arena_open(&a, &opts), 0);
	for (int i = 0; i < 13; i++)
		pieces[i] = arena_piece_get(&a, true);
	assert_int_equal(low_calls, 0);
	pieces[13] = arena_piece_get(&a, true);
	assert_int_equal(low_calls, 1);
	for (int i = 0; i < 14; i++)
		arena_piece_put(&a, pieces[i]);
	arena_close(&a);
}

/* Huge or not, memory holds what was stored, and each stretch is tried once,
 * after it was in use. */
static void test_cache_arena_settles_what_was_in_use(void **state)
{
	struct arena_opts opts = {.bytes = (8 << 20) + 65536,
		.piece_bytes = 65536,
		.on_grow = low};
	char *pieces[129];
	struct arena a;

	(void)state;
	low_calls = 0;
	assert_int_equal(arena_open(&a, &opts), 0);
	assert_false(arena_settle(&a));
	for (int i = 0; i < 129; i++) {
		pieces[i] = arena_piece_get(&a, true);
		assert_non_null(pieces[i]);
		memset(pieces[i], i + 1, 65536);
	}
	assert_in_range(low_calls, 2, 4);
	for (int i = 0; i < 4; i++)
		assert_true(arena_settle(&a));
	assert_false(arena_settle(&a));
	for (int i = 0; i < 129; i++) {
		assert_int_equal((unsigned char)pieces[i][0], i + 1);
		assert_memory_equal(pieces[i], pieces[i] + 1, 65535);
		arena_piece_put(&a, pieces[i]);
	}
	arena_close(&a);
}

/* ---- fragments ---------------------------------------------------------- */

enum { PAGES = 256, PAGE_ORDER = 2 };

struct fragments {
	struct arena arena;
	char *pages[PAGES];
};

/* 1 MiB, of which each second page is in use. */
static void fragment(struct fragments *f, uint32_t piece)
{
	open_arena(&f->arena, PAGES * 4096, piece);
	for (int i = 0; i < PAGES; i++) {
		f->pages[i] = arena_run_get(&f->arena, PAGE_ORDER);
		assert_non_null(f->pages[i]);
	}
	for (int i = 0; i < PAGES; i += 2)
		arena_run_put(&f->arena, f->pages[i], PAGE_ORDER);
}

static void mend(struct fragments *f)
{
	for (int i = 1; i < PAGES; i += 2)
		arena_run_put(&f->arena, f->pages[i], PAGE_ORDER);
	stock_drain(&f->arena.pieces);
	assert_int_equal(f->arena.runs.free_units, PAGES * 4);
	arena_close(&f->arena);
}

static void test_cache_arena_fragments_become_views(void **state)
{
	static struct fragments f;
	char *pieces[64];

	(void)state;
	for (uint32_t size = 8192; size <= 65536; size *= 2) {
		uint32_t count = PAGES / 2 * 4096 / size;

		fragment(&f, size);
		for (uint32_t i = 0; i < count; i++) {
			pieces[i] = arena_piece_get(&f.arena, true);
			assert_non_null(pieces[i]);
			memset(pieces[i], (int)i + 1, size);
		}
		assert_null(arena_piece_get(&f.arena, true));
		assert_int_equal(f.arena.views.live_count, count);
		/* Pages in use between them are untouched, and no two views
		 * share one. */
		for (int i = 1; i < PAGES; i += 2)
			assert_int_equal(f.pages[i][0], 0);
		for (uint32_t i = 0; i < count; i++) {
			assert_int_equal(pieces[i][0], i + 1);
			assert_memory_equal(pieces[i], pieces[i] + 1, size - 1);
			arena_piece_put(&f.arena, pieces[i]);
		}
		mend(&f);
	}
}

static void test_cache_views_are_torn_down_in_groups(void **state)
{
	static struct fragments f;

	(void)state;
	fragment(&f, 65536);
	for (int i = 0; i < 10 * VIEW_GROUP_SLOTS; i++) {
		void *piece = arena_piece_get(&f.arena, true);

		assert_non_null(piece);
		memset(piece, i, 65536);
		arena_piece_put(&f.arena, piece);
		stock_drain(&f.arena.pieces);
	}
	assert_int_equal(f.arena.views.live_count, 0);
	assert_true(f.arena.views.cleared_groups <= 10);
	assert_true(f.arena.views.cleared_groups >= 8);
	mend(&f);
}

/* A live view in each group: no group can be cleared, slots are mapped over. */
static void test_cache_views_find_room_in_any_state(void **state)
{
	static struct fragments f;
	void *held[8];
	uint32_t count = 0;

	(void)state;
	fragment(&f, 65536);
	for (int i = 0; i < 1000; i++) {
		char *piece = arena_piece_get(&f.arena, true);

		assert_non_null(piece);
		memset(piece, i, 65536);
		stock_drain(&f.arena.pieces);
		if (i % VIEW_GROUP_SLOTS == 5 && count < 7)
			held[count++] = piece;
		else
			arena_piece_put(&f.arena, piece);
		stock_drain(&f.arena.pieces);
	}
	while (count > 0)
		arena_piece_put(&f.arena, held[--count]);
	mend(&f);
}

static void test_cache_arena_contiguous_runs_come_before_views(void **state)
{
	static struct fragments f;
	void *piece;

	(void)state;
	fragment(&f, 16384);
	arena_run_put(&f.arena, f.pages[1], PAGE_ORDER);
	arena_run_put(&f.arena, f.pages[3], PAGE_ORDER);
	piece = arena_piece_get(&f.arena, true);
	assert_int_equal(f.arena.views.live_count, 0);
	arena_piece_put(&f.arena, piece);
	stock_drain(&f.arena.pieces);
	f.pages[1] = arena_run_get(&f.arena, PAGE_ORDER);
	f.pages[3] = arena_run_get(&f.arena, PAGE_ORDER);
	mend(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache_stock_moves_in_batches),
		cmocka_unit_test(test_cache_stock_finds_what_others_hold),
		cmocka_unit_test(
			test_cache_stock_never_misses_what_must_be_there),
		cmocka_unit_test(test_cache_arena_all_pieces_are_apart),
		cmocka_unit_test(test_cache_arena_keeps_some_for_the_urgent),
		cmocka_unit_test(test_cache_arena_tells_when_it_runs_low),
		cmocka_unit_test(test_cache_arena_settles_what_was_in_use),
		cmocka_unit_test(test_cache_arena_fragments_become_views),
		cmocka_unit_test(test_cache_views_are_torn_down_in_groups),
		cmocka_unit_test(test_cache_views_find_room_in_any_state),
		cmocka_unit_test(
			test_cache_arena_contiguous_runs_come_before_views),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
