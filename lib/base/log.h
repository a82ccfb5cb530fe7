/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.h - what the library has to say goes through one callback.
 *
 * The library never prints.  A message is one line without a newline; a
 * report about a damaged disk carries block and reason as data besides.
 * Without a callback messages are dropped.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdint.h>

#include "base/cc.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

#define LOG_NO_BLOCK UINT64_MAX

struct log_record {
	enum log_level level;
	const char *module; /* "jnl", "blk", ... */
	uint64_t block;     /* block concerned, or LOG_NO_BLOCK */
	const char *text;   /* valid during the callback only */
};

/* Called from any thread, perhaps from several at once; must not call back
 * into the library. */
typedef void (*log_fn)(void *arg, const struct log_record *record);

/* Send every later message to @fn; NULL drops them.  Not to be called while
 * other threads use the library. */
void log_to(log_fn fn, void *arg);

void log_say(enum log_level level, const char *module, const char *fmt, ...)
	PRINTF(3, 4);

/* A message about block @block of a device. */
void log_block(enum log_level level, const char *module, uint64_t block,
	const char *fmt, ...) PRINTF(4, 5);

#endif /* BASE_LOG_H */
