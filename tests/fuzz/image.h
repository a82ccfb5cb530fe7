/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * image.h - how the fuzzer's bytes become a device with a log on it.
 *
 *   0      block size: 1 KiB << (byte & 3)
 *   1      blocks of the file system, less one
 *   2      enum image_flag
 *   3..7   unused
 *   8..    the log from its block 0 on, the last block filled up with zeroes
 *
 * The device holds the file system's blocks, all zero, and then the log.
 */
#ifndef TESTS_FUZZ_IMAGE_H
#define TESTS_FUZZ_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	IMAGE_HEAD = 8,
	IMAGE_LOG_MIN = 3,   /* blocks */
	IMAGE_LOG_MAX = 256, /* blocks; more are ignored */
};

enum image_flag {
	IMAGE_EXTERNAL = 1, /* and the superblock is in log block 1 */
	IMAGE_SPLIT = 2,    /* the log lies in two pieces, the second first */
};

struct image {
	uint32_t block_bytes;
	uint32_t home_blocks;
	bool external;
	bool split;
	uint32_t super; /* log block */
	uint32_t log_blocks;
	const uint8_t *log; /* log_bytes of it are there */
	size_t log_bytes;
};

/* False: too short for a log. */
bool image_decode(const uint8_t *data, size_t bytes, struct image *out);

/*
 * Make every checksum of the log at @log right that the structure leads to: the
 * superblock's, and those of blocks, copies and transactions from the tail
 * on, and those of the fast commits.  @image says where; nothing else changes.
 */
void image_repair(const struct image *image, uint8_t *log);

#endif /* TESTS_FUZZ_IMAGE_H */
