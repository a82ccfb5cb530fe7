/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ext.h - a file system of the ext2, ext3, ext4 family on a device.
 *
 * Open it, find its journal, bring it up to date; mount it for reading.
 *
 *     superblock --> group descriptors --> inode 8 --> block map --> log
 *          |                                               ^
 *          '----- its copy of the journal's block map -----'
 *          '----- journal_uuid --> a journal device -------------> log
 *
 * Every field is checked before it is used: decoding (does it make sense?)
 * is apart from policy (may we go on with it?), so that a reader of damaged
 * images and a careful writer share the first and differ in the second.
 * Whatever the device holds: no crash, no endless loop, memory bounded by
 * what the device really stores, and nothing written but by ext_recover().
 *
 * Damage: calls that read take a struct ext_damage, which may be NULL, and
 * fill it when they fail: which block, which inode, and the reason.
 *
 * Errors: 0 or -errno.  -EUCLEAN: what the disk says makes no sense;
 * -EBADMSG: a checksum is wrong; -EOPNOTSUPP: a feature, by name, that this
 * code cannot honour; device errors.  Outputs are untouched on failure.
 *
 * Threads: a struct ext is constant after ext_open(), but for ext_recover(),
 * which runs alone.
 */
#ifndef EXT_EXT_H
#define EXT_EXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cc.h"
#include "blk/blk.h"
#include "ext/format.h"
#include "jnl/jnl.h"
#include "jnl/replay.h"

struct ext_damage {
	blk_no block;   /* of the file system, or LOG_NO_BLOCK */
	uint32_t inode; /* or 0 */
	bool outside;   /* on the journal device rather than the file system */
	char why[160];  /* one line, without a newline */
};

/* ---- features ------------------------------------------------------------ */

struct ext_features {
	uint32_t compat;    /* unknown bits: others may read and write */
	uint32_t incompat;  /* unknown bits: hands off */
	uint32_t ro_compat; /* unknown bits: others may read */
};

/*
 * The name of bit @bit (0 to 31) of word @word (0 compat, 1 incompat,
 * 2 ro_compat) as mke2fs(8) and ext4(5) write it; NULL if it has none.
 */
const char *ext_feature_name(unsigned word, unsigned bit);

/* The bits of @f that this code has never heard of. */
struct ext_features ext_features_unknown(const struct ext_features *f);

/* ---- the superblock ------------------------------------------------------ */

/* A superblock, decoded and checked. */
struct ext_super {
	uint32_t block_bytes;
	uint32_t cluster_bytes;
	blk_no block_count;
	blk_no first_data_block;
	uint32_t blocks_per_group;
	uint32_t inodes_per_group;
	uint32_t inode_count;
	uint32_t inode_bytes;
	uint32_t first_ino;  /* below are the reserved ones */
	blk_no at;           /* the block this copy came from */
	uint32_t desc_bytes; /* of a group descriptor */
	uint32_t group_count;
	uint32_t desc_blocks; /* that all descriptors take */
	uint32_t reserved_desc_blocks;
	uint32_t first_meta_bg; /* descriptor block; META_BG */
	uint32_t backup_bgs[2]; /* SPARSE_SUPER2 */
	struct ext_features features;
	uint16_t state;     /* enum ext_state */
	bool csum;          /* metadata carries crc32c */
	uint32_t csum_seed; /* of that */
	uint8_t uuid[16];
	char label[16 + 1];
	uint32_t journal_inum; /* 0: on another device */
	uint8_t journal_uuid[16];
	bool has_jnl_backup; /* jnl_blocks means something */
	struct le32 jnl_blocks[EXT_JNL_WORDS];

	/* What the superblock says without being believed. */
	blk_no reserved_blocks;
	blk_no free_blocks;
	uint32_t free_inodes;
	uint32_t overhead_clusters; /* 0: unknown */
	uint32_t hash_seed[4];      /* of names; all 0: the default */
	bool hash_unsigned;         /* chars of names, when they are hashed */
};

/*
 * Decode and check @raw.  A journal device has such a superblock too, of
 * which only sizes, uuid and features mean anything: ask for JOURNAL_DEV.
 * Features are not judged here.
 */
MUST_USE int ext_super_decode(const struct ext_disk_super *raw,
	struct ext_super *out, struct ext_damage *damage);

/* The primary superblock as it lies on @dev, whatever it holds. */
MUST_USE int ext_super_read(struct blk_dev *dev, struct ext_disk_super *out,
	struct ext_damage *damage);

/* ---- a file system ------------------------------------------------------- */

struct ext {
	struct blk_dev *dev; /* [const] the opener's */
	struct ext_super super;
};

