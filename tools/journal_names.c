/* SPDX-License-Identifier: BSD-2-Clause */
/* journal_names.c - words for what a journal holds, in text and in JSON. */
#include "tools/journal.h"

const struct journal_flag journal_compat[] = {
	{JBD_COMPAT_CHECKSUM, "checksum"},
	{0, NULL},
};

const struct journal_flag journal_incompat[] = {
	{JBD_INCOMPAT_REVOKE, "revoke"},
	{JBD_INCOMPAT_64BIT, "64bit"},
	{JBD_INCOMPAT_ASYNC_COMMIT, "async_commit"},
	{JBD_INCOMPAT_CSUM_V2, "checksum_v2"},
	{JBD_INCOMPAT_CSUM_V3, "checksum_v3"},
	{JBD_INCOMPAT_FAST_COMMIT, "fast_commit"},
	{0, NULL},
};

const struct journal_flag journal_tag_flags[] = {
	{JBD_TAG_ESCAPE, "escape"},
	{JBD_TAG_SAME_UUID, "same_uuid"},
	{JBD_TAG_DELETED, "deleted"},
	{JBD_TAG_LAST, "last"},
	{0, NULL},
};

const char *journal_kind_name(enum jnl_walk_kind kind)
{
	static const char *const names[] = {
		[JNL_WALK_DESCRIPTOR] = "descriptor",
		[JNL_WALK_DATA] = "data",
		[JNL_WALK_REVOKE] = "revoke",
		[JNL_WALK_COMMIT] = "commit",
		[JNL_WALK_SUPER] = "superblock",
		[JNL_WALK_FAST] = "fast_commit",
		[JNL_WALK_STRAY] = "stray",
	};

	return names[kind];
}

const char *journal_sum_name(enum jnl_walk_sum sum)
{
	static const char *const names[] = {
		[JNL_SUM_NONE] = "none",
		[JNL_SUM_GOOD] = "good",
		[JNL_SUM_BAD] = "bad",
	};

	return names[sum];
}

const char *journal_source_name(enum ext_journal_source source)
{
	static const char *const names[] = {
		[EXT_JOURNAL_INODE] = "inode",
		[EXT_JOURNAL_BACKUP] = "superblock",
		[EXT_JOURNAL_DEVICE] = "device",
	};

	return names[source];
}

const char *journal_fast_name(uint16_t tag)
{
	static const char *const names[] = {
		[JBD_FAST_ADD_RANGE] = "add_range",
		[JBD_FAST_DEL_RANGE] = "del_range",
		[JBD_FAST_CREATE] = "create",
		[JBD_FAST_LINK] = "link",
		[JBD_FAST_UNLINK] = "unlink",
		[JBD_FAST_INODE] = "inode",
		[JBD_FAST_PAD] = "pad",
		[JBD_FAST_TAIL] = "tail",
		[JBD_FAST_HEAD] = "head",
	};

	if (tag >= ARRAY_COUNT(names) || !names[tag])
		return "unknown";
	return names[tag];
}
