/* SPDX-License-Identifier: BSD-2-Clause */
/* json.c - see json.h. */
#include "tools/json.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/cc.h"

void json_init(struct json *j, FILE *out)
{
	memset(j, 0, sizeof(*j));
	j->out = out;
}

static void put(struct json *j, const char *text)
{
	(void)fputs(text, j->out);
}

/*
 * How many bytes a UTF-8 sequence has that begins with @lead, and between
 * what its second byte is: this is where overlong forms, surrogates and what
 * is beyond the last code point are ruled out.
 */
static const struct utf8_form {
	unsigned char lead_min;
	unsigned char lead_max;
	unsigned char second_min;
	unsigned char second_max;
	unsigned char bytes;
} utf8_forms[] = {
	{0x00, 0x7f, 0x00, 0xff, 1},
	{0xc2, 0xdf, 0x80, 0xbf, 2},
	{0xe0, 0xe0, 0xa0, 0xbf, 3},
	{0xe1, 0xec, 0x80, 0xbf, 3},
	{0xed, 0xed, 0x80, 0x9f, 3},
	{0xee, 0xef, 0x80, 0xbf, 3},
	{0xf0, 0xf0, 0x90, 0xbf, 4},
	{0xf1, 0xf3, 0x80, 0xbf, 4},
	{0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* The bytes of the sequence at @s, or 0 if it is none; @s ends in a 0. */
static size_t utf8_bytes(const unsigned char *s)
{
	const struct utf8_form *f = utf8_forms;

	while (*s < f->lead_min || *s > f->lead_max)
		if (++f == utf8_forms + ARRAY_COUNT(utf8_forms))
			return 0;
	if (f->bytes == 1)
		return 1;
	if (s[1] < f->second_min || s[1] > f->second_max)
		return 0;
	for (size_t i = 2; i < f->bytes; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return f->bytes;
}

static void put_string(struct json *j, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;

	put(j, "\"");
	while (*s) {
		size_t bytes = utf8_bytes(s);

		if (bytes == 0)
			(void)fprintf(j->out, "\\udc%02x", *s);
		else if (*s == '"' || *s == '\\')
			(void)fprintf(j->out, "\\%c", *s);
		else if (*s < 0x20 || *s == 0x7f)
			(void)fprintf(j->out, "\\u%04x", *s);
		else
			(void)fwrite(s, 1, bytes, j->out);
		s += bytes ? bytes : 1;
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