/*
 * Read the primary superblock of @dev, which stays the caller's and must
 * outlive *@out.  -EUCLEAN also when the file system would be larger than
 * the device.  -EOPNOTSUPP: an incompatible feature that has no name here.
 */
MUST_USE int ext_open(
	struct blk_dev *dev, struct ext **out, struct ext_damage *damage);
void ext_close(struct ext *fs);

/* Whether @dev is an external journal rather than a file system. */
static inline bool ext_is_journal_super(const struct ext_super *sb)
{
	return sb->features.incompat & EXT_INCOMPAT_JOURNAL_DEV;
}

static inline bool ext_is_journal_dev(const struct ext *fs)
{
	return ext_is_journal_super(&fs->super);
}

/* ---- the journal --------------------------------------------------------- */

enum ext_journal_source {
	EXT_JOURNAL_INODE,  /* the journal inode's map */
	EXT_JOURNAL_BACKUP, /* its copy in the superblock */
	EXT_JOURNAL_DEVICE, /* a device of its own */
};

struct ext_journal {
	struct jnl_place place; /* its map belongs to the ext_journal */
	enum ext_journal_source source;
};

/*
 * Find the log of @fs.  @outside is the journal device, for a file system
 * that has one, else NULL; it stays the caller's and must outlive *@out.
 * When the journal inode cannot be used, the copy of its map in the
 * superblock is, and the log callback is told why.
 *
 * The map is complete, inside the device, free of overlaps with itself, with
 * its own tree and with the fixed metadata of any group whose descriptor is
 * intact, and a journal superblock is where it should be.  On a journal
 * device log blocks are numbered as the device's blocks.
 *
 * -ENOENT: no journal, or none that this device can hold alone.  -ENXIO:
 * @outside is another file system's journal, or the journal is inside.
 */
MUST_USE int ext_journal_find(const struct ext *fs, struct blk_dev *outside,
	struct ext_journal *out, struct ext_damage *damage);

/* The log on journal device @fs, whoever uses it. */
MUST_USE int ext_journal_of_dev(const struct ext *fs, struct ext_journal *out,
	struct ext_damage *damage);

void ext_journal_drop(struct ext_journal *j);

/* ---- recovery ------------------------------------------------------------ */

struct ext_recovery {
	bool was_needed; /* needs_recovery was set; else nothing was done */
	struct jnl_replay_result log;
	bool marked_error; /* the log recorded an abort; the superblock now
	                      says that the file system has errors */
};

/*
 * Bring @fs up to date: replay its log home, flush, mark the log empty,
 * flush, clear needs_recovery, flush.  A power cut or an error at any point
 * leaves a state that a later call completes.
 *
 * Nothing is written before the whole log has been read once and found good
 * and the superblock that it would leave behind has been checked.
 * -EOPNOTSUPP: fast-commit records are pending, or the file system has
 * features that forbid writing, by name; -EROFS: read-only device.
 */
MUST_USE int ext_recover(struct ext *fs, const struct ext_journal *j,
	struct ext_recovery *out, struct ext_damage *damage);

/* ---- mounting ------------------------------------------------------------ */

struct vfs_fs;

struct ext_mount_opts {
	uint64_t cache_bytes;    /* 0: 64 MiB; raised to what a cache needs */
	struct blk_dev *journal; /* the journal device, or NULL */
	/* A copy of the superblock by its block, 0: the primary, or a copy if
	 * that is damaged; and the block size for it, 0: whichever fits. */
	uint64_t superblock;
	uint32_t superblock_bytes;
	bool no_replay; /* show the disk as it is, whatever the journal holds */
};

/*
 * A file system for vfs_mount(), for reading.  What a dirty journal holds is
 * shown as if it were home, fast commits included; nothing is ever written.
 * Fast commits that cannot be applied are left out, all of them, which is said:
 * then the file system is as of its last full commit.  @dev becomes the file
 * system's, and is closed also when this fails; the journal device stays the
 * caller's, and is not used any more once this returns.  @opts may be NULL.
 *
 * What happens besides is said through the log: that a copy of the superblock
 * is used, what was replayed, later on each damaged block that is met.
 *
 * -EOPNOTSUPP: a feature, by name, that cannot be read; -ENOENT: the journal
 * is dirty and on a device that was not given; as ext_open() and
 * ext_journal_find() otherwise.
 */
MUST_USE int ext_mount(struct blk_dev *dev, const struct ext_mount_opts *opts,
	struct vfs_fs **out, struct ext_damage *damage);

/* The superblock of what ext_mount() made, replay included; valid as long. */
const struct ext_super *ext_mount_super(struct vfs_fs *fs);

#endif /* EXT_EXT_H */
