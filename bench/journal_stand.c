/* SPDX-License-Identifier: BSD-2-Clause */
/* journal_stand.c - a journal to measure, and nothing else around it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/journal.h"

enum { PIECE_BYTES = 4 << 20 };

static const uint64_t stand_cache_bytes = UINT64_C(512) << 20;

static int dev_zero(struct blk_dev *dev)
{
	void *zeroes = calloc(1, PIECE_BYTES);
	int err = zeroes != NULL ? 0 : -ENOMEM;

	for (uint64_t at = 0; at < STAND_BYTES && err == 0; at += PIECE_BYTES)
		err = blk_write(dev, at, PIECE_BYTES, zeroes);
	free(zeroes);
	return err;
}

static const struct jnl_extent stand_map = {0, STAND_LOG_BLOCKS, STAND_LOG_AT};

static struct jnl_place stand_place(struct blk_dev *dev)
{
	return (struct jnl_place){.dev = dev,
		.block_bytes = STAND_BLOCK_BYTES,
		.map = &stand_map,
		.map_count = 1};
}

int stand_format(struct blk_dev *dev)
{
	const struct jnl_make_opts make = {.uuid = "extant bench log"};
	const struct jnl_place place = stand_place(dev);
	int err = dev_zero(dev);

	return err == 0 ? jnl_make(&place, &make) : err;
}

int stand_open(
	struct stand *s, struct blk_dev *dev, const struct stand_opts *opts)
{
	const struct jnl_place place = stand_place(dev);
	const struct cache_opts cache = {.bytes = stand_cache_bytes,
		.block_bytes = STAND_BLOCK_BYTES,
		.client_bytes = JNL_BUF_BYTES};
	struct jnl_opts jnl = {.place = &place,
		.admission = opts->admission,
		.checksum = opts->checksum == JNL_CHECKSUM_KEEP
				    ? JNL_CHECKSUM_V3
				    : opts->checksum,
		.commit_ms = opts->commit_ms};
	int err = cache_open(dev, &cache, &s->cache);

	if (err != 0)
		return err;
	jnl.cache = s->cache;
	err = jnl_open(&jnl, &s->jnl);
	if (err != 0)
		cache_close(s->cache);
	return err;
}

int stand_close(struct stand *s)
{
	int err = jnl_close(s->jnl);

	cache_close(s->cache);
	return err;
}

int stand_pin(
	struct stand *s, uint32_t first, uint32_t count, struct buf **bufs)
{
	for (uint32_t i = 0; i < count; i++) {
		int err = cache_get(s->cache, first + i, NULL, &bufs[i]);

		if (err != 0) {
			stand_unpin(bufs, i);
			return err;
		}
	}
	return 0;
}

void stand_unpin(struct buf **bufs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		buf_put(bufs[i]);
}

static const char *const admission_names[ADMISSIONS] = {
	[JNL_ADMIT_PERCPU] = "percpu",
	[JNL_ADMIT_ATOMIC] = "atomic",
	[JNL_ADMIT_LOCK] = "lock",
};

bool stand_row_known(const char *name)
{
	for (unsigned i = 0; i < ADMISSIONS; i++)
		if (strcmp(admission_names[i], name) == 0)
			return true;
	return false;
}

void stand_rows_add(struct stand_rows *rows, const struct bench_opts *opts)
{
	for (unsigned i = 0; i < ADMISSIONS; i++) {
		if (!bench_wants(opts, admission_names[i]))
			continue;
		rows->names[rows->count] = admission_names[i];
		rows->admission[rows->count++] = (enum jnl_admission)i;
	}
}
