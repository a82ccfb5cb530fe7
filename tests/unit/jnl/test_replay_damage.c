/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replay of logs that no power cut left: damage and malice get an exact error,
 * a reason, and nothing at home.
 */
#include <errno.h>
#include <string.h>

#include "../cmocka_all.h"
#include "jnl/codec.h"
#include "logmaker.h"

static void expect_refused(struct maker *m, int error, const char *reason)
{
	struct jnl_replay_result r;
	int err = maker_replay(m, &r);

	if (err != error || strstr(r.why, reason) == NULL)
		fail_msg("%s: error %d instead of %d: %s", m->form.name, err,
			error, r.why);
	for (blk_no home = 0; home < 8; home++)
		assert_int_equal(maker_home(m, home), 0);
}

static struct txn first_txn(void)
{
	return (struct txn){
		.tid = 10, .copies = 1, .home = {1}, .fill = {0x11}};
}

static struct txn wrong_txn(unsigned wrong)
{
	return (struct txn){.tid = 11,
		.copies = 2,
		.home = {2, 3},
		.fill = {0x22, 0x23},
		.revokes = 1,
		.revoke = {7},
		.wrong = wrong};
}

static struct txn last_txn(void)
{
	return (struct txn){
		.tid = 12, .copies = 1, .home = {4}, .fill = {0x34}};
}

enum which { WITH_LAST, WITHOUT_LAST };

/* A bad transaction, followed by a good one or by none. */
static void damaged(const struct form *form, unsigned wrong, enum which which,
	int error, const char *reason)
{
	struct txn first = first_txn();
	struct txn bad = wrong_txn(wrong);
	struct txn last = last_txn();
	struct maker m;

	maker_open(&m, form, 0);
	maker_super(&m, MAKER_TID, 1);
	maker_txn(&m, &first);
	maker_txn(&m, &bad);
	if (which == WITH_LAST)
		maker_txn(&m, &last);
	expect_refused(&m, error, reason);
	maker_close(&m);
}

/* The form after @form (NULL: the first) with checksum version @csum or more. */
static const struct form *next_form(const struct form *form, int csum)
{
	form = form == NULL ? maker_forms : form + 1;
	while (form < maker_forms + maker_form_count && form->csum < csum)
		form++;
	return form < maker_forms + maker_form_count ? form : NULL;
}

/* damaged() for each such form. */
static void each_damaged(int csum, unsigned wrong, enum which which, int error,
	const char *reason)
{
	const struct form *form = NULL;

	while ((form = next_form(form, csum)) != NULL)
		damaged(form, wrong, which, error, reason);
}

/* ---- checksums -------------------------------------------------------------- */

static void test_jnl_replay_bad_descriptor_in_the_middle_is_ebadmsg(
	void **state)
{
	(void)state;
	each_damaged(2, WRONG_DESCRIPTOR_SUM, WITH_LAST, -EBADMSG,
		"transaction 11 is damaged: bad block checksum");
}

static void test_jnl_replay_bad_descriptor_before_its_commit_is_ebadmsg(
	void **state)
{
	(void)state;
	each_damaged(2, WRONG_DESCRIPTOR_SUM, WITHOUT_LAST, -EBADMSG,
		"transaction 11 is damaged: bad block checksum");
}

static void test_jnl_replay_bad_revoke_before_its_commit_is_ebadmsg(
	void **state)
{
	(void)state;
	each_damaged(2, WRONG_REVOKE_SUM, WITHOUT_LAST, -EBADMSG,
		"transaction 11 is damaged: bad block checksum");
}

static void test_jnl_replay_bad_commit_in_the_middle_is_ebadmsg(void **state)
{
	(void)state;
	each_damaged(1, WRONG_COMMIT_SUM, WITH_LAST, -EBADMSG,
		"transaction 11 is damaged: bad c");
}

static void test_jnl_replay_torn_commit_in_the_middle_is_ebadmsg(void **state)
{
	(void)state;
	each_damaged(2, WRONG_COMMIT_TORN, WITH_LAST, -EBADMSG,
		"transaction 11 is damaged: bad commit block");
}

