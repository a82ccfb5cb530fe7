/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.h - writing JSON as it comes, without keeping any of it.
 *
 * Commas, quoting and nesting are this writer's; asserted is only that what
 * is opened is closed.  Strings are UTF-8; a byte that is not part of valid
 * UTF-8 is written as the lone surrogate \udc80 to \udcff, as Python's
 * "surrogateescape" does, so that any name can be told and got back.
 *
 * Keys are NULL inside arrays.  Write errors stay in the stream (ferror).
 */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 16 };

struct json {
	FILE *out;
	unsigned depth;
	bool filled[JSON_DEPTH_MAX]; /* has a value at this depth already */
	char closers[JSON_DEPTH_MAX];
};

void json_init(struct json *j, FILE *out);

void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end(struct json *j); /* of the innermost object or array */

void json_string(struct json *j, const char *key, const char *value);
void json_hex(struct json *j, const char *key, const void *data, size_t bytes);
void json_unsigned(struct json *j, const char *key, uint64_t value);
void json_signed(struct json *j, const char *key, int64_t value);
/* Nine digits; null where there is no number. */
void json_real(struct json *j, const char *key, double value);
void json_bool(struct json *j, const char *key, bool value);

/* A line break between two values, for the reader's sake. */
void json_line(struct json *j);

#endif /* TOOLS_JSON_H */
