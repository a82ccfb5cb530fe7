/* SPDX-License-Identifier: BSD-2-Clause */
/* toy.c - see toy.h. */
#include "toy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/endian.h"
#include "base/hash.h"
#include "jnl/format.h"
#include "jnl/replay.h"

enum { TOY_MAGIC = 0x546f7921, LOG_GAP = 3 };

struct toy_super {
	struct le32 magic;
	struct le32 needs_recovery;
};

static struct toy_opts toy_defaults(const struct toy_opts *opts)
{
	struct toy_opts full = *opts;

	if (full.block_bytes == 0)
		full.block_bytes = 4096;
	if (full.home_blocks == 0)
		full.home_blocks = 1024;
	if (full.log_blocks == 0)
		full.log_blocks = 1024;
	if (full.cache_bytes == 0)
		full.cache_bytes = 64 << 20;
	if (full.commit_ms == 0)
		full.commit_ms = 3600 * 1000;
	if (full.first_tid == 0)
		full.first_tid = 1;
	return full;
}

/* ---- where the log is -------------------------------------------------------- */

static uint32_t toy_extents(const struct toy_opts *opts)
{
	return opts->map_extent == 0
		       ? 1
		       : (opts->log_blocks + opts->map_extent - 1) /
				 opts->map_extent;
}

/* Blocks of the device from the log's first to its last. */
static uint64_t toy_log_span(const struct toy_opts *opts)
{
	return opts->log_blocks + (uint64_t)LOG_GAP * toy_extents(opts);
}

uint64_t toy_log_bytes(const struct toy_opts *o)
{
	struct toy_opts opts = toy_defaults(o);

	return toy_log_span(&opts) * opts.block_bytes;
}

uint64_t toy_device_bytes(const struct toy_opts *o)
{
	struct toy_opts opts = toy_defaults(o);
	uint64_t log = opts.external || opts.no_journal ? 0 : toy_log_bytes(o);

	return (uint64_t)opts.home_blocks * opts.block_bytes + log;
}

static void toy_place(struct toy_opts *opts, struct blk_dev *dev,
	struct blk_dev *log_dev, struct jnl_place *out)
{
	uint32_t count = toy_extents(opts);
	uint32_t each =
		opts->map_extent == 0 ? opts->log_blocks : opts->map_extent;
	struct jnl_extent *map = calloc(count, sizeof(*map));
	blk_no at = log_dev != NULL ? 0 : opts->home_blocks;

	CHECK(map != NULL);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t from = i * each;
		uint32_t left = opts->log_blocks - from;

		map[i] = (struct jnl_extent){.log = from,
			.count = left < each ? left : each,
			.dev = at};
		at += map[i].count + (uint32_t)LOG_GAP;
	}
	*out = (struct jnl_place){.dev = log_dev != NULL ? log_dev : dev,
		.block_bytes = opts->block_bytes,
		.map = map,
		.map_count = count,
		.external = log_dev != NULL};
}

/* ---- formatting ----------------------------------------------------------------- */

static int toy_flag_recovery(
	struct blk_dev *dev, uint32_t block_bytes, bool needed)
{
	struct toy_super super = {
		.magic = le32_of(TOY_MAGIC), .needs_recovery = le32_of(needed)};
	char *block = calloc(1, block_bytes);
	int err;

	if (block == NULL)
		return -ENOMEM;
	memcpy(block, &super, sizeof(super));
	err = blk_write(dev, TOY_SUPER, block_bytes, block);
	free(block);
	return err != 0 ? err : blk_flush(dev);
}

void toy_format(
	const struct toy_opts *o, struct blk_dev *dev, struct blk_dev *log_dev)
{
	struct toy_opts opts = toy_defaults(o);
	const struct jnl_make_opts make = {
		.uuid = "toy journal uuid", .sequence = opts.first_tid};
	struct jnl_place place;

	CHECK(toy_flag_recovery(dev, opts.block_bytes, false) == 0);
	if (opts.no_journal)
		return;
	toy_place(&opts, dev, log_dev, &place);
	CHECK(jnl_make(&place, &make) == 0);
	free((void *)place.map);
}

