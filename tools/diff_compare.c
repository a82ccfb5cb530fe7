/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_compare.c - `extant diff`: in what do two files differ? */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/attributes.h"
#include "tools/diff.h"
#include "tools/image.h"
#include "tools/progress.h"

enum { TARGET_MAX = 65536 }; /* bytes, a block at most */

/* ---- changes --------------------------------------------------------------- */

static char *copy_of(const char *text)
{
	return text != NULL ? strdup(text) : NULL;
}

void diff_change_add(struct diff *diff, struct diff_item *item,
	const char *what, const char *name, const char *old, const char *new)
{
	struct diff_change *more = realloc(
		item->changes, (item->change_count + 1) * sizeof(*more));

	if (more == NULL) {
		diff_fail(diff, 0, item->path, -ENOMEM);
		return;
	}
	item->changes = more;
	item->changes[item->change_count++] = (struct diff_change){
		.what = what,
		.name = copy_of(name),
		.old = copy_of(old),
		.new = copy_of(new),
	};
}

void diff_drop(void *arg, struct ordered_item *ordered)
{
	struct diff_item *item = CONTAINER_OF(ordered, struct diff_item, item);

	(void)arg;
	for (size_t i = 0; i < item->change_count; i++) {
		free(item->changes[i].name);
		free(item->changes[i].old);
		free(item->changes[i].new);
	}
	extant_file_close(item->files[0]);
	extant_file_close(item->files[1]);
	free(item->changes);
	free(item->path);
	free(item);
}

static void number_compare(struct diff *diff, struct diff_item *item,
	const char *what, uint64_t old, uint64_t new)
{
	char a[DIFF_VALUE_MAX];
	char b[DIFF_VALUE_MAX];

	if (old == new)
		return;
	(void)snprintf(a, sizeof(a), "%" PRIu64, old);
	(void)snprintf(b, sizeof(b), "%" PRIu64, new);
	diff_change_add(diff, item, what, NULL, a, b);
}

/* ---- what stat says -------------------------------------------------------- */

static void mode_compare(struct diff *diff, struct diff_item *item)
{
	char text[2][DIFF_VALUE_MAX];

	if ((item->stats[0].mode & 07777) == (item->stats[1].mode & 07777))
		return;
	for (unsigned i = 0; i < 2; i++)
		(void)snprintf(text[i], sizeof(text[i]), "%04o",
			item->stats[i].mode & 07777);
	diff_change_add(diff, item, "mode", NULL, text[0], text[1]);
}

static void device_compare(struct diff *diff, struct diff_item *item)
{
	char text[2][DIFF_VALUE_MAX];

	for (unsigned i = 0; i < 2; i++)
		(void)snprintf(text[i], sizeof(text[i]), "%u:%u",
			item->stats[i].device_major,
			item->stats[i].device_minor);
	if (strcmp(text[0], text[1]) != 0)
		diff_change_add(diff, item, "device", NULL, text[0], text[1]);
}

static void time_compare(struct diff *diff, struct diff_item *item)
{
	const struct extant_time *a = &item->stats[0].mtime;
	const struct extant_time *b = &item->stats[1].mtime;
	char text[2][SHOW_TIME_MAX];

	if (a->seconds == b->seconds && a->nanoseconds == b->nanoseconds)
		return;
	diff_change_add(diff, item, "mtime", NULL, show_time(text[0], *a, true),
		show_time(text[1], *b, true));
}

static void stat_compare(struct diff *diff, struct diff_item *item)
{
	const struct extant_stat *a = &item->stats[0];
	const struct extant_stat *b = &item->stats[1];

	mode_compare(diff, item);
	if (diff->options.owners) {
		number_compare(diff, item, "uid", a->uid, b->uid);
		number_compare(diff, item, "gid", a->gid, b->gid);
	}
	if (S_ISREG(a->mode))
		number_compare(diff, item, "size", a->size, b->size);
	if (S_ISCHR(a->mode) || S_ISBLK(a->mode))
		device_compare(diff, item);
	if (diff->options.times)
		time_compare(diff, item);
}

/* ---- symlinks -------------------------------------------------------------- */

/* The target of the symlink in tree @side, to be freed; NULL: told. */
static char *target_read(
	struct diff *diff, const struct diff_item *item, unsigned side)
{
	uint64_t bytes = item->stats[side].size;
	char *target = bytes <= TARGET_MAX ? calloc(1, bytes + 1) : NULL;
	int err = bytes <= TARGET_MAX ? -ENOMEM : -EUCLEAN;
	size_t done;

	if (target != NULL)
		err = extant_readlink(diff->sides[side].fs,
			EXTANT_AT(.dir = item->files[side]), "", target, bytes,
			&done);
	if (err == 0)
		return target;
	diff_fail(diff, side, item->path, err);
	free(target);
	return NULL;
}

static void target_compare(struct diff *diff, struct diff_item *item)
{
	char *a = target_read(diff, item, 0);
	char *b = target_read(diff, item, 1);

	if (a != NULL && b != NULL && strcmp(a, b) != 0)
		diff_change_add(diff, item, "target", NULL, a, b);
	free(a);
	free(b);
}

/* ---- contents -------------------------------------------------------------- */

/* Where the next data begins from @at on in tree @side; @size if there is none
 * any more. */
static int data_next(
	const struct diff_item *item, unsigned side, uint64_t at, uint64_t *out)
{
	uint64_t size = item->stats[side].size;
	int err = extant_seek_data(item->files[side], at, out);

	if (err == -ENXIO || (err == 0 && *out > size)) {
		*out = size;
		return 0;
	}
	return err;
}