static void test_jnl_replay_bad_last_commit_that_is_whole_is_ebadmsg(
	void **state)
{
	(void)state;
	each_damaged(1, WRONG_COMMIT_SUM, WITHOUT_LAST, -EBADMSG,
		"transaction 11 is damaged: bad c");
}

static void test_jnl_replay_v1_bad_data_is_ebadmsg(void **state)
{
	const struct form *form = NULL;

	(void)state;
	while ((form = next_form(form, 1)) != NULL)
		if (form->csum == 1)
			damaged(form, WRONG_DATA, WITHOUT_LAST, -EBADMSG,
				"bad checksum over its blocks");
}

static void test_jnl_replay_bad_copy_is_ebadmsg(void **state)
{
	const struct form *form = NULL;

	(void)state;
	while ((form = next_form(form, 2)) != NULL) {
		damaged(form, WRONG_DATA, WITH_LAST, -EBADMSG,
			"bad copy of block 3");
		damaged(form, WRONG_DATA, WITHOUT_LAST, -EBADMSG,
			"bad copy of block 3");
		damaged(form, WRONG_TAG_SUM, WITHOUT_LAST, -EBADMSG,
			"bad copy of block 3");
	}
}

static void test_jnl_replay_async_damage_in_the_middle_is_ebadmsg(void **state)
{
	static const unsigned wrong[] = {WRONG_DATA, WRONG_COMMIT_SUM,
		WRONG_DESCRIPTOR_SUM, WRONG_REVOKE_SUM};

	const struct form *form = NULL;

	(void)state;
	while ((form = next_form(form, 2)) != NULL) {
		struct form async = *form;

		async.async = true;
		for (size_t i = 0; i < ARRAY_COUNT(wrong); i++)
			damaged(&async, wrong[i], WITH_LAST, -EBADMSG,
				"transaction 11 is damaged");
	}
}

/* A bad copy that is not needed does no harm. */
static void test_jnl_replay_bad_copy_that_was_revoked_is_fine(void **state)
{
	const struct form *form = NULL;

	(void)state;
	while ((form = next_form(form, 2)) != NULL) {
		struct txn first = first_txn();
		struct txn bad = wrong_txn(WRONG_DATA);
		struct txn last = last_txn();
		struct jnl_replay_result r;
		struct maker m;

		last.revokes = 1;
		last.revoke[0] = 3;
		maker_open(&m, form, 0);
		maker_super(&m, MAKER_TID, 1);
		maker_txn(&m, &first);
		maker_txn(&m, &bad);
		maker_txn(&m, &last);
		assert_int_equal(maker_replay(&m, &r), 0);
		assert_int_equal(r.transactions, 3);
		assert_int_equal(maker_home(&m, 2), 0x22);
		assert_int_equal(maker_home(&m, 3), 0);
		maker_close(&m);
	}
}

/* ---- structure ----------------------------------------------------------------- */

/*
 * Without a last flag the zeroes behind count as tags, as far as the block
 * goes; the commit block is then where a copy should be.
 */
static void test_jnl_replay_endless_tags_hide_their_commit(void **state)
{
	const struct form *form = NULL;

	(void)state;
	while ((form = next_form(form, 0)) != NULL) {
		struct txn first = first_txn();
		struct txn bad = wrong_txn(WRONG_NO_LAST);
		struct jnl_replay_result r;
		struct maker m;
		int err;

		maker_open(&m, form, 0);
		maker_super(&m, MAKER_TID, 1);
		maker_txn(&m, &first);
		maker_txn(&m, &bad);
		err = maker_replay(&m, &r);
		assert_true(err == 0 || err == -EUCLEAN);
		assert_int_equal(maker_home(&m, 1), err ? 0 : 0x11);
		assert_int_equal(maker_home(&m, 2), 0);
		assert_int_equal(maker_home(&m, 3), 0);
		maker_close(&m);
	}
}

static void test_jnl_replay_absurd_revoke_lengths_are_euclean(void **state)
{
	const struct form *form = NULL;

	(void)state;
	while ((form = next_form(form, 0)) != NULL) {
		damaged(form, WRONG_REVOKE_LONG, WITHOUT_LAST, -EUCLEAN,
			"its length makes no sense");
		damaged(form, WRONG_REVOKE_SHORT, WITHOUT_LAST, -EUCLEAN,
			"its length makes no sense");
	}
}

