/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mutate_read.c - mutations that know what an image is made of.
 *
 * Fields of what a survey found are changed, to numbers that matter, or to
 * blocks and inodes that are there; contents move between things of a kind;
 * now and then any bytes change.  Most end with right checksums.
 */
#include <string.h>

#include "base/hash.h"
#include "canvas.h"

/* libFuzzer's names. */
size_t default_mutate(uint8_t *data, size_t bytes, size_t max_bytes) __asm__(
	"LLVMFuzzerMutate");
size_t mutate(uint8_t *data, size_t bytes, size_t max_bytes,
	unsigned int seed) __asm__("LLVMFuzzerCustomMutator");

struct mutation {
	struct canvas *canvas;
	struct survey *survey;
	uint64_t random;
};

static uint32_t pick(struct mutation *m, uint32_t below)
{
	return (uint32_t)(hash_next(&m->random) % below);
}

/* ---- values --------------------------------------------------------------------- */

static uint32_t odd_number(struct mutation *m)
{
	static const uint32_t numbers[] = {0, 1, 2, 3, 4, 7, 8, 11, 12, 15, 16,
		28, 32, 60, 127, 128, 255, 256, 1012, 1020, 1024, 4096, 32767,
		32768, 32769, 65535, 65536, INT32_MAX, UINT32_MAX - 1,
		UINT32_MAX};

	return numbers[pick(m, sizeof(numbers) / sizeof(numbers[0]))];
}

static const struct item *some_item(struct mutation *m)
{
	return &m->survey->items[pick(m, m->survey->count)];
}

static uint32_t new_value(struct mutation *m, uint32_t old)
{
	switch (pick(m, 8)) {
	case 0:
		return old + 1;
	case 1:
		return old - 1;
	case 2:
	case 3:
		return old ^ UINT32_C(1) << pick(m, 32);
	case 4:
		return odd_number(m);
	case 5:
		return (uint32_t)(some_item(m)->at / m->survey->block_bytes);
	case 6:
		return some_item(m)->number;
	default:
		return old + pick(m, 64) - 32;
	}
}

/* ---- fields ---------------------------------------------------------------------- */

/* Where a field begins, and how wide it is. */
struct field {
	uint32_t at;
	uint32_t bytes;
};

static struct field one_of(
	struct mutation *m, const struct field *fields, uint32_t count)
{
	return fields[pick(m, count)];
}

#define ONE_OF(m, fields)                                                      \
	one_of(m, fields, sizeof(fields) / sizeof((fields)[0]))

static struct field super_field(struct mutation *m)
{
	static const struct field fields[] = {{0x00, 4}, {0x04, 4}, {0x08, 4},
		{0x0c, 4}, {0x10, 4}, {0x14, 4}, {0x18, 4}, {0x1c, 4},
		{0x20, 4}, {0x24, 4}, {0x28, 4}, {0x38, 2}, {0x3a, 2},
		{0x4c, 4}, {0x54, 4}, {0x58, 2}, {0x5c, 4}, {0x60, 4},
		{0x60, 4}, {0x64, 4}, {0x64, 4}, {0x68, 4}, {0xce, 2},
		{0xe0, 4}, {0xec, 4}, {0xfc, 1}, {0xfd, 1}, {0xfe, 2},
		{0x104, 4}, {0x10c, 4}, {0x14c, 4}, {0x150, 4}, {0x154, 4},
		{0x158, 4}, {0x160, 4}, {0x174, 1}, {0x175, 1}, {0x248, 4},
		{0x24c, 4}, {0x250, 4}, {0x270, 4}};

	return ONE_OF(m, fields);
}

static struct field group_field(struct mutation *m)
{
	static const struct field fields[] = {{0, 4}, {4, 4}, {8, 4}, {8, 4},
		{0xc, 2}, {0xe, 2}, {0x12, 2}, {0x1c, 2}, {0x20, 4}, {0x24, 4},
		{0x28, 4}};

	return ONE_OF(m, fields);
}

