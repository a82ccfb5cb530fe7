/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs of bits, compared with an array of one byte a bit. */
#include <string.h>

#include "../cmocka_all.h"
#include "../seed.h"
#include "alloc/bits.h"
#include "base/hash.h"

enum { BITS = 300, ROUNDS = 20000 };

struct model {
	bool set[BITS];
};

static uint32_t model_claim(struct model *m, uint32_t start, uint32_t count)
{
	uint32_t done = 0;

	while (done < count && !m->set[start + done])
		m->set[start + done++] = true;
	return done;
}

static uint32_t model_clear(struct model *m, uint32_t start, uint32_t count)
{
	uint32_t cleared = 0;

	for (uint32_t i = start; i < start + count; i++) {
		cleared += m->set[i];
		m->set[i] = false;
	}
	return cleared;
}

static uint32_t model_find(const struct model *a, const struct model *b,
	uint32_t from, uint32_t to, uint32_t want, uint32_t *start)
{
	uint32_t best = 0;

	for (uint32_t at = from; best < want && at < to; at++) {
		uint32_t n = 0;

		while (n < want && at + n < to && !a->set[at + n] &&
			!(b != NULL && b->set[at + n]))
			n++;
		if (n > best) {
			best = n;
			*start = at;
		}
	}
	return best;
}

static void fill(_Atomic uint64_t *words, struct model *m, uint64_t *random)
{
	memset(m, 0, sizeof(*m));
	for (uint32_t i = 0; i < bits_words(BITS); i++)
		words[i] = 0;
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t start = (uint32_t)(hash_next(random) % BITS);
		uint32_t count = (uint32_t)(hash_next(random) % (BITS - start));
		uint32_t fought = 0;

		count %= 90;
		assert_int_equal(bits_claim(words, start, count, &fought),
			model_claim(m, start, count));
		assert_int_equal(fought, 0);
	}
}

static void test_bits_random_runs_equal_the_model(void **state)
{
	_Atomic uint64_t a[(BITS + 63) / 64];
	_Atomic uint64_t b[(BITS + 63) / 64];
	uint64_t random = test_seed();
	struct model ma;
	struct model mb;

	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t from = (uint32_t)(hash_next(&random) % BITS);
		uint32_t count =
			(uint32_t)(hash_next(&random) % (BITS - from) + 1);
		uint32_t want = (uint32_t)(hash_next(&random) % 100 + 1);
		bool both = hash_next(&random) & 1;
		uint32_t mine = BITS;
		uint32_t theirs = BITS;

		if (round % 100 == 0) {
			fill(a, &ma, &random);
			fill(b, &mb, &random);
		}
		assert_int_equal(bits_find(a, both ? b : NULL, from,
					 from + count, want, &mine),
			model_find(&ma, both ? &mb : NULL, from, from + count,
				want, &theirs));
		assert_int_equal(mine, theirs);
		if (round % 3 == 0)
			assert_int_equal(bits_clear(a, from, count % 70),
				model_clear(&ma, from, count % 70));
	}
}

static void test_bits_claim_stops_at_the_first_taken(void **state)
{
	_Atomic uint64_t words[3] = {0};
	uint32_t fought = 0;

	(void)state;
	words[1] = UINT64_C(1) << 10;
	assert_int_equal(bits_claim(words, 60, 100, &fought), 14);
	assert_int_equal(words[0], UINT64_C(0xf) << 60);
	assert_int_equal(words[1], (UINT64_C(1) << 11) - 1);
	assert_int_equal(bits_claim(words, 60, 5, &fought), 0);
	assert_int_equal(bits_count(words, 0, 192), 15);
	assert_int_equal(bits_claim(words, 128, 64, &fought), 64);
	assert_int_equal(words[2], UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits_random_runs_equal_the_model),
		cmocka_unit_test(test_bits_claim_stops_at_the_first_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
