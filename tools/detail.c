/* SPDX-License-Identifier: BSD-2-Clause */
/* detail.c - see detail.h. */
#include "tools/detail.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cc.h"

/* ---- symlinks ------------------------------------------------------------ */

int detail_target(const struct detail *file, char **out)
{
	size_t bytes = (size_t)file->stat->size;
	size_t done = 0;
	char *target;
	int err;

	/* A block holds the longest, whatever the size says. */
	if (file->stat->size > UINT16_MAX)
		return -EUCLEAN;
	target = malloc(bytes + 1);
	if (target == NULL)
		return -ENOMEM;
	err = extant_readlink(
		file->fs, file->at, file->name, target, bytes, &done);
	if (err != 0) {
		free(target);
		return err;
	}
	target[done] = '\0';
	*out = target;
	return 0;
}

/* ---- flags --------------------------------------------------------------- */

const char *detail_flags(char to[DETAIL_FLAGS_MAX], uint32_t flags, bool all)
{
	static const struct flag {
		uint32_t bit;
		char letter;
	} letters[] = {
		{FS_SECRM_FL, 's'},
		{FS_UNRM_FL, 'u'},
		{FS_SYNC_FL, 'S'},
		{FS_DIRSYNC_FL, 'D'},
		{FS_IMMUTABLE_FL, 'i'},
		{FS_APPEND_FL, 'a'},
		{FS_NODUMP_FL, 'd'},
		{FS_NOATIME_FL, 'A'},
		{FS_COMPR_FL, 'c'},
		{FS_ENCRYPT_FL, 'E'},
		{FS_JOURNAL_DATA_FL, 'j'},
		{FS_INDEX_FL, 'I'},
		{FS_NOTAIL_FL, 't'},
		{FS_TOPDIR_FL, 'T'},
		{FS_EXTENT_FL, 'e'},
		{FS_NOCOW_FL, 'C'},
		{FS_DAX_FL, 'x'},
		{FS_CASEFOLD_FL, 'F'},
		{FS_INLINE_DATA_FL, 'N'},
		{FS_PROJINHERIT_FL, 'P'},
		{FS_VERITY_FL, 'V'},
		{FS_NOCOMP_FL, 'm'},
	};

	char *end = to;

	_Static_assert(ARRAY_COUNT(letters) < DETAIL_FLAGS_MAX, "they fit");
	for (size_t i = 0; i < ARRAY_COUNT(letters); i++) {
		if (flags & letters[i].bit)
			*end++ = letters[i].letter;
		else if (all)
			*end++ = '-';
	}
	*end = '\0';
	return to;
}

/* ---- a line -------------------------------------------------------------- */

static bool is_device(const struct extant_stat *st)
{
	return S_ISCHR(st->mode) || S_ISBLK(st->mode);
}

static void line_size(
	const struct show *show, const struct extant_stat *st, bool human)
{
	char size[SHOW_SIZE_MAX];

	if (is_device(st))
		(void)fprintf(show->out, " %4" PRIu32 ", %5" PRIu32,
			st->device_major, st->device_minor);
	else if (human)
		(void)fprintf(show->out, " %6s", show_size(size, st->size));
	else
		(void)fprintf(show->out, " %11" PRIu64, st->size);
}

int detail_line(const struct show *show, const struct detail *file, bool human)
{
	const struct extant_stat *st = file->stat;
	char mode[SHOW_MODE_MAX];
	char time[SHOW_TIME_MAX];
	char *target = NULL;
	int err = 0;

	(void)fprintf(show->out, "%s %3" PRIu32 " %5" PRIu32 " %5" PRIu32,
		show_mode(mode, st->mode), st->link_count, st->uid, st->gid);
	line_size(show, st, human);
	(void)fprintf(show->out, " %s ", show_time(time, st->mtime, false));
	show_text(show, file->path);
	if (!S_ISLNK(st->mode))
		return 0;
	err = detail_target(file, &target);
	if (err != 0)
		return err;
	(void)fputs(" -> ", show->out);
	show_text(show, target);
	free(target);
	return 0;
}

/* ---- JSON ---------------------------------------------------------------- */

void detail_json_time(
	struct json *json, const char *key, struct extant_time time)
{
	time_t seconds = (time_t)time.seconds;
	char text[SHOW_TIME_MAX];
	struct tm tm;
	size_t used;

	if (gmtime_r(&seconds, &tm) == NULL) {
		json_signed(json, key, time.seconds);
		return;
	}
	used = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text + used, sizeof(text) - used, ".%09" PRIu32 "Z",
		time.nanoseconds);
	json_string(json, key, text);
}

static void json_mode(struct json *json, uint32_t mode)
{
	char text[SHOW_MODE_MAX];

	json_string(json, "type", show_type_name(mode));
	(void)snprintf(text, sizeof(text), "%04o", mode & 07777);
	json_string(json, "mode", text);
}

static void json_times(struct json *json, const struct extant_stat *st)
{
	detail_json_time(json, "mtime", st->mtime);
	detail_json_time(json, "atime", st->atime);
	detail_json_time(json, "ctime", st->ctime);
	if (st->crtime.seconds != 0 || st->crtime.nanoseconds != 0)
		detail_json_time(json, "crtime", st->crtime);
}

int detail_json(struct json *json, const struct detail *file)
{
	const struct extant_stat *st = file->stat;
	char flags[DETAIL_FLAGS_MAX];
	char *target = NULL;
	int err = 0;

	json_string(json, "path", file->path);
	json_unsigned(json, "ino", st->ino);
	json_mode(json, st->mode);
	json_unsigned(json, "links", st->link_count);
	json_unsigned(json, "uid", st->uid);
	json_unsigned(json, "gid", st->gid);
	json_unsigned(json, "size", st->size);
	json_unsigned(json, "blocks", st->blocks);
	if (is_device(st)) {
		json_unsigned(json, "major", st->device_major);
		json_unsigned(json, "minor", st->device_minor);
	}
	json_times(json, st);
	json_string(json, "flags", detail_flags(flags, st->flags, false));
	json_unsigned(json, "generation", st->generation);
	json_unsigned(json, "project", st->project);
	if (!S_ISLNK(st->mode))
		return 0;
	err = detail_target(file, &target);
	if (err == 0)
		json_string(json, "target", target);
	free(target);
	return err;
}
