/* SPDX-License-Identifier: BSD-2-Clause */
/* check_super.c - the quick check of the superblock and its copies. */
#include <string.h>

#include "ext/check_int.h"

enum { FLEX_LOG_MAX = 31 };

static void bad_field(struct check *c, const char *what, uint64_t value)
{
	check_say(c, EXT_CHECK_SUPER, c->fs.super.at, 0,
		"superblock: %s (%llu)", what, (unsigned long long)value);
}

/* What reading gets by without. */
static void check_rest(struct check *c)
{
	const struct ext_super *sb = &c->fs.super;
	uint32_t desc = le16_get(c->raw.desc_size);
	bool journal = sb->features.compat & EXT_COMPAT_HAS_JOURNAL;

	if (le32_get(c->raw.rev_level) == 0)
		return;
	if (!journal && sb->journal_inum != 0)
		bad_field(c, "a journal's inode, but no journal",
			sb->journal_inum);
	if (sb->features.incompat & EXT_INCOMPAT_FLEX_BG &&
		c->raw.log_groups_per_flex > FLEX_LOG_MAX)
		bad_field(c, "flexible groups out of range, log",
			c->raw.log_groups_per_flex);
	if (desc != 0 && desc < EXT_OLD_DESC_BYTES)
		bad_field(c, "bad group descriptor size", desc);
}

void check_super(struct check *c)
{
	const struct ext_super *sb = &c->fs.super;

	if (sb->state & EXT_STATE_ERROR)
		check_say(c, EXT_CHECK_SUPER, sb->at, 0,
			"superblock: errors were found before and not mended");
	if (!(sb->state & EXT_STATE_CLEAN) &&
		!(sb->features.compat & EXT_COMPAT_HAS_JOURNAL)) {
		c->was_dirty = true;
		check_note(c, EXT_CHECK_SUPER,
			"was not unmounted cleanly, and has no journal");
	}
	if (sb->free_blocks > sb->block_count)
		bad_field(c, "more free blocks than blocks", sb->free_blocks);
	if (sb->free_inodes > sb->inode_count)
		bad_field(c, "more free inodes than inodes", sb->free_inodes);
	if (sb->reserved_blocks > sb->block_count)
		bad_field(c, "more reserved blocks than blocks",
			sb->reserved_blocks);
	check_rest(c);
}

static void compare_count(
	struct check *c, const char *what, uint64_t told, uint64_t counted)
{
	static const char format[] =
		"superblock: %llu free %s, the groups have %llu";
	unsigned long long t = told;
	unsigned long long n = counted;

	if (told == counted)
		return;
	if (c->fs.super.features.compat & EXT_COMPAT_HAS_JOURNAL)
		check_note(c, EXT_CHECK_SUPER, format, t, what, n);
	else
		check_say(c, EXT_CHECK_SUPER, c->fs.super.at, 0, format, t,
			what, n);
}

/*
 * With a journal the superblock's counts are brought up to date when the file
 * system is unmounted, and corrected when it is mounted: they lag behind in an
 * image whose journal somebody has replayed, which is no damage.
 */
void check_super_counts(struct check *c)
{
	const struct ext_super *sb = &c->fs.super;
	uint64_t ratio = sb->cluster_bytes / sb->block_bytes;

	if (c->was_dirty || c->sums.unknown)
		return;
	compare_count(
		c, "blocks", sb->free_blocks, c->sums.free_blocks * ratio);
	compare_count(c, "inodes", sb->free_inodes, c->sums.free_inodes);
}

/* ---- copies ------------------------------------------------------------------ */

/* What never changes, or in all copies at once; NULL: nothing differs. */
static const char *difference(
	const struct ext_super *a, const struct ext_super *b)
{
	if (a->block_bytes != b->block_bytes ||
		a->cluster_bytes != b->cluster_bytes)
		return "block size";
	if (a->inode_bytes != b->inode_bytes)
		return "inode size";
	if (a->blocks_per_group != b->blocks_per_group ||
		a->inodes_per_group != b->inodes_per_group)
		return "size of groups";
	if (a->block_count != b->block_count)
		return "number of blocks";
	if (a->desc_bytes != b->desc_bytes)
		return "size of descriptors";
	return NULL;
}

/* Without the name of what is damaged, which stands before it already. */
static const char *reason(const struct ext_damage *damage)
{
	static const char name[] = "superblock: ";

	return strncmp(damage->why, name, sizeof(name) - 1) == 0
		       ? damage->why + sizeof(name) - 1
		       : damage->why;
}

void check_super_copy(struct check_worker *w, uint32_t index)
{
	const struct ext *fs = &w->c->fs;
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	blk_no at = ext_group_first(&fs->super, index);
	struct ext_disk_super raw;
	struct ext_super copy;
	const char *differs = NULL;
	int err = ext_super_read_at(
		fs->dev, at * fs->super.block_bytes, &raw, &damage);

	if (!err)
		err = ext_super_decode(&raw, &copy, &damage);
	if (!err)
		differs = difference(&fs->super, &copy);
	if (err)
		check_found(w, EXT_CHECK_SUPER, at, 0,
			"copy of the superblock: %s", reason(&damage));
	else if (differs)
		check_found(w, EXT_CHECK_SUPER, at, 0,
			"copy of the superblock: another %s", differs);
}
