/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast-commit area: which records count, and which no longer.
 *
 * Records are laid down here byte by byte, as they were found in logs that
 * Linux 6.18 wrote; those of test_jnl_fast_of_linux_is_read are its own.
 */
#include <errno.h>
#include <string.h>

#include "../cmocka_all.h"
#include "base/crc32c.h"
#include "logmaker.h"

enum {
	FC_BLOCKS = 8,
	FC_FIRST = MAKER_LOG - FC_BLOCKS + 1, /* one block stays unused */
	FC_TID = MAKER_TID + 1,
	BLOCK = 4096,
	TAG_LINK = 4,
	TAG_PAD = 7,
	TAG_TAIL = 8,
	TAG_HEAD = 9,
	BODY = 24, /* of each LINK record here */
};

/* A writer of fast commits. */
struct fc {
	struct maker *m;
	uint8_t block[BLOCK];
	uint32_t at;
	uint32_t offset;
	uint32_t crc;
};

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, value);
	put16(at + 2, value >> 16);
}

static void fc_begin(struct fc *f, struct maker *m)
{
	memset(f, 0, sizeof(*f));
	f->m = m;
	f->at = FC_FIRST;
}

static void fc_store(struct fc *f)
{
	maker_write(f->m, f->at++, f->block);
	memset(f->block, 0, BLOCK);
	f->offset = 0;
}

/* A record of @bytes, of which the first are @body's. */
static void fc_put(struct fc *f, uint32_t tag, uint32_t bytes,
	const uint8_t *body, uint32_t body_bytes)
{
	uint8_t *at = f->block + f->offset;

	put16(at, tag);
	put16(at + 2, bytes);
	if (body_bytes > 0)
		memcpy(at + 4, body, body_bytes);
	f->crc = crc32c(f->crc, at, 4 + bytes);
	f->offset += 4 + bytes;
}

static void fc_head(struct fc *f, uint32_t features, jnl_tid tid)
{
	uint8_t body[8];

	put32(body, features);
	put32(body + 4, tid);
	fc_put(f, TAG_HEAD, 8, body, 8);
}

static void fc_link(struct fc *f, uint8_t fill)
{
	uint8_t body[BODY];

	memset(body, fill, BODY);
	fc_put(f, TAG_LINK, BODY, body, BODY);
}

/* Fill the block up and go on in the next. */
static void fc_pad(struct fc *f)
{
	fc_put(f, TAG_PAD, BLOCK - f->offset - 4, NULL, 0);
	fc_store(f);
}

static void fc_tail(struct fc *f, jnl_tid tid, uint32_t flip)
{
	uint8_t *at = f->block + f->offset;

	put16(at, TAG_TAIL);
	put16(at + 2, BLOCK - f->offset - 4);
	put32(at + 4, tid);
	put32(at + 8, crc32c(f->crc, at, 8) ^ flip);
	f->crc = 0;
	fc_store(f);
}

/* What the sink was told. */
struct told {
	struct maker *m;
	unsigned count;
	uint8_t fill[16];
};

static int tell_block(void *arg, blk_no home, const void *data)
{
	(void)arg;
	(void)home;
	(void)data;
	return 0;
}

static int tell_fast(void *arg, uint16_t tag, const void *body, uint32_t bytes)
{
	struct told *t = arg;

	assert_int_equal(tag, TAG_LINK);
	assert_int_equal(bytes, BODY);
	assert_true(t->count < ARRAY_COUNT(t->fill));
	t->fill[t->count++] = *(const uint8_t *)body;
	return 0;
}

static const struct jnl_replay_sink telling = {tell_block, tell_fast};

static const struct form form = {"fast", 3, true, BLOCK, false};

/* A log with one full commit, MAKER_TID, and an empty area. */
static void open_log(struct maker *m)
{
	maker_open(m, &form, FC_BLOCKS);
	maker_super(m, MAKER_TID, 1);
	maker_txn(m, &(struct txn){.tid = MAKER_TID,
			     .copies = 1,
			     .home = {1},
			     .fill = {0x11}});
}

static struct told replay_fast(struct maker *m)
{
	struct jnl_replay_result r;
	struct told told = {.m = m};

