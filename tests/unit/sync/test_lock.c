/* SPDX-License-Identifier: BSD-2-Clause */
/* Mutexes: exclusion, lost wake-ups, ranks and ties, statistics. */
#include "base/cc.h"
#include "sync/lock.h"
#include "sync_test.h"

enum { ROUNDS = 20000 };

static struct lock_class low_class = {.name = "low", .rank = RANK_MOUNT};
static struct lock_class high_class = {.name = "high", .rank = RANK_HASH};
static struct lock_class tie_class = {
	.name = "tie", .rank = RANK_BUF, .ties = true};
static struct lock_class busy_class = {.name = "busy", .rank = RANK_JNL};

struct counter {
	struct mtx lock;
	uint64_t value; /* [lock]; a plain word, so that lost updates show */
};

static void *count_up(void *arg)
{
	struct counter *c = arg;

	for (int i = 0; i < ROUNDS; i++) {
		mtx_lock(&c->lock);
		c->value++;
		mtx_unlock(&c->lock);
	}
	return NULL;
}

static void *count_up_trying(void *arg)
{
	struct counter *c = arg;

	for (int i = 0; i < ROUNDS;) {
		if (!mtx_trylock(&c->lock)) {
			(void)usleep(1);
			continue;
		}
		c->value++;
		i++;
		mtx_unlock(&c->lock);
	}
	return NULL;
}

static void test_sync_mutex_contended_excludes(void **state)
{
	static struct counter c;

	(void)state;
	c.value = 0;
	mtx_init(&c.lock, &busy_class);
	threads_run(count_up, count_up_trying, &c);
	assert_int_equal(c.value, THREADS * ROUNDS);
	mtx_fini(&c.lock);
}

static void test_sync_mutex_held_trylock_fails(void **state) NO_LOCK_ANALYSIS
{
	struct mtx m;

	(void)state;
	mtx_init(&m, &low_class);
	mtx_lock(&m);
	if (mtx_trylock(&m))
		fail_msg("a held mutex was taken again");
	mtx_unlock(&m);
	if (!mtx_trylock(&m))
		fail_msg("a free mutex was refused");
	mtx_unlock(&m);
}

/* ---- the order ---------------------------------------------------------- */

static struct mtx low = MTX_INIT(&low_class);
static struct mtx high = MTX_INIT(&high_class);
static struct mtx pair[3] = {
	MTX_INIT(&tie_class), MTX_INIT(&tie_class), MTX_INIT(&tie_class)};

static void lock_inverted(void) NO_LOCK_ANALYSIS
{
	mtx_lock(&high);
	mtx_lock(&low);
}

static void lock_equal(void) NO_LOCK_ANALYSIS
{
	mtx_lock(&pair[0]);
	mtx_lock(&pair[1]);
}

static void lock_below_second(void) NO_LOCK_ANALYSIS
{
	mtx_lock(&low);
	mtx_lock(&high);
	mtx_unlock(&low);
	mtx_lock(&pair[0]);
}

static void lock_tie_backwards(void) NO_LOCK_ANALYSIS
{
	mtx_lock(&pair[1]);
	mtx_lock_tie(&pair[0], &pair[1]);
}

static void lock_tie_unheld(void) NO_LOCK_ANALYSIS
{
	mtx_lock_tie(&pair[1], &pair[0]);
}

static void lock_tie_without_rule(void) NO_LOCK_ANALYSIS
{
	static struct mtx other = MTX_INIT(&high_class);

	mtx_lock(&high);
	mtx_lock_tie(&other, &high);
}

static void unlock_unheld(void) NO_LOCK_ANALYSIS
{
	mtx_unlock(&low);
}

static void enter_below_lock(void) NO_LOCK_ANALYSIS
{
	mtx_lock(&pair[0]);
	rank_enter(RANK_JNL_OP, &low);
}

static void wait_in_operation(void)
{
	rank_enter(RANK_JNL_OP, &low);
	rank_assert_below(RANK_JNL_OP);
}

static void assert_unheld(void) NO_LOCK_ANALYSIS
{
	mtx_assert_held(&low);
}

static void test_sync_rank_inverted_aborts(void **state)
{
	(void)state;
	assert_aborts(lock_inverted, "'low'", "'high'");
}

static void test_sync_rank_equal_aborts(void **state)
{
	(void)state;
	assert_aborts(lock_equal, "'tie'", "'tie'");
}

static void test_sync_rank_released_out_of_order_still_counts(void **state)
{
	(void)state;
	assert_aborts(lock_below_second, "'tie'", "'high'");
}

static void test_sync_rank_tie_against_addresses_aborts(void **state)
{
	(void)state;
	assert_aborts(lock_tie_backwards, "'tie'", "address");
}

static void test_sync_rank_tie_with_unheld_aborts(void **state)
{
	(void)state;
	assert_aborts(lock_tie_unheld, "'tie'", "not held");
}

static void test_sync_rank_tie_without_rule_aborts(void **state)
{
	(void)state;
	assert_aborts(lock_tie_without_rule, "'high'", "no ties");
}

static void test_sync_mutex_unheld_unlock_aborts(void **state)
{
	(void)state;
	assert_aborts(unlock_unheld, "'low'", "not hold");
}

static void test_sync_mutex_unheld_assert_aborts(void **state)
{
	(void)state;
	assert_aborts(assert_unheld, "'low'", "held");
}

static void test_sync_rank_thing_below_lock_aborts(void **state)
{
	(void)state;
	assert_aborts(enter_below_lock, "operation", "'tie'");
}

static void test_sync_rank_wait_in_operation_aborts(void **state)
{
	(void)state;
	assert_aborts(wait_in_operation, "wait", "operation");
}

