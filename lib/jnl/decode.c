/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * decode.c - one log block, taken as what its header says.
 *
 * Whatever cannot be decoded whole keeps what could be, and says why.
 */
#include "jnl/replay_int.h"

static enum jnl_walk_sum sum_of(const struct jnl_super *sb, bool intact)
{
	if (!sb->csum_v23)
		return JNL_SUM_NONE;
	return intact ? JNL_SUM_GOOD : JNL_SUM_BAD;
}

/* The last tag says so, or no other would fit behind it. */
static void decode_descriptor(struct jnl_log *log, struct jnl_walk_block *b)
{
	uint32_t at = sizeof(struct jbd_header);
	uint32_t count = 0;

	b->kind = JNL_WALK_DESCRIPTOR;
	b->sum = sum_of(&log->sb, jnl_block_intact(&log->sb, b->data));
	while (!jnl_tag_decode(&log->sb, b->data, &at, &log->tags[count]))
		if (log->tags[count++].flags & JBD_TAG_LAST)
			break;
	b->descriptor.tags = log->tags;
	b->descriptor.count = count;
}

static void decode_revoke(struct jnl_log *log, struct jnl_walk_block *b)
{
	const uint8_t *raw = b->data;
	const uint32_t each = jnl_revoke_bytes(&log->sb);
	struct jbd_revoke header;
	uint32_t bytes;
	uint32_t count;

	b->kind = JNL_WALK_REVOKE;
	b->sum = sum_of(&log->sb, jnl_block_intact(&log->sb, raw));
	memcpy(&header, raw, sizeof(header));
	bytes = be32_get(header.bytes);
	if (bytes < sizeof(header) || bytes > jnl_block_room(&log->sb) ||
		(bytes - sizeof(header)) % each != 0) {
		b->damage = "its length makes no sense";
		bytes = sizeof(header);
	}
	count = (uint32_t)(bytes - sizeof(header)) / each;
	raw += sizeof(header);
	for (uint32_t i = 0; i < count; i++, raw += each) {
		struct be64 wide;
		struct be32 narrow;

		memcpy(&narrow, raw, sizeof(narrow));
		log->revokes[i] = be32_get(narrow);
		if (log->sb.wide) {
			memcpy(&wide, raw, sizeof(wide));
			log->revokes[i] = be64_get(wide);
		}
	}
	b->revoke.blocks = log->revokes;
	b->revoke.count = count;
}

static void decode_commit(struct jnl_log *log, struct jnl_walk_block *b)
{
	struct jbd_commit raw;

	b->kind = JNL_WALK_COMMIT;
	b->sum = sum_of(&log->sb, jnl_commit_intact(&log->sb, b->data));
	memcpy(&raw, b->data, sizeof(raw));
	b->commit.seconds = be64_get(raw.seconds);
	b->commit.nanoseconds = be32_get(raw.nanoseconds);
}

int jnl_log_decode(struct jnl_log *log, uint32_t at, struct jnl_walk_block *out)
{
	uint32_t type;
	int err;

	*out = (struct jnl_walk_block){.log = at, .kind = JNL_WALK_STRAY};
	err = jnl_log_read(log, at, &out->data);
	if (err != 0)
		return err;
	out->dev = jnl_place_dev(log->place, at);
	if (!jnl_header_decode(out->data, &type, &out->tid))
		return 0;
	switch (type) {
	case JBD_DESCRIPTOR:
		decode_descriptor(log, out);
		break;
	case JBD_COMMIT:
		decode_commit(log, out);
		break;
	case JBD_REVOKE:
		decode_revoke(log, out);
		break;
	case JBD_SUPER_V1:
	case JBD_SUPER_V2:
		out->kind = JNL_WALK_SUPER;
		break;
	default:
		out->damage = "it has an unknown type";
	}
	return 0;
}