	assert_int_equal(
		jnl_replay(&m->place, MAKER_HOMES, &telling, &told, &r), 0);
	assert_int_equal(r.transactions, 1);
	assert_int_equal(r.next_tid, FC_TID + 1);
	assert_int_equal(r.fast_records, told.count);
	return told;
}

static void expect_told(struct maker *m, const char *fills)
{
	struct told told = replay_fast(m);

	assert_int_equal(told.count, strlen(fills));
	assert_memory_equal(told.fill, fills, told.count);
	maker_close(m);
}

static void test_jnl_fast_commits_are_handed_over_in_order(void **state)
{
	struct maker m;
	struct fc f;

	(void)state;
	open_log(&m);
	fc_begin(&f, &m);
	fc_head(&f, 0, FC_TID);
	fc_link(&f, 'a');
	fc_link(&f, 'b');
	fc_tail(&f, FC_TID, 0);
	fc_link(&f, 'c');
	fc_tail(&f, FC_TID, 0);
	expect_told(&m, "abc");
}

static void test_jnl_fast_commit_goes_on_behind_padding(void **state)
{
	struct maker m;
	struct fc f;

	(void)state;
	open_log(&m);
	fc_begin(&f, &m);
	fc_head(&f, 0, FC_TID);
	fc_link(&f, 'a');
	fc_pad(&f);
	fc_link(&f, 'b');
	fc_pad(&f);
	fc_tail(&f, FC_TID, 0);
	expect_told(&m, "ab");
}

static void test_jnl_fast_commit_fills_the_whole_area(void **state)
{
	struct maker m;
	struct fc f;

	(void)state;
	open_log(&m);
	fc_begin(&f, &m);
	fc_head(&f, 0, FC_TID);
	for (int i = 0; i < FC_BLOCKS - 1; i++) {
		fc_link(&f, (uint8_t)('a' + i));
		fc_tail(&f, FC_TID, 0);
	}
	assert_int_equal(f.at, MAKER_LOG);
	expect_told(&m, "abcdefg");
}

static void test_jnl_fast_commit_without_tail_is_dropped(void **state)
{
	struct maker m;
	struct fc f;

	(void)state;
	open_log(&m);
	fc_begin(&f, &m);
	fc_head(&f, 0, FC_TID);
	fc_link(&f, 'a');
	fc_tail(&f, FC_TID, 0);
	fc_link(&f, 'b');
	fc_store(&f);
	expect_told(&m, "a");
}

static void test_jnl_fast_commit_with_a_bad_checksum_ends_them(void **state)
{
	struct maker m;
	struct fc f;

	(void)state;
	open_log(&m);
	fc_begin(&f, &m);
	fc_head(&f, 0, FC_TID);
	fc_link(&f, 'a');
	fc_tail(&f, FC_TID, 0);
	fc_link(&f, 'b');
	fc_tail(&f, FC_TID, 1);
	fc_link(&f, 'c');
	fc_tail(&f, FC_TID, 0);
	expect_told(&m, "a");
}

static void test_jnl_fast_commits_of_other_tids_are_ignored(void **state)
{
	struct maker m;
	struct fc f;

	(void)state;
	open_log(&m);
	fc_begin(&f, &m);
	fc_head(&f, 0, MAKER_TID); /* committed in full since */
	fc_link(&f, 'a');
	fc_tail(&f, MAKER_TID, 0);
	expect_told(&m, "");

	/* The new ones overwrote the first of the old. */
	open_log(&m);
	fc_begin(&f, &m);
	fc_head(&f, 0, FC_TID);
	fc_link(&f, 'a');
	fc_tail(&f, FC_TID, 0);
	fc_link(&f, 'b');
	fc_tail(&f, MAKER_TID, 0);
	expect_told(&m, "a");
}

static void test_jnl_fast_commits_without_head_are_ignored(void **state)
{
	struct maker m;
	struct fc f;

	(void)state;
	open_log(&m);
	fc_begin(&f, &m);
	fc_link(&f, 'a');
	fc_tail(&f, FC_TID, 0);
	expect_told(&m, "");
}

