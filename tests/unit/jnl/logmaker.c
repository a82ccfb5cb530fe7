/* SPDX-License-Identifier: BSD-2-Clause */
/* logmaker.c - see logmaker.h. */
#include "logmaker.h"

#include <stdlib.h>
#include <string.h>

#include "../cmocka_all.h"
#include "base/crc32c.h"

#define EACH_WIDTH(csum, bytes)                                                \
	{"checksum " #csum ", 32 bit, " #bytes, csum, false, bytes, false},    \
	{                                                                      \
		"checksum " #csum ", 64 bit, " #bytes, csum, true, bytes,      \
			false                                                  \
	}
#define EACH_CHECKSUM(bytes)                                                   \
	EACH_WIDTH(0, bytes), EACH_WIDTH(1, bytes), EACH_WIDTH(2, bytes),      \
		EACH_WIDTH(3, bytes)

const struct form maker_forms[] = {
	EACH_CHECKSUM(1024), EACH_CHECKSUM(4096), EACH_CHECKSUM(65536)};
const size_t maker_form_count = sizeof(maker_forms) / sizeof(maker_forms[0]);

static const uint8_t magic[4] = {0xc0, 0x3b, 0x39, 0x98};

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value);
}

static uint64_t offset_of(const struct maker *m, uint32_t log)
{
	blk_no dev = log < MAKER_LOG / 2 ? MAKER_HOMES + MAKER_LOG / 2 + log
					 : MAKER_HOMES + (log - MAKER_LOG / 2);

	return dev * m->form.block_bytes;
}

void maker_read(struct maker *m, uint32_t log, void *block)
{
	assert_int_equal(
		blk_read(m->dev, offset_of(m, log), m->form.block_bytes, block),
		0);
}

void maker_write(struct maker *m, uint32_t log, const void *block)
{
	assert_int_equal(blk_write(m->dev, offset_of(m, log),
				 m->form.block_bytes, block),
		0);
}

void maker_poke(struct maker *m, uint32_t log, uint32_t offset, uint32_t value)
{
	uint8_t *block = test_malloc(m->form.block_bytes);

	maker_read(m, log, block);
	put32(block + offset, value);
	maker_write(m, log, block);
	test_free(block);
}

void maker_open(struct maker *m, const struct form *form, uint32_t fc_blocks)
{
	memset(m, 0, sizeof(*m));
	m->form = *form;
	m->fc_blocks = fc_blocks;
	m->at = 1;
	m->end = MAKER_LOG - fc_blocks;
	m->clock = 1700000000;
	for (int i = 0; i < 16; i++)
		m->uuid[i] = (uint8_t)(0xa0 + i);
	assert_int_equal(
		blk_open_mem(
			(uint64_t)MAKER_BLOCKS * form->block_bytes, &m->dev),
		0);
	m->map[0] = (struct jnl_extent){
		0, MAKER_LOG / 2, MAKER_HOMES + MAKER_LOG / 2};
	m->map[1] =
		(struct jnl_extent){MAKER_LOG / 2, MAKER_LOG / 2, MAKER_HOMES};
	m->place = (struct jnl_place){
		.dev = m->dev,
		.block_bytes = form->block_bytes,
		.map = m->map,
		.map_count = 2,
	};
}

void maker_close(struct maker *m)
{
	blk_close(m->dev);
	m->dev = NULL;
}

static uint32_t seed(const struct maker *m)
{
	return crc32c(~0U, m->uuid, 16);
}

