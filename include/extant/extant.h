/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extant.h - ext2, ext3 and ext4 file systems, inside your own process.
 *
 * A *file system* (struct extant) is an open image, device, or anything that
 * you can read bytes from.  A *file* (struct extant_file) is an open file or
 * directory in it.  Nothing is mounted and no privilege is needed.
 *
 *    struct extant *fs;
 *    struct extant_stat st;
 *    int err = extant_open("disk.img#1", NULL, &fs, NULL);
 *
 *    if (err == 0)
 *        err = extant_stat(fs, NULL, "/etc/passwd", 0, &st);
 *
 * This version reads.  What a dirty journal holds is shown as if it were
 * home already, and nothing is ever written to the image.
 *
 * Threads: any thread may make any call at any time, on the same objects too,
 * except that a close comes last.  Cached paths, attributes and data are read
 * without a system call and without a store that another thread could notice.
 * After fork() the child may not use what its parent opened.
 *
 * Errors: 0 or -errno, the number that Linux gives for the same call; besides
 * that -EUCLEAN (what the disk says makes no sense), -EBADMSG (a checksum is
 * wrong), -EOPNOTSUPP (a feature that this version cannot read) and -ENOKEY
 * (encrypted).  Outputs are untouched on failure.
 *
 * Paths are bytes, ended by NUL, of any encoding.  One that begins with '/'
 * begins at the root, any other at extant_at.dir, or at the root without it.
 *
 * Structs that you fill in begin with their size, so that later versions can
 * add to them: use the initialisers EXTANT_OPTS(), EXTANT_AT().
 *
 * The library never prints, never exits and handles no signals.
 */
#ifndef EXTANT_EXTANT_H
#define EXTANT_EXTANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EXTANT_API     __attribute__((visibility("default")))
#define EXTANT_CHECKED __attribute__((warn_unused_result))

struct extant;
struct extant_file;

/* "MAJOR.MINOR.PATCH" of the library that runs. */
EXTANT_API const char *extant_version(void);

/* ==== messages ============================================================ */

enum extant_level {
	EXTANT_LOG_DEBUG,
	EXTANT_LOG_NOTE,    /* what was done: a journal replayed into memory */
	EXTANT_LOG_WARNING, /* damage that was read around */
	EXTANT_LOG_ERROR    /* damage that made a call fail */
};

#define EXTANT_NO_BLOCK UINT64_MAX

/* One line, without a newline; valid during the callback only. */
struct extant_message {
	enum extant_level level;
	const char *text;
	uint64_t block; /* of the file system; EXTANT_NO_BLOCK: none */
};

/* Called from any thread, from several at once; calls nothing here. */
typedef void (*extant_log_fn)(void *arg, const struct extant_message *message);

/*
 * Where messages of the whole library go; NULL, as at the start: nowhere.
 * Not to be called while other threads are inside the library.
 */
EXTANT_API void extant_log_to(extant_log_fn fn, void *arg);

/* Why a file system could not be opened. */
struct extant_problem {
	uint64_t block; /* of the file system; EXTANT_NO_BLOCK: none */
	uint32_t inode; /* 0: none */
	char text[236]; /* one line, without a newline; never empty */
};

/* ==== opening ============================================================= */

struct extant_opts {
	size_t size;          /* sizeof(struct extant_opts) */
	uint64_t cache_bytes; /* memory for blocks and file data, at most;
	                         0: 64 MiB.  It never grows beyond. */
	uint32_t cache_names; /* names and inodes kept, each; 0: 65536 */
	bool direct;          /* past the host's page cache where possible */
	bool no_replay; /* the disk as it is, whatever the journal holds */
	bool eager; /* make now what else is made on first use and takes rights
	               (io_uring), for a process that will give these up */
	/* A copy of the superblock, by its block, 0: the primary, or else any
	 * copy that is good; and the block size to find it by, 0: any. */
	uint64_t superblock;
	uint32_t superblock_bytes;
	const char *journal; /* image of an external journal, or NULL */
};

#define EXTANT_OPTS(...)                                                       \
	{                                                                      \
		.size = sizeof(struct extant_opts), __VA_ARGS__                \
	}

/*
 * Open IMAGE for reading: a file or a block device; "IMAGE#N" is partition N
 * of it.  The image gets a shared lock while it is open.  @opts and @problem
 * may be NULL.
 *
 * -EBUSY: somebody writes to it, and @problem says who; -EMEDIUMTYPE: a
 * container (qcow2, LVM, LUKS, ...) rather than an image; -EINVAL: @opts;
 * -EUCLEAN, -EBADMSG, -EOPNOTSUPP; -ENOENT also for a dirty journal on a
 * device that was not named.
 */
EXTANT_API EXTANT_CHECKED int extant_open(const char *image,
	const struct extant_opts *opts, struct extant **out,
	struct extant_problem *problem);

