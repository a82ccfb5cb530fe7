/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.c - see clock.h. */
#include "bench/clock.h"

#include <errno.h>
#include <time.h>

enum { CALIBRATE_NS = 20000000 };

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	/* Cannot fail with a clock that exists. */
	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t bench_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t bench_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void bench_sleep_ns(uint64_t ns)
{
	struct timespec left = {
		(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		;
}

double bench_ns_per_tick(void)
{
	static double known;

	if (known == 0) {
		uint64_t ns = bench_now_ns();
		uint64_t ticks = bench_tick_first();

		bench_sleep_ns(CALIBRATE_NS);
		ticks = bench_tick_last() - ticks;
		known = (double)(bench_now_ns() - ns) / (double)ticks;
	}
	return known;
}
