/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inomap.h - something to remember about files, by inode number.
 *
 * Sixteen bytes for each, at most half used.  Not safe with threads by itself.
 */
#ifndef TOOLS_INOMAP_H
#define TOOLS_INOMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/cc.h"

struct inomap_slot {
	uint64_t ino; /* 0: free */
	void *value;
};

/* Begin with all zero. */
struct inomap {
	struct inomap_slot *slots;
	size_t slot_count; /* a power of two */
	size_t used;
};

void inomap_fini(struct inomap *map);

/* The value of @ino, not 0, or NULL. */
void *inomap_find(const struct inomap *map, uint64_t ino);

/* @value, not NULL, for @ino, which has none.  -ENOMEM. */
MUST_USE int inomap_add(struct inomap *map, uint64_t ino, void *value);

void inomap_remove(struct inomap *map, uint64_t ino);

/* The values of all, in no order. */
void inomap_each(const struct inomap *map, void (*fn)(void *value));

#endif /* TOOLS_INOMAP_H */
