/* SPDX-License-Identifier: BSD-2-Clause */
/* host.c - see host.h. */
#include "bench/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "api/version.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static void read_kernel(char *out, size_t bytes)
{
	struct utsname name;

	if (uname(&name) != 0)
		return;
	(void)snprintf(out, bytes, "%.40s %.80s %.30s", name.sysname,
		name.release, name.machine);
}

/* The first "model name" line; other architectures have none. */
static void read_cpu(char *out, size_t bytes)
{
	FILE *info = fopen("/proc/cpuinfo", "re");
	char line[256];

	(void)snprintf(out, bytes, "unknown");
	if (info == NULL)
		return;
	while (fgets(line, sizeof(line), info) != NULL) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || colon == NULL)
			continue;
		colon[strcspn(colon, "\n")] = '\0';
		(void)snprintf(out, bytes, "%s", colon + 2);
		break;
	}
	(void)fclose(info);
}

static uint64_t sysconf_count(int name)
{
	long value = sysconf(name);

	return value < 0 ? 0 : (uint64_t)value;
}

void bench_host_read(struct bench_host *out)
{
	*out = (struct bench_host){
		.cpus = (uint32_t)sysconf_count(_SC_NPROCESSORS_ONLN),
		.memory_bytes = sysconf_count(_SC_PHYS_PAGES) *
				sysconf_count(_SC_PAGESIZE),
		.version = EXTANT_VERSION,
		.flavour = EXTANT_FLAVOUR,
		.compiler = COMPILER,
	};
	read_kernel(out->kernel, sizeof(out->kernel));
	read_cpu(out->cpu, sizeof(out->cpu));
	if (getloadavg(&out->load, 1) != 1)
		out->load = -1;
}