static struct field node_field(struct mutation *m, const uint8_t *node)
{
	static const struct field head[] = {{0, 2}, {2, 2}, {4, 2}, {6, 2}};
	static const struct field entry[] = {
		{0, 4}, {4, 2}, {4, 4}, {6, 2}, {8, 2}, {8, 4}};
	uint32_t entries = get16(node + 2) % 85;
	struct field f;

	if (pick(m, 4) == 0 || entries == 0)
		return ONE_OF(m, head);
	f = ONE_OF(m, entry);
	f.at += 12 + 12 * pick(m, entries);
	return f;
}

static struct field inode_field(
	struct mutation *m, const uint8_t *p, uint32_t bytes)
{
	static const struct field fields[] = {{0, 2}, {0, 2}, {4, 4}, {4, 4},
		{0x10, 4}, {0x1a, 2}, {0x1c, 4}, {0x20, 4}, {0x20, 4},
		{0x64, 4}, {0x68, 4}, {0x6c, 4}, {0x74, 2}, {0x76, 2},
		{0x78, 2}, {0x80, 2}, {0x8c, 4}, {0x9c, 4}};
	uint32_t body = 0x80 + (bytes > 128 ? get16(p + 0x80) : 0);
	struct field f;

	switch (pick(m, 4)) {
	case 0:
		f = node_field(m, p + 0x28);
		f.at = 0x28 + f.at % 60;
		return f;
	case 1:
		return (struct field){0x28 + 2 * pick(m, 30), 4};
	case 2:
		if (body + 8 < bytes)
			return (struct field){
				body + 2 * pick(m, (bytes - body) / 2), 2};
		return ONE_OF(m, fields);
	default:
		return ONE_OF(m, fields);
	}
}

static struct field dir_field(
	struct mutation *m, const uint8_t *p, uint32_t bytes)
{
	static const struct field fields[] = {
		{0, 4}, {0, 4}, {4, 2}, {6, 1}, {7, 1}, {8, 1}, {9, 2}};
	uint32_t skip = pick(m, 12);
	uint32_t at = 0;
	struct field f;

	while (skip-- > 0) {
		uint32_t length = get16(p + at + 4);

		if (length < 12 || at + length + 12 > bytes)
			break;
		at += length;
	}
	f = ONE_OF(m, fields);
	f.at += at;
	return f;
}

static struct field index_field(
	struct mutation *m, const uint8_t *p, uint32_t first)
{
	static const struct field info[] = {
		{24, 4}, {28, 1}, {29, 1}, {30, 1}, {4, 2}, {12, 4}, {16, 2}};
	uint32_t count = get16(p + first + 2) % 128;

	if (first == 32 && pick(m, 3) == 0)
		return ONE_OF(m, info);
	if (pick(m, 3) == 0)
		return (struct field){first + 2 * pick(m, 2), 2};
	return (struct field){first + 4 + 4 * pick(m, 2 * count + 2), 4};
}

static struct field xattr_field(struct mutation *m, uint32_t bytes)
{
	if (pick(m, 4) == 0)
		return (struct field){4 * pick(m, 8), 4};
	if (pick(m, 4) == 0)
		return (struct field){pick(m, bytes), 1};
	return (struct field){32 + 2 * pick(m, 64), 1U << pick(m, 3)};
}

static struct field any_field(
	struct mutation *m, const struct item *i, const uint8_t *p)
{
	switch (i->kind) {
	case ITEM_SUPER:
		return super_field(m);
	case ITEM_GROUP:
		return group_field(m);
	case ITEM_INODE:
		return inode_field(m, p, i->bytes);
	case ITEM_EXTENTS:
		return node_field(m, p);
	case ITEM_INDIRECT:
		return (struct field){
			4 * pick(m, pick(m, 2) ? 8 : i->bytes / 4), 4};
	case ITEM_DIR:
		return dir_field(m, p, i->bytes);
	case ITEM_INDEX_ROOT:
		return index_field(m, p, 32);
	case ITEM_INDEX_NODE:
		return index_field(m, p, 8);
	case ITEM_XATTR:
		return xattr_field(m, i->bytes);
	default:
		return (struct field){pick(m, i->bytes), 1};
	}
}

