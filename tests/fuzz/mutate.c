/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mutate.c - mutations that know what a log is made of.
 *
 * Half of them are libFuzzer's own; the rest change fields of the superblock,
 * headers and tags, and move whole blocks.  Most end with right checksums.
 */
#include <string.h>

#include "base/hash.h"
#include "image.h"

/* libFuzzer's names. */
size_t default_mutate(uint8_t *data, size_t bytes, size_t max_bytes) __asm__(
	"LLVMFuzzerMutate");
size_t mutate(uint8_t *data, size_t bytes, size_t max_bytes,
	unsigned int seed) __asm__("LLVMFuzzerCustomMutator");

static uint32_t pick(uint64_t *random, uint32_t below)
{
	return (uint32_t)(hash_next(random) % below);
}

/* A number that matters to a parser. */
static uint32_t odd_number(uint64_t *random)
{
	static const uint32_t numbers[] = {0, 1, 2, 8, 15, 16, 17, 256, 1020,
		1024, 4096, 65535, 65536, INT32_MAX, UINT32_MAX - 1,
		UINT32_MAX};

	if (pick(random, 2) == 0)
		return pick(random, 64);
	return numbers[pick(random, sizeof(numbers) / sizeof(numbers[0]))];
}

static void put_be32(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (24 - 8 * i));
}

struct mutation {
	struct image image;
	uint8_t *log;
	uint64_t random;
};

static uint8_t *some_block(struct mutation *m)
{
	uint32_t whole = (uint32_t)(m->image.log_bytes / m->image.block_bytes);

	return m->log + (size_t)pick(&m->random, whole) * m->image.block_bytes;
}

static void change_super(struct mutation *m)
{
	static const uint8_t fields[] = {0x04, 0x10, 0x14, 0x18, 0x1c, 0x20,
		0x24, 0x28, 0x28, 0x28, 0x2c, 0x54};
	uint8_t *super = m->log + (size_t)m->image.super * m->image.block_bytes;
	uint8_t *field = super + fields[pick(&m->random, sizeof(fields))];

	if (pick(&m->random, 2) == 0)
		field[3] ^= (uint8_t)(1 << pick(&m->random, 8));
	else
		put_be32(field, odd_number(&m->random));
}

/* Make some block a log block of a likely transaction. */
static void change_header(struct mutation *m)
{
	uint8_t *block = some_block(m);

	put_be32(block, UINT32_C(0xc03b3998));
	put_be32(block + 4, 1 + pick(&m->random, 6));
	if (pick(&m->random, 2) == 0)
		block[11] = (uint8_t)(block[11] + pick(&m->random, 3) - 1);
}

/* Tags and numbers lie near the beginning of a block. */
static void change_field(struct mutation *m)
{
	uint8_t *block = some_block(m);
	uint32_t at = 8 + 2 * pick(&m->random, 48);

	if (pick(&m->random, 2) == 0)
		block[at] ^= (uint8_t)(1 << pick(&m->random, 8));
	else
		put_be32(block + at, odd_number(&m->random));
}

static void copy_block(struct mutation *m)
{
	const uint8_t *from = some_block(m);

	memmove(some_block(m), from, m->image.block_bytes);
}

static void swap_blocks(struct mutation *m)
{
	uint8_t *a = some_block(m);
	uint8_t *b = some_block(m);

	for (uint32_t i = 0; i < m->image.block_bytes; i++) {
		uint8_t byte = a[i];

		a[i] = b[i];
		b[i] = byte;
	}
}

static void mutate_structure(struct mutation *m)
{
	static void (*const ways[])(struct mutation * m) = {change_super,
		change_header, change_field, change_field, copy_block,
		swap_blocks};

	for (uint32_t n = 1 + pick(&m->random, 3); n > 0; n--)
		ways[pick(&m->random, sizeof(ways) / sizeof(ways[0]))](m);
}

size_t mutate(uint8_t *data, size_t bytes, size_t max_bytes, unsigned int seed)
{
	struct mutation m = {.random = seed};

	if (pick(&m.random, 2) == 0)
		bytes = default_mutate(data, bytes, max_bytes);
	if (!image_decode(data, bytes, &m.image) ||
		m.image.log_bytes < 2 * (size_t)m.image.block_bytes)
		return bytes;
	m.log = data + IMAGE_HEAD;
	if (pick(&m.random, 2) == 0)
		mutate_structure(&m);
	if (pick(&m.random, 8) != 0)
		image_repair(&m.image, m.log);
	return bytes;
}
