/* SPDX-License-Identifier: BSD-2-Clause */
/* survey_repair.c - see canvas.h: checksums that a change broke are made right
 * again, or the fuzzer would see nothing behind the first comparison. */
#include <string.h>

#include "base/crc32c.h"
#include "canvas.h"

enum { RO_GDT_CSUM = 0x10, TAIL_BYTES = 12 };

static uint32_t crc_number(uint32_t crc, uint32_t number)
{
	uint8_t raw[4];

	put32(raw, number);
	return crc32c(crc, raw, sizeof(raw));
}

static uint32_t crc_owner(const struct survey *s, const struct item *i)
{
	return crc_number(crc_number(s->seed, i->number), i->generation);
}

static uint32_t crc16(uint32_t crc, const uint8_t *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xa001 : crc >> 1;
	}
	return crc;
}

static void seal_group(const struct survey *s, const struct item *i, uint8_t *p)
{
	uint8_t number[4];
	uint32_t crc;

	put32(number, i->number);
	put16(p + 0x1e, 0);
	if (s->csum) {
		crc = crc32c(crc_number(s->seed, i->number), p, i->bytes);
	} else if (s->ro_compat & RO_GDT_CSUM) {
		crc = crc16(0xffff, s->uuid, sizeof(s->uuid));
		crc = crc16(crc, number, sizeof(number));
		crc = crc16(crc, p, 0x1e);
		crc = crc16(crc, p + 0x20, i->bytes - 0x20);
	} else {
		return;
	}
	put16(p + 0x1e, crc & 0xffff);
}

static void seal_inode(const struct survey *s, const struct item *i, uint8_t *p)
{
	bool wide = i->bytes > 128 && get16(p + 0x80) >= 4;
	uint32_t crc;

	put16(p + 0x7c, 0);
	if (wide)
		put16(p + 0x82, 0);
	crc = crc32c(crc_owner(s, i), p, i->bytes);
	put16(p + 0x7c, crc & 0xffff);
	if (wide)
		put16(p + 0x82, crc >> 16);
}

static void seal_extents(
	const struct survey *s, const struct item *i, uint8_t *p)
{
	uint32_t covered = 12 + 12 * get16(p + 4);

	if (covered + 4 <= i->bytes)
		put32(p + covered, crc32c(crc_owner(s, i), p, covered));
}

static void seal_dir(const struct survey *s, const struct item *i, uint8_t *p)
{
	uint32_t covered = i->bytes - TAIL_BYTES;

	put32(p + i->bytes - 4, crc32c(crc_owner(s, i), p, covered));
}

static void seal_index(const struct survey *s, const struct item *i, uint8_t *p)
{
	uint32_t first = i->kind == ITEM_INDEX_ROOT ? 32 : 8;
	uint32_t tail = first + 8 * get16(p + first);
	uint32_t covered = first + 8 * get16(p + first + 2);

	if (tail + 8 > i->bytes || covered > tail)
		return;
	put32(p + tail + 4, 0);
	put32(p + tail + 4,
		crc32c(crc32c(crc_owner(s, i), p, covered), p + tail, 8));
}

static void seal_xattr(const struct survey *s, const struct item *i, uint8_t *p)
{
	uint64_t block = i->at / s->block_bytes;
	uint32_t crc = crc_number(s->seed, (uint32_t)block);

	crc = crc_number(crc, (uint32_t)(block >> 32));
	put32(p + 0x10, 0);
	put32(p + 0x10, crc32c(crc, p, i->bytes));
}

static void seal(const struct survey *s, const struct item *i, uint8_t *p)
{
	if (i->kind == ITEM_GROUP) {
		seal_group(s, i, p);
		return;
	}
	if (!s->csum)
		return;
	switch (i->kind) {
	case ITEM_SUPER:
		put32(p + 0x3fc, crc32c(~0U, p, 0x3fc));
		break;
	case ITEM_INODE:
		seal_inode(s, i, p);
		break;
	case ITEM_EXTENTS:
		seal_extents(s, i, p);
		break;
	case ITEM_DIR:
		seal_dir(s, i, p);
		break;
	case ITEM_INDEX_ROOT:
	case ITEM_INDEX_NODE:
		seal_index(s, i, p);
		break;
	case ITEM_XATTR:
		seal_xattr(s, i, p);
		break;
	default:
		break;
	}
}

void survey_repair(const struct survey *s, struct canvas *c)
{
	static uint8_t before[ITEM_BYTES_MAX];
	static uint8_t after[ITEM_BYTES_MAX];

	for (uint32_t n = 0; n < s->count; n++) {
		const struct item *i = &s->items[n];

		canvas_load(c, i->at, i->bytes, before);
		memcpy(after, before, i->bytes);
		seal(s, i, after);
		if (memcmp(before, after, i->bytes) != 0)
			canvas_store(c, i->at, i->bytes, after);
	}
}
