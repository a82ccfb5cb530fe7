/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * about.h - everything that a superblock says, for people to read.
 *
 * What code relies on is struct ext_super; the rest of the superblock is for
 * whoever looks after the file system: when it was made, mounted, checked, by
 * what rules, and what went wrong.  None of it is checked, but texts end.
 */
#ifndef EXT_ABOUT_H
#define EXT_ABOUT_H

#include "ext/ext.h"
#include "jnl/codec.h"

/* The first or the last error that the kernel noted. */
struct ext_error_note {
	int64_t seconds; /* since 1970; 0: none */
	uint32_t inode;
	uint64_t block;
	char function[32 + 1];
	uint32_t line;
};

struct ext_about {
	struct ext_super super;
	unsigned family; /* 2, 3 or 4: the oldest of the kernel's drivers that
	                    could mount it */

	uint32_t revision;
	uint16_t minor_revision;
	uint32_t creator_os;
	uint32_t checksum;
	uint8_t checksum_type;
	uint32_t super_flags; /* enum ext_super_flag */

	/* Seconds since 1970; 0: never. */
	int64_t created;
	int64_t mounted;
	int64_t written;
	int64_t checked;
	uint32_t check_interval; /* seconds; 0: none */
	uint16_t mount_count;
	int16_t mount_count_max; /* < 1: no limit */
	uint64_t written_kib;    /* in its life */
	char last_mounted[64 + 1];
	char mount_opts[64 + 1];
	uint32_t default_mount_opts;
	uint16_t on_error; /* 1: go on, 2: read-only, 3: panic */

	uint16_t reserved_uid;
	uint16_t reserved_gid;
	uint16_t extra_min; /* bytes of an inode behind the first 128 */
	uint16_t extra_want;
	uint16_t raid_stride;       /* blocks */
	uint32_t raid_stripe_width; /* blocks */
	uint32_t flex_groups;       /* groups that share; 0: none */
	uint8_t hash_version;
	uint8_t hash_seed[16];
	uint16_t encoding;
	uint16_t encoding_flags;
	uint64_t mmp_block;
	uint16_t mmp_seconds;

	uint32_t last_orphan; /* inode; 0: none */
	uint32_t orphan_file; /* inode; 0: none */
	uint32_t quota[3];    /* inodes, of users, groups and projects */

	uint32_t error_count;
	struct ext_error_note first_error;
	struct ext_error_note last_error;

	/* Why the file system cannot be opened all the same, as ext_open()
	 * says; 0 and "" if it can. */
	int error;
	struct ext_damage damage;
};

/*
 * Read the superblock of @dev: the copy in block @block, of @block_bytes or 0:
 * any; or with @block 0 the primary, or else any good copy, which the log is
 * told.  Errors as of ext_open(), but that unknown features and a device that
 * is too small are told by @out.
 */
MUST_USE int ext_about_read(struct blk_dev *dev, uint64_t block,
	uint32_t block_bytes, struct ext_about *out, struct ext_damage *damage);

/* What the superblock of log @j says; -EUCLEAN, -EBADMSG, -EOPNOTSUPP. */
MUST_USE int ext_about_journal(const struct ext_journal *j,
	struct jnl_super *out, struct ext_damage *damage);

/* As mkfs names them: 2, 3 or 4 for ext2, ext3, ext4. */
unsigned ext_family(const struct ext_features *f);

#endif /* EXT_ABOUT_H */
