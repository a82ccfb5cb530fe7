/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hist.h - how values are spread: log-linear buckets, no memory but its own.
 *
 * Each power of two is cut into 64 equal buckets, so that a bucket is at most
 * 1/64 as wide as the values in it are large.  Values below 128 are counted
 * exactly.  What a quantile returns is the middle of the bucket that the exact
 * quantile lies in, and never outside of what was added:
 *
 *     |hist_quantile() - exact| <= exact / HIST_ERROR_DIV
 *
 * Count, smallest, largest and sum are exact.
 *
 * Threads: a histogram belongs to one thread at a time.  Each thread fills
 * its own; whoever waits for them merges.
 */
#ifndef BASE_HIST_H
#define BASE_HIST_H

#include <stdint.h>

enum {
	HIST_SUB_BITS = 6,
	HIST_BUCKETS = (64 - HIST_SUB_BITS + 1) << HIST_SUB_BITS,
	HIST_ERROR_DIV = 2 << HIST_SUB_BITS,
};

/* Parts per million, for hist_quantile(). */
enum {
	HIST_P50 = 500000,
	HIST_P90 = 900000,
	HIST_P99 = 990000,
	HIST_P9999 = 999900,
	HIST_MAX = 1000000,
};

struct hist {
	uint64_t count;
	uint64_t sum; /* modulo 2^64 */
	uint64_t min; /* UINT64_MAX while empty */
	uint64_t max;
	uint64_t bucket[HIST_BUCKETS];
};

void hist_init(struct hist *h);

void hist_add(struct hist *h, uint64_t value);

/* Add all that @from holds; @from keeps it. */
void hist_merge(struct hist *to, const struct hist *from);

/*
 * The smallest value that at least @ppm millionths of all values do not
 * exceed (nearest rank; ppm 0 is the smallest value), within the error above.
 * 0 if @h is empty.
 */
uint64_t hist_quantile(const struct hist *h, uint32_t ppm);

/* The mean, rounded down; 0 if @h is empty. */
uint64_t hist_mean(const struct hist *h);

#endif /* BASE_HIST_H */
