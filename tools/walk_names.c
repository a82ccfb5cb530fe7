/* SPDX-License-Identifier: BSD-2-Clause */
/* walk_names.c - see walk_names.h. */
#include "tools/walk_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT = 8 }; /* names begin at multiples */

static struct walk_name *name_at(const char *memory, uint32_t place)
{
	return (struct walk_name *)(void *)(memory + (size_t)place * UNIT);
}

void walk_names_free(struct walk_names *names)
{
	free(names->memory);
	free(names->order);
	*names = (struct walk_names){0};
}

const struct walk_name *walk_names_next(struct walk_names *names)
{
	if (names->next == names->count)
		return NULL;
	return name_at(names->memory, names->order[names->next++]);
}

/* strcmp() is the order of the bytes, as no name holds a NUL. */
static int order_compare(const void *a, const void *b, void *memory)
{
	const uint32_t *x = a;
	const uint32_t *y = b;

	return strcmp(name_at(memory, *x)->text, name_at(memory, *y)->text);
}

static void sort(struct walk_names *names)
{
	if (names->count > 1)
		qsort_r(names->order, names->count, sizeof(names->order[0]),
			order_compare, names->memory);
}

static size_t record_bytes(size_t name_bytes)
{
	size_t bytes = offsetof(struct walk_name, text) + name_bytes + 1;

	return (bytes + UNIT - 1) / UNIT * UNIT;
}

/* Forget the larger half, which another reading will bring back. */
static int halve(struct walk_names *names)
{
	char *memory = malloc(names->room);
	size_t used = 0;

	if (memory == NULL)
		return -ENOMEM;
	sort(names);
	names->count = (names->count + 1) / 2;
	for (size_t i = 0; i < names->count; i++) {
		const struct walk_name *from =
			name_at(names->memory, names->order[i]);
		size_t bytes = record_bytes(from->bytes);

		memcpy(memory + used, from, bytes);
		names->order[i] = (uint32_t)(used / UNIT);
		used += bytes;
	}
	free(names->memory);
	names->memory = memory;
	names->used = used;
	names->more = true;
	return 0;
}

static int reserve(struct walk_names *names, size_t bytes)
{
	size_t room = names->room > 0 ? names->room * 2 : 1024;
	size_t order_room = names->order_room > 0 ? names->order_room * 2 : 32;
	void *grown;

	if (names->used + bytes > names->room) {
		grown = realloc(names->memory, room);
		if (grown == NULL)
			return -ENOMEM;
		names->memory = grown;
		names->room = room;
	}
	if (names->count == names->order_room) {
		grown = reallocarray(
			names->order, order_room, sizeof(names->order[0]));
		if (grown == NULL)
			return -ENOMEM;
		names->order = grown;
		names->order_room = order_room;
	}
	return 0;
}

static int add(struct walk_names *names, const struct extant_dirent *entry)
{
	size_t bytes = record_bytes(entry->name_bytes);
	struct walk_name *to;
	int err = reserve(names, bytes);

	if (err != 0)
		return err;
	names->order[names->count++] = (uint32_t)(names->used / UNIT);
	to = (void *)(names->memory + names->used);
	to->ino = entry->ino;
	to->type = entry->type;
	to->bytes = entry->name_bytes;
	memcpy(to->text, entry->name, entry->name_bytes + 1U);
	names->used += bytes;
	return 0;
}

static bool is_dots(const char *name)
{
	return name[0] == '.' &&
	       (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* The bounds of one reading. */
struct reading {
	const char *after;            /* NULL: none */
	size_t limit;                 /* bytes */
	char last[WALK_NAME_MAX + 1]; /* larger ones were forgotten, if any */
};

static int take(struct walk_names *names, struct reading *r,
	const struct extant_dirent *entry)
{
	const struct walk_name *last;
	int err;

	if (is_dots(entry->name) ||
		(r->after != NULL && strcmp(entry->name, r->after) <= 0))
		return 0;
	if (names->more && strcmp(entry->name, r->last) > 0)
		return 0;
	err = add(names, entry);
	if (err != 0 || names->count == 1 || names->used <= r->limit)
		return err;
	err = halve(names);
	if (err != 0)
		return err;
	last = name_at(names->memory, names->order[names->count - 1]);
	memcpy(r->last, last->text, last->bytes + 1U);
	return 0;
}

/* Damage may give a directory a name twice; a lookup finds one of them. */
static void unique(struct walk_names *names)
{
	size_t kept = 0;

	for (size_t i = 0; i < names->count; i++)
		if (kept == 0 || order_compare(&names->order[kept - 1],
					 &names->order[i], names->memory) != 0)
			names->order[kept++] = names->order[i];
	names->count = kept;
}

int walk_names_read(struct walk_names *out, struct extant_file *dir,
	const char *after, size_t limit, void *buffer, size_t buffer_bytes)
{
	struct reading r = {.after = after, .limit = limit};
	uint64_t cookie = 0;
	size_t done;
	int err;

	for (;;) {
		const struct extant_dirent *entry = buffer;

		err = extant_readdir(dir, cookie, buffer, buffer_bytes, &done);
		if (err != 0 || done == 0)
			break;
		for (size_t at = 0; err == 0 && at < done; at += entry->bytes) {
			entry = (void *)((char *)buffer + at);
			cookie = entry->cookie;
			err = take(out, &r, entry);
		}
		if (err != 0)
			break;
	}
	sort(out);
	unique(out);
	return err;
}
