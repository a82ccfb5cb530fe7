/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * journal_json.c - a journal for programs: one JSON object.
 *
 *   {"image", "journal": {...}, "superblock": {...}, "blocks": [...],
 *    "end": {...}}
 *
 * extant-journal(1) says what the members mean; they are only ever added to.
 */
#include <stdio.h>

#include "tools/journal.h"
#include "tools/json.h"

struct dump {
	struct json json;
	const struct journal_image *j;
	bool in_fast; /* a FAST block's "records" are open */
};

static void put_flags(struct json *json, const char *key,
	const struct journal_flag *names, uint32_t bits)
{
	json_array(json, key);
	for (; names->name; names++)
		if (bits & names->bit)
			json_string(json, NULL, names->name);
	json_end(json);
}

static void put_sum(struct json *json, enum jnl_walk_sum sum)
{
	json_string(json, "checksum", journal_sum_name(sum));
}

static void put_place(struct dump *d)
{
	const struct ext_journal *journal = &d->j->journal;
	const struct jnl_place *place = &journal->place;
	struct json *json = &d->json;

	json_line(json);
	json_object(json, "journal");
	json_string(json, "source", journal_source_name(journal->source));
	if (journal->source != EXT_JOURNAL_DEVICE)
		json_unsigned(json, "inode", d->j->fs->super.journal_inum);
	json_unsigned(json, "block_bytes", place->block_bytes);
	json_unsigned(json, "blocks", jnl_place_blocks(place));
	json_array(json, "map");
	for (uint32_t i = 0; i < place->map_count; i++) {
		json_object(json, NULL);
		json_unsigned(json, "log", place->map[i].log);
		json_unsigned(json, "device", place->map[i].dev);
		json_unsigned(json, "count", place->map[i].count);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

static int on_super(
	void *arg, const struct jnl_super *sb, enum jnl_walk_sum sum)
{
	struct dump *d = arg;
	struct json *json = &d->json;

	json_object(json, NULL);
	json_string(json, "image", d->j->image);
	put_place(d);
	json_line(json);
	json_object(json, "superblock");
	json_unsigned(json, "version", sb->version);
	json_unsigned(json, "block_bytes", sb->block_bytes);
	json_unsigned(json, "blocks", sb->block_count);
	json_unsigned(json, "first", sb->first);
	json_unsigned(json, "end", sb->end);
	json_unsigned(json, "start", sb->start);
	json_unsigned(json, "sequence", sb->sequence);
	json_signed(json, "error", sb->error);
	put_flags(json, "compat", journal_compat, sb->compat);
	put_flags(json, "incompat", journal_incompat, sb->incompat);
	json_unsigned(json, "users", sb->user_count);
	json_unsigned(json, "fast_commit_blocks", sb->fc_blocks);
	json_hex(json, "uuid", sb->uuid, sizeof(sb->uuid));
	put_sum(json, sum);
	json_end(json);
	json_line(json);
	json_array(json, "blocks");
	return 0;
}

static void put_tag(struct json *json, const struct jnl_tag *tag)
{
	json_unsigned(json, "home", tag->home);
	put_flags(json, "flags", journal_tag_flags, tag->flags);
}

static void put_tags(struct json *json, const struct jnl_walk_block *b)
{
	json_array(json, "tags");
	for (uint32_t i = 0; i < b->descriptor.count; i++) {
		json_object(json, NULL);
		put_tag(json, &b->descriptor.tags[i]);
		json_end(json);
	}
	json_end(json);
}

static void put_revoked(struct json *json, const struct jnl_walk_block *b)
{
	json_array(json, "revoked");
	for (uint32_t i = 0; i < b->revoke.count; i++)
		json_unsigned(json, NULL, b->revoke.blocks[i]);
	json_end(json);
}

static void put_body(struct dump *d, const struct jnl_walk_block *b)
{
	struct json *json = &d->json;

	switch (b->kind) {
	case JNL_WALK_DESCRIPTOR:
		put_tags(json, b);
		break;
	case JNL_WALK_DATA:
		put_tag(json, &b->tag);
		break;
	case JNL_WALK_REVOKE:
		put_revoked(json, b);
		break;
	case JNL_WALK_COMMIT:
		json_unsigned(json, "seconds", b->commit.seconds);
		json_unsigned(json, "nanoseconds", b->commit.nanoseconds);
		break;
	case JNL_WALK_FAST:
		json_array(json, "records");
		d->in_fast = true;
		break;
	case JNL_WALK_SUPER:
	case JNL_WALK_STRAY:
		break;
	}
}

static void fast_end(struct dump *d)
{
	if (!d->in_fast)
		return;
	json_end(&d->json);
	json_end(&d->json);
	d->in_fast = false;
}

static int on_block(void *arg, const struct jnl_walk_block *b)
{
	struct dump *d = arg;
	struct json *json = &d->json;

	fast_end(d);
	json_line(json);
	json_object(json, NULL);
	json_unsigned(json, "log", b->log);
	json_unsigned(json, "device", b->dev);
	json_string(json, "type", journal_kind_name(b->kind));
	if (b->kind != JNL_WALK_STRAY) {
		json_unsigned(json, "sequence", b->tid);
		json_bool(json, "live", b->live);
		put_sum(json, b->sum);
	}
	if (b->damage)
		json_string(json, "damage", b->damage);
	put_body(d, b);
	if (!d->in_fast)
		json_end(json);
	return 0;
}

static int on_fast(void *arg, const struct jnl_fast_record *r)
{
	struct dump *d = arg;
	struct json *json = &d->json;

	json_object(json, NULL);
	json_string(json, "tag", journal_fast_name(r->tag));
	json_unsigned(json, "tag_number", r->tag);
	json_unsigned(json, "offset", r->offset);
	json_bool(json, "live", r->live);
	if (r->tag == JBD_FAST_HEAD)
		json_unsigned(json, "features", r->features);
	if (r->tag == JBD_FAST_HEAD || r->tag == JBD_FAST_TAIL)
		json_unsigned(json, "sequence", r->tid);
	if (r->tag == JBD_FAST_TAIL)
		put_sum(json, r->sum);
	json_hex(json, "body", r->body, r->bytes);
	json_end(json);
	return 0;
}

int journal_dump_json(const struct journal_image *j, unsigned flags)
{
	static const struct jnl_walk_visitor visitor = {
		.super = on_super, .block = on_block, .fast = on_fast};
	struct dump d = {.j = j};
	struct jnl_walk_result end = {0};
	struct json *json = &d.json;
	int err;

	json_init(json, stdout);
	err = jnl_walk(&j->journal.place, flags, &visitor, &d, &end);
	if (err) {
		(void)tool_fail(j->outside ? j->outside : j->image,
			"journal: %s", end.why);
		return err;
	}
	fast_end(&d);
	json_end(json);
	json_line(json);
	json_object(json, "end");
	json_unsigned(json, "transactions", end.transactions);
	json_unsigned(json, "log", end.end_log);
	json_unsigned(json, "sequence", end.end_tid);
	json_bool(json, "replayable", end.error == 0);
	json_string(json, "why", end.why);
	json_end(json);
	json_end(json);
	return 0;
}
