/* SPDX-License-Identifier: BSD-2-Clause */
/* crash_record.c - every write and barrier, in order, with its data. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blk/crash_int.h"

static struct lock_class record_class = {.name = "blk.crash", .rank = RANK_BLK};

void *crash_grow(struct crash_array *a, size_t bytes)
{
	if (a->count == a->room) {
		uint64_t room = a->room == 0 ? 64 : a->room * 2;
		void *at = realloc(a->at, room * bytes);

		if (at == NULL)
			return NULL;
		a->at = at;
		a->room = room;
	}
	return (uint8_t *)a->at + bytes * a->count++;
}

struct crash_record *crash_record_new(void)
{
	struct crash_record *record = calloc(1, sizeof(*record));

	if (record == NULL)
		return NULL;
	mtx_init(&record->lock, &record_class);
	record->layers = 1;
	return record;
}

void crash_record_get(struct crash_record *record)
{
	mtx_lock(&record->lock);
	record->layers++;
	mtx_unlock(&record->lock);
}

void crash_record_put(struct crash_record *record)
{
	bool last;

	mtx_lock(&record->lock);
	last = --record->layers == 0;
	mtx_unlock(&record->lock);
	if (!last)
		return;
	for (uint64_t n = 0; n < record->events.count; n++)
		free(crash_event_locked(record, n)->data);
	free(record->events.at);
	mtx_fini(&record->lock);
	free(record);
}

/* What a write brings, in one piece; NULL if memory is out. */
static uint8_t *data_copy(const struct blk_io *io)
{
	uint8_t *data = malloc(io->bytes);
	size_t at = 0;

	for (int i = 0; data != NULL && i < io->iov_count; i++) {
		if (io->iov[i].iov_len > 0)
			memcpy(data + at, io->iov[i].iov_base,
				io->iov[i].iov_len);
		at += io->iov[i].iov_len;
	}
	return data;
}

static int record_append(struct crash_record *record,
	const struct crash_event *event, uint64_t *number)
{
	struct crash_event *place;

	mtx_lock(&record->lock);
	*number = record->events.count;
	place = crash_grow(&record->events, sizeof(*place));
	if (place != NULL) {
		*place = *event;
		record->changes++;
	}
	mtx_unlock(&record->lock);
	return place == NULL ? -ENOMEM : 0;
}

int crash_record_add(struct crash_record *record, const void *owner,
	const struct blk_io *io, uint64_t *number)
{
	struct crash_event event = {.owner = owner,
		.op = io->op,
		.offset = io->offset,
		.bytes = io->bytes,
		.stamp = CRASH_NOT_YET};
	int err;

	if (io->op == BLK_WRITE) {
		event.data = data_copy(io);
		if (event.data == NULL)
			return -ENOMEM;
	}
	err = record_append(record, &event, number);
	if (err != 0)
		free(event.data);
	return err;
}

void crash_record_complete(
	struct crash_record *record, uint64_t number, int result)
{
	struct crash_event *event;

	mtx_lock(&record->lock);
	event = crash_event_locked(record, number);
	event->result = result;
	event->stamp = record->events.count;
	record->changes++;
	mtx_unlock(&record->lock);
}
