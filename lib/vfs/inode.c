/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inode.c - inodes by file system and number, each loaded once.
 *
 * An inode lives while somebody holds it, and its dentries do.  Who looks for
 * one that is being loaded waits for the loader.  One whose last reference is
 * gone stays gone: a later look-up loads another.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "sync/futex.h"
#include "vfs/vfs_int.h"

static struct lock_class class_dir = {
	.name = "vfs.dir", .rank = RANK_DIR, .ties = true};
static struct lock_class class_file = {
	.name = "vfs.file", .rank = RANK_FILE, .ties = true};

static uint64_t inode_hash(const struct vfs_fs *fs, vfs_ino ino)
{
	return hash_u64(ino ^ hash_u64(fs->id));
}

/* ---- attributes ---------------------------------------------------------------- */

void vfs_inode_set_attr(struct vfs_inode *inode, const struct vfs_attr *attr)
{
	uint64_t words[VFS_ATTR_WORDS];

	memcpy(words, attr, sizeof(words));
	seq_write_begin(&inode->seq);
	for (unsigned i = 0; i < VFS_ATTR_WORDS; i++)
		SEQ_STORE(inode->attr[i], words[i]);
	seq_write_end(&inode->seq);
	atomic_store(&inode->size, attr->size);
	atomic_store(&inode->mode, attr->mode);
}

void vfs_inode_attr(const struct vfs_inode *inode, struct vfs_attr *out)
{
	uint64_t words[VFS_ATTR_WORDS];
	uint32_t start;

	do {
		start = seq_read_begin(&inode->seq);
		for (unsigned i = 0; i < VFS_ATTR_WORDS; i++)
			words[i] = SEQ_LOAD(inode->attr[i]);
	} while (seq_read_retry(&inode->seq, start));
	memcpy(out, words, sizeof(words));
	out->fs_id = inode->fs->id;
}

/* The word of attr that a 4-byte field is in, and the field in it. */
#define ATTR_WORD(field) (offsetof(struct vfs_attr, field) / sizeof(uint64_t))
#define ATTR_U32(word, field)                                                  \
	(((const uint32_t *)&(word))[offsetof(struct vfs_attr, field) /        \
				     sizeof(uint32_t) % 2])

_Static_assert(ATTR_WORD(mode) == ATTR_WORD(uid), "one word");

void vfs_inode_owner(const struct vfs_inode *inode, struct vfs_owner *out)
{
	uint64_t mode_uid;
	uint64_t gid;
	uint32_t start;

	do {
		start = seq_read_begin(&inode->seq);
		mode_uid = SEQ_LOAD(inode->attr[ATTR_WORD(mode)]);
		gid = SEQ_LOAD(inode->attr[ATTR_WORD(gid)]);
	} while (seq_read_retry(&inode->seq, start));
	*out = (struct vfs_owner){.mode = ATTR_U32(mode_uid, mode),
		.uid = ATTR_U32(mode_uid, uid),
		.gid = ATTR_U32(gid, gid)};
}

/* ---- the hash -------------------------------------------------------------------- */

static struct vfs_inode *inode_find_rcu(
	struct vfs *vfs, const struct vfs_fs *fs, vfs_ino ino)
{
	struct vfs_bucket *bucket =
		vfs_table_bucket(&vfs->inodes, inode_hash(fs, ino));
	struct vfs_inode *inode = RCU_DEREF(bucket->first);

	while (inode != NULL && (inode->fs != fs || inode->ino != ino ||
					ref_read(&inode->refs) == 0))
		inode = RCU_DEREF(inode->next);
	return inode;
}

static void inode_hash_add_locked(
	struct vfs_bucket *bucket, struct vfs_inode *inode)
{
	struct vfs_inode *first = RCU_DEREF(bucket->first);

	atomic_init(&inode->next, first);
	RCU_ASSIGN(bucket->first, (void *)inode);
}

static void inode_unhash(struct vfs *vfs, struct vfs_inode *inode)
{
	uint64_t hash = inode_hash(inode->fs, inode->ino);
	struct vfs_bucket *bucket = vfs_table_bucket(&vfs->inodes, hash);
	struct mtx *lock = vfs_table_lock(&vfs->inodes, hash);
	struct vfs_inode *at;

	mtx_lock(lock);
	at = RCU_DEREF(bucket->first);
	if (at == inode) {
		RCU_ASSIGN(bucket->first, (void *)RCU_DEREF(inode->next));
	} else {
		while (RCU_DEREF(at->next) != inode)
			at = RCU_DEREF(at->next);
		RCU_ASSIGN(at->next, RCU_DEREF(inode->next));
	}
	mtx_unlock(lock);
}

