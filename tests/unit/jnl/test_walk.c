/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks over synthetic logs: what each block is shown as.
 *
 * A walk is noted as a string, a word for each block: d, c, r, b for
 * descriptor, commit, revoke and data (bytes), s for a superblock, f for fast
 * commits, '.' for stray ones; upper case if live; then + or - for a good or
 * bad checksum and ! for damage.
 */
#include <errno.h>
#include <string.h>

#include "../cmocka_all.h"
#include "jnl/walk.h"
#include "logmaker.h"

enum { NOTES = 1024 };

struct notes {
	char text[NOTES];
	size_t used;
	enum jnl_walk_sum super;
	unsigned fast_live;
	unsigned fast_stale;
	unsigned blocks_left; /* then stop */
	uint64_t seconds;     /* of the last commit */
	blk_no home;          /* of the last data block */
	blk_no revoked;       /* of the last revoke block, the last */
};

/* Add the first character of @c. */
static void note(struct notes *n, const char *c)
{
	assert_true(n->used + 1 < NOTES);
	n->text[n->used++] = *c;
	n->text[n->used] = '\0';
}

static void note_kind(struct notes *n, const struct jnl_walk_block *b)
{
	static const char stale[] = "dbrcsf.";
	static const char live[] = "DBRCSF.";

	note(n, b->live ? &live[b->kind] : &stale[b->kind]);
}

static int note_super(
	void *arg, const struct jnl_super *sb, enum jnl_walk_sum sum)
{
	struct notes *n = arg;

	assert_int_equal(sb->block_count, MAKER_LOG);
	n->super = sum;
	return 0;
}

static int note_block(void *arg, const struct jnl_walk_block *b)
{
	struct notes *n = arg;

	assert_int_equal(b->dev,
		b->log < MAKER_LOG / 2 ? MAKER_HOMES + MAKER_LOG / 2 + b->log
				       : MAKER_HOMES + b->log - MAKER_LOG / 2);
	note_kind(n, b);
	if (b->sum != JNL_SUM_NONE)
		note(n, b->sum == JNL_SUM_GOOD ? "+" : "-");
	if (b->damage != NULL)
		note(n, "!");
	if (b->kind == JNL_WALK_COMMIT)
		n->seconds = b->commit.seconds;
	if (b->kind == JNL_WALK_DATA)
		n->home = b->tag.home;
	if (b->kind == JNL_WALK_REVOKE && b->revoke.count > 0)
		n->revoked = b->revoke.blocks[b->revoke.count - 1];
	return --n->blocks_left == 0 ? -ECANCELED : 0;
}

static int note_fast(void *arg, const struct jnl_fast_record *r)
{
	struct notes *n = arg;

	if (r->live)
		n->fast_live++;
	else
		n->fast_stale++;
	return 0;
}

static const struct jnl_walk_visitor noting = {
	note_super, note_block, note_fast};

static struct jnl_walk_result walk(
	struct maker *m, unsigned flags, struct notes *n)
{
	struct jnl_walk_result r;

	memset(n, 0, sizeof(*n));
	assert_int_equal(jnl_walk(&m->place, flags, &noting, n, &r), 0);
	return r;
}

static const struct form *form_of(int csum)
{
	const struct form *form = maker_forms;

	while (form->csum != csum || !form->wide || form->block_bytes != 4096)
		form++;
	return form;
}

/* Without checksums as @want has them, and as checksum version @csum does. */
static void expect_notes(const struct notes *n, int csum, const char *want)
{
	char text[NOTES];
	size_t used = 0;

	for (const char *p = want; *p != '\0'; p++) {
		bool sum = *p == '+' || *p == '-';
		bool commit = p > want && (p[-1] == 'c' || p[-1] == 'C');

		if (!sum || csum >= 2 || (csum == 1 && commit))
			text[used++] = *p;
	}
	text[used] = '\0';
	if (strncmp(n->text, text, used) != 0)
		fail_msg("v%d: %s instead of %s", csum, n->text, text);
}

static void two_transactions(struct maker *m)
{
	maker_super(m, MAKER_TID, 1);
	maker_txn(m, &(struct txn){.tid = 10,
			     .copies = 2,
			     .home = {1, 2},
			     .fill = {0x11, 0}});
	maker_txn(m, &(struct txn){.tid = 11,
			     .copies = 1,
			     .home = {UINT64_C(5)},
			     .fill = {0x22},
			     .revokes = 2,
			     .revoke = {7, 9}});
}

