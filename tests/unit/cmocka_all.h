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

#endif /* TESTS_CMOCKA_ALL_H */
