/* SPDX-License-Identifier: BSD-2-Clause */
/* stat.c - `extant stat`: all that is known of files. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/attributes.h"
#include "tools/detail.h"
#include "tools/image.h"

static const char usage[] =
	"Usage: extant stat [options] IMAGE PATH...\n"
	"\n"
	"Shows all that is known of files: inode, type, mode, owners, times, "
	"flags,\n"
	"extended attributes, ACLs, and where there are data and holes.  A "
	"symlink is\n"
	"not followed.\n"
	"\n"
	"  -L, --dereference    follow a symlink at the end\n"
	"  --json               an array of objects\n" IMAGE_USAGE;

struct stat_command {
	struct extant *fs;
	const char *image;
	struct show show;
	struct json json;
	bool as_json;
	bool follow;
	bool told;
	int status;
};

/* Where bytes are, and where none were written. */
struct extents {
	uint64_t piece_count; /* of data */
	uint64_t data_bytes;
	uint64_t hole_count;
	uint64_t hole_bytes;
};

static int extents_count(
	struct stat_command *cmd, const char *path, struct extents *out)
{
	struct extant_file *file;
	struct extant_stat st;
	uint64_t at = 0;
	int err = extant_file_open(
		cmd->fs, NULL, path, cmd->follow ? 0 : EXTANT_NOFOLLOW, &file);

	if (err != 0)
		return err;
	extant_file_stat(file, &st);
	while (at < st.size) {
		uint64_t data = st.size;
		uint64_t hole = st.size;

		err = extant_seek_data(file, at, &data);
		if (err == 0)
			err = extant_seek_hole(file, data, &hole);
		if (err != 0 && err != -ENXIO)
			break;
		err = 0;
		out->hole_count += data > at;
		out->hole_bytes += data - at;
		out->piece_count += hole > data;
		out->data_bytes += hole - data;
		at = hole;
	}
	extant_file_close(file);
	return err;
}

/* ---- for people ---------------------------------------------------------- */

static void put_time(const struct stat_command *cmd, const char *what,
	struct extant_time time)
{
	char text[SHOW_TIME_MAX];

	(void)fprintf(
		cmd->show.out, "%9s: %s\n", what, show_time(text, time, true));
}

static void put_numbers(
	const struct stat_command *cmd, const struct extant_stat *st)
{
	char mode[SHOW_MODE_MAX];
	char flags[DETAIL_FLAGS_MAX];
	FILE *out = cmd->show.out;

	(void)fprintf(out, "     Type: %s", show_type_name(st->mode));
	if (S_ISCHR(st->mode) || S_ISBLK(st->mode))
		(void)fprintf(out, " %" PRIu32 ",%" PRIu32, st->device_major,
			st->device_minor);
	(void)fprintf(out,
		"\n     Size: %" PRIu64 " bytes in %" PRIu64
		" sectors of 512 bytes\n",
		st->size, st->blocks);
	(void)fprintf(out,
		"    Inode: %" PRIu64 ", generation %" PRIu32 "\n"
		"    Links: %" PRIu32 "\n",
		st->ino, st->generation, st->link_count);
	(void)fprintf(out,
		"     Mode: %04o %s\n"
		"    Owner: uid %" PRIu32 ", gid %" PRIu32 ", project %" PRIu32
		"\n",
		st->mode & 07777, show_mode(mode, st->mode), st->uid, st->gid,
		st->project);
	put_time(cmd, "Accessed", st->atime);
	put_time(cmd, "Modified", st->mtime);
	put_time(cmd, "Changed", st->ctime);
	if (st->crtime.seconds != 0 || st->crtime.nanoseconds != 0)
		put_time(cmd, "Created", st->crtime);
	(void)fprintf(
		out, "    Flags: %s\n", detail_flags(flags, st->flags, true));
}

static int put_extents(struct stat_command *cmd, const char *path)
{
	struct extents e = {0};
	int err = extents_count(cmd, path, &e);

	if (err == 0)
		(void)fprintf(cmd->show.out,
			"     Data: %" PRIu64 " bytes in %" PRIu64
			" pieces; %" PRIu64 " bytes in %" PRIu64 " holes\n",
			e.data_bytes, e.piece_count, e.hole_bytes,
			e.hole_count);
	return err;
}

