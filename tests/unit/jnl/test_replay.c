/* SPDX-License-Identifier: BSD-2-Clause */
/* Replay of logs that a power cut left: every form, and every kind of end. */
#include <errno.h>

#include "../cmocka_all.h"
#include "jnl/codec.h"
#include "logmaker.h"

enum { ESCAPED = 0xc0 }; /* how maker_home() reports fill 0 */

typedef void (*body_fn)(struct maker *m);

/* Run @body on an empty log of each form. */
static void each_form(body_fn body)
{
	for (size_t i = 0; i < maker_form_count; i++) {
		struct maker m;

		maker_open(&m, &maker_forms[i], 0);
		body(&m);
		maker_close(&m);
	}
}

static void expect_homes(struct maker *m, unsigned count, const uint8_t *want)
{
	for (unsigned i = 0; i < count; i++) {
		uint8_t got = maker_home(m, i);

		if (got != want[i])
			fail_msg("%s: block %u is %#x instead of %#x",
				m->form.name, i, got, want[i]);
	}
}

#define EXPECT_HOMES(m, ...)                                                   \
	do {                                                                   \
		static const uint8_t want_[] = {__VA_ARGS__};                  \
		expect_homes(m, sizeof(want_), want_);                         \
	} while (0)

/* Replay must succeed and find @transactions. */
static struct jnl_replay_result replay_ok(
	struct maker *m, uint32_t transactions)
{
	struct jnl_replay_result r;
	int err = maker_replay(m, &r);

	if (err != 0 || r.transactions != transactions)
		fail_msg("%s: error %d, %u transactions: %s", m->form.name, err,
			r.transactions, r.why);
	assert_int_equal(r.next_tid, MAKER_TID + transactions + 1);
	return r;
}

/* ---- whole logs ------------------------------------------------------------ */

static void body_whole(struct maker *m)
{
	struct jnl_replay_result r;

	maker_super(m, MAKER_TID, 1);
	maker_txn(m, &(struct txn){.tid = 10,
			     .copies = 3,
			     .home = {1, 2, 3},
			     .fill = {0x11, 0x12, 0x13}});
	maker_txn(m, &(struct txn){.tid = 11,
			     .copies = 2,
			     .home = {2, 4},
			     .fill = {0x22, 0x24}});
	r = replay_ok(m, 2);
	EXPECT_HOMES(m, 0, 0x11, 0x22, 0x13, 0x24, 0);
	assert_int_equal(r.blocks, 4);
	assert_int_equal(r.revoked, 0);
	assert_int_equal(r.error, 0);
}

static void test_jnl_replay_brings_the_newest_copies_home(void **state)
{
	(void)state;
	each_form(body_whole);
}

static void body_escape(struct maker *m)
{
	maker_super(m, MAKER_TID, 1);
	maker_txn(m, &(struct txn){.tid = 10,
			     .copies = 3,
			     .home = {1, 2, 3},
			     .fill = {0, 0x12, 0}});
	(void)replay_ok(m, 1);
	EXPECT_HOMES(m, 0, ESCAPED, 0x12, ESCAPED);
}

static void test_jnl_replay_restores_escaped_blocks(void **state)
{
	(void)state;
	each_form(body_escape);
}

static void body_uuid(struct maker *m)
{
	maker_super(m, MAKER_TID, 1);
	maker_txn(m, &(struct txn){.tid = 10,
			     .copies = 3,
			     .home = {1, 2, 3},
			     .fill = {0x11, 0x12, 0x13},
			     .uuid_each_tag = true});
	(void)replay_ok(m, 1);
	EXPECT_HOMES(m, 0, 0x11, 0x12, 0x13);
}

static void test_jnl_replay_skips_uuids_after_tags(void **state)
{
	(void)state;
	each_form(body_uuid);
}

