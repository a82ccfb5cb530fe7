/* SPDX-License-Identifier: BSD-2-Clause */
/* dentry.c - cached names: hashed by parent and text, found without a store. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Names are short: a call would take longer than the hash. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/log.h"
#include "vfs/vfs_int.h"

uint64_t dentry_hash(
	const struct dentry *parent, const char *name, uint32_t bytes)
{
	return XXH3_64bits_withSeed(
		name, bytes, (uint64_t)(uintptr_t)parent / LINE_BYTES);
}

static bool name_is(const struct vfs_name *name, const char *text,
	uint32_t bytes, uint64_t hash)
{
	return name->hash == hash && name->bytes == bytes &&
	       memcmp(name->text, text, bytes) == 0;
}

struct dentry *dentry_find_rcu(struct vfs *vfs, const struct dentry *parent,
	const char *name, uint32_t bytes, uint64_t hash, uint32_t *seq)
{
	struct vfs_bucket *bucket = vfs_table_bucket(&vfs->dentries, hash);
	struct dentry *d = RCU_DEREF(bucket->first);

	for (; d != NULL; d = RCU_DEREF(d->next)) {
		uint32_t start = seq_read_peek(&d->seq);

		if (!name_is(SEQ_LOAD(d->name), name, bytes, hash) ||
			SEQ_LOAD(d->parent) != parent)
			continue;
		if (seq_read_retry(&d->seq, start))
			return NULL;
		*seq = start;
		return d;
	}
	return NULL;
}

/* ---- references ------------------------------------------------------------------ */

bool dentry_get_try(struct dentry *d)
{
	int32_t seen = atomic_load_explicit(&d->refs, memory_order_relaxed);

	while (seen >= 0)
		if (atomic_compare_exchange_weak_explicit(&d->refs, &seen,
			    seen + 1, memory_order_acquire,
			    memory_order_relaxed))
			return true;
	return false;
}

void dentry_get(struct dentry *d)
{
	int32_t was =
		atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);

	ASSERT(was > 0);
	(void)was;
}

void dentry_put(struct dentry *d)
{
	/* Pairs with the acquire of who evicts it. */
	int32_t was =
		atomic_fetch_sub_explicit(&d->refs, 1, memory_order_release);

	ASSERT(was > 0);
	(void)was;
}

/* ---- life --------------------------------------------------------------------------- */

