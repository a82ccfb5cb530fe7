/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vfs_int.h - what the files of lib/vfs share.
 *
 * Life of a dentry: born with one reference on its parent and one on its
 * inode; hashed; found by walks under RCU or with references; evicted or
 * unlinked: its count goes from 0 to dead, it leaves the hash, its sequence
 * count moves on, and it is freed after a grace period.  A parent outlives
 * its children, so a dentry's way up is always there.
 *
 * A dentry that nobody holds has count 0 and stays hashed: a cache.
 *
 * Locks: a directory's rwl (lookup: shared), then one hash bucket, then one
 * shard of the eviction lists.
 */
#ifndef VFS_VFS_INT_H
#define VFS_VFS_INT_H

#include "base/assert.h"
#include "base/list.h"
#include "base/tally.h"
#include "sync/turnstile.h"
#include "vfs/vfs.h"

/* ---- dentries --------------------------------------------------------------- */

enum { DENTRY_DEAD = INT32_MIN };

/* A name, immutable; a renamed dentry gets another. */
struct vfs_name {
	uint64_t hash; /* of parent and text */
	uint32_t bytes;
	char text[];
};

struct dentry {
	/* Written by those who hold it. */
	_Atomic int32_t refs; /* DENTRY_DEAD: gone */
	uint32_t shard;       /* [const] of the eviction lists */
	struct list clock;    /* [shard lock] */
	struct rcu_node rcu;

	/* Read by walks, up to the text of the name. */
	LINE_ALIGNED _Atomic(struct dentry *) next; /* [rcu] hash chain */
	_Atomic(struct dentry *) parent;            /* [seq] itself: a root */
	_Atomic(const struct vfs_name *) name;      /* [seq] */
	_Atomic(struct vfs_inode *) inode;          /* [seq] NULL: negative */
	_Atomic(struct vfs_mount *) covered_by;     /* [rcu] mounted over it */
	struct seq seq;    /* moves when name, parent or inode change */
	_Atomic bool seen; /* looked at since the clock's hand passed */
	struct vfs_name first_name; /* last: its text is inline */
};

/* ---- spots ---------------------------------------------------------------- */

/* Where a walk is, or has ended. */
struct vfs_spot {
	struct vfs_mount *mount;
	struct dentry *dentry;
	struct vfs_inode *inode; /* of the dentry when it was looked at */
	uint32_t seq;            /* of the dentry, likewise; RCU walks */
	uint32_t mount_shard;    /* how the mount was entered; REF walks */
};

/* ---- mounts ------------------------------------------------------------------ */

struct vfs_mount {
	struct vfs *vfs;            /* [const] */
	struct vfs_fs *fs;          /* [const] */
	struct dentry *root;        /* [const] referenced */
	struct vfs_spot under_spot; /* [const] held while mounted */
	struct dentry *under;       /* [const] what it covers; NULL: the top */
	struct vfs_mount *above;    /* [const] the mount that @under is in */
	struct turnstile users;     /* open files, walks, children */
	struct list link;           /* [mount_lock] */
};

/* ---- the namespace -------------------------------------------------------------- */

struct vfs_clock {
	LINE_ALIGNED struct mtx lock; /* RANK_CACHE */
	struct list hand;             /* dentries, coldest first */
};

struct vfs_bucket {
	_Atomic(void *) first; /* [rcu] dentries, or inodes */
};

/* A fixed table of RCU chains; writers lock a stripe. */
struct vfs_table {
	struct vfs_bucket *bucket; /* [const] */
	uint64_t mask;             /* [const] buckets - 1 */
	struct mtx *lock;          /* [const] stripes, RANK_HASH */
	uint32_t lock_mask;        /* [const] */
};

struct vfs {
	struct vfs_table dentries;
	struct vfs_table inodes;
	_Atomic(struct vfs_mount *) top; /* [rcu] mounted at "/" */
	enum vfs_walk_mode walk;         /* [const] */
	uint32_t limit;                  /* [const] dentries */
	uint32_t clock_count;            /* [const] */
	struct vfs_clock *clock;         /* [const] per CPU */

	struct tally dentry_count;
	struct tally inode_count;
	struct tally lookup_count;
	struct tally fallback_count;
	struct tally evict_count;

	struct mtx mount_lock; /* RANK_MOUNT: mounts come and go */
	struct list mounts;    /* [mount_lock] in order of mounting */
	uint64_t next_id;      /* [mount_lock] */
};

/* ---- table.c ----------------------------------------------------------------- */

MUST_USE int vfs_table_init(
	struct vfs_table *t, uint64_t entries, struct lock_class *class);
void vfs_table_fini(struct vfs_table *t);

static inline struct vfs_bucket *vfs_table_bucket(
	const struct vfs_table *t, uint64_t hash)
{
	return &t->bucket[hash & t->mask];
}

