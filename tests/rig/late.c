/* SPDX-License-Identifier: BSD-2-Clause */
/* late.c - see late.h. */
#include "late.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"

struct late_dev {
	struct blk_dev *below;  /* [const] owned */
	struct late_opts opts;  /* [const] */
	_Atomic uint64_t turns; /* [atomic] */
};

static void sleep_us(uint64_t us)
{
	struct timespec time = {0, (long)us * 1000};

	if (us != 0)
		(void)nanosleep(&time, NULL);
}

static void late_sleep(struct late_dev *late)
{
	const struct late_opts *o = &late->opts;
	uint64_t draw = hash_u64(atomic_fetch_add(&late->turns, 1));

	if (draw % 16 == 0)
		sleep_us(o->very_us);
	else if (o->us != 0)
		sleep_us(draw / 16 % o->us);
}

static int late_read(void *arg, uint64_t offset, size_t bytes, void *data)
{
	struct late_dev *late = arg;

	late_sleep(late);
	return blk_read(late->below, offset, bytes, data);
}

/* Some time before it reaches the medium, and some before anybody hears. */
static int late_write(
	void *arg, uint64_t offset, size_t bytes, const void *data)
{
	struct late_dev *late = arg;
	int err;

	late_sleep(late);
	err = blk_write(late->below, offset, bytes, data);
	late_sleep(late);
	if (offset < late->opts.slow_bytes)
		sleep_us(late->opts.slow_us);
	return err;
}

static int late_flush(void *arg)
{
	struct late_dev *late = arg;

	late_sleep(late);
	return blk_flush(late->below);
}

static void late_close(void *arg)
{
	struct late_dev *late = arg;

	blk_close(late->below);
	free(late);
}

int late_open(struct blk_dev *below, const struct late_opts *opts,
	struct blk_dev **out)
{
	static const struct blk_caller_ops calls = {.pread = late_read,
		.pwrite = late_write,
		.flush = late_flush,
		.close = late_close};
	struct late_dev *late = calloc(1, sizeof(*late));
	int err;

	if (late == NULL)
		return -ENOMEM;
	late->below = below;
	late->opts = *opts;
	err = blk_open_caller(&calls, late, blk_geom(below), out);
	if (err != 0)
		free(late);
	return err;
}
