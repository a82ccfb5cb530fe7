/* SPDX-License-Identifier: BSD-2-Clause */
/* check.c - `extant check --quick`: is a file system whole? */
#include "ext/check.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "tools/image.h"
#include "tools/json.h"
#include "tools/show.h"

static const char usage[] =
	"Usage: extant check --quick [options] IMAGE\n"
	"\n"
	"Looks for damage: superblock and its copies, journal, checksums and\n"
	"counts of groups, bitmaps and inodes in use, extent trees, orphans.\n"
	"Names and directories are not looked at: that is e2fsck's.  Nothing "
	"is\n"
	"written.  Each finding is one line; exit status 0: none, 1: some.\n"
	"\n"
	"  --quick              the only check that there is yet\n"
	"  --threads N          as many at once (as there are CPUs)\n"
	"  --json               an object\n" IMAGE_USAGE;

enum { OPTION_QUICK = IMAGE_OPTION_OWN, OPTION_THREADS, OPTION_JSON };

struct check_command {
	const char *image;
	struct extant_opts opts;
	bool quick;
	bool as_json;
	unsigned threads;
	struct show show;
	struct json json;
	bool open; /* the JSON object */
};

/* ---- findings ---------------------------------------------------------------- */

static const char *part_name(enum ext_check_part part)
{
	static const char *const names[] = {
		[EXT_CHECK_SUPER] = "superblock",
		[EXT_CHECK_JOURNAL] = "journal",
		[EXT_CHECK_GROUP] = "group",
		[EXT_CHECK_INODE] = "inode",
		[EXT_CHECK_ORPHAN] = "orphans",
	};

	return names[part];
}

static void found_text(
	const struct check_command *cmd, const struct ext_finding *f)
{
	show_text(&cmd->show, f->what.outside ? cmd->opts.journal : cmd->image);
	if (f->note)
		(void)fputs(": note", stdout);
	if (f->what.block != LOG_NO_BLOCK)
		(void)printf(": block %llu", (unsigned long long)f->what.block);
	if (f->what.inode)
		(void)printf(": inode %u", f->what.inode);
	(void)printf(": %s\n", f->what.why);
}

/* Nothing is printed before it is known that there is something to check. */
static void json_start(struct check_command *cmd)
{
	if (cmd->open)
		return;
	cmd->open = true;
	json_init(&cmd->json, stdout);
	json_object(&cmd->json, NULL);
	json_string(&cmd->json, "image", cmd->image);
	json_array(&cmd->json, "findings");
}

static void found_json(struct check_command *cmd, const struct ext_finding *f)
{
	struct json *json = &cmd->json;

	json_start(cmd);
	json_line(json);
	json_object(json, NULL);
	json_string(json, "part", part_name(f->part));
	json_bool(json, "note", f->note);
	if (f->what.outside)
		json_string(json, "device", cmd->opts.journal);
	if (f->what.block != LOG_NO_BLOCK)
		json_unsigned(json, "block", f->what.block);
	if (f->what.inode)
		json_unsigned(json, "inode", f->what.inode);
	json_string(json, "reason", f->what.why);
	json_end(json);
}

static void on_found(void *arg, const struct ext_finding *f)
{
	struct check_command *cmd = arg;

	if (cmd->as_json)
		found_json(cmd, f);
	else
		found_text(cmd, f);
}

/* ---- the end ------------------------------------------------------------------ */

static void end_text(
	const struct check_command *cmd, const struct ext_check_result *r)
{
	show_text(&cmd->show, cmd->image);
	if (r->findings)
		(void)printf(": %llu finding%s",
			(unsigned long long)r->findings,
			r->findings == 1 ? "" : "s");
	else
		(void)fputs(": no damage found", stdout);
	(void)printf(" in %u groups, %llu inodes in use\n", r->groups,
		(unsigned long long)r->inodes_used);
}

static void end_json(
	struct check_command *cmd, const struct ext_check_result *r)
{
	struct json *json = &cmd->json;

	json_start(cmd);
	json_end(json);
	json_unsigned(json, "count", r->findings);
	json_unsigned(json, "groups", r->groups);
	json_unsigned(json, "inodes_used", r->inodes_used);
	json_unsigned(json, "clusters_used", r->blocks_used);
	json_unsigned(json, "transactions_replayed", r->replayed);
	json_end(json);
}

/* ---- the command ---------------------------------------------------------------- */

static int check(
	struct check_command *cmd, struct blk_dev *dev, struct blk_dev *journal)
{
	const struct ext_check_opts opts = {
		.journal = journal,
		.superblock = cmd->opts.superblock,
		.superblock_bytes = cmd->opts.superblock_bytes,
		.threads = cmd->threads,
		.found = on_found,
		.arg = cmd,
	};
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct ext_check_result result;
	int err = ext_check_quick(dev, &opts, &result, &damage);

	if (err)
		return tool_fail_damage(cmd->image, err, &damage);
	if (cmd->as_json)
		end_json(cmd, &result);
	else
		end_text(cmd, &result);
	return tool_flush(result.findings ? TOOL_SOME : TOOL_OK);
}

static int take_option(void *arg, int option, const char *value)
{
	struct check_command *cmd = arg;
	uint64_t threads;

	if (option == OPTION_QUICK) {
		cmd->quick = true;
	} else if (option == OPTION_JSON) {
		cmd->as_json = true;
	} else {
		if (!image_size_parse(value, &threads) || threads == 0 ||
			threads > UINT16_MAX)
			return tool_misuse(
				&tool_check, "--threads takes no '%s'", value);
		cmd->threads = (unsigned)threads;
	}
	return 0;
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = {
		{"quick", no_argument, NULL, OPTION_QUICK},
		{"threads", required_argument, NULL, OPTION_THREADS},
		{"json", no_argument, NULL, OPTION_JSON},
		{NULL, 0, NULL, 0},
	};
	static const struct image_syntax syntax = {.command = &tool_check,
		.letters = "",
		.longs = longs,
		.option = take_option};
	struct check_command cmd = {
		.opts = EXTANT_OPTS(), .show = show_stdout(false)};
	struct blk_dev *devs[2] = {NULL, NULL};
	const char *specs[2];
	int status;
	int first;

	if (!image_parse(&syntax, argc, argv, &cmd.opts, &cmd, &first, &status))
		return status;
	if (argc - first != 1)
		return tool_misuse(&tool_check, "%s",
			argc == first ? "no IMAGE" : "more than one IMAGE");
	if (!cmd.quick)
		return tool_misuse(
			&tool_check, "there is only check --quick yet");
	cmd.image = specs[0] = argv[first];
	specs[1] = cmd.opts.journal;
	status = image_open_devices(specs, specs[1] ? 2 : 1, devs);
	if (status)
		return status;
	status = check(&cmd, devs[0], devs[1]);
	blk_close(devs[1]);
	return status;
}

const struct tool_command tool_check = {
	.name = "check", .run = run, .usage = usage};