/* Both pieces from @at on; *@same is how much of their beginnings is equal. */
static int pieces_compare(struct diff *diff, struct diff_item *item,
	unsigned char *pieces, uint64_t at, size_t bytes, size_t *same)
{
	const unsigned char *other = pieces + DIFF_PIECE_BYTES;

	for (unsigned i = 0; i < 2; i++) {
		int err = image_pread_all(item->files[i], at,
			pieces + i * (size_t)DIFF_PIECE_BYTES, bytes);

		if (err != 0) {
			diff_fail(diff, i, item->path, err);
			return err;
		}
	}
	*same = bytes;
	if (memcmp(pieces, other, bytes) == 0)
		return 0;
	for (*same = 0; pieces[*same] == other[*same];)
		(*same)++;
	return 0;
}

/* The next place from *@at on where one has data. */
static int data_find(struct diff *diff, struct diff_item *item, uint64_t *at)
{
	uint64_t next[2];

	for (unsigned i = 0; i < 2; i++) {
		int err = data_next(item, i, *at, &next[i]);

		if (err != 0) {
			diff_fail(diff, i, item->path, err);
			return err;
		}
	}
	*at = next[0] < next[1] ? next[0] : next[1];
	return 0;
}

static void contents_scan(
	struct diff *diff, struct diff_item *item, unsigned char *pieces)
{
	uint64_t size = item->stats[0].size;
	uint64_t at = 0;

	while (data_find(diff, item, &at) == 0 && at < size) {
		size_t bytes = size - at < DIFF_PIECE_BYTES
				       ? (size_t)(size - at)
				       : DIFF_PIECE_BYTES;
		char offset[DIFF_VALUE_MAX];
		size_t same;

		if (pieces_compare(diff, item, pieces, at, bytes, &same) != 0)
			return;
		progress_add(0, 2 * bytes);
		at += same;
		if (same == bytes)
			continue;
		(void)snprintf(offset, sizeof(offset), "%" PRIu64, at);
		diff_change_add(diff, item, "content", offset, NULL, NULL);
		return;
	}
}

/* Of files of one size. */
static void contents_compare(struct diff *diff, struct diff_item *item)
{
	unsigned char *pieces;

	if (item->stats[0].size == 0)
		return;
	pieces = malloc(2 * (size_t)DIFF_PIECE_BYTES);
	if (pieces != NULL)
		contents_scan(diff, item, pieces);
	else
		diff_fail(diff, 0, item->path, -ENOMEM);
	free(pieces);
}

/* ---- attributes ------------------------------------------------------------ */

static bool is_equal(const struct attribute *a, const struct attribute *b)
{
	return a->bytes == b->bytes &&
	       (a->bytes == 0 || memcmp(a->value, b->value, a->bytes) == 0);
}

/* Whether the @i-th of one comes before the @k-th of the other; one is there. */
static int attribute_order(const struct attributes both[2], size_t i, size_t k)
{
	if (i == both[0].count)
		return 1;
	if (k == both[1].count)
		return -1;
	return strcmp(both[0].list[i].name, both[1].list[k].name);
}

/* Both are sorted. */
static void attributes_merge(struct diff *diff, struct diff_item *item,
	const struct attributes both[2])
{
	size_t i = 0;
	size_t k = 0;

	while (i < both[0].count || k < both[1].count) {
		int order = attribute_order(both, i, k);
		const struct attribute *a =
			order <= 0 ? &both[0].list[i] : &both[1].list[k];

		if (order < 0)
			diff_change_add(diff, item, "attribute removed",
				a->name, NULL, NULL);
		else if (order > 0)
			diff_change_add(diff, item, "attribute added", a->name,
				NULL, NULL);
		else if (!is_equal(a, &both[1].list[k]))
			diff_change_add(
				diff, item, "attribute", a->name, NULL, NULL);
		i += order <= 0;
		k += order >= 0;
	}
}

static void attributes_compare(struct diff *diff, struct diff_item *item)
{
	struct attributes both[2] = {{.names = NULL}, {.names = NULL}};
	bool whole = true;

	for (unsigned i = 0; i < 2; i++) {
		int err = attributes_read(diff->sides[i].fs,
			EXTANT_AT(.dir = item->files[i]), "", EXTANT_EMPTY_PATH,
			&both[i]);

		if (err != 0) {
			diff_fail(diff, i, item->path, err);
			whole = false;
		}
	}
	if (whole)
		attributes_merge(diff, item, both);
	attributes_free(&both[0]);
	attributes_free(&both[1]);
}

/* ---- all of it ------------------------------------------------------------- */

void diff_compare(void *arg, struct ordered_item *ordered)
{
	struct diff_item *item = CONTAINER_OF(ordered, struct diff_item, item);
	const struct extant_stat *a = &item->stats[0];
	const struct extant_stat *b = &item->stats[1];
	struct diff *diff = arg;

	progress_add(1, 0);
	if (item->files[0] == NULL || item->files[1] == NULL)
		return;
	if ((a->mode & S_IFMT) != (b->mode & S_IFMT)) {
		diff_change_add(diff, item, "type", NULL,
			show_type_name(a->mode), show_type_name(b->mode));
		return;
	}
	stat_compare(diff, item);
	if (diff->options.xattrs)
		attributes_compare(diff, item);
	if (S_ISLNK(a->mode))
		target_compare(diff, item);
	if (S_ISREG(a->mode) && a->size == b->size)
		contents_compare(diff, item);
}
