/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sheet.h - facts by name, for people or for programs.
 *
 * A command states each fact once; it becomes a line of text or a member of a
 * JSON object.  A name is the JSON key; people see its underscores as spaces.
 * Units are in the name ("block_bytes").  Numbers that people would want to
 * read in other words come with those words, which JSON leaves out.
 *
 *    uuid                f44b6a64-8516-4149-8a79-8b81a45b2182
 *    block bytes         4096
 */
#ifndef TOOLS_SHEET_H
#define TOOLS_SHEET_H

#include "tools/json.h"
#include "tools/show.h"

struct sheet {
	bool as_json;
	bool in_words; /* a list of words has its first */
	struct json json;
	struct show show;
};

/* The whole is one object, which sheet_end() closes. */
void sheet_begin(struct sheet *s, bool as_json);
void sheet_end(struct sheet *s);

/* An object inside it; people see its name as a heading. */
void sheet_part(struct sheet *s, const char *key);
void sheet_part_end(struct sheet *s);

/* A text that may hold anything; "" is shown as "-". */
void sheet_text(struct sheet *s, const char *key, const char *value);
void sheet_number(struct sheet *s, const char *key, uint64_t value);
/* @words may be NULL. */
void sheet_number_as(
	struct sheet *s, const char *key, int64_t value, const char *words);
/* Bytes, also in KiB, MiB, ... */
void sheet_bytes(struct sheet *s, const char *key, uint64_t value);
void sheet_flag(struct sheet *s, const char *key, bool value);
/* Seconds since 1970; 0 is "never". */
void sheet_time(struct sheet *s, const char *key, int64_t seconds);
void sheet_uuid(struct sheet *s, const char *key, const uint8_t uuid[16]);

/* A list of words. */
void sheet_words(struct sheet *s, const char *key);
void sheet_word(struct sheet *s, const char *word);
void sheet_words_end(struct sheet *s);

enum { SHEET_UUID_BYTES = 37 };

void sheet_uuid_text(const uint8_t uuid[16], char to[SHEET_UUID_BYTES]);
#endif /* TOOLS_SHEET_H */
