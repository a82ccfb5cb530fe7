/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * part_gpt.c - see part.h: GUID partition tables.
 *
 * A header in the second sector points to an array of entries; both have
 * checksums, and both have a copy at the end of the disk.  The primary is
 * used if it is whole, else the backup.  Images of disks with sectors of
 * 4096 bytes are recognised by where the header lies.
 */
#include <errno.h>
#include <isa-l/crc.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "base/log.h"
#include "blk/part_int.h"

enum {
	HEADER_MIN = 92,
	ENTRY_MIN = 128,
	ENTRY_MAX = 4096,
	NAME_UNITS = 36,
	LBA_MAX = 4096
};

/* More than sixty times what any tool makes. */
#define TABLE_MAX (UINT32_C(1) << 20)

struct gpt_header {
	uint8_t magic[8];
	struct le32 revision;
	struct le32 header_bytes;
	struct le32 header_crc; /* with this field zero */
	struct le32 reserved;
	struct le64 my_lba;
	struct le64 other_lba;
	struct le64 first_usable;
	struct le64 last_usable;
	uint8_t guid[16];
	struct le64 table_lba;
	struct le32 table_count;
	struct le32 entry_bytes;
	struct le32 table_crc;
};

struct gpt_entry {
	uint8_t type[16]; /* all zero: unused */
	uint8_t guid[16];
	struct le64 first;
	struct le64 last; /* inclusive */
	struct le64 flags;
	struct le16 name[NAME_UNITS];
};

_Static_assert(sizeof(struct gpt_header) == HEADER_MIN, "as on disk");
_Static_assert(sizeof(struct gpt_entry) == ENTRY_MIN, "as on disk");

static const uint8_t gpt_magic[8] = {'E', 'F', 'I', ' ', 'P', 'A', 'R', 'T'};

/* ---- names ------------------------------------------------------------- */

