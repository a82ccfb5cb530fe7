/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.h - a fixed amount of memory, handed out in pieces.
 *
 * One memfd, mapped once and never unmapped before arena_close(), so that
 * giving memory back costs no TLB flush.  It is cut into *pieces* of one size
 * (a block: 1 to 64 KiB), which wait in per-CPU stocks, and into other *runs*
 * on request.  A piece longer than a page is a run when there is one that
 * long, else a view of scattered pages (view.h).
 *
 * Memory that has been handed out once is made of huge pages, as far as the
 * kernel will: who reads much of it seldom misses the TLB.
 *
 * A little is kept back for urgent callers: those inside an operation, who
 * must not wait for long.
 *
 * Locks: RANK_CACHE.  Nothing here waits.
 */
#ifndef CACHE_ARENA_H
#define CACHE_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cc.h"
#include "cache/runs.h"
#include "cache/stock.h"
#include "cache/view.h"

struct arena {
	char *base;            /* [const] aligned to ARENA_HUGE_BYTES */
	void *mapped;          /* [const] what munmap() wants */
	uint64_t mapped_bytes; /* [const] */
	uint64_t bytes;        /* [const] */
	int fd;                /* [const] */
	uint32_t piece_bytes;  /* [const] */
	int piece_order;       /* [const] */
	uint64_t keep_units;   /* [const] not for those who are not urgent */
	uint64_t low_units;    /* [const] below this, on_low is told */
	void (*on_low)(void *arg);  /* [const] must not wait or lock */
	void (*on_grow)(void *arg); /* [const] likewise */
	void *on_arg;               /* [const] */
	uint64_t
		grown_units; /* [pieces.source_lock] peak when on_grow was told */
	uint64_t
		huge_from; /* [owner] of arena_settle(): bytes; tried from there */
	struct stock pieces;
	struct runs runs;   /* [pieces.source_lock] */
	struct views views; /* [pieces.source_lock] */
};

struct arena_opts {
	uint64_t bytes;       /* rounded down to whole pieces and pages */
	uint32_t piece_bytes; /* power of two, 1 KiB to 64 KiB */
	uint64_t keep_pieces; /* for urgent callers only */
	uint64_t low_pieces;  /* on_low is called when fewer are free */
	void (*on_low)(void *arg);
	void (*on_grow)(void *arg); /* arena_settle() has something to do */
	void *on_arg;
};

enum { ARENA_HUGE_BYTES = 2 << 20 };

/* -ENOMEM, or what memfd_create() says. */
MUST_USE int arena_open(struct arena *a, const struct arena_opts *opts);
void arena_close(struct arena *a);

/* How many pieces there are in all. */
uint64_t arena_piece_count(const struct arena *a);

/* Contents are undefined.  NULL: nothing free, or nothing for callers that
 * are not @urgent. */
void *arena_piece_get(struct arena *a, bool urgent);
void arena_piece_put(struct arena *a, void *piece);
void arena_piece_put_many(struct arena *a, void **pieces, uint32_t count);

/* A run of 2^@order KiB, up to 64 KiB, contiguous and aligned, or NULL. */
void *arena_run_get(struct arena *a, int order);
void arena_run_put(struct arena *a, void *run, int order);

/*
 * Turn a stretch that has been handed out into a huge page; false: there is
 * none left.  One thread at a time, with no lock held: the kernel copies it.
 */
bool arena_settle(struct arena *a);

/* Pieces' worth of memory that is free and not in a stock. */
uint64_t arena_free_pieces(struct arena *a);

/* Bytes in use now, and the most there ever were (stocks included). */
void arena_usage(struct arena *a, uint64_t *used, uint64_t *peak);

#endif /* CACHE_ARENA_H */
