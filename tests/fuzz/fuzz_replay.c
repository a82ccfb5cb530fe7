/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_replay.c - any bytes as a log: walk it, replay it, finish it.
 *
 * Beyond "no crash": errors are the documented ones and have a reason; copies
 * go to distinct blocks of the file system and not into the log; a log that
 * is refused moves nothing; the walk and the replay agree; a log that was
 * replayed and finished is empty.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "jnl/walk.h"
#include "must.h"

int fuzz_one(const uint8_t *data, size_t bytes) __asm__(
	"LLVMFuzzerTestOneInput");

struct rig {
	struct image image;
	struct blk_dev *dev;
	struct jnl_extent map[2];
	struct jnl_place place;
	uint8_t homes[256]; /* how often each was handed over */
	uint64_t blocks;
	uint32_t records;
	uint64_t sum; /* of what they hold */
};

static void map_log(struct rig *r)
{
	const struct image *i = &r->image;
	uint32_t first = i->split ? i->log_blocks / 2 : i->log_blocks;
	uint32_t second = i->log_blocks - first;

	r->map[0] = (struct jnl_extent){0, first, i->home_blocks + second};
	r->map[1] = (struct jnl_extent){first, second, i->home_blocks};
	r->place = (struct jnl_place){
		.dev = r->dev,
		.block_bytes = i->block_bytes,
		.super = i->super,
		.map = r->map,
		.map_count = second > 0 ? 2 : 1,
		.external = i->external,
	};
}

/* Log block by log block, since the map may be split. */
static void load_log(struct rig *r)
{
	const struct image *i = &r->image;
	uint8_t *block = malloc(i->block_bytes);

	MUST(block != NULL);
	for (uint32_t n = 0; n < i->log_blocks; n++) {
		size_t at = (size_t)n * i->block_bytes;
		size_t left = i->log_bytes - at;
		uint32_t of = n < r->map[0].count ? 0 : 1;
		uint64_t dev = r->map[of].dev + (n - r->map[of].log);

		memset(block, 0, i->block_bytes);
		memcpy(block, i->log + at,
			left < i->block_bytes ? left : i->block_bytes);
		MUST(blk_write(r->dev, dev * i->block_bytes, i->block_bytes,
			     block) == 0);
	}
	free(block);
}

static int take_block(void *arg, blk_no home, const void *data)
{
	struct rig *r = arg;

	MUST(home < r->image.home_blocks);
	MUST(r->homes[home]++ == 0);
	r->blocks++;
	return blk_write(r->dev, home * r->image.block_bytes,
		r->image.block_bytes, data);
}

static int take_record(
	void *arg, uint16_t tag, const void *body, uint32_t bytes)
{
	const uint8_t *raw = body;
	struct rig *r = arg;
	unsigned sum = tag;

	/* Touch all of it, for AddressSanitizer. */
	for (uint32_t i = 0; i < bytes; i++)
		sum += raw[i];
	r->sum += sum;
	r->records++;
	return 0;
}

static bool is_documented(int err)
{
	return err == 0 || err == -EUCLEAN || err == -EBADMSG ||
	       err == -EOPNOTSUPP;
}

/* ---- the walk -------------------------------------------------------------- */

struct tour {
	const struct rig *rig;
	uint32_t blocks;
	uint64_t sum;
};

static int see_block(void *arg, const struct jnl_walk_block *b)
{
	const uint8_t *raw = b->data;
	struct tour *t = arg;

	MUST(b->log < t->rig->image.log_blocks);
	t->blocks++;
	t->sum += raw[0] + raw[t->rig->image.block_bytes - 1];
	if (b->kind == JNL_WALK_DESCRIPTOR)
		for (uint32_t i = 0; i < b->descriptor.count; i++)
			t->sum += b->descriptor.tags[i].home;
	if (b->kind == JNL_WALK_REVOKE)
		for (uint32_t i = 0; i < b->revoke.count; i++)
			t->sum += b->revoke.blocks[i];
	return 0;
}

static int see_record(void *arg, const struct jnl_fast_record *record)
{
	const uint8_t *raw = record->body;
	struct tour *t = arg;

	for (uint32_t i = 0; i < record->bytes; i++)
		t->sum += raw[i];
	return 0;
}

static int tour_log(
	const struct rig *r, unsigned flags, struct jnl_walk_result *out)
{
	static const struct jnl_walk_visitor visitor = {
		.block = see_block, .fast = see_record};
	struct tour tour = {.rig = r};
	int err = jnl_walk(&r->place, flags, &visitor, &tour, out);

	MUST(is_documented(err) && is_documented(out->error));
	MUST(tour.blocks <= r->image.log_blocks);
	MUST((err == 0 && out->error == 0) || out->why[0] != '\0');
	return err;
}

/* ---- the replay -------------------------------------------------------------- */

static void must_be_empty(struct rig *r, jnl_tid next_tid)
{
	static const struct jnl_replay_sink nothing = {NULL, NULL};
	struct jnl_replay_result result;

	MUST(jnl_replay(&r->place, r->image.home_blocks, &nothing, NULL,
		     &result) == 0);
	MUST(result.transactions == 0 && result.blocks == 0);
	MUST(result.fast_records == 0 && result.next_tid == next_tid);
}

static void replay(struct rig *r, const struct jnl_walk_result *walk)
{
	static const struct jnl_replay_sink sink = {take_block, take_record};
	struct jnl_replay_result result;
	int err;

	err = jnl_replay(&r->place, r->image.home_blocks, &sink, r, &result);
	MUST(is_documented(err));
	MUST(result.why[0] != '\0');
	if (err != 0) {
		MUST(r->blocks == 0 && r->records == 0);
	} else {
		MUST(walk->error == 0);
		MUST(walk->transactions == result.transactions);
		MUST(result.blocks == r->blocks);
		MUST(result.fast_records == r->records);
		MUST(blk_flush(r->dev) == 0);
		MUST(jnl_replay_finish(&r->place, result.next_tid) == 0);
		must_be_empty(r, result.next_tid);
	}
}

int fuzz_one(const uint8_t *data, size_t bytes)
{
	struct jnl_walk_result walk;
	struct rig r = {0};
	uint64_t blocks;

	if (!image_decode(data, bytes, &r.image))
		return 0;
	blocks = (uint64_t)r.image.home_blocks + r.image.log_blocks;
	MUST(blk_open_mem(blocks * r.image.block_bytes, &r.dev) == 0);
	map_log(&r);
	load_log(&r);
	(void)tour_log(&r, JNL_WALK_LIVE, &walk);
	if (tour_log(&r, 0, &walk) == 0)
		replay(&r, &walk);
	blk_close(r.dev);
	return 0;
}
