/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vfs.h - names, inodes and open files over any file system.
 *
 * A *namespace* (struct vfs) is a tree of mounted file systems.  A *dentry* is
 * a cached name in a directory, with its inode or without (negative).  An
 * *inode* is a cached file.  A *file* is an open one.
 *
 *    path --walk--> dentry --> inode --> fs's own part
 *      |  RCU, sequence counts    |
 *      '-- miss: lookup under the directory's lock, dentry added
 *
 * Budget (design, "one operation's budget"): a walk over cached names stores
 * to no line that another walk reads or writes, whether they share a start,
 * a prefix, or the file itself; calls that only look (stat, readlink, access,
 * getxattr) copy the answer inside the read section, so not even the last
 * component gets a store.  An open stores to its own file's dentry and inode
 * and to this CPU's share of the mount's count.
 *
 * Start points: AT_NS_ROOT, or a struct vfs_file that is a directory; any
 * number of threads may walk from one without touching its count.
 *
 * Bounds: dentries and inodes together stay within vfs_opts.cache_entries;
 * eviction takes cold ones without stopping readers and frees them after a
 * grace period.  Referenced ones stay.
 *
 * Threads: any, for every call, except that vfs_close() is last.
 * Errors: 0 or -errno as Linux returns for the same call; outputs are
 * untouched on failure.
 */
#ifndef VFS_VFS_H
#define VFS_VFS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/cc.h"
#include "cache/pages.h"
#include "sync/lock.h"
#include "sync/rcu.h"
#include "sync/ref.h"
#include "sync/rwl.h"
#include "sync/seq.h"

struct vfs;
struct vfs_mount;
struct vfs_file;
struct vfs_fs;
struct vfs_inode;

enum { VFS_NAME_MAX = 255, VFS_PATH_MAX = 4096, VFS_LINKS_MAX = 40 };

typedef uint64_t vfs_ino;

struct vfs_time {
	int64_t seconds;
	uint32_t nanoseconds;
};

/* What stat reports. */
struct vfs_attr {
	vfs_ino ino;
	uint64_t fs_id; /* vfs_fs.id */
	uint64_t size;
	uint64_t blocks; /* of 512 bytes */
	uint32_t mode;   /* type and permission bits, as st_mode */
	uint32_t uid;
	uint32_t gid;
	uint32_t link_count;
	uint32_t generation;
	uint32_t device_major;
	uint32_t device_minor;
	uint32_t block_bytes;
	uint32_t project;
	uint32_t flags; /* FS_*_FL of linux/fs.h, as lsattr shows them */
	struct vfs_time atime;
	struct vfs_time mtime;
	struct vfs_time ctime;
	struct vfs_time crtime; /* 0, 0: unknown */
};

struct vfs_statfs {
	uint64_t blocks;
	uint64_t blocks_free;
	uint64_t blocks_available; /* to those without privilege */
	uint64_t inodes;
	uint64_t inodes_free;
	uint32_t block_bytes;
	uint32_t name_bytes_max;
	uint64_t fsid;
};

struct vfs_dirent {
	vfs_ino ino;
	uint64_t cookie; /* go on after this entry by passing it back */
	uint8_t type;    /* DT_* of dirent.h, DT_UNKNOWN allowed */
	uint8_t name_bytes;
	const char *name; /* not terminated; valid during the callback */
};

/* Return nonzero to stop; that is no error. */
typedef int (*vfs_dirent_fn)(void *arg, const struct vfs_dirent *entry);

/* ==== what a file system brings =========================================== */

/*
 * Called with the locks named; "may read" means that the call may sleep for
 * the device.  A file system allocates nothing per call on cached paths.
 */
struct vfs_fs_ops {
	size_t inode_bytes; /* of its inode, which begins with vfs_inode */

	/*
	 * Fill a fresh @inode (fs and ino are set, all else is zero): attributes
	 * by vfs_inode_set_attr(), private part, pages_init() for regular files.  May read.  Nobody else sees @inode.
	 * -ENOENT: no such inode; -EUCLEAN, -EBADMSG: damaged.
	 */
	int (*inode_load)(struct vfs_fs *fs, struct vfs_inode *inode);

	/* Release what inode_load() took; after a grace period. */
	void (*inode_drop)(struct vfs_inode *inode);

