/* SPDX-License-Identifier: BSD-2-Clause */
/* crc32c.c - see crc32c.h. */
#include "base/crc32c.h"

#include <isa-l/crc.h>

uint32_t crc32c(uint32_t seed, const void *data, size_t bytes)
{
	/* isa-l's parameter is not const-qualified and counts in int. */
	unsigned char *at = (unsigned char *)data;
	const size_t piece = 1U << 30;

	for (; bytes > piece; bytes -= piece, at += piece)
		seed = crc32_iscsi(at, (int)piece, seed);
	return crc32_iscsi(at, (int)bytes, seed);
}

uint32_t crc32_be(uint32_t seed, const void *data, size_t bytes)
{
	/* isa-l inverts on the way in and out; the format does neither. */
	return ~crc32_ieee(~seed, data, bytes);
}
