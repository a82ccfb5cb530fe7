/* SPDX-License-Identifier: BSD-2-Clause */
/* info_journal.c - where a journal is, and what its superblock says. */
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "tools/info.h"
#include "tools/journal.h"

static void put_flags(struct sheet *s, const char *key,
	const struct journal_flag *names, uint32_t bits)
{
	sheet_words(s, key);
	for (; names->name; names++)
		if (bits & names->bit)
			sheet_word(s, names->name);
	sheet_words_end(s);
}

static void put_super(struct sheet *s, const struct jnl_super *sb)
{
	const char *checksums = "none";

	if (sb->csum_v23)
		checksums = sb->csum_v3 ? "crc32c (v3)" : "crc32c (v2)";
	else if (sb->csum_v1)
		checksums = "of transactions (v1)";
	sheet_number(s, "version", sb->version);
	sheet_number(s, "blocks", sb->block_count);
	sheet_bytes(s, "bytes", (uint64_t)sb->block_count * sb->block_bytes);
	sheet_flag(s, "dirty", sb->start != 0);
	sheet_number(s, "start", sb->start);
	sheet_number(s, "sequence", sb->sequence);
	put_flags(s, "compat", journal_compat, sb->compat);
	put_flags(s, "incompat", journal_incompat, sb->incompat);
	sheet_text(s, "checksums", checksums);
	sheet_number(s, "fast_commit_blocks", sb->fc_blocks);
	sheet_number_as(s, "error", sb->error, sb->error ? NULL : "none");
	sheet_uuid(s, "uuid", sb->uuid);
	sheet_number(s, "users", sb->user_count);
}

static void put_journal(
	struct sheet *s, const struct ext *fs, const struct ext_journal *j)
{
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct jnl_super sb;

	sheet_text(s, "found_by", journal_source_name(j->source));
	if (j->source != EXT_JOURNAL_DEVICE)
		sheet_number(s, "inode", fs->super.journal_inum);
	sheet_number(s, "block", j->place.map[0].dev + j->place.super);
	sheet_number(s, "pieces", j->place.map_count);
	if (ext_about_journal(j, &sb, &damage))
		sheet_text(s, "problem", damage.why);
	else
		put_super(s, &sb);
}

void info_journal(struct sheet *s, struct blk_dev *dev, struct blk_dev *outside,
	const struct ext_about *about)
{
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct ext fs = {.dev = dev, .super = about->super};
	bool is_one = ext_is_journal_super(&about->super);
	struct ext_journal j;
	int err;

	if (!is_one && !(fs.super.features.compat & EXT_COMPAT_HAS_JOURNAL))
		return;
	sheet_part(s, "journal");
	if (!is_one && fs.super.journal_inum == 0)
		sheet_uuid(s, "device_uuid", fs.super.journal_uuid);
	err = is_one ? ext_journal_of_dev(&fs, &j, &damage)
		     : ext_journal_find(&fs, outside, &j, &damage);
	if (err) {
		sheet_text(s, "problem", damage.why);
	} else {
		put_journal(s, &fs, &j);
		ext_journal_drop(&j);
	}
	sheet_part_end(s);
}
