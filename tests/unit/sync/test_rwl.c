/* SPDX-License-Identifier: BSD-2-Clause */
/* Reader-writer locks: exclusion, sharing, who may starve whom, ranks. */
#include "base/cc.h"
#include "sync/lock_int.h"
#include "sync/rwl.h"
#include "sync_test.h"

enum { ROUNDS = 10000 };

static struct lock_class dir_class = {
	.name = "dir", .rank = RANK_DIR, .ties = true};
static struct lock_class file_class = {
	.name = "file", .rank = RANK_FILE, .ties = true};
static struct lock_class single_class = {.name = "single", .rank = RANK_PAGE};

/* ---- exclusion ------------------------------------------------------------- */

struct twins {
	struct rwl lock;
	uint64_t a; /* [lock] plain words, always equal outside */
	uint64_t b;
	_Atomic uint64_t torn;
	_Atomic uint64_t written;
};

static void *twins_write(void *arg)
{
	struct twins *t = arg;

	for (int i = 0; i < ROUNDS; i++) {
		rwl_write_lock(&t->lock);
		t->a++;
		t->b++;
		rwl_write_unlock(&t->lock);
		atomic_fetch_add(&t->written, 1);
	}
	return NULL;
}

static void *twins_read(void *arg)
{
	struct twins *t = arg;

	for (int i = 0; i < ROUNDS; i++) {
		rwl_read_lock(&t->lock);
		if (t->a != t->b)
			atomic_fetch_add(&t->torn, 1);
		rwl_read_unlock(&t->lock);
	}
	return NULL;
}

static void *twins_try(void *arg) NO_LOCK_ANALYSIS
{
	struct twins *t = arg;

	for (int i = 0; i < ROUNDS; i++) {
		if (rwl_write_try(&t->lock)) {
			t->a++;
			t->b++;
			rwl_write_unlock(&t->lock);
			atomic_fetch_add(&t->written, 1);
		}
		if (rwl_read_try(&t->lock)) {
			if (t->a != t->b)
				atomic_fetch_add(&t->torn, 1);
			rwl_read_unlock(&t->lock);
		}
	}
	return NULL;
}

static void twins_run(void *(*even)(void *), void *(*odd)(void *))
{
	static struct twins t;

	t = (struct twins){.lock = RWL_INIT(&single_class)};
	threads_run(even, odd, &t);
	assert_int_equal(atomic_load(&t.torn), 0);
	assert_int_equal(t.a, atomic_load(&t.written));
	assert_int_equal(t.b, t.a);
	rwl_fini(&t.lock); /* free, and its queue empty */
	assert_int_equal(atomic_load(&t.lock.word), 0);
	assert_null(t.lock.writers);
	assert_null(t.lock.readers);
}

static void test_sync_rwl_readers_and_writers_exclude(void **state)
{
	(void)state;
	twins_run(twins_read, twins_write);
}

static void test_sync_rwl_writers_exclude(void **state)
{
	(void)state;
	twins_run(twins_write, twins_write);
}

static void test_sync_rwl_tries_exclude(void **state)
{
	(void)state;
	twins_run(twins_try, twins_write);
}

static void test_sync_rwl_try_matrix(void **state) NO_LOCK_ANALYSIS
{
	struct rwl l;

	(void)state;
	rwl_init(&l, &single_class);
	rwl_read_lock(&l);
	if (!rwl_read_try(&l))
		fail_msg("readers do not share");
	rwl_read_unlock(&l);
	if (rwl_write_try(&l))
		fail_msg("a writer passed a reader");
	rwl_read_unlock(&l);
	rwl_write_lock(&l);
	if (rwl_read_try(&l) || rwl_write_try(&l))
		fail_msg("somebody passed a writer");
	rwl_write_unlock(&l);
	rwl_fini(&l);
}

/* ---- who waits for whom ------------------------------------------------------ */

