/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * part.c - see part.h: the MBR, and the chain of logical partitions.
 *
 * An MBR has four entries.  One of them may be an extended partition, which
 * begins with a boot record of the same form: one entry is a logical
 * partition, relative to that record; one, if any, leads to the next record,
 * relative to the beginning of the extended partition.
 */
#include "blk/part.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "base/log.h"
#include "blk/part_int.h"

enum {
	MBR_BYTES = 512,
	MBR_ENTRIES = 4,
	MBR_GPT = 0xee, /* type: the rest is told by a GPT */
	FIRST_LOGICAL = 5,
	SECTOR_MAX = 4096
};

struct mbr_entry {
	uint8_t active; /* 0x80 or 0 */
	uint8_t chs_first[3];
	uint8_t type; /* 0: unused */
	uint8_t chs_last[3];
	struct le32 first;
	struct le32 count;
};

struct mbr {
	uint8_t code[446];
	struct mbr_entry entries[MBR_ENTRIES];
	uint8_t magic[2];
};

_Static_assert(sizeof(struct mbr) == MBR_BYTES, "as on disk");

/* ---- for all schemes --------------------------------------------------- */

int part_damaged(struct part_scan *scan, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(scan->reason, sizeof(scan->reason), fmt, args);
	va_end(args);
	return -EUCLEAN;
}

int part_add(
	struct part_scan *scan, uint32_t number, uint64_t first, uint64_t count)
{
	uint64_t units = blk_geom(scan->dev).bytes / scan->lba_bytes;
	struct part_table *table = scan->table;

	if (first > units || count > units - first)
		return part_damaged(
			scan, "partition %u ends beyond the device", number);
	if (table->count == PART_MAX)
		return part_damaged(scan, "more than %d partitions", PART_MAX);
	table->parts[table->count++] = (struct part){.number = number,
		.offset = first * scan->lba_bytes,
		.bytes = count * scan->lba_bytes};
	return 0;
}

struct part *part_last(struct part_scan *scan)
{
	return &scan->table->parts[scan->table->count - 1];
}

int part_read_at(struct part_scan *scan, uint64_t lba, size_t bytes, void *data)
{
	uint64_t units = blk_geom(scan->dev).bytes / scan->lba_bytes;

	if (lba >= units || bytes > (units - lba) * scan->lba_bytes)
		return part_damaged(scan,
			"a table at sector %llu is beyond the device",
			(unsigned long long)lba);
	return blk_read(scan->dev, lba * scan->lba_bytes, bytes, data);
}

/* ---- MBR --------------------------------------------------------------- */

static bool mbr_signed(const struct mbr *mbr)
{
	return mbr->magic[0] == 0x55 && mbr->magic[1] == 0xaa;
}

/* The boot sectors of some file systems bear the same signature. */
static bool is_boot_sector(const struct mbr *mbr)
{
	static const struct {
		unsigned at;
		const char *text;
	} names[] = {{3, "NTFS    "}, {3, "EXFAT   "}, {54, "FAT12   "},
		{54, "FAT16   "}, {82, "FAT32   "}};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (memcmp(mbr->code + names[i].at, names[i].text, 8) == 0)
			return true;
	return false;
}

/* Boot code where a table should be shows in the flags. */
static bool mbr_plausible(const struct mbr *mbr)
{
	for (int i = 0; i < MBR_ENTRIES; i++)
		if ((mbr->entries[i].active & 0x7f) != 0)
			return false;
	return !is_boot_sector(mbr);
}

static bool entry_used(const struct mbr_entry *entry)
{
	return entry->type != 0 && le32_get(entry->count) != 0;
}

/* ---- logical partitions ------------------------------------------------ */

/* Where a chain has been; it may lead anywhere, but not in circles. */
struct chain {
	uint64_t start; /* of the extended partition */
	uint64_t at;    /* this record */
	uint64_t seen[PART_MAX];
	unsigned count;
};

static int chain_visit(struct part_scan *scan, struct chain *chain)
{
	for (unsigned i = 0; i < chain->count; i++)
		if (chain->seen[i] == chain->at)
			return part_damaged(scan,
				"the logical partitions run in a circle at "
				"sector %llu",
				(unsigned long long)chain->at);
	if (chain->count == PART_MAX)
		return part_damaged(
			scan, "more than %d logical partitions", PART_MAX);
	chain->seen[chain->count++] = chain->at;
	return 0;
}

