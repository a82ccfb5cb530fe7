/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deny.h - the n-th request for memory, a mapping or a thread fails.
 *
 * Programs that link deny.c, and tell the linker to wrap what it wraps
 * (meson.build), can have each such call of the library fail in turn.  What
 * shared libraries ask for themselves is not counted.
 */
#ifndef TESTS_RIG_DENY_H
#define TESTS_RIG_DENY_H

#include <stdbool.h>
#include <stdint.h>

enum deny_kind {
	DENY_MEMORY, /* malloc() and its kin */
	DENY_MAP,    /* mmap(), memfd_create(), ftruncate() */
	DENY_THREAD, /* pthread_create() */
	DENY_KINDS
};

/* Deny the @nth request of @kind from now, 1 is the next; with @for_good all
 * later ones, too. */
void deny_arm(enum deny_kind kind, uint64_t nth, bool for_good);

/* Deny nothing; was anything denied since deny_arm()? */
bool deny_disarm(void);

#endif /* TESTS_RIG_DENY_H */
