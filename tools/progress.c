/* SPDX-License-Identifier: BSD-2-Clause */
/* progress.c - see progress.h. */
#include "tools/progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu.h"
#include "tools/show.h"

enum { SHARDS_MAX = 64, FIRST_MS = 1000, STEP_MS = 200, WIDTH_MAX = 200 };

struct shard {
	LINE_ALIGNED _Atomic uint64_t files;
	_Atomic uint64_t bytes;
};

static struct shard shards[SHARDS_MAX];

static struct progress {
	pthread_mutex_t lock; /* also of what goes to stderr */
	pthread_cond_t wake;
	bool running; /* [lock] there is a thread */
	bool stop;    /* [lock] */
	bool shown;   /* [lock] the line is on the screen */
	pthread_t thread;
	const char *verb;      /* [const] while running */
	uint64_t total_bytes;  /* [const] while running */
	struct timespec since; /* [const] while running */
} now = {.lock = PTHREAD_MUTEX_INITIALIZER};

void progress_add(uint64_t files, uint64_t bytes)
{
	struct shard *s = &shards[cpu_shard(SHARDS_MAX)];

	if (files > 0)
		atomic_fetch_add_explicit(
			&s->files, files, memory_order_relaxed);
	if (bytes > 0)
		atomic_fetch_add_explicit(
			&s->bytes, bytes, memory_order_relaxed);
}

static void sum(uint64_t *files, uint64_t *bytes)
{
	*files = *bytes = 0;
	for (unsigned i = 0; i < SHARDS_MAX; i++) {
		*files += atomic_load_explicit(
			&shards[i].files, memory_order_relaxed);
		*bytes += atomic_load_explicit(
			&shards[i].bytes, memory_order_relaxed);
	}
}

/* ---- the line ------------------------------------------------------------ */

static double seconds_since(const struct timespec *then)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)(t.tv_sec - then->tv_sec) +
	       (double)(t.tv_nsec - then->tv_nsec) * 1e-9;
}

static unsigned columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return 80;
	return size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
}

/* "[=====>    ] 52%" in at most @room characters; @line is not terminated
 * before. */
static void bar(char *line, size_t room, uint64_t bytes)
{
	enum { CELLS = 24 };

	double part = (double)bytes / (double)now.total_bytes;
	unsigned full = part < 1 ? (unsigned)(part * CELLS) : CELLS;
	char cells[CELLS + 1];

	memset(cells, ' ', CELLS);
	memset(cells, '=', full);
	cells[CELLS] = '\0';
	(void)snprintf(line, room, "  [%s] %3u%%", cells,
		part < 1 ? (unsigned)(part * 100) : 100);
}

static void line_show(void)
{
	char line[WIDTH_MAX];
	char size[SHOW_SIZE_MAX];
	char rate[SHOW_SIZE_MAX];
	double seconds = seconds_since(&now.since);
	uint64_t files;
	uint64_t bytes;
	int used;

	sum(&files, &bytes);
	used = snprintf(line, sizeof(line), "%s %" PRIu64 " files, %sB, %sB/s",
		now.verb, files, show_size(size, bytes),
		show_size(rate, (uint64_t)((double)bytes / seconds)));
	if (now.total_bytes > 0 && used > 0 && (size_t)used < sizeof(line))
		bar(line + used, sizeof(line) - (size_t)used, bytes);
	(void)fprintf(stderr, "\r\033[K%.*s", (int)columns() - 1, line);
	(void)fflush(stderr);
	now.shown = true;
}

static void line_hide(void)
{
	if (!now.shown)
		return;
	(void)fputs("\r\033[K", stderr);
	(void)fflush(stderr);
	now.shown = false;
}

void progress_hide(void)
{
	(void)pthread_mutex_lock(&now.lock);
	line_hide();
}

void progress_unhide(void)
{
	(void)pthread_mutex_unlock(&now.lock);
}

/* ---- the thread ---------------------------------------------------------- */

static void deadline(struct timespec *t, unsigned ms)
{
	(void)clock_gettime(CLOCK_MONOTONIC, t);
	t->tv_nsec += (long)ms * 1000000;
	t->tv_sec += t->tv_nsec / 1000000000;
	t->tv_nsec %= 1000000000;
}

static void *body(void *arg)
{
	unsigned ms = FIRST_MS;
	struct timespec until;

	(void)arg;
	(void)pthread_mutex_lock(&now.lock);
	while (!now.stop) {
		deadline(&until, ms);
		while (!now.stop && pthread_cond_timedwait(
					    &now.wake, &now.lock, &until) == 0)
			;
		if (!now.stop)
			line_show();
		ms = STEP_MS;
	}
	line_hide();
	(void)pthread_mutex_unlock(&now.lock);
	return NULL;
}

void progress_begin(const char *verb, uint64_t total_bytes)
{
	pthread_condattr_t attr;

	if (!isatty(STDERR_FILENO) || pthread_condattr_init(&attr) != 0)
		return;
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&now.wake, &attr);
	(void)pthread_condattr_destroy(&attr);
	now.verb = verb;
	now.total_bytes = total_bytes;
	now.stop = false;
	(void)clock_gettime(CLOCK_MONOTONIC, &now.since);
	/* Without a thread it goes without a line. */
	now.running = pthread_create(&now.thread, NULL, body, NULL) == 0;
}

void progress_end(void)
{
	if (!now.running)
		return;
	(void)pthread_mutex_lock(&now.lock);
	now.stop = true;
	(void)pthread_cond_signal(&now.wake);
	(void)pthread_mutex_unlock(&now.lock);
	(void)pthread_join(now.thread, NULL);
	now.running = false;
}
