/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * super.c - the journal superblock: decoded, checked, and brought up to date.
 *
 * Nothing that the disk says is used before it was checked against the rest:
 * after a successful decode, first <= start < end holds for a log that is not
 * empty, and the ring first .. end - 1 lies inside the map.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/crc32c.h"
#include "jnl/codec.h"

enum {
	KNOWN_INCOMPAT = JBD_INCOMPAT_REVOKE | JBD_INCOMPAT_64BIT |
			 JBD_INCOMPAT_ASYNC_COMMIT | JBD_INCOMPAT_CSUM_V2 |
			 JBD_INCOMPAT_CSUM_V3 | JBD_INCOMPAT_FAST_COMMIT,
	FC_BLOCKS_DEFAULT = 256, /* where the superblock says 0 */
};

/* Where the reason of a refusal goes; text may be NULL. */
struct reason {
	char *text;
	size_t bytes;
};

/* Give the reason, return @error. */
static PRINTF(3, 4) int refuse(
	const struct reason *why, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (why->text != NULL)
		(void)vsnprintf(why->text, why->bytes, fmt, args);
	va_end(args);
	return error;
}

static uint32_t super_checksum(const struct jbd_super *raw)
{
	struct jbd_super copy = *raw;

	copy.checksum = be32_of(0);
	return crc32c(~UINT32_C(0), &copy, sizeof(copy));
}

/* Fields that only version 2 has. */
static void decode_v2(const struct jbd_super *raw, struct jnl_super *sb)
{
	sb->compat = be32_get(raw->feature_compat);
	sb->incompat = be32_get(raw->feature_incompat);
	memcpy(sb->uuid, raw->uuid, sizeof(sb->uuid));
	sb->user_count = be32_get(raw->user_count);
	if (sb->incompat & JBD_INCOMPAT_FAST_COMMIT) {
		sb->fc_blocks = be32_get(raw->fc_blocks);
		if (sb->fc_blocks == 0)
			sb->fc_blocks = FC_BLOCKS_DEFAULT;
	}
}

void jnl_super_derive(struct jnl_super *sb)
{
	sb->csum_v1 = sb->compat & JBD_COMPAT_CHECKSUM;
	sb->csum_v3 = sb->incompat & JBD_INCOMPAT_CSUM_V3;
	sb->csum_v23 = sb->csum_v3 || (sb->incompat & JBD_INCOMPAT_CSUM_V2);
	sb->wide = sb->incompat & JBD_INCOMPAT_64BIT;
	sb->csum_seed = crc32c(~UINT32_C(0), sb->uuid, sizeof(sb->uuid));
}

static void choose_checksum(struct jnl_super *sb, enum jnl_checksum checksum)
{
	const uint32_t v23 = JBD_INCOMPAT_CSUM_V2 | JBD_INCOMPAT_CSUM_V3;

	if (checksum == JNL_CHECKSUM_KEEP)
		return;
	sb->compat &= ~(uint32_t)JBD_COMPAT_CHECKSUM;
	sb->incompat &= ~v23;
	if (checksum == JNL_CHECKSUM_V1)
		sb->compat |= JBD_COMPAT_CHECKSUM;
	if (checksum == JNL_CHECKSUM_V2)
		sb->incompat |= JBD_INCOMPAT_CSUM_V2;
	if (checksum == JNL_CHECKSUM_V3)
		sb->incompat |= JBD_INCOMPAT_CSUM_V3;
}

void jnl_super_choose(
	struct jnl_super *sb, enum jnl_checksum checksum, bool wide)
{
	choose_checksum(sb, checksum);
	if (wide)
		sb->incompat |= JBD_INCOMPAT_64BIT;
	jnl_super_derive(sb);
}

static int check_features(const struct jbd_super *raw,
	const struct jnl_super *sb, const struct reason *why)
{
	const uint32_t v23 = JBD_INCOMPAT_CSUM_V2 | JBD_INCOMPAT_CSUM_V3;
	uint32_t unknown = sb->incompat & ~(uint32_t)KNOWN_INCOMPAT;

	if (unknown != 0)
		return refuse(why, -EOPNOTSUPP,
			"unknown incompatible journal features 0x%x", unknown);
	if (sb->version == 2 && be32_get(raw->feature_ro_compat) != 0)
		return refuse(why, -EOPNOTSUPP,
			"unknown read-only journal features 0x%x",
			be32_get(raw->feature_ro_compat));
	if ((sb->incompat & v23) == v23)
		return refuse(why, -EUCLEAN,
			"journal claims checksums v2 and v3 at once");
	if (sb->csum_v1 && sb->csum_v23)
		return refuse(why, -EUCLEAN,
			"journal claims checksums v1 and v2 or v3 at once");
	if (sb->csum_v23 && raw->checksum_type != JBD_CSUM_CRC32C)
		return refuse(why, -EOPNOTSUPP,
			"unknown journal checksum type %u", raw->checksum_type);
	return 0;
}