static inline struct mtx *vfs_table_lock(
	const struct vfs_table *t, uint64_t hash)
{
	return &t->lock[hash & t->lock_mask];
}

/* ---- inode.c ------------------------------------------------------------------- */

enum inode_state {
	INODE_LOADING,
	INODE_READY,
	INODE_FAILED, /* was never more than a number */
};

/* The inode @ino of @fs, loaded, with a reference; may read. */
MUST_USE int vfs_inode_get(
	struct vfs_fs *fs, vfs_ino ino, struct vfs_inode **out);
void vfs_inode_put(struct vfs_inode *inode);

/* Those attributes that permissions depend on. */
struct vfs_owner {
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
};

/* A consistent copy of them. */
void vfs_inode_owner(const struct vfs_inode *inode, struct vfs_owner *out);

static inline uint32_t vfs_inode_mode(const struct vfs_inode *inode)
{
	return atomic_load_explicit(&inode->mode, memory_order_relaxed);
}

/* ---- dentry.c ------------------------------------------------------------------- */

uint64_t dentry_hash(
	const struct dentry *parent, const char *name, uint32_t bytes);

/*
 * The hashed dentry of that name, and its sequence count from before it was
 * compared.  In a read section; nothing is stored.  NULL: not cached, or not
 * at rest.
 */
struct dentry *dentry_find_rcu(struct vfs *vfs, const struct dentry *parent,
	const char *name, uint32_t bytes, uint64_t hash, uint32_t *seq);

/*
 * A new dentry with a reference for the caller, hashed; or, if there is one by
 * now, that.  Takes over the reference on @inode (NULL: negative) in any case.
 * @parent (NULL: a root) is referenced by the caller.  -ENOMEM; -EUCLEAN: a
 * second name of a directory.
 */
MUST_USE int dentry_add(struct vfs *vfs, struct dentry *parent,
	const char *name, uint32_t bytes, struct vfs_inode *inode,
	struct dentry **out);

/* A reference by somebody who found @d under RCU; false: it is dead. */
MUST_USE bool dentry_get_try(struct dentry *d);
void dentry_get(struct dentry *d);
void dentry_put(struct dentry *d);

/* Take a DENTRY_DEAD one out of the hash and drop what it holds. */
void dentry_kill(struct vfs *vfs, struct dentry *d);

/* Note that @d was looked at; stores only the first time. */
static inline void dentry_mark_seen(struct dentry *d)
{
	if (!atomic_load_explicit(&d->seen, memory_order_relaxed))
		atomic_store_explicit(&d->seen, true, memory_order_relaxed);
}

/* ---- evict.c --------------------------------------------------------------------- */

/* Add @d to this CPU's clock; evict some when there are too many. */
void dentry_clock_add(struct vfs *vfs, struct dentry *d);

/* Evict every dentry of @fs but its root, leaves first; nobody may hold one
 * for good. */
void dentry_evict_fs(struct vfs *vfs, const struct vfs_fs *fs);

/* ---- mount.c ---------------------------------------------------------------------- */

/* The mount and dentry that stand for @d in @m: what is mounted over it, the
 * last of a stack of them.  In a read section. */
void mount_cross_rcu(struct vfs_mount **m, struct dentry **d);

int vfs_unmount_all(struct vfs *vfs);

/* ---- walk.c ------------------------------------------------------------------------ */

/*
 * Walk and call @look on the end, inside the read section: it copies, does
 * not sleep, and may be called again.  What cannot be done there (-ECHILD from
 * @look, or a name that is not cached) is done with references held, and
 * @look is called outside any read section, with @sleeps true.
 */
typedef int (*vfs_look_fn)(const struct vfs_spot *spot, bool sleeps, void *arg);

MUST_USE int vfs_walk_look(const struct vfs_at *at, const char *path,
	unsigned flags, vfs_look_fn look, void *arg);

/* Walk and hand out what was found, referenced: vfs_spot_put(). */
MUST_USE int vfs_walk_get(const struct vfs_at *at, const char *path,
	unsigned flags, struct vfs_spot *out);
void vfs_spot_put(struct vfs_spot *spot);

/* ---- perm.c -------------------------------------------------------------------------- */

/*
 * May @cred do @mask (R_OK, W_OK, X_OK) to @inode?  0, -EACCES; -ECHILD if
 * that takes reading and @sleeps is false.
 */
MUST_USE int vfs_permission(struct vfs_inode *inode,
	const struct vfs_cred *cred, int mask, bool sleeps);

/* ---- files ------------------------------------------------------------------------------ */

/* On a line of its own: each is another thread's. */
struct vfs_file {
	LINE_ALIGNED struct vfs_spot spot; /* [const] referenced */
	struct pages_ahead ahead;          /* sequential access */
};

#endif /* VFS_VFS_INT_H */