struct stage {
	struct rwl lock;
	_Atomic uint32_t ready;
	_Atomic bool stop;
	_Atomic uint64_t turns;
};

/* Overlapping readers: the lock is never free of them by itself. */
static void *stage_read_always(void *arg)
{
	struct stage *s = arg;

	while (!atomic_load(&s->stop)) {
		rwl_read_lock(&s->lock);
		atomic_fetch_add(&s->ready, 1);
		(void)usleep(200);
		rwl_read_unlock(&s->lock);
	}
	return NULL;
}

/* Writers that give each other no pause. */
static void *stage_write_always(void *arg)
{
	struct stage *s = arg;

	while (!atomic_load(&s->stop)) {
		rwl_write_lock(&s->lock);
		atomic_fetch_add(&s->ready, 1);
		rwl_write_unlock(&s->lock);
	}
	return NULL;
}

static void *stage_write_turns(void *arg)
{
	struct stage *s = arg;

	for (int i = 0; i < 20; i++) {
		rwl_write_lock(&s->lock);
		atomic_fetch_add(&s->turns, 1);
		rwl_write_unlock(&s->lock);
	}
	atomic_store(&s->stop, true);
	return NULL;
}

static void *stage_read_turns(void *arg)
{
	struct stage *s = arg;

	for (int i = 0; i < 20; i++) {
		rwl_read_lock(&s->lock);
		atomic_fetch_add(&s->turns, 1);
		rwl_read_unlock(&s->lock);
	}
	atomic_store(&s->stop, true);
	return NULL;
}

/* @one gets its turns in spite of four threads that run @many.  A lock that
 * starves it makes this hang until the test's time is over. */
static void stage_run(void *(*many)(void *), void *(*one)(void *))
{
	static struct stage s;
	pthread_t crowd[4];
	pthread_t single;

	s = (struct stage){.lock = RWL_INIT(&single_class)};
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&crowd[i], NULL, many, &s), 0);
	while (atomic_load(&s.ready) < 8)
		(void)usleep(100);
	assert_int_equal(pthread_create(&single, NULL, one, &s), 0);
	assert_int_equal(pthread_join(single, NULL), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(crowd[i], NULL), 0);
	assert_int_equal(atomic_load(&s.turns), 20);
	rwl_fini(&s.lock);
}

static void test_sync_rwl_writer_among_readers_gets_turns(void **state)
{
	(void)state;
	stage_run(stage_read_always, stage_write_turns);
}

static void test_sync_rwl_reader_among_writers_gets_turns(void **state)
{
	(void)state;
	stage_run(stage_write_always, stage_read_turns);
}

static void test_sync_rwl_writer_among_writers_gets_turns(void **state)
{
	(void)state;
	stage_run(stage_write_always, stage_write_turns);
}

/* R1: a writer waits, so a new reader does; R2: both readers that waited
 * come before the second writer. */
struct script {
	struct rwl lock;
	_Atomic uint32_t step;
	_Atomic uint32_t order[4]; /* the step at which each got the lock */
};

static struct script script;

static void script_got(int who)
{
	atomic_store(&script.order[who], atomic_fetch_add(&script.step, 1) + 1);
	(void)usleep(2000);
}

static void *script_writer(void *arg)
{
	rwl_write_lock(&script.lock);
	script_got(*(int *)arg);
	rwl_write_unlock(&script.lock);
	return NULL;
}

static void *script_reader(void *arg)
{
	rwl_read_lock(&script.lock);
	script_got(*(int *)arg);
	rwl_read_unlock(&script.lock);
	return NULL;
}

/* Queue a thread and give it time to be asleep in the queue. */
static void script_start(pthread_t *t, void *(*fn)(void *), int *who)
{
	assert_int_equal(pthread_create(t, NULL, fn, who), 0);
	(void)usleep(20000);
}

