/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recover.c - replaying the journal home.
 *
 *   1  rehearse: read the whole log, keep nothing but the superblock that it
 *      would leave behind, and judge both
 *   2  replay: the same again, with the copies going home; flush
 *   3  if the log recorded an abort: note it in the superblock; flush
 *   4  mark the log empty; flush
 *   5  clear needs_recovery; flush
 *
 * Cut off in 2 to 4, the next call starts again from 1, since needs_recovery
 * is still set and each step may be repeated.
 */
#include <errno.h>

#include "ext/ext_int.h"
#include "jnl/sink.h"

/* ---- may we? ------------------------------------------------------------- */

static int admit_write(const struct ext *fs, const struct ext_journal *j,
	struct ext_damage *damage)
{
	const struct ext_features *f = &fs->super.features;
	uint32_t strange = ext_features_unknown(f).ro_compat;

	if (blk_geom(fs->dev).read_only || blk_geom(j->place.dev).read_only)
		return EXT_DAMAGED(damage, -EROFS, LOG_NO_BLOCK, 0,
			"opened for reading only");
	if (f->ro_compat & EXT_RO_COMPAT_READONLY)
		return EXT_DAMAGED(damage, -EOPNOTSUPP, LOG_NO_BLOCK, 0,
			"feature read-only forbids to write");
	if (strange)
		return EXT_DAMAGED(damage, -EOPNOTSUPP, LOG_NO_BLOCK, 0,
			"unknown features forbid to write (bits %#x)", strange);
	return 0;
}

/* ---- rehearsal ----------------------------------------------------------- */

/* What the log would leave where the superblock is. */
struct rehearsal {
	const struct ext *fs;
	bool seen;
	struct ext_disk_super raw;
};

static int rehearse_block(void *arg, blk_no home, const void *data)
{
	struct rehearsal *r = arg;
	const struct ext_super *sb = &r->fs->super;

	if (home != ext_super_block(sb))
		return 0;
	memcpy(&r->raw,
		(const uint8_t *)data + EXT_SUPER_OFFSET % sb->block_bytes,
		sizeof(r->raw));
	r->seen = true;
	return 0;
}

/* The log may hold blocks of groups that a resize has added and the
 * superblock at home does not know yet, so the device is the limit. */
static int replay(const struct ext *fs, const struct ext_journal *j,
	const struct jnl_replay_sink *sink, void *arg,
	struct jnl_replay_result *out, struct ext_damage *damage)
{
	blk_no blocks = blk_geom(fs->dev).bytes / fs->super.block_bytes;
	int err;

	out->why[0] = '\0';
	err = jnl_replay(&j->place, blocks, sink, arg, out);
	if (err) {
		ext_damage_say(damage, LOG_NO_BLOCK, 0, "journal: %s",
			out->why[0] ? out->why : "cannot read it");
		if (damage)
			damage->outside = j->place.external;
	}
	return err;
}

static int judge_super(const struct rehearsal *r, struct ext_damage *damage)
{
	struct ext_damage inner = {.block = LOG_NO_BLOCK};
	struct ext_super after;
	int err;

	if (!r->seen)
		return 0;
	err = ext_super_decode(&r->raw, &after, &inner);
	if (err)
		return EXT_DAMAGED(damage, err, LOG_NO_BLOCK, 0,
			"journal: would leave a bad %.120s", inner.why);
	if (after.block_bytes != r->fs->super.block_bytes ||
		after.block_count >
			blk_geom(r->fs->dev).bytes / after.block_bytes)
		return EXT_DAMAGED(damage, -EUCLEAN, LOG_NO_BLOCK, 0,
			"journal: would leave a superblock that does not fit");
	return 0;
}

static int rehearse(const struct ext *fs, const struct ext_journal *j,
	struct jnl_replay_result *log, struct ext_damage *damage)
{
	static const struct jnl_replay_sink sink = {.block = rehearse_block};
	struct rehearsal r = {.fs = fs};
	int err = replay(fs, j, &sink, &r, log, damage);

