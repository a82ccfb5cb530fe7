/* SPDX-License-Identifier: BSD-2-Clause */
/* tool.c - complaints, usage and images, alike in all subcommands. */
#include "tools/tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "blk/part.h"
#include "tools/progress.h"
#include "tools/show.h"

/* The text of -errno, safe with threads. */
static const char *error_text(int error)
{
	const char *text = strerrordesc_np(-error);

	return text ? text : "unknown error";
}

/* One line, whatever the names in it hold. */
static void complain(const char *file, const char *text)
{
	const struct show show = {.out = stderr, .escape = true, .end = '\n'};

	progress_hide();
	(void)fputs("extant: ", stderr);
	if (file) {
		show_text(&show, file);
		(void)fputs(": ", stderr);
	}
	show_text(&show, text);
	show_end(&show);
	progress_unhide();
}

int tool_fail(const char *file, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	complain(file, text ? text : "out of memory");
	free(text);
	return TOOL_FAILED;
}

int tool_fail_damage(
	const char *file, int error, const struct ext_damage *damage)
{
	const char *why = damage->why[0] ? damage->why : error_text(error);
	/* Reasons of the disk say it all; those of the system need a name. */
	bool named = error == -EUCLEAN || error == -EBADMSG ||
		     error == -EOPNOTSUPP || error == -ENOENT ||
		     error == -ENXIO || !damage->why[0];
	const char *sep = named ? "" : ": ";
	const char *name = named ? "" : error_text(error);

	if (damage->why[0] && damage->block != LOG_NO_BLOCK &&
		damage->inode != 0)
		return tool_fail(file, "block %llu: inode %u: %s%s%s",
			(unsigned long long)damage->block, damage->inode, why,
			sep, name);
	if (damage->why[0] && damage->block != LOG_NO_BLOCK)
		return tool_fail(file, "block %llu: %s%s%s",
			(unsigned long long)damage->block, why, sep, name);
	if (damage->why[0] && damage->inode != 0)
		return tool_fail(file, "inode %u: %s%s%s", damage->inode, why,
			sep, name);
	return tool_fail(file, "%s%s%s", why, sep, name);
}

int tool_misuse(const struct tool_command *command, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	(void)fprintf(stderr, "extant: %s; see 'extant %s --help'\n", text,
		command ? command->name : "");
	return TOOL_FAILED;
}

int tool_help(const struct tool_command *command)
{
	(void)fputs(command->usage, stdout);
	return tool_flush(TOOL_OK);
}

int tool_open(const char *spec, unsigned flags, struct blk_dev **out)
{
	char why[512] = "";
	int err = blk_open_image(spec, flags, why, sizeof(why), out);

	if (!err)
		return 0;
	if (why[0]) /* begins with the file's name */
		return tool_fail(NULL, "%s", why);
	return tool_fail(spec, "%s", error_text(err));
}

int tool_open_fs(const char *spec, struct blk_dev *dev, struct ext **out)
{
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	int err = ext_open(dev, out, &damage);

	if (!err)
		return 0;
	if (err == -EUCLEAN && part_any(dev))
		return tool_fail(
			spec, "a disk with partitions; name one as %s#N", spec);
	return tool_fail_damage(spec, err, &damage);
}

int tool_flush(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	return tool_fail("standard output", "cannot write it all");
}
