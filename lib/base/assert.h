/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * assert.h - our own bugs stop development builds at once.
 *
 * Never for what a disk or a caller says: those get errors.  Release and
 * ledger builds compile the check away, so the condition has no side effect.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

#include "base/cc.h"

NORETURN void assert_failed(const char *file, int line, const char *what);

/* Checked in every build: for functions whose purpose is to check. */
#define CHECK(cond)                                                            \
	(LIKELY(cond) ? (void)0 : assert_failed(__FILE__, __LINE__, #cond))

#ifdef EXTANT_DEBUG
#define ASSERT(cond)                                                           \
	(LIKELY(cond) ? (void)0 : assert_failed(__FILE__, __LINE__, #cond))
#else
#define ASSERT(cond) ((void)sizeof(cond))
#endif

#endif /* BASE_ASSERT_H */
