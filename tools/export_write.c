/* SPDX-License-Identifier: BSD-2-Clause */
/* export_write.c - `extant export`: items become entries of the archive. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/acl.h"
#include "tools/export.h"
#include "tools/image.h"
#include "tools/progress.h"

/* ---- access control lists -------------------------------------------------- */

static const int acl_tags[] = {
	[ACL_OWNER] = ARCHIVE_ENTRY_ACL_USER_OBJ,
	[ACL_USER] = ARCHIVE_ENTRY_ACL_USER,
	[ACL_OWNING_GROUP] = ARCHIVE_ENTRY_ACL_GROUP_OBJ,
	[ACL_GROUP] = ARCHIVE_ENTRY_ACL_GROUP,
	[ACL_MASK] = ARCHIVE_ENTRY_ACL_MASK,
	[ACL_OTHER] = ARCHIVE_ENTRY_ACL_OTHER,
};

static int acl_add(
	struct archive_entry *entry, int type, const struct attribute *a)
{
	struct acl_entry e;
	size_t count;

	if (!acl_count(a, &count))
		return -EUCLEAN;
	for (size_t i = 0; i < count; i++) {
		if (!acl_entry_at(a, i, &e))
			return -EUCLEAN;
		if (archive_entry_acl_add_entry(entry, type, (int)e.may,
			    acl_tags[e.kind],
			    acl_has_id(e.kind) ? (int)e.id : -1,
			    NULL) != ARCHIVE_OK)
			return -ENOMEM;
	}
	return 0;
}

/* ---- headers --------------------------------------------------------------- */

static int attribute_add(struct archive_entry *entry, const struct attribute *a)
{
	if (strcmp(a->name, ACL_ACCESS_NAME) == 0)
		return acl_add(entry, ARCHIVE_ENTRY_ACL_TYPE_ACCESS, a);
	if (strcmp(a->name, ACL_DEFAULT_NAME) == 0)
		return acl_add(entry, ARCHIVE_ENTRY_ACL_TYPE_DEFAULT, a);
	archive_entry_xattr_add_entry(entry, a->name, a->value, a->bytes);
	return 0;
}

static void attributes_add(struct export *export, struct archive_entry *entry,
	const struct export_item *item)
{
	int err = item->attributes_error;

	for (size_t i = 0; i < item->attributes.count; i++) {
		int failed = attribute_add(entry, &item->attributes.list[i]);

		if (err == 0)
			err = failed;
	}
	if (err != 0)
		export_fail(export, item->file->path, err);
}

static bool has_holes(const struct export_file *f)
{
	const struct export_segment *all = f->segments;

	return f->st.size > 0 && !(f->segment_count == 1 && all->from == 0 &&
					 all->bytes == f->st.size);
}

static void segments_add(
	struct archive_entry *entry, const struct export_file *f)
{
	for (size_t i = 0; i < f->segment_count; i++)
		archive_entry_sparse_add_entry(entry,
			(la_int64_t)f->segments[i].from,
			(la_int64_t)f->segments[i].bytes);
	/* Nothing but a hole takes an entry too. */
	if (f->segment_count == 0)
		archive_entry_sparse_add_entry(
			entry, (la_int64_t)f->st.size, 0);
}

/* The archive has decimal fractions, which libarchive writes as the whole
 * seconds and the nanoseconds that it is given: before 1970 the latter count
 * backwards.  What is left of the last second before loses its fraction. */
static void time_set(
	struct archive_entry *entry, const struct extant_time *time)
{
	int64_t seconds = time->seconds;
	long nanoseconds = time->nanoseconds;

	if (seconds < 0 && nanoseconds > 0)
		nanoseconds = seconds++ == -1 ? 0 : 1000000000 - nanoseconds;
	archive_entry_set_mtime(entry, seconds, nanoseconds);
}

static void entry_fill(struct export *export, struct archive_entry *entry,
	const struct export_item *item)
{
	const struct export_file *f = item->file;
	const struct extant_stat *st = &f->st;

	archive_entry_clear(entry);
	archive_entry_copy_pathname(entry, f->name);
	archive_entry_set_mode(entry, (mode_t)st->mode);
	archive_entry_set_uid(entry, st->uid);
	archive_entry_set_gid(entry, st->gid);
	time_set(entry, &st->mtime);
	archive_entry_set_size(entry, 0);
	if (f->link != NULL) {
		archive_entry_copy_hardlink(entry, f->link);
		return;
	}
	attributes_add(export, entry, item);
	if (item->target != NULL)
		archive_entry_copy_symlink(entry, item->target);
	if (S_ISCHR(st->mode) || S_ISBLK(st->mode)) {
		archive_entry_set_rdevmajor(entry, st->device_major);
		archive_entry_set_rdevminor(entry, st->device_minor);
	}
	if (!S_ISREG(st->mode))
		return;
	archive_entry_set_size(entry, (la_int64_t)st->size);
	if (has_holes(f))
		segments_add(entry, f);
}

