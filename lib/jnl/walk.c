/* SPDX-License-Identifier: BSD-2-Clause */
/* walk.c - see walk.h. */
#include "jnl/walk.h"

#include <errno.h>

#include "base/crc32c.h"
#include "jnl/replay_int.h"

struct walker {
	struct jnl_log *log;
	const struct jnl_walk_visitor *visitor;
	void *arg;
	uint32_t live_blocks; /* of the ring, from the tail on */

	/* What the last descriptor says of the blocks to come. */
	jnl_tid tid;
	uint32_t next_tag; /* in log->tags */
	uint32_t tag_count;
	bool tags_live;

	uint32_t v1_crc;
	bool v1_known; /* v1_crc covers its transaction from the beginning */
};

static int show(struct walker *w, const struct jnl_walk_block *b)
{
	if (w->visitor->block == NULL)
		return 0;
	return w->visitor->block(w->arg, b);
}

static void sum_v1(struct walker *w, const void *data)
{
	const struct jnl_super *sb = &w->log->sb;

	if (sb->csum_v1)
		w->v1_crc = crc32_be(w->v1_crc, data, sb->block_bytes);
}

static void meet_data(struct walker *w, struct jnl_walk_block *b)
{
	const struct jnl_super *sb = &w->log->sb;

	b->kind = JNL_WALK_DATA;
	b->damage = NULL;
	b->tid = w->tid;
	b->tag = w->log->tags[w->next_tag++];
	b->sum = JNL_SUM_NONE;
	if (sb->csum_v23)
		b->sum =
			jnl_tag_checksum(sb, b->tid, b->data) == b->tag.checksum
				? JNL_SUM_GOOD
				: JNL_SUM_BAD;
	sum_v1(w, b->data);
}

static void meet_commit(struct walker *w, struct jnl_walk_block *b)
{
	const struct jnl_super *sb = &w->log->sb;

	if (sb->csum_v1 && w->v1_known)
		b->sum = jnl_commit_covers(sb, b->data, w->v1_crc)
				 ? JNL_SUM_GOOD
				 : JNL_SUM_BAD;
	w->v1_crc = ~UINT32_C(0);
	w->v1_known = true;
}

/* What one block means after those before it. */
static void meet(struct walker *w, struct jnl_walk_block *b)
{
	bool claimed = w->next_tag < w->tag_count;
	bool plain = b->kind == JNL_WALK_STRAY && b->damage == NULL;

	if (claimed && (plain || w->tags_live)) {
		meet_data(w, b);
		return;
	}
	w->tag_count = 0;
	switch (b->kind) {
	case JNL_WALK_DESCRIPTOR:
		w->tid = b->tid;
		w->next_tag = 0;
		w->tag_count = b->descriptor.count;
		w->tags_live = b->live;
		w->v1_crc =
			crc32_be(w->v1_crc, b->data, w->log->sb.block_bytes);
		break;
	case JNL_WALK_COMMIT:
		meet_commit(w, b);
		break;
	case JNL_WALK_REVOKE:
		break;
	default:
		w->v1_known = false;
	}
}

static int walk_ring(struct walker *w, uint32_t from, uint32_t count)
{
	uint32_t at = from;
	int err = 0;

	for (uint32_t n = 0; n < count && err == 0; n++) {
		struct jnl_walk_block b;

		err = jnl_log_decode(w->log, at, &b);
		if (err != 0)
			break;
		b.live = n < w->live_blocks;
		meet(w, &b);
		err = show(w, &b);
		at = jnl_log_after(w->log, at, 1);
	}
	return err;
}

/* One block of the fast-commit area. */
static int show_fast_block(struct walker *w, uint32_t at, bool used, bool live)
{
	struct jnl_walk_block b = {
		.log = at,
		.dev = jnl_place_dev(w->log->place, at),
		.kind = used ? JNL_WALK_FAST : JNL_WALK_STRAY,
		.live = live,
	};
	int err = jnl_log_read(w->log, at, &b.data);

	return err != 0 ? err : show(w, &b);
}

