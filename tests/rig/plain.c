/* SPDX-License-Identifier: BSD-2-Clause */
/* plain.c - see plain.h. */
#include "plain.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct plain {
	pthread_mutex_t lock;
	unsigned char data[]; /* [lock] */
};

static int plain_read(void *arg, uint64_t offset, size_t bytes, void *data)
{
	struct plain *p = arg;

	(void)pthread_mutex_lock(&p->lock);
	memcpy(data, p->data + offset, bytes);
	(void)pthread_mutex_unlock(&p->lock);
	return 0;
}

static int plain_write(
	void *arg, uint64_t offset, size_t bytes, const void *data)
{
	struct plain *p = arg;

	(void)pthread_mutex_lock(&p->lock);
	memcpy(p->data + offset, data, bytes);
	(void)pthread_mutex_unlock(&p->lock);
	return 0;
}

static int plain_flush(void *arg)
{
	(void)arg;
	return 0;
}

static void plain_close(void *arg)
{
	struct plain *p = arg;

	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}

int plain_open(uint64_t bytes, struct blk_dev **out)
{
	static const struct blk_caller_ops calls = {.pread = plain_read,
		.pwrite = plain_write,
		.flush = plain_flush,
		.close = plain_close};
	struct blk_geom geom = {.bytes = bytes, .sector_bytes = 512};
	struct plain *p = calloc(1, sizeof(*p) + bytes);
	int err;

	if (p == NULL)
		return -ENOMEM;
	err = pthread_mutex_init(&p->lock, NULL);
	if (err == 0)
		err = -blk_open_caller(&calls, p, geom, out);
	if (err != 0)
		free(p);
	return -err;
}
