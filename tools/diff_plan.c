/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff_plan.c - `extant diff`: what is to be compared, in order.
 *
 * Both walks have the same order, so that they can be merged: who has the
 * lesser path goes on alone.  A path counts as less than those below it, and
 * these as less than all that begin likewise and go on in any other way: '/' is
 * less than any byte.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/diff.h"
#include "tools/image.h"
#include "tools/walk.h"

struct progress_of_side {
	struct walk *walk;
	const struct walk_entry *entry; /* the next; NULL: none */
	size_t top_bytes; /* of the walk's paths, before the names below */
};

void diff_fail(struct diff *diff, unsigned side, const char *path, int err)
{
	(void)atomic_fetch_add_explicit(
		&diff->failures, 1, memory_order_relaxed);
	image_complain(diff->sides[side].image, path, err);
}

static const char *path_of(const struct progress_of_side *side)
{
	return side->entry->depth == 0 ? ""
				       : side->entry->path + side->top_bytes;
}

static unsigned rank_of(char c)
{
	if (c == '\0')
		return 0;
	return c == '/' ? 1 : (unsigned)(unsigned char)c + 1;
}

static int path_order(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	return (int)rank_of(*a) - (int)rank_of(*b);
}

static void side_next(struct progress_of_side *side)
{
	side->entry = walk_next(side->walk);
	if (side->entry != NULL && side->entry->depth == 0)
		side->top_bytes =
			side->entry->path_bytes +
			(side->entry->path[side->entry->path_bytes - 1] != '/');
}

/* -1: the first tree has it, 1: the second one, 0: both. */
static int who_is_next(const struct progress_of_side sides[2])
{
	if (sides[1].entry == NULL)
		return -1;
	if (sides[0].entry == NULL)
		return 1;
	return path_order(path_of(&sides[0]), path_of(&sides[1]));
}

static int half_open(struct diff *diff, unsigned side,
	const struct walk_entry *entry, struct diff_item *item)
{
	const struct extant_at at = walk_at(entry);
	int err = extant_file_open(diff->sides[side].fs, &at, entry->name,
		EXTANT_NOFOLLOW, &item->files[side]);

	if (err == 0)
		extant_file_stat(item->files[side], &item->stats[side]);
	return err;
}

static struct diff_item *item_new(const char *path)
{
	struct diff_item *item = calloc(1, sizeof(*item));

	if (item == NULL)
		return NULL;
	item->path = strdup(path[0] != '\0' ? path : ".");
	if (item->path != NULL)
		return item;
	free(item);
	return NULL;
}

/* The path that is next, in the trees that have it.  What cannot be looked at
 * in one is not compared.  False: it all ends. */
static bool pair_put(struct diff *diff, struct ordered *ordered,
	const struct progress_of_side sides[2], const bool has[2])
{
	struct diff_item *item = item_new(path_of(&sides[has[0] ? 0 : 1]));
	bool whole = true;

	if (item == NULL) {
		diff_fail(diff, 0, sides[has[0] ? 0 : 1].entry->path, -ENOMEM);
		return false;
	}
	for (unsigned i = 0; i < 2; i++) {
		int err = has[i] ? half_open(diff, i, sides[i].entry, item) : 0;

		if (err != 0) {
			walk_complain(sides[i].walk, err);
			whole = false;
		}
	}
	if (whole)
		return ordered_put(ordered, &item->item);
	diff_drop(diff, &item->item);
	return true;
}

static void trees_merge(struct diff *diff, struct ordered *ordered,
	struct progress_of_side sides[2])
{
	bool going = true;

	side_next(&sides[0]);
	side_next(&sides[1]);
	while (going && (sides[0].entry != NULL || sides[1].entry != NULL)) {
		int order = who_is_next(sides);
		const bool has[2] = {order <= 0, order >= 0};

		going = pair_put(diff, ordered, sides, has);
		for (unsigned i = 0; i < 2; i++)
			if (has[i])
				side_next(&sides[i]);
	}
}

void diff_plan(void *arg, struct ordered *ordered)
{
	struct diff *diff = arg;
	struct progress_of_side sides[2] = {{.walk = NULL}, {.walk = NULL}};
	int err = 0;

	for (unsigned i = 0; err == 0 && i < 2; i++) {
		const struct diff_side *side = &diff->sides[i];
		struct walk_opts opts = {.image = side->image};

		err = walk_open(side->fs, &opts, side->top, &sides[i].walk);
		if (err != 0)
			diff_fail(diff, i, side->top, err);
	}
	if (err == 0)
		trees_merge(diff, ordered, sides);
	for (unsigned i = 0; i < 2; i++) {
		if (sides[i].walk == NULL)
			continue;
		(void)atomic_fetch_add_explicit(&diff->failures,
			walk_failures(sides[i].walk), memory_order_relaxed);
		walk_close(sides[i].walk);
	}
}