/*
 * A device of your own: an array of bytes.  Each call transfers all of it, or
 * returns -errno; calls come from any thread, several at once.  Offsets and
 * lengths are multiples of sector_bytes.
 */
struct extant_device {
	size_t size; /* sizeof(struct extant_device) */
	uint64_t bytes;
	uint32_t sector_bytes; /* never torn; 0: 512 */
	void *arg;             /* the first argument of each call */
	int (*pread)(void *arg, uint64_t offset, size_t bytes, void *to);
	/* Not called by this version; NULL: read-only. */
	int (*pwrite)(
		void *arg, uint64_t offset, size_t bytes, const void *from);
	int (*flush)(void *arg);
	int (*discard)(void *arg, uint64_t offset, uint64_t bytes);
	/* Called once, when the file system is closed or could not be opened;
	 * NULL: nothing to do. */
	void (*close)(void *arg);
};

/* Likewise on @device, which is copied; opts->direct means nothing. */
EXTANT_API EXTANT_CHECKED int extant_open_device(
	const struct extant_device *device, const struct extant_opts *opts,
	struct extant **out, struct extant_problem *problem);

/* -EBUSY: files are open in it, and it stays, but what was attached and has
 * none may be closed.  NULL is allowed. */
EXTANT_API int extant_close(struct extant *fs);

/*
 * Show another file system, opened like this one, over directory @path of
 * @fs.  Paths cross into it.  -ENOTDIR, -EBUSY: one is there already.
 */
EXTANT_API EXTANT_CHECKED int extant_attach(struct extant *fs, const char *path,
	const char *image, const struct extant_opts *opts,
	struct extant_problem *problem);

/* Close the one that was attached at @path.  -EBUSY: it is in use. */
EXTANT_API EXTANT_CHECKED int extant_detach(
	struct extant *fs, const char *path);

/* Forget cached names and inodes but for @keep of each. */
EXTANT_API void extant_shrink(struct extant *fs, uint32_t keep);

/* ==== what it is ========================================================== */

struct extant_time {
	int64_t seconds; /* since 1970 */
	uint32_t nanoseconds;
};

/* What the superblock of the first file system says. */
struct extant_info {
	char label[16 + 1];
	uint8_t uuid[16];
	uint32_t block_bytes;
	uint32_t cluster_bytes;
	uint32_t inode_bytes;
	uint32_t group_count;
	uint64_t block_count;
	uint32_t inode_count;
	/* Features: compatible, incompatible, read-only compatible. */
	uint32_t features[3];
	bool has_errors; /* damage was found before */
	uint64_t spare[8];
};

EXTANT_API void extant_info(struct extant *fs, struct extant_info *out);

/* The name of bit @bit of word @word of extant_info.features, as mke2fs(8)
 * writes it; NULL: it has none. */
EXTANT_API const char *extant_feature_name(unsigned word, unsigned bit);

struct extant_statfs {
	uint64_t blocks; /* of block_bytes */
	uint64_t blocks_free;
	uint64_t blocks_available; /* to users without privilege */
	uint64_t inodes;
	uint64_t inodes_free;
	uint32_t block_bytes;
	uint32_t name_bytes_max;
	uint64_t spare[4];
};

/* ==== looking at files ==================================================== */

/* Who asks; the owner of a file, its group and others have their rights. */
struct extant_cred {
	size_t size; /* sizeof(struct extant_cred) */
	uint32_t uid;
	uint32_t gid;
	const uint32_t *groups;
	uint32_t group_count;
	bool privileged; /* as CAP_DAC_OVERRIDE */
};

/* Where a relative path begins, and who asks.  Calls take NULL for: the root,
 * and nobody who could be refused. */
struct extant_at {
	size_t size;             /* sizeof(struct extant_at) */
	struct extant_file *dir; /* NULL: the root.  Any number of threads may
	                            share it at no cost. */
	const struct extant_cred *cred; /* NULL: no checks */
};

#define EXTANT_AT(...)                                                         \
	(&(const struct extant_at){                                            \
		.size = sizeof(struct extant_at), __VA_ARGS__})

enum extant_flags {
	EXTANT_NOFOLLOW = 1 << 0,   /* not through a symlink at the end */
	EXTANT_EMPTY_PATH = 1 << 1, /* "" is extant_at.dir, of any type */
	EXTANT_DIRECTORY = 1 << 2,  /* -ENOTDIR unless it is one */
	EXTANT_BENEATH = 1 << 3     /* -EXDEV if the way leaves extant_at.dir */
};

