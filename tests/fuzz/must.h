/* SPDX-License-Identifier: BSD-2-Clause */
/* must.h - what has to hold whatever the input is. */
#ifndef TESTS_FUZZ_MUST_H
#define TESTS_FUZZ_MUST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(cond) must_hold((cond), #cond, __FILE_NAME__, __LINE__)

#ifndef __FILE_NAME__
#define __FILE_NAME__ __FILE__
#endif

static inline void must_hold(
	bool holds, const char *what, const char *file, int line)
{
	if (holds)
		return;
	(void)fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
	abort();
}

#endif /* TESTS_FUZZ_MUST_H */