static int check_geometry(const struct jnl_super *sb, uint32_t log_blocks,
	const struct reason *why)
{
	if (sb->block_count > log_blocks)
		return refuse(why, -EUCLEAN,
			"journal of %u blocks says that it has %u", log_blocks,
			sb->block_count);
	if (sb->fc_blocks >= sb->block_count)
		return refuse(why, -EUCLEAN,
			"fast-commit area of %u blocks in a journal of %u",
			sb->fc_blocks, sb->block_count);
	if (sb->first == 0 || sb->first >= sb->end)
		return refuse(why, -EUCLEAN,
			"journal ring from block %u to block %u", sb->first,
			sb->end);
	if (sb->start != 0 && (sb->start < sb->first || sb->start >= sb->end))
		return refuse(why, -EUCLEAN,
			"journal starts at block %u, outside its ring %u to %u",
			sb->start, sb->first, sb->end);
	return 0;
}

/* The header, and what both versions have. */
static int decode_head(const struct jbd_super *raw, uint32_t block_bytes,
	struct jnl_super *sb, const struct reason *why)
{
	uint32_t type = be32_get(raw->header.type);
	int32_t error = (int32_t)be32_get(raw->error);

	if (be32_get(raw->header.magic) != JBD_MAGIC)
		return refuse(why, -EUCLEAN, "no journal superblock");
	if (type != JBD_SUPER_V1 && type != JBD_SUPER_V2)
		return refuse(
			why, -EUCLEAN, "journal superblock has type %u", type);
	sb->version = type == JBD_SUPER_V1 ? 1 : 2;
	sb->block_bytes = be32_get(raw->block_bytes);
	if (sb->block_bytes != block_bytes)
		return refuse(why, -EUCLEAN,
			"journal block size is %u instead of %u",
			sb->block_bytes, block_bytes);
	sb->block_count = be32_get(raw->block_count);
	sb->first = be32_get(raw->first);
	sb->sequence = be32_get(raw->sequence);
	sb->start = be32_get(raw->start);
	sb->error = error == INT32_MIN ? INT32_MAX : error < 0 ? -error : error;
	return 0;
}

int jnl_super_parse(const struct jbd_super *raw, uint32_t block_bytes,
	uint32_t log_blocks, struct jnl_super *out, char *why, size_t why_bytes)
{
	struct reason reason = {.bytes = why_bytes};
	struct jnl_super sb = {0};
	int err;

	reason.text = why;
	err = decode_head(raw, block_bytes, &sb, &reason);
	if (err != 0)
		return err;
	if (sb.version == 2)
		decode_v2(raw, &sb);
	jnl_super_derive(&sb);
	err = check_features(raw, &sb, &reason);
	if (err != 0)
		return err;
	sb.end = sb.block_count - sb.fc_blocks;
	sb.fc_first = sb.fc_blocks > 0 ? sb.end + 1 : sb.block_count;
	err = check_geometry(&sb, log_blocks, &reason);
	if (err != 0)
		return err;
	*out = sb;
	return 0;
}

bool jnl_super_intact(const struct jbd_super *raw, const struct jnl_super *sb)
{
	return !sb->csum_v23 || be32_get(raw->checksum) == super_checksum(raw);
}

int jnl_super_decode(const struct jbd_super *raw, uint32_t block_bytes,
	uint32_t log_blocks, struct jnl_super *out, char *why, size_t why_bytes)
{
	struct jnl_super sb;
	int err = jnl_super_parse(
		raw, block_bytes, log_blocks, &sb, why, why_bytes);

	if (err != 0)
		return err;
	if (!jnl_super_intact(raw, &sb)) {
		if (why != NULL)
			(void)snprintf(why, why_bytes,
				"journal superblock checksum is bad");
		return -EBADMSG;
	}
	*out = sb;
	return 0;
}

void jnl_super_encode(const struct jnl_super *sb, struct jbd_super *raw)
{
	raw->start = be32_of(sb->start);
	raw->sequence = be32_of(sb->sequence);
	/* Kernels store the errno as they return it, negative. */
	raw->error = be32_of((uint32_t)-sb->error);
	if (sb->version == 1)
		return;
	raw->header.type = be32_of(JBD_SUPER_V2);
	raw->feature_compat = be32_of(sb->compat);
	raw->feature_incompat = be32_of(sb->incompat);
	raw->checksum_type = sb->csum_v23 ? JBD_CSUM_CRC32C : 0;
	raw->checksum = be32_of(sb->csum_v23 ? super_checksum(raw) : 0);
}
