/* SPDX-License-Identifier: BSD-2-Clause */
/* map.c - from the blocks of a file to the blocks of the device. */
#include <errno.h>

#include "ext/ext_int.h"

int ext_map_check(struct ext_map_walk *w, blk_no at, blk_no dev, uint32_t count)
{
	const struct ext_super *sb = &w->fs->super;

	if (dev > ext_super_block(sb) && dev < sb->block_count &&
		count <= sb->block_count - dev)
		return 0;
	return EXT_DAMAGED(w->damage, -EUCLEAN, at, w->inode->ino,
		"map points at %u blocks from %llu, outside the file system",
		count, (unsigned long long)dev);
}

int ext_map_hole(struct ext_map_walk *w, blk_no at, uint64_t file)
{
	if (!w->complete)
		return 0;
	return EXT_DAMAGED(w->damage, -EUCLEAN, at, w->inode->ino,
		"file block %llu is not mapped", (unsigned long long)file);
}

int ext_map_tell(struct ext_map_walk *w, blk_no at, const struct ext_run *run)
{
	int err = 0;

	if (run->file != w->told || run->unwritten)
		err = ext_map_hole(w, at, w->told);
	if (err)
		return err;
	w->told = (uint64_t)run->file + run->count;
	return w->run(w, run);
}

int ext_map_walk(struct ext_map_walk *w)
{
	int err;

	w->told = 0;
	if (w->inode->flags & EXT_INODE_EXTENTS)
		err = ext_extent_walk(w);
	else
		err = ext_indirect_walk(w);
	if (!err && w->told < w->end)
		err = ext_map_hole(w, w->inode->at, w->told);
	return err;
}
