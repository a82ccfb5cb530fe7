/* SPDX-License-Identifier: BSD-2-Clause */
/* json.c - see json.h. */
#include "tools/json.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "tools/utf8.h"

void json_init(struct json *j, FILE *out)
{
	memset(j, 0, sizeof(*j));
	j->out = out;
}

static void put(struct json *j, const char *text)
{
	(void)fputs(text, j->out);
}

/* By its number, so that a terminal does not obey it. */
static void put_code(struct json *j, uint32_t code)
{
	if (code < 0x10000) {
		(void)fprintf(j->out, "\\u%04x", code);
		return;
	}
	code -= 0x10000;
	(void)fprintf(j->out, "\\u%04x\\u%04x", 0xd800 + (code >> 10),
		0xdc00 + (code & 0x3ff));
}

static void put_string(struct json *j, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;
	size_t left = strlen(value);

	put(j, "\"");
	while (left > 0) {
		uint32_t code;
		size_t bytes = utf8_decode(s, left, &code);

		if (bytes == 0)
			(void)fprintf(j->out, "\\udc%02x", *s);
		else if (*s == '"' || *s == '\\')
			(void)fprintf(j->out, "\\%c", *s);
		else if (utf8_is_obeyed(code))
			put_code(j, code);
		else
			(void)fwrite(s, 1, bytes, j->out);
		s += bytes ? bytes : 1;
		left -= bytes ? bytes : 1;
	}
	put(j, "\"");
}

/* Everything that comes before a value. */
static void lead(struct json *j, const char *key)
{
	if (j->filled[j->depth])
		put(j, ", ");
	j->filled[j->depth] = true;
	if (key) {
		put_string(j, key);
		put(j, ": ");
	}
}

static void enter(struct json *j, const char *key, const char *open, char close)
{
	lead(j, key);
	put(j, open);
	ASSERT(j->depth + 1 < JSON_DEPTH_MAX);
	j->depth++;
	j->filled[j->depth] = false;
	j->closers[j->depth] = close;
}

void json_object(struct json *j, const char *key)
{
	enter(j, key, "{", '}');
}

void json_array(struct json *j, const char *key)
{
	enter(j, key, "[", ']');
}

void json_end(struct json *j)
{
	ASSERT(j->depth > 0);
	(void)fputc(j->closers[j->depth], j->out);
	j->depth--;
	if (j->depth == 0)
		put(j, "\n");
}

void json_string(struct json *j, const char *key, const char *value)
{
	lead(j, key);
	put_string(j, value);
}

void json_hex(struct json *j, const char *key, const void *data, size_t bytes)
{
	const unsigned char *p = data;

	lead(j, key);
	put(j, "\"");
	for (size_t i = 0; i < bytes; i++)
		(void)fprintf(j->out, "%02x", p[i]);
	put(j, "\"");
}

void json_unsigned(struct json *j, const char *key, uint64_t value)
{
	lead(j, key);
	(void)fprintf(j->out, "%llu", (unsigned long long)value);
}

void json_signed(struct json *j, const char *key, int64_t value)
{
	lead(j, key);
	(void)fprintf(j->out, "%lld", (long long)value);
}

void json_real(struct json *j, const char *key, double value)
{
	lead(j, key);
	if (isfinite(value))
		(void)fprintf(j->out, "%.9g", value);
	else
		put(j, "null");
}

void json_bool(struct json *j, const char *key, bool value)
{
	lead(j, key);
	put(j, value ? "true" : "false");
}

void json_line(struct json *j)
{
	if (j->filled[j->depth])
		put(j, ",\n");
	else
		put(j, "\n");
	j->filled[j->depth] = false;
}