void maker_super(struct maker *m, jnl_tid sequence, uint32_t start)
{
	uint8_t *b = test_calloc(1, m->form.block_bytes);

	memcpy(b, magic, 4);
	put32(b + 0x04, 4);
	put32(b + 0x0c, m->form.block_bytes);
	put32(b + 0x10, MAKER_LOG);
	put32(b + 0x14, 1);
	put32(b + 0x18, sequence);
	put32(b + 0x1c, start);
	put32(b + 0x24, m->form.csum == 1 ? 1 : 0);
	put32(b + 0x28, 1 | (m->form.wide ? 2 : 0) | (m->form.async ? 4 : 0) |
				(m->form.csum == 2 ? 8 : 0) |
				(m->form.csum == 3 ? 16 : 0) |
				(m->fc_blocks ? 32 : 0));
	memcpy(b + 0x30, m->uuid, 16);
	put32(b + 0x40, 1);
	put32(b + 0x54, m->fc_blocks);
	if (m->form.csum >= 2) {
		b[0x50] = 4;
		put32(b + 0xfc, crc32c(~0U, b, 1024));
	}
	maker_write(m, 0, b);
	test_free(b);
}

static uint8_t *new_block(const struct maker *m, uint32_t type, jnl_tid tid)
{
	uint8_t *b = test_calloc(1, m->form.block_bytes);

	memcpy(b, magic, 4);
	put32(b + 4, type);
	put32(b + 8, tid);
	return b;
}

/* Write @b, a block of the maker's, to the next log block, and free it. */
static void append(struct maker *m, uint8_t *b)
{
	maker_write(m, m->at, b);
	test_free(b);
	m->at = m->at + 1 < m->end ? m->at + 1 : 1;
}

static void seal(const struct maker *m, uint8_t *b)
{
	uint8_t *tail = b + m->form.block_bytes - 4;

	if (m->form.csum < 2)
		return;
	put32(tail, 0);
	put32(tail, crc32c(seed(m), b, m->form.block_bytes));
}

void maker_reseal(struct maker *m, uint32_t log)
{
	uint8_t *block = test_malloc(m->form.block_bytes);

	maker_read(m, log, block);
	seal(m, block);
	maker_write(m, log, block);
	test_free(block);
}

static void add_revokes(struct maker *m, const struct txn *t)
{
	uint32_t each = m->form.wide ? 8 : 4;
	uint8_t *b;

	if (t->revokes == 0)
		return;
	b = new_block(m, 5, t->tid);
	put32(b + 12, 16 + each * t->revokes);
	if (t->wrong & WRONG_REVOKE_LONG)
		put32(b + 12, m->form.block_bytes + each);
	if (t->wrong & WRONG_REVOKE_SHORT)
		put32(b + 12, 8);
	for (unsigned i = 0; i < t->revokes; i++) {
		uint8_t *at = b + 16 + (size_t)i * each;

		if (m->form.wide)
			put32(at, (uint32_t)(t->revoke[i] >> 32));
		put32(at + each - 4, (uint32_t)t->revoke[i]);
	}
	seal(m, b);
	if (t->wrong & WRONG_REVOKE_SUM)
		b[m->form.block_bytes - 1] ^= 1;
	append(m, b);
}

/* One tag at @at; returns its bytes. */
static uint32_t put_tag(const struct maker *m, uint8_t *at, blk_no home,
	uint32_t flags, uint32_t checksum)
{
	uint32_t bytes = 16;

	put32(at, (uint32_t)home);
	if (m->form.csum == 3) {
		put32(at + 4, flags);
		put32(at + 8, m->form.wide ? (uint32_t)(home >> 32) : 0);
		put32(at + 12, checksum);
	} else {
		put16(at + 4, m->form.csum == 2 ? checksum : 0);
		put16(at + 6, flags);
		if (m->form.wide)
			put32(at + 8, (uint32_t)(home >> 32));
		bytes = (m->form.wide ? 12 : 8) + (m->form.csum == 2 ? 2 : 0);
	}
	if (!(flags & 2)) {
		memcpy(at + bytes, m->uuid, 16);
		bytes += 16;
	}
	return bytes;
}

static uint32_t copy_flags(const struct txn *t, unsigned i)
{
	bool last = i + 1 == t->copies && !(t->wrong & WRONG_NO_LAST);

	return (t->fill[i] == 0 ? 1 : 0) |
	       (i > 0 && !t->uuid_each_tag ? 2 : 0) | (last ? 8 : 0);
}

