/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scan.c - pass 1: the complete transactions of the log, and their copies.
 *
 * A transaction counts when its commit block does.  The log ends at the first
 * block that is not the expected transaction's, which is the usual thing to
 * find after a power cut.  A block that is the expected one's and yet not
 * intact is either torn by the power cut or damage: it is damage when the
 * transaction, or a later one, has been committed all the same.
 *
 *   descriptor, revoke block   damage if an intact commit block of this
 *                              transaction or of a later one follows
 *   commit block               damage if a later one follows, or if its end is
 *                              as it was written: a torn one has old bytes
 *                              after its first sector
 *   v1 checksum over the data  damage
 *
 * With asynchronous commit nothing orders the blocks of one transaction, so
 * only a later commit block proves damage, and data whose checksums are bad
 * (v2, v3) are torn unless the next transaction has begun.
 *
 * The search for such a commit block ends the scan, so it happens once.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "jnl/replay_int.h"

enum { SECTOR_BYTES = 512 };

struct scanner {
	struct jnl_log *log;
	struct jnl_scan *out;
	struct jnl_bounds bounds;
	uint32_t at;           /* log block */
	uint32_t used;         /* blocks of the ring before it */
	jnl_tid tid;           /* expected */
	uint64_t last_seconds; /* of the last complete transaction */
	bool async;
	bool done;

	/* The transaction at hand. */
	struct jnl_copy *pending;
	uint32_t pending_count;
	uint32_t pending_room;
	uint32_t revokes_before; /* marks of complete transactions */
	uint32_t v1_crc;
	bool data_torn;
};

static void begin_transaction(struct scanner *s)
{
	s->pending_count = 0;
	s->revokes_before = s->out->revokes.count;
	s->v1_crc = ~UINT32_C(0);
	s->data_torn = false;
}

static void advance(struct scanner *s, uint32_t blocks)
{
	s->at = jnl_log_after(s->log, s->at, blocks);
	s->used += blocks;
}

/* The log ends here. */
static int end(struct scanner *s, const char *reason)
{
	s->done = true;
	(void)jnl_log_refuse(s->log, 0,
		"transaction %u is not complete: %s at journal block %u",
		s->tid, reason, s->at);
	return 0;
}

/* Is @data, a log block, an intact commit of @least or one soon after? */
static int is_commit(struct scanner *s, uint32_t at, jnl_tid least, bool *yes)
{
	struct jnl_walk_block b;
	const void *data;
	uint32_t type;
	jnl_tid tid;
	int err = jnl_log_read(s->log, at, &data);

	*yes = false;
	if (err != 0 || !jnl_header_decode(data, &type, &tid) ||
		type != JBD_COMMIT || tid - least >= jnl_log_ring(s->log))
		return err;
	err = jnl_log_decode(s->log, at, &b);
	*yes = err == 0 && b.sum != JNL_SUM_BAD &&
	       b.commit.seconds >= s->last_seconds;
	return err;
}

/*
 * Does an intact commit of @least or later follow in what is left of the
 * ring?  One that is older by its clock is left over from an earlier life.
 */
static int find_commit(struct scanner *s, jnl_tid least, bool *found)
{
	uint32_t ring = jnl_log_ring(s->log);
	uint32_t at = s->at;
	int err = 0;

	*found = false;
	for (uint32_t n = s->used + 1; n < ring && err == 0 && !*found; n++) {
		at = jnl_log_after(s->log, at, 1);
		err = is_commit(s, at, least, found);
	}
	return err;
}

/*
 * The block at hand is not intact: damage or torn?  @proof is the first
 * transaction whose commit block would prove damage.
 */
static int doubt(
	struct scanner *s, int error, const char *reason, jnl_tid proof)
{
	bool found;
	int err = find_commit(s, proof, &found);

	if (err != 0)
		return err;
	if (!found)
		return end(s, reason);
	return jnl_log_refuse(s->log, error,
		"transaction %u is damaged: %s at journal block %u", s->tid,
		reason, s->at);
}