static void test_jnl_fast_commits_with_unknown_features_are_eopnotsupp(
	void **state)
{
	struct jnl_replay_result r;
	struct told told;
	struct maker m;
	struct fc f;

	(void)state;
	open_log(&m);
	fc_begin(&f, &m);
	fc_head(&f, 2, FC_TID);
	fc_link(&f, 'a');
	fc_tail(&f, FC_TID, 0);
	assert_int_equal(jnl_replay(&m.place, MAKER_HOMES, &telling, &told, &r),
		-EOPNOTSUPP);
	assert_non_null(strstr(r.why, "features 0x2"));
	maker_close(&m);

	/* ... unless they never committed. */
	open_log(&m);
	fc_begin(&f, &m);
	fc_head(&f, 2, FC_TID);
	fc_link(&f, 'a');
	fc_tail(&f, FC_TID, 1);
	expect_told(&m, "");
}

static void test_jnl_fast_records_that_make_no_sense_end_them(void **state)
{
	static const struct {
		uint16_t tag;
		uint16_t bytes;
	} bad[] = {{0, 8}, {10, 8}, {UINT16_MAX, 8}, {TAG_LINK, BLOCK},
		{TAG_LINK, UINT16_MAX}, {TAG_TAIL, 7}, {TAG_HEAD, 7}};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		struct maker m;
		struct fc f;

		open_log(&m);
		fc_begin(&f, &m);
		fc_head(&f, 0, FC_TID);
		fc_link(&f, 'a');
		fc_tail(&f, FC_TID, 0);
		fc_link(&f, 'b');
		put16(f.block + f.offset, bad[i].tag);
		put16(f.block + f.offset + 2, bad[i].bytes);
		fc_store(&f);
		expect_told(&m, "a");
	}
}

static void test_jnl_fast_commits_of_an_empty_log_are_ignored(void **state)
{
	struct jnl_replay_result r;
	struct maker m;
	struct fc f;

	(void)state;
	open_log(&m);
	fc_begin(&f, &m);
	fc_head(&f, 0, FC_TID);
	fc_link(&f, 'a');
	fc_tail(&f, FC_TID, 0);
	maker_super(&m, FC_TID, 0);
	assert_int_equal(
		jnl_replay(&m.place, MAKER_HOMES, &telling, NULL, &r), 0);
	assert_int_equal(r.fast_records, 0);
	maker_close(&m);
}

static void test_jnl_fast_sink_may_refuse(void **state)
{
	static const struct jnl_replay_sink counting = {tell_block, NULL};
	struct jnl_replay_result r;
	struct maker m;
	struct fc f;

	(void)state;
	open_log(&m);
	fc_begin(&f, &m);
	fc_head(&f, 0, FC_TID);
	fc_link(&f, 'a');
	fc_link(&f, 'b');
	fc_tail(&f, FC_TID, 0);
	assert_int_equal(
		jnl_replay(&m.place, MAKER_HOMES, &counting, NULL, &r), 0);
	assert_int_equal(r.fast_records, 2);
	maker_close(&m);
}

/*
 * The area as Linux 6.18 wrote it for "create f1, fsync" after transaction 2:
 * HEAD, INODE, ADD_RANGE, CREATE, INODE, TAIL; the rest is zero.
 */
