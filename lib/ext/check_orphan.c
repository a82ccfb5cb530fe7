/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_orphan.c - the quick check of inodes that wait to be freed.
 *
 * They hang in a list from the superblock, each naming the next in its field
 * for the time of deletion; or they stand in the blocks of the orphan file.
 * Either is empty after a clean unmount.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "ext/check_int.h"

/* ---- the list ---------------------------------------------------------------- */

static bool may_wait(const struct ext_super *sb, uint32_t ino)
{
	return ino >= sb->first_ino && ino <= sb->inode_count;
}

/* Bounded by Brent: a second pointer waits at powers of two. */
static uint32_t walk_list(struct check *c, uint32_t first)
{
	uint32_t ino = first;
	uint32_t waits = first;
	uint64_t limit = 1;
	uint64_t count = 0;

	while (ino != 0) {
		struct ext_damage damage = {.block = LOG_NO_BLOCK};
		struct ext_inode inode;

		if (!may_wait(&c->fs.super, ino)) {
			check_say(c, EXT_CHECK_ORPHAN, LOG_NO_BLOCK, ino,
				"orphan list: no such inode");
			break;
		}
		if (ext_inode_read(&c->fs, ino, &inode, &damage)) {
			check_say_damage(c, EXT_CHECK_ORPHAN, &damage);
			break;
		}
		ino = inode.dtime;
		if (++count == limit) {
			limit *= 2;
			waits = ino;
		} else if (ino != 0 && ino == waits) {
			check_say(c, EXT_CHECK_ORPHAN, inode.at, ino,
				"orphan list: runs in a circle");
			break;
		}
	}
	return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

/* ---- the file ---------------------------------------------------------------- */

struct orphan_file {
	struct check *c;
	uint32_t ino;
	uint32_t generation;
	uint8_t *block;
	uint32_t entries; /* of a block */
	uint64_t count;   /* of inodes */
};

static bool tail_ok(const struct orphan_file *f, blk_no at)
{
	const struct ext_super *sb = &f->c->fs.super;
	const struct ext_disk_orphan_tail *tail =
		(const void *)(f->block + (size_t)f->entries * 4);
	uint32_t stored = le32_get(tail->checksum);

	if (le32_get(tail->magic) != EXT_ORPHAN_MAGIC) {
		check_say(f->c, EXT_CHECK_ORPHAN, at, f->ino,
			"orphan file: no magic number");
		return false;
	}
	if (sb->csum && stored != ext_csum_orphans(sb, f->ino, f->generation,
					  at, f->block, f->entries * 4)) {
		check_say(f->c, EXT_CHECK_ORPHAN, at, f->ino,
			"orphan file: bad checksum");
		return false;
	}
	return true;
}

static void take_block(struct orphan_file *f, blk_no at)
{
	struct ext_damage damage = {.block = LOG_NO_BLOCK};

	if (ext_block_read(&f->c->fs, at, f->block, &damage)) {
		check_say_damage(f->c, EXT_CHECK_ORPHAN, &damage);
		return;
	}
	if (!tail_ok(f, at))
		return;
	for (uint32_t i = 0; i < f->entries; i++) {
		struct le32 raw;
		uint32_t ino;

		memcpy(&raw, f->block + (size_t)i * 4, sizeof(raw));
		ino = le32_get(raw);
		if (ino == 0)
			continue;
		f->count++;
		if (!may_wait(&f->c->fs.super, ino))
			check_say(f->c, EXT_CHECK_ORPHAN, at, ino,
				"orphan file: no such inode");
	}
}

static int take_run(struct ext_map_walk *w, const struct ext_run *run)
{
	struct orphan_file *f = w->arg;

	for (uint32_t i = 0; i < run->count; i++)
		take_block(f, run->dev + i);
	return 0;
}

static int walk_file(
	struct orphan_file *f, uint32_t ino, struct ext_damage *damage)
{
	struct check *c = f->c;
	struct ext_inode inode;
	struct ext_map_walk w = {
		.fs = &c->fs,
		.inode = &inode,
		.check_csum = true,
		.complete = true,
		.run = take_run,
		.arg = f,
		.damage = damage,
	};
	int err = ext_inode_read(&c->fs, ino, &inode, damage);

	if (err)
		return err;
	f->ino = ino;
	f->generation = inode.generation;
	f->entries = (c->fs.super.block_bytes -
			     sizeof(struct ext_disk_orphan_tail)) /
		     4;
	if ((inode.mode & EXT_MODE_TYPE) != EXT_MODE_REG ||
		inode.bytes / c->fs.super.block_bytes > EXT_ORPHAN_BLOCKS_MAX)
		return EXT_DAMAGED(damage, -EUCLEAN, inode.at, ino,
			"orphan file: not a file that could be one");
	w.end = (uint32_t)(inode.bytes / c->fs.super.block_bytes);
	return ext_map_walk(&w);
}

static int check_file(struct check *c, uint64_t *count)
{
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct orphan_file f = {.c = c};
	bool present =
		c->fs.super.features.ro_compat & EXT_RO_COMPAT_ORPHAN_PRESENT;
	int err;

	f.block = malloc(c->fs.super.block_bytes);
	if (!f.block)
		return -ENOMEM;
	err = walk_file(&f, le32_get(c->raw.orphan_file_inum), &damage);
	free(f.block);
	if (err == -ENOMEM)
		return err;
	if (err)
		check_say_damage(c, EXT_CHECK_ORPHAN, &damage);
	if (f.count && !present)
		check_say(c, EXT_CHECK_ORPHAN, LOG_NO_BLOCK, 0,
			"orphan file: %llu inodes, but orphan_present is not "
			"set",
			(unsigned long long)f.count);
	*count += f.count;
	return 0;
}

int check_orphans(struct check *c)
{
	uint64_t count = walk_list(c, le32_get(c->raw.last_orphan));
	int err = 0;

	if (c->fs.super.features.compat & EXT_COMPAT_ORPHAN_FILE)
		err = check_file(c, &count);
	c->has_orphans = count > 0;
	if (count)
		check_note(c, EXT_CHECK_ORPHAN,
			"%llu inodes wait to be freed or cut short",
			(unsigned long long)count);
	return err;
}
