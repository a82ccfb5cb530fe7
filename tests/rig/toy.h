/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * toy.h - a journal with a toy file system around it, for tests.
 *
 * One device: home blocks first, the log behind them (or on a device of its
 * own).  Home block 0 is the toy's superblock; it says whether recovery is
 * needed.  Block 1 is folded: at each commit it gets the transaction's tid.
 * All other blocks are the test's.
 *
 * A filled block says which block it is and which version it holds in every
 * sixteen bytes, so that any tear or mix-up shows.
 */
#ifndef TESTS_RIG_TOY_H
#define TESTS_RIG_TOY_H

#include "blk/blk.h"
#include "cache/cache.h"
#include "jnl/jnl.h"

enum { TOY_SUPER = 0, TOY_FOLDED = 1, TOY_FIRST = 2 };

struct toy_opts {
	uint32_t block_bytes; /* 0: 4096 */
	uint32_t home_blocks; /* 0: 1024 */
	uint32_t log_blocks;  /* 0: 1024, the journal's superblock included */
	uint64_t cache_bytes; /* 0: 64 MiB */
	bool external;        /* the log on a device of its own */
	bool no_journal;
	uint32_t map_extent; /* 0: one extent, else blocks of each, with gaps */
	enum jnl_admission admission;
	enum jnl_checksum checksum;
	bool wide;
	uint32_t commit_ms; /* 0: an hour, so that tests decide */
	uint32_t max_blocks;
	uint32_t first_tid; /* 0: 1 */
};

struct toy {
	struct toy_opts opts;
	struct blk_dev *dev; /* the stack that the cache and the log use */
	struct blk_dev *log_dev;
	struct cache *cache;
	struct jnl *jnl;
	struct jnl_place place;
	struct jnl_client client; /* may be changed before toy_start() */
	struct buf *folded;       /* pinned while started */
	_Atomic jnl_tid committed_tid;
	_Atomic uint32_t committed_calls;
	_Atomic int aborted_error;
	_Atomic uint32_t aborted_calls;
	void (*on_committed)(struct toy *toy, jnl_tid tid); /* may be NULL */
	void *user;
};

/* Device bytes that @opts need: home, and the log unless external. */
uint64_t toy_device_bytes(const struct toy_opts *opts);
uint64_t toy_log_bytes(const struct toy_opts *opts);

/* Write an empty toy file system and log.  @log_dev NULL: internal. */
void toy_format(const struct toy_opts *opts, struct blk_dev *dev,
	struct blk_dev *log_dev);

/* Describe a formatted toy: fills opts, place, client.  Devices stay the
 * caller's. */
void toy_init(struct toy *toy, const struct toy_opts *opts, struct blk_dev *dev,
	struct blk_dev *log_dev);

/* Open cache and journal; the first error. */
int toy_start(struct toy *toy);

/* Close journal and cache; the error of jnl_close(). */
int toy_stop(struct toy *toy);

void toy_fini(struct toy *toy);

/* Does the toy's superblock on @dev say that it needs recovery? */
bool toy_needs_recovery(const struct toy_opts *opts, struct blk_dev *dev);

/* Replay the log home and mark it empty; the first error. */
int toy_recover(const struct toy_opts *opts, struct blk_dev *dev,
	struct blk_dev *log_dev);

/* ---- blocks ------------------------------------------------------------------ */

void toy_fill(const struct toy_opts *opts, void *data, blk_no block,
	uint64_t version);

/* The version that @data holds whole; UINT64_MAX: none (torn, other block). */
uint64_t toy_version(
	const struct toy_opts *opts, const void *data, blk_no block);

/* The version at home on @dev, past any cache. */
uint64_t toy_version_on(
	const struct toy_opts *opts, struct blk_dev *dev, blk_no block);

/* The tid that the folded block holds on @dev; 0: never folded. */
jnl_tid toy_folded_on(const struct toy_opts *opts, struct blk_dev *dev);

/* ---- operations ----------------------------------------------------------------- */

/* Inside @op: pledge the folded block.  Every toy operation does. */
int toy_touch(struct toy *toy, struct jnl_op *op);

/* Inside @op: give @block version @version; @create as jnl_get_create(). */
int toy_put(struct toy *toy, struct jnl_op *op, blk_no block, uint64_t version,
	bool create);

/* One whole operation that puts @count consecutive blocks; *@tid is told. */
int toy_write(struct toy *toy, blk_no block, uint32_t count, uint64_t version,
	jnl_tid *tid);

/* One whole operation that frees @block. */
int toy_free(struct toy *toy, blk_no block, jnl_tid *tid);

#endif /* TESTS_RIG_TOY_H */