bool toy_needs_recovery(const struct toy_opts *o, struct blk_dev *dev)
{
	struct toy_opts opts = toy_defaults(o);
	struct toy_super *super = calloc(1, opts.block_bytes);
	bool needed;

	CHECK(super != NULL);
	CHECK(blk_read(dev, TOY_SUPER, opts.block_bytes, super) == 0);
	needed = le32_get(super->needs_recovery) != 0;
	free(super);
	return needed;
}

/* ---- the client ------------------------------------------------------------------- */

static int toy_fold(void *arg, struct jnl_fold *f, jnl_tid tid)
{
	struct toy *toy = arg;
	struct buf *b = toy->folded;
	int err;

	mtx_lock(&b->lock);
	err = jnl_fold_write(f, b);
	if (err == 0)
		toy_fill(&toy->opts, b->data, TOY_FOLDED, tid);
	mtx_unlock(&b->lock);
	/* A transaction without a toy operation did not pledge it. */
	return err == -EUCLEAN ? 0 : err;
}

static void toy_on_committed(void *arg, jnl_tid tid)
{
	struct toy *toy = arg;

	atomic_store(&toy->committed_tid, tid);
	atomic_fetch_add(&toy->committed_calls, 1);
	if (toy->on_committed != NULL)
		toy->on_committed(toy, tid);
}

static void toy_on_aborted(void *arg, int error)
{
	struct toy *toy = arg;

	atomic_store(&toy->aborted_error, error);
	atomic_fetch_add(&toy->aborted_calls, 1);
}

static int toy_on_recovery(void *arg, bool needed)
{
	struct toy *toy = arg;

	return toy_flag_recovery(toy->dev, toy->opts.block_bytes, needed);
}

/* ---- life --------------------------------------------------------------------------- */

void toy_init(struct toy *toy, const struct toy_opts *opts, struct blk_dev *dev,
	struct blk_dev *log_dev)
{
	*toy = (struct toy){
		.opts = toy_defaults(opts), .dev = dev, .log_dev = log_dev};
	toy->client = (struct jnl_client){.fold = toy_fold,
		.committed = toy_on_committed,
		.aborted = toy_on_aborted,
		.need_recovery = toy_on_recovery};
	if (!toy->opts.no_journal)
		toy_place(&toy->opts, dev, log_dev, &toy->place);
}

int toy_start(struct toy *toy)
{
	struct cache_opts cache = {.bytes = toy->opts.cache_bytes,
		.block_bytes = toy->opts.block_bytes,
		.client_bytes = JNL_BUF_BYTES};
	struct jnl_opts jnl = {
		.place = toy->opts.no_journal ? NULL : &toy->place,
		.client = &toy->client,
		.client_arg = toy,
		.admission = toy->opts.admission,
		.checksum = toy->opts.checksum,
		.wide = toy->opts.wide,
		.commit_ms = toy->opts.commit_ms,
		.max_blocks = toy->opts.max_blocks};
	int err = cache_open(toy->dev, &cache, &toy->cache);

	if (err != 0)
		return err;
	err = cache_get(toy->cache, TOY_FOLDED, NULL, &toy->folded);
	if (err != 0)
		goto out_cache;
	jnl.cache = toy->cache;
	err = jnl_open(&jnl, &toy->jnl);
	if (err != 0)
		goto out_put;
	return 0;

out_put:
	buf_put(toy->folded);
out_cache:
	cache_close(toy->cache);
	return err;
}

int toy_stop(struct toy *toy)
{
	int err = jnl_close(toy->jnl);

	buf_put(toy->folded);
	cache_close(toy->cache);
	return err;
}

void toy_fini(struct toy *toy)
{
	free((void *)toy->place.map);
}

/* ---- recovery ------------------------------------------------------------------------ */

struct toy_sink {
	const struct toy_opts *opts;
	struct blk_dev *dev;
};

static int toy_sink_block(void *arg, blk_no home, const void *data)
{
	struct toy_sink *sink = arg;

	return blk_write(sink->dev, home * sink->opts->block_bytes,
		sink->opts->block_bytes, data);
}

