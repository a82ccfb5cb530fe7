/* SPDX-License-Identifier: BSD-2-Clause */
/* parts_show.c - partitions as text and as JSON, and what is on each. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "blk/known.h"
#include "ext/about.h"
#include "tools/parts.h"
#include "tools/sheet.h"

/* ---- what a device holds --------------------------------------------------- */

void holding_find(struct blk_dev *dev, struct holding *out)
{
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct holding h = {0};
	const struct known *known;
	struct ext_disk_super raw;
	struct ext_super sb;

	if (!ext_super_read(dev, &raw, &damage) &&
		!ext_super_decode(&raw, &sb, &damage)) {
		h.is_ext = true;
		memcpy(h.label, sb.label, sizeof(h.label));
		memcpy(h.uuid, sb.uuid, sizeof(h.uuid));
		if (ext_is_journal_super(&sb))
			(void)snprintf(h.kind, sizeof(h.kind), "journal");
		else
			(void)snprintf(h.kind, sizeof(h.kind), "ext%u",
				ext_family(&sb.features));
	} else if (!known_find(dev, &known) && known) {
		(void)snprintf(h.kind, sizeof(h.kind), "%s", known->name);
	}
	*out = h;
}

/* A part of a device that stays its owner's. */
struct window {
	struct blk_dev *dev;
	uint64_t offset;
};

static int window_read(void *arg, uint64_t offset, size_t bytes, void *data)
{
	const struct window *w = arg;

	return blk_read(w->dev, w->offset + offset, bytes, data);
}

static void part_holding(
	struct blk_dev *dev, const struct part *part, struct holding *out)
{
	static const struct blk_caller_ops ops = {.pread = window_read};
	struct window w = {.dev = dev, .offset = part->offset};
	struct blk_geom geom = blk_geom(dev);
	struct blk_dev *inside;

	*out = (struct holding){0};
	geom.bytes = part->bytes;
	geom.read_only = true;
	if (part_is_extended(part->mbr_type) ||
		blk_open_caller(&ops, &w, geom, &inside))
		return;
	holding_find(inside, out);
	blk_close(inside);
}

/* ---- what a table calls it ---------------------------------------------------- */

enum { TYPE_TEXT_BYTES = SHEET_UUID_BYTES };

