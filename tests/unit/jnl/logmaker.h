/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * logmaker.h - logs for tests, byte by byte from journal.rst.
 *
 * Shares no encoder with the library, only the checksum functions, which have
 * tests of their own.  The device holds home blocks 0 .. MAKER_HOMES - 1 and
 * then the log in two extents, the second half first, so that nothing works
 * by accident of a contiguous map.  Everything at home is zero at first; a copy
 * is a block filled with one byte.
 */
#ifndef TESTS_JNL_LOGMAKER_H
#define TESTS_JNL_LOGMAKER_H

#include "jnl/replay.h"

enum {
	MAKER_HOMES = 64,
	MAKER_LOG = 40, /* blocks, superblock included */
	MAKER_BLOCKS = MAKER_HOMES + MAKER_LOG,
	MAKER_TID = 10, /* of the first transaction */
	TXN_MAX = 33,   /* copies, or revokes, in a struct txn */
};

/* The forms of a log. */
struct form {
	const char *name;
	int csum; /* 0, 1, 2, 3 */
	bool wide;
	uint32_t block_bytes;
	bool async;
};

struct maker {
	struct form form;
	struct blk_dev *dev;
	struct jnl_extent map[2];
	struct jnl_place place;
	uint32_t fc_blocks; /* FAST_COMMIT if not 0 */
	uint32_t at;        /* next log block */
	uint32_t end;       /* of the ring */
	uint64_t clock;     /* seconds of the next commit */
	uint8_t uuid[16];
};

/* What to get wrong. */
enum wrong {
	WRONG_NOTHING = 0,
	WRONG_NO_COMMIT = 1 << 0,
	WRONG_COMMIT_SUM = 1 << 1,
	WRONG_COMMIT_TORN = 1 << 2, /* old bytes after its first sector */
	WRONG_DESCRIPTOR_SUM = 1 << 3,
	WRONG_REVOKE_SUM = 1 << 4,
	WRONG_TAG_SUM = 1 << 5, /* of the last copy */
	WRONG_NO_LAST = 1 << 6, /* no LAST flag */
	WRONG_REVOKE_LONG = 1 << 7,
	WRONG_REVOKE_SHORT = 1 << 8,
	WRONG_TYPE = 1 << 9, /* of the descriptor */
	WRONG_OLD_CLOCK = 1 << 10,
	WRONG_DATA = 1 << 11, /* the last copy's bytes, not its checksum */
};

/* One transaction: revokes first, as Linux writes them, then copies. */
struct txn {
	jnl_tid tid;
	unsigned copies;
	blk_no home[TXN_MAX];
	uint8_t fill
		[TXN_MAX]; /* 0: an escaped block, the magic number and zeroes */
	unsigned revokes;
	blk_no revoke[TXN_MAX];
	unsigned wrong;     /* enum wrong */
	bool uuid_each_tag; /* no tag says SAME_UUID */
};

/* A log with an empty ring from block 1 on, starting at @start. */
void maker_open(struct maker *m, const struct form *form, uint32_t fc_blocks);
void maker_close(struct maker *m);

/* Write the superblock. */
void maker_super(struct maker *m, jnl_tid sequence, uint32_t start);

void maker_txn(struct maker *m, const struct txn *t);

/* Raw access to log blocks, and to one 32-bit big-endian word in one. */
void maker_read(struct maker *m, uint32_t log, void *block);
void maker_write(struct maker *m, uint32_t log, const void *block);
void maker_poke(struct maker *m, uint32_t log, uint32_t offset, uint32_t value);

/* Repair the tail checksum of a descriptor or revoke block. */
void maker_reseal(struct maker *m, uint32_t log);

/* The first byte at home, as the sink left it. */
uint8_t maker_home(struct maker *m, blk_no home);

/* A sink that writes home; its argument is the maker. */
extern const struct jnl_replay_sink maker_sink;

/* Every form: checksums by width by block size. */
extern const struct form maker_forms[];
extern const size_t maker_form_count;

/* jnl_replay() into the maker's own homes. */
int maker_replay(struct maker *m, struct jnl_replay_result *out);

#endif /* TESTS_JNL_LOGMAKER_H */