static struct dentry *dentry_new(struct dentry *parent, const char *name,
	uint32_t bytes, struct vfs_inode *inode)
{
	size_t size = sizeof(struct dentry) + bytes + 1;
	struct dentry *d;

	size = (size + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
	d = aligned_alloc(LINE_BYTES, size);
	if (d == NULL)
		return NULL;
	memset(d, 0, size);
	if (parent == NULL)
		parent = d;
	d->first_name.hash = dentry_hash(parent, name, bytes);
	d->first_name.bytes = bytes;
	memcpy(d->first_name.text, name, bytes);
	atomic_init(&d->name, &d->first_name);
	atomic_init(&d->parent, parent);
	atomic_init(&d->inode, inode);
	atomic_init(&d->refs, 1);
	atomic_init(&d->seen, true);
	seq_init(&d->seq);
	list_init(&d->clock);
	return d;
}

/* Hash @fresh, unless its name is there by now: then that, referenced. */
static struct dentry *dentry_insert(struct vfs *vfs, struct dentry *fresh)
{
	const struct vfs_name *name = &fresh->first_name;
	struct vfs_bucket *bucket =
		vfs_table_bucket(&vfs->dentries, name->hash);
	struct mtx *lock = vfs_table_lock(&vfs->dentries, name->hash);
	struct dentry *parent = SEQ_LOAD(fresh->parent);
	struct dentry *other;
	uint32_t seq;

	mtx_lock(lock);
	other = dentry_find_rcu(
		vfs, parent, name->text, name->bytes, name->hash, &seq);
	/* A dead one is about to leave the chain. */
	if (other != NULL && !dentry_get_try(other))
		other = NULL;
	if (other == NULL) {
		struct dentry *first = RCU_DEREF(bucket->first);

		atomic_init(&fresh->next, first);
		RCU_ASSIGN(bucket->first, (void *)fresh);
	}
	mtx_unlock(lock);
	return other;
}

/*
 * A directory has one name.  On a disk that has two of them for one, whoever
 * goes down all ways might take time without bound; so the second is refused
 * while the first is cached.  False: @fresh is a second.
 */
static bool dentry_settle(const struct dentry *fresh, struct vfs_inode *inode)
{
	uint64_t here = fresh->first_name.hash;
	uint64_t home = 0;

	if ((vfs_inode_mode(inode) & S_IFMT) != S_IFDIR)
		return true;
	if (atomic_compare_exchange_strong(&inode->home, &home, here) ||
		home == here)
		return true;
	log_say(LOG_ERROR, "vfs", "inode %llu: a second name of a directory",
		(unsigned long long)inode->ino);
	return false;
}

static void dentry_unsettle(uint64_t hash, struct vfs_inode *inode)
{
	if (atomic_load_explicit(&inode->home, memory_order_relaxed) == hash)
		(void)atomic_compare_exchange_strong(&inode->home, &hash, 0);
}

static int dentry_add_child(struct vfs *vfs, struct dentry *parent,
	struct dentry *fresh, struct dentry **out)
{
	struct dentry *other = dentry_insert(vfs, fresh);

	if (other == NULL) {
		dentry_get(parent);
		dentry_clock_add(vfs, fresh);
		*out = fresh;
		return 0;
	}
	if (SEQ_LOAD(fresh->inode) != NULL)
		vfs_inode_put(SEQ_LOAD(fresh->inode));
	free(fresh);
	*out = other;
	return 0;
}

int dentry_add(struct vfs *vfs, struct dentry *parent, const char *name,
	uint32_t bytes, struct vfs_inode *inode, struct dentry **out)
{
	struct dentry *fresh = dentry_new(parent, name, bytes, inode);

	if (fresh == NULL) {
		if (inode != NULL)
			vfs_inode_put(inode);
		return -ENOMEM;
	}
	if (inode != NULL && !dentry_settle(fresh, inode)) {
		vfs_inode_put(inode);
		free(fresh);
		return -EUCLEAN;
	}
	if (parent != NULL)
		return dentry_add_child(vfs, parent, fresh, out);
	tally_add(&vfs->dentry_count, 1);
	*out = fresh;
	return 0;
}

static void dentry_free(struct rcu_node *node)
{
	free(CONTAINER_OF(node, struct dentry, rcu));
}

static void dentry_unhash_locked(struct vfs_bucket *bucket, struct dentry *d)
{
	struct dentry *at = RCU_DEREF(bucket->first);

	if (at == d) {
		RCU_ASSIGN(bucket->first, (void *)RCU_DEREF(d->next));
		return;
	}
	while (RCU_DEREF(at->next) != d)
		at = RCU_DEREF(at->next);
	RCU_ASSIGN(at->next, RCU_DEREF(d->next));
}

void dentry_kill(struct vfs *vfs, struct dentry *d)
{
	uint64_t hash = SEQ_LOAD(d->name)->hash;
	struct mtx *lock = vfs_table_lock(&vfs->dentries, hash);
	struct vfs_inode *inode = SEQ_LOAD(d->inode);
	struct dentry *parent = SEQ_LOAD(d->parent);

	ASSERT(atomic_load(&d->refs) == DENTRY_DEAD);
	mtx_lock(lock);
	if (parent != d)
		dentry_unhash_locked(vfs_table_bucket(&vfs->dentries, hash), d);
	/* Walks that stand on it look again, elsewhere. */
	seq_write_begin(&d->seq);
	seq_write_end(&d->seq);
	mtx_unlock(lock);
	tally_add(&vfs->dentry_count, -1);
	if (inode != NULL) {
		dentry_unsettle(hash, inode);
		vfs_inode_put(inode);
	}
	if (parent != d)
		dentry_put(parent);
	rcu_free(&d->rcu, dentry_free);
}
