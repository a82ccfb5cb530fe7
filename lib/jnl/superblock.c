/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * superblock.c - the journal's superblock on disk: tail, sequence, errno.
 *
 * All that changes lies in its first sector, checksum included, so a torn
 * write of it leaves the old one or the new one.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "jnl/jnl_int.h"

static struct jbd_super *super_raw(struct jnl *j)
{
	return (struct jbd_super *)(void *)j->super_raw;
}

/*
 * The features that this log uses from its first transaction on; the log is
 * empty, and they reach the disk before that transaction does.
 */
static void super_adopt(struct jnl *j, const struct jnl_opts *opts)
{
	struct jnl_super *sb = &j->super;

	if (sb->version == 1) {
		/* What version 2 adds is undefined in version 1. */
		memset(j->super_raw +
				offsetof(struct jbd_super, feature_compat),
			0,
			sizeof(struct jbd_super) -
				offsetof(struct jbd_super, feature_compat));
		super_raw(j)->user_count = be32_of(1);
		sb->user_count = 1;
		sb->version = 2;
	}
	jnl_super_choose(sb, opts->checksum, opts->wide);
	sb->incompat |= JBD_INCOMPAT_REVOKE;
	/* Commit blocks are written after a barrier. */
	sb->incompat &= ~(uint32_t)JBD_INCOMPAT_ASYNC_COMMIT;
	jnl_super_derive(sb);
}

int jnl_superblock_load(struct jnl *j, const struct jnl_opts *opts)
{
	char why[160];
	int err;

	err = blk_read(j->log_dev,
		jnl_place_dev(&j->place, j->place.super) * j->block_bytes,
		j->block_bytes, j->super_raw);
	if (err != 0)
		return err;
	err = jnl_super_decode(super_raw(j), j->block_bytes,
		jnl_place_blocks(&j->place), &j->super, why, sizeof(why));
	if (err != 0) {
		log_say(LOG_ERROR, "jnl", "%s", why);
		return err;
	}
	if (j->super.start != 0)
		return -ESTALE;
	super_adopt(j, opts);
	return 0;
}

static int super_write_locked(struct jnl *j)
{
	int err;

	jnl_super_encode(&j->super, super_raw(j));
	err = blk_write(j->log_dev,
		jnl_place_dev(&j->place, j->place.super) * j->block_bytes,
		j->block_bytes, j->super_raw);
	return err == 0 ? blk_flush(j->log_dev) : err;
}

int jnl_superblock_store(struct jnl *j, uint32_t start, jnl_tid sequence)
{
	int err;

	mtx_lock(&j->super_lock);
	j->super.start = start;
	j->super.sequence = sequence;
	err = super_write_locked(j);
	mtx_unlock(&j->super_lock);
	return err;
}

void jnl_superblock_store_error(struct jnl *j)
{
	if (j->log_dev == NULL)
		return;
	mtx_lock(&j->super_lock);
	if (j->super.error == 0) {
		j->super.error = -atomic_load(&j->error);
		/* The journal has failed already; this is a courtesy. */
		(void)!super_write_locked(j);
	}
	mtx_unlock(&j->super_lock);
}
