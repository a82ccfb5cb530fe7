/* SPDX-License-Identifier: BSD-2-Clause */
/* exceptions.c - docs/ledger-exceptions: see docs/ledger.md for its form. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger.h"
#include "symbols.h"

enum { EXCEPTIONS_MAX = 32, FIELDS = 5, LINE_MAX_BYTES = 512 };

struct exception {
	char text[LINE_MAX_BYTES]; /* what the fields point into */
	char *a;
	char *b;
	char *storer;      /* the function that stores */
	uint64_t per_runs; /* one store in so many runs at most; 0: any */
	char *reason;
	unsigned used;
};

static struct exception list[EXCEPTIONS_MAX];
static unsigned list_count;

static char *trim(char *text)
{
	size_t end;

	text += strspn(text, " \t");
	end = strlen(text);
	while (end > 0 && strchr(" \t\n", text[end - 1]) != NULL)
		text[--end] = '\0';
	return text;
}

/* "1/N" or "any". */
static bool parse_rate(const char *text, uint64_t *out)
{
	char *end;

	*out = 0;
	if (strcmp(text, "any") == 0)
		return true;
	if (strncmp(text, "1/", 2) != 0)
		return false;
	*out = strtoull(text + 2, &end, 10);
	return *out != 0 && *end == '\0';
}

/* Cut @text at its bars; how many fields it has. */
static int split(char *text, char **fields, int most)
{
	int count = 0;

	while (text != NULL && count < most) {
		char *bar = count < most - 1 ? strchr(text, '|') : NULL;

		if (bar != NULL)
			*bar++ = '\0';
		fields[count++] = trim(text);
		text = bar;
	}
	return count;
}

/* What is wrong with the line in @e->text, or NULL. */
static const char *parse(struct exception *e)
{
	char *fields[FIELDS];

	if (split(e->text, fields, FIELDS) != FIELDS)
		return "not operation | operation | stored by | at most | "
		       "reason";
	for (int i = 0; i < FIELDS; i++) {
		if (*fields[i] == '\0')
			return "an empty field";
	}
	e->a = fields[0];
	e->b = fields[1];
	e->storer = fields[2];
	e->reason = fields[4];
	if (!parse_rate(fields[3], &e->per_runs))
		return "at most: 1/N or any";
	return NULL;
}

static const char *take(const char *line)
{
	struct exception *e = &list[list_count];
	const char *why;

	if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
		return NULL;
	if (list_count == EXCEPTIONS_MAX)
		return "too many exceptions";
	(void)snprintf(e->text, sizeof(e->text), "%s", line);
	why = parse(e);
	if (why == NULL)
		list_count++;
	return why;
}

int exceptions_read(const char *path)
{
	char line[LINE_MAX_BYTES];
	FILE *f = fopen(path, "re");
	int number = 0;
	int err = 0;

	if (f == NULL) {
		(void)fprintf(
			stderr, "ledger: %s: %s\n", path, "cannot be read");
		return -ENOENT;
	}
	while (err == 0 && fgets(line, sizeof(line), f) != NULL) {
		const char *why = take(line);

		number++;
		if (why == NULL)
			continue;
		(void)fprintf(stderr, "ledger: %s:%d: %s\n", path, number, why);
		err = -EINVAL;
	}
	(void)fclose(f);
	return err;
}

static bool matches(const struct exception *e, const char *a, const char *b)
{
	return fnmatch(e->a, a, 0) == 0 && fnmatch(e->b, b, 0) == 0;
}

/* Do all that store to @line belong to @e? */
static bool covers(const struct exception *e, const struct record_line *line)
{
	for (unsigned i = 0; i < line->site_count; i++) {
		const struct record_site *site = &line->sites[i];

		if (site->store &&
			fnmatch(e->storer, symbols_code(site->pc)->function,
				0) != 0)
			return false;
	}
	return line->site_count < RECORD_SITES;
}

bool exceptions_allow(const char *a, const char *b,
	const struct record_line *line, uint64_t runs)
{
	uint64_t stores =
		line->side[0].store_count + (uint64_t)line->side[1].store_count;

	for (unsigned i = 0; i < list_count; i++) {
		struct exception *e = &list[i];

		if (!matches(e, a, b) && !matches(e, b, a))
			continue;
		if (!covers(e, line))
			continue;
		if (e->per_runs != 0 && stores * e->per_runs > runs)
			continue;
		e->used++;
		return true;
	}
	return false;
}

void exceptions_print(void)
{
	for (unsigned i = 0; i < list_count; i++) {
		const struct exception *e = &list[i];

		(void)printf("exception: %s x %s, stored by %s: %s%s\n", e->a,
			e->b, e->storer, e->reason,
			e->used == 0 ? " (unused: take it out)" : "");
	}
}