/* ---- writing --------------------------------------------------------------- */

static int archive_fail(struct archive *archive)
{
	int err = archive_errno(archive);

	return err > 0 ? -err : -EIO;
}

static int data_write(struct archive *archive, const void *data, uint64_t bytes)
{
	while (bytes > 0) {
		size_t some = bytes < EXPORT_ZEROES_BYTES ? (size_t)bytes
							  : EXPORT_ZEROES_BYTES;
		la_ssize_t n = archive_write_data(archive, data, some);

		if (n <= 0)
			return archive_fail(archive);
		bytes -= (uint64_t)n;
		/* Of zeroes, the next ones are the same. */
		if (bytes > 0 && some < EXPORT_ZEROES_BYTES)
			data = (const char *)data + n;
	}
	return 0;
}

/* Up to @to; what is a hole does not get into the archive, and is not looked
 * at. */
static int hole_write(struct export *export, struct export_file *f, uint64_t to)
{
	int err = data_write(export->archive, export->zeroes, to - f->written);

	f->written = to;
	return err;
}

static int piece_write(struct export *export, const struct export_item *item)
{
	struct export_file *f = item->file;
	int err = hole_write(export, f, item->from);

	if (err != 0)
		return err;
	/* The header said how long it is. */
	if (item->error != 0) {
		export_fail(export, f->path, item->error);
		return hole_write(export, f, item->from + item->bytes);
	}
	f->written += item->bytes;
	progress_add(0, item->bytes);
	return data_write(export->archive, item->data, item->bytes);
}

/* It is not in the archive, and so cannot be linked to. */
static void file_skip(struct export *export, struct export_file *f, int err)
{
	f->skipped = true;
	export_fail(export, f->path, err);
	if (f->link == NULL && f->st.link_count > 1 &&
		inomap_find(&export->lost, f->st.ino) == NULL)
		/* Without memory, a link leads nowhere. */
		(void)!inomap_add(&export->lost, f->st.ino, export);
}

static int header_write(struct export *export, struct archive_entry *entry,
	const struct export_item *item)
{
	struct export_file *f = item->file;
	int result;

	if (item->error != 0) {
		file_skip(export, f, item->error);
		return 0;
	}
	if (f->link != NULL && inomap_find(&export->lost, f->st.ino) != NULL) {
		file_skip(export, f, -EIO);
		return 0;
	}
	entry_fill(export, entry, item);
	result = archive_write_header(export->archive, entry);
	/* A warning says that a name is not UTF-8: it is marked as such. */
	if (result == ARCHIVE_OK || result == ARCHIVE_WARN) {
		progress_add(1, 0);
		return 0;
	}
	if (result == ARCHIVE_FATAL)
		return archive_fail(export->archive);
	file_skip(export, f, archive_fail(export->archive));
	return 0;
}

/* Whether @item is the last of its file. */
static bool is_last(const struct export_item *item)
{
	const struct export_file *f = item->file;
	const struct export_segment *last =
		f->segment_count > 0 ? &f->segments[f->segment_count - 1]
				     : NULL;

	return last == NULL ||
	       item->from + item->bytes == last->from + last->bytes;
}

static int item_write(struct export *export, struct archive_entry *entry,
	const struct export_item *item)
{
	struct export_file *f = item->file;
	int err = item->first ? header_write(export, entry, item) : 0;

	if (err != 0 || f->skipped || f->link != NULL || !S_ISREG(f->st.mode))
		return err;
	err = piece_write(export, item);
	if (err == 0 && is_last(item))
		err = hole_write(export, f, f->st.size);
	return err;
}

int export_write(struct export *export, struct ordered *ordered)
{
	struct archive_entry *entry = archive_entry_new();
	struct ordered_item *next;
	int err = entry != NULL ? 0 : -ENOMEM;

	while (err == 0 && (next = ordered_take(ordered)) != NULL) {
		err = item_write(export, entry,
			CONTAINER_OF(next, struct export_item, item));
		export_drop(export, next);
	}
	archive_entry_free(entry);
	return err;
}
