/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h - what a toy file system may hold after a power cut.
 *
 * Each block has a history: which transaction made it what.  Transactions are
 * one behind the other, so the state after transaction k is read off the
 * histories, and a recovered device is right if it is that state for some k,
 * and k is not before any transaction that somebody was told was durable.
 *
 *    META  journalled: holds exactly the version written last up to k
 *    DATA  written once, straight to the device, by the transaction that
 *          allocated it: holds exactly that version
 *    FREE  anything
 *
 * Threads claim blocks, so that a history has one writer at a time.  A freed
 * block can be claimed as free once its freeing is committed (J3).
 *
 * A *life* begins with a recovered device and ends with a power cut.  Tids
 * begin anew in each, so the folded block holds the life's number besides.
 */
#ifndef TESTS_CRASH_MODEL_H
#define TESTS_CRASH_MODEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "toy.h"

enum model_kind { MODEL_FREE, MODEL_META, MODEL_DATA };

struct model_entry {
	jnl_tid tid;
	enum model_kind kind;
	uint64_t version;
};

struct model_block {
	struct model_entry base; /* before this life; its tid means nothing */
	struct model_entry *entries; /* [claimer] in order of transactions */
	uint32_t count;
	uint32_t room;
	bool claimed; /* [lock] */
};

/* A promise made when there were @events: @tid is durable. */
struct model_mark {
	uint64_t events;
	jnl_tid tid;
};

/* A state: all transactions of this life up to @tid, or none. */
struct model_point {
	bool any;
	jnl_tid tid;
};

struct model {
	struct toy_opts opts; /* [const] */
	uint32_t life;        /* [const] from 1 */
	_Atomic uint64_t version;
	_Atomic uint64_t committed; /* 1 << 32 and the tid, or 0 */
	pthread_mutex_t lock;
	struct model_block *blocks; /* opts.home_blocks of them */
	struct model_mark *marks;   /* [lock] */
	uint32_t mark_count;
	uint32_t mark_room;
};

/* All blocks from TOY_FIRST on are free.  Exits when memory is out. */
void model_init(struct model *m, const struct toy_opts *opts);
void model_fini(struct model *m);

/* Begin the next life at @point of this one. */
void model_advance(struct model *m, struct model_point point);

/* ---- while threads run -------------------------------------------------- */

enum model_want {
	WANT_META,  /* metadata, to edit or free */
	WANT_DATA,  /* data, to free */
	WANT_FREE,  /* allocatable */
	WANT_DYING, /* freed by a transaction that may not be committed yet */
};

/* A random such block that nobody else uses from now on; 0: found none. */
blk_no model_claim(struct model *m, enum model_want want, uint64_t *rng);
void model_unclaim(struct model *m, blk_no block);

/* A version that no block ever had. */
uint64_t model_version(struct model *m);

/* The claimer made @block what these say, in transaction @tid. */
void model_record(struct model *m, blk_no block, jnl_tid tid,
	enum model_kind kind, uint64_t version);

/* What the claimer's block is now. */
const struct model_entry *model_now(const struct model *m, blk_no block);

/* Has the claimer's block been something before it became what it is? */
bool model_is_reused(const struct model *m, blk_no block);

/* @tid is COMMITTED: the journal's client was told. */
void model_committed(struct model *m, jnl_tid tid);

/* Somebody was told, when there were @events, that @tid is durable. */
void model_mark(struct model *m, uint64_t events, jnl_tid tid);

/* ---- afterwards, by one thread ------------------------------------------ */

/* What the folded block holds after @tid of this life. */
uint64_t model_folded(const struct model *m, jnl_tid tid);

/* Sort the marks; before the calls below. */
void model_settle(struct model *m);

/* The newest transaction that must survive a power cut before event @cut. */
struct model_point model_need(const struct model *m, uint64_t cut);

/* Is @a a later state than @b? */
bool model_after(struct model_point a, struct model_point b);

/*
 * Is what @home holds the state after some transaction, and at least @need?
 * 0 and the point, or -1 and one line in @why.
 */
int model_judge(const struct model *m, struct blk_dev *home,
	struct model_point need, struct model_point *point, char *why,
	size_t why_bytes);

#endif /* TESTS_CRASH_MODEL_H */
