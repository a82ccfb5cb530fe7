/* SPDX-License-Identifier: BSD-2-Clause */
/* parts.h - the partitions of a disk, shown alike by several commands. */
#ifndef TOOLS_PARTS_H
#define TOOLS_PARTS_H

#include "blk/part.h"
#include "tools/json.h"

/* What is on @dev, in a word or two and without trusting it. */
struct holding {
	char kind[16];      /* "ext4", "journal", "xfs", ...; "": unknown */
	char label[16 + 1]; /* of ext */
	uint8_t uuid[16];   /* of ext */
	bool is_ext;
};

void holding_find(struct blk_dev *dev, struct holding *out);

/* "mbr", "gpt" or "none". */
const char *parts_scheme_name(enum part_scheme scheme);

/* A line for each partition of @table on @dev, and what is on it. */
void parts_text(struct blk_dev *dev, const struct part_table *table);

/* Members "scheme" and "partitions" of an object that is open. */
void parts_json(
	struct json *json, struct blk_dev *dev, const struct part_table *table);

#endif /* TOOLS_PARTS_H */
