/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mutate_part.c - mutations that know partition tables: entries of boot
 * records, the header and the entries of a GPT; most end with right checksums.
 */
#include <isa-l/crc.h>
#include <string.h>

#include "base/hash.h"
#include "canvas.h"

/* libFuzzer's names. */
size_t default_mutate(uint8_t *data, size_t bytes, size_t max_bytes) __asm__(
	"LLVMFuzzerMutate");
size_t mutate(uint8_t *data, size_t bytes, size_t max_bytes,
	unsigned int seed) __asm__("LLVMFuzzerCustomMutator");

enum {
	MBR_BYTES = 512,
	MBR_TABLE = 446,
	MBR_ENTRY = 16,
	GPT_HEADER = 92,
	GPT_ENTRY = 128,
	TABLE_MAX = 1 << 16,
};

struct mutation {
	struct canvas canvas;
	uint64_t random;
	uint64_t header; /* where a GPT has its header */
	uint32_t unit;   /* of its numbers, in bytes */
};

static uint32_t pick(struct mutation *m, uint32_t below)
{
	return (uint32_t)(hash_next(&m->random) % below);
}

static uint32_t new_value(struct mutation *m, uint32_t old)
{
	static const uint32_t numbers[] = {0, 1, 2, 33, 34, 92, 128, 129, 512,
		4096, 65536, INT32_MAX, UINT32_MAX};

	switch (pick(m, 4)) {
	case 0:
		return old + pick(m, 16) - 8;
	case 1:
		return old ^ UINT32_C(1) << pick(m, 32);
	case 2:
		return pick(m, m->canvas.units * 2);
	default:
		return numbers[pick(m, sizeof(numbers) / sizeof(numbers[0]))];
	}
}

static void change32(struct mutation *m, uint64_t at)
{
	uint8_t raw[4];

	canvas_load(&m->canvas, at, sizeof(raw), raw);
	put32(raw, new_value(m, get32(raw)));
	canvas_store(&m->canvas, at, sizeof(raw), raw);
}

/* ---- boot records ---------------------------------------------------------------- */

/* The record at sector 0, or some steps down the chain. */
static uint64_t some_record(struct mutation *m)
{
	uint32_t steps = pick(m, 4);
	uint64_t start = 0;
	uint64_t at = 0;

	while (steps-- > 0) {
		uint8_t record[MBR_BYTES];
		uint64_t next = 0;

		canvas_load(&m->canvas, at, sizeof(record), record);
		for (unsigned i = 0; i < 4; i++) {
			const uint8_t *e =
				record + MBR_TABLE + (size_t)MBR_ENTRY * i;

			if (e[4] == 0x05 || e[4] == 0x0f || e[4] == 0x85)
				next = start +
				       (uint64_t)get32(e + 8) * MBR_BYTES;
		}
		if (next == 0)
			break;
		if (start == 0)
			start = next;
		at = next;
	}
	return at;
}

static void change_record(struct mutation *m)
{
	static const uint8_t types[] = {0, 0x05, 0x0f, 0x85, 0x83, 0xee};
	uint64_t at = some_record(m) + MBR_TABLE + MBR_ENTRY * pick(m, 4);
	uint8_t type = types[pick(m, sizeof(types))];

	switch (pick(m, 4)) {
	case 0:
		canvas_store(&m->canvas, at + 4, 1, &type);
		break;
	case 1:
		change32(m, at + 12);
		break;
	default:
		change32(m, at + 8);
		break;
	}
}

/* ---- GPT ------------------------------------------------------------------------ */

static bool header_at(struct mutation *m, uint64_t at)
{
	uint8_t magic[8];

	canvas_load(&m->canvas, at, sizeof(magic), magic);
	if (memcmp(magic, "EFI PART", sizeof(magic)) != 0)
		return false;
	m->header = at;
	return true;
}

/* One of the copies. */
static bool header_find(struct mutation *m, bool backup)
{
	uint64_t end = (uint64_t)m->canvas.units * SPARSE_UNIT;

	for (m->unit = 512; m->unit <= 4096; m->unit *= 8)
		if (end > m->unit &&
			header_at(m, backup ? end - m->unit : m->unit))
			return true;
	return false;
}

static void change_header(struct mutation *m)
{
	change32(m, m->header + 8 + 4 * pick(m, 21));
}

static uint64_t table_at(struct mutation *m, uint32_t *count, uint32_t *bytes)
{
	uint8_t header[GPT_HEADER];

	canvas_load(&m->canvas, m->header, sizeof(header), header);
	*count = get32(header + 80);
	*bytes = get32(header + 84);
	return (uint64_t)get32(header + 72) * m->unit;
}

static void change_entry(struct mutation *m)
{
	uint32_t count;
	uint32_t bytes;
	uint64_t at = table_at(m, &count, &bytes);

	at += (uint64_t)pick(m, 6) * bytes;
	if (pick(m, 3) == 0)
		change32(m, at + 56 + 2 * pick(m, 36));
	else
		change32(m, at + 4 * pick(m, 14));
}

static uint32_t crc_of(const uint8_t *data, uint32_t bytes)
{
	return crc32_gzip_refl(0, data, bytes);
}

static void repair(struct mutation *m)
{
	static uint8_t table[TABLE_MAX];
	static uint8_t header[4096];
	uint32_t count;
	uint32_t entry;
	uint64_t at = table_at(m, &count, &entry);
	uint64_t bytes = (uint64_t)count * entry;
	uint32_t head;

	canvas_load(&m->canvas, m->header, sizeof(header), header);
	if (bytes <= sizeof(table)) {
		canvas_load(&m->canvas, at, bytes, table);
		put32(header + 88, crc_of(table, (uint32_t)bytes));
	}
	head = get32(header + 12);
	if (head > m->unit)
		return;
	put32(header + 16, 0);
	put32(header + 16, crc_of(header, head));
	canvas_store(&m->canvas, m->header, GPT_HEADER, header);
}

static void change_gpt(struct mutation *m)
{
	if (pick(m, 2))
		change_header(m);
	else
		change_entry(m);
	if (pick(m, 8) != 0)
		repair(m);
}

size_t mutate(uint8_t *data, size_t bytes, size_t max_bytes, unsigned int seed)
{
	static struct mutation m;

	m.random = seed;
	if (!canvas_init(&m.canvas, data, bytes, max_bytes) ||
		pick(&m, 16) == 0)
		return default_mutate(data, bytes, max_bytes);
	for (uint32_t n = 1 + pick(&m, 3); n > 0; n--) {
		if (pick(&m, 16) == 0)
			change32(&m, 4 * pick(&m, 2048));
		else if (pick(&m, 4) != 0 && header_find(&m, pick(&m, 3) == 0))
			change_gpt(&m);
		else
			change_record(&m);
	}
	return m.canvas.bytes;
}
