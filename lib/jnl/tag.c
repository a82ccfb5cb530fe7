/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tag.c - the tags of a descriptor block: one per block that follows it.
 *
 * Checksum v3 has its own form of 16 bytes.  The older form is 8 bytes, 12
 * with 64-bit block numbers, and checksum v2 pads either by 2.  A uuid
 * follows a tag that does not say SAME_UUID.
 */
#include <errno.h>

#include "base/crc32c.h"
#include "jnl/codec.h"

enum { UUID_BYTES = 16 };

uint32_t jnl_tag_bytes(const struct jnl_super *sb)
{
	uint32_t bytes = sizeof(struct jbd_tag);

	if (sb->csum_v3)
		return sizeof(struct jbd_tag3);
	if (sb->csum_v23)
		bytes += sizeof(uint16_t);
	if (!sb->wide)
		bytes -= sizeof(uint32_t);
	return bytes;
}

uint32_t jnl_tags_per_block(const struct jnl_super *sb)
{
	uint32_t room = jnl_block_room(sb) - sizeof(struct jbd_header);

	return (room - UUID_BYTES) / jnl_tag_bytes(sb);
}

static void encode_v3(
	const struct jnl_super *sb, void *at, const struct jnl_tag *tag)
{
	struct jbd_tag3 raw = {
		.block = be32_of((uint32_t)tag->home),
		.flags = be32_of(tag->flags),
		.block_high =
			be32_of(sb->wide ? (uint32_t)(tag->home >> 32) : 0),
		.checksum = be32_of(tag->checksum),
	};

	memcpy(at, &raw, sizeof(raw));
}

static void encode_old(
	const struct jnl_super *sb, void *at, const struct jnl_tag *tag)
{
	struct jbd_tag raw = {
		.block = be32_of((uint32_t)tag->home),
		.checksum = be16_of((uint16_t)tag->checksum),
		.flags = be16_of((uint16_t)tag->flags),
		.block_high = be32_of((uint32_t)(tag->home >> 32)),
	};

	memset(at, 0, jnl_tag_bytes(sb));
	memcpy(at, &raw,
		sb->wide ? sizeof(raw) : offsetof(struct jbd_tag, block_high));
}

void jnl_tag_encode(const struct jnl_super *sb, void *block, uint32_t *at,
	const struct jnl_tag *tag)
{
	uint8_t *to = (uint8_t *)block + *at;

	if (sb->csum_v3)
		encode_v3(sb, to, tag);
	else
		encode_old(sb, to, tag);
	*at += jnl_tag_bytes(sb);
	if (!(tag->flags & JBD_TAG_SAME_UUID)) {
		memcpy((uint8_t *)block + *at, sb->uuid, UUID_BYTES);
		*at += UUID_BYTES;
	}
}

static void decode_v3(
	const struct jnl_super *sb, const void *at, struct jnl_tag *tag)
{
	struct jbd_tag3 raw;

	memcpy(&raw, at, sizeof(raw));
	tag->home = be32_get(raw.block);
	if (sb->wide)
		tag->home |= (blk_no)be32_get(raw.block_high) << 32;
	tag->flags = be32_get(raw.flags);
	tag->checksum = be32_get(raw.checksum);
}

static void decode_old(
	const struct jnl_super *sb, const void *at, struct jnl_tag *tag)
{
	struct jbd_tag raw = {0};

	memcpy(&raw, at,
		sb->wide ? sizeof(raw) : offsetof(struct jbd_tag, block_high));
	tag->home = be32_get(raw.block) | (blk_no)be32_get(raw.block_high)
						  << 32;
	tag->flags = be16_get(raw.flags);
	tag->checksum = sb->csum_v23 ? be16_get(raw.checksum) : 0;
}

int jnl_tag_decode(const struct jnl_super *sb, const void *block, uint32_t *at,
	struct jnl_tag *out)
{
	uint32_t room = jnl_block_room(sb);
	uint32_t next = *at + jnl_tag_bytes(sb);
	struct jnl_tag tag;

	if (next > room)
		return -EUCLEAN;
	if (sb->csum_v3)
		decode_v3(sb, (const uint8_t *)block + *at, &tag);
	else
		decode_old(sb, (const uint8_t *)block + *at, &tag);
	if (!(tag.flags & JBD_TAG_SAME_UUID)) {
		next += UUID_BYTES;
		if (next > room)
			return -EUCLEAN;
	}
	*out = tag;
	*at = next;
	return 0;
}

uint32_t jnl_tag_checksum(
	const struct jnl_super *sb, jnl_tid tid, const void *data)
{
	struct be32 sequence = be32_of(tid);
	uint32_t crc;

	if (!sb->csum_v23)
		return 0;
	crc = crc32c(sb->csum_seed, &sequence, sizeof(sequence));
	crc = crc32c(crc, data, sb->block_bytes);
	return sb->csum_v3 ? crc : crc & 0xffff;
}
