/* SPDX-License-Identifier: BSD-2-Clause */
/* hist.c - see hist.h. */
#include "base/hist.h"

#include <stddef.h>
#include <string.h>

#include "base/cc.h"

#define SUB (UINT64_C(1) << HIST_SUB_BITS)
#define PPM UINT64_C(1000000)

/*
 * Values below 2 * SUB are their own index.  Above, the top HIST_SUB_BITS + 1
 * bits of a value choose the bucket, and the number of bits below them, the
 * shift, chooses the row of SUB buckets.
 */
static uint32_t bucket_of(uint64_t value)
{
	uint32_t shift;

	if (value < 2 * SUB)
		return (uint32_t)value;
	shift = 63 - HIST_SUB_BITS - (uint32_t)__builtin_clzll(value);
	return (shift << HIST_SUB_BITS) + (uint32_t)(value >> shift);
}

/* The value in the middle of bucket @index. */
static uint64_t bucket_middle(uint32_t index)
{
	uint32_t shift;
	uint64_t low;

	if (index < 2 * SUB)
		return index;
	shift = (index >> HIST_SUB_BITS) - 1;
	low = (uint64_t)(index - (shift << HIST_SUB_BITS)) << shift;
	return low + (UINT64_C(1) << shift) / 2;
}

void hist_init(struct hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

void hist_add(struct hist *h, uint64_t value)
{
	h->count++;
	h->sum += value;
	if (value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->bucket[bucket_of(value)]++;
}

void hist_merge(struct hist *to, const struct hist *from)
{
	to->count += from->count;
	to->sum += from->sum;
	if (from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	for (size_t i = 0; i < ARRAY_COUNT(to->bucket); i++)
		to->bucket[i] += from->bucket[i];
}

/* @ppm of @count, rounded up, at least 1; without overflow. */
static uint64_t rank_of(uint64_t count, uint32_t ppm)
{
	uint64_t whole = count / PPM * ppm;
	uint64_t rest = (count % PPM * ppm + PPM - 1) / PPM;

	return whole + rest > 0 ? whole + rest : 1;
}

uint64_t hist_quantile(const struct hist *h, uint32_t ppm)
{
	uint64_t rank = rank_of(h->count, ppm);
	uint64_t seen = 0;
	uint64_t middle = 0;

	if (h->count == 0)
		return 0;
	if (ppm == 0)
		return h->min;
	if (rank >= h->count)
		return h->max;
	for (uint32_t i = 0; seen < rank; i++) {
		seen += h->bucket[i];
		middle = bucket_middle(i);
	}
	if (middle < h->min)
		return h->min;
	return middle > h->max ? h->max : middle;
}

uint64_t hist_mean(const struct hist *h)
{
	return h->count == 0 ? 0 : h->sum / h->count;
}