	if (err)
		return err;
	if (log->fast_records > 0)
		return EXT_DAMAGED(damage, -EOPNOTSUPP, LOG_NO_BLOCK, 0,
			"journal: %u fast-commit records are pending, which "
			"cannot be applied yet",
			log->fast_records);
	return judge_super(&r, damage);
}

/* ---- the steps that write ------------------------------------------------ */

static int replay_home(const struct ext *fs, const struct ext_journal *j,
	struct jnl_replay_result *log, struct ext_damage *damage)
{
	struct jnl_home_sink *sink;
	int err = jnl_home_sink_open(fs->dev, fs->super.block_bytes, &sink);

	if (err)
		return err;
	err = replay(fs, j, &jnl_home_sink_ops, sink, log, damage);
	if (!err) {
		err = jnl_home_sink_flush(sink);
		if (err)
			ext_damage_say(damage, LOG_NO_BLOCK, 0,
				"cannot write blocks home");
	}
	jnl_home_sink_close(sink);
	return err;
}

/* Change flags of the superblock as it lies on the device now. */
static int super_change(const struct ext *fs, uint32_t clear_incompat,
	uint16_t set_state, struct ext_damage *damage)
{
	struct ext_disk_super raw;
	struct ext_super now;
	int err = ext_super_read(fs->dev, &raw, damage);

	if (!err)
		err = ext_super_decode(&raw, &now, damage);
	if (err)
		return err;
	raw.feature_incompat =
		le32_of(le32_get(raw.feature_incompat) & ~clear_incompat);
	raw.state = le16_of(le16_get(raw.state) | set_state);
	err = ext_super_write(fs->dev, &raw);
	if (!err)
		err = blk_flush(fs->dev);
	if (err)
		ext_damage_say(damage, ext_super_block(&fs->super), 0,
			"cannot write the superblock");
	return err;
}

static int log_finish(const struct ext_journal *j, jnl_tid next_tid,
	struct ext_damage *damage)
{
	int err = jnl_replay_finish(&j->place, next_tid);

	if (err) {
		ext_damage_say(damage, LOG_NO_BLOCK, 0,
			"journal: cannot mark it empty");
		if (damage)
			damage->outside = j->place.external;
	}
	return err;
}

static int super_reload(struct ext *fs, struct ext_damage *damage)
{
	struct ext_disk_super raw;
	int err = ext_super_read(fs->dev, &raw, damage);

	return err ? err : ext_super_decode(&raw, &fs->super, damage);
}

static int recover(struct ext *fs, const struct ext_journal *j,
	struct ext_recovery *r, struct ext_damage *damage)
{
	int err = replay_home(fs, j, &r->log, damage);

	if (!err && r->log.error) {
		err = super_change(fs, 0, EXT_STATE_ERROR, damage);
		r->marked_error = true;
	}
	if (!err)
		err = log_finish(j, r->log.next_tid, damage);
	if (!err)
		err = super_change(fs, EXT_INCOMPAT_RECOVER, 0, damage);
	if (!err)
		err = super_reload(fs, damage);
	return err;
}

int ext_recover(struct ext *fs, const struct ext_journal *j,
	struct ext_recovery *out, struct ext_damage *damage)
{
	struct ext_recovery r = {
		.was_needed =
			fs->super.features.incompat & EXT_INCOMPAT_RECOVER,
	};
	int err = rehearse(fs, j, &r.log, damage);

	if (err)
		return err;
	if (!r.was_needed && r.log.transactions > 0)
		return EXT_DAMAGED(damage, -EUCLEAN, LOG_NO_BLOCK, 0,
			"journal: holds %u transactions, but needs_recovery "
			"is not set",
			r.log.transactions);
	if (r.was_needed) {
		err = admit_write(fs, j, damage);
		if (!err)
			err = recover(fs, j, &r, damage);
	}
	if (!err)
		*out = r;
	return err;
}
