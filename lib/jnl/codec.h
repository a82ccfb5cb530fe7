/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * codec.h - log blocks to and from memory, in every variant of the format.
 *
 * Internal to lib/jnl: the committer encodes with it, replay and dump decode
 * with it, so each layout is written down once.
 */
#ifndef JNL_CODEC_H
#define JNL_CODEC_H

#include <stdbool.h>

#include "base/cc.h"
#include "jnl/format.h"
#include "jnl/jnl.h"

/* A journal superblock, decoded and checked. */
struct jnl_super {
	uint32_t version; /* 1 or 2 */
	uint32_t block_bytes;
	uint32_t block_count; /* of the log */
	uint32_t first;       /* first log block of the ring */
	uint32_t end;         /* one past the last: block_count less the
	                         fast-commit area */
	uint32_t start;       /* 0: empty */
	jnl_tid sequence;
	int32_t error; /* 0 or a positive errno */
	uint32_t compat;
	uint32_t incompat;
	uint32_t fc_blocks; /* 0 without FAST_COMMIT */
	uint32_t fc_first;  /* fast commits begin here: end + 1, one block
	                       between the two is never used; without them:
	                       block_count */
	uint8_t uuid[16];
	uint32_t user_count;
	/* derived */
	bool csum_v1;
	bool csum_v23; /* v2 or v3: blocks carry crc32c */
	bool csum_v3;
	bool wide;          /* 64-bit block numbers */
	uint32_t csum_seed; /* crc32c(~0, uuid) */
};

/*
 * Decode @raw, the first 1024 bytes of the superblock's log block.  @why gets
 * the reason in one line (may be NULL).  -EUCLEAN, -EBADMSG (checksum),
 * -EOPNOTSUPP (features).  @log_blocks is the length of the map.
 */
MUST_USE int jnl_super_decode(const struct jbd_super *raw, uint32_t block_bytes,
	uint32_t log_blocks, struct jnl_super *out, char *why,
	size_t why_bytes);

/* Set the derived fields after features have changed. */
void jnl_super_derive(struct jnl_super *sb);

/* Set the features for these checksums, and for wide block numbers if @wide. */
void jnl_super_choose(
	struct jnl_super *sb, enum jnl_checksum checksum, bool wide);

/*
 * The same in two steps, for those who show a superblock all the same: all
 * checks but that of the checksum, and that one.
 */
MUST_USE int jnl_super_parse(const struct jbd_super *raw, uint32_t block_bytes,
	uint32_t log_blocks, struct jnl_super *out, char *why,
	size_t why_bytes);
bool jnl_super_intact(const struct jbd_super *raw, const struct jnl_super *sb);

/* Bring start, sequence, error and features of @sb into @raw, and its
 * checksum. */
void jnl_super_encode(const struct jnl_super *sb, struct jbd_super *raw);

/* ---- descriptor blocks --------------------------------------------------- */

struct jnl_tag {
	blk_no home;
	uint32_t flags;    /* enum jbd_tag_flag */
	uint32_t checksum; /* as stored: 32, 16 or 0 bits */
};

/* Bytes of one tag, without a uuid. */
uint32_t jnl_tag_bytes(const struct jnl_super *sb);

/* How many tags a descriptor block holds when only the first has a uuid. */
uint32_t jnl_tags_per_block(const struct jnl_super *sb);

/*
 * Append @tag at *@at inside descriptor @block; a uuid follows unless the
 * flags say SAME_UUID.  Advances *@at.  The caller knows that it fits.
 */
void jnl_tag_encode(const struct jnl_super *sb, void *block, uint32_t *at,
	const struct jnl_tag *tag);

/*
 * Read the tag at *@at and advance.  -EUCLEAN: it does not fit the block.
 * The first tag of a block is at sizeof(struct jbd_header).
 */
MUST_USE int jnl_tag_decode(const struct jnl_super *sb, const void *block,
	uint32_t *at, struct jnl_tag *out);

/* The checksum to store in a tag for @data as it lies in the log. */
uint32_t jnl_tag_checksum(
	const struct jnl_super *sb, jnl_tid tid, const void *data);

/* ---- whole blocks ---------------------------------------------------------- */

/* Store the tail checksum of a descriptor or revoke block (v2, v3). */
void jnl_block_seal(const struct jnl_super *sb, void *block);
bool jnl_block_intact(const struct jnl_super *sb, const void *block);

/* Bytes of a descriptor or revoke block that tags and numbers may use. */
uint32_t jnl_block_room(const struct jnl_super *sb);

/* Bytes of one revoked block number: 4 or 8. */
uint32_t jnl_revoke_bytes(const struct jnl_super *sb);

/* Write header fields. */
void jnl_header_encode(void *block, enum jbd_block_type type, jnl_tid tid);

/* False: no magic number, not a block of the log's own. */
bool jnl_header_decode(const void *block, uint32_t *type, jnl_tid *tid);

/*
 * A whole commit block; @v1_crc is v1's checksum: crc32_be from ~0 over the
 * transaction's descriptor and data blocks as they lie in the log, in order
 * (revoke blocks are not in it).
 */
void jnl_commit_encode(const struct jnl_super *sb, void *block, jnl_tid tid,
	uint64_t seconds, uint32_t nanoseconds, uint32_t v1_crc);
bool jnl_commit_intact(const struct jnl_super *sb, const void *block);

/* Does commit @block vouch for blocks with checksum @v1_crc?  True without
 * v1, and for a commit block that was written before v1 was switched on. */
bool jnl_commit_covers(
	const struct jnl_super *sb, const void *block, uint32_t v1_crc);

/* ---- the map -------------------------------------------------------------- */

/* The length of the map. */
uint32_t jnl_place_blocks(const struct jnl_place *place);

/* Where log block @log lies on its device; @log is inside the map. */
blk_no jnl_place_dev(const struct jnl_place *place, uint32_t log);

/* The longest run from @log that is contiguous on the device. */
uint32_t jnl_place_run(const struct jnl_place *place, uint32_t log);

#endif /* JNL_CODEC_H */
