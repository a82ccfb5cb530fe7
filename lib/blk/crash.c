/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crash.c - what a disk may hold after the power went.
 *
 * Every change gets a number when it is submitted and a stamp when it has
 * completed: how many events there were by then.  A flush that succeeded
 * covers the writes whose stamp is not above its own number: they had
 * completed when it began.  A cut sees the flushes whose stamp is not above
 * the cut; whatever the last of them does not cover is loose, and a seed says
 * what becomes of it.
 *
 * A state is three stores deep: the image at the time of the wrap, the
 * covered writes (the base, which moves along with the cut), the loose ones.
 * So it costs what the loose writes weigh, and ascending cuts are cheapest.
 * The hash is a sum over sectors, kept up to date with each change: equal
 * hashes mean equal contents, however they came about.
 *
 * Devices that lose power together share one record of events; each has its
 * own flushes, base and loose writes, and skips the events of the others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "blk/blk_int.h"
#include "blk/crash_int.h"
#include "blk/layers.h"
#include "blk/mem_store.h"

enum { PIECE = 4096 };

#define NO_EVENT UINT64_MAX

/* A store under change, and the sum over its sectors. */
struct image {
	struct mem_store *store; /* NULL: none */
	uint64_t hash;           /* relative to the original */
};

struct crash_layer {
	struct blk_layer layer;
	struct mem_store *original;  /* [const] frozen at the wrap */
	struct crash_record *record; /* [const] its lock is meant below */
	struct image base;        /* [lock] original and all that is covered */
	uint64_t base_barrier;    /* [lock] the flush that covers it */
	struct crash_array loose; /* [lock] uint64_t: not covered by that */
	struct crash_array picks; /* [lock] crash_pick: for one call */
	struct image last;        /* [lock] the state hashed last */
	uint64_t last_cut;        /* [lock] */
	uint64_t last_seed;       /* [lock] */
	uint64_t last_changes;    /* [lock] */
};

static struct crash_layer *crash_of(const struct blk_dev *dev)
{
	return CONTAINER_OF(dev, struct crash_layer, layer.dev);
}

static struct crash_event *event_locked(struct crash_layer *cl, uint64_t n)
{
	return crash_event_locked(cl->record, n);
}

/* ---- recording --------------------------------------------------------- */

static bool crash_before(struct blk_layer *layer, struct blk_hop *hop)
{
	struct crash_layer *cl = crash_of(&layer->dev);

	hop->number = NO_EVENT;
	if (hop->io->op == BLK_READ)
		return true;
	hop->io->result =
		crash_record_add(cl->record, cl, hop->io, &hop->number);
	return hop->io->result == 0;
}

static void crash_after(struct blk_layer *layer, struct blk_hop *hop)
{
	if (hop->number != NO_EVENT)
		crash_record_complete(crash_of(&layer->dev)->record,
			hop->number, hop->io->result);
}

/* ---- changing an image ------------------------------------------------- */

/* What an event does to the sectors that it reaches. */
enum effect { EFFECT_DATA, EFFECT_ZERO, EFFECT_JUNK, EFFECT_NOTHING };

/* Discarded sectors read as anything: the old, zeroes, or junk. */
static enum effect event_effect(
	const struct crash_event *event, const struct crash_pick *pick)
{
	static const enum effect any[] = {
		EFFECT_NOTHING, EFFECT_ZERO, EFFECT_JUNK};

	if (event->op == BLK_WRITE)
		return EFFECT_DATA;
	if (event->op == BLK_WRITE_ZEROES)
		return EFFECT_ZERO;
	return any[hash_u64(pick->salt) % (pick->bulk ? 2 : 3)];
}

/* Put at most PIECE bytes into @image. */
static int image_put(
	struct image *image, uint64_t offset, size_t bytes, const uint8_t *data)
{
	uint8_t old[PIECE];

	mem_store_read(image->store, offset, bytes, old);
	for (size_t at = 0; at < bytes; at += 512) {
		uint64_t number = (offset + at) / 512;

		image->hash += crash_sector_hash(data + at, number) -
			       crash_sector_hash(old + at, number);
	}
	return mem_store_write(image->store, offset, bytes, data);
}