/* A GUID's first three fields are little endian. */
static void guid_text(const uint8_t guid[16], char to[SHEET_UUID_BYTES])
{
	static const uint8_t order[16] = {
		3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	uint8_t uuid[16];

	for (int i = 0; i < 16; i++)
		uuid[i] = guid[order[i]];
	sheet_uuid_text(uuid, to);
}

/* As sfdisk writes it: "83", or a GUID. */
static void type_text(enum part_scheme scheme, const struct part *part,
	char to[TYPE_TEXT_BYTES])
{
	if (scheme == PART_GPT)
		guid_text(part->guid_type, to);
	else
		(void)snprintf(to, TYPE_TEXT_BYTES, "%x", part->mbr_type);
}

/* "" for what is not common. */
static const char *type_name(const char *type)
{
	/* clang-format off */
	static const struct {
		const char *type;
		const char *name;
	} names[] = {
		{"5", "extended"}, {"f", "extended"}, {"85", "extended"},
		{"7", "NTFS or exFAT"}, {"b", "FAT32"}, {"c", "FAT32"},
		{"e", "FAT16"}, {"6", "FAT16"}, {"82", "Linux swap"},
		{"83", "Linux"}, {"8e", "Linux LVM"}, {"ef", "EFI system"},
		{"fd", "Linux RAID"},
		{"0fc63daf-8483-4772-8e79-3d69d8477de4", "Linux"},
		{"c12a7328-f81f-11d2-ba4b-00a0c93ec93b", "EFI system"},
		{"21686148-6449-6e6f-744e-656564454649", "BIOS boot"},
		{"0657fd6d-a4ab-43c4-84e5-0933c84b4f4f", "Linux swap"},
		{"e6d6d379-f507-44c2-a23c-238f2a3df928", "Linux LVM"},
		{"a19d880f-05fc-4d3b-a006-743f0f84911e", "Linux RAID"},
		{"933ac7e1-2eb4-4f13-b844-0e14e2aef915", "Linux home"},
		{"4f68bce3-e8cd-4db1-96e7-fbcaf984b709", "Linux root x86-64"},
		{"b921b045-1df0-41c3-af44-4c6f280d3fae", "Linux root arm64"},
		{"bc13c2ff-59e6-4262-a352-b275fd6f7172", "Linux boot"},
		{"ebd0a0a2-b9e5-4433-87c0-68b6b72699c7", "Windows data"},
		{"e3c9e316-0b5c-4db8-817d-f92df00215ae", "Windows reserved"},
	};

	/* clang-format on */

	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (strcmp(names[i].type, type) == 0)
			return names[i].name;
	return "";
}

const char *parts_scheme_name(enum part_scheme scheme)
{
	static const char *const names[] = {
		[PART_NONE] = "none", [PART_MBR] = "mbr", [PART_GPT] = "gpt"};

	return names[scheme];
}

/* ---- text ----------------------------------------------------------------------- */

static void part_text(const struct show *show, struct blk_dev *dev,
	enum part_scheme scheme, const struct part *part)
{
	char size[SHOW_SIZE_MAX];
	char type[TYPE_TEXT_BYTES];
	struct holding h;
	const char *name;

	type_text(scheme, part, type);
	name = type_name(type);
	part_holding(dev, part, &h);
	(void)printf("%4u %15llu %8s  %-17s %-9s ", part->number,
		(unsigned long long)part->offset, show_size(size, part->bytes),
		*name ? name : type, h.kind[0] ? h.kind : "-");
	show_text(show, h.label[0] ? h.label : "-");
	if (part->name[0]) {
		(void)fputs("  ", stdout);
		show_text(show, part->name);
	}
	show_end(show);
}

void parts_text(struct blk_dev *dev, const struct part_table *table)
{
	const struct show show = show_stdout(false);

	(void)printf("%4s %15s %8s  %-17s %-9s %s%s\n", "#", "offset", "size",
		"type", "holds", "label",
		table->scheme == PART_GPT ? "  name" : "");
	for (uint32_t i = 0; i < table->count; i++)
		part_text(&show, dev, table->scheme, &table->parts[i]);
}

/* ---- JSON ----------------------------------------------------------------------- */

static void holding_json(struct json *json, const struct holding *h)
{
	char uuid[SHEET_UUID_BYTES];

	json_string(json, "holds", h->kind);
	if (!h->is_ext)
		return;
	sheet_uuid_text(h->uuid, uuid);
	json_string(json, "label", h->label);
	json_string(json, "uuid", uuid);
}

void parts_json(
	struct json *json, struct blk_dev *dev, const struct part_table *table)
{
	json_string(json, "scheme", parts_scheme_name(table->scheme));
	json_array(json, "partitions");
	for (uint32_t i = 0; i < table->count; i++) {
		const struct part *part = &table->parts[i];
		char type[TYPE_TEXT_BYTES];
		char guid[SHEET_UUID_BYTES];
		struct holding h;

		type_text(table->scheme, part, type);
		json_line(json);
		json_object(json, NULL);
		json_unsigned(json, "number", part->number);
		json_unsigned(json, "offset", part->offset);
		json_unsigned(json, "bytes", part->bytes);
		json_string(json, "type", type);
		json_string(json, "type_name", type_name(type));
		if (table->scheme == PART_GPT) {
			guid_text(part->guid, guid);
			json_string(json, "name", part->name);
			json_string(json, "guid", guid);
		}
		part_holding(dev, part, &h);
		holding_json(json, &h);
		json_end(json);
	}
	json_end(json);
}
