/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * codec.c - headers, tails and commit blocks, and their checksums.
 *
 * Every checksum of versions 2 and 3 starts from the journal's uuid and covers
 * the whole block with its own field as zero.
 */
#include "jnl/codec.h"

#include "base/crc32c.h"

enum { V1_CHECKSUM_BYTES = 4 };

/* The checksum of @block whose own 4 bytes at @field count as zero. */
static uint32_t block_checksum(
	const struct jnl_super *sb, const void *block, uint32_t field)
{
	static const struct be32 zero;
	const uint8_t *from = block;
	uint32_t after = field + sizeof(zero);
	uint32_t crc = crc32c(sb->csum_seed, from, field);

	crc = crc32c(crc, &zero, sizeof(zero));
	return crc32c(crc, from + after, sb->block_bytes - after);
}

static void store(void *block, uint32_t field, uint32_t value)
{
	struct be32 raw = be32_of(value);

	memcpy((uint8_t *)block + field, &raw, sizeof(raw));
}

static uint32_t load(const void *block, uint32_t field)
{
	struct be32 raw;

	memcpy(&raw, (const uint8_t *)block + field, sizeof(raw));
	return be32_get(raw);
}

uint32_t jnl_block_room(const struct jnl_super *sb)
{
	return sb->block_bytes - (sb->csum_v23 ? sizeof(struct jbd_tail) : 0);
}

void jnl_block_seal(const struct jnl_super *sb, void *block)
{
	uint32_t field = jnl_block_room(sb);

	if (sb->csum_v23)
		store(block, field, block_checksum(sb, block, field));
}

bool jnl_block_intact(const struct jnl_super *sb, const void *block)
{
	uint32_t field = jnl_block_room(sb);

	return !sb->csum_v23 ||
	       load(block, field) == block_checksum(sb, block, field);
}

uint32_t jnl_revoke_bytes(const struct jnl_super *sb)
{
	return sb->wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

void jnl_header_encode(void *block, enum jbd_block_type type, jnl_tid tid)
{
	struct jbd_header raw = {
		.magic = be32_of(JBD_MAGIC),
		.type = be32_of(type),
		.sequence = be32_of(tid),
	};

	memcpy(block, &raw, sizeof(raw));
}

bool jnl_header_decode(const void *block, uint32_t *type, jnl_tid *tid)
{
	struct jbd_header raw;

	memcpy(&raw, block, sizeof(raw));
	if (be32_get(raw.magic) != JBD_MAGIC)
		return false;
	*type = be32_get(raw.type);
	*tid = be32_get(raw.sequence);
	return true;
}

void jnl_commit_encode(const struct jnl_super *sb, void *block, jnl_tid tid,
	uint64_t seconds, uint32_t nanoseconds, uint32_t v1_crc)
{
	struct jbd_commit raw = {
		.seconds = be64_of(seconds),
		.nanoseconds = be32_of(nanoseconds),
	};
	const uint32_t field = offsetof(struct jbd_commit, checksum);

	jnl_header_encode(&raw.header, JBD_COMMIT, tid);
	if (sb->csum_v1) {
		raw.checksum_type = JBD_CSUM_CRC32;
		raw.checksum_bytes = V1_CHECKSUM_BYTES;
		raw.checksum[0] = be32_of(v1_crc);
	}
	memset(block, 0, sb->block_bytes);
	memcpy(block, &raw, sizeof(raw));
	if (sb->csum_v23)
		store(block, field, block_checksum(sb, block, field));
}

bool jnl_commit_intact(const struct jnl_super *sb, const void *block)
{
	const uint32_t field = offsetof(struct jbd_commit, checksum);

	return !sb->csum_v23 ||
	       load(block, field) == block_checksum(sb, block, field);
}

bool jnl_commit_covers(
	const struct jnl_super *sb, const void *block, uint32_t v1_crc)
{
	struct jbd_commit raw;
	uint32_t found;

	if (!sb->csum_v1)
		return true;
	memcpy(&raw, block, sizeof(raw));
	found = be32_get(raw.checksum[0]);
	if (raw.checksum_type == 0 && raw.checksum_bytes == 0)
		return found == 0;
	return raw.checksum_type == JBD_CSUM_CRC32 &&
	       raw.checksum_bytes == V1_CHECKSUM_BYTES && found == v1_crc;
}
