/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * part_int.h - what the readers of partition tables share; private to lib/blk.
 *
 * Nothing on the disk is believed: every place is checked against the device
 * before it is read, every count is bounded, every chain ends.
 */
#ifndef BLK_PART_INT_H
#define BLK_PART_INT_H

#include "blk/part.h"

/* A table in the making. */
struct part_scan {
	struct blk_dev *dev;
	struct part_table *table;
	uint32_t lba_bytes; /* the unit of the table's numbers */
	char reason[128];   /* of -EUCLEAN */
};

/* As part_read(), but @reason gets what the log would. */
MUST_USE int part_read_reason(struct blk_dev *dev, struct part_table *out,
	char *reason, size_t reason_bytes);

/* -EUCLEAN, and why. */
MUST_USE int part_damaged(struct part_scan *scan, const char *fmt, ...)
	PRINTF(2, 3);

/* Add a partition of @count units from @first on, which may be anywhere. */
MUST_USE int part_add(struct part_scan *scan, uint32_t number, uint64_t first,
	uint64_t count);

/* The one that part_add() made last. */
struct part *part_last(struct part_scan *scan);

/* Read @bytes at unit @lba.  -EUCLEAN: not on the device. */
MUST_USE int part_read_at(
	struct part_scan *scan, uint64_t lba, size_t bytes, void *data);

/* The partitions of a GPT; an MBR has said that there is one. */
MUST_USE int part_gpt_read(struct part_scan *scan);

#endif /* BLK_PART_INT_H */