static int put_text(struct stat_command *cmd, const struct detail *file,
	const struct attributes *attributes)
{
	char *target = NULL;
	int err = 0;

	if (cmd->told)
		(void)putc('\n', cmd->show.out);
	cmd->told = true;
	(void)fputs("     Path: ", cmd->show.out);
	show_text(&cmd->show, file->path);
	if (S_ISLNK(file->stat->mode)) {
		err = detail_target(file, &target);
		if (err == 0) {
			(void)fputs(" -> ", cmd->show.out);
			show_text(&cmd->show, target);
			free(target);
		}
	}
	show_end(&cmd->show);
	put_numbers(cmd, file->stat);
	attributes_show(attributes, &cmd->show);
	if (err == 0 && S_ISREG(file->stat->mode))
		err = put_extents(cmd, file->path);
	return err;
}

/* ---- for programs -------------------------------------------------------- */

static int json_extents(struct stat_command *cmd, const char *path)
{
	struct json *json = &cmd->json;
	struct extents e = {0};
	int err = extents_count(cmd, path, &e);

	if (err != 0)
		return err;
	json_object(json, "data");
	json_unsigned(json, "bytes", e.data_bytes);
	json_unsigned(json, "pieces", e.piece_count);
	json_unsigned(json, "hole_bytes", e.hole_bytes);
	json_unsigned(json, "holes", e.hole_count);
	json_end(json);
	return 0;
}

static int put_json(struct stat_command *cmd, const struct detail *file,
	const struct attributes *attributes)
{
	struct json *json = &cmd->json;
	int err;

	json_line(json);
	json_object(json, NULL);
	err = detail_json(json, file);
	json_unsigned(json, "block_bytes", file->stat->block_bytes);
	attributes_json(attributes, json);
	if (err == 0 && S_ISREG(file->stat->mode))
		err = json_extents(cmd, file->path);
	json_end(json);
	return err;
}

/* ---- the command --------------------------------------------------------- */

static int look_at(struct stat_command *cmd, const char *path)
{
	unsigned flags = cmd->follow ? 0 : EXTANT_NOFOLLOW;
	struct attributes attributes = {0};
	struct extant_stat st;
	struct detail file = {
		.fs = cmd->fs, .name = path, .path = path, .stat = &st};
	int err = extant_stat(cmd->fs, NULL, path, flags, &st);
	int later;

	if (err != 0)
		return err;
	/* What there is of an inode that is damaged elsewhere is still told. */
	later = attributes_read(cmd->fs, NULL, path, flags, &attributes);
	err = cmd->as_json ? put_json(cmd, &file, &attributes)
			   : put_text(cmd, &file, &attributes);
	attributes_free(&attributes);
	return err != 0 ? err : later;
}

static int option(void *arg, int c, const char *value)
{
	struct stat_command *cmd = arg;

	(void)value;
	if (c == 'L')
		cmd->follow = true;
	else
		cmd->as_json = true;
	return 0;
}

static void look_at_all(struct stat_command *cmd, char **paths)
{
	if (cmd->as_json)
		json_array(&cmd->json, NULL);
	for (; *paths != NULL; paths++) {
		int err = look_at(cmd, *paths);

		if (err == 0)
			continue;
		image_complain(cmd->image, *paths, err);
		cmd->status = TOOL_SOME;
	}
	if (cmd->as_json)
		json_end(&cmd->json);
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = {
		{"dereference", no_argument, NULL, 'L'},
		{"json", no_argument, NULL, IMAGE_OPTION_OWN},
		{NULL, 0, NULL, 0},
	};
	static const struct image_syntax syntax = {.command = &tool_stat,
		.letters = "L",
		.longs = longs,
		.option = option};
	struct extant_opts opts = EXTANT_OPTS();
	struct stat_command cmd = {.status = TOOL_OK};
	int status;
	int first;

	if (!image_parse(&syntax, argc, argv, &opts, &cmd, &first, &status))
		return status;
	if (argc - first < 2)
		return tool_misuse(&tool_stat, "%s",
			argc == first ? "no IMAGE" : "no PATH");
	cmd.image = argv[first];
	status = image_open(cmd.image, &opts, NULL, &cmd.fs);
	if (status != 0)
		return status;
	cmd.show = show_stdout(false);
	json_init(&cmd.json, stdout);
	look_at_all(&cmd, argv + first + 1);
	(void)extant_close(cmd.fs);
	return tool_flush(cmd.status);
}

const struct tool_command tool_stat = {
	.name = "stat", .run = run, .usage = usage};
