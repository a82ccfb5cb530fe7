/* SPDX-License-Identifier: BSD-2-Clause */
/* thread.c - see thread.h. */
#include "sync/thread.h"

#include <signal.h>

int thread_start(pthread_t *out, void *(*body)(void *arg), void *arg)
{
	sigset_t all;
	sigset_t old;
	int err;

	/* The set calls cannot fail with these arguments. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(out, NULL, body, arg);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}