	/* The inode number of @name in @dir, or -ENOENT.  @dir's lock is held
	 * shared.  May read. */
	int (*lookup)(struct vfs_inode *dir, const char *name,
		uint32_t name_bytes, vfs_ino *ino);

	/*
	 * Entries of @dir after @cookie (0: from the start), "." and ".."
	 * included, until @emit says stop.  Cookies are stable while the
	 * directory changes.  Lock as for lookup.  May read.
	 */
	int (*readdir)(struct vfs_inode *dir, uint64_t cookie,
		vfs_dirent_fn emit, void *arg);

	/* The target, not terminated; *@done bytes of at most @bytes.  May
	 * read.  Called without locks. */
	int (*readlink)(
		struct vfs_inode *inode, char *to, size_t bytes, size_t *done);

	/*
	 * The value of @name ("user.x", ...), *@done bytes; @bytes 0 asks for
	 * the length.  -ENODATA, -ERANGE.  May read.
	 */
	int (*getxattr)(struct vfs_inode *inode, const char *name, void *to,
		size_t bytes, size_t *done);

	/* All names, each terminated by a NUL; otherwise as getxattr(). */
	int (*listxattr)(
		struct vfs_inode *inode, char *to, size_t bytes, size_t *done);

	/* A regular file's bytes, as vfs_pread(); @ahead is the open file's.
	 * Most file systems hand this on to pages_read().  May read. */
	int (*pread)(struct vfs_inode *inode, struct pages_ahead *ahead,
		uint64_t offset, size_t bytes, void *to, size_t *done);

	/* The next offset >= @offset with data, or of a hole (as lseek with
	 * SEEK_DATA, SEEK_HOLE).  -ENXIO past the end.  May read. */
	int (*seek)(struct vfs_inode *inode, uint64_t offset, bool data,
		uint64_t *out);

	int (*statfs)(struct vfs_fs *fs, struct vfs_statfs *out);

	/* The last reference is gone; flush, close, free. */
	int (*unmount)(struct vfs_fs *fs);
};

/* A mounted instance; the file system's own struct begins with it. */
struct vfs_fs {
	const struct vfs_fs_ops *ops; /* [const] */
	struct cache *cache;          /* [const] or NULL (in memory) */
	vfs_ino root;                 /* [const] */
	uint64_t id;                  /* [vfs] vfs_attr.fs_id of its files */
	struct vfs *vfs;              /* [vfs] */
};

enum { VFS_ATTR_WORDS = sizeof(struct vfs_attr) / sizeof(uint64_t) };

_Static_assert(sizeof(struct vfs_attr) % sizeof(uint64_t) == 0, "words");

struct vfs_inode {
	/* Read by walks and stats. */
	struct vfs_fs *fs;                /* [const] */
	vfs_ino ino;                      /* [const] */
	_Atomic(struct vfs_inode *) next; /* [rcu] hash chain */
	const char *link; /* [const] a symlink's target, terminated, or NULL:
	                     ask readlink() each time */
	_Atomic uint32_t mode;  /* [atomic] of attr, for walks */
	_Atomic uint32_t state; /* vfs_int.h; a futex word */
	_Atomic bool has_acl;   /* [atomic] the mode alone does not decide */
	struct seq seq;         /* guards attr */
	_Atomic uint64_t attr[VFS_ATTR_WORDS]; /* [seq] a struct vfs_attr */
	_Atomic uint64_t size; /* [atomic] of attr, for pages_read() */
	struct pages pages;    /* of a regular file; changes on misses only */
	/* [atomic] of a directory: the hash of the dentry that leads to it,
	 * which is the only one; 0: none is cached. */
	_Atomic uint64_t home;

	/* Written by users. */
	LINE_ALIGNED struct ref refs;
	struct rwl lock; /* RANK_DIR or RANK_FILE by type */
	struct rcu_node rcu;
};

/* Change all attributes; inode_load(), or @inode's lock held exclusively. */
void vfs_inode_set_attr(struct vfs_inode *inode, const struct vfs_attr *attr);

/* A consistent copy; any thread that may look at @inode. */
void vfs_inode_attr(const struct vfs_inode *inode, struct vfs_attr *out);

/* ==== namespaces and mounts =============================================== */

enum vfs_walk_mode { VFS_WALK_RCU, VFS_WALK_REF /* the control */ };

struct vfs_opts {
	uint32_t cache_entries; /* dentries; 0: 65536.  Inodes likewise. */
	enum vfs_walk_mode walk;
};