static int image_put_range(struct image *image, const struct crash_event *event,
	enum effect effect, uint64_t at, uint64_t end)
{
	uint8_t fill[PIECE];
	int err = 0;

	memset(fill, effect == EFFECT_JUNK ? 0xdb : 0, sizeof(fill));
	while (at < end && err == 0) {
		uint64_t offset = event->offset + at;
		uint64_t piece = PIECE - offset % PIECE;

		if (piece > end - at)
			piece = end - at;
		err = image_put(image, offset, (size_t)piece,
			effect == EFFECT_DATA ? event->data + at : fill);
		at += piece;
	}
	return err;
}

/* Zero what may be terabytes: by its name in the hash, not by its sectors. */
static int image_zero_bulk(struct image *image, const struct crash_event *event,
	uint64_t at, uint64_t end)
{
	image->hash +=
		hash_u64(hash_u64(hash_u64(event->offset + at) + end - at) +
			 image->hash);
	return mem_store_zero(image->store, event->offset + at, end - at);
}

/* Let the sectors of @pick reach @image. */
static int image_apply(struct crash_layer *cl, struct image *image,
	const struct crash_pick *pick)
{
	const struct crash_event *event = event_locked(cl, pick->event);
	uint32_t sector = cl->layer.dev.geom.sector_bytes;
	enum effect effect = event_effect(event, pick);
	uint64_t first;
	uint64_t end = 0;
	int err = 0;

	if (effect == EFFECT_NOTHING)
		return 0;
	while (err == 0 && crash_pick_run(pick, end, &first, &end)) {
		if (pick->bulk)
			err = image_zero_bulk(
				image, event, first * sector, end * sector);
		else
			err = image_put_range(image, event, effect,
				first * sector, end * sector);
	}
	return err;
}

static void image_drop(struct image *image)
{
	mem_store_put(image->store);
	*image = (struct image){0};
}

/* ---- the base ---------------------------------------------------------- */

static struct crash_pick pick_of(struct crash_layer *cl, uint64_t number)
{
	const struct crash_event *event = event_locked(cl, number);

	return (struct crash_pick){.event = number,
		.sectors = event->bytes / cl->layer.dev.geom.sector_bytes,
		.bulk = event->op != BLK_WRITE &&
			event->bytes > CRASH_BULK_BYTES,
		.salt = number};
}

/* The number of our last flush that had succeeded before @cut; 0: none, as no
 * write has completed before event 0. */
static uint64_t barrier_find_locked(struct crash_layer *cl, uint64_t cut)
{
	for (uint64_t n = cut; n-- > 0;) {
		const struct crash_event *event = event_locked(cl, n);

		if (event->owner == cl && event->op == BLK_FLUSH &&
			event->stamp <= cut && event->result == 0)
			return n;
	}
	return 0;
}

/* A covered event becomes part of the base.  Of one that failed nobody knows
 * how much arrived: half of it, always the same. */
static int base_settle_locked(struct crash_layer *cl, uint64_t number)
{
	struct crash_pick pick = pick_of(cl, number);

	if (event_locked(cl, number)->result == 0)
		crash_pick_all(&pick);
	else if (pick.bulk)
		crash_pick_none(&pick);
	else
		crash_pick_bits(&pick, hash_u64(number));
	return image_apply(cl, &cl->base, &pick);
}

/* @number is covered or loose, now that the barrier is @barrier. */
static int base_sort_locked(
	struct crash_layer *cl, uint64_t number, uint64_t barrier)
{
	const struct crash_event *event = event_locked(cl, number);
	uint64_t *place;

	if (event->owner != cl || event->op == BLK_FLUSH)
		return 0;
	if (event->stamp <= barrier)
		return base_settle_locked(cl, number);
	place = crash_grow(&cl->loose, sizeof(*place));
	if (place == NULL)
		return -ENOMEM;
	*place = number;
	return 0;
}

