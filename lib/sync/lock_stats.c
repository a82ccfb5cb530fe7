/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock_stats.c - who waits for which class of locks, for how long; see lock.h.
 *
 * Counts are per CPU and made by a class's first slow path, so a class that
 * nobody contends costs nothing.  Without memory a class is not counted.
 * Pairs of call sites are few and recorded only after a wait: one small table
 * per class, filled without locks and never emptied.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/hash.h"
#include "sync/lock.h"
#include "sync/lock_int.h"

enum { PAIRS = 64 }; /* power of two */

struct shard {
	LINE_ALIGNED _Atomic uint64_t contended;
	_Atomic uint64_t acquired;
	_Atomic uint64_t wait_ns;
	_Atomic uint64_t hold_ns;
};

struct pair {
	_Atomic uint64_t key; /* 0 free; set once: waiter, then holder */
	_Atomic uint64_t count;
	_Atomic uint64_t wait_ns;
};

struct lock_stats {
	const struct lock_class *class; /* [const] */
	struct lock_stats *next;        /* [const] once on the list */
	uint32_t shard_count;           /* [const] */
	_Atomic uint64_t pairs_lost;
	struct pair pairs[PAIRS];
	struct shard shards[];
};

struct lock_switch lock_switch;
static _Atomic(struct lock_stats *) all_stats; /* grows only */
static const char anchor;                      /* call sites count from here */

void lock_profile(bool on)
{
	atomic_store_explicit(&lock_switch.profiling, on, memory_order_relaxed);
}

uint64_t lock_clock_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

int32_t lock_site(const void *return_address)
{
	/* One object of the linker spans less than 2 GiB. */
	return (int32_t)((intptr_t)return_address - (intptr_t)&anchor);
}

static uintptr_t site_address(int32_t site)
{
	return site == 0 ? 0 : (uintptr_t)&anchor + (uintptr_t)(intptr_t)site;
}

static struct lock_stats *stats_new(const struct lock_class *class)
{
	uint32_t shards = cpu_count();
	size_t bytes =
		sizeof(struct lock_stats) + shards * sizeof(struct shard);
	struct lock_stats *s = aligned_alloc(LINE_BYTES, bytes);

	if (s == NULL)
		return NULL;
	memset(s, 0, bytes);
	s->class = class;
	s->shard_count = shards;
	return s;
}

/* Release pairs with the acquire in lock_profile_read(). */
static void stats_list(struct lock_stats *s)
{
	s->next = atomic_load_explicit(&all_stats, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&all_stats, &s->next, s,
		memory_order_release, memory_order_relaxed))
		;
}

static struct lock_stats *stats_of(struct lock_class *class)
{
	struct lock_stats *s =
		atomic_load_explicit(&class->stats, memory_order_acquire);

	if (LIKELY(s != NULL))
		return s;

	struct lock_stats *mine = stats_new(class);

	if (mine == NULL)
		return NULL;
	/* Both orders pair with each other: the loser sees a whole object. */
	if (!atomic_compare_exchange_strong_explicit(&class->stats, &s, mine,
		    memory_order_acq_rel, memory_order_acquire)) {
		free(mine);
		return s;
	}
	stats_list(mine);
	return mine;
}

static void count_add(_Atomic uint64_t *count, uint64_t n)
{
	atomic_fetch_add_explicit(count, n, memory_order_relaxed);
}

static struct shard *shard_of(struct lock_stats *s)
{
	return &s->shards[cpu_shard(s->shard_count)];
}

void lock_count_taken(struct lock_class *class)
{
	struct lock_stats *s = stats_of(class);

	if (s != NULL)
		count_add(&shard_of(s)->acquired, 1);
}

void lock_count_held(struct lock_class *class, uint64_t ns)
{
	struct lock_stats *s = stats_of(class);

	if (s != NULL)
		count_add(&shard_of(s)->hold_ns, ns);
}

uint64_t lock_wait_begin(struct lock_class *class)
{
	struct lock_stats *s = stats_of(class);

	if (s != NULL)
		count_add(&shard_of(s)->contended, 1);
	return lock_profiling() ? lock_clock_ns() : 0;
}

static struct pair *pair_of(struct lock_stats *s, uint64_t key)
{
	uint64_t at = hash_u64(key);

	for (unsigned i = 0; i < PAIRS; i++) {
		struct pair *p = &s->pairs[(at + i) % PAIRS];
		uint64_t seen = 0;

		if (atomic_compare_exchange_strong_explicit(&p->key, &seen, key,
			    memory_order_relaxed, memory_order_relaxed) ||
			seen == key)
			return p;
	}
	return NULL;
}

void lock_wait_end(struct lock_class *class, uint64_t since_ns, int32_t waiter,
	int32_t holder)
{
	struct lock_stats *s = stats_of(class);
	uint64_t ns = lock_clock_ns() - since_ns;

	if (s == NULL)
		return;
	count_add(&shard_of(s)->wait_ns, ns);

	struct pair *p =
		pair_of(s, (uint64_t)(uint32_t)waiter << 32 | (uint32_t)holder);

	if (p == NULL) {
		count_add(&s->pairs_lost, 1);
		return;
	}
	count_add(&p->count, 1);
	count_add(&p->wait_ns, ns);
}

/* ---- reading ------------------------------------------------------------ */

static uint64_t count_get(const _Atomic uint64_t *count)
{
	return atomic_load_explicit(count, memory_order_relaxed);
}

/* Keep @site among the report's sites, most waited first. */
static void report_site(struct lock_report *r, const struct lock_site *site)
{
	unsigned at = r->site_count;

	if (at == LOCK_SITES) {
		at--;
		if (r->sites[at].wait_ns >= site->wait_ns) {
			r->sites_lost += site->count;
			return;
		}
		r->sites_lost += r->sites[at].count;
	} else {
		r->site_count++;
	}
	for (; at > 0 && r->sites[at - 1].wait_ns < site->wait_ns; at--)
		r->sites[at] = r->sites[at - 1];
	r->sites[at] = *site;
}

static void report_pairs(struct lock_report *r, const struct lock_stats *s)
{
	r->sites_lost = count_get(&s->pairs_lost);
	for (unsigned i = 0; i < PAIRS; i++) {
		const struct pair *p = &s->pairs[i];
		uint64_t key = count_get(&p->key);
		struct lock_site site = {
			.waiter = site_address((int32_t)(key >> 32)),
			.holder = site_address((int32_t)(uint32_t)key),
			.count = count_get(&p->count),
			.wait_ns = count_get(&p->wait_ns),
		};

		if (site.count != 0)
			report_site(r, &site);
	}
}

static void report_make(struct lock_report *r, const struct lock_stats *s)
{
	*r = (struct lock_report){
		.name = s->class->name,
		.rank = s->class->rank,
	};
	for (uint32_t i = 0; i < s->shard_count; i++) {
		const struct shard *sh = &s->shards[i];

		r->contended += count_get(&sh->contended);
		r->acquired += count_get(&sh->acquired);
		r->wait_ns += count_get(&sh->wait_ns);
		r->hold_ns += count_get(&sh->hold_ns);
	}
	report_pairs(r, s);
}

void lock_profile_read(
	void (*fn)(void *arg, const struct lock_report *report), void *arg)
{
	/* Acquire pairs with the release in stats_list(). */
	const struct lock_stats *s =
		atomic_load_explicit(&all_stats, memory_order_acquire);

	for (; s != NULL; s = s->next) {
		struct lock_report r;

		report_make(&r, s);
		fn(arg, &r);
	}
}
