/* SPDX-License-Identifier: BSD-2-Clause */
/* canvas.c - see canvas.h: bytes of a device that lie in pieces. */
#include "canvas.h"

#include <string.h>

static uint8_t *piece_at(const struct canvas *c, uint32_t index)
{
	return c->data + SPARSE_HEAD + (size_t)index * SPARSE_PIECE;
}

static uint32_t whole_pieces(const struct canvas *c)
{
	uint32_t count = (uint32_t)((c->bytes - SPARSE_HEAD) / SPARSE_PIECE);

	return count < SPARSE_PIECES_MAX ? count : SPARSE_PIECES_MAX;
}

bool canvas_init(
	struct canvas *c, uint8_t *data, size_t bytes, size_t max_bytes)
{
	struct sparse s;

	if (!sparse_decode(data, bytes, &s))
		return false;
	memset(c, 0, sizeof(*c));
	c->data = data;
	c->bytes = bytes;
	c->max_bytes = max_bytes;
	c->units = s.units;
	for (uint32_t i = 0; i < whole_pieces(c); i++) {
		uint32_t unit = get32(piece_at(c, i));

		if (unit < 2 * SPARSE_UNITS_MAX)
			c->piece[unit] = (uint16_t)(i + 1);
	}
	return true;
}

/* A part of a range of bytes that lies in one unit. */
struct part {
	uint32_t unit;
	size_t inside;
	size_t bytes;
};

/* The first of @bytes from @at; false: there is nothing any more. */
static bool part_first(
	const struct canvas *c, uint64_t at, size_t bytes, struct part *out)
{
	if (bytes == 0 || at / SPARSE_UNIT >= c->units)
		return false;
	out->unit = (uint32_t)(at / SPARSE_UNIT);
	out->inside = at % SPARSE_UNIT;
	out->bytes = SPARSE_UNIT - out->inside;
	if (out->bytes > bytes)
		out->bytes = bytes;
	return true;
}

static uint8_t *part_at(const struct canvas *c, const struct part *p)
{
	return piece_at(c, c->piece[p->unit] - 1U) + 4 + p->inside;
}

void canvas_load(const struct canvas *c, uint64_t at, size_t bytes, void *to)
{
	uint8_t *out = to;
	struct part p;

	memset(out, 0, bytes);
	for (; part_first(c, at, bytes, &p); at += p.bytes, bytes -= p.bytes) {
		if (c->piece[p.unit])
			memcpy(out, part_at(c, &p), p.bytes);
		out += p.bytes;
	}
}

/* A place for @unit, zeroes; false: no room. */
static bool piece_add(struct canvas *c, uint32_t unit)
{
	uint32_t index = whole_pieces(c);
	uint8_t *p = piece_at(c, index);

	if (index == SPARSE_PIECES_MAX ||
		SPARSE_HEAD + ((size_t)index + 1) * SPARSE_PIECE > c->max_bytes)
		return false;
	memset(p, 0, SPARSE_PIECE);
	put32(p, unit);
	c->bytes = SPARSE_HEAD + ((size_t)index + 1) * SPARSE_PIECE;
	c->piece[unit] = (uint16_t)(index + 1);
	return true;
}

static bool is_zero(const uint8_t *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (p[i] != 0)
			return false;
	return true;
}

void canvas_store(struct canvas *c, uint64_t at, size_t bytes, const void *from)
{
	const uint8_t *in = from;
	struct part p;

	for (; part_first(c, at, bytes, &p); at += p.bytes, bytes -= p.bytes) {
		bool there = c->piece[p.unit] != 0;

		if (!there && !is_zero(in, p.bytes))
			there = piece_add(c, p.unit);
		if (there)
			memcpy(part_at(c, &p), in, p.bytes);
		in += p.bytes;
	}
}
