/* SPDX-License-Identifier: BSD-2-Clause */
/* check_journal.c - the quick check of the journal. */
#include <errno.h>

#include "ext/check_int.h"
#include "jnl/sink.h"

/* Put what the log holds over the device.  Fast commits are only counted:
 * what they change is whole without them, as it was before. */
static int overlay(struct check *c, const struct ext_journal *j, blk_no blocks,
	struct jnl_replay_result *log)
{
	struct jnl_overlay *o;
	int err = jnl_overlay_open(c->fs.dev, c->fs.super.block_bytes, &o);

	if (err)
		return err;
	err = jnl_replay(&j->place, blocks, &jnl_overlay_ops, o, log);
	if (!err && log->transactions)
		err = jnl_overlay_seal(o, &c->fs.dev);
	if (err || !log->transactions)
		jnl_overlay_close(o);
	return err;
}

static int read_log(struct check *c, const struct ext_journal *j,
	struct jnl_replay_result *log, struct ext_damage *damage)
{
	static const struct jnl_replay_sink count_only;
	blk_no blocks = blk_geom(c->fs.dev).bytes / c->fs.super.block_bytes;
	int err;

	err = c->was_dirty
		      ? overlay(c, j, blocks, log)
		      : jnl_replay(&j->place, blocks, &count_only, NULL, log);
	if (err)
		ext_damage_say(damage, LOG_NO_BLOCK, 0, "journal: %s",
			log->why[0] ? log->why : "cannot be read");
	return err;
}

static void judge_log(struct check *c, const struct jnl_replay_result *log)
{
	if (log->error)
		check_say(c, EXT_CHECK_JOURNAL, LOG_NO_BLOCK, 0,
			"journal: was aborted with error %d", log->error);
	if (!c->was_dirty && log->transactions)
		check_say(c, EXT_CHECK_JOURNAL, LOG_NO_BLOCK, 0,
			"journal: holds %u transactions, but needs_recovery is "
			"not set",
			log->transactions);
	if (c->was_dirty)
		check_note(c, EXT_CHECK_JOURNAL,
			"journal: %u transactions, taken for being home",
			log->transactions);
	if (log->fast_records)
		check_note(c, EXT_CHECK_JOURNAL,
			"journal: %u fast-commit records were left out",
			log->fast_records);
}

/* The log may have held a newer superblock. */
static int super_again(struct check *c)
{
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct ext_super after;

	if (c->fs.super.at != ext_super_block(&c->fs.super))
		return 0;
	if (ext_super_primary(c->fs.dev, &after, &damage) ||
		after.block_bytes != c->fs.super.block_bytes)
		check_say(c, EXT_CHECK_JOURNAL, LOG_NO_BLOCK, 0,
			"journal: would leave a bad superblock");
	else
		c->fs.super = after;
	return 0;
}

static int found(struct check *c, const struct ext_journal *j)
{
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct jnl_replay_result log = {0};
	int err = read_log(c, j, &log, &damage);

	if (err == -ENOMEM)
		return err;
	if (err) {
		damage.outside = j->place.external;
		check_say_damage(c, EXT_CHECK_JOURNAL, &damage);
		if (c->was_dirty)
			check_note(c, EXT_CHECK_JOURNAL,
				"journal: left out; what follows may come of "
				"that");
		return 0;
	}
	judge_log(c, &log);
	if (c->was_dirty)
		c->result.replayed = log.transactions;
	return c->was_dirty ? super_again(c) : 0;
}

int check_journal(struct check *c)
{
	const struct ext_features *f = &c->fs.super.features;
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct ext_journal j;
	int err;

	if (!(f->compat & EXT_COMPAT_HAS_JOURNAL))
		return 0;
	/* Copies of the superblock do not know. */
	c->was_dirty = f->incompat & EXT_INCOMPAT_RECOVER ||
		       c->fs.super.at != ext_super_block(&c->fs.super);
	if (c->fs.super.journal_inum == 0 && !c->opts->journal) {
		check_note(c, EXT_CHECK_JOURNAL,
			"journal: on another device, not looked at%s",
			c->was_dirty ? "; what follows may come of that" : "");
		return 0;
	}
	err = ext_journal_find(&c->fs, c->opts->journal, &j, &damage);
	if (err == -ENOMEM)
		return err;
	if (err) {
		check_say_damage(c, EXT_CHECK_JOURNAL, &damage);
		return 0;
	}
	if (j.source == EXT_JOURNAL_BACKUP)
		check_say(c, EXT_CHECK_JOURNAL, LOG_NO_BLOCK,
			c->fs.super.journal_inum,
			"journal: found by the copy of its map only");
	err = found(c, &j);
	ext_journal_drop(&j);
	return err;
}
