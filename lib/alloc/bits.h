/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bits.h - runs of bits that several threads set at once.
 *
 * A bitmap is 64-bit words, bit N at N % 64 of word N / 64.  Whoever sets a
 * bit first owns it; of a run that others have begun to take, one gets what is
 * before them.
 */
#ifndef ALLOC_BITS_H
#define ALLOC_BITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { WORD_BITS = 64 };

static inline uint32_t bits_words(uint32_t bits)
{
	return (bits + WORD_BITS - 1) / WORD_BITS;
}

/*
 * Set bits from @start on, up to @count, until one is set already.  Returns
 * how many are the caller's now.  *@fought is added the number of words that
 * changed meanwhile.
 */
uint32_t bits_claim(_Atomic uint64_t *words, uint32_t start, uint32_t count,
	uint32_t *fought);

/* Clear @count bits from @start on.  Returns how many of them were set. */
uint32_t bits_clear(_Atomic uint64_t *words, uint32_t start, uint32_t count);

/* How many of @count bits from @start on are set. */
uint32_t bits_count(
	const _Atomic uint64_t *words, uint32_t start, uint32_t count);

/*
 * The first run of at least @want bits that are clear in @a, and in @b unless
 * that is NULL, within [@from, @to); else the longest.  Returns its length, 0:
 * none, at most @want; *@start is where.
 */
uint32_t bits_find(const _Atomic uint64_t *a, const _Atomic uint64_t *b,
	uint32_t from, uint32_t to, uint32_t want, uint32_t *start);

#endif /* ALLOC_BITS_H */
