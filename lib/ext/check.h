/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.h - a quick look at whether a file system is whole; nothing is written.
 *
 * Looked at, each thing by itself and against its neighbours:
 *
 *   superblock     its state, its copies, its counts against the groups'
 *   journal        found, its superblock, and the log as a replay would read it
 *   descriptors    checksums, places
 *   bitmaps        checksums, padding, counts against the descriptor; blocks of
 *                  the fixed metadata are in use
 *   inodes in use  checksums, type, links, the root of the map or the whole
 *                  extent tree: inside the file system, off fixed metadata
 *   orphans        the list and the orphan file
 *
 * Not looked at: names and directories, attributes, indirect blocks, whether
 * two files share a block, whether a link count is right.  So what is found is
 * damage, and what is not found may still be damaged: that takes e2fsck -f.
 *
 * With a dirty journal what it holds is taken for being home, as a mount would
 * have it.
 *
 * Time: one read of the bitmaps and of those blocks of inode tables that are in
 * use, by several threads.  Memory: the layout of the fixed metadata, the dirty
 * journal's blocks, and at most 1 MiB for each thread.
 */
#ifndef EXT_CHECK_H
#define EXT_CHECK_H

#include "ext/ext.h"

enum ext_check_part {
	EXT_CHECK_SUPER,
	EXT_CHECK_JOURNAL,
	EXT_CHECK_GROUP, /* descriptors and bitmaps */
	EXT_CHECK_INODE,
	EXT_CHECK_ORPHAN,
};

/* Valid during the callback. */
struct ext_finding {
	enum ext_check_part part;
	bool note; /* no damage: what was left out, or is to be done */
	struct ext_damage what; /* what.outside: on the journal device */
};

struct ext_check_opts {
	struct blk_dev *journal;   /* the journal device, or NULL */
	uint64_t superblock;       /* as struct ext_mount_opts */
	uint32_t superblock_bytes; /* likewise */
	unsigned threads;          /* 0: as many as there are CPUs */
	/* Called once for each finding, in the order of groups, by one thread
	 * at a time. */
	void (*found)(void *arg, const struct ext_finding *finding);
	/* Called for each group that is done, likewise; or NULL. */
	void (*done)(void *arg, uint32_t groups);
	void *arg;
};

struct ext_check_result {
	uint64_t findings; /* notes not counted */
	uint32_t groups;
	uint64_t inodes_used;
	uint64_t blocks_used; /* clusters, with bigalloc */
	uint32_t replayed;    /* transactions */
};

/*
 * @dev becomes the check's and is closed in any case.  Errors are those of
 * ext_mount() before anything could be looked at, and -ENOMEM; what is wrong
 * otherwise is a finding.
 */
MUST_USE int ext_check_quick(struct blk_dev *dev,
	const struct ext_check_opts *opts, struct ext_check_result *out,
	struct ext_damage *damage);

#endif /* EXT_CHECK_H */
