/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu.h - which shard this thread should use, now.
 *
 * cpu_id() is a hint: the thread may migrate before the next instruction, so
 * a shard's words change by atomic operations only, and whoever must come
 * back to the same shard remembers its index.
 *
 * Tests install their own function, so that two cores can act as sixty-four.
 * Shard counts are read when an object is made; a later change of the count
 * does not reach it, and cpu_shard() keeps indices in range all the same.
 */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdint.h>

enum { CPU_SHARDS_MAX = 512 };

/* An index in 0 .. cpu_count() - 1. */
uint32_t cpu_id(void);

/* The number of shards that a new per-CPU object gets; at least 1. */
uint32_t cpu_count(void);

/* cpu_id() for an object that was made with @shards shards. */
static inline uint32_t cpu_shard(uint32_t shards)
{
	uint32_t id = cpu_id();

	return id < shards ? id : id % shards;
}

/*
 * Replace the source of cpu_id() and cpu_count() for tests; NULL and 0 bring
 * back the real ones.  @count at most CPU_SHARDS_MAX.  Not to be called while
 * other threads use the library.
 */
void cpu_override(uint32_t (*id)(void), uint32_t count);

#endif /* BASE_CPU_H */
