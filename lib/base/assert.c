/* SPDX-License-Identifier: BSD-2-Clause */
/* assert.c - see assert.h. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void assert_failed(const char *file, int line, const char *what)
{
	(void)fprintf(
		stderr, "%s:%d: assertion failed: %s\n", file, line, what);
	abort();
}
