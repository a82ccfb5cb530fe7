/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * logread.c - blocks of the log by number, read far ahead.
 *
 * The passes go through the log in order and skip parts of it, so the window
 * doubles while they stay close and begins small after a jump.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "jnl/replay_int.h"

enum {
	WINDOW_BYTES = 1 << 20,
	AHEAD_BYTES = 64 << 10, /* after a jump */
	RUNS_MAX = 64,          /* device requests side by side */
};

int jnl_log_refuse(const struct jnl_log *log, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(log->why, JNL_WHY_BYTES, fmt, args);
	va_end(args);
	return error;
}

static bool extent_fits(const struct jnl_place *place,
	const struct jnl_extent *e, uint32_t log, blk_no dev_blocks)
{
	return e->log == log && e->count > 0 && e->count <= UINT32_MAX - log &&
	       e->dev < dev_blocks && e->count <= dev_blocks - e->dev &&
	       place->block_bytes != 0;
}

/* The map comes from an inode on disk: trust nothing in it. */
static int check_place(const struct jnl_log *log)
{
	const struct jnl_place *place = log->place;
	uint32_t bytes = place->block_bytes;
	uint32_t next = 0;
	blk_no dev_blocks;

	if (bytes < 1024 || bytes > 65536 || (bytes & (bytes - 1)) != 0)
		return jnl_log_refuse(
			log, -EINVAL, "journal block size of %u bytes", bytes);
	dev_blocks = blk_geom(place->dev).bytes / bytes;
	for (uint32_t i = 0; i < place->map_count; i++) {
		const struct jnl_extent *e = &place->map[i];

		if (!extent_fits(place, e, next, dev_blocks))
			return jnl_log_refuse(log, -EUCLEAN,
				"journal block %u is not on the device", next);
		next += e->count;
	}
	if (place->super >= next)
		return jnl_log_refuse(log, -EUCLEAN,
			"journal of %u blocks has no superblock", next);
	return 0;
}

static int alloc_window(struct jnl_log *log)
{
	uint32_t blocks = jnl_place_blocks(log->place);
	uint32_t most = WINDOW_BYTES / log->place->block_bytes;
	uint32_t bytes = log->place->block_bytes;

	log->window_max = blocks < most ? blocks : most;
	log->window = malloc((size_t)log->window_max * bytes);
	log->tags = malloc(bytes / 8 * sizeof(*log->tags));
	log->revokes = malloc(bytes / 4 * sizeof(*log->revokes));
	if (log->window == NULL || log->tags == NULL || log->revokes == NULL)
		return jnl_log_refuse(log, -ENOMEM, "out of memory");
	return 0;
}

static int read_super(struct jnl_log *log)
{
	const struct jnl_place *place = log->place;
	struct jbd_super raw;
	const void *data;
	int err = jnl_log_read(log, place->super, &data);

	if (err != 0)
		return err;
	memcpy(&raw, data, sizeof(raw));
	err = jnl_super_parse(&raw, place->block_bytes, jnl_place_blocks(place),
		&log->sb, log->why, JNL_WHY_BYTES);
	if (err != 0)
		return err;
	log->super_intact = jnl_super_intact(&raw, &log->sb);
	return 0;
}

int jnl_log_open(struct jnl_log *log, const struct jnl_place *place, char *why)
{
	int err;

	*log = (struct jnl_log){.place = place};
	log->why = why;
	err = check_place(log);
	if (err == 0)
		err = alloc_window(log);
	if (err == 0)
		err = read_super(log);
	if (err != 0)
		jnl_log_fini(log);
	return err;
}

void jnl_log_fini(struct jnl_log *log)
{
	free(log->window);
	free(log->tags);
	free(log->revokes);
	log->window = NULL;
	log->tags = NULL;
	log->revokes = NULL;
}

/* How many blocks to read when @at is asked for and not here. */
static uint32_t plan_ahead(struct jnl_log *log, uint32_t at)
{
	uint32_t left = jnl_place_blocks(log->place) - at;
	uint32_t least = AHEAD_BYTES / log->place->block_bytes;
	bool close = at - log->window_log < 2 * log->window_blocks;

	log->ahead = close ? 2 * log->ahead : least;
	if (log->ahead > log->window_max)
		log->ahead = log->window_max;
	return log->ahead < left ? log->ahead : left;
}

/* Read @count blocks from @at into the window, a request per extent. */
static int fill(struct jnl_log *log, uint32_t at, uint32_t count)
{
	const struct jnl_place *place = log->place;
	const size_t bytes = place->block_bytes;
	struct blk_io ios[RUNS_MAX];
	struct iovec iov[RUNS_MAX];
	uint32_t done = 0;
	unsigned n;
	int err = 0;

	while (done < count && err == 0) {
		for (n = 0; n < RUNS_MAX && done < count; n++) {
			uint32_t run = jnl_place_run(place, at + done);

			if (run > count - done)
				run = count - done;
			iov[n].iov_base = log->window + done * bytes;
			iov[n].iov_len = run * bytes;
			ios[n] = (struct blk_io){
				.op = BLK_READ,
				.offset =
					jnl_place_dev(place, at + done) * bytes,
				.bytes = run * bytes,
				.iov = &iov[n],
				.iov_count = 1,
			};
			done += run;
		}
		err = blk_run(place->dev, ios, n);
	}
	return err;
}

int jnl_log_read(struct jnl_log *log, uint32_t at, const void **data)
{
	int err;

	if (at - log->window_log >= log->window_blocks) {
		uint32_t count = plan_ahead(log, at);

		log->window_blocks = 0;
		err = fill(log, at, count);
		if (err != 0) {
			(void)jnl_log_refuse(log, err,
				"journal blocks %u to %u cannot be read", at,
				at + count - 1);
			return err;
		}
		log->window_log = at;
		log->window_blocks = count;
	}
	*data = log->window +
		(size_t)(at - log->window_log) * log->place->block_bytes;
	return 0;
}

uint32_t jnl_log_ring(const struct jnl_log *log)
{
	return log->sb.end - log->sb.first;
}

uint32_t jnl_log_after(const struct jnl_log *log, uint32_t at, uint32_t count)
{
	uint64_t from_first = (uint64_t)(at - log->sb.first) + count;

	return log->sb.first + (uint32_t)(from_first % jnl_log_ring(log));
}