static void body_wrap(struct maker *m)
{
	m->at = MAKER_LOG - 3;
	maker_super(m, MAKER_TID, MAKER_LOG - 3);
	maker_txn(m, &(struct txn){.tid = 10,
			     .copies = 1,
			     .home = {1},
			     .fill = {0x11},
			     .wrong = 0});
	assert_int_equal(m->at, 1); /* ended on the last block */
	maker_txn(m,
		&(struct txn){
			.tid = 11, .copies = 1, .home = {2}, .fill = {0x22}});
	(void)replay_ok(m, 2);
	EXPECT_HOMES(m, 0, 0x11, 0x22);
}

static void test_jnl_replay_wraps_between_transactions(void **state)
{
	(void)state;
	each_form(body_wrap);
}

static void body_wrap_inside(struct maker *m)
{
	m->at = MAKER_LOG - 3;
	maker_super(m, MAKER_TID, MAKER_LOG - 3);
	maker_txn(m, &(struct txn){.tid = 10,
			     .copies = 5,
			     .home = {1, 2, 3, 4, 5},
			     .fill = {0x11, 0x12, 0x13, 0x14, 0x15},
			     .revokes = 1,
			     .revoke = {40}});
	(void)replay_ok(m, 1);
	EXPECT_HOMES(m, 0, 0x11, 0x12, 0x13, 0x14, 0x15);
}

static void test_jnl_replay_wraps_inside_a_transaction(void **state)
{
	(void)state;
	each_form(body_wrap_inside);
}

static void body_full(struct maker *m)
{
	/* 13 transactions of 3 blocks fill the 39 blocks of the ring. */
	maker_super(m, MAKER_TID, 1);
	for (uint32_t i = 0; i < 13; i++)
		maker_txn(m, &(struct txn){.tid = 10 + i,
				     .copies = 1,
				     .home = {i},
				     .fill = {(uint8_t)(0x40 + i)}});
	assert_int_equal(m->at, 1);
	(void)replay_ok(m, 13);
	EXPECT_HOMES(m, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,
		0x49, 0x4a, 0x4b, 0x4c, 0);
}

static void test_jnl_replay_of_a_full_ring_stops(void **state)
{
	(void)state;
	each_form(body_full);
}

static void body_tid_wrap(struct maker *m)
{
	struct jnl_replay_result r;

	maker_super(m, UINT32_MAX, 1);
	maker_txn(m, &(struct txn){.tid = UINT32_MAX,
			     .copies = 2,
			     .home = {1, 2},
			     .fill = {0x11, 0x12}});
	maker_txn(m, &(struct txn){.tid = 0,
			     .copies = 1,
			     .home = {3},
			     .fill = {0x23},
			     .revokes = 1,
			     .revoke = {1}});
	assert_int_equal(maker_replay(m, &r), 0);
	assert_int_equal(r.transactions, 2);
	assert_int_equal(r.next_tid, 2);
	assert_int_equal(r.revoked, 1);
	EXPECT_HOMES(m, 0, 0, 0x12, 0x23);
}

static void test_jnl_replay_follows_tids_through_zero(void **state)
{
	(void)state;
	each_form(body_tid_wrap);
}

static void body_empty(struct maker *m)
{
	struct jnl_replay_result r;

	maker_super(m, MAKER_TID, 0);
	maker_txn(m,
		&(struct txn){
			.tid = 10, .copies = 1, .home = {1}, .fill = {0x11}});
	assert_int_equal(maker_replay(m, &r), 0);
	assert_int_equal(r.transactions, 0);
	assert_int_equal(r.next_tid, MAKER_TID);
	EXPECT_HOMES(m, 0, 0);
}

static void test_jnl_replay_of_an_empty_log_does_nothing(void **state)
{
	(void)state;
	each_form(body_empty);
}

