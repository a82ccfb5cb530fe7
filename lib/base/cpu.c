/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu.c - see cpu.h. */
#include "base/cpu.h"

#include <sched.h>
#include <unistd.h>

/* Atomic for the library's own threads, which a test does not stop. */
uint32_t (*_Atomic cpu_id_override)(void);
static _Atomic uint32_t override_count;

static uint32_t real_count(void)
{
	static uint32_t known;
	uint32_t count = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (count == 0) {
		long conf = sysconf(_SC_NPROCESSORS_CONF);

		count = conf < 1 ? 1 : (uint32_t)conf;
		if (count > CPU_SHARDS_MAX)
			count = CPU_SHARDS_MAX;
		__atomic_store_n(&known, count, __ATOMIC_RELAXED);
	}
	return count;
}

uint32_t cpu_count(void)
{
	uint32_t count =
		atomic_load_explicit(&override_count, memory_order_relaxed);

	return count != 0 ? count : real_count();
}

uint32_t cpu_number_slow(void)
{
	int cpu = sched_getcpu();

	return cpu < 0 ? 0 : (uint32_t)cpu;
}

void cpu_override(uint32_t (*id)(void), uint32_t count)
{
	atomic_store_explicit(&cpu_id_override, id, memory_order_relaxed);
	atomic_store_explicit(&override_count, count, memory_order_relaxed);
}