/* The area, whose first @live_records a replay would use. */
static int walk_fast(struct walker *w, uint32_t live_records, bool live_only)
{
	struct jnl_fast_record record;
	struct jnl_fast f;
	uint32_t seen = 0;
	int err = 0;

	jnl_fast_init(&f, w->log);
	while (f.at < w->log->sb.block_count && err == 0) {
		bool got = jnl_fast_next(&f, &record, &err);

		if (err != 0 || (live_only && seen == live_records))
			break;
		if (!got) {
			if (f.offset == 0 && f.at < w->log->sb.block_count)
				err = show_fast_block(w, f.at, false, false);
			f = (struct jnl_fast){.log = f.log, .at = f.at + 1};
			live_records = 0;
			continue;
		}
		record.live = seen++ < live_records;
		if (record.offset == 0)
			err = show_fast_block(w, record.log, true, record.live);
		if (err == 0 && w->visitor->fast != NULL)
			err = w->visitor->fast(w->arg, &record);
	}
	return err;
}

/* Find out what is live.  Damage goes into @out; other errors are returned. */
static int weigh(
	struct walker *w, struct jnl_walk_result *out, uint32_t *fast_records)
{
	struct jnl_log *log = w->log;
	struct jnl_scan scan = {0};
	int err;

	*fast_records = 0;
	out->end_tid = log->sb.sequence;
	out->end_log = log->sb.first;
	if (!log->super_intact)
		return jnl_log_refuse(
			log, -EBADMSG, "journal superblock checksum is bad");
	if (log->sb.start == 0)
		return jnl_log_refuse(log, 0, "the journal is empty");
	err = jnl_replay_plan(log, UINT64_MAX, &scan, NULL);
	out->transactions = scan.transactions;
	out->end_tid = scan.end_tid;
	out->end_log = scan.end_log;
	w->live_blocks = scan.used;
	jnl_scan_fini(&scan);
	if (err == 0)
		err = jnl_fast_count(log, out->end_tid, fast_records);
	return err;
}

static bool is_damage(int err)
{
	return err == -EUCLEAN || err == -EBADMSG || err == -EOPNOTSUPP;
}

static int walk_log(
	struct walker *w, unsigned flags, struct jnl_walk_result *out)
{
	const struct jnl_super *sb = &w->log->sb;
	uint32_t ring = jnl_log_ring(w->log);
	uint32_t count = ring;
	uint32_t fast_records;
	int err = 0;

	if (w->visitor->super != NULL)
		err = w->visitor->super(w->arg, sb,
			!sb->csum_v23          ? JNL_SUM_NONE
			: w->log->super_intact ? JNL_SUM_GOOD
					       : JNL_SUM_BAD);
	if (err != 0)
		return err;
	err = weigh(w, out, &fast_records);
	if (err != 0 && !is_damage(err))
		return err;
	out->error = err;
	if (flags & JNL_WALK_LIVE)
		count = w->live_blocks < ring && sb->start != 0
				? w->live_blocks + 1
				: w->live_blocks;
	err = walk_ring(w, sb->start != 0 ? sb->start : sb->first, count);
	if (err != 0 || sb->fc_blocks == 0)
		return err;
	return walk_fast(w, fast_records, flags & JNL_WALK_LIVE);
}

int jnl_walk(const struct jnl_place *place, unsigned flags,
	const struct jnl_walk_visitor *visitor, void *arg,
	struct jnl_walk_result *out)
{
	struct jnl_log log;
	struct walker w = {
		.log = &log,
		.visitor = visitor,
		.arg = arg,
		.v1_crc = ~UINT32_C(0),
		.v1_known = true,
	};
	int err;

	*out = (struct jnl_walk_result){0};
	err = jnl_log_open(&log, place, out->why);
	if (err != 0)
		return err;
	err = walk_log(&w, flags, out);
	jnl_log_fini(&log);
	return err;
}
