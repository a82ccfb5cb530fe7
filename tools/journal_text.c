/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * journal_text.c - a journal for people: a line a block, in columns.
 *
 * A run of stray blocks is one line.  "*" marks what a replay would use.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "tools/journal.h"

struct text {
	const struct journal_image *j;
	uint32_t stray_first;
	uint32_t stray_count;
};

static void print_flags(const struct journal_flag *names, uint32_t bits)
{
	for (; names->name; names++)
		if (bits & names->bit)
			(void)printf(" %s", names->name);
}

static void print_sum(enum jnl_walk_sum sum)
{
	if (sum != JNL_SUM_NONE)
		(void)printf("  checksum %s", journal_sum_name(sum));
}

static void print_time(uint64_t seconds, uint32_t nanoseconds)
{
	time_t when = (time_t)seconds;
	struct tm tm;

	if (seconds > INT64_MAX || !gmtime_r(&when, &tm))
		(void)printf("  at %" PRIu64 " s", seconds);
	else
		(void)printf("  at %04d-%02d-%02d %02d:%02d:%02d.%09" PRIu32
			     " UTC",
			tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
			tm.tm_hour, tm.tm_min, tm.tm_sec, nanoseconds);
}

static void print_uuid(const uint8_t uuid[16])
{
	for (int i = 0; i < 16; i++)
		(void)printf("%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			uuid[i]);
}

/* ---- the head ------------------------------------------------------------ */

static void print_place(const struct journal_image *j)
{
	const struct jnl_place *place = &j->journal.place;

	(void)printf("journal     %" PRIu32 " blocks of %" PRIu32
		     " bytes in %" PRIu32 " piece%s, ",
		jnl_place_blocks(place), place->block_bytes, place->map_count,
		place->map_count == 1 ? "" : "s");
	if (j->journal.source == EXT_JOURNAL_DEVICE)
		(void)printf("on a device of its own\n");
	else
		(void)printf("inode %" PRIu32 "%s\n", j->fs->super.journal_inum,
			j->journal.source == EXT_JOURNAL_BACKUP
				? " as copied to the superblock"
				: "");
}

static int on_super(
	void *arg, const struct jnl_super *sb, enum jnl_walk_sum sum)
{
	const struct text *t = arg;

	print_place(t->j);
	(void)printf("superblock  version %" PRIu32 ", users %" PRIu32
		     ", error %" PRId32 ", uuid ",
		sb->version, sb->user_count, sb->error);
	print_uuid(sb->uuid);
	print_sum(sum);
	(void)printf("\nfeatures   ");
	print_flags(journal_compat, sb->compat);
	print_flags(journal_incompat, sb->incompat);
	(void)printf("\nring        blocks %" PRIu32 " to %" PRIu32 ", ",
		sb->first, sb->end - 1);
	if (sb->start == 0)
		(void)printf(
			"empty, next sequence %" PRIu32 "\n", sb->sequence);
	else
		(void)printf("from block %" PRIu32 " with sequence %" PRIu32
			     "\n",
			sb->start, sb->sequence);
	if (sb->fc_blocks)
		(void)printf("fast        blocks %" PRIu32 " to %" PRIu32 "\n",
			sb->fc_first, sb->block_count - 1);
	(void)printf("\n       log      device   kind         sequence\n");
	return 0;
}

/* ---- blocks -------------------------------------------------------------- */

static void stray_tell(struct text *t)
{
	if (t->stray_count == 0)
		return;
	if (t->stray_count == 1)
		(void)printf("%10" PRIu32, t->stray_first);
	else
		(void)printf("%10" PRIu32 " .. %" PRIu32, t->stray_first,
			t->stray_first + t->stray_count - 1);
	(void)printf("   stray\n");
	t->stray_count = 0;
}

static void print_revoked(const blk_no *blocks, uint32_t count)
{
	(void)printf("  %" PRIu32 " revoked:", count);
	for (uint32_t i = 0; i < count; i++)
		(void)printf(" %" PRIu64, blocks[i]);
}

static int on_block(void *arg, const struct jnl_walk_block *b)
{
	struct text *t = arg;

	if (b->kind == JNL_WALK_STRAY && t->stray_count > 0 &&
		t->stray_first + t->stray_count == b->log) {
		t->stray_count++;
		return 0;
	}
	stray_tell(t);
	if (b->kind == JNL_WALK_STRAY) {
		t->stray_first = b->log;
		t->stray_count = 1;
		return 0;
	}
	(void)printf("%10" PRIu32 "  %10" PRIu64 " %c %-11s %9" PRIu32, b->log,
		b->dev, b->live ? '*' : ' ', journal_kind_name(b->kind),
		b->tid);
	if (b->kind == JNL_WALK_DESCRIPTOR) {
		(void)printf("  %" PRIu32 " blocks", b->descriptor.count);
	} else if (b->kind == JNL_WALK_DATA) {
		(void)printf("  home %-10" PRIu64, b->tag.home);
		print_flags(journal_tag_flags, b->tag.flags);
	} else if (b->kind == JNL_WALK_REVOKE) {
		print_revoked(b->revoke.blocks, b->revoke.count);
	} else if (b->kind == JNL_WALK_COMMIT) {
		print_time(b->commit.seconds, b->commit.nanoseconds);
	}
	print_sum(b->sum);
	if (b->damage)
		(void)printf("  damaged: %s", b->damage);
	(void)printf("\n");
	return 0;
}

static int on_fast(void *arg, const struct jnl_fast_record *r)
{
	(void)arg;
	(void)printf("%10s  %10s %c + %-9s", "", "", r->live ? '*' : ' ',
		journal_fast_name(r->tag));
	if (r->tag == JBD_FAST_HEAD || r->tag == JBD_FAST_TAIL)
		(void)printf(" %9" PRIu32, r->tid);
	(void)printf("  %" PRIu16 " bytes at %" PRIu32, r->bytes, r->offset);
	print_sum(r->sum);
	(void)printf("\n");
	return 0;
}

int journal_dump_text(const struct journal_image *j, unsigned flags)
{
	static const struct jnl_walk_visitor visitor = {
		.super = on_super, .block = on_block, .fast = on_fast};
	struct text t = {.j = j};
	struct jnl_walk_result end = {0};
	int err = jnl_walk(&j->journal.place, flags, &visitor, &t, &end);

	if (err) {
		(void)tool_fail(j->outside ? j->outside : j->image,
			"journal: %s", end.why);
		return err;
	}
	stray_tell(&t);
	(void)printf("\n%" PRIu32 " transactions to replay; the log ends at "
		     "block %" PRIu32 " before sequence %" PRIu32 "%s%s\n",
		end.transactions, end.end_log, end.end_tid,
		end.why[0] ? ": " : "", end.why);
	if (end.error)
		(void)printf("a replay would refuse this log\n");
	return 0;
}