int toy_recover(
	const struct toy_opts *o, struct blk_dev *dev, struct blk_dev *log_dev)
{
	const struct jnl_replay_sink calls = {.block = toy_sink_block};
	struct toy_opts opts = toy_defaults(o);
	struct toy_sink sink = {.opts = &opts, .dev = dev};
	struct jnl_replay_result result;
	struct jnl_place place;
	int err;

	toy_place(&opts, dev, log_dev, &place);
	err = jnl_replay(&place, opts.home_blocks, &calls, &sink, &result);
	if (err == 0)
		err = blk_flush(dev);
	if (err == 0)
		err = jnl_replay_finish(&place, result.next_tid);
	if (err == 0)
		err = toy_flag_recovery(dev, opts.block_bytes, false);
	free((void *)place.map);
	return err;
}

/* ---- blocks ---------------------------------------------------------------------------- */

struct toy_cell {
	uint64_t mix;
	uint64_t version;
};

/* One filled block in four begins as the log's own do: it must be escaped. */
static uint64_t toy_mix(blk_no block, uint64_t version, uint32_t at)
{
	uint64_t mix = hash_u64(block * 31 + at) ^ hash_u64(version);
	struct be32 magic = be32_of(JBD_MAGIC);

	if (at == 0 && (block + version) % 4 == 0)
		memcpy(&mix, &magic, sizeof(magic));
	return mix;
}

void toy_fill(
	const struct toy_opts *opts, void *data, blk_no block, uint64_t version)
{
	struct toy_cell *cell = data;

	for (uint32_t i = 0; i < opts->block_bytes / sizeof(*cell); i++)
		cell[i] =
			(struct toy_cell){toy_mix(block, version, i), version};
}

uint64_t toy_version(
	const struct toy_opts *opts, const void *data, blk_no block)
{
	const struct toy_cell *cell = data;

	for (uint32_t i = 0; i < opts->block_bytes / sizeof(*cell); i++)
		if (cell[i].version != cell[0].version ||
			cell[i].mix != toy_mix(block, cell[0].version, i))
			return UINT64_MAX;
	return cell[0].version;
}

uint64_t toy_version_on(
	const struct toy_opts *o, struct blk_dev *dev, blk_no block)
{
	struct toy_opts opts = toy_defaults(o);
	void *data = malloc(opts.block_bytes);
	uint64_t version;

	CHECK(data != NULL);
	CHECK(blk_read(dev, block * opts.block_bytes, opts.block_bytes, data) ==
		0);
	version = toy_version(&opts, data, block);
	free(data);
	return version;
}

jnl_tid toy_folded_on(const struct toy_opts *opts, struct blk_dev *dev)
{
	uint64_t version = toy_version_on(opts, dev, TOY_FOLDED);

	return version == UINT64_MAX ? 0 : (jnl_tid)version;
}

/* ---- operations -------------------------------------------------------------------------- */

int toy_touch(struct toy *toy, struct jnl_op *op)
{
	return jnl_pledge(op, toy->folded);
}

int toy_put(struct toy *toy, struct jnl_op *op, blk_no block, uint64_t version,
	bool create)
{
	struct buf *b;
	int err;

	err = create ? cache_get_new(toy->cache, block, &b)
		     : cache_get(toy->cache, block, NULL, &b);
	if (err != 0)
		return err;
	err = create ? jnl_get_create(op, b) : jnl_get_write(op, b);
	if (err == 0)
		toy_fill(&toy->opts, b->data, block, version);
	buf_put(b);
	return err;
}

int toy_write(struct toy *toy, blk_no block, uint32_t count, uint64_t version,
	jnl_tid *tid)
{
	struct jnl_op op;
	int err = jnl_begin(toy->jnl, count + 1, &op);

	if (err != 0)
		return err;
	err = toy_touch(toy, &op);
	for (uint32_t i = 0; i < count && err == 0; i++)
		err = toy_put(toy, &op, block + i, version, false);
	*tid = jnl_end(&op);
	return err;
}

int toy_free(struct toy *toy, blk_no block, jnl_tid *tid)
{
	struct jnl_op op;
	int err = jnl_begin(toy->jnl, 2, &op);

	if (err != 0)
		return err;
	err = toy_touch(toy, &op);
	if (err == 0)
		err = jnl_forget(&op, block, NULL);
	*tid = jnl_end(&op);
	return err;
}