static void field_change(struct mutation *m, uint8_t *p, struct field f)
{
	uint8_t wide[4] = {0};

	memcpy(wide, p + f.at, f.bytes);
	put32(wide, new_value(m, get32(wide)));
	memcpy(p + f.at, wide, f.bytes);
}

/* ---- ways to change an image ------------------------------------------------------ */

/* One of a random kind, so that the rare kinds come up as often. */
static const struct item *fair_item(struct mutation *m)
{
	enum item_kind kind = pick(m, ITEM_KINDS);
	const struct survey *s = m->survey;
	uint32_t start = pick(m, s->count);

	for (uint32_t n = 0; n < s->count; n++) {
		const struct item *i = &s->items[(start + n) % s->count];

		if (i->kind == kind)
			return i;
	}
	return &s->items[start];
}

static void change_field(struct mutation *m)
{
	static uint8_t p[ITEM_BYTES_MAX];
	const struct item *i = fair_item(m);
	struct field f;

	canvas_load(m->canvas, i->at, i->bytes, p);
	f = any_field(m, i, p);
	if (f.at + f.bytes > i->bytes)
		return;
	field_change(m, p, f);
	canvas_store(m->canvas, i->at, i->bytes, p);
}

/* Somebody else's contents, of the same kind if there is one. */
static void copy_item(struct mutation *m)
{
	static uint8_t p[ITEM_BYTES_MAX];
	const struct item *to = fair_item(m);
	const struct item *from = some_item(m);

	for (unsigned n = 0; n < 16 && from->kind != to->kind; n++)
		from = some_item(m);
	if (from->bytes != to->bytes)
		return;
	canvas_load(m->canvas, from->at, from->bytes, p);
	canvas_store(m->canvas, to->at, to->bytes, p);
}

/* Some bytes of some item, as libFuzzer likes. */
static void change_bytes(struct mutation *m)
{
	static uint8_t p[ITEM_BYTES_MAX];
	const struct item *i = fair_item(m);
	uint32_t bytes = 4 << pick(m, 5);
	uint32_t at;

	if (bytes > i->bytes)
		return;
	at = pick(m, i->bytes - bytes + 1);
	canvas_load(m->canvas, i->at, i->bytes, p);
	(void)default_mutate(p + at, bytes, bytes);
	canvas_store(m->canvas, i->at, i->bytes, p);
}

static void change_head(struct mutation *m)
{
	uint8_t *head = m->canvas->data;

	switch (pick(m, 4)) {
	case 0:
		put32(head, new_value(m, get32(head)));
		break;
	case 1:
		put32(head + 12,
			pick(m, 2) ? 0 : new_value(m, get32(head + 12)));
		break;
	default:
		put32(head + 8, get32(head + 8) ^ 1U << pick(m, 3));
		break;
	}
}

static void change_structure(struct mutation *m)
{
	static void (*const ways[])(struct mutation * m) = {change_field,
		change_field, change_field, change_field, change_field,
		change_bytes, copy_item};

	for (uint32_t n = 1 + pick(m, 4); n > 0; n--)
		ways[pick(m, sizeof(ways) / sizeof(ways[0]))](m);
	if (pick(m, 16) == 0)
		change_head(m);
}

size_t mutate(uint8_t *data, size_t bytes, size_t max_bytes, unsigned int seed)
{
	static struct canvas canvas;
	static struct survey survey;
	struct mutation m = {
		.canvas = &canvas, .survey = &survey, .random = seed};

	if (!canvas_init(&canvas, data, bytes, max_bytes) ||
		pick(&m, 32) == 0 || !survey_make(&survey, &canvas))
		return default_mutate(data, bytes, max_bytes);
	change_structure(&m);
	/* What was changed may lead elsewhere now. */
	if (pick(&m, 10) != 0 && survey_make(&survey, &canvas))
		survey_repair(&survey, &canvas);
	return canvas.bytes;
}