static void test_sync_rwl_order_of_waiters_holds_r1_r2(void **state)
{
	pthread_t t[4];
	int who[4] = {0, 1, 2, 3};

	(void)state;
	script = (struct script){.lock = RWL_INIT(&single_class)};
	rwl_read_lock(&script.lock);
	script_start(&t[0], script_writer, &who[0]);
	script_start(&t[1], script_reader, &who[1]);
	script_start(&t[2], script_writer, &who[2]);
	script_start(&t[3], script_reader, &who[3]);
	assert_int_equal(atomic_load(&script.step), 0); /* R1 */
	rwl_read_unlock(&script.lock);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(t[i], NULL), 0);
	assert_int_equal(atomic_load(&script.order[0]), 1);
	assert_int_equal(atomic_load(&script.order[2]), 4); /* R2 */
}

/* What the queue of @l says. */
static bool queue_says(struct rwl *l, bool (*what)(const struct rwl *l))
{
	bool yes;

	if (!word_try(&l->queue_lock))
		word_wait(&l->queue_lock);
	yes = what(l);
	word_unlock(&l->queue_lock);
	return yes;
}

static bool writer_waits(const struct rwl *l)
{
	return l->writers != NULL;
}

static bool handoff_wanted(const struct rwl *l)
{
	return l->handoff;
}

/* Within two seconds. */
static bool queue_will_say(struct rwl *l, bool (*what)(const struct rwl *l))
{
	bool yes = queue_says(l, what);

	for (int i = 0; i < 20000 && !yes; i++) {
		(void)usleep(100);
		yes = queue_says(l, what);
	}
	return yes;
}

static _Atomic bool let_go;

static void *handoff_writer(void *arg)
{
	struct rwl *l = arg;

	rwl_write_lock(l);
	while (!atomic_load(&let_go))
		(void)usleep(100);
	rwl_write_unlock(l);
	return NULL;
}

/* One attempt to pass a writer that has waited for too long: false if it was
 * quicker.  Passed once it asks for the lock, and is not passed again. */
static bool handoff_passed(struct rwl *l) NO_LOCK_ANALYSIS
{
	pthread_t writer;
	bool passed;

	atomic_store(&let_go, false);
	rwl_write_lock(l);
	assert_int_equal(pthread_create(&writer, NULL, handoff_writer, l), 0);
	assert_true(queue_will_say(l, writer_waits));
	(void)usleep(2000);
	rwl_write_unlock(l);
	passed = rwl_write_try(l);
	if (passed) {
		assert_true(queue_will_say(l, handoff_wanted));
		rwl_write_unlock(l);
		assert_false(rwl_write_try(l));
	}
	atomic_store(&let_go, true);
	(void)pthread_join(writer, NULL);
	return passed;
}

static void test_sync_rwl_late_writer_is_handed_the_lock_r3(void **state)
{
	static struct rwl l = RWL_INIT(&single_class);
	unsigned passed = 0;

	(void)state;
	for (int i = 0; i < 50 && passed < 3; i++)
		passed += handoff_passed(&l);
	assert_true(passed > 0);
	rwl_fini(&l);
}

/* ---- ranks, statistics --------------------------------------------------------- */

static struct rwl dirs[2] = {RWL_INIT(&dir_class), RWL_INIT(&dir_class)};
static struct rwl files[2] = {RWL_INIT(&file_class), RWL_INIT(&file_class)};

static void read_twice(void) NO_LOCK_ANALYSIS
{
	rwl_read_lock(&dirs[0]);
	rwl_read_lock(&dirs[0]);
}

static void upgrade(void) NO_LOCK_ANALYSIS
{
	rwl_read_lock(&files[0]);
	rwl_write_lock(&files[0]);
}

static void inverted(void) NO_LOCK_ANALYSIS
{
	rwl_read_lock(&files[0]);
	rwl_read_lock(&dirs[0]);
}

