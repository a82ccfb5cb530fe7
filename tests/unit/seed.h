/* SPDX-License-Identifier: BSD-2-Clause */
/* seed.h - random tests print their seed, and EXTANT_SEED=N replays it. */
#ifndef TESTS_SEED_H
#define TESTS_SEED_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t test_seed(void)
{
	/* Tests ask before they start threads. */
	const char *given = getenv("EXTANT_SEED"); /* NOLINT(concurrency*) */
	struct timespec now;
	uint64_t seed;

	if (given != NULL) {
		seed = strtoull(given, NULL, 0);
	} else {
		(void)clock_gettime(CLOCK_REALTIME, &now);
		seed = (uint64_t)now.tv_sec * 1000000000 +
		       (uint64_t)now.tv_nsec;
	}
	(void)printf("# EXTANT_SEED=%" PRIu64 "\n", seed);
	return seed;
}

#endif /* TESTS_SEED_H */
