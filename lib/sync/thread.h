/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.h - the library's own threads.
 *
 * Signals are the program's: none may be delivered to a thread of ours, where
 * its handler would run between two steps of a commit, or its default action
 * would be blamed on us.  So every thread starts with all of them blocked.
 */
#ifndef SYNC_THREAD_H
#define SYNC_THREAD_H

#include <pthread.h>

#include "base/cc.h"

/* Run @body(@arg) in a new thread that takes no signals.  0 or -errno. */
MUST_USE int thread_start(pthread_t *out, void *(*body)(void *arg), void *arg);

#endif /* SYNC_THREAD_H */