static void tie_by_falling_address(void) NO_LOCK_ANALYSIS
{
	rwl_write_lock(&files[1]);
	rwl_write_lock_tie(&files[0], &files[1]);
}

static void reader_as_writer(void) NO_LOCK_ANALYSIS
{
	rwl_read_lock(&files[0]);
	rwl_assert_write(&files[0]);
}

static void test_sync_rwl_violations_abort(void **state)
{
	(void)state;
	assert_aborts(read_twice, "'dir'", "'dir'");
	assert_aborts(upgrade, "'file'", "'file'");
	assert_aborts(inverted, "'dir'", "'file'");
	assert_aborts(tie_by_falling_address, "'file'", "address");
	assert_aborts(reader_as_writer, "WRITER", "assert");
}

static void test_sync_rwl_ties_are_allowed(void **state) NO_LOCK_ANALYSIS
{
	(void)state;
	rwl_write_lock(&dirs[1]); /* the ancestor, whatever its address */
	rwl_write_lock_tie(&dirs[0], &dirs[1]);
	rwl_read_lock(&files[0]);
	rwl_write_lock_tie(&files[1], &files[0]);
	rwl_assert_held(&files[0]);
	rwl_assert_write(&files[1]);
	rwl_write_unlock(&files[1]);
	rwl_read_unlock(&files[0]);
	rwl_write_unlock(&dirs[1]);
	rwl_write_unlock(&dirs[0]);
}

static void keep_single(void *arg, const struct lock_report *r)
{
	if (strcmp(r->name, single_class.name) == 0)
		*(struct lock_report *)arg = *r;
}

static void *read_once(void *arg)
{
	struct rwl *l = arg;

	rwl_read_lock(l);
	rwl_read_unlock(l);
	return NULL;
}

__attribute__((noinline)) static void write_while_wanted(struct rwl *l)
{
	pthread_t t;

	rwl_write_lock(l);
	assert_int_equal(pthread_create(&t, NULL, read_once, l), 0);
	(void)usleep(20000);
	rwl_write_unlock(l);
	assert_int_equal(pthread_join(t, NULL), 0);
}

static void test_sync_rwl_profile_names_writer(void **state)
{
	struct rwl l = RWL_INIT(&single_class);
	struct lock_report before = {0};
	struct lock_report after = {0};
	bool named = false;

	(void)state;
	lock_profile_read(keep_single, &before);
	lock_profile(true);
	write_while_wanted(&l);
	lock_profile(false);
	lock_profile_read(keep_single, &after);
	assert_int_equal(after.acquired, before.acquired + 2);
	assert_int_equal(after.contended, before.contended + 1);
	assert_true(after.hold_ns - before.hold_ns >= 20000000);
	for (unsigned i = 0; i < after.site_count; i++) {
		const struct lock_site *s = &after.sites[i];

		named |= s->waiter - (uintptr_t)read_once < 400 &&
			 s->holder - (uintptr_t)write_while_wanted < 400;
	}
	assert_true(named);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sync_rwl_readers_and_writers_exclude),
		cmocka_unit_test(test_sync_rwl_writers_exclude),
		cmocka_unit_test(test_sync_rwl_tries_exclude),
		cmocka_unit_test(test_sync_rwl_try_matrix),
		cmocka_unit_test(test_sync_rwl_writer_among_readers_gets_turns),
		cmocka_unit_test(test_sync_rwl_reader_among_writers_gets_turns),
		cmocka_unit_test(test_sync_rwl_writer_among_writers_gets_turns),
		cmocka_unit_test(test_sync_rwl_order_of_waiters_holds_r1_r2),
		cmocka_unit_test(
			test_sync_rwl_late_writer_is_handed_the_lock_r3),
		cmocka_unit_test(test_sync_rwl_violations_abort),
		cmocka_unit_test(test_sync_rwl_ties_are_allowed),
		cmocka_unit_test(test_sync_rwl_profile_names_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