static int base_advance_locked(struct crash_layer *cl, uint64_t barrier)
{
	uint64_t *loose = cl->loose.at;
	uint64_t count = cl->loose.count;
	int err = 0;

	/* The list is rewritten behind the reading point. */
	cl->loose.count = 0;
	for (uint64_t i = 0; i < count && err == 0; i++)
		err = base_sort_locked(cl, loose[i], barrier);
	for (uint64_t n = cl->base_barrier; n < barrier && err == 0; n++)
		err = base_sort_locked(cl, n, barrier);
	cl->base_barrier = barrier;
	return err;
}

static void base_drop_locked(struct crash_layer *cl)
{
	image_drop(&cl->base);
	cl->base_barrier = 0;
	cl->loose.count = 0;
}

/* A state that still lives stands on the base as it is. */
static int base_unshare_locked(struct crash_layer *cl)
{
	struct mem_store *copy;
	int err;

	if (cl->base.store == NULL)
		return mem_store_new(cl->layer.dev.geom.bytes, cl->original,
			&cl->base.store);
	if (mem_store_is_mine(cl->base.store))
		return 0;
	err = mem_store_clone(cl->base.store, &copy);
	if (err == 0) {
		mem_store_put(cl->base.store);
		cl->base.store = copy;
	}
	return err;
}

static int base_move_locked(struct crash_layer *cl, uint64_t barrier)
{
	int err;

	if (cl->base.store != NULL && barrier == cl->base_barrier)
		return 0;
	if (barrier < cl->base_barrier)
		base_drop_locked(cl);
	err = base_unshare_locked(cl);
	if (err == 0)
		err = base_advance_locked(cl, barrier);
	if (err != 0)
		base_drop_locked(cl);
	return err;
}

/* ---- states ------------------------------------------------------------ */

static int pick_add_locked(struct crash_layer *cl, uint64_t number)
{
	const struct crash_event *event = event_locked(cl, number);
	struct crash_pick *pick;

	if (event->owner != cl || event->op == BLK_FLUSH)
		return 0;
	pick = crash_grow(&cl->picks, sizeof(*pick));
	if (pick == NULL)
		return -ENOMEM;
	*pick = pick_of(cl, number);
	return 0;
}

/* All that was submitted before @cut and is not in the base. */
static int picks_list_locked(struct crash_layer *cl, uint64_t cut)
{
	const uint64_t *loose = cl->loose.at;
	int err = 0;

	cl->picks.count = 0;
	for (uint64_t i = 0; i < cl->loose.count && err == 0; i++)
		err = pick_add_locked(cl, loose[i]);
	for (uint64_t n = cl->base_barrier; n < cut && err == 0; n++)
		err = pick_add_locked(cl, n);
	return err;
}

static int state_make_locked(struct crash_layer *cl, uint64_t cut,
	uint64_t seed, struct image *image)
{
	const struct crash_pick *picks;
	int err;

	if (cut > cl->record->events.count)
		return -EINVAL;
	err = base_move_locked(cl, barrier_find_locked(cl, cut));
	if (err == 0)
		err = picks_list_locked(cl, cut);
	if (err != 0)
		return err;
	crash_choose(cl->picks.at, cl->picks.count, cut, seed);
	image->hash = cl->base.hash;
	err = mem_store_new(
		cl->layer.dev.geom.bytes, cl->base.store, &image->store);
	picks = cl->picks.at;
	for (uint64_t i = 0; i < cl->picks.count && err == 0; i++)
		err = image_apply(cl, image, &picks[i]);
	if (err != 0)
		image_drop(image);
	return err;
}

/* Make the state, unless it was the last one and nothing has changed. */
static int state_find_locked(
	struct crash_layer *cl, uint64_t cut, uint64_t seed)
{
	int err;

	if (cl->last.store != NULL && cl->last_cut == cut &&
		cl->last_seed == seed &&
		cl->last_changes == cl->record->changes)
		return 0;
	image_drop(&cl->last);
	err = state_make_locked(cl, cut, seed, &cl->last);
	cl->last_cut = cut;
	cl->last_seed = seed;
	cl->last_changes = cl->record->changes;
	return err;
}

int blk_crash_hash(
	struct blk_dev *dev, uint64_t cut, uint64_t seed, uint64_t *out)
{
	struct crash_layer *cl = crash_of(dev);
	int err;