struct extant_stat {
	uint64_t ino;
	uint64_t fsid;   /* differs between attached file systems */
	uint64_t size;   /* bytes */
	uint64_t blocks; /* of 512 bytes */
	uint32_t mode;   /* type and permissions, as st_mode */
	uint32_t uid;
	uint32_t gid;
	uint32_t link_count;
	uint32_t generation;
	uint32_t device_major; /* of a device */
	uint32_t device_minor;
	uint32_t block_bytes;
	uint32_t project;
	uint32_t flags; /* FS_*_FL of linux/fs.h */
	struct extant_time atime;
	struct extant_time mtime;
	struct extant_time ctime;
	struct extant_time crtime; /* 0, 0: not recorded */
	uint64_t spare[4];
};

EXTANT_API EXTANT_CHECKED int extant_stat(struct extant *fs,
	const struct extant_at *at, const char *path, unsigned flags,
	struct extant_stat *out);

/* @mode: R_OK, W_OK, X_OK as of access(2), for at->cred. */
EXTANT_API EXTANT_CHECKED int extant_access(struct extant *fs,
	const struct extant_at *at, const char *path, unsigned flags, int mode);

/* The target of a symlink, not terminated: *@done of at most @bytes. */
EXTANT_API EXTANT_CHECKED int extant_readlink(struct extant *fs,
	const struct extant_at *at, const char *path, void *to, size_t bytes,
	size_t *done);

/*
 * The value of attribute @name ("user.x", "system.posix_acl_access", ... in
 * the form of getxattr(2)).  @bytes 0 asks for the length.  -ENODATA: there is
 * none; -ERANGE: longer than @bytes.
 */
EXTANT_API EXTANT_CHECKED int extant_getxattr(struct extant *fs,
	const struct extant_at *at, const char *path, unsigned flags,
	const char *name, void *to, size_t bytes, size_t *done);

/* The names, each with its NUL; otherwise likewise. */
EXTANT_API EXTANT_CHECKED int extant_listxattr(struct extant *fs,
	const struct extant_at *at, const char *path, unsigned flags, void *to,
	size_t bytes, size_t *done);

/* Of the file system that @path is on. */
EXTANT_API EXTANT_CHECKED int extant_statfs(struct extant *fs,
	const struct extant_at *at, const char *path,
	struct extant_statfs *out);

/* ==== open files ========================================================== */

/* Open for reading; files of any type, devices too: what is open is only the
 * inode. */
EXTANT_API EXTANT_CHECKED int extant_file_open(struct extant *fs,
	const struct extant_at *at, const char *path, unsigned flags,
	struct extant_file **out);

/* NULL is allowed. */
EXTANT_API void extant_file_close(struct extant_file *file);

EXTANT_API void extant_file_stat(
	struct extant_file *file, struct extant_stat *out);

/*
 * Up to @bytes from @offset on; *@done is less at the end of the file only.
 * -EISDIR, -EINVAL: not a regular file.
 */
EXTANT_API EXTANT_CHECKED int extant_pread(struct extant_file *file,
	uint64_t offset, void *to, size_t bytes, size_t *done);

/* Likewise into @count pieces. */
EXTANT_API EXTANT_CHECKED int extant_preadv(struct extant_file *file,
	uint64_t offset, const struct iovec *iov, int count, size_t *done);

/* The first offset >= @offset that holds data, or is in a hole (the end counts
 * as one), as lseek(2).  -ENXIO: none before the end. */
EXTANT_API EXTANT_CHECKED int extant_seek_data(
	struct extant_file *file, uint64_t offset, uint64_t *out);
EXTANT_API EXTANT_CHECKED int extant_seek_hole(
	struct extant_file *file, uint64_t offset, uint64_t *out);

struct extant_dirent {
	uint64_t ino;
	uint64_t cookie;    /* to go on after this one */
	uint16_t bytes;     /* of this entry, to the next */
	uint8_t type;       /* DT_* of dirent.h; DT_UNKNOWN: ask stat */
	uint8_t name_bytes; /* without the NUL */
	char name[];
};

enum { EXTANT_DIRENT_MAX = 280 }; /* bytes that one entry may take */

/*
 * Fill @to, aligned to 8 bytes and at least EXTANT_DIRENT_MAX long, with
 * entries of @dir after @cookie, 0: from the first.  *@done is 0 at the end.
 * "." and ".." are there.  Cookies hold while the directory changes.
 */
EXTANT_API EXTANT_CHECKED int extant_readdir(struct extant_file *dir,
	uint64_t cookie, void *to, size_t bytes, size_t *done);

static inline const struct extant_dirent *extant_dirent_next(
	const struct extant_dirent *entry)
{
	return (const struct extant_dirent *)(const void *)((const char *)
								    entry +
							    entry->bytes);
}

/* The path of @file from the root, with its NUL.  -ENOENT: it has none any
 * more; -ERANGE. */
EXTANT_API EXTANT_CHECKED int extant_path_of(
	struct extant_file *file, char *to, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* EXTANT_EXTANT_H */
