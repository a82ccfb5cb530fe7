/* SPDX-License-Identifier: BSD-2-Clause */
/* info.c - `extant info`: what is on an image. */
#include "tools/info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "blk/known.h"
#include "tools/image.h"
#include "tools/parts.h"

static const char usage[] =
	"Usage: extant info [--json] [options] IMAGE\n"
	"\n"
	"Shows what IMAGE holds: a file system, by its superblock and its\n"
	"journal's; a journal for another device; or a disk, by its "
	"partitions.\n"
	"\n"
	"  --json               an object\n"
	"  --superblock N       use the copy of the superblock in block N\n"
	"  --superblock-size B  ... of a file system with blocks of B bytes\n"
	"  --journal FILE       the journal is on FILE, outside the image\n"
	"  --help               this text\n";

struct info_command {
	const char *image;
	struct extant_opts opts;
	bool as_json;
};

/* ---- a disk, or nothing that is known -------------------------------------------- */

static void put_disk(const struct info_command *cmd, struct blk_dev *dev,
	const struct part_table *table)
{
	const struct show show = show_stdout(false);
	struct json json;

	if (cmd->as_json) {
		json_init(&json, stdout);
		json_object(&json, NULL);
		json_string(&json, "image", cmd->image);
		json_string(&json, "kind", "disk");
		parts_json(&json, dev, table);
		json_end(&json);
		return;
	}
	show_text(&show, cmd->image);
	(void)printf(": a disk with partitions (%s); name one as ",
		table->scheme == PART_GPT ? "GPT" : "MBR");
	show_text(&show, cmd->image);
	(void)fputs("#N\n", stdout);
	parts_text(dev, table);
}

/* @err and @damage say why this is no file system. */
static int not_ext(const struct info_command *cmd, struct blk_dev *dev, int err,
	const struct ext_damage *damage)
{
	struct part_table *table = malloc(sizeof(*table));
	const struct known *known;
	int status = TOOL_OK;

	if (!table)
		return tool_fail(NULL, "out of memory");
	if (!part_read(dev, table) && table->count > 0)
		put_disk(cmd, dev, table);
	else if (err == -EUCLEAN && !known_find(dev, &known) && known)
		status = tool_fail(cmd->image,
			"%s, not one of ext2, ext3 or ext4", known->what);
	else
		status = tool_fail_damage(cmd->image, err, damage);
	free(table);
	return status;
}

/* ---- the command ------------------------------------------------------------------- */

static int put_ext(const struct info_command *cmd, struct blk_dev *dev,
	struct blk_dev *outside, const struct ext_about *about)
{
	struct sheet sheet;

	sheet_begin(&sheet, cmd->as_json);
	if (cmd->as_json) {
		json_string(&sheet.json, "image", cmd->image);
	} else {
		show_text(&sheet.show, cmd->image);
		show_end(&sheet.show);
	}
	info_super(&sheet, about);
	info_journal(&sheet, dev, outside, about);
	sheet_end(&sheet);
	return tool_flush(TOOL_OK);
}

static int look(const struct info_command *cmd, struct blk_dev *dev,
	struct blk_dev *outside)
{
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct ext_about about;
	int err = ext_about_read(dev, cmd->opts.superblock,
		cmd->opts.superblock_bytes, &about, &damage);

	if (err)
		return tool_flush(not_ext(cmd, dev, err, &damage));
	return put_ext(cmd, dev, outside, &about);
}

static int take_option(void *arg, int option, const char *value)
{
	struct info_command *cmd = arg;

	(void)option;
	(void)value;
	cmd->as_json = true;
	return 0;
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, IMAGE_OPTION_OWN},
		{NULL, 0, NULL, 0},
	};
	static const struct image_syntax syntax = {.command = &tool_info,
		.letters = "",
		.longs = longs,
		.option = take_option};
	struct info_command cmd = {.opts = EXTANT_OPTS()};
	struct blk_dev *devs[2] = {NULL, NULL};
	const char *specs[2];
	int status;
	int first;

	if (!image_parse(&syntax, argc, argv, &cmd.opts, &cmd, &first, &status))
		return status;
	if (argc - first != 1)
		return tool_misuse(&tool_info, "%s",
			argc == first ? "no IMAGE" : "more than one IMAGE");
	specs[0] = cmd.image = argv[first];
	specs[1] = cmd.opts.journal;
	/* The zone's file is out of reach later. */
	tzset();
	status = image_open_devices(specs, specs[1] ? 2 : 1, devs);
	if (status)
		return status;
	status = look(&cmd, devs[0], devs[1]);
	blk_close(devs[1]);
	blk_close(devs[0]);
	return status;
}

const struct tool_command tool_info = {
	.name = "info", .run = run, .usage = usage};