static void sum_v1(const struct maker *m, uint32_t *crc, const uint8_t *b)
{
	*crc = crc32_be(*crc, b, m->form.block_bytes);
}

static void add_copies(struct maker *m, const struct txn *t, uint32_t *crc)
{
	uint8_t tid[4];
	uint8_t *b;
	uint32_t at = 12;

	if (t->copies == 0)
		return;
	put32(tid, t->tid);
	b = new_block(m, t->wrong & WRONG_TYPE ? 9 : 1, t->tid);
	for (unsigned i = 0; i < t->copies; i++) {
		bool last = i + 1 == t->copies;
		uint8_t *data = test_malloc(m->form.block_bytes);
		uint32_t sum;

		memset(data, t->fill[i], m->form.block_bytes);
		sum = crc32c(
			crc32c(seed(m), tid, 4), data, m->form.block_bytes);
		if (last && (t->wrong & WRONG_TAG_SUM))
			sum ^= 0x101;
		at += put_tag(m, b + at, t->home[i], copy_flags(t, i), sum);
		test_free(data);
	}
	seal(m, b);
	if (t->wrong & WRONG_DESCRIPTOR_SUM)
		b[m->form.block_bytes - 1] ^= 1;
	sum_v1(m, crc, b);
	append(m, b);
	for (unsigned i = 0; i < t->copies; i++) {
		uint8_t *data = test_malloc(m->form.block_bytes);

		memset(data, t->fill[i], m->form.block_bytes);
		sum_v1(m, crc, data);
		if (i + 1 == t->copies && (t->wrong & WRONG_DATA))
			data[m->form.block_bytes - 1] ^= 1;
		append(m, data);
	}
}

static void add_commit(struct maker *m, const struct txn *t, uint32_t crc)
{
	uint64_t clock = t->wrong & WRONG_OLD_CLOCK ? 1000000 : m->clock;
	uint32_t flip = t->wrong & WRONG_COMMIT_SUM ? 1 : 0;
	uint8_t *b = new_block(m, 2, t->tid);

	put32(b + 0x30, (uint32_t)(clock >> 32));
	put32(b + 0x34, (uint32_t)clock);
	put32(b + 0x38, 123456789);
	if (m->form.csum == 1) {
		b[12] = 1;
		b[13] = 4;
		put32(b + 16, crc ^ flip);
	}
	if (m->form.csum >= 2)
		put32(b + 16, crc32c(seed(m), b, m->form.block_bytes) ^ flip);
	if (t->wrong & WRONG_COMMIT_TORN)
		b[m->form.block_bytes - 1] = 0x77;
	append(m, b);
	m->clock += 5;
}

void maker_txn(struct maker *m, const struct txn *t)
{
	uint32_t crc = ~0U;

	add_revokes(m, t);
	add_copies(m, t, &crc);
	if (!(t->wrong & WRONG_NO_COMMIT))
		add_commit(m, t, crc);
}

uint8_t maker_home(struct maker *m, blk_no home)
{
	uint8_t *block = test_malloc(m->form.block_bytes);
	uint8_t first;

	assert_int_equal(blk_read(m->dev, home * m->form.block_bytes,
				 m->form.block_bytes, block),
		0);
	first = block[0];
	if (first == magic[0]) {
		assert_memory_equal(block, magic, 4);
		first = block[4];
		assert_int_equal(first, 0);
		first = magic[0];
	} else {
		for (uint32_t i = 1; i < m->form.block_bytes; i++)
			assert_int_equal(block[i], first);
	}
	test_free(block);
	return first;
}

static int write_home(void *arg, blk_no home, const void *data)
{
	struct maker *m = arg;

	assert_true(home < MAKER_HOMES);
	return blk_write(
		m->dev, home * m->form.block_bytes, m->form.block_bytes, data);
}

const struct jnl_replay_sink maker_sink = {.block = write_home};

int maker_replay(struct maker *m, struct jnl_replay_result *out)
{
	return jnl_replay(&m->place, MAKER_HOMES, &maker_sink, m, out);
}
