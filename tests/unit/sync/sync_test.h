/* SPDX-License-Identifier: BSD-2-Clause */
/* sync_test.h - threads that start together, and aborts as results. */
#ifndef TESTS_SYNC_TEST_H
#define TESTS_SYNC_TEST_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../cmocka_all.h"

enum { THREADS = 8 };

/* Run @even and @odd in four threads each; @arg is theirs to share. */
static inline void threads_run(
	void *(*even)(void *), void *(*odd)(void *), void *arg)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
					 i % 2 != 0 ? odd : even, arg),
			0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static inline uint64_t clock_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* What a child said before it died of SIGABRT; "" if it did not. */
static inline void said_before_abort(void (*fn)(void), char *said, size_t bytes)
{
	int ends[2];
	int status = 0;
	size_t got = 0;

	said[0] = '\0';
	assert_int_equal(pipe(ends), 0);

	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)signal(SIGABRT, SIG_DFL);
		(void)dup2(ends[1], STDERR_FILENO);
		fn();
		_exit(0);
	}
	(void)close(ends[1]);
	for (;;) {
		ssize_t n = read(ends[0], said + got, bytes - 1 - got);

		if (n <= 0)
			break;
		got += (size_t)n;
	}
	said[got] = '\0';
	(void)close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
		said[0] = '\0';
}

/* @fn aborts in debug builds, and names @a and @b. */
static inline void assert_aborts(void (*fn)(void), const char *a, const char *b)
{
	char said[4096];

#ifndef EXTANT_DEBUG
	skip_because("only debug builds check the rules of locks");
#endif
	said_before_abort(fn, said, sizeof(said));
	if (strstr(said, a) == NULL || strstr(said, b) == NULL)
		fail_msg(
			"expected an abort naming %s and %s: '%s'", a, b, said);
}

#endif /* TESTS_SYNC_TEST_H */
