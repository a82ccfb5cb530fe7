/* SPDX-License-Identifier: BSD-2-Clause */
/* Sequence counts: no torn copy survives the second look. */
#include "sync/seq.h"
#include "sync_test.h"

enum { WRITES = 50000 };

struct pair {
	struct seq seq;
	_Atomic uint64_t a; /* [seq] equal outside write sections */
	_Atomic uint64_t b;
	_Atomic bool stop;
	_Atomic uint64_t good;
	_Atomic uint64_t torn;
	_Atomic uint64_t backwards;
};

static void *pair_write(void *arg)
{
	struct pair *p = arg;

	for (uint64_t i = 1; i <= WRITES; i++) {
		seq_write_begin(&p->seq);
		SEQ_STORE(p->a, i);
		SEQ_STORE(p->b, i);
		seq_write_end(&p->seq);
	}
	while (atomic_load(&p->good) < 100)
		(void)usleep(100);
	atomic_store(&p->stop, true);
	return NULL;
}

static void *pair_read(void *arg)
{
	struct pair *p = arg;
	uint64_t last = 0;

	while (!atomic_load(&p->stop)) {
		uint32_t start = seq_read_peek(&p->seq);
		uint64_t a = SEQ_LOAD(p->a);
		uint64_t b = SEQ_LOAD(p->b);

		if (seq_read_retry(&p->seq, start))
			continue;
		if (a != b)
			atomic_fetch_add(&p->torn, 1);
		if (a < last)
			atomic_fetch_add(&p->backwards, 1);
		last = a;
		atomic_fetch_add(&p->good, 1);
	}
	return NULL;
}

static void test_sync_seq_readers_see_whole_sections(void **state)
{
	static struct pair p;
	pthread_t reader[2];

	(void)state;
	seq_init(&p.seq);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&reader[i], NULL, pair_read, &p), 0);
	(void)pair_write(&p);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(reader[i], NULL), 0);
	assert_int_equal(atomic_load(&p.torn), 0);
	assert_int_equal(atomic_load(&p.backwards), 0);
	assert_int_equal(seq_read_begin(&p.seq), 2 * WRITES);
}

static void test_sync_seq_open_section_is_retried(void **state)
{
	struct seq s;
	uint32_t start;

	(void)state;
	seq_init(&s);
	start = seq_read_begin(&s);
	assert_false(seq_read_retry(&s, start));
	seq_write_begin(&s);
	assert_true(seq_read_retry(&s, start));
	start = seq_read_peek(&s);
	assert_true(seq_read_retry(&s, start)); /* odd, though unchanged */
	seq_write_end(&s);
	assert_true(seq_read_retry(&s, start));
	start = seq_read_begin(&s);
	assert_false(seq_read_retry(&s, start));
}

static void nest_writers(void)
{
	struct seq s;

	seq_init(&s);
	seq_write_begin(&s);
	seq_write_begin(&s);
}

static void test_sync_seq_two_writers_abort(void **state)
{
	(void)state;
	assert_aborts(nest_writers, "assertion", "seq");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sync_seq_readers_see_whole_sections),
		cmocka_unit_test(test_sync_seq_open_section_is_retried),
		cmocka_unit_test(test_sync_seq_two_writers_abort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
