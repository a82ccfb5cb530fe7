/* SPDX-License-Identifier: BSD-2-Clause */
/* image.c - see image.h. */
#include "image.h"

bool image_decode(const uint8_t *data, size_t bytes, struct image *out)
{
	struct image image;
	size_t blocks;

	if (bytes < IMAGE_HEAD)
		return false;
	image.block_bytes = 1024U << (data[0] & 3);
	image.home_blocks = data[1] + 1U;
	image.external = data[2] & IMAGE_EXTERNAL;
	image.split = data[2] & IMAGE_SPLIT;
	image.super = image.external ? 1 : 0;
	image.log = data + IMAGE_HEAD;
	image.log_bytes = bytes - IMAGE_HEAD;
	blocks = (image.log_bytes + image.block_bytes - 1) / image.block_bytes;
	if (blocks < IMAGE_LOG_MIN)
		return false;
	if (blocks > IMAGE_LOG_MAX) {
		blocks = IMAGE_LOG_MAX;
		image.log_bytes = blocks * image.block_bytes;
	}
	image.log_blocks = (uint32_t)blocks;
	*out = image;
	return true;
}
