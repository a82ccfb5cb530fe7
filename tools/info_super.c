/* SPDX-License-Identifier: BSD-2-Clause */
/* info_super.c - what a superblock says, in groups of what belongs together. */
#include <stdio.h>
#include <string.h>

#include "tools/info.h"

/* ---- words ------------------------------------------------------------------------ */

static void put_features(struct sheet *s, const struct ext_features *f)
{
	const uint32_t words[] = {f->compat, f->incompat, f->ro_compat};
	static const char *const kinds[] = {"compat", "incompat", "ro_compat"};

	sheet_words(s, "features");
	for (unsigned word = 0; word < ARRAY_COUNT(words); word++)
		for (unsigned bit = 0; bit < 32; bit++) {
			const char *name = ext_feature_name(word, bit);
			char unknown[24];

			if (!(words[word] >> bit & 1))
				continue;
			(void)snprintf(unknown, sizeof(unknown), "%s_bit_%u",
				kinds[word], bit);
			sheet_word(s, name ? name : unknown);
		}
	sheet_words_end(s);
}

/* The words of the set bits; those without a word are left out. */
static void put_bits(struct sheet *s, const char *key, uint32_t bits,
	const char *const *names, unsigned count)
{
	sheet_words(s, key);
	for (unsigned bit = 0; bit < count; bit++)
		if (bits >> bit & 1 && names[bit])
			sheet_word(s, names[bit]);
	sheet_words_end(s);
}

/* As tune2fs(8) names them for its option -o. */
static void put_mount_options(struct sheet *s, uint32_t bits)
{
	static const char *const names[] = {
		[0] = "debug",
		[1] = "bsdgroups",
		[2] = "user_xattr",
		[3] = "acl",
		[4] = "uid16",
		[8] = "nobarrier",
		[9] = "block_validity",
		[10] = "discard",
		[11] = "nodelalloc",
	};
	static const char *const modes[] = {NULL, "journal_data",
		"journal_data_ordered", "journal_data_writeback"};
	const char *mode = modes[bits >> 5 & 3];

	sheet_words(s, "default_mount_options");
	if (mode)
		sheet_word(s, mode);
	for (unsigned bit = 0; bit < ARRAY_COUNT(names); bit++)
		if (bits >> bit & 1 && names[bit])
			sheet_word(s, names[bit]);
	sheet_words_end(s);
}

/* @names[@value], or the number. */
static void put_choice(struct sheet *s, const char *key, uint32_t value,
	const char *const *names, unsigned count)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%u", value);
	sheet_text(
		s, key, value < count && names[value] ? names[value] : number);
}

/* ---- parts of it -------------------------------------------------------------------- */

static void put_identity(struct sheet *s, const struct ext_about *a)
{
	static const char *const systems[] = {
		"Linux", "Hurd", "Masix", "FreeBSD", "Lites"};
	const struct ext_super *sb = &a->super;
	char kind[16] = "journal";

	if (!ext_is_journal_super(sb))
		(void)snprintf(kind, sizeof(kind), "ext%u", a->family);
	sheet_text(s, "kind", kind);
	if (a->error)
		sheet_text(s, "problem", a->damage.why);
	sheet_text(s, "label", sb->label);
	sheet_uuid(s, "uuid", sb->uuid);
	sheet_number(s, "revision", a->revision);
	put_features(s, &sb->features);
	put_choice(s, "creator", a->creator_os, systems, ARRAY_COUNT(systems));
	sheet_number(s, "superblock", sb->at);
}

static void put_state(struct sheet *s, const struct ext_about *a)
{
	static const char *const states[] = {
		[0] = "clean", [1] = "errors", [2] = "orphans"};
	static const char *const actions[] = {
		[1] = "continue", [2] = "remount-ro", [3] = "panic"};
	const struct ext_super *sb = &a->super;

	put_bits(s, "state", sb->state, states, ARRAY_COUNT(states));
	sheet_flag(s, "needs_recovery",
		sb->features.incompat & EXT_INCOMPAT_RECOVER);
	put_choice(s, "on_error", a->on_error, actions, ARRAY_COUNT(actions));
	sheet_number(s, "first_orphan", a->last_orphan);
	if (a->orphan_file)
		sheet_number(s, "orphan_file", a->orphan_file);
}

static void put_sizes(struct sheet *s, const struct ext_about *a)
{
	const struct ext_super *sb = &a->super;

	sheet_number(s, "block_bytes", sb->block_bytes);
	sheet_number(s, "cluster_bytes", sb->cluster_bytes);
	sheet_number(s, "inode_bytes", sb->inode_bytes);
	sheet_number(s, "descriptor_bytes", sb->desc_bytes);
	sheet_bytes(s, "bytes", sb->block_count * sb->block_bytes);
	sheet_number(s, "blocks", sb->block_count);
	sheet_number(s, "free_blocks", sb->free_blocks);
	sheet_number(s, "reserved_blocks", sb->reserved_blocks);
	sheet_number(s, "overhead_clusters", sb->overhead_clusters);
	sheet_number(s, "inodes", sb->inode_count);
	sheet_number(s, "free_inodes", sb->free_inodes);
	sheet_number(s, "first_inode", sb->first_ino);
	sheet_number(s, "first_block", sb->first_data_block);
}

