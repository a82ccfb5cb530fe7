/* SPDX-License-Identifier: BSD-2-Clause */
/* main.c - the `extant` command: one table of subcommands. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "extant/extant.h"
#include "tools/tool.h"

static const struct tool_command *const commands[] = {&tool_bench, &tool_cat,
	&tool_check, &tool_df, &tool_diff, &tool_export, &tool_find, &tool_get,
	&tool_info, &tool_journal, &tool_ls, &tool_parts, &tool_stat};

static const char usage[] =
	"Usage: extant COMMAND [options] IMAGE...\n"
	"\n"
	"Works on ext2, ext3 and ext4 file systems inside images and devices,\n"
	"without mounting them.\n"
	"\n"
	"Commands:\n"
	"  bench            measure configurations against each other\n"
	"  cat              write out the contents of files\n"
	"  check            look for damage\n"
	"  df               show how much room there is\n"
	"  diff             compare the trees of two images\n"
	"  export           write a tree as a tar archive\n"
	"  find             look for files by name, size, age, ...\n"
	"  get              copy files and directories out\n"
	"  info             show what an image holds\n"
	"  journal dump     show each block of a journal\n"
	"  journal replay   bring a file system up to date by its journal\n"
	"  ls               list directories\n"
	"  parts            show the partition table\n"
	"  stat             show all that is known of files\n"
	"\n"
	"IMAGE is a file or a block device; IMAGE#N is partition N on it.\n"
	"\n"
	"'extant COMMAND --help' describes a command, 'extant --version' says\n"
	"which version this is.  Exit status: 0 done, 1 some of it failed, 2\n"
	"wrong usage or cannot open.\n";

static const struct tool_command *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* What the library has to say, for whoever watches. */
static void on_log(void *arg, const struct log_record *r)
{
	static const char *const levels[] = {
		[LOG_DEBUG] = "debug",
		[LOG_INFO] = "note",
		[LOG_WARN] = "warning",
		[LOG_ERROR] = "error",
	};

	(void)arg;
	if (r->level == LOG_DEBUG)
		return;
	if (r->block == LOG_NO_BLOCK)
		(void)tool_fail(levels[r->level], "%s", r->text);
	else
		(void)tool_fail(levels[r->level], "block %llu: %s",
			(unsigned long long)r->block, r->text);
}

int main(int argc, char **argv)
{
	const struct tool_command *command;

	log_to(on_log, NULL);
	if (argc < 2) {
		(void)fputs(usage, stderr);
		return TOOL_FAILED;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
		strcmp(argv[1], "help") == 0) {
		command = argc > 2 ? find(argv[2]) : NULL;
		if (command)
			return tool_help(command);
		(void)fputs(usage, stdout);
		return tool_flush(TOOL_OK);
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("extant %s\n", extant_version());
		return tool_flush(TOOL_OK);
	}
	command = find(argv[1]);
	if (!command)
		return tool_fail(
			NULL, "no command '%s'; see 'extant --help'", argv[1]);
	return command->run(argc - 1, argv + 1);
}
