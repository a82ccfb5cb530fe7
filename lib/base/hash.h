/* SPDX-License-Identifier: BSD-2-Clause */
/* hash.h - spreading integers over hash buckets. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdint.h>

/* A bijection of 64-bit integers in which every input bit moves half of the
 * output bits: the finaliser of the SplitMix64 generator. */
static inline uint64_t hash_u64(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* The next number of a SplitMix64 sequence: for seeds that replay. */
static inline uint64_t hash_next(uint64_t *state)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	return hash_u64(*state);
}

#endif /* BASE_HASH_H */
