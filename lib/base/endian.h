/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * endian.h - on-disk integers that cannot be read without a conversion.
 *
 * Each type is a struct of bytes: it has alignment 1, so an on-disk struct
 * needs no packing, and assigning one to an integer does not compile.
 */
#ifndef BASE_ENDIAN_H
#define BASE_ENDIAN_H

#include <stdint.h>
#include <string.h>

/* clang-format off */
#define ENDIAN_TYPE(order, bits, swap)                                        \
	struct order##bits { uint8_t raw[(bits) / 8]; };                      \
	static inline uint##bits##_t order##bits##_get(struct order##bits x)  \
	{                                                                     \
		uint##bits##_t v;                                             \
		memcpy(&v, x.raw, sizeof(v));                                 \
		return swap(v);                                               \
	}                                                                     \
	static inline struct order##bits order##bits##_of(uint##bits##_t v)   \
	{                                                                     \
		struct order##bits x;                                         \
		v = swap(v);                                                  \
		memcpy(x.raw, &v, sizeof(v));                                 \
		return x;                                                     \
	}

#define ENDIAN_KEEP(v) (v)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
ENDIAN_TYPE(le, 16, ENDIAN_KEEP)
ENDIAN_TYPE(le, 32, ENDIAN_KEEP)
ENDIAN_TYPE(le, 64, ENDIAN_KEEP)
ENDIAN_TYPE(be, 16, __builtin_bswap16)
ENDIAN_TYPE(be, 32, __builtin_bswap32)
ENDIAN_TYPE(be, 64, __builtin_bswap64)
#else
ENDIAN_TYPE(le, 16, __builtin_bswap16)
ENDIAN_TYPE(le, 32, __builtin_bswap32)
ENDIAN_TYPE(le, 64, __builtin_bswap64)
ENDIAN_TYPE(be, 16, ENDIAN_KEEP)
ENDIAN_TYPE(be, 32, ENDIAN_KEEP)
ENDIAN_TYPE(be, 64, ENDIAN_KEEP)
#endif
/* clang-format on */

#endif /* BASE_ENDIAN_H */
