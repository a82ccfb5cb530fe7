/* SPDX-License-Identifier: BSD-2-Clause */
/* Reference counts: the last one is the last, once, and zero stays zero. */
#include <stdlib.h>

#include "sync/ref.h"
#include "sync_test.h"

enum { ROUNDS = 5000 };

struct object {
	struct ref ref;
	uint64_t uses[THREADS]; /* plain; read by whoever drops the last */
	_Atomic uint32_t next;
	_Atomic uint32_t lasts;
	_Atomic uint64_t used;
};

static void *object_use(void *arg)
{
	struct object *o = arg;
	uint32_t me = atomic_fetch_add(&o->next, 1);

	for (int i = 0; i < ROUNDS; i++) {
		ref_get(&o->ref);
		o->uses[me]++;
		if (ref_put(&o->ref))
			abort();
	}
	if (ref_put(&o->ref)) {
		atomic_fetch_add(&o->lasts, 1);
		for (int i = 0; i < THREADS; i++)
			atomic_fetch_add(&o->used, o->uses[i]);
	}
	return NULL;
}

static void test_sync_ref_last_put_sees_all_uses(void **state)
{
	static struct object o;

	(void)state;
	ref_init(&o.ref, THREADS);
	threads_run(object_use, object_use, &o);
	assert_int_equal(atomic_load(&o.lasts), 1);
	assert_int_equal(atomic_load(&o.used), THREADS * ROUNDS);
}

static void *object_revive(void *arg)
{
	struct object *o = arg;

	for (int i = 0; i < ROUNDS; i++) {
		if (!ref_get_unless_zero(&o->ref))
			continue;
		if (ref_put(&o->ref))
			atomic_fetch_add(&o->lasts, 1);
	}
	return NULL;
}

static void *object_drop(void *arg)
{
	struct object *o = arg;

	(void)usleep(100);
	if (ref_put(&o->ref))
		atomic_fetch_add(&o->lasts, 1);
	return NULL;
}

static void test_sync_ref_zero_is_never_left(void **state)
{
	static struct object o;

	(void)state;
	ref_init(&o.ref, THREADS / 2); /* one for each that drops */
	threads_run(object_revive, object_drop, &o);
	assert_int_equal(atomic_load(&o.lasts), 1);
	assert_int_equal(ref_read(&o.ref), 0);
	assert_false(ref_get_unless_zero(&o.ref));
}

static void get_dead(void)
{
	struct ref r;

	ref_init(&r, 0);
	ref_get(&r);
}

static void put_dead(void)
{
	struct ref r;

	ref_init(&r, 0);
	if (ref_put(&r))
		_exit(1);
}

static void test_sync_ref_dead_use_aborts(void **state)
{
	(void)state;
	assert_aborts(get_dead, "assertion", "was");
	assert_aborts(put_dead, "assertion", "was");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sync_ref_last_put_sees_all_uses),
		cmocka_unit_test(test_sync_ref_zero_is_never_left),
		cmocka_unit_test(test_sync_ref_dead_use_aborts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
