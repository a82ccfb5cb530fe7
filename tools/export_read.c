/* SPDX-License-Identifier: BSD-2-Clause */
/* export_read.c - `extant export`: what an item holds, read ahead. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/export.h"
#include "tools/image.h"

enum { TARGET_MAX = 65536 }; /* bytes, a block at most */

static int target_read(struct extant *fs, struct export_item *item)
{
	const struct extant_at *at = EXTANT_AT(.dir = item->file->file);
	size_t bytes = item->file->st.size;
	size_t done;
	int err;

	if (bytes > TARGET_MAX)
		return -EUCLEAN;
	item->target = malloc(bytes + 1);
	if (item->target == NULL)
		return -ENOMEM;
	err = extant_readlink(fs, at, "", item->target, bytes, &done);
	if (err != 0)
		return err;
	item->target[done] = '\0';
	return strlen(item->target) == done ? 0 : -EUCLEAN;
}

static int data_read(struct export_item *item)
{
	size_t done = 0;
	int err;

	item->data = malloc(item->bytes);
	if (item->data == NULL)
		return -ENOMEM;
	err = extant_pread(
		item->file->file, item->from, item->data, item->bytes, &done);
	if (err == 0 && done < item->bytes)
		return -EIO; /* shorter than it said */
	return err;
}

void export_read(void *arg, struct ordered_item *ordered)
{
	struct export_item *item =
		CONTAINER_OF(ordered, struct export_item, item);
	const struct export_file *f = item->file;
	struct export *export = arg;

	if (item->first && f->link == NULL) {
		item->attributes_error =
			attributes_read(export->fs, EXTANT_AT(.dir = f->file),
				"", EXTANT_EMPTY_PATH, &item->attributes);
		if (S_ISLNK(f->st.mode))
			item->error = target_read(export->fs, item);
	}
	if (item->bytes > 0)
		item->error = data_read(item);
}

void export_drop(void *arg, struct ordered_item *ordered)
{
	struct export_item *item =
		CONTAINER_OF(ordered, struct export_item, item);

	(void)arg;
	attributes_free(&item->attributes);
	export_file_put(item->file);
	free(item->target);
	free(item->data);
	free(item);
}
