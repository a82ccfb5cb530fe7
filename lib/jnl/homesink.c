/* SPDX-License-Identifier: BSD-2-Clause */
/* homesink.c - replayed blocks go home in batches, in the device's order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jnl/sink.h"

enum { BATCH_BYTES = 1 << 20 };

struct jnl_home_sink {
	struct blk_dev *dev;
	uint32_t block_bytes;
	uint32_t room; /* blocks */
	uint32_t count;

	struct batch_entry {
		blk_no home;
		uint32_t order; /* which of the batch's pieces holds it */
	} * entries;
	struct iovec *iov;
	struct blk_io *ios;
	uint8_t *data;
};

int jnl_home_sink_open(
	struct blk_dev *dev, uint32_t block_bytes, struct jnl_home_sink **out)
{
	uint32_t room = BATCH_BYTES / block_bytes;
	struct jnl_home_sink *s = malloc(sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	*s = (struct jnl_home_sink){
		.dev = dev,
		.block_bytes = block_bytes,
		.room = room,
		.entries = calloc(room, sizeof(*s->entries)),
		.iov = calloc(room, sizeof(*s->iov)),
		.ios = calloc(room, sizeof(*s->ios)),
		.data = malloc(BATCH_BYTES),
	};
	if (s->entries == NULL || s->iov == NULL || s->ios == NULL ||
		s->data == NULL) {
		jnl_home_sink_close(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void jnl_home_sink_close(struct jnl_home_sink *s)
{
	if (s == NULL)
		return;
	free(s->entries);
	free(s->iov);
	free(s->ios);
	free(s->data);
	free(s);
}

static int by_home(const void *a, const void *b)
{
	const struct batch_entry *x = a;
	const struct batch_entry *y = b;

	return (x->home > y->home) - (x->home < y->home);
}

/* One request for each run of neighbours; a home is in a batch once. */
static unsigned plan(struct jnl_home_sink *s)
{
	const size_t bytes = s->block_bytes;
	unsigned ios = 0;

	qsort(s->entries, s->count, sizeof(*s->entries), by_home);
	for (uint32_t i = 0; i < s->count; i++) {
		const struct batch_entry *e = &s->entries[i];
		struct blk_io *io = &s->ios[ios];

		s->iov[i] = (struct iovec){s->data + e->order * bytes, bytes};
		if (i > 0 && e->home == e[-1].home + 1) {
			io[-1].iov_count++;
			io[-1].bytes += bytes;
			continue;
		}
		*io = (struct blk_io){
			.op = BLK_WRITE,
			.offset = e->home * bytes,
			.bytes = bytes,
			.iov = &s->iov[i],
			.iov_count = 1,
		};
		ios++;
	}
	return ios;
}

static int write_batch(struct jnl_home_sink *s)
{
	unsigned ios = plan(s);

	s->count = 0;
	return ios == 0 ? 0 : blk_run(s->dev, s->ios, ios);
}

static int take_block(void *arg, blk_no home, const void *data)
{
	struct jnl_home_sink *s = arg;
	int err = 0;

	if (s->count == s->room)
		err = write_batch(s);
	if (err != 0)
		return err;
	memcpy(s->data + (size_t)s->count * s->block_bytes, data,
		s->block_bytes);
	s->entries[s->count] = (struct batch_entry){home, s->count};
	s->count++;
	return 0;
}

const struct jnl_replay_sink jnl_home_sink_ops = {.block = take_block};

int jnl_home_sink_flush(struct jnl_home_sink *s)
{
	int err = write_batch(s);

	return err != 0 ? err : blk_flush(s->dev);
}