static void test_jnl_replay_unknown_type_is_euclean(void **state)
{
	(void)state;
	each_damaged(0, WRONG_TYPE, WITHOUT_LAST, -EUCLEAN,
		"it has an unknown type");
}

static void test_jnl_replay_superblock_in_the_ring_is_euclean(void **state)
{
	const struct form *form = NULL;

	(void)state;
	while ((form = next_form(form, 0)) != NULL) {
		struct txn first = first_txn();
		struct txn second = wrong_txn(0);
		struct maker m;

		maker_open(&m, form, 0);
		maker_super(&m, MAKER_TID, 1);
		maker_txn(&m, &first);
		second.revokes = 0;
		maker_txn(&m, &second);
		maker_poke(&m, 4, 4, 4); /* second's descriptor */
		expect_refused(&m, -EUCLEAN, "a superblock");
		maker_close(&m);
	}
}

static void one_bad_home(
	const struct form *form, blk_no home, int error, const char *reason)
{
	struct txn t = first_txn();
	struct maker m;

	t.copies = 2;
	t.fill[1] = 0x12;
	t.home[1] = home;
	maker_open(&m, form, 0);
	maker_super(&m, MAKER_TID, 1);
	maker_txn(&m, &t);
	expect_refused(&m, error, reason);
	maker_close(&m);
}

static void test_jnl_replay_copy_beyond_the_end_is_euclean(void **state)
{
	const struct form *form = NULL;

	(void)state;
	while ((form = next_form(form, 0)) != NULL) {
		one_bad_home(form, MAKER_BLOCKS, -EUCLEAN,
			"beyond the end of the file system");
		one_bad_home(form, UINT32_MAX, -EUCLEAN,
			"beyond the end of the file system");
		if (form->wide)
			one_bad_home(form, UINT64_C(1) << 32, -EUCLEAN,
				"beyond the end of the file system");
	}
}

static void replay_into_log(blk_no home)
{
	static const struct jnl_replay_sink nowhere = {NULL};
	struct txn t = first_txn();
	struct jnl_replay_result r;
	struct maker m;

	t.home[0] = home;
	maker_open(&m, &maker_forms[7], 0);
	maker_super(&m, MAKER_TID, 1);
	maker_txn(&m, &t);
	/* As if the file system went on behind its journal. */
	assert_int_equal(jnl_replay(&m.place, UINT64_C(10) * MAKER_BLOCKS,
				 &nowhere, NULL, &r),
		-EUCLEAN);
	assert_non_null(strstr(r.why, "in the journal itself"));
	/* An external journal has no blocks among these. */
	m.place.external = true;
	assert_int_equal(
		jnl_replay(&m.place, home, &nowhere, NULL, &r), -EUCLEAN);
	assert_non_null(strstr(r.why, "beyond the end"));
	assert_int_equal(jnl_replay(&m.place, UINT64_C(10) * MAKER_BLOCKS,
				 &nowhere, NULL, &r),
		0);
	maker_close(&m);
}

static void test_jnl_replay_copy_into_the_journal_is_euclean(void **state)
{
	(void)state;
	replay_into_log(MAKER_HOMES);
	replay_into_log(MAKER_HOMES + MAKER_LOG / 2);
	replay_into_log(MAKER_BLOCKS - 1);
}

/* Bad places in a transaction that never committed are nobody's business. */
static void test_jnl_replay_bad_home_in_a_torn_tail_is_fine(void **state)
{
	const struct form *form = NULL;

	(void)state;
	while ((form = next_form(form, 0)) != NULL) {
		struct txn t = first_txn();
		struct jnl_replay_result r;
		struct maker m;

		t.home[0] = UINT32_MAX;
		t.wrong = WRONG_NO_COMMIT;
		maker_open(&m, form, 0);
		maker_super(&m, MAKER_TID, 1);
		maker_txn(&m, &t);
		assert_int_equal(maker_replay(&m, &r), 0);
		assert_int_equal(r.transactions, 0);
		maker_close(&m);
	}
}

/*
 * A descriptor block with @tags copies.  If they fill the ring up to it, the
 * next block of its transaction would be it again.
 */
