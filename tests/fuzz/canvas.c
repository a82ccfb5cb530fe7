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

void canvas_load(const struct canvas *c, uint64_t at, size_t bytes, void *to)
{
	uint8_t *out = to;

	memset(out, 0, bytes);
	while (bytes > 0) {
		uint64_t unit = at / SPARSE_UNIT;
		size_t inside = at % SPARSE_UNIT;
		size_t part = SPARSE_UNIT - inside;

		if (unit >= c->units)
			return;
		if (part > bytes)
			part = bytes;
		if (c->piece[unit])
			memcpy(out,
				piece_at(c, c->piece[unit] - 1U) + 4 + inside,
				part);
		at += part;
		out += part;
		bytes -= part;
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

	while (bytes > 0) {
		uint64_t unit = at / SPARSE_UNIT;
		size_t inside = at % SPARSE_UNIT;
		size_t part = SPARSE_UNIT - inside;

		if (unit >= c->units)
			return;
		if (part > bytes)
			part = bytes;
		if (c->piece[unit] ||
			(!is_zero(in, part) && piece_add(c, (uint32_t)unit)))
			memcpy(piece_at(c, c->piece[unit] - 1U) + 4 + inside,
				in, part);
		at += part;
		in += part;
		bytes -= part;
	}
}