static int push_pending(struct scanner *s, const struct jnl_copy *copy)
{
	if (s->pending_count == s->pending_room) {
		uint32_t room = s->pending_room ? 2 * s->pending_room : 64;
		struct jnl_copy *more =
			reallocarray(s->pending, room, sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		s->pending = more;
		s->pending_room = room;
	}
	s->pending[s->pending_count++] = *copy;
	return 0;
}

/* Take the data block of @copy into what decides about this transaction. */
static int weigh_data(struct scanner *s, const struct jnl_copy *copy)
{
	const struct jnl_super *sb = &s->log->sb;
	const void *data;
	int err;

	if (!sb->csum_v1 && !(s->async && sb->csum_v23))
		return 0;
	err = jnl_log_read(s->log, copy->log, &data);
	if (err != 0)
		return err;
	if (sb->csum_v1)
		s->v1_crc = crc32_be(s->v1_crc, data, sb->block_bytes);
	else if (jnl_tag_checksum(sb, s->tid, data) != copy->checksum)
		s->data_torn = true;
	return 0;
}

static int take_descriptor(struct scanner *s, const struct jnl_walk_block *b)
{
	uint32_t count = b->descriptor.count;

	if (count >= jnl_log_ring(s->log) - s->used)
		return doubt(s, -EUCLEAN, "more blocks than the journal has",
			s->async ? s->tid + 1 : s->tid);
	if (s->log->sb.csum_v1)
		s->v1_crc =
			crc32_be(s->v1_crc, b->data, s->log->sb.block_bytes);
	for (uint32_t i = 0; i < count; i++) {
		const struct jnl_tag *tag = &b->descriptor.tags[i];
		const struct jnl_copy copy = {
			.home = tag->home,
			.log = jnl_log_after(s->log, s->at, 1 + i),
			.tid = s->tid,
			.checksum = tag->checksum,
			.flags = tag->flags,
		};
		int err = push_pending(s, &copy);

		if (err == 0)
			err = weigh_data(s, &copy);
		if (err != 0)
			return err;
	}
	advance(s, 1 + count);
	return 0;
}

static int take_revoke(struct scanner *s)
{
	struct jnl_marks *marks = &s->out->revokes;

	if (marks->count == marks->room) {
		uint32_t room = marks->room ? 2 * marks->room : 64;
		struct jnl_mark *more =
			reallocarray(marks->all, room, sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		marks->all = more;
		marks->room = room;
	}
	marks->all[marks->count++] = (struct jnl_mark){s->at, s->tid};
	advance(s, 1);
	return 0;
}

/* The copies of a complete transaction. */
static int accept(struct scanner *s)
{
	for (uint32_t i = 0; i < s->pending_count; i++) {
		const struct jnl_copy *copy = &s->pending[i];
		const char *wrong = jnl_bounds_refuse(&s->bounds, copy->home);
		int err;

		if (wrong != NULL)
			return jnl_log_refuse(s->log, -EUCLEAN,
				"transaction %u has a copy of block %llu, %s",
				s->tid, (unsigned long long)copy->home, wrong);
		err = jnl_copies_put(&s->out->copies, copy);
		if (err != 0)
			return err;
	}
	advance(s, 1);
	s->out->transactions++;
	s->out->used = s->used;
	s->out->end_log = s->at;
	s->tid++;
	begin_transaction(s);
	return 0;
}

/* Could @block be what a power cut left of a commit block? */
static bool looks_torn(const struct scanner *s, const void *block)
{
	const uint8_t *raw = block;

	for (uint32_t i = SECTOR_BYTES; i < s->log->sb.block_bytes; i++) {
		if (raw[i] != 0)
			return true;
	}
	return false;
}

/* The commit block at hand does not vouch for its transaction. */
static int doubt_commit(struct scanner *s, const char *reason, bool can_be_torn)
{
	if (s->async || can_be_torn)
		return doubt(s, -EBADMSG, reason, s->tid + 1);
	return jnl_log_refuse(s->log, -EBADMSG,
		"transaction %u is damaged: %s at journal block %u", s->tid,
		reason, s->at);
}

/* Does an intact block of the next transaction follow the commit at hand?  No
 * transaction writes to the log before the one before it is complete. */
static int look_ahead(struct scanner *s, bool *follows)
{
	struct jnl_walk_block b;
	int err = jnl_log_decode(s->log, jnl_log_after(s->log, s->at, 1), &b);

	*follows = err == 0 && b.kind != JNL_WALK_STRAY &&
		   b.kind != JNL_WALK_SUPER && b.tid == s->tid + 1 &&
		   b.sum != JNL_SUM_BAD && b.damage == NULL;
	return err;
}

static int take_commit(struct scanner *s, const struct jnl_walk_block *b)
{
	const struct jnl_super *sb = &s->log->sb;
	uint64_t seconds = b->commit.seconds;
	bool follows = true;
	int err = 0;

	if (b->sum == JNL_SUM_BAD)
		return doubt_commit(
			s, "bad commit block", looks_torn(s, b->data));
	if (!jnl_commit_covers(sb, b->data, s->v1_crc))
		return doubt_commit(s, "bad checksum over its blocks", false);
	if (s->data_torn)
		err = look_ahead(s, &follows);
	if (err != 0)
		return err;
	if (!follows)
		return end(s, "bad data before the commit block");
	err = accept(s);
	if (err == 0)
		s->last_seconds = seconds;
	return err;
}

static int scan_block(struct scanner *s)
{
	struct jnl_walk_block b;
	jnl_tid proof = s->async ? s->tid + 1 : s->tid;
	int err;

	if (s->used >= jnl_log_ring(s->log))
		return end(s, "the ring is full");
	err = jnl_log_decode(s->log, s->at, &b);
	if (err != 0)
		return err;
	if (b.tid != s->tid || (b.kind == JNL_WALK_STRAY && b.damage == NULL))
		return end(s, "no block of it");
	if (b.kind == JNL_WALK_SUPER)
		b.damage = "a superblock";
	if (b.kind == JNL_WALK_COMMIT)
		return take_commit(s, &b);
	if (b.sum == JNL_SUM_BAD)
		return doubt(s, -EBADMSG, "bad block checksum", proof);
	if (b.damage != NULL)
		return doubt(s, -EUCLEAN, b.damage, proof);
	if (b.kind == JNL_WALK_REVOKE)
		return take_revoke(s);
	return take_descriptor(s, &b);
}

int jnl_scan_run(struct jnl_log *log, blk_no home_blocks, struct jnl_scan *out)
{
	struct scanner s = {
		.log = log,
		.out = out,
		.at = log->sb.start,
		.tid = log->sb.sequence,
		.async = log->sb.incompat & JBD_INCOMPAT_ASYNC_COMMIT,
	};
	int err;

	*out = (struct jnl_scan){.end_log = log->sb.start};
	err = jnl_bounds_init(&s.bounds, log->place, home_blocks);
	begin_transaction(&s);
	while (err == 0 && !s.done)
		err = scan_block(&s);
	if (err == -ENOMEM)
		(void)jnl_log_refuse(log, err, "out of memory");
	out->end_tid = s.tid;
	out->revokes.count = s.revokes_before;
	free(s.pending);
	jnl_bounds_fini(&s.bounds);
	return err;
}

void jnl_scan_fini(struct jnl_scan *scan)
{
	jnl_copies_fini(&scan->copies);
	free(scan->revokes.all);
	scan->revokes = (struct jnl_marks){0};
}