static void put_descriptor(struct maker *m, uint32_t tags)
{
	const struct form *form = &m->form;
	struct jnl_super sb = {.block_bytes = form->block_bytes,
		.csum_v23 = form->csum >= 2,
		.csum_v3 = form->csum == 3,
		.wide = form->wide};
	uint8_t *block = test_calloc(1, form->block_bytes);
	uint32_t at = 12;

	jnl_header_encode(block, JBD_DESCRIPTOR, MAKER_TID);
	for (uint32_t i = 0; i < tags; i++) {
		struct jnl_tag tag = {1,
			JBD_TAG_SAME_UUID | (i + 1 == tags ? JBD_TAG_LAST : 0),
			0};

		jnl_tag_encode(&sb, block, &at, &tag);
	}
	maker_write(m, 1, block);
	maker_reseal(m, 1);
	test_free(block);
}

static void loop(const struct form *form, uint32_t tags)
{
	struct jnl_replay_result r;
	struct maker m;

	maker_open(&m, form, 0);
	maker_super(&m, MAKER_TID, 1);
	put_descriptor(&m, tags);
	assert_int_equal(maker_replay(&m, &r), 0);
	assert_int_equal(r.transactions, 0);
	maker_close(&m);
}

static void test_jnl_replay_of_a_loop_stops(void **state)
{
	const struct form *form = NULL;

	(void)state;
	while ((form = next_form(form, 0)) != NULL) {
		loop(form, MAKER_LOG - 2);  /* back to itself */
		loop(form, MAKER_LOG - 1);  /* over itself */
		loop(form, MAKER_LOG + 10); /* and on */
	}
}

/* All of the ring is one transaction's, round and round. */
static void test_jnl_replay_of_a_ring_of_revokes_stops(void **state)
{
	const struct form *form = NULL;

	(void)state;
	while ((form = next_form(form, 0)) != NULL) {
		struct txn t = {.tid = MAKER_TID,
			.revokes = 1,
			.revoke = {1},
			.wrong = WRONG_NO_COMMIT};
		struct jnl_replay_result r;
		struct maker m;

		maker_open(&m, form, 0);
		maker_super(&m, MAKER_TID, 1);
		for (unsigned i = 1; i < MAKER_LOG; i++)
			maker_txn(&m, &t);
		assert_int_equal(m.at, 1);
		assert_int_equal(maker_replay(&m, &r), 0);
		assert_int_equal(r.transactions, 0);
		assert_non_null(strstr(r.why, "the ring is full"));
		maker_close(&m);
	}
}

static void test_jnl_replay_absurd_count_of_copies_is_euclean(void **state)
{
	const struct form *form = NULL;

	(void)state;
	while ((form = next_form(form, 0)) != NULL) {
		struct txn committed = {.tid = MAKER_TID};
		struct maker m;

		maker_open(&m, form, 0);
		maker_super(&m, MAKER_TID, 1);
		put_descriptor(&m, MAKER_LOG + 10);
		m.at = 5;
		maker_txn(&m, &committed);
		expect_refused(
			&m, -EUCLEAN, "more blocks than the journal has");
		maker_close(&m);
	}
}

/* ---- place and superblock -------------------------------------------------------- */

static void expect_place_error(struct maker *m, int error)
{
	struct jnl_replay_result r;

	assert_int_equal(maker_replay(m, &r), error);
	assert_true(r.why[0] != '\0');
}

static void test_jnl_replay_map_off_the_device_is_euclean(void **state)
{
	struct maker m;

	(void)state;
	maker_open(&m, &maker_forms[0], 0);
	maker_super(&m, MAKER_TID, 1);
	m.map[1].dev = MAKER_BLOCKS;
	expect_place_error(&m, -EUCLEAN);
	m.map[1].dev = MAKER_BLOCKS - 1;
	expect_place_error(&m, -EUCLEAN);
	m.map[1].dev = UINT64_MAX;
	expect_place_error(&m, -EUCLEAN);
	m.map[1].dev = MAKER_HOMES;
	m.map[1].log++; /* a hole */
	expect_place_error(&m, -EUCLEAN);
	m.map[1].log--;
	m.map[1].count = 0;
	expect_place_error(&m, -EUCLEAN);
	m.place.map_count = 0;
	expect_place_error(&m, -EUCLEAN);
	maker_close(&m);
}

