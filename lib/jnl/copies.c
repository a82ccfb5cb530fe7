/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copies.c - for each block that the log holds copies of, the newest.
 *
 * One entry for each distinct block at home, in an array that a hash of
 * indices finds; at most as many as the log has blocks.  Revokes are looked up
 * here and need no memory of their own: a revoke of a block that the log has
 * no copy of means nothing.  The hash is salted, since the log's author chooses
 * the blocks.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/salt.h"
#include "jnl/replay_int.h"

enum { SLOTS_MIN = 64 };

/* The slot of @home, or the free one where it belongs. */
static uint32_t *find_slot(const struct jnl_copies *c, blk_no home)
{
	uint32_t mask = c->slot_count - 1;
	uint32_t i = (uint32_t)hash_u64(home ^ c->salt) & mask;

	while (c->slots[i] != 0 && c->all[c->slots[i] - 1].home != home)
		i = (i + 1) & mask;
	return &c->slots[i];
}

/* Twice as much of everything; slots stay at most half full. */
static int grow(struct jnl_copies *c)
{
	uint32_t slot_count = c->slot_count ? 2 * c->slot_count : SLOTS_MIN;
	uint32_t room = slot_count / 2;
	struct jnl_copy *all;
	uint32_t *slots;

	if (slot_count < c->slot_count)
		return -ENOMEM;
	slots = calloc(slot_count, sizeof(*slots));
	if (slots == NULL)
		return -ENOMEM;
	all = reallocarray(c->all, room, sizeof(*all));
	if (all == NULL) {
		free(slots);
		return -ENOMEM;
	}
	free(c->slots);
	c->all = all;
	c->room = room;
	c->slots = slots;
	c->slot_count = slot_count;
	c->salt = salt_new();
	for (uint32_t i = 0; i < c->count; i++)
		*find_slot(c, all[i].home) = i + 1;
	return 0;
}

int jnl_copies_put(struct jnl_copies *c, const struct jnl_copy *copy)
{
	uint32_t *slot;
	int err;

	if (c->count == c->room) {
		err = grow(c);
		if (err != 0)
			return err;
	}
	slot = find_slot(c, copy->home);
	if (*slot == 0)
		*slot = ++c->count;
	c->all[*slot - 1] = *copy;
	return 0;
}

struct jnl_copy *jnl_copies_find(const struct jnl_copies *c, blk_no home)
{
	uint32_t *slot;

	if (c->slot_count == 0)
		return NULL;
	slot = find_slot(c, home);
	return *slot == 0 ? NULL : &c->all[*slot - 1];
}

static int by_log(const void *a, const void *b)
{
	const struct jnl_copy *x = a;
	const struct jnl_copy *y = b;

	return (x->log > y->log) - (x->log < y->log);
}

uint32_t jnl_copies_settle(struct jnl_copies *c)
{
	uint32_t kept = 0;
	uint32_t all = c->count;

	for (uint32_t i = 0; i < all; i++) {
		if (c->all[i].log != 0)
			c->all[kept++] = c->all[i];
	}
	c->count = kept;
	if (kept > 0)
		qsort(c->all, kept, sizeof(*c->all), by_log);
	return all - kept;
}

void jnl_copies_fini(struct jnl_copies *c)
{
	free(c->all);
	free(c->slots);
	*c = (struct jnl_copies){0};
}
