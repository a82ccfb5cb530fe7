/* SPDX-License-Identifier: BSD-2-Clause */
/* salt.c - see salt.h. */
#include "base/salt.h"

#include <sys/random.h>
#include <time.h>

#include "base/hash.h"

uint64_t salt_new(void)
{
	struct timespec now;
	uint64_t salt;

	if (getrandom(&salt, sizeof(salt), GRND_NONBLOCK) == sizeof(salt))
		return salt;
	/* Early at boot, or forbidden by a sandbox. */
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return hash_u64((uint64_t)now.tv_nsec ^ (uintptr_t)&salt);
}