static void test_sync_rank_ascending_is_allowed(void **state) NO_LOCK_ANALYSIS
{
	(void)state;
	mtx_lock(&low);
	rank_assert_below(RANK_RENAME);
	rank_enter(RANK_JNL_OP, &pair);
	mtx_lock(&pair[0]);
	mtx_lock_tie(&pair[1], &pair[0]);
	mtx_lock_tie(&pair[2], &pair[0]);
	mtx_lock(&high);
	mtx_assert_held(&low);
	mtx_unlock(&low); /* any order of release */
	mtx_unlock(&pair[0]);
	mtx_unlock(&pair[2]);
	mtx_unlock(&pair[1]);
	rank_leave(RANK_JNL_OP, &pair);
	mtx_unlock(&high);
	mtx_lock(&low); /* nothing is left on the list */
	mtx_unlock(&low);
}

static void test_sync_rank_trylock_is_exempt(void **state) NO_LOCK_ANALYSIS
{
	(void)state;
	mtx_lock(&high);
	if (!mtx_trylock(&low))
		fail_msg("a free mutex was refused");
	mtx_unlock(&low);
	mtx_unlock(&high);
}

/* ---- statistics --------------------------------------------------------- */

static void keep_busy(void *arg, const struct lock_report *r)
{
	if (strcmp(r->name, busy_class.name) == 0)
		*(struct lock_report *)arg = *r;
}

static struct mtx held_long = MTX_INIT(&busy_class);

static void *wait_for_it(void *arg)
{
	mtx_lock(&held_long);
	mtx_unlock(&held_long);
	return arg;
}

/* Hold the lock for at least 5 ms while another thread waits. */
__attribute__((noinline)) static void contend_once(void)
{
	pthread_t waiter;

	mtx_lock(&held_long);
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_it, NULL), 0);
	do
		(void)usleep(5000);
	while (atomic_load(&held_long.word) != 2);
	(void)usleep(5000);
	mtx_unlock(&held_long);
	assert_int_equal(pthread_join(waiter, NULL), 0);
}

static void test_sync_profile_off_counts_contention_only(void **state)
{
	struct lock_report before = {0};
	struct lock_report after = {0};

	(void)state;
	lock_profile_read(keep_busy, &before);
	contend_once();
	lock_profile_read(keep_busy, &after);
	assert_int_equal(after.contended, before.contended + 1);
	assert_int_equal(after.acquired, before.acquired);
	assert_int_equal(after.wait_ns, before.wait_ns);
	assert_int_equal(after.hold_ns, before.hold_ns);
	assert_int_equal(after.rank, RANK_JNL);
}

static void test_sync_profile_on_names_waiter_and_holder(void **state)
{
	struct lock_report before = {0};
	struct lock_report after = {0};

	(void)state;
	lock_profile_read(keep_busy, &before);
	lock_profile(true);
	contend_once();
	lock_profile(false);
	lock_profile_read(keep_busy, &after);
	assert_int_equal(after.acquired, before.acquired + 2);
	assert_true(after.wait_ns - before.wait_ns >= 5000000);
	assert_true(after.hold_ns - before.hold_ns >= 5000000);
	assert_int_equal(after.site_count, 1);

	/* Return addresses lie a little beyond the start of the function. */
	uintptr_t waiter = after.sites[0].waiter - (uintptr_t)wait_for_it;
	uintptr_t holder = after.sites[0].holder - (uintptr_t)contend_once;

	assert_in_range(waiter, 1, 400);
	assert_in_range(holder, 1, 400);
	assert_int_equal(after.sites[0].count, 1);
	assert_true(after.sites[0].wait_ns >= 5000000);
}

static void test_sync_profile_switched_while_held_stays_sane(void **state)
{
	struct lock_report before = {0};
	struct lock_report after = {0};

	(void)state;
	lock_profile_read(keep_busy, &before);
	mtx_lock(&held_long);
	lock_profile(true);
	mtx_unlock(&held_long); /* taken unseen: no hold time */
	mtx_lock(&held_long);
	lock_profile(false);
	mtx_unlock(&held_long);
	lock_profile_read(keep_busy, &after);
	assert_int_equal(after.acquired, before.acquired + 1);
	assert_true(after.hold_ns - before.hold_ns < 1000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sync_mutex_contended_excludes),
		cmocka_unit_test(test_sync_mutex_held_trylock_fails),
		cmocka_unit_test(test_sync_rank_inverted_aborts),
		cmocka_unit_test(test_sync_rank_equal_aborts),
		cmocka_unit_test(
			test_sync_rank_released_out_of_order_still_counts),
		cmocka_unit_test(test_sync_rank_tie_against_addresses_aborts),
		cmocka_unit_test(test_sync_rank_tie_with_unheld_aborts),
		cmocka_unit_test(test_sync_rank_tie_without_rule_aborts),
		cmocka_unit_test(test_sync_mutex_unheld_unlock_aborts),
		cmocka_unit_test(test_sync_mutex_unheld_assert_aborts),
		cmocka_unit_test(test_sync_rank_thing_below_lock_aborts),
		cmocka_unit_test(test_sync_rank_wait_in_operation_aborts),
		cmocka_unit_test(test_sync_rank_ascending_is_allowed),
		cmocka_unit_test(test_sync_rank_trylock_is_exempt),
		cmocka_unit_test(test_sync_profile_off_counts_contention_only),
		cmocka_unit_test(test_sync_profile_on_names_waiter_and_holder),
		cmocka_unit_test(
			test_sync_profile_switched_while_held_stays_sane),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
