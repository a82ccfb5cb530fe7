/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * futex.h - sleep until a 32-bit word changes; the base of every wait.
 *
 * Pattern: the waiter reads the word, checks its condition, and calls
 * futex_wait() with the value it read; the waker makes the condition true,
 * changes the word, and calls futex_wake().  Both sides use sequentially
 * consistent operations on word and condition, so no wake-up is lost.
 */
#ifndef SYNC_FUTEX_H
#define SYNC_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

#define FUTEX_FOREVER UINT64_MAX

/*
 * Sleep while *@word == @seen, at most @ns nanoseconds.  May return early;
 * callers loop.  0, or -ETIMEDOUT.
 */
int futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t ns);

/* Wake at most @count threads that sleep on @word. */
void futex_wake(_Atomic uint32_t *word, int count);

/* Wake all threads that sleep on @word. */
void futex_wake_all(_Atomic uint32_t *word);

#endif /* SYNC_FUTEX_H */
