/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * evict.c - dentries stay within their number: a clock per CPU.
 *
 * Who adds one too many turns the clock of its CPU a little: what was looked
 * at since the last turn gets another round, what nobody holds goes.  Parents
 * are held by their children and go after them.
 */
#include <sched.h>

#include "vfs/vfs_int.h"

enum { EVICT_BATCH = 32, EVICT_LOOKS = 4 * EVICT_BATCH };

/* Take @d out of circulation if nobody holds it. */
static bool evict_claim(struct dentry *d)
{
	int32_t nobody = 0;

	/* Pairs with the release in dentry_put(). */
	return atomic_compare_exchange_strong_explicit(&d->refs, &nobody,
		DENTRY_DEAD, memory_order_acquire, memory_order_relaxed);
}

/* Turn the clock past @looks dentries; the claimed go to @out. */
static uint32_t clock_turn(struct vfs_clock *c, uint32_t looks, uint32_t most,
	bool spare_seen, struct list *out)
{
	uint32_t claimed = 0;

	mtx_lock(&c->lock);
	while (looks-- > 0 && claimed < most && !list_empty(&c->hand)) {
		struct dentry *d =
			LIST_ENTRY(c->hand.next, struct dentry, clock);
		bool seen = atomic_exchange_explicit(
			&d->seen, false, memory_order_relaxed);

		list_del(&d->clock);
		if ((seen && spare_seen) || !evict_claim(d)) {
			list_add_tail(&c->hand, &d->clock);
			continue;
		}
		list_add_tail(out, &d->clock);
		claimed++;
	}
	mtx_unlock(&c->lock);
	return claimed;
}

static void kill_all(struct vfs *vfs, struct list *claimed)
{
	while (!list_empty(claimed)) {
		struct dentry *d =
			LIST_ENTRY(claimed->next, struct dentry, clock);

		list_del(&d->clock);
		dentry_kill(vfs, d);
		tally_add(&vfs->evict_count, 1);
	}
}

/* Evict up to a batch, this CPU's first. */
static uint32_t evict_some(struct vfs *vfs, bool spare_seen)
{
	uint32_t start = cpu_shard(vfs->clock_count);
	uint32_t claimed = 0;
	struct list out;

	list_init(&out);
	for (uint32_t i = 0; i < vfs->clock_count && claimed == 0; i++) {
		struct vfs_clock *c =
			&vfs->clock[(start + i) % vfs->clock_count];

		claimed = clock_turn(
			c, EVICT_LOOKS, EVICT_BATCH, spare_seen, &out);
	}
	kill_all(vfs, &out);
	return claimed;
}

void dentry_clock_add(struct vfs *vfs, struct dentry *d)
{
	struct vfs_clock *c;

	d->shard = cpu_shard(vfs->clock_count);
	c = &vfs->clock[d->shard];
	mtx_lock(&c->lock);
	list_add_tail(&c->hand, &d->clock);
	mtx_unlock(&c->lock);
	tally_add(&vfs->dentry_count, 1);
	if (tally_near(&vfs->dentry_count) > (int64_t)vfs->limit)
		(void)evict_some(vfs, true);
}

void vfs_shrink(struct vfs *vfs, uint32_t keep)
{
	/* Twice round at the most: the first clears marks. */
	bool spare_seen = true;

	while (tally_sum(&vfs->dentry_count) > (int64_t)keep) {
		if (evict_some(vfs, spare_seen) != 0)
			continue;
		if (!spare_seen)
			break;
		spare_seen = false;
	}
}

/* ---- unmounting ------------------------------------------------------------------ */

static bool dentry_is_in(const struct dentry *d, const struct vfs_fs *fs)
{
	const struct vfs_inode *inode = SEQ_LOAD(d->inode);

	if (inode == NULL)
		inode = SEQ_LOAD(SEQ_LOAD(d->parent)->inode);
	return inode->fs == fs;
}

static uint32_t clock_purge(
	struct vfs_clock *c, const struct vfs_fs *fs, struct list *out)
{
	uint32_t left = 0;
	struct list *after;
	struct list *n;

	mtx_lock(&c->lock);
	list_for_each_safe (n, after, &c->hand) {
		struct dentry *d = LIST_ENTRY(n, struct dentry, clock);

		if (!dentry_is_in(d, fs))
			continue;
		left++;
		if (!evict_claim(d))
			continue;
		list_del(n);
		list_add_tail(out, n);
	}
	mtx_unlock(&c->lock);
	return left;
}

void dentry_evict_fs(struct vfs *vfs, const struct vfs_fs *fs)
{
	uint32_t left;
	struct list out;

	list_init(&out);
	/* Leaves first: each round frees the parents of the last.  Others may
	 * hold one for a moment, for having found it too late. */
	do {
		left = 0;
		for (uint32_t i = 0; i < vfs->clock_count; i++)
			left += clock_purge(&vfs->clock[i], fs, &out);
		if (list_empty(&out))
			(void)sched_yield();
		kill_all(vfs, &out);
	} while (left != 0);
}