static void body_finish(struct maker *m)
{
	struct jnl_replay_result r;

	body_whole(m);
	assert_int_equal(jnl_replay_finish(&m->place, 77), 0);
	assert_int_equal(maker_replay(m, &r), 0);
	assert_int_equal(r.transactions, 0);
	assert_int_equal(r.next_tid, 77);
}

static void test_jnl_replay_finish_leaves_an_empty_log(void **state)
{
	(void)state;
	each_form(body_finish);
}

static void body_again(struct maker *m)
{
	body_whole(m);
	body_whole(m);
}

static void test_jnl_replay_twice_is_replay_once(void **state)
{
	(void)state;
	each_form(body_again);
}

static void test_jnl_replay_of_a_v1_superblock(void **state)
{
	struct maker m;
	struct jnl_replay_result r;

	(void)state;
	maker_open(&m, &maker_forms[0], 0);
	maker_super(&m, MAKER_TID, 1);
	maker_poke(&m, 0, 0x04, 3);          /* version 1 */
	maker_poke(&m, 0, 0x20, 5);          /* error */
	maker_poke(&m, 0, 0x28, UINT32_MAX); /* means nothing there */
	maker_txn(&m,
		&(struct txn){
			.tid = 10, .copies = 1, .home = {1}, .fill = {0x11}});
	assert_int_equal(maker_replay(&m, &r), 0);
	assert_int_equal(r.transactions, 1);
	assert_int_equal(r.error, 5);
	EXPECT_HOMES(&m, 0, 0x11);
	maker_close(&m);
}

/*
 * debugfs sets LAST on the last tag of a transaction only, so a full
 * descriptor block has none.  Behind its last tag here is room for another
 * one without a uuid, but not with it.
 */
static void body_full_descriptor(struct maker *m)
{
	uint32_t each = (m->form.csum == 3 ? 16 : 14) + 16;
	struct txn t = {.tid = MAKER_TID,
		.copies = (1024 - 4 - 12) / each,
		.uuid_each_tag = true,
		.wrong = WRONG_NO_LAST};
	struct txn next = {
		.tid = MAKER_TID, .copies = 1, .home = {1}, .fill = {0x91}};

	if (m->form.block_bytes != 1024 || m->form.csum < 2 || !m->form.wide)
		return;
	for (unsigned i = 0; i < t.copies; i++) {
		t.home[i] = 1 + i;
		t.fill[i] = (uint8_t)(0x10 + i);
	}
	maker_super(m, MAKER_TID, 1);
	t.wrong |= WRONG_NO_COMMIT; /* not yet */
	maker_txn(m, &t);
	maker_txn(m, &next);
	(void)replay_ok(m, 1);
	EXPECT_HOMES(m, 0, 0x91, 0x11, 0x12, 0x13);
	assert_int_equal(maker_home(m, t.copies), 0x10 + t.copies - 1);
}

static void test_jnl_replay_goes_on_behind_a_full_descriptor(void **state)
{
	(void)state;
	each_form(body_full_descriptor);
}

/* ---- revokes ----------------------------------------------------------------- */

static void body_revoke(struct maker *m)
{
	struct jnl_replay_result r;

	maker_super(m, MAKER_TID, 1);
	maker_txn(m, &(struct txn){.tid = 10,
			     .copies = 3,
			     .home = {1, 2, 3},
			     .fill = {0x11, 0x12, 0x13}});
	maker_txn(m, &(struct txn){.tid = 11,
			     .copies = 3,
			     .home = {4, 5, 6},
			     .fill = {0x24, 0x25, 0x26},
			     .revokes = 4,
			     .revoke = {1, 3, 4, 50}});
	maker_txn(m,
		&(struct txn){
			.tid = 12, .copies = 1, .home = {3}, .fill = {0x33}});
	r = replay_ok(m, 3);
	/* 1: older than its revoke; 4: as old; 3: logged again later. */
	EXPECT_HOMES(m, 0, 0, 0x12, 0x33, 0, 0x25, 0x26);
	assert_int_equal(r.revoked, 2);
	assert_int_equal(r.blocks, 4);
}