/* clang-format off */
static const uint8_t linux_area[] = {
	0x09, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00,
	0x06, 0x00, 0xa4, 0x00, 0x0d, 0x00, 0x00, 0x00, 0xa4, 0x81, 0x00, 0x00,
	0x07, 0x00, 0x00, 0x00, 0x40, 0xf3, 0x0d, 0x6b, 0x40, 0xf3, 0x0d, 0x6b,
	0x40, 0xf3, 0x0d, 0x6b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00,
	0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x01, 0x00, 0x00, 0x00,
	0x0a, 0xf3, 0x01, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x22, 0x08, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x4e, 0x85, 0x3f, 0x7e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x0e, 0x4e, 0x00, 0x00, 0x20, 0x00, 0xbf, 0xbc, 0xfc, 0x99, 0x5f, 0xbf,
	0xfc, 0x99, 0x5f, 0xbf, 0xfc, 0x99, 0x5f, 0xbf, 0x40, 0xf3, 0x0d, 0x6b,
	0xfc, 0x99, 0x5f, 0xbf, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x01, 0x00, 0x10, 0x00, 0x0d, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x01, 0x00, 0x00, 0x00, 0x22, 0x08, 0x00, 0x00, 0x03, 0x00, 0x0a, 0x00,
	0x02, 0x00, 0x00, 0x00, 0x0d, 0x00, 0x00, 0x00, 0x66, 0x31, 0x06, 0x00,
	0xa4, 0x00, 0x0d, 0x00, 0x00, 0x00, 0xa4, 0x81, 0x00, 0x00, 0x07, 0x00,
	0x00, 0x00, 0x40, 0xf3, 0x0d, 0x6b, 0x40, 0xf3, 0x0d, 0x6b, 0x40, 0xf3,
	0x0d, 0x6b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x08, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x01, 0x00, 0x00, 0x00, 0x0a, 0xf3,
	0x01, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x22, 0x08, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x4e, 0x85,
	0x3f, 0x7e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0e, 0x4e,
	0x00, 0x00, 0x20, 0x00, 0xbf, 0xbc, 0xfc, 0x99, 0x5f, 0xbf, 0xfc, 0x99,
	0x5f, 0xbf, 0xfc, 0x99, 0x5f, 0xbf, 0x40, 0xf3, 0x0d, 0x6b, 0xfc, 0x99,
	0x5f, 0xbf, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00,
	0x7e, 0x0e, 0x03, 0x00, 0x00, 0x00, 0x2f, 0x29, 0xe5, 0x93,
};

/* clang-format on */

static int count_tags(void *arg, uint16_t tag, const void *body, uint32_t bytes)
{
	unsigned *tags = arg;

	(void)body;
	(void)bytes;
	assert_true(tag < 10);
	tags[tag]++;
	return 0;
}

static void test_jnl_fast_of_linux_is_read(void **state)
{
	static const struct jnl_replay_sink sink = {tell_block, NULL};
	static const struct jnl_replay_sink counter = {NULL, count_tags};
	unsigned tags[10] = {0};
	uint8_t block[BLOCK] = {0};
	struct jnl_replay_result r;
	struct maker m;

	(void)state;
	maker_open(&m, &form, FC_BLOCKS);
	maker_super(&m, 2, 1);
	maker_txn(&m,
		&(struct txn){
			.tid = 2, .copies = 1, .home = {1}, .fill = {0x11}});
	memcpy(block, linux_area, sizeof(linux_area));
	maker_write(&m, FC_FIRST, block);
	assert_int_equal(jnl_replay(&m.place, MAKER_HOMES, &sink, NULL, &r), 0);
	assert_int_equal(r.fast_records, 4);
	assert_int_equal(
		jnl_replay(&m.place, MAKER_HOMES, &counter, tags, &r), 0);
	assert_int_equal(tags[1], 1);
	assert_int_equal(tags[3], 1);
	assert_int_equal(tags[6], 2);
	maker_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_jnl_fast_commits_are_handed_over_in_order),
		cmocka_unit_test(test_jnl_fast_commit_goes_on_behind_padding),
		cmocka_unit_test(test_jnl_fast_commit_fills_the_whole_area),
		cmocka_unit_test(test_jnl_fast_commit_without_tail_is_dropped),
		cmocka_unit_test(
			test_jnl_fast_commit_with_a_bad_checksum_ends_them),
		cmocka_unit_test(
			test_jnl_fast_commits_of_other_tids_are_ignored),
		cmocka_unit_test(
			test_jnl_fast_commits_without_head_are_ignored),
		cmocka_unit_test(
			test_jnl_fast_commits_with_unknown_features_are_eopnotsupp),
		cmocka_unit_test(
			test_jnl_fast_records_that_make_no_sense_end_them),
		cmocka_unit_test(
			test_jnl_fast_commits_of_an_empty_log_are_ignored),
		cmocka_unit_test(test_jnl_fast_sink_may_refuse),
		cmocka_unit_test(test_jnl_fast_of_linux_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
