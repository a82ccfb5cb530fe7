/* SPDX-License-Identifier: BSD-2-Clause */
/* alloc_int.h - what the files of lib/alloc share. */
#ifndef ALLOC_ALLOC_INT_H
#define ALLOC_ALLOC_INT_H

#include <stdatomic.h>

#include "alloc/alloc.h"
#include "alloc/bits.h"
#include "base/tally.h"
#include "sync/lock.h"
#include "sync/rcu.h"

/* ---- groups (group.c) --------------------------------------------------------- */

/* The bitmaps of a loaded group, ALLOC_MAPS of them in one piece. */
enum { ALLOC_MAPS = 3 };

struct alloc_map {
	_Atomic uint64_t *used;     /* [atomic] words */
	_Atomic uint64_t *reserved; /* [atomic] words */
	_Atomic uint64_t *freed;    /* [atomic] words; used until released */
	_Atomic uint64_t words[];
};

struct alloc_group {
	_Atomic(struct alloc_map *) map; /* [rcu] NULL: not loaded */
	/* On its way out: alloc_trim() waits for readers, or puts it back. */
	struct alloc_map *leaving; /* [load_lock] */
	uint32_t unloads;          /* [load_lock] */
	/* Free units when all that was released is counted: what is taken and
	 * not folded yet is in it. */
	_Atomic uint32_t free; /* [atomic] */
	/* The newest transaction that took or freed here, while loaded. */
	_Atomic jnl_tid stamp;   /* [atomic] */
	_Atomic bool out_of_use; /* [atomic] never taken back */
};

/* One take or free. */
struct record {
	struct record *next;
	jnl_tid tid;
	struct alloc_change change;
};

/* One CPU's records of the transactions that are not folded yet, two at most,
 * by tid & 1; newest first. */
struct LINE_ALIGNED record_shard {
	_Atomic(struct record *) takes[2];
	_Atomic(struct record *) frees[2];
};

/* How claims exclude each other; one file for each. */
struct alloc_gate {
	void (*search)(struct alloc *a); /* before looking for a run */
	void (*claim)(struct alloc *a);  /* before claiming what was found */
	void (*done)(struct alloc *a);
};

extern const struct alloc_gate alloc_gate_cas;
extern const struct alloc_gate alloc_gate_dropped;
extern const struct alloc_gate alloc_gate_held;

struct alloc {
	const char *name;                  /* [const] */
	uint64_t count;                    /* [const] units */
	uint32_t group_units;              /* [const] */
	uint32_t group_count;              /* [const] */
	uint32_t shard_count;              /* [const] */
	uint64_t loaded_max;               /* [const] groups */
	const struct alloc_gate *gate;     /* [const] */
	const struct alloc_client *client; /* [const] */
	void *client_arg;                  /* [const] */
	struct alloc_group *group;         /* [const] array */
	struct record_shard *shard;        /* [const] array */

	LINE_ALIGNED _Atomic jnl_tid released; /* [atomic] the newest such */
	_Atomic uint32_t loaded;               /* [atomic] groups */
	uint32_t hand;              /* [load_lock] where alloc_trim() goes on */
	struct mtx load_lock;       /* publishing and unpublishing of maps */
	struct mtx fold_lock;       /* the queue of what is folded */
	struct record *folded;      /* [fold_lock] not released; oldest first */
	struct record **folded_end; /* [fold_lock] */
	struct mtx gate_lock;       /* the controls' */
	struct tally passed_by;
	struct tally took_reserved;
};

static inline uint32_t alloc_group_of(const struct alloc *a, uint64_t unit)
{
	return (uint32_t)(unit / a->group_units);
}

static inline uint64_t alloc_unit_of(
	const struct alloc *a, uint32_t group, uint32_t at)
{
	return (uint64_t)group * a->group_units + at;
}

/* Units of @group: the last one may be short. */
static inline uint32_t alloc_group_size(const struct alloc *a, uint32_t group)
{
	uint64_t left = a->count - alloc_unit_of(a, group, 0);

	return left < a->group_units ? (uint32_t)left : a->group_units;
}

/* Bring @group into memory.  May read. */
MUST_USE int alloc_group_load(struct alloc *a, uint32_t group);

/* The bitmaps of @group, or NULL; valid inside the caller's read section.  NULL
 * may also mean that they are on their way out. */
static inline struct alloc_map *alloc_map_rcu(
	const struct alloc *a, uint32_t group)
{
	return RCU_DEREF(a->group[group].map);
}

/* Likewise, for whoever has a stamp or reserved bits there: if they are on
 * their way out, they come back. */
struct alloc_map *alloc_map_back_rcu(struct alloc *a, uint32_t group);

/* @tid changes @group; inside the read section that saw its map.  Pairs with
 * the grace period of alloc_trim(), which looks at the stamp after it. */
static inline void alloc_stamp_rcu(struct alloc *a, uint32_t group, jnl_tid tid)
{
	struct alloc_group *g = &a->group[group];

	if (atomic_load_explicit(&g->stamp, memory_order_relaxed) != tid)
		atomic_store_explicit(&g->stamp, tid, memory_order_relaxed);
}

/* ---- records (record.c) ---------------------------------------------------------- */

MUST_USE int record_open(struct alloc *a);
void record_close(struct alloc *a);

/* A record to fill in, got before anything is claimed; NULL: no memory. */
struct record *record_new(void);

/* @r, filled in, is of transaction @tid from now on. */
void record_add(struct alloc *a, jnl_tid tid, struct record *r);

/* ---- windows (window.c) ------------------------------------------------------------ */

/* What is next in @w, if that is what is wanted; 0: nothing.  In a read
 * section. */
uint32_t window_take_rcu(struct alloc *a, jnl_tid tid,
	const struct alloc_want *want, struct alloc_run *out);

/* How large the next window of @w shall be, for a file that goes on at @goal:
 * larger each time that the last one was used up in order. */
uint32_t window_size(const struct alloc_window *w, uint64_t goal);

/* @run was taken instead: reserve up to @size units that follow it. */
void window_renew(struct alloc *a, struct alloc_window *w,
	const struct alloc_run *run, uint32_t size);

#endif /* ALLOC_ALLOC_INT_H */