static void put_layout(struct sheet *s, const struct ext_about *a)
{
	const struct ext_super *sb = &a->super;

	sheet_number(s, "groups", sb->group_count);
	sheet_number(s, "blocks_per_group", sb->blocks_per_group);
	sheet_number(s, "inodes_per_group", sb->inodes_per_group);
	sheet_number(s, "groups_per_flex", a->flex_groups);
	sheet_number(s, "reserved_descriptor_blocks", sb->reserved_desc_blocks);
	if (sb->features.incompat & EXT_INCOMPAT_META_BG)
		sheet_number(s, "first_meta_group", sb->first_meta_bg);
	sheet_number(s, "raid_stride", a->raid_stride);
	sheet_number(s, "raid_stripe_width", a->raid_stripe_width);
	sheet_number(s, "extra_inode_bytes_min", a->extra_min);
	sheet_number(s, "extra_inode_bytes_want", a->extra_want);
}

static void put_checksums(struct sheet *s, const struct ext_about *a)
{
	const struct ext_super *sb = &a->super;
	char text[16];

	if (!sb->csum) {
		sheet_text(s, "checksums",
			sb->features.ro_compat & EXT_RO_COMPAT_GDT_CSUM
				? "crc16 of descriptors"
				: "none");
		return;
	}
	sheet_text(s, "checksums", "crc32c");
	(void)snprintf(text, sizeof(text), "0x%08x", a->checksum);
	sheet_text(s, "checksum", text);
	if (!(sb->features.incompat & EXT_INCOMPAT_CSUM_SEED))
		return;
	(void)snprintf(text, sizeof(text), "0x%08x", sb->csum_seed);
	sheet_text(s, "checksum_seed", text);
}

static void put_names(struct sheet *s, const struct ext_about *a)
{
	static const char *const hashes[] = {"legacy", "half_md4", "tea",
		"legacy_unsigned", "half_md4_unsigned", "tea_unsigned",
		"siphash"};

	put_choice(s, "hash", a->hash_version, hashes, ARRAY_COUNT(hashes));
	sheet_uuid(s, "hash_seed", a->hash_seed);
	if (a->super_flags & (EXT_SUPER_SIGNED_HASH | EXT_SUPER_UNSIGNED_HASH))
		sheet_text(s, "hash_chars",
			a->super_flags & EXT_SUPER_UNSIGNED_HASH ? "unsigned"
								 : "signed");
	if (a->encoding) {
		sheet_number(s, "encoding", a->encoding);
		sheet_number(s, "encoding_flags", a->encoding_flags);
	}
}

static void put_history(struct sheet *s, const struct ext_about *a)
{
	sheet_time(s, "created", a->created);
	sheet_time(s, "mounted", a->mounted);
	sheet_time(s, "written", a->written);
	sheet_time(s, "checked", a->checked);
	sheet_number_as(s, "check_interval_seconds", a->check_interval,
		a->check_interval ? NULL : "none");
	sheet_number(s, "mounts", a->mount_count);
	sheet_number_as(s, "mounts_max", a->mount_count_max,
		a->mount_count_max < 1 ? "no limit" : NULL);
	sheet_text(s, "last_mounted_on", a->last_mounted);
	sheet_bytes(s, "written_bytes", a->written_kib * 1024);
}

static void put_options(struct sheet *s, const struct ext_about *a)
{
	put_mount_options(s, a->default_mount_opts);
	sheet_text(s, "mount_options", a->mount_opts);
	sheet_number(s, "reserved_uid", a->reserved_uid);
	sheet_number(s, "reserved_gid", a->reserved_gid);
	if (a->mmp_block) {
		sheet_number(s, "mmp_block", a->mmp_block);
		sheet_number(s, "mmp_seconds", a->mmp_seconds);
	}
	if (a->quota[0])
		sheet_number(s, "user_quota_inode", a->quota[0]);
	if (a->quota[1])
		sheet_number(s, "group_quota_inode", a->quota[1]);
	if (a->quota[2])
		sheet_number(s, "project_quota_inode", a->quota[2]);
}

static void put_note(
	struct sheet *s, const char *key, const struct ext_error_note *e)
{
	sheet_part(s, key);
	sheet_time(s, "time", e->seconds);
	sheet_text(s, "function", e->function);
	sheet_number(s, "line", e->line);
	sheet_number(s, "inode", e->inode);
	sheet_number(s, "block", e->block);
	sheet_part_end(s);
}

void info_super(struct sheet *s, const struct ext_about *a)
{
	put_identity(s, a);
	if (ext_is_journal_super(&a->super)) {
		sheet_number(s, "block_bytes", a->super.block_bytes);
		sheet_number(s, "blocks", a->super.block_count);
		return;
	}
	put_state(s, a);
	put_sizes(s, a);
	put_layout(s, a);
	put_checksums(s, a);
	if (a->revision > 0)
		put_names(s, a);
	put_history(s, a);
	put_options(s, a);
	sheet_number(s, "errors_noted", a->error_count);
	if (!a->error_count)
		return;
	put_note(s, "first_error", &a->first_error);
	put_note(s, "last_error", &a->last_error);
}