static char *utf8_put(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

/* From UTF-16; half a pair becomes U+FFFD.  Three bytes a unit suffice. */
static void name_decode(const struct le16 *from, char *to)
{
	for (int i = 0; i < NAME_UNITS; i++) {
		uint32_t c = le16_get(from[i]);
		uint32_t low = i + 1 < NAME_UNITS ? le16_get(from[i + 1]) : 0;

		if (c == 0)
			break;
		if (c >= 0xd800 && c < 0xdc00 && low >= 0xdc00 &&
			low < 0xe000) {
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
			i++;
		} else if (c >= 0xd800 && c < 0xe000) {
			c = 0xfffd;
		}
		to = utf8_put(to, c);
	}
	*to = '\0';
}

/* ---- the header -------------------------------------------------------- */

static uint32_t gpt_crc(const void *data, size_t bytes)
{
	return crc32_gzip_refl(0, data, bytes);
}

/* @sector holds a whole header that belongs at unit @lba. */
static int header_check(struct part_scan *scan, uint8_t *sector, uint64_t lba)
{
	struct gpt_header *header = (struct gpt_header *)sector;
	uint32_t bytes = le32_get(header->header_bytes);
	uint32_t crc = le32_get(header->header_crc);
	uint32_t found;

	if (memcmp(header->magic, gpt_magic, sizeof(gpt_magic)) != 0)
		return part_damaged(scan, "no GPT header");
	if (bytes < HEADER_MIN || bytes > scan->lba_bytes)
		return part_damaged(scan, "a GPT header of %u bytes", bytes);
	header->header_crc = le32_of(0);
	found = gpt_crc(sector, bytes);
	header->header_crc = le32_of(crc);
	if (found != crc)
		return part_damaged(scan, "a GPT header with a bad checksum");
	if (le64_get(header->my_lba) != lba)
		return part_damaged(scan, "a GPT header in the wrong place");
	return 0;
}

/* The bounds that a header gives make sense. */
static int bounds_check(struct part_scan *scan, const struct gpt_header *h)
{
	uint64_t units = blk_geom(scan->dev).bytes / scan->lba_bytes;
	uint32_t entry = le32_get(h->entry_bytes);
	uint64_t table = (uint64_t)entry * le32_get(h->table_count);

	if (entry < ENTRY_MIN || entry > ENTRY_MAX || entry % 8 != 0)
		return part_damaged(scan, "GPT entries of %u bytes", entry);
	if (table == 0 || table > TABLE_MAX)
		return part_damaged(
			scan, "a GPT of %u entries", le32_get(h->table_count));
	if (le64_get(h->first_usable) > le64_get(h->last_usable) ||
		le64_get(h->last_usable) >= units)
		return part_damaged(scan, "a GPT beyond the device");
	return 0;
}

/* ---- the entries ------------------------------------------------------- */

static int entry_take(struct part_scan *scan, const struct gpt_header *h,
	uint32_t number, const struct gpt_entry *entry)
{
	static const uint8_t unused[16];
	uint64_t first = le64_get(entry->first);
	uint64_t last = le64_get(entry->last);
	struct part *part;
	int err;

	if (memcmp(entry->type, unused, sizeof(unused)) == 0)
		return 0;
	if (first > last || first < le64_get(h->first_usable) ||
		last > le64_get(h->last_usable))
		return part_damaged(
			scan, "partition %u lies out of bounds", number);
	err = part_add(scan, number, first, last - first + 1);
	if (err != 0)
		return err;
	part = part_last(scan);
	memcpy(part->guid_type, entry->type, sizeof(part->guid_type));
	memcpy(part->guid, entry->guid, sizeof(part->guid));
	name_decode(entry->name, part->name);
	return 0;
}

static int entries_take(struct part_scan *scan, const struct gpt_header *h,
	const uint8_t *table)
{
	uint32_t count = le32_get(h->table_count);
	uint32_t bytes = le32_get(h->entry_bytes);
	int err = 0;

	scan->table->count = 0;
	for (uint32_t i = 0; i < count && err == 0; i++)
		err = entry_take(scan, h, i + 1,
			(const void *)(table + (size_t)i * bytes));
	return err;
}

static int entries_read(struct part_scan *scan, const struct gpt_header *h)
{
	size_t bytes =
		(size_t)le32_get(h->entry_bytes) * le32_get(h->table_count);
	size_t room = (bytes + scan->lba_bytes - 1) / scan->lba_bytes *
		      scan->lba_bytes;
	uint8_t *table = malloc(room);
	int err;

	if (table == NULL)
		return -ENOMEM;
	err = part_read_at(scan, le64_get(h->table_lba), room, table);
	if (err == 0 && gpt_crc(table, bytes) != le32_get(h->table_crc))
		err = part_damaged(scan, "GPT entries with a bad checksum");
	if (err == 0)
		err = entries_take(scan, h, table);
	free(table);
	return err;
}

/* ---- both copies ------------------------------------------------------- */

/* The copy whose header is at unit @lba. */
static int copy_read(struct part_scan *scan, uint64_t lba)
{
	uint8_t sector[LBA_MAX];
	int err = part_read_at(scan, lba, scan->lba_bytes, sector);

	if (err == 0)
		err = header_check(scan, sector, lba);
	if (err == 0)
		err = bounds_check(scan, (const void *)sector);
	if (err == 0)
		err = entries_read(scan, (const void *)sector);
	return err;
}

static bool magic_is_at(struct blk_dev *dev, uint64_t offset)
{
	uint32_t bytes = blk_geom(dev).sector_bytes;
	uint8_t sector[LBA_MAX];

	if (offset > blk_geom(dev).bytes ||
		bytes > blk_geom(dev).bytes - offset)
		return false;
	return blk_read(dev, offset, bytes, sector) == 0 &&
	       memcmp(sector, gpt_magic, sizeof(gpt_magic)) == 0;
}

/* The sector of the disk that this was made for; whole images of disks with
 * large ones lie in files, whose own are small. */
static uint32_t lba_find(struct blk_dev *dev)
{
	uint32_t sector = blk_geom(dev).sector_bytes;
	uint64_t end = blk_geom(dev).bytes;

	if (magic_is_at(dev, sector) || sector == LBA_MAX)
		return sector;
	if (magic_is_at(dev, LBA_MAX))
		return LBA_MAX;
	if (end >= LBA_MAX && !magic_is_at(dev, end - sector) &&
		magic_is_at(dev, end - LBA_MAX))
		return LBA_MAX;
	return sector;
}

int part_gpt_read(struct part_scan *scan)
{
	char primary[sizeof(scan->reason)];
	uint64_t units;
	int err;

	scan->lba_bytes = lba_find(scan->dev);
	units = blk_geom(scan->dev).bytes / scan->lba_bytes;
	err = copy_read(scan, 1);
	if (err != -EUCLEAN)
		return err;
	memcpy(primary, scan->reason, sizeof(primary));
	err = copy_read(scan, units - 1);
	if (err == 0)
		log_say(LOG_WARN, "blk", "%s; using its backup", primary);
	else
		memcpy(scan->reason, primary, sizeof(primary));
	return err;
}
