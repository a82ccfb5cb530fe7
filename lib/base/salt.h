/* SPDX-License-Identifier: BSD-2-Clause */
/* salt.h - numbers that whoever made an image could not foresee. */
#ifndef BASE_SALT_H
#define BASE_SALT_H

#include <stdint.h>

/*
 * A number to mix into the keys of a hash table that a hostile image fills,
 * so that nobody can choose keys that collide.  Not for cryptography.  Never
 * fails, never waits; a system call.
 */
uint64_t salt_new(void);

#endif /* BASE_SALT_H */
