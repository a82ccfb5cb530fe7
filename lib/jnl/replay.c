/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.c - the passes after the scan: revoke, verify, hand over.
 *
 * Nothing is handed to the sink before everything that will be has been found
 * good, so a damaged log is refused whole.
 */
#include <errno.h>
#include <stdlib.h>

#include "jnl/replay_int.h"

/* ---- pass 2 ---------------------------------------------------------------- */

/* A copy as old as the revoke, or older, is not to be used. */
static int apply_revokes(struct jnl_log *log, struct jnl_scan *scan)
{
	for (uint32_t i = 0; i < scan->revokes.count; i++) {
		const struct jnl_mark *mark = &scan->revokes.all[i];
		struct jnl_walk_block b;
		int err = jnl_log_decode(log, mark->log, &b);

		if (err != 0)
			return err;
		if (b.kind != JNL_WALK_REVOKE || b.tid != mark->tid)
			return jnl_log_refuse(log, -EIO,
				"journal block %u changed while it was read",
				mark->log);
		for (uint32_t n = 0; n < b.revoke.count; n++) {
			struct jnl_copy *copy = jnl_copies_find(
				&scan->copies, b.revoke.blocks[n]);

			if (copy != NULL &&
				!jnl_tid_after(copy->tid, mark->tid))
				copy->log = 0;
		}
	}
	return 0;
}

/* ---- pass 3 ---------------------------------------------------------------- */

static int verify(struct jnl_log *log, const struct jnl_copies *copies)
{
	for (uint32_t i = 0; i < copies->count && log->sb.csum_v23; i++) {
		const struct jnl_copy *copy = &copies->all[i];
		const void *data;
		int err = jnl_log_read(log, copy->log, &data);

		if (err != 0)
			return err;
		if (jnl_tag_checksum(&log->sb, copy->tid, data) !=
			copy->checksum)
			return jnl_log_refuse(log, -EBADMSG,
				"transaction %u is damaged: bad copy of block "
				"%llu at journal block %u",
				copy->tid, (unsigned long long)copy->home,
				copy->log);
	}
	return 0;
}

int jnl_replay_plan(struct jnl_log *log, blk_no home_blocks,
	struct jnl_scan *scan, uint32_t *revoked)
{
	int err = jnl_scan_run(log, home_blocks, scan);
	uint32_t count;

	if (err == 0)
		err = apply_revokes(log, scan);
	if (err != 0)
		return err;
	count = jnl_copies_settle(&scan->copies);
	if (revoked != NULL)
		*revoked = count;
	return verify(log, &scan->copies);
}

/* The block as it was before it was escaped, in @room. */
static const void *unescape(
	const struct jnl_log *log, const void *data, void *room)
{
	const struct be32 magic = be32_of(JBD_MAGIC);

	memcpy(room, data, log->sb.block_bytes);
	memcpy(room, &magic, sizeof(magic));
	return room;
}

static int hand_copies(struct jnl_log *log, const struct jnl_copies *copies,
	const struct jnl_replay_sink *sink, void *arg)
{
	void *room = malloc(log->sb.block_bytes);
	int err = 0;

	if (room == NULL)
		return jnl_log_refuse(log, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < copies->count && err == 0; i++) {
		const struct jnl_copy *copy = &copies->all[i];
		const void *data;

		err = jnl_log_read(log, copy->log, &data);
		if (err != 0)
			break;
		if (copy->flags & JBD_TAG_ESCAPE)
			data = unescape(log, data, room);
		err = sink->block(arg, copy->home, data);
		if (err != 0)
			(void)jnl_log_refuse(log, err,
				"block %llu cannot be brought home",
				(unsigned long long)copy->home);
	}
	free(room);
	return err;
}

/* ---- fast commits ------------------------------------------------------------ */

static bool carries(uint16_t tag)
{
	return tag != JBD_FAST_PAD && tag != JBD_FAST_TAIL &&
	       tag != JBD_FAST_HEAD;
}

/* The first @count records of the area; @out counts those that say something. */
static int hand_fast(struct jnl_log *log, uint32_t count,
	const struct jnl_replay_sink *sink, void *arg, uint32_t *out)
{
	struct jnl_fast_record record;
	struct jnl_fast f;
	int err = 0;

	jnl_fast_init(&f, log);
	while (count-- > 0 && jnl_fast_next(&f, &record, &err)) {
		if (!carries(record.tag))
			continue;
		(*out)++;
		if (sink->fast == NULL)
			continue;
		err = sink->fast(arg, record.tag, record.body, record.bytes);
		if (err != 0)
			return jnl_log_refuse(log, err,
				"fast-commit record at journal block %u "
				"cannot be applied",
				record.log);
	}
	return err;
}

/* ---- the whole ----------------------------------------------------------------- */

static int replay_log(struct jnl_log *log, blk_no home_blocks,
	const struct jnl_replay_sink *sink, void *arg,
	struct jnl_replay_result *out)
{
	struct jnl_scan scan = {0};
	uint32_t revoked = 0;
	uint32_t fast = 0;
	int err = jnl_replay_plan(log, home_blocks, &scan, &revoked);

	if (err == 0)
		err = jnl_fast_count(log, scan.end_tid, &fast);
	if (err != 0)
		goto out_scan;
	out->transactions = scan.transactions;
	out->revoked = revoked;
	out->next_tid = scan.end_tid + 1;
	if (sink->block != NULL)
		err = hand_copies(log, &scan.copies, sink, arg);
	if (err != 0)
		goto out_scan;
	out->blocks = scan.copies.count;
	err = hand_fast(log, fast, sink, arg, &out->fast_records);
out_scan:
	jnl_scan_fini(&scan);
	return err;
}

int jnl_replay(const struct jnl_place *place, blk_no home_blocks,
	const struct jnl_replay_sink *sink, void *arg,
	struct jnl_replay_result *out)
{
	struct jnl_log log;
	int err;

	_Static_assert(sizeof(out->why) == JNL_WHY_BYTES, "why");
	*out = (struct jnl_replay_result){0};
	err = jnl_log_open(&log, place, out->why);
	if (err != 0)
		return err;
	out->error = log.sb.error;
	out->next_tid = log.sb.sequence;
	if (!log.super_intact)
		err = jnl_log_refuse(
			&log, -EBADMSG, "journal superblock checksum is bad");
	else if (log.sb.start != 0)
		err = replay_log(&log, home_blocks, sink, arg, out);
	else
		(void)jnl_log_refuse(&log, 0, "the journal is empty");
	jnl_log_fini(&log);
	return err;
}

int jnl_replay_finish(const struct jnl_place *place, jnl_tid next_tid)
{
	const uint64_t at = jnl_place_dev(place, place->super) *
			    (uint64_t)place->block_bytes;
	struct jnl_super sb;
	void *block = malloc(place->block_bytes);
	int err;

	if (block == NULL)
		return -ENOMEM;
	err = blk_read(place->dev, at, place->block_bytes, block);
	if (err != 0)
		goto out_free;
	err = jnl_super_decode(block, place->block_bytes,
		jnl_place_blocks(place), &sb, NULL, 0);
	if (err != 0)
		goto out_free;
	sb.start = 0;
	sb.sequence = next_tid;
	sb.error = 0;
	jnl_super_encode(&sb, block);
	err = blk_write(place->dev, at, place->block_bytes, block);
	if (err == 0)
		err = blk_flush(place->dev);
out_free:
	free(block);
	return err;
}