/* ---- life -------------------------------------------------------------------------- */

static struct vfs_inode *inode_new(struct vfs_fs *fs, vfs_ino ino)
{
	size_t bytes = (fs->ops->inode_bytes + LINE_BYTES - 1) / LINE_BYTES *
		       LINE_BYTES;
	struct vfs_inode *inode = aligned_alloc(LINE_BYTES, bytes);

	if (inode == NULL)
		return NULL;
	memset(inode, 0, bytes);
	inode->fs = fs;
	inode->ino = ino;
	seq_init(&inode->seq);
	ref_init(&inode->refs, 1);
	atomic_init(&inode->state, INODE_LOADING);
	return inode;
}

static void inode_free(struct rcu_node *node)
{
	struct vfs_inode *inode = CONTAINER_OF(node, struct vfs_inode, rcu);

	if (atomic_load(&inode->state) == INODE_READY) {
		inode->fs->ops->inode_drop(inode);
		rwl_fini(&inode->lock);
	}
	free(inode);
}

void vfs_inode_put(struct vfs_inode *inode)
{
	struct vfs *vfs = inode->fs->vfs;

	if (!ref_put(&inode->refs))
		return;
	inode_unhash(vfs, inode);
	tally_add(&vfs->inode_count, -1);
	rcu_free(&inode->rcu, inode_free);
}

static int inode_load(struct vfs_inode *inode)
{
	int err = inode->fs->ops->inode_load(inode->fs, inode);
	bool dir = (vfs_inode_mode(inode) & S_IFMT) == S_IFDIR;

	if (err == 0)
		rwl_init(&inode->lock, dir ? &class_dir : &class_file);
	atomic_store(&inode->state, err == 0 ? INODE_READY : INODE_FAILED);
	futex_wake_all(&inode->state);
	return err;
}

/* Wait for whoever loads it; false: that failed, and the reference is gone. */
static bool inode_wait(struct vfs_inode *inode)
{
	while (atomic_load(&inode->state) == INODE_LOADING)
		(void)futex_wait(&inode->state, INODE_LOADING, FUTEX_FOREVER);
	if (atomic_load(&inode->state) == INODE_READY)
		return true;
	vfs_inode_put(inode);
	return false;
}

static struct vfs_inode *inode_lookup(
	struct vfs *vfs, const struct vfs_fs *fs, vfs_ino ino)
{
	struct vfs_inode *inode;

	rcu_begin();
	inode = inode_find_rcu(vfs, fs, ino);
	if (inode != NULL && !ref_get_unless_zero(&inode->refs))
		inode = NULL;
	rcu_end();
	return inode;
}

/* Hash @fresh, unless there is one by now: then that, referenced. */
static struct vfs_inode *inode_insert(struct vfs *vfs, struct vfs_inode *fresh)
{
	uint64_t hash = inode_hash(fresh->fs, fresh->ino);
	struct mtx *lock = vfs_table_lock(&vfs->inodes, hash);
	struct vfs_inode *other;

	mtx_lock(lock);
	other = inode_find_rcu(vfs, fresh->fs, fresh->ino);
	if (other != NULL && !ref_get_unless_zero(&other->refs))
		other = NULL;
	if (other == NULL)
		inode_hash_add_locked(
			vfs_table_bucket(&vfs->inodes, hash), fresh);
	mtx_unlock(lock);
	return other;
}

int vfs_inode_get(struct vfs_fs *fs, vfs_ino ino, struct vfs_inode **out)
{
	struct vfs *vfs = fs->vfs;
	struct vfs_inode *fresh;
	struct vfs_inode *inode;
	int err;

	for (;;) {
		inode = inode_lookup(vfs, fs, ino);
		if (inode == NULL) {
			fresh = inode_new(fs, ino);
			if (fresh == NULL)
				return -ENOMEM;
			inode = inode_insert(vfs, fresh);
			if (inode == NULL)
				break;
			free(fresh);
		}
		if (inode_wait(inode)) {
			*out = inode;
			return 0;
		}
	}
	tally_add(&vfs->inode_count, 1);
	err = inode_load(fresh);
	if (err != 0)
		vfs_inode_put(fresh);
	else
		*out = fresh;
	return err;
}