static void test_jnl_replay_holds_back_what_was_revoked(void **state)
{
	(void)state;
	each_form(body_revoke);
}

static void body_revoke_twice(struct maker *m)
{
	maker_super(m, MAKER_TID, 1);
	maker_txn(m,
		&(struct txn){
			.tid = 10, .copies = 1, .home = {1}, .fill = {0x11}});
	maker_txn(m, &(struct txn){.tid = 11, .revokes = 2, .revoke = {1, 1}});
	maker_txn(m,
		&(struct txn){
			.tid = 12, .copies = 1, .home = {1}, .fill = {0x31}});
	maker_txn(m, &(struct txn){.tid = 13, .revokes = 1, .revoke = {1}});
	(void)replay_ok(m, 4);
	EXPECT_HOMES(m, 0, 0);
}

static void test_jnl_replay_revokes_again_after_a_new_copy(void **state)
{
	(void)state;
	each_form(body_revoke_twice);
}

static void body_revoke_torn(struct maker *m)
{
	maker_super(m, MAKER_TID, 1);
	maker_txn(m,
		&(struct txn){
			.tid = 10, .copies = 1, .home = {1}, .fill = {0x11}});
	maker_txn(m, &(struct txn){.tid = 11,
			     .copies = 1,
			     .home = {2},
			     .fill = {0x22},
			     .revokes = 1,
			     .revoke = {1},
			     .wrong = WRONG_NO_COMMIT});
	(void)replay_ok(m, 1);
	EXPECT_HOMES(m, 0, 0x11, 0);
}

static void test_jnl_replay_ignores_revokes_without_a_commit(void **state)
{
	(void)state;
	each_form(body_revoke_torn);
}

static void test_jnl_replay_compares_64_bit_revokes_whole(void **state)
{
	struct maker m;

	(void)state;
	for (size_t i = 0; i < maker_form_count; i++) {
		if (!maker_forms[i].wide)
			continue;
		maker_open(&m, &maker_forms[i], 0);
		maker_super(&m, MAKER_TID, 1);
		maker_txn(&m, &(struct txn){.tid = 10,
				      .copies = 1,
				      .home = {1},
				      .fill = {0x11}});
		maker_txn(&m, &(struct txn){.tid = 11,
				      .revokes = 1,
				      .revoke = {(UINT64_C(1) << 32) + 1}});
		(void)replay_ok(&m, 2);
		EXPECT_HOMES(&m, 0, 0x11);
		maker_close(&m);
	}
}

/* ---- torn tails -------------------------------------------------------------- */

/* Two whole transactions, then one that is wrong; the two must survive. */
static void torn(struct maker *m, unsigned wrong)
{
	maker_super(m, MAKER_TID, 1);
	maker_txn(m,
		&(struct txn){
			.tid = 10, .copies = 1, .home = {1}, .fill = {0x11}});
	maker_txn(m,
		&(struct txn){
			.tid = 11, .copies = 1, .home = {2}, .fill = {0x22}});
	maker_txn(m, &(struct txn){.tid = 12,
			     .copies = 2,
			     .home = {1, 3},
			     .fill = {0x31, 0x33},
			     .revokes = 1,
			     .revoke = {2},
			     .wrong = wrong});
	(void)replay_ok(m, 2);
	EXPECT_HOMES(m, 0, 0x11, 0x22, 0);
}

static void body_torn_no_commit(struct maker *m)
{
	torn(m, WRONG_NO_COMMIT);
}

static void test_jnl_replay_drops_a_tail_without_commit(void **state)
{
	(void)state;
	each_form(body_torn_no_commit);
}

static void body_torn_commit(struct maker *m)
{
	if (m->form.csum >= 2)
		torn(m, WRONG_COMMIT_TORN);
}

