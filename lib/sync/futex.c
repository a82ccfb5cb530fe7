/* SPDX-License-Identifier: BSD-2-Clause */
/* futex.c - see futex.h. */
#include "sync/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

int futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t ns)
{
	struct timespec limit = {
		.tv_sec = (time_t)(ns / NS_PER_S),
		.tv_nsec = (long)(ns % NS_PER_S),
	};
	long rc = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen,
		ns == FUTEX_FOREVER ? NULL : &limit, NULL, 0);

	return rc == -1 && errno == ETIMEDOUT ? -ETIMEDOUT : 0;
}

void futex_wake(_Atomic uint32_t *word, int count)
{
	(void)syscall(
		SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

void futex_wake_all(_Atomic uint32_t *word)
{
	futex_wake(word, INT_MAX);
}
