/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * known.h - what lies on a device, when it is none of ours.
 *
 * A magic number in its place is all that is looked at: enough to tell
 * somebody what they have, not to say that it is whole.
 */
#ifndef BLK_KNOWN_H
#define BLK_KNOWN_H

#include "blk/blk.h"

struct known {
	uint32_t at; /* bytes */
	uint32_t bytes;
	const char *magic;
	const char *name; /* one word: "xfs", "swap" */
	const char *what; /* "an XFS file system" */
	/* How to get at what is inside; NULL: it is no container. */
	const char *hint;
};

/* The first that @dev is known by, or NULL.  -errno: it cannot be read. */
MUST_USE int known_find(struct blk_dev *dev, const struct known **out);

/* Likewise of containers only, which the first 4 KiB tell. */
MUST_USE int known_container(struct blk_dev *dev, const struct known **out);

#endif /* BLK_KNOWN_H */
