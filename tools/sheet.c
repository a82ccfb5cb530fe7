/* SPDX-License-Identifier: BSD-2-Clause */
/* sheet.c - see sheet.h. */
#include "tools/sheet.h"

enum { KEY_WIDTH = 30, SIZE_WORTH = 1 << 20 };

/* ---- words --------------------------------------------------------------- */

void sheet_uuid_text(const uint8_t uuid[16], char to[SHEET_UUID_BYTES])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		*to++ = digits[uuid[i] >> 4];
		*to++ = digits[uuid[i] & 15];
	}
	*to = '\0';
}

/* ---- lines --------------------------------------------------------------- */

static void title(struct sheet *s, const char *key)
{
	int width = 2;

	(void)fputs("  ", s->show.out);
	for (; *key; key++, width++)
		(void)fputc(*key == '_' ? ' ' : *key, s->show.out);
	(void)fprintf(s->show.out, "%*s",
		width < KEY_WIDTH ? KEY_WIDTH - width : 1, "");
}

void sheet_begin(struct sheet *s, bool as_json)
{
	*s = (struct sheet){.as_json = as_json, .show = show_stdout(false)};
	json_init(&s->json, s->show.out);
	if (as_json)
		json_object(&s->json, NULL);
}

void sheet_end(struct sheet *s)
{
	if (s->as_json)
		json_end(&s->json);
}

void sheet_part(struct sheet *s, const char *key)
{
	if (s->as_json) {
		json_line(&s->json);
		json_object(&s->json, key);
	} else {
		(void)fprintf(s->show.out, "\n%s\n", key);
	}
}

void sheet_part_end(struct sheet *s)
{
	if (s->as_json)
		json_end(&s->json);
}

void sheet_text(struct sheet *s, const char *key, const char *value)
{
	if (s->as_json) {
		json_string(&s->json, key, value);
		return;
	}
	title(s, key);
	show_text(&s->show, *value ? value : "-");
	show_end(&s->show);
}

void sheet_number(struct sheet *s, const char *key, uint64_t value)
{
	if (s->as_json) {
		json_unsigned(&s->json, key, value);
		return;
	}
	title(s, key);
	(void)fprintf(s->show.out, "%llu\n", (unsigned long long)value);
}

void sheet_number_as(
	struct sheet *s, const char *key, int64_t value, const char *words)
{
	if (s->as_json) {
		json_signed(&s->json, key, value);
		return;
	}
	title(s, key);
	if (words)
		(void)fprintf(s->show.out, "%s\n", words);
	else
		(void)fprintf(s->show.out, "%lld\n", (long long)value);
}

void sheet_bytes(struct sheet *s, const char *key, uint64_t value)
{
	char size[SHOW_SIZE_MAX];

	if (s->as_json) {
		json_unsigned(&s->json, key, value);
		return;
	}
	title(s, key);
	(void)fprintf(s->show.out, "%llu", (unsigned long long)value);
	if (value >= SIZE_WORTH)
		(void)fprintf(s->show.out, " (%s)", show_size(size, value));
	show_end(&s->show);
}

void sheet_flag(struct sheet *s, const char *key, bool value)
{
	if (s->as_json) {
		json_bool(&s->json, key, value);
		return;
	}
	title(s, key);
	(void)fputs(value ? "yes\n" : "no\n", s->show.out);
}

void sheet_time(struct sheet *s, const char *key, int64_t seconds)
{
	const struct extant_time when = {.seconds = seconds};
	char text[SHOW_TIME_MAX] = "never";

	if (s->as_json) {
		json_signed(&s->json, key, seconds);
		return;
	}
	if (seconds != 0)
		(void)show_time(text, when, false);
	title(s, key);
	(void)fprintf(s->show.out, "%s\n", text);
}

void sheet_uuid(struct sheet *s, const char *key, const uint8_t uuid[16])
{
	char text[SHEET_UUID_BYTES];

	sheet_uuid_text(uuid, text);
	sheet_text(s, key, text);
}

/* ---- lists --------------------------------------------------------------- */

void sheet_words(struct sheet *s, const char *key)
{
	s->in_words = false;
	if (s->as_json)
		json_array(&s->json, key);
	else
		title(s, key);
}

void sheet_word(struct sheet *s, const char *word)
{
	if (s->as_json) {
		json_string(&s->json, NULL, word);
		return;
	}
	if (s->in_words)
		(void)fputc(' ', s->show.out);
	s->in_words = true;
	(void)fputs(word, s->show.out);
}

void sheet_words_end(struct sheet *s)
{
	if (s->as_json)
		json_end(&s->json);
	else
		(void)fputs(s->in_words ? "\n" : "-\n", s->show.out);
}
