/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * canvas.h - an input of sparse.h, to be changed in place, and a survey of the
 * metadata that is on it.
 *
 * The survey finds its way as a file system would, but believes everything;
 * its own code, so that a wrong idea of the format in the library shows.
 */
#ifndef TESTS_FUZZ_CANVAS_H
#define TESTS_FUZZ_CANVAS_H

#include "sparse.h"

struct canvas {
	uint8_t *data;
	size_t bytes;
	size_t max_bytes;
	uint32_t units;
	/* By unit: the piece that holds it, plus 1; 0: none does. */
	uint16_t piece[2 * SPARSE_UNITS_MAX];
};

/* False: too short.  @data has room for @max_bytes. */
bool canvas_init(
	struct canvas *c, uint8_t *data, size_t bytes, size_t max_bytes);

/* @bytes from byte @at of the device; zeroes where nothing is. */
void canvas_load(const struct canvas *c, uint64_t at, size_t bytes, void *to);

/* The other way.  Pieces are added while there is room. */
void canvas_store(
	struct canvas *c, uint64_t at, size_t bytes, const void *from);

enum item_kind {
	ITEM_SUPER,
	ITEM_GROUP,
	ITEM_INODE,
	ITEM_EXTENTS,  /* a node in a block */
	ITEM_INDIRECT, /* likewise */
	ITEM_DIR,      /* a block of entries */
	ITEM_INDEX_ROOT,
	ITEM_INDEX_NODE,
	ITEM_XATTR, /* a block of them */
	ITEM_DATA,  /* of a file */
	ITEM_KINDS,
};

struct item {
	enum item_kind kind;
	uint64_t at; /* bytes, on the device */
	uint32_t bytes;
	uint32_t number; /* of the group, or of the inode it belongs to */
	uint32_t generation;
};

enum { ITEMS_MAX = 2048, ITEM_BYTES_MAX = 1 << 16 };

struct survey {
	uint32_t block_bytes;
	uint32_t block_count;
	uint32_t first_data;
	uint32_t blocks_per_group;
	uint32_t inodes_per_group;
	uint32_t inode_bytes;
	uint32_t desc_bytes;
	uint32_t group_count;
	uint32_t compat, incompat, ro_compat;
	uint8_t uuid[16];
	uint32_t seed; /* of checksums */
	bool csum;
	uint32_t count;
	struct item items[ITEMS_MAX];
	uint8_t inode[ITEM_BYTES_MAX]; /* the one that is walked */
};

/* False: there is no superblock to begin with. */
bool survey_make(struct survey *s, const struct canvas *c);

/* Make the checksums of all that the survey found right. */
void survey_repair(const struct survey *s, struct canvas *c);

static inline uint32_t get16(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8;
}

static inline uint32_t get32(const uint8_t *at)
{
	return sparse_get32(at);
}

static inline void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static inline void put32(uint8_t *at, uint32_t value)
{
	sparse_put32(at, value);
}

#endif /* TESTS_FUZZ_CANVAS_H */