static void test_jnl_walk_shows_each_block(void **state)
{
	(void)state;
	for (int csum = 0; csum <= 3; csum++) {
		struct jnl_walk_result r;
		struct notes n;
		struct maker m;

		maker_open(&m, form_of(csum), 0);
		two_transactions(&m);
		r = walk(&m, 0, &n);
		expect_notes(&n, csum, "D+B+B+C+R+D+B+C+................");
		assert_int_equal(r.error, 0);
		assert_int_equal(r.transactions, 2);
		assert_int_equal(r.end_tid, 12);
		assert_int_equal(r.end_log, 9);
		assert_int_equal(
			n.super, csum >= 2 ? JNL_SUM_GOOD : JNL_SUM_NONE);
		assert_int_equal(n.seconds, m.clock - 5);
		assert_int_equal(n.home, 5);
		assert_int_equal(n.revoked, 9);
		maker_close(&m);
	}
}

static void test_jnl_walk_live_ends_one_block_behind_the_log(void **state)
{
	(void)state;
	for (int csum = 0; csum <= 3; csum++) {
		struct notes n;
		struct maker m;

		maker_open(&m, form_of(csum), 0);
		m.at = 4;
		maker_txn(&m, &(struct txn){.tid = 5,
				      .copies = 1,
				      .home = {1},
				      .fill = {0x33}});
		m.at = MAKER_LOG - 3;
		maker_super(&m, MAKER_TID, MAKER_LOG - 3);
		maker_txn(&m, &(struct txn){.tid = 10,
				      .copies = 4,
				      .home = {1, 2, 3, 4},
				      .fill = {1, 2, 3, 4}});
		(void)walk(&m, JNL_WALK_LIVE, &n);
		/* Behind it lies the commit block of tid 5's lap. */
		expect_notes(&n, csum, "D+B+B+B+B+C+d+");
		assert_int_equal(n.used, strlen(n.text));
		(void)walk(&m, 0, &n);
		expect_notes(&n, csum, "D+B+B+B+B+C+d+b+c+....");
		maker_close(&m);
	}
}

static void test_jnl_walk_shows_bad_checksums(void **state)
{
	(void)state;
	for (int csum = 1; csum <= 3; csum++) {
		struct jnl_walk_result r;
		struct notes n;
		struct maker m;

		maker_open(&m, form_of(csum), 0);
		two_transactions(&m);
		maker_txn(&m, &(struct txn){.tid = 12,
				      .copies = 2,
				      .home = {1, 2},
				      .fill = {1, 2},
				      .wrong = WRONG_DATA});
		r = walk(&m, 0, &n);
		expect_notes(&n, csum,
			csum == 1 ? "D+B+B+C+R+D+B+C+d+b+b+c-...."
				  : "D+B+B+C+R+D+B+C+D+B+B-C+....");
		assert_int_equal(r.error, -EBADMSG);
		assert_true(r.why[0] != '\0');
		maker_close(&m);
	}
}

static void test_jnl_walk_shows_a_damaged_log_to_its_end(void **state)
{
	(void)state;
	for (int csum = 2; csum <= 3; csum++) {
		struct jnl_walk_result r;
		struct notes n;
		struct maker m;

		maker_open(&m, form_of(csum), 0);
		two_transactions(&m);
		maker_txn(&m, &(struct txn){.tid = 12,
				      .copies = 1,
				      .home = {1},
				      .fill = {1},
				      .revokes = 1,
				      .revoke = {3},
				      .wrong = WRONG_REVOKE_LONG |
					       WRONG_DESCRIPTOR_SUM |
					       WRONG_COMMIT_SUM});
		maker_txn(&m, &(struct txn){.tid = 13,
				      .copies = 1,
				      .home = {1},
				      .fill = {1}});
		r = walk(&m, 0, &n);
		expect_notes(&n, csum, "D+B+B+C+R+D+B+C+r+!d-b+c-d+b+c+....");
		assert_int_equal(r.error, -EUCLEAN);
		assert_int_equal(r.transactions, 2);
		maker_close(&m);
	}
}

static void test_jnl_walk_shows_a_log_with_a_bad_superblock(void **state)
{
	struct jnl_walk_result r;
	struct notes n;
	struct maker m;

	(void)state;
	maker_open(&m, form_of(3), 0);
	two_transactions(&m);
	maker_poke(&m, 0, 0xfc, 1);
	r = walk(&m, 0, &n);
	assert_int_equal(n.super, JNL_SUM_BAD);
	expect_notes(&n, 3, "d+b+b+c+r+d+b+c+....");
	assert_int_equal(r.error, -EBADMSG);
	maker_close(&m);
}

