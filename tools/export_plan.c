/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_plan.c - `extant export`: what comes into the archive, in order.
 *
 * This is where the names of a file are told from its first one, so that only
 * that is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/export.h"
#include "tools/image.h"
#include "tools/walk.h"

struct plan {
	struct export *export;
	struct ordered *ordered;
	size_t top_bytes; /* of the walk's paths that the archive leaves out */
};

void export_fail(struct export *export, const char *path, int err)
{
	(void)atomic_fetch_add_explicit(
		&export->failures, 1, memory_order_relaxed);
	image_complain(export->image, path, err);
}

/* ---- files ----------------------------------------------------------------- */

void export_file_hold(struct export_file *f)
{
	(void)atomic_fetch_add_explicit(&f->holders, 1, memory_order_relaxed);
}

void export_file_put(struct export_file *f)
{
	/* Whoever frees it has seen all others' use: pairs with itself. */
	if (atomic_fetch_sub_explicit(&f->holders, 1, memory_order_acq_rel) !=
		1)
		return;
	extant_file_close(f->file);
	free(f->path);
	free(f->name);
	free(f->link);
	free(f->segments);
	free(f);
}

/* What the walk tells, opened. */
static int file_open(const struct plan *plan, const struct walk_entry *entry,
	struct export_file **out)
{
	const struct extant_at at = walk_at(entry);
	struct export_file *f = calloc(1, sizeof(*f));
	int err = -ENOMEM;

	if (f == NULL)
		return err;
	atomic_init(&f->holders, 1);
	f->path = strdup(entry->path);
	f->name = entry->depth == 0 ? strdup("./")
				    : strdup(entry->path + plan->top_bytes);
	if (f->path != NULL && f->name != NULL)
		err = extant_file_open(plan->export->fs, &at, entry->name,
			EXTANT_NOFOLLOW, &f->file);
	if (err != 0) {
		export_file_put(f);
		return err;
	}
	extant_file_stat(f->file, &f->st);
	*out = f;
	return 0;
}

/* ---- segments -------------------------------------------------------------- */

static int segment_add(struct export_file *f, uint64_t from, uint64_t to)
{
	size_t count = f->segment_count;

	/* Room doubles at each power of two. */
	if ((count & (count - 1)) == 0) {
		size_t room = count == 0 ? 1 : count * 2;
		struct export_segment *more =
			realloc(f->segments, room * sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		f->segments = more;
	}
	f->segments[f->segment_count++] =
		(struct export_segment){.from = from, .bytes = to - from};
	return 0;
}

/* Where @f has data. */
static int segments_find(struct export_file *f)
{
	uint64_t size = f->st.size;
	uint64_t at = 0;

	while (at < size) {
		uint64_t from;
		uint64_t to = size;
		int err = extant_seek_data(f->file, at, &from);

		if (err == -ENXIO || (err == 0 && from >= size))
			return 0;
		if (err == 0 && f->segment_count + 1 < EXPORT_SEGMENTS_MAX)
			err = extant_seek_hole(f->file, from, &to);
		if (err != 0)
			return err;
		if (to > size)
			to = size;
		err = segment_add(f, from, to);
		if (err != 0)
			return err;
		at = to;
	}
	return 0;
}

/* ---- items ----------------------------------------------------------------- */

/* False: it all ends, or there was no memory. */
static bool item_put(struct plan *plan, struct export_file *f, bool first,
	uint64_t from, size_t bytes)
{
	struct export_item *item = calloc(1, sizeof(*item));

	if (item == NULL) {
		export_fail(plan->export, f->path, -ENOMEM);
		return false;
	}
	*item = (struct export_item){
		.item.bytes = bytes,
		.file = f,
		.first = first,
		.from = from,
		.bytes = bytes,
	};
	export_file_hold(f);
	return ordered_put(plan->ordered, &item->item);
}

/* All items of @f. */
static bool file_put(struct plan *plan, struct export_file *f)
{
	bool first = true;
	bool going = true;

	for (size_t i = 0; going && i < f->segment_count; i++) {
		uint64_t from = f->segments[i].from;
		uint64_t left = f->segments[i].bytes;

		for (; going && left > 0; first = false) {
			size_t bytes = left < EXPORT_PIECE_BYTES
					       ? (size_t)left
					       : EXPORT_PIECE_BYTES;

			going = item_put(plan, f, first, from, bytes);
			from += bytes;
			left -= bytes;
		}
	}
	if (going && first)
		going = item_put(plan, f, true, 0, 0);
	return going;
}

/* ---- links ----------------------------------------------------------------- */

static bool has_names(const struct export_file *f)
{
	return f->st.link_count > 1 && !S_ISDIR(f->st.mode);
}

/* The name that @f is in the archive under already goes to f->link. */
static int link_find(const struct plan *plan, struct export_file *f)
{
	const char *name =
		has_names(f) ? inomap_find(&plan->export->names, f->st.ino)
			     : NULL;

	if (name == NULL)
		return 0;
	f->link = strdup(name);
	return f->link != NULL ? 0 : -ENOMEM;
}

static int link_add(const struct plan *plan, const struct export_file *f)
{
	char *name = strdup(f->name);
	int err = name != NULL
			  ? inomap_add(&plan->export->names, f->st.ino, name)
			  : -ENOMEM;

	if (err != 0)
		free(name);
	return err;
}

/* All that is to be known of @f before it is read. */
static int file_plan(const struct plan *plan, struct export_file *f)
{
	int err = link_find(plan, f);

	if (err != 0 || f->link != NULL)
		return err;
	if (S_ISREG(f->st.mode))
		err = segments_find(f);
	if (err == 0 && has_names(f))
		err = link_add(plan, f);
	return err;
}

/* ---- the walk -------------------------------------------------------------- */

/* False: it all ends. */
static bool entry_plan(
	struct plan *plan, struct walk *walk, const struct walk_entry *entry)
{
	struct export_file *f = NULL;
	bool going = true;
	int err = file_open(plan, entry, &f);

	if (err == 0 && S_ISSOCK(f->st.mode)) {
		(void)tool_fail(plan->export->image,
			"%s: left out: a socket, for which archives have no "
			"form",
			f->path);
		goto out_put;
	}
	if (err == 0)
		err = file_plan(plan, f);
	if (err == 0)
		going = file_put(plan, f);
	else
		walk_complain(walk, err);
out_put:
	if (f != NULL)
		export_file_put(f);
	return going;
}

void export_plan(void *arg, struct ordered *ordered)
{
	struct plan plan = {.export = arg, .ordered = ordered};
	struct export *export = arg;
	struct walk_opts opts = {.image = export->image};
	const struct walk_entry *entry;
	struct walk *walk;
	int err = walk_open(export->fs, &opts, export->top, &walk);

	if (err != 0) {
		export_fail(export, export->top, err);
		return;
	}
	while ((entry = walk_next(walk)) != NULL) {
		if (entry->depth == 0)
			plan.top_bytes =
				entry->path_bytes +
				(entry->path[entry->path_bytes - 1] != '/');
		if (!entry_plan(&plan, walk, entry))
			break;
	}
	(void)atomic_fetch_add_explicit(
		&export->failures, walk_failures(walk), memory_order_relaxed);
	walk_close(walk);
}