static void test_jnl_replay_drops_a_tail_with_a_torn_commit(void **state)
{
	(void)state;
	each_form(body_torn_commit);
}

static void body_torn_descriptor(struct maker *m)
{
	if (m->form.csum >= 2)
		torn(m, WRONG_DESCRIPTOR_SUM | WRONG_NO_COMMIT);
}

static void test_jnl_replay_drops_a_tail_with_a_torn_descriptor(void **state)
{
	(void)state;
	each_form(body_torn_descriptor);
}

static void body_torn_revoke(struct maker *m)
{
	if (m->form.csum >= 2)
		torn(m, WRONG_REVOKE_SUM | WRONG_NO_COMMIT);
}

static void test_jnl_replay_drops_a_tail_with_a_torn_revoke(void **state)
{
	(void)state;
	each_form(body_torn_revoke);
}

/* Nothing that is intact says that it was ever committed. */
static void body_torn_both(struct maker *m)
{
	if (m->form.csum >= 2)
		torn(m, WRONG_DESCRIPTOR_SUM | WRONG_COMMIT_SUM);
}

static void test_jnl_replay_drops_a_tail_with_no_good_commit(void **state)
{
	(void)state;
	each_form(body_torn_both);
}

static void body_torn_tags(struct maker *m)
{
	torn(m, WRONG_NO_LAST | WRONG_NO_COMMIT);
}

static void test_jnl_replay_drops_a_tail_with_endless_tags(void **state)
{
	(void)state;
	each_form(body_torn_tags);
}

static void body_torn_type(struct maker *m)
{
	torn(m, WRONG_TYPE | WRONG_NO_COMMIT);
}

static void test_jnl_replay_drops_a_tail_of_an_unknown_type(void **state)
{
	(void)state;
	each_form(body_torn_type);
}

/* Blocks of the lap before look right but for their age. */
static void body_stale(struct maker *m)
{
	maker_super(m, MAKER_TID, 1);
	m->at = 4;
	maker_txn(
		m, &(struct txn){
			   .tid = 5, .copies = 1, .home = {5}, .fill = {0x55}});
	m->at = 1;
	maker_txn(m,
		&(struct txn){
			.tid = 10, .copies = 1, .home = {1}, .fill = {0x11}});
	(void)replay_ok(m, 1);
	EXPECT_HOMES(m, 0, 0x11, 0, 0, 0, 0);
}

static void test_jnl_replay_stops_at_an_older_lap(void **state)
{
	(void)state;
	each_form(body_stale);
}

static void body_jump(struct maker *m)
{
	maker_super(m, MAKER_TID, 1);
	maker_txn(m,
		&(struct txn){
			.tid = 10, .copies = 1, .home = {1}, .fill = {0x11}});
	maker_txn(m,
		&(struct txn){
			.tid = 12, .copies = 1, .home = {2}, .fill = {0x22}});
	(void)replay_ok(m, 1);
	EXPECT_HOMES(m, 0, 0x11, 0);
}

static void test_jnl_replay_stops_at_a_jump_of_the_sequence(void **state)
{
	(void)state;
	each_form(body_jump);
}

static void body_old_clock(struct maker *m)
{
	/* A leftover of an earlier life with the very sequence number. */
	if (m->form.csum < 2)
		return;
	torn(m, WRONG_DESCRIPTOR_SUM | WRONG_OLD_CLOCK);
}

static void test_jnl_replay_takes_an_older_clock_for_a_leftover(void **state)
{
	(void)state;
	each_form(body_old_clock);
}

static void body_nothing(struct maker *m)
{
	maker_super(m, MAKER_TID, 1);
	(void)replay_ok(m, 0);
	assert_int_equal(maker_home(m, 1), 0);
}

static void test_jnl_replay_of_a_log_without_any_transaction(void **state)
{
	(void)state;
	each_form(body_nothing);
}

/* ---- asynchronous commit ------------------------------------------------------ */

