/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ordered.h - work done by several threads, and taken in the order it was
 * given.
 *
 *    produce(): ordered_put() --> items --> ordered_take()
 *    a thread of its own           |        whoever opened it
 *                                work()
 *                            several threads
 *
 * Items that were put and not taken are bounded by their bytes and number; the
 * producer waits.  Who takes works too while its next item is not done, so one
 * CPU is enough.
 */
#ifndef TOOLS_ORDERED_H
#define TOOLS_ORDERED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cc.h"

struct ordered;

/* Owned by whoever puts it, by work(), and by whoever takes it, in turn. */
struct ordered_item {
	struct ordered_item *next; /* [ordered] */
	bool done;                 /* [ordered] */
	size_t bytes;              /* [const] that it holds, or will */
};

struct ordered_opts {
	unsigned threads; /* that only work; 0 is allowed */
	size_t bytes_max; /* one item may go beyond */
	size_t items_max;
	void *arg;
	/* Puts all items, and returns; soon, when a put says so. */
	void (*produce)(void *arg, struct ordered *ordered);
	/* From several threads at once. */
	void (*work)(void *arg, struct ordered_item *item);
	/* Items that nobody takes any more. */
	void (*drop)(void *arg, struct ordered_item *item);
};

/* -ENOMEM, -EAGAIN: no thread. */
MUST_USE int ordered_open(
	const struct ordered_opts *opts, struct ordered **out);

/* Ends it, taken or not. */
void ordered_close(struct ordered *ordered);

/* False: it is being closed; the item was dropped. */
MUST_USE bool ordered_put(struct ordered *ordered, struct ordered_item *item);

/* The next one, done; NULL: there are no more. */
struct ordered_item *ordered_take(struct ordered *ordered);

#endif /* TOOLS_ORDERED_H */
