/* SPDX-License-Identifier: BSD-2-Clause */
/* parts.c - `extant parts`: the partition table of an image. */
#include "tools/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/image.h"
#include "tools/show.h"

static const char usage[] =
	"Usage: extant parts [--json] IMAGE\n"
	"\n"
	"Shows the partition table of IMAGE, MBR or GPT, and what is on each\n"
	"partition.  Offsets are in bytes; IMAGE#N names partition N.\n"
	"\n"
	"  --json  an object\n"
	"  --help  this text\n";

static void put_text(
	const char *image, struct blk_dev *dev, const struct part_table *table)
{
	const struct show show = show_stdout(false);
	struct holding h;

	show_text(&show, image);
	if (table->scheme != PART_NONE) {
		(void)printf(": %s, %u partition%s\n",
			table->scheme == PART_GPT ? "GPT" : "MBR", table->count,
			table->count == 1 ? "" : "s");
		parts_text(dev, table);
		return;
	}
	holding_find(dev, &h);
	(void)fputs(": no partition table", stdout);
	if (h.kind[0]) {
		(void)printf("; all of it is %s", h.kind);
		if (h.label[0]) {
			(void)fputs(", label ", stdout);
			show_text(&show, h.label);
		}
	}
	show_end(&show);
}

static void put_json(
	const char *image, struct blk_dev *dev, const struct part_table *table)
{
	struct json json;

	json_init(&json, stdout);
	json_object(&json, NULL);
	json_string(&json, "image", image);
	parts_json(&json, dev, table);
	json_end(&json);
}

/* Complains itself. */
static int read_table(
	const char *image, struct blk_dev *dev, struct part_table *table)
{
	int err = part_read(dev, table);

	/* The log has said where. */
	if (err == -EUCLEAN)
		return tool_fail(image, "damaged partition table");
	return err ? tool_fail(image, "%s", strerrordesc_np(-err)) : 0;
}

static int take_option(void *arg, int option, const char *value)
{
	bool *as_json = arg;

	(void)option;
	(void)value;
	*as_json = true;
	return 0;
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, IMAGE_OPTION_OWN},
		{NULL, 0, NULL, 0},
	};
	static const struct image_syntax syntax = {.command = &tool_parts,
		.letters = "",
		.longs = longs,
		.option = take_option};
	struct extant_opts opts = EXTANT_OPTS();
	struct part_table *table;
	struct blk_dev *dev;
	bool as_json = false;
	int status;
	int first;

	if (!image_parse(&syntax, argc, argv, &opts, &as_json, &first, &status))
		return status;
	if (argc - first != 1)
		return tool_misuse(&tool_parts, "%s",
			argc == first ? "no IMAGE" : "more than one IMAGE");
	table = malloc(sizeof(*table));
	if (!table)
		return tool_fail(NULL, "out of memory");
	status = image_open_devices((const char *const *)&argv[first], 1, &dev);
	if (status)
		goto out_free;
	status = read_table(argv[first], dev, table);
	if (!status && as_json)
		put_json(argv[first], dev, table);
	else if (!status)
		put_text(argv[first], dev, table);
	status = tool_flush(status);
	blk_close(dev);
out_free:
	free(table);
	return status;
}

const struct tool_command tool_parts = {
	.name = "parts", .run = run, .usage = usage};
