/* SPDX-License-Identifier: BSD-2-Clause */
/* check.c - see check.h: the order of the quick check. */
#include "ext/check.h"

#include <errno.h>

#include "ext/check_int.h"

/* A damaged primary superblock is a finding where there is a good copy. */
static int find_super(struct check *c, struct ext_damage *damage)
{
	const struct ext_check_opts *opts = c->opts;
	struct ext_damage first = {.block = LOG_NO_BLOCK};
	int err;

	if (!opts->superblock &&
		!ext_super_primary(c->fs.dev, &c->fs.super, &first))
		return 0;
	err = ext_super_find(c->fs.dev, opts->superblock,
		opts->superblock_bytes, &c->fs.super, damage);
	if (!err && !opts->superblock)
		check_say_damage(c, EXT_CHECK_SUPER, &first);
	return err;
}

static int raw_again(struct check *c)
{
	const struct ext_super *sb = &c->fs.super;
	uint64_t offset = sb->at == ext_super_block(sb)
				  ? EXT_SUPER_OFFSET
				  : sb->at * sb->block_bytes;

	return ext_super_read_at(c->fs.dev, offset, &c->raw, NULL);
}

static int check_layout(struct check *c)
{
	int err = ext_layout_read(&c->fs, &c->layout);

	if (!err && c->layout.overlap != LOG_NO_BLOCK)
		check_say(c, EXT_CHECK_GROUP, c->layout.overlap, 0,
			"two pieces of fixed metadata overlap");
	return err;
}

static void fill_result(struct check *c)
{
	c->result.groups = c->fs.super.group_count;
	c->result.inodes_used = c->sums.inodes_used;
	c->result.blocks_used = c->sums.blocks_used;
}

int ext_check_quick(struct blk_dev *dev, const struct ext_check_opts *opts,
	struct ext_check_result *out, struct ext_damage *damage)
{
	struct check c = {.opts = opts, .fs = {.dev = dev}};
	int err = find_super(&c, damage);

	if (!err)
		err = ext_mount_admit(&c.fs, damage);
	if (!err)
		err = check_journal(&c);
	if (!err)
		err = raw_again(&c);
	if (!err)
		check_super(&c);
	if (!err)
		err = check_orphans(&c);
	if (!err)
		err = check_layout(&c);
	if (!err)
		err = check_groups(&c);
	if (!err) {
		check_super_counts(&c);
		fill_result(&c);
		*out = c.result;
	}
	ext_layout_drop(&c.layout);
	blk_close(c.fs.dev);
	return err;
}
