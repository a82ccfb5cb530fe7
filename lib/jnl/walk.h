/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk.h - every block of a log, one after the other, decoded for a reader.
 *
 * Replay asks what a log still owes; a walk shows what lies in it, live or
 * stale, intact or not.  Both decode with the same code, so a dump shows what
 * a replay would see.
 *
 * In the live part, blocks are what their descriptors say.  Elsewhere a block
 * that begins with the magic number and has a known type is what it says; any
 * other belongs to the descriptor before it, as long as that one has tags left
 * and no other block of the log lies between; or it is stray: never used, or
 * left over from an earlier lap.
 *
 * Threads: as the device.  Nothing is written.  Memory is that of a replay.
 * Errors: what jnl_super_decode() says of the superblock, except that a
 * bad checksum of it is shown and walked past; device errors; whatever a
 * callback returns ends the walk and is returned.  Damage in the log is not
 * an error of the walk: the callbacks and the result tell it.
 */
#ifndef JNL_WALK_H
#define JNL_WALK_H

#include "jnl/codec.h"
#include "jnl/replay.h"

enum jnl_walk_kind {
	JNL_WALK_DESCRIPTOR,
	JNL_WALK_DATA, /* a copy that a descriptor's tag speaks of */
	JNL_WALK_REVOKE,
	JNL_WALK_COMMIT,
	JNL_WALK_SUPER, /* the magic number and a superblock's type */
	JNL_WALK_FAST,  /* a block of the fast-commit area in use */
	JNL_WALK_STRAY,
};

enum jnl_walk_sum {
	JNL_SUM_NONE, /* this kind has none in this log's format */
	JNL_SUM_GOOD,
	JNL_SUM_BAD,
};

/* One block of the log.  Valid during the callback. */
struct jnl_walk_block {
	uint32_t log; /* log block */
	blk_no dev;   /* device block */
	enum jnl_walk_kind kind;
	jnl_tid tid; /* of the header; DATA: of its descriptor */
	bool live;   /* a replay would use it */
	enum jnl_walk_sum sum;
	const char *damage; /* why it cannot be decoded whole, or NULL */
	const void *data;   /* block_bytes, as they lie in the log */

	union {
		/* In the order of the blocks that follow. */
		struct {
			const struct jnl_tag *tags;
			uint32_t count;
		} descriptor;
		struct jnl_tag tag; /* DATA */

		struct {
			const blk_no *blocks;
			uint32_t count;
		} revoke;

		/* @sum is that of the block itself (v2, v3), or v1's over the
		 * transaction. */
		struct {
			uint64_t seconds;
			uint32_t nanoseconds;
		} commit;
	};
};

/* One record of a FAST block, as it lies there.  Valid during the callback. */
struct jnl_fast_record {
	uint32_t log;    /* log block */
	uint32_t offset; /* of the record in it */
	uint16_t tag;    /* enum jbd_fast_tag */
	uint16_t bytes;  /* of the body */
	const void *body;
	bool live; /* a replay would use it */

	/* HEAD and TAIL */
	jnl_tid tid;
	uint32_t features;     /* HEAD */
	enum jnl_walk_sum sum; /* TAIL: over all records since the last one */
};

struct jnl_walk_visitor {
	/* The superblock, first of all.  @sum: its checksum. */
	int (*super)(
		void *arg, const struct jnl_super *sb, enum jnl_walk_sum sum);
	int (*block)(void *arg, const struct jnl_walk_block *b);
	int (*fast)(void *arg, const struct jnl_fast_record *r);
};

enum jnl_walk_flags {
	/*
	 * Only the live part, from the tail on, in the order of the ring, and
	 * one block more, at which it ends; of the fast-commit area, what
	 * belongs to it.  Else the whole ring, from the tail on (an empty log:
	 * from its first block), and the whole area.
	 */
	JNL_WALK_LIVE = 1 << 0,
};

/* What a replay of the log would come to. */
struct jnl_walk_result {
	int error; /* what jnl_replay() would return on account of the log, the
	              size of the file system aside */
	uint32_t transactions; /* complete ones */
	jnl_tid end_tid;       /* the first that is not */
	uint32_t end_log;      /* log block where the live part ends */
	char why[160];         /* what ended it, in one line */
};

/* Members of @visitor may be NULL. */
MUST_USE int jnl_walk(const struct jnl_place *place, unsigned flags,
	const struct jnl_walk_visitor *visitor, void *arg,
	struct jnl_walk_result *out);

#endif /* JNL_WALK_H */
