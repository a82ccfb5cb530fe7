/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fast_room.c - free blocks, for nodes of trees and blocks of directories.
 *
 * Free is what a bitmap says is free and no record has put into a file.
 * Groups whose bitmap was never written are left alone.
 */
#include <errno.h>
#include <stdlib.h>

#include "ext/fast_int.h"

enum { GROUP_BLOCK_UNINIT = 2 };

static bool bitmap_usable(const struct ext_super *sb, const struct ext_group *g)
{
	bool flags =
		sb->csum || sb->features.ro_compat & EXT_RO_COMPAT_GDT_CSUM;

	return g->free_blocks != 0 && !(flags && g->flags & GROUP_BLOCK_UNINIT);
}

/* Take the bitmap of the next group that has something free. */
static int next_bitmap(struct fast *f)
{
	const struct ext_super *sb = &f->fs->super;
	uint32_t ratio = sb->cluster_bytes / sb->block_bytes;
	struct ext_group g;
	int err;

	if (!f->bitmap)
		f->bitmap = malloc(sb->block_bytes);
	if (!f->bitmap)
		return -ENOMEM;
	while (f->next_group < sb->group_count) {
		err = ext_group_read(f->fs, f->next_group++, &g, f->damage);
		if (err == -EUCLEAN || err == -EBADMSG)
			continue;
		if (err || !bitmap_usable(sb, &g)) {
			if (err)
				return err;
			continue;
		}
		f->next_bit = 0;
		f->bits = sb->blocks_per_group / ratio;
		return ext_block_read(
			f->fs, g.block_bitmap, f->bitmap, f->damage);
	}
	return FAST_BAD(f, -ENOSPC, 0, "no block is free for them");
}

int fast_block_take(struct fast *f, blk_no *out)
{
	const struct ext_super *sb = &f->fs->super;
	uint32_t ratio = sb->cluster_bytes / sb->block_bytes;

	for (;;) {
		uint32_t bit = f->next_bit++;
		blk_no block;
		int err;

		if (bit >= f->bits) {
			err = next_bitmap(f);
			if (err)
				return err;
			continue;
		}
		if (f->bitmap[bit / 8] >> bit % 8 & 1)
			continue;
		block = sb->first_data_block +
			(blk_no)(f->next_group - 1) * sb->blocks_per_group +
			(blk_no)bit * ratio;
		if (block > ext_super_block(sb) && block < sb->block_count &&
			!fast_spans_have(&f->taken, block)) {
			*out = block;
			return 0;
		}
	}
}
