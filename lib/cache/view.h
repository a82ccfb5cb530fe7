/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * view.h - a contiguous address for scattered pages of a memfd.
 *
 * When no run is long enough for a block, single pages are mapped one behind
 * the other in a range of addresses of their own.  Undoing a mapping costs an
 * interrupt on every CPU that runs this process, so it is not done one by
 * one: a view that ends is *stale*, its pages are free for other use, and its
 * address is not used again before all 64 slots of its group are stale; then
 * one call clears the group.  Only when no group is left is a stale slot
 * mapped over by itself.
 *
 *      slot:  fresh --make--> live --end--> stale --group cleared--> fresh
 *
 * Locks: the owner's.
 */
#ifndef CACHE_VIEW_H
#define CACHE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cc.h"

enum {
	VIEW_PAGES_MAX = 16, /* of 4 KiB in one view */
	VIEW_GROUP_SLOTS = 64,
};

struct view_group {
	uint64_t fresh; /* bit i: slot i is not mapped */
	uint64_t live;  /* bit i: slot i is in use; neither bit: stale */
};

struct views {
	int fd;              /* the owner's */
	uint32_t view_bytes; /* of each */
	uint32_t view_pages;
	char *base; /* group_count * VIEW_GROUP_SLOTS slots */
	uint64_t group_count;
	uint64_t current; /* group whose fresh slots are used up first */
	uint64_t live_count;
	uint64_t cleared_groups; /* for tests */
	struct view_group *groups;
	uint32_t *pages; /* view_pages for each slot */
};

/* Address space for @count live views of @view_bytes over @fd.  -ENOMEM. */
MUST_USE int views_init(
	struct views *v, int fd, uint32_t view_bytes, uint64_t count);
void views_fini(struct views *v);

/* Map @pages (numbers of pages in the memfd) in order.  NULL: the kernel
 * grants no more mappings. */
void *views_make(struct views *v, const uint32_t *pages);

/* End the view at @p; @pages gets what it showed. */
void views_end(struct views *v, void *p, uint32_t *pages);

/* Whether @p is the address of a view. */
bool views_own(const struct views *v, const void *p);

#endif /* CACHE_VIEW_H */
