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

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define CPU_HAS_RSEQ 1
#else
#define CPU_HAS_RSEQ 0
#endif

#include "base/cc.h"

enum { CPU_SHARDS_MAX = 512 };

/* The number of shards that a new per-CPU object gets; at least 1. */
uint32_t cpu_count(void);

/* A test's own source, or NULL.  [atomic] */
extern uint32_t (*_Atomic cpu_id_override)(void);

/* Asks the kernel. */
uint32_t cpu_number_slow(void);

/* Some number for the CPU: one load of what the kernel keeps up to date in
 * the thread's own memory, where it does. */
static inline uint32_t cpu_number(void)
{
	uint32_t (*id)(void) =
		atomic_load_explicit(&cpu_id_override, memory_order_relaxed);

	if (UNLIKELY(id != NULL))
		return id();
#if CPU_HAS_RSEQ
	const char *self = (const char *)__builtin_thread_pointer();
	const struct rseq *area =
		(const struct rseq *)(const void *)(self + __rseq_offset);
	/* Negative where the C library could not register it. */
	int32_t cpu = (int32_t) * (const volatile uint32_t *)&area->cpu_id;

	if (LIKELY(cpu >= 0))
		return (uint32_t)cpu;
#endif
	return cpu_number_slow();
}

/* The index for an object that was made with @shards shards. */
static inline uint32_t cpu_shard(uint32_t shards)
{
	uint32_t number = cpu_number();

	return LIKELY(number < shards) ? number : number % shards;
}

/* An index in 0 .. cpu_count() - 1. */
static inline uint32_t cpu_id(void)
{
	return cpu_shard(cpu_count());
}

/*
 * Replace the source of cpu_id() and cpu_count() for tests; NULL and 0 bring
 * back the real ones.  @count at most CPU_SHARDS_MAX.  Not to be called while
 * other threads use the library.
 */
void cpu_override(uint32_t (*id)(void), uint32_t count);

#endif /* BASE_CPU_H */
