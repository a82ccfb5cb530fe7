/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * show.h - names for people and for programs.
 *
 * A name may hold any byte but '/' and NUL.  On a terminal what could move the
 * cursor, change its colours, break the line or turn the text around is
 * written as backslash and three octal digits (\n, \t and the like by their
 * letter, backslash doubled), and so is what is not UTF-8: printf '%b' gives
 * the name back.  Elsewhere names are written as they are.
 */
#ifndef TOOLS_SHOW_H
#define TOOLS_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "extant/extant.h"

/* How a command writes its lines. */
struct show {
	FILE *out;
	bool escape;
	char end; /* of a line: '\n', or NUL for -0 */
};

/* Lines to stdout; with @nul each ends in NUL and nothing is escaped. */
struct show show_stdout(bool nul);

void show_name(const struct show *show, const char *name, size_t bytes);
void show_text(const struct show *show, const char *text); /* ended by NUL */
void show_end(const struct show *show);                    /* of a line */

/* Put @name, escaped, into @to, cut short if it must be; always ended. */
void show_escape(char *to, size_t room, const char *name, size_t bytes);

/* "4.0K": three digits at most, of 1024; -h of ls. */
enum { SHOW_SIZE_MAX = 16 };

const char *show_size(char to[SHOW_SIZE_MAX], uint64_t bytes);

/* "drwxr-sr-x" */
enum { SHOW_MODE_MAX = 11 };

const char *show_mode(char to[SHOW_MODE_MAX], uint32_t mode);

/* 'f', 'd', 'l', 'c', 'b', 'p', 's' as of find(1), or '?', by st_mode; and
 * "regular file", "directory", ... */
char show_type_letter(uint32_t mode);
const char *show_type_name(uint32_t mode);

/*
 * "2038-01-19 03:14:08.123456789 +0000" in local time; nanoseconds if @full,
 * else minutes and no zone.  Times that the C library cannot name become
 * "@SECONDS".
 */
enum { SHOW_TIME_MAX = 64 };

const char *show_time(
	char to[SHOW_TIME_MAX], struct extant_time time, bool full);

#endif /* TOOLS_SHOW_H */