static void test_jnl_replay_bad_superblock_is_refused(void **state)
{
	struct maker m;

	(void)state;
	maker_open(&m, &maker_forms[7], 0);
	maker_super(&m, MAKER_TID, 1);
	maker_poke(&m, 0, 0x18, 11);
	expect_place_error(&m, -EBADMSG);
	assert_int_equal(jnl_replay_finish(&m.place, 11), -EBADMSG);
	maker_poke(&m, 0, 0x10, MAKER_LOG + 1);
	expect_place_error(&m, -EUCLEAN);
	assert_int_equal(jnl_replay_finish(&m.place, 11), -EUCLEAN);
	m.place.block_bytes = 512;
	expect_place_error(&m, -EINVAL);
	maker_close(&m);
}

/* ---- the device and the sink -------------------------------------------------------- */

static int refuse_block(void *arg, blk_no home, const void *data)
{
	unsigned *left = arg;

	(void)home;
	(void)data;
	return (*left)-- == 0 ? -ENOSPC : 0;
}

static void test_jnl_replay_reports_what_the_sink_says(void **state)
{
	static const struct jnl_replay_sink sink = {.block = refuse_block};
	struct txn t = wrong_txn(0);
	struct jnl_replay_result r;
	struct maker m;
	unsigned left = 1;

	(void)state;
	t.tid = MAKER_TID;
	maker_open(&m, &maker_forms[3], 0);
	maker_super(&m, MAKER_TID, 1);
	maker_txn(&m, &t);
	assert_int_equal(
		jnl_replay(&m.place, MAKER_HOMES, &sink, &left, &r), -ENOSPC);
	assert_non_null(strstr(r.why, "cannot be brought home"));
	maker_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_jnl_replay_bad_descriptor_in_the_middle_is_ebadmsg),
		cmocka_unit_test(
			test_jnl_replay_bad_descriptor_before_its_commit_is_ebadmsg),
		cmocka_unit_test(
			test_jnl_replay_bad_revoke_before_its_commit_is_ebadmsg),
		cmocka_unit_test(
			test_jnl_replay_bad_commit_in_the_middle_is_ebadmsg),
		cmocka_unit_test(
			test_jnl_replay_torn_commit_in_the_middle_is_ebadmsg),
		cmocka_unit_test(
			test_jnl_replay_bad_last_commit_that_is_whole_is_ebadmsg),
		cmocka_unit_test(test_jnl_replay_v1_bad_data_is_ebadmsg),
		cmocka_unit_test(test_jnl_replay_bad_copy_is_ebadmsg),
		cmocka_unit_test(
			test_jnl_replay_async_damage_in_the_middle_is_ebadmsg),
		cmocka_unit_test(
			test_jnl_replay_bad_copy_that_was_revoked_is_fine),
		cmocka_unit_test(
			test_jnl_replay_endless_tags_hide_their_commit),
		cmocka_unit_test(
			test_jnl_replay_absurd_revoke_lengths_are_euclean),
		cmocka_unit_test(test_jnl_replay_unknown_type_is_euclean),
		cmocka_unit_test(
			test_jnl_replay_superblock_in_the_ring_is_euclean),
		cmocka_unit_test(
			test_jnl_replay_copy_beyond_the_end_is_euclean),
		cmocka_unit_test(
			test_jnl_replay_copy_into_the_journal_is_euclean),
		cmocka_unit_test(
			test_jnl_replay_bad_home_in_a_torn_tail_is_fine),
		cmocka_unit_test(test_jnl_replay_of_a_loop_stops),
		cmocka_unit_test(test_jnl_replay_of_a_ring_of_revokes_stops),
		cmocka_unit_test(
			test_jnl_replay_absurd_count_of_copies_is_euclean),
		cmocka_unit_test(test_jnl_replay_map_off_the_device_is_euclean),
		cmocka_unit_test(test_jnl_replay_bad_superblock_is_refused),
		cmocka_unit_test(test_jnl_replay_reports_what_the_sink_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
