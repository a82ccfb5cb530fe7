/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder sees each kind of access that a compiler makes, and makes the
 * atomic ones right.  This file is instrumented; record.c is not.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/cmocka_all.h"
#include "heap.h"
#include "ledger.h"
#include "symbols.h"

#define NOINLINE __attribute__((noinline))

static LINE_ALIGNED unsigned char page[4096];

/* What was loaded goes here, lest the load be dropped. */
static volatile uint64_t sink;

/* The masks of role 0 on the line of @addr: loads in bit 0, stores in bit 1. */
static unsigned seen(const volatile void *addr)
{
	const struct record_line *l =
		record_find((uintptr_t)addr / RECORD_LINE);

	if (l == NULL)
		return 0;
	return (l->side[0].loads != 0) | (l->side[0].stores != 0) << 1;
}

enum { NOTHING = 0, LOAD = 1, STORE = 2, BOTH = 3 };

/* ---- plain -------------------------------------------------------------------- */

/* NOLINTBEGIN(bugprone-macro-parentheses): a type */
#define PLAIN(T)                                                               \
	NOINLINE static void store_##T(T *at, T v)                             \
	{                                                                      \
		*at = v;                                                       \
	}                                                                      \
	NOINLINE static T load_##T(const T *at)                                \
	{                                                                      \
		return *at;                                                    \
	}                                                                      \
	static void check_##T(void)                                            \
	{                                                                      \
		T *at = (T *)(void *)page;                                     \
                                                                               \
		record_reset();                                                \
		record_begin(0, 0);                                            \
		store_##T(at, (T)42);                                          \
		record_end();                                                  \
		assert_int_equal(seen(at), STORE);                             \
		record_reset();                                                \
		record_begin(0, 0);                                            \
		sink += (uint64_t)load_##T(at);                                \
		record_end();                                                  \
		assert_int_equal(seen(at), LOAD);                              \
		assert_true(load_##T(at) == (T)42);                            \
	}

/* NOLINTEND(bugprone-macro-parentheses) */

typedef unsigned __int128 u128;

PLAIN(uint8_t)
PLAIN(uint16_t)
PLAIN(uint32_t)
PLAIN(uint64_t)
PLAIN(u128)

static void test_ledger_plain_accesses_are_recorded(void **state)
{
	(void)state;
	check_uint8_t();
	check_uint16_t();
	check_uint32_t();
	check_uint64_t();
	check_u128();
}

struct big {
	unsigned char bytes[200];
};

struct __attribute__((packed)) crooked {
	unsigned char pad[60];
	uint64_t across; /* of a line's end */
};

NOINLINE static void copy_big(struct big *to, const struct big *from)
{
	*to = *from;
}

NOINLINE static void store_crooked(struct crooked *c)
{
	c->across = 7;
}

static void test_ledger_wide_accesses_touch_all_lines(void **state)
{
	struct big *big = (struct big *)(void *)page;

	(void)state;
	record_reset();
	record_begin(0, 0);
	store_crooked((struct crooked *)(void *)page);
	record_end();
	assert_int_equal(seen(page), STORE);
	assert_int_equal(seen(page + 64), STORE);
	assert_int_equal(seen(page + 128), NOTHING);

	record_reset();
	record_begin(0, 0);
	copy_big(&big[2], &big[0]);
	record_end();
	assert_int_equal(seen(&page[0]), LOAD);
	assert_int_equal(seen(&page[192]), LOAD);
	assert_int_equal(seen(&page[400]), STORE);
	assert_int_equal(seen(&page[599]), STORE);
	assert_int_equal(seen(&page[640]), NOTHING);
}

/* ---- memory -------------------------------------------------------------------- */

static void test_ledger_memory_functions_are_recorded(void **state)
{
	/* Not a constant, so that these are calls. */
	volatile size_t bytes = 300;

	(void)state;
	record_reset();
	record_begin(0, 0);
	memset(page, 5, bytes);
	record_end();
	assert_int_equal(seen(&page[299]), STORE);
	assert_int_equal(seen(&page[320]), NOTHING);
	assert_int_equal(page[299], 5);

	record_reset();
	record_begin(0, 0);
	memcpy(page + 1024, page, bytes);
	record_end();
	assert_int_equal(seen(&page[299]), LOAD);
	assert_int_equal(seen(&page[1024 + 299]), STORE);
	assert_int_equal(page[1024 + 299], 5);

	record_reset();
	record_begin(0, 0);
	memmove(page + 1100, page + 1024, bytes);
	record_end();
	assert_int_equal(seen(&page[1024]), LOAD);
	assert_int_equal(seen(&page[1100]), BOTH);
	assert_int_equal(seen(&page[1399]), STORE);

	record_reset();
	record_begin(0, 0);
	assert_int_equal(memcmp(page, page + 1100, bytes), 0);
	record_end();
	assert_int_equal(seen(&page[299]), LOAD);
	assert_int_equal(seen(&page[1399]), LOAD);
}

/* ---- atomics ------------------------------------------------------------------- */

/* @expression, evaluated and recorded alone, is @value and touches as @how. */
#define ATOMIC_IS(at, how, expression, value)                                  \
	do {                                                                   \
		record_reset();                                                \
		record_begin(0, 0);                                            \
		bool equal = (expression) == (value);                          \
		record_end();                                                  \
		assert_true(equal);                                            \
		assert_int_equal(seen(at), how);                               \
	} while (0)

#define ATOMIC(A, T)                                                           \
	static void check_atomic_##A(void)                                     \
	{                                                                      \
		static LINE_ALIGNED _Atomic T word;                            \
		T all = (T) ~(T)0;                                             \
		T c = 100;                                                     \
                                                                               \
		ATOMIC_IS(&word, STORE, (atomic_store(&word, 5), 0), 0);       \
		ATOMIC_IS(&word, LOAD, atomic_load(&word), 5);                 \
		ATOMIC_IS(&word, STORE, atomic_exchange(&word, 6), 5);         \
		ATOMIC_IS(&word, STORE, atomic_fetch_add(&word, 4), 6);        \
		ATOMIC_IS(&word, STORE, atomic_fetch_sub(&word, 1), 10);       \
		ATOMIC_IS(&word, STORE, atomic_fetch_and(&word, 5), 9);        \
		ATOMIC_IS(&word, STORE, atomic_fetch_or(&word, 6), 1);         \
		ATOMIC_IS(&word, STORE, atomic_fetch_xor(&word, 3), 7);        \
		ATOMIC_IS(&word, STORE,                                        \
			__atomic_fetch_nand((T *)&word, 12, 5), 4);            \
		assert_true(atomic_load(&word) == (T)(all - 4));               \
		/* Fails, and still takes the line. */                         \
		ATOMIC_IS(&word, STORE,                                        \
			atomic_compare_exchange_strong(&word, &c, 1), false);  \
		assert_true(c == (T)(all - 4));                                \
		ATOMIC_IS(&word, STORE,                                        \
			atomic_compare_exchange_strong(&word, &c, 1), true);   \
		c = 1;                                                         \
		ATOMIC_IS(&word, STORE,                                        \
			atomic_compare_exchange_weak(&word, &c, 2), true);     \
		ATOMIC_IS(&word, LOAD, atomic_load(&word), 2);                 \
	}

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

static void test_ledger_atomics_are_recorded_and_right(void **state)
{
	(void)state;
	check_atomic_8();
	check_atomic_16();
	check_atomic_32();
	check_atomic_64();
}

/* As the compilers would call them; they themselves ask libatomic for 16 bytes
 * or not, by version. */
/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
u128 __tsan_atomic128_load(const volatile void *a, int order);
void __tsan_atomic128_store(volatile void *a, u128 v, int order);
u128 __tsan_atomic128_fetch_add(volatile void *a, u128 v, int order);
u128 __tsan_atomic128_fetch_nand(volatile void *a, u128 v, int order);
bool __tsan_atomic128_compare_exchange_strong(
	volatile void *a, void *c, u128 v, int order, int fail);

/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static void test_ledger_wide_atomics_are_recorded_and_right(void **state)
{
	static LINE_ALIGNED u128 word;
	const u128 high = (u128)1 << 100;
	u128 c = 0;

	(void)state;
	ATOMIC_IS(&word, STORE, (__tsan_atomic128_store(&word, high, 5), 0), 0);
	ATOMIC_IS(&word, LOAD, __tsan_atomic128_load(&word, 5), high);
	ATOMIC_IS(
		&word, STORE, __tsan_atomic128_fetch_add(&word, high, 5), high);
	ATOMIC_IS(&word, STORE, __tsan_atomic128_fetch_nand(&word, high * 3, 5),
		high * 2);
	ATOMIC_IS(&word, STORE,
		__tsan_atomic128_compare_exchange_strong(&word, &c, 1, 5, 5),
		0);
	assert_true(c == ~(high * 2));
	ATOMIC_IS(&word, STORE,
		__tsan_atomic128_compare_exchange_strong(&word, &c, 1, 5, 5),
		1);
	assert_true(__tsan_atomic128_load(&word, 5) == 1);
}

/* ---- who meets whom --------------------------------------------------------------- */

static void touch(unsigned role, unsigned cpu, unsigned char *at, bool store)
{
	record_begin(role, cpu);
	if (store)
		store_uint8_t(at, 1);
	else
		sink += load_uint8_t(at);
	record_end();
}

static bool meets(const unsigned char *at, bool alone)
{
	return record_meets(record_find((uintptr_t)at / RECORD_LINE), alone);
}

static bool meets_near(const unsigned char *at, bool alone)
{
	return record_meets_near(
		record_find((uintptr_t)at / RECORD_LINE), alone);
}

static void test_ledger_meeting_takes_a_store_and_two(void **state)
{
	(void)state;
	record_reset();
	touch(0, 1, page, true);
	touch(0, 1, page, false);
	assert_false(meets(page, true)); /* one CPU, by itself */
	touch(0, 2, page + 63, false);
	assert_true(meets(page, true)); /* another reads the line */

	record_reset();
	touch(0, 1, page, false);
	touch(1, 2, page, false);
	assert_false(meets(page, false)); /* both read */
	touch(1, 2, page + 1, true);
	assert_true(meets(page, false));

	record_reset();
	touch(0, 1, page, true);
	touch(0, 3, page, true);
	assert_false(meets(page, false)); /* the other operation is not here */
	touch(1, 2, page + 64, true);
	assert_false(meets(page, false));
	assert_true(meets_near(page, false)); /* but on the pair of lines */
	record_reset();
	touch(0, 1, page + 64, true);
	touch(1, 2, page + 128, true);
	assert_false(meets_near(page + 64, false)); /* another pair */
}

static void *touch_elsewhere(void *arg)
{
	store_uint8_t(arg, 3);
	return NULL;
}

static void test_ledger_other_threads_pass_unseen(void **state)
{
	pthread_t t;

	(void)state;
	record_reset();
	record_begin(0, 0);
	assert_int_equal(pthread_create(&t, NULL, touch_elsewhere, page), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	record_end();
	assert_int_equal(seen(page), NOTHING);
	store_uint8_t(page, 4);
	assert_int_equal(seen(page), NOTHING); /* nor after the end */
}

/* ---- names -------------------------------------------------------------------------- */

NOINLINE static void *make_object(void)
{
	return malloc(100);
}

static void test_ledger_freed_memory_is_not_reused_in_a_cell(void **state)
{
	void *freed[50];

	(void)state;
	heap_keep();
	for (int i = 0; i < 50; i++) {
		freed[i] = make_object();
		for (int k = 0; k < i; k++)
			assert_ptr_not_equal(freed[i], freed[k]);
		free(freed[i]);
	}
	heap_release();
}

static void test_ledger_objects_have_names(void **state)
{
	unsigned char *p = make_object();
	struct heap_object h;

	(void)state;
	assert_int_equal(symbols_open(), 0);
	assert_string_equal(symbols_find((uintptr_t)page + 9).name, "page");
	assert_int_equal(symbols_find((uintptr_t)page + 9).offset, 9);
	assert_true(heap_find((uintptr_t)p + 99, &h));
	assert_int_equal(h.bytes, 100);
	assert_string_equal(symbols_find(h.caller - 1).name, "make_object");
	heap_name(p + 10, 10, "part %d", 7);
	assert_true(heap_find((uintptr_t)p + 12, &h));
	assert_string_equal(h.name, "part 7");
	assert_true(heap_find((uintptr_t)p + 20, &h));
	assert_int_equal(h.bytes, 100);
	free(p);
	assert_false(heap_find((uintptr_t)p + 99, &h));
}

/* ---- exceptions ----------------------------------------------------------------------- */

static int read_text(const char *text)
{
	char path[] = "/tmp/ledger-exceptions-XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	int err;

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	err = exceptions_read(path);
	assert_int_equal(unlink(path), 0);
	return err;
}

static void test_ledger_bad_exceptions_are_refused(void **state)
{
	(void)state;
	assert_int_equal(read_text("a | b | c | any\n"), -EINVAL);
	assert_int_equal(read_text("a | b | c | 1/0 | why\n"), -EINVAL);
	assert_int_equal(read_text("a | b | c | 2 | why\n"), -EINVAL);
	assert_int_equal(read_text("a | b | c | any | \n"), -EINVAL);
	assert_int_equal(exceptions_read("/nonexistent"), -ENOENT);
}

static void test_ledger_exceptions_cover_what_they_say(void **state)
{
	const struct record_line *l;

	(void)state;
	assert_int_equal(read_text("# a comment\n\n"
				   "one*|two|store_uint8_t|1/4|because | so\n"),
		0);
	record_reset();
	touch(0, 0, page, true);
	touch(1, 1, page, true);
	l = record_find((uintptr_t)page / RECORD_LINE);
	assert_true(exceptions_allow("one a", "two", l, 8));
	assert_true(exceptions_allow("two", "one", l, 8)); /* either way */
	assert_false(exceptions_allow("one", "one", l, 8));
	assert_false(exceptions_allow("one", "two", l, 7)); /* too often */
	record_begin(0, 0);
	store_uint16_t((uint16_t *)(void *)page, 1); /* others store too */
	record_end();
	assert_false(exceptions_allow("one", "two", l, 800));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ledger_plain_accesses_are_recorded),
		cmocka_unit_test(test_ledger_wide_accesses_touch_all_lines),
		cmocka_unit_test(test_ledger_memory_functions_are_recorded),
		cmocka_unit_test(test_ledger_atomics_are_recorded_and_right),
		cmocka_unit_test(
			test_ledger_wide_atomics_are_recorded_and_right),
		cmocka_unit_test(test_ledger_meeting_takes_a_store_and_two),
		cmocka_unit_test(test_ledger_other_threads_pass_unseen),
		cmocka_unit_test(
			test_ledger_freed_memory_is_not_reused_in_a_cell),
		cmocka_unit_test(test_ledger_objects_have_names),
		cmocka_unit_test(test_ledger_bad_exceptions_are_refused),
		cmocka_unit_test(test_ledger_exceptions_cover_what_they_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