static void each_async_form(body_fn body)
{
	for (size_t i = 0; i < maker_form_count; i++) {
		struct form form = maker_forms[i];
		struct maker m;

		if (form.csum == 0)
			continue;
		form.async = true;
		maker_open(&m, &form, 0);
		body(&m);
		maker_close(&m);
	}
}

static void body_async_data(struct maker *m)
{
	torn(m, WRONG_DATA);
}

static void test_jnl_replay_async_drops_a_tail_with_torn_data(void **state)
{
	(void)state;
	each_async_form(body_async_data);
}

static void body_async_commit(struct maker *m)
{
	torn(m, WRONG_COMMIT_SUM);
}

static void test_jnl_replay_async_drops_a_tail_with_a_bad_commit(void **state)
{
	(void)state;
	each_async_form(body_async_commit);
}

static void body_async_descriptor(struct maker *m)
{
	if (m->form.csum >= 2)
		torn(m, WRONG_DESCRIPTOR_SUM);
}

static void test_jnl_replay_async_drops_a_tail_with_a_torn_block(void **state)
{
	(void)state;
	each_async_form(body_async_descriptor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jnl_replay_brings_the_newest_copies_home),
		cmocka_unit_test(test_jnl_replay_restores_escaped_blocks),
		cmocka_unit_test(test_jnl_replay_skips_uuids_after_tags),
		cmocka_unit_test(test_jnl_replay_wraps_between_transactions),
		cmocka_unit_test(test_jnl_replay_wraps_inside_a_transaction),
		cmocka_unit_test(test_jnl_replay_of_a_full_ring_stops),
		cmocka_unit_test(test_jnl_replay_follows_tids_through_zero),
		cmocka_unit_test(test_jnl_replay_of_an_empty_log_does_nothing),
		cmocka_unit_test(test_jnl_replay_finish_leaves_an_empty_log),
		cmocka_unit_test(test_jnl_replay_twice_is_replay_once),
		cmocka_unit_test(test_jnl_replay_of_a_v1_superblock),
		cmocka_unit_test(
			test_jnl_replay_goes_on_behind_a_full_descriptor),
		cmocka_unit_test(test_jnl_replay_holds_back_what_was_revoked),
		cmocka_unit_test(
			test_jnl_replay_revokes_again_after_a_new_copy),
		cmocka_unit_test(
			test_jnl_replay_ignores_revokes_without_a_commit),
		cmocka_unit_test(test_jnl_replay_compares_64_bit_revokes_whole),
		cmocka_unit_test(test_jnl_replay_drops_a_tail_without_commit),
		cmocka_unit_test(
			test_jnl_replay_drops_a_tail_with_a_torn_commit),
		cmocka_unit_test(
			test_jnl_replay_drops_a_tail_with_a_torn_descriptor),
		cmocka_unit_test(
			test_jnl_replay_drops_a_tail_with_a_torn_revoke),
		cmocka_unit_test(
			test_jnl_replay_drops_a_tail_with_no_good_commit),
		cmocka_unit_test(
			test_jnl_replay_drops_a_tail_with_endless_tags),
		cmocka_unit_test(
			test_jnl_replay_drops_a_tail_of_an_unknown_type),
		cmocka_unit_test(test_jnl_replay_stops_at_an_older_lap),
		cmocka_unit_test(
			test_jnl_replay_stops_at_a_jump_of_the_sequence),
		cmocka_unit_test(
			test_jnl_replay_takes_an_older_clock_for_a_leftover),
		cmocka_unit_test(
			test_jnl_replay_of_a_log_without_any_transaction),
		cmocka_unit_test(
			test_jnl_replay_async_drops_a_tail_with_torn_data),
		cmocka_unit_test(
			test_jnl_replay_async_drops_a_tail_with_a_bad_commit),
		cmocka_unit_test(
			test_jnl_replay_async_drops_a_tail_with_a_torn_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