static void test_jnl_walk_of_an_empty_log_shows_what_was(void **state)
{
	struct jnl_walk_result r;
	struct notes n;
	struct maker m;

	(void)state;
	maker_open(&m, form_of(3), 0);
	two_transactions(&m);
	maker_super(&m, 12, 0);
	r = walk(&m, 0, &n);
	expect_notes(&n, 3, "d+b+b+c+r+d+b+c+....");
	assert_int_equal(r.transactions, 0);
	assert_int_equal(r.error, 0);
	(void)walk(&m, JNL_WALK_LIVE, &n);
	assert_int_equal(n.used, 0);
	maker_close(&m);
}

/* Blocks of an older lap, in part under those of a newer one. */
static void test_jnl_walk_shows_what_newer_blocks_left(void **state)
{
	struct txn old = {.tid = 5,
		.copies = 4,
		.home = {1, 2, 3, 4},
		.fill = {1, 2, 3, 4}};
	struct txn newer = {.tid = 6, .copies = 1, .home = {1}, .fill = {0x61}};
	struct txn revoke = {.tid = 6,
		.revokes = 1,
		.revoke = {1},
		.wrong = WRONG_NO_COMMIT};
	struct notes n;
	struct maker m;

	(void)state;
	maker_open(&m, form_of(3), 0);
	maker_super(&m, MAKER_TID, 0);
	maker_txn(&m, &old); /* in blocks 1 to 6 */
	m.at = 3;
	maker_txn(&m, &newer); /* in 3 to 5 */
	(void)walk(&m, 0, &n);
	expect_notes(&n, 3, "d+b+d+b+c+c+....");
	m.at = 1;
	maker_txn(&m, &old);
	m.at = 3;
	maker_txn(&m, &revoke);
	(void)walk(&m, 0, &n);
	expect_notes(&n, 3, "d+b+r+..c+....");
	maker_close(&m);
}

static void test_jnl_walk_ends_when_told(void **state)
{
	struct notes n = {.blocks_left = 3};
	struct jnl_walk_result r;
	struct maker m;

	(void)state;
	maker_open(&m, form_of(3), 0);
	two_transactions(&m);
	assert_int_equal(jnl_walk(&m.place, 0, &noting, &n, &r), -ECANCELED);
	assert_string_equal(n.text, "D+B+B+");
	maker_close(&m);
}

static void test_jnl_walk_without_visitors_sums_up(void **state)
{
	static const struct jnl_walk_visitor blind = {NULL};
	struct jnl_walk_result r;
	struct maker m;

	(void)state;
	maker_open(&m, form_of(3), 8);
	two_transactions(&m);
	assert_int_equal(jnl_walk(&m.place, 0, &blind, NULL, &r), 0);
	assert_int_equal(r.transactions, 2);
	maker_close(&m);
}

/* An unused block of zeroes, then two blocks of records that nobody closed. */
static void test_jnl_walk_shows_the_fast_commit_area(void **state)
{
	static const uint8_t head[] = {9, 0, 8, 0, 0, 0, 0, 0, 12, 0, 0, 0};
	uint8_t block[4096] = {0};
	struct notes n;
	struct maker m;

	(void)state;
	maker_open(&m, form_of(3), 8);
	two_transactions(&m);
	memcpy(block, head, sizeof(head));
	maker_write(&m, MAKER_LOG - 8 + 2, block);
	maker_write(&m, MAKER_LOG - 8 + 3, block);
	(void)walk(&m, 0, &n);
	expect_notes(&n, 3,
		"D+B+B+C+R+D+B+C+......................."
		".ff....");
	assert_int_equal(n.fast_live, 0);
	assert_int_equal(n.fast_stale, 2);
	maker_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jnl_walk_shows_each_block),
		cmocka_unit_test(
			test_jnl_walk_live_ends_one_block_behind_the_log),
		cmocka_unit_test(test_jnl_walk_shows_bad_checksums),
		cmocka_unit_test(test_jnl_walk_shows_a_damaged_log_to_its_end),
		cmocka_unit_test(
			test_jnl_walk_shows_a_log_with_a_bad_superblock),
		cmocka_unit_test(test_jnl_walk_of_an_empty_log_shows_what_was),
		cmocka_unit_test(test_jnl_walk_shows_what_newer_blocks_left),
		cmocka_unit_test(test_jnl_walk_ends_when_told),
		cmocka_unit_test(test_jnl_walk_without_visitors_sums_up),
		cmocka_unit_test(test_jnl_walk_shows_the_fast_commit_area),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
