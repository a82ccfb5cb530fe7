/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.h - what time it is, in the grain that each measurement needs.
 *
 * Ticks are for single operations of some ten nanoseconds: the processor's
 * time stamp counter where it has one that all CPUs share, else nanoseconds.
 * Between bench_tick_first() and bench_tick_last() lies what was written
 * between them in the source and nothing else: both keep the processor from
 * moving work across.  That costs some ticks by itself, so whoever reports
 * ticks measures an empty span in the same run and shows it beside.
 */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdint.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Monotonic. */
uint64_t bench_now_ns(void);

/* The calling thread's time on a CPU. */
uint64_t bench_cpu_ns(void);

void bench_sleep_ns(uint64_t ns);

/* Compares the two clocks once, for some milliseconds; not at once from
 * several threads. */
double bench_ns_per_tick(void);

#if defined(__x86_64__)
static inline uint64_t bench_tick_first(void)
{
	uint64_t now;

	_mm_lfence();
	now = __rdtsc();
	_mm_lfence();
	return now;
}

static inline uint64_t bench_tick_last(void)
{
	unsigned cpu;
	uint64_t now = __rdtscp(&cpu);

	_mm_lfence();
	return now;
}
#else
static inline uint64_t bench_tick_first(void)
{
	return bench_now_ns();
}

static inline uint64_t bench_tick_last(void)
{
	return bench_now_ns();
}
#endif

#endif /* BENCH_CLOCK_H */
