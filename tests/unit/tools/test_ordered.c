/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ordered.c - items come in order, done once, and stay within bounds. */
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "../cmocka_all.h"
#include "tools/ordered.h"

enum { ITEMS = 20000, ITEMS_MAX = 64, BYTES_MAX = 1000 };

struct piece {
	struct ordered_item item;
	unsigned number;
	_Atomic unsigned worked;
};

static size_t item_bytes; /* set before threads are */
static _Atomic unsigned made;
static _Atomic unsigned held;
static _Atomic unsigned held_bytes;
static _Atomic unsigned held_most;
static _Atomic unsigned bytes_most;

static void note_most(_Atomic unsigned *most, unsigned now)
{
	unsigned before = atomic_load(most);

	while (before < now &&
		!atomic_compare_exchange_weak(most, &before, now))
		;
}

static struct piece *piece_new(unsigned number, size_t bytes)
{
	struct piece *piece = calloc(1, sizeof(*piece));

	assert_non_null(piece);
	piece->item.bytes = bytes;
	piece->number = number;
	atomic_fetch_add(&made, 1);
	return piece;
}

static void piece_drop(void *arg, struct ordered_item *item)
{
	(void)arg;
	atomic_fetch_sub(&made, 1);
	free(CONTAINER_OF(item, struct piece, item));
}

static void produce(void *arg, struct ordered *ordered)
{
	const size_t *bytes = arg;

	for (unsigned i = 0; i < ITEMS; i++) {
		struct piece *piece = piece_new(i, *bytes);

		if (!ordered_put(ordered, &piece->item))
			return;
		note_most(&held_most, atomic_fetch_add(&held, 1) + 1);
		note_most(&bytes_most,
			(unsigned)*bytes + atomic_fetch_add(&held_bytes,
						   (unsigned)*bytes));
	}
}

static void work(void *arg, struct ordered_item *item)
{
	struct piece *piece = CONTAINER_OF(item, struct piece, item);
	static const struct timespec nap = {.tv_nsec = 200000};

	(void)arg;
	/* Some take long, so that later ones are done before. */
	if (piece->number % 1000 == 7)
		(void)nanosleep(&nap, NULL);
	atomic_fetch_add(&piece->worked, 1);
}

static struct ordered *open_with(unsigned threads, size_t bytes)
{
	const struct ordered_opts opts = {
		.threads = threads,
		.bytes_max = BYTES_MAX,
		.items_max = ITEMS_MAX,
		.arg = &item_bytes,
		.produce = produce,
		.work = work,
		.drop = piece_drop,
	};
	struct ordered *ordered;

	item_bytes = bytes;
	held = held_bytes = held_most = bytes_most = 0;
	assert_int_equal(ordered_open(&opts, &ordered), 0);
	return ordered;
}

static void take_all(unsigned threads, size_t bytes)
{
	struct ordered *ordered = open_with(threads, bytes);
	struct ordered_item *item;
	unsigned next = 0;

	while ((item = ordered_take(ordered)) != NULL) {
		struct piece *piece = CONTAINER_OF(item, struct piece, item);

		atomic_fetch_sub(&held, 1);
		atomic_fetch_sub(&held_bytes, (unsigned)bytes);
		assert_int_equal(piece->number, next++);
		assert_int_equal(piece->worked, 1);
		piece_drop(NULL, item);
	}
	assert_int_equal(next, ITEMS);
	ordered_close(ordered);
	assert_int_equal(atomic_load(&made), 0);
}

static void test_ordered_without_threads_is_in_order(void **state)
{
	(void)state;
	take_all(0, 0);
}

static void test_ordered_with_threads_is_in_order(void **state)
{
	(void)state;
	take_all(4, 0);
	/* The count goes up after the put. */
	assert_in_range(atomic_load(&held_most), 1, ITEMS_MAX + 1);
}

static void test_ordered_bytes_stay_within_bounds(void **state)
{
	(void)state;
	take_all(3, 300);
	assert_in_range(atomic_load(&bytes_most), 300, BYTES_MAX + 300);
	/* One may be larger than all that is allowed. */
	take_all(3, 5000);
}

static void test_ordered_closed_early_drops_the_rest(void **state)
{
	(void)state;
	for (unsigned taken = 0; taken < 300; taken += 100) {
		struct ordered *ordered = open_with(2, 1);

		for (unsigned i = 0; i < taken; i++)
			piece_drop(NULL, ordered_take(ordered));
		ordered_close(ordered);
		assert_int_equal(atomic_load(&made), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ordered_without_threads_is_in_order),
		cmocka_unit_test(test_ordered_with_threads_is_in_order),
		cmocka_unit_test(test_ordered_bytes_stay_within_bounds),
		cmocka_unit_test(test_ordered_closed_early_drops_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