MUST_USE int vfs_open(const struct vfs_opts *opts, struct vfs **out);

/* Unmount everything (the first error) and free.  No file may be open. */
MUST_USE int vfs_close(struct vfs *vfs);

/*
 * Mount @fs, whose ownership passes on success, over directory @path; the
 * first mount's path is "/".
 */
MUST_USE int vfs_mount(struct vfs *vfs, const char *path, struct vfs_fs *fs);

/* -EBUSY: files are open on it, or something is mounted inside. */
MUST_USE int vfs_unmount(struct vfs *vfs, const char *path);

/* Drop cold dentries and inodes until at most @keep of each are left. */
void vfs_shrink(struct vfs *vfs, uint32_t keep);

/* ==== calls ================================================================ */

/* Who asks.  NULL: the image's owner, no checks. */
struct vfs_cred {
	uint32_t uid;
	uint32_t gid;
	uint32_t group_count;
	const uint32_t *groups;
	bool privileged; /* CAP_DAC_OVERRIDE and its like */
};

/* Where a relative path begins; NULL: the root of the namespace.  A path that
 * begins with '/' begins at the root in any case. */
struct vfs_at {
	struct vfs *vfs;
	struct vfs_file *dir;
	const struct vfs_cred *cred;
};

enum vfs_at_flags {
	VFS_NOFOLLOW = 1 << 0,   /* not through a symlink at the end */
	VFS_EMPTY_PATH = 1 << 1, /* "" means @dir itself, of any type */
	VFS_DIRECTORY = 1 << 2,  /* -ENOTDIR unless it is one */
	VFS_BENEATH = 1 << 3,    /* -EXDEV when the walk leaves @dir */
};

MUST_USE int vfs_stat(const struct vfs_at *at, const char *path, unsigned flags,
	struct vfs_attr *out);

/* @mode: R_OK, W_OK, X_OK as access(2). */
MUST_USE int vfs_access(
	const struct vfs_at *at, const char *path, unsigned flags, int mode);

MUST_USE int vfs_readlink(const struct vfs_at *at, const char *path, void *to,
	size_t bytes, size_t *done);

MUST_USE int vfs_getxattr(const struct vfs_at *at, const char *path,
	unsigned flags, const char *name, void *to, size_t bytes, size_t *done);
MUST_USE int vfs_listxattr(const struct vfs_at *at, const char *path,
	unsigned flags, void *to, size_t bytes, size_t *done);

MUST_USE int vfs_statfs(
	const struct vfs_at *at, const char *path, struct vfs_statfs *out);

/*
 * Open for reading: any type (devices, fifos and sockets too: only to look).
 * The file pins dentry, inode and mount until vfs_file_close().
 */
MUST_USE int vfs_file_open(const struct vfs_at *at, const char *path,
	unsigned flags, struct vfs_file **out);
void vfs_file_close(struct vfs_file *file);

/* The inode behind an open file; valid while it is open. */
struct vfs_inode *vfs_file_inode(struct vfs_file *file);

/* Up to @bytes from @offset; *@done is less only at the end of the file, or
 * when an error came after some: then the next call has it. */
MUST_USE int vfs_pread(struct vfs_file *file, uint64_t offset, size_t bytes,
	void *to, size_t *done);

/* As lseek(2) with SEEK_DATA (@data) or SEEK_HOLE. */
MUST_USE int vfs_seek(
	struct vfs_file *file, uint64_t offset, bool data, uint64_t *out);

/* Entries after @cookie, 0 from the start; mount points show their root. */
MUST_USE int vfs_readdir(
	struct vfs_file *dir, uint64_t cookie, vfs_dirent_fn emit, void *arg);

/* The path of @file from the root of the namespace, terminated.  -ENOENT: it
 * was unlinked; -ERANGE. */
MUST_USE int vfs_path_of(struct vfs_file *file, char *to, size_t bytes);

struct vfs_stats {
	uint64_t walks_rcu; /* ended lock-free */
	uint64_t walks_ref; /* redone with references */
	uint64_t lookups;   /* asked of a file system */
	uint64_t dentries;  /* cached now */
	uint64_t inodes;    /* cached now */
	uint64_t evicted;
};

void vfs_stats_read(struct vfs *vfs, struct vfs_stats *out);

#endif /* VFS_VFS_H */