/* The first entry of @mbr that is, or is not, extended. */
static const struct mbr_entry *entry_find(const struct mbr *mbr, bool extended)
{
	for (int i = 0; i < MBR_ENTRIES; i++) {
		const struct mbr_entry *entry = &mbr->entries[i];

		if (entry_used(entry) &&
			part_is_extended(entry->type) == extended)
			return entry;
	}
	return NULL;
}

/* One boot record.  @*more: chain->at is the next one. */
static int chain_step(struct part_scan *scan, struct chain *chain,
	uint32_t *number, bool *more)
{
	uint8_t sector[SECTOR_MAX] = {0};
	const struct mbr *mbr = (const struct mbr *)sector;
	const struct mbr_entry *entry;
	int err = part_read_at(scan, chain->at, scan->lba_bytes, sector);

	*more = false;
	if (err != 0)
		return err;
	if (!mbr_signed(mbr)) {
		/* An extended partition that nobody has used yet. */
		if (chain->count == 1)
			return 0;
		return part_damaged(scan,
			"no logical partition's record at sector %llu",
			(unsigned long long)chain->at);
	}
	entry = entry_find(mbr, false);
	if (entry != NULL) {
		err = part_add(scan, *number,
			chain->at + le32_get(entry->first),
			le32_get(entry->count));
		if (err != 0)
			return err;
		part_last(scan)->mbr_type = entry->type;
		(*number)++;
	}
	entry = entry_find(mbr, true);
	if (entry != NULL) {
		*more = true;
		chain->at = chain->start + le32_get(entry->first);
	}
	return 0;
}

static int logical_read(struct part_scan *scan, uint64_t start)
{
	struct chain chain = {.start = start, .at = start};
	uint32_t number = FIRST_LOGICAL;
	bool more = true;
	int err = 0;

	while (more && err == 0) {
		err = chain_visit(scan, &chain);
		if (err == 0)
			err = chain_step(scan, &chain, &number, &more);
	}
	return err;
}

static int mbr_read(struct part_scan *scan, const struct mbr *mbr)
{
	const struct mbr_entry *extended = entry_find(mbr, true);

	for (uint32_t i = 0; i < MBR_ENTRIES; i++) {
		const struct mbr_entry *entry = &mbr->entries[i];
		int err;

		if (!entry_used(entry))
			continue;
		err = part_add(scan, i + 1, le32_get(entry->first),
			le32_get(entry->count));
		if (err != 0)
			return err;
		part_last(scan)->mbr_type = entry->type;
	}
	return extended == NULL ? 0
				: logical_read(scan, le32_get(extended->first));
}

/* ---- any --------------------------------------------------------------- */

static bool says_gpt(const struct mbr *mbr)
{
	for (int i = 0; i < MBR_ENTRIES; i++)
		if (mbr->entries[i].type == MBR_GPT)
			return true;
	return false;
}

int part_read_reason(struct blk_dev *dev, struct part_table *out, char *reason,
	size_t reason_bytes)
{
	struct blk_geom geom = blk_geom(dev);
	struct part_scan scan = {
		.dev = dev, .table = out, .lba_bytes = geom.sector_bytes};
	uint8_t sector[SECTOR_MAX] = {0};
	const struct mbr *mbr = (const struct mbr *)sector;
	int err = 0;

	out->scheme = PART_NONE;
	out->count = 0;
	if (geom.bytes < geom.sector_bytes)
		return 0;
	err = blk_read(dev, 0, geom.sector_bytes, sector);
	if (err != 0)
		return err;
	if (!mbr_signed(mbr) || !mbr_plausible(mbr))
		return 0;
	out->scheme = says_gpt(mbr) ? PART_GPT : PART_MBR;
	err = out->scheme == PART_GPT ? part_gpt_read(&scan)
				      : mbr_read(&scan, mbr);
	if (err == -EUCLEAN)
		(void)snprintf(reason, reason_bytes, "%s", scan.reason);
	return err;
}

int part_read(struct blk_dev *dev, struct part_table *out)
{
	char reason[128];
	int err = part_read_reason(dev, out, reason, sizeof(reason));

	if (err == -EUCLEAN)
		log_say(LOG_ERROR, "blk", "damaged partition table: %s",
			reason);
	return err;
}

bool part_any(struct blk_dev *dev)
{
	struct part_table *table = malloc(sizeof(*table));
	bool any =
		table != NULL && part_read(dev, table) == 0 && table->count > 0;

	free(table);
	return any;
}
