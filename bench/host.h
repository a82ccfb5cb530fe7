/* SPDX-License-Identifier: BSD-2-Clause */
/* host.h - where and with what something was measured. */
#ifndef BENCH_HOST_H
#define BENCH_HOST_H

#include <stdint.h>

struct bench_host {
	char kernel[160]; /* name, release, machine */
	char cpu[128];    /* model, as the kernel names it */
	uint32_t cpus;    /* online */
	uint64_t memory_bytes;
	const char *version;
	const char *flavour; /* of the build */
	const char *compiler;
	double load; /* runnable threads, mean of the last minute; < 0: unknown */
};

void bench_host_read(struct bench_host *out);

#endif /* BENCH_HOST_H */
