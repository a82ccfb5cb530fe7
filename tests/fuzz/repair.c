/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * repair.c - checksums that a mutation broke are made right again.
 *
 * Without this the fuzzer would see nothing behind the first comparison.  It
 * goes through the log as a replay does, but believes everything; its own
 * code, so that a wrong idea of the format in the library shows.
 */
#include <string.h>

#include "base/crc32c.h"
#include "image.h"

#define MAGIC UINT32_C(0xc03b3998)

struct repair {
	const struct image *image;
	uint8_t *log;
	uint32_t first;
	uint32_t end;
	uint32_t seed;
	bool v1, v2, v3, wide;
};

static uint32_t get16(const uint8_t *at)
{
	return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t get32(const uint8_t *at)
{
	return get16(at) << 16 | get16(at + 2);
}

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

static uint8_t *block_at(const struct repair *r, uint32_t log)
{
	return r->log + (size_t)log * r->image->block_bytes;
}

/* Is all of log block @log there? */
static bool is_there(const struct repair *r, uint32_t log)
{
	return log < r->image->log_bytes / r->image->block_bytes;
}

static void seal_at(const struct repair *r, uint8_t *block, uint32_t field)
{
	put32(block + field, 0);
	put32(block + field, crc32c(r->seed, block, r->image->block_bytes));
}

static uint32_t next_block(const struct repair *r, uint32_t at)
{
	return at + 1 < r->end ? at + 1 : r->first;
}

/* The checksum in the tag at @tag of a descriptor @block, for @data. */
static void repair_tag(
	const struct repair *r, uint8_t *block, uint32_t tag, uint32_t data)
{
	uint32_t crc = crc32c(r->seed, block + 8, 4);

	if (!is_there(r, data))
		return;
	crc = crc32c(crc, block_at(r, data), r->image->block_bytes);
	if (r->v3)
		put32(block + tag + 12, crc);
	else if (r->v2)
		put16(block + tag + 4, crc);
}

/* All tags of descriptor @block at @at; returns how many. */
static uint32_t repair_tags(const struct repair *r, uint8_t *block, uint32_t at)
{
	uint32_t room = r->image->block_bytes - (r->v2 || r->v3 ? 4 : 0);
	uint32_t old = (r->wide ? 12U : 8U) + (r->v2 ? 2 : 0);
	uint32_t each = r->v3 ? 16 : old;
	uint32_t flags = 0;
	uint32_t tag = 12;
	uint32_t count = 0;

	while (tag + each <= room && !(flags & 8) && count < r->end) {
		flags = r->v3 ? get32(block + tag + 4) : get16(block + tag + 6);
		at = next_block(r, at);
		count++;
		repair_tag(r, block, tag, at);
		tag += each + (flags & 2 ? 0 : 16);
	}
	return count;
}

/* The descriptor at @at; returns the block after those that follow it, and
 * adds to @v1. */
static uint32_t repair_descriptor(
	const struct repair *r, uint32_t at, uint32_t *v1)
{
	uint32_t bytes = r->image->block_bytes;
	uint8_t *block = block_at(r, at);
	uint32_t count = repair_tags(r, block, at);

	if (r->v2 || r->v3)
		seal_at(r, block, bytes - 4);
	*v1 = crc32_be(*v1, block, bytes);
	for (; count > 0; count--) {
		at = next_block(r, at);
		if (is_there(r, at))
			*v1 = crc32_be(*v1, block_at(r, at), bytes);
	}
	return next_block(r, at);
}

static void repair_commit(const struct repair *r, uint8_t *block, uint32_t v1)
{
	if (r->v1 && block[12] == 1)
		put32(block + 16, v1);
	if (r->v2 || r->v3)
		seal_at(r, block, 16);
}

static void repair_ring(const struct repair *r, uint32_t at)
{
	uint32_t v1 = ~0U;

	for (uint32_t steps = 0; steps < r->end; steps++) {
		uint8_t *block;

		if (!is_there(r, at))
			return;
		block = block_at(r, at);
		if (get32(block) != MAGIC)
			return;
		switch (get32(block + 4)) {
		case 1:
			at = repair_descriptor(r, at, &v1);
			continue;
		case 2:
			repair_commit(r, block, v1);
			v1 = ~0U;
			break;
		case 5:
			if (r->v2 || r->v3)
				seal_at(r, block, r->image->block_bytes - 4);
			break;
		default:
			return;
		}
		at = next_block(r, at);
	}
}

static void repair_fast(const struct repair *r)
{
	uint32_t bytes = r->image->block_bytes;
	uint32_t crc = 0;

	for (uint32_t at = r->end + 1; is_there(r, at); at++) {
		uint8_t *block = block_at(r, at);
		uint32_t offset = 0;

		while (offset + 4 <= bytes) {
			uint8_t *record = block + offset;
			uint32_t length = record[2] | (uint32_t)record[3] << 8;

			if (length > bytes - offset - 4)
				return;
			if (record[0] == 8 && record[1] == 0 && length >= 8) {
				crc = crc32c(crc, record, 8);
				for (int i = 0; i < 4; i++)
					record[8 + i] = (uint8_t)(crc >> 8 * i);
				crc = 0;
			} else {
				crc = crc32c(crc, record, 4 + length);
			}
			offset += 4 + length;
		}
	}
}

void image_repair(const struct image *image, uint8_t *log)
{
	uint8_t *super = log + (size_t)image->super * image->block_bytes;
	struct repair r = {.image = image, .log = log};
	uint32_t features;
	uint32_t fast = 0;

	if (!is_there(&r, image->super))
		return;
	put32(super, MAGIC);
	features = get32(super + 4) == 4 ? get32(super + 0x28) : 0;
	r.v1 = get32(super + 4) == 4 && (get32(super + 0x24) & 1);
	r.wide = features & 2;
	r.v2 = features & 8;
	r.v3 = features & 16;
	if (features & 32)
		fast = get32(super + 0x54) ? get32(super + 0x54) : 256;
	r.seed = crc32c(~0U, super + 0x30, 16);
	r.first = get32(super + 0x14);
	r.end = get32(super + 0x10) - fast;
	if (r.v2 || r.v3) {
		put32(super + 0xfc, 0);
		put32(super + 0xfc, crc32c(~0U, super, 1024));
	}
	if (r.first == 0 || r.first >= r.end || r.end > image->log_blocks)
		return;
	repair_ring(&r, get32(super + 0x1c));
	if (fast > 0)
		repair_fast(&r);
}
