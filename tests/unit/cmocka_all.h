/* SPDX-License-Identifier: BSD-2-Clause */
/* cmocka_all.h - cmocka and the headers that it wants before it. */
#ifndef TESTS_CMOCKA_ALL_H
#define TESTS_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#include <cmocka.h>

/* clang-format on */

/* End the running test as skipped; @reason is shown to whoever ran it. */
static inline void skip_because(const char *reason)
{
	print_message("# %s\n", reason);
	skip();
}

#endif /* TESTS_CMOCKA_ALL_H */