	mtx_lock(&cl->record->lock);
	err = state_find_locked(cl, cut, seed);
	if (err == 0)
		*out = cl->last.hash;
	mtx_unlock(&cl->record->lock);
	return err;
}

int blk_crash_state(
	struct blk_dev *dev, uint64_t cut, uint64_t seed, struct blk_dev **out)
{
	struct crash_layer *cl = crash_of(dev);
	struct mem_store *store = NULL;
	int err;

	mtx_lock(&cl->record->lock);
	err = state_find_locked(cl, cut, seed);
	if (err == 0) {
		store = cl->last.store;
		cl->last.store = NULL;
	}
	mtx_unlock(&cl->record->lock);
	if (err == 0)
		err = blk_open_store(store, dev->geom.sector_bytes, out);
	if (err != 0)
		mem_store_put(store);
	return err;
}

uint64_t blk_crash_events(const struct blk_dev *dev)
{
	struct crash_layer *cl = crash_of(dev);
	uint64_t count;

	mtx_lock(&cl->record->lock);
	count = cl->record->events.count;
	mtx_unlock(&cl->record->lock);
	return count;
}

/* ---- the layer --------------------------------------------------------- */

static bool all_zero(const uint8_t *data, size_t bytes)
{
	return data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0;
}

static int original_read(struct blk_dev *below, uint64_t at, size_t bytes,
	uint8_t *data, struct mem_store *store)
{
	int err = blk_read(below, at, bytes, data);

	for (size_t done = 0; done < bytes && err == 0; done += 512)
		if (!all_zero(data + done, 512))
			err = mem_store_write(
				store, at + done, 512, data + done);
	return err;
}

/* The contents of any device, read through once. */
static int original_copy(struct blk_dev *below, struct mem_store **out)
{
	const size_t room = 1 << 20;
	uint8_t *data = malloc(room);
	struct mem_store *store = NULL;
	int err = -ENOMEM;

	if (data == NULL)
		return err;
	err = mem_store_new(below->geom.bytes, NULL, &store);
	for (uint64_t at = 0; at < below->geom.bytes && err == 0; at += room) {
		uint64_t left = below->geom.bytes - at;

		err = original_read(below, at,
			left < room ? (size_t)left : room, data, store);
	}
	free(data);
	if (err != 0)
		mem_store_put(store);
	else
		*out = store;
	return err;
}

static void crash_close(struct blk_layer *layer)
{
	struct crash_layer *cl = crash_of(&layer->dev);

	image_drop(&cl->last);
	image_drop(&cl->base);
	mem_store_put(cl->original);
	free(cl->loose.at);
	free(cl->picks.at);
	crash_record_put(cl->record);
	free(cl);
}

/* Owns the caller's reference to @record, on success only. */
static int crash_wrap(struct blk_dev *below, struct crash_record *record,
	struct blk_dev **out)
{
	static const struct blk_layer_ops hooks = {
		crash_before, crash_after, crash_close};
	struct crash_layer *cl = calloc(1, sizeof(*cl));
	int err;

	if (cl == NULL)
		return -ENOMEM;
	err = blk_mem_freeze(below, &cl->original);
	if (err == -EINVAL)
		err = original_copy(below, &cl->original);
	if (err != 0) {
		free(cl);
		return err;
	}
	blk_layer_init(&cl->layer, below, &hooks);
	cl->record = record;
	*out = &cl->layer.dev;
	return 0;
}

int blk_wrap_crash(struct blk_dev *below, struct blk_dev **out)
{
	struct crash_record *record = crash_record_new();
	int err;

	if (record == NULL)
		return -ENOMEM;
	err = crash_wrap(below, record, out);
	if (err != 0)
		crash_record_put(record);
	return err;
}

int blk_wrap_crash_beside(
	struct blk_dev *below, struct blk_dev *beside, struct blk_dev **out)
{
	struct crash_record *record = crash_of(beside)->record;
	int err;

	crash_record_get(record);
	err = crash_wrap(below, record, out);
	if (err != 0)
		crash_record_put(record);
	return err;
}
