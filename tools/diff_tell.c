/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff_tell.c - `extant diff`: differences as text or JSON, one path each.
 *
 * Whether two names are one file is compared here, where paths come in order:
 * in each tree a name is known by the first one of its file, and these must be
 * the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/diff.h"

/* ---- links ----------------------------------------------------------------- */

/* The first name of the file that @item is in tree @side: its own, perhaps. */
static const char *first_name(
	struct diff *diff, unsigned side, const struct diff_item *item)
{
	struct inomap *names = &diff->sides[side].names;
	const struct extant_stat *st = &item->stats[side];
	const char *first;
	char *path;

	if (item->files[side] == NULL || S_ISDIR(st->mode) ||
		st->link_count < 2)
		return item->path;
	first = inomap_find(names, st->ino);
	if (first != NULL)
		return first;
	path = strdup(item->path);
	if (path == NULL || inomap_add(names, st->ino, path) != 0) {
		free(path);
		diff_fail(diff, side, item->path, -ENOMEM);
	}
	return item->path;
}

static void links_compare(struct diff *diff, struct diff_item *item)
{
	const char *old = first_name(diff, 0, item);
	const char *new = first_name(diff, 1, item);

	if (item->files[0] == NULL || item->files[1] == NULL ||
		strcmp(old, new) == 0)
		return;
	diff_change_add(diff, item, "link", NULL,
		old != item->path ? old : NULL, new != item->path ? new : NULL);
}

/* ---- telling --------------------------------------------------------------- */

static const char *kind_of(const struct diff_item *item)
{
	if (item->files[0] == NULL)
		return "added";
	return item->files[1] == NULL ? "removed" : "changed";
}

static void value_show(const struct show *show, const char *value)
{
	if (value != NULL)
		show_text(show, value);
	else
		(void)fputs("none", show->out);
}

static void change_show(const struct show *show, const struct diff_change *c)
{
	(void)fputs(c->what, show->out);
	if (c->name != NULL) {
		(void)fputs(
			strcmp(c->what, "content") == 0 ? " from byte " : " ",
			show->out);
		show_text(show, c->name);
		return;
	}
	(void)putc(' ', show->out);
	value_show(show, c->old);
	(void)fputs(" -> ", show->out);
	value_show(show, c->new);
}

/* "changed: etc/passwd: mode 0644 -> 0600, size 5 -> 6" */
static void item_show(const struct show *show, const struct diff_item *item)
{
	(void)fprintf(show->out, "%s: ", kind_of(item));
	show_text(show, item->path);
	for (size_t i = 0; i < item->change_count; i++) {
		(void)fputs(i == 0 ? ": " : ", ", show->out);
		change_show(show, &item->changes[i]);
	}
	show_end(show);
}

static void change_json(struct json *json, const struct diff_change *c)
{
	json_object(json, NULL);
	json_string(json, "what", c->what);
	if (c->name != NULL)
		json_string(json,
			strcmp(c->what, "content") == 0 ? "from" : "name",
			c->name);
	if (c->old != NULL)
		json_string(json, "old", c->old);
	if (c->new != NULL)
		json_string(json, "new", c->new);
	json_end(json);
}

static void item_json(struct json *json, const struct diff_item *item)
{
	json_line(json);
	json_object(json, NULL);
	json_string(json, "path", item->path);
	json_string(json, "kind", kind_of(item));
	if (item->change_count > 0) {
		json_array(json, "changes");
		for (size_t i = 0; i < item->change_count; i++)
			change_json(json, &item->changes[i]);
		json_end(json);
	}
	json_end(json);
}

static void item_tell(struct diff *diff, struct diff_item *item)
{
	links_compare(diff, item);
	if (item->change_count == 0 && item->files[0] != NULL &&
		item->files[1] != NULL)
		return;
	diff->differ = true;
	if (diff->options.json)
		item_json(&diff->json, item);
	else if (!diff->options.quiet)
		item_show(&diff->show, item);
}

void diff_tell(struct diff *diff, struct ordered *ordered)
{
	struct ordered_item *next;

	while (!(diff->options.quiet && diff->differ) &&
		(next = ordered_take(ordered)) != NULL) {
		item_tell(diff, CONTAINER_OF(next, struct diff_item, item));
		diff_drop(diff, next);
	}
}
