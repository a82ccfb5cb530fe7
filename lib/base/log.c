/* SPDX-License-Identifier: BSD-2-Clause */
/* log.c - see log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static log_fn sink;
static void *sink_arg;

void log_to(log_fn fn, void *arg)
{
	sink = fn;
	sink_arg = arg;
}

static void log_emit(enum log_level level, const char *module, uint64_t block,
	const char *fmt, va_list args)
{
	char text[512];
	struct log_record record = {level, module, block, text};

	if (sink == NULL)
		return;
	if (vsnprintf(text, sizeof(text), fmt, args) < 0)
		return;
	sink(sink_arg, &record);
}

void log_say(enum log_level level, const char *module, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_emit(level, module, LOG_NO_BLOCK, fmt, args);
	va_end(args);
}

void log_block(enum log_level level, const char *module, uint64_t block,
	const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_emit(level, module, block, fmt, args);
	va_end(args);
}
