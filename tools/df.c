/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * df.c - `extant df`: how much room there is in images.
 *
 * Each image is looked at by a process of its own, which gives up its rights
 * to all the others; what it prints comes back through a pipe.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/image.h"
#include "tools/json.h"
#include "tools/show.h"

static const char usage[] =
	"Usage: extant df [options] IMAGE...\n"
	"\n"
	"Shows how much room there is in the file system of each IMAGE, as df\n"
	"would of its mount.\n"
	"\n"
	"  -h, --human-readable  sizes like 4.0G\n"
	"  -i, --inodes          inodes instead of blocks\n"
	"  --json                an array of objects\n" IMAGE_USAGE;

enum { AMOUNT_MAX = 24 };

_Static_assert((int)AMOUNT_MAX >= (int)SHOW_SIZE_MAX, "any amount");

struct df {
	struct extant_opts opts;
	bool human;
	bool inodes;
	bool as_json;
	int width; /* of the names */
};

/* ---- one line -------------------------------------------------------------- */

/* In percent, rounded up, as df does. */
static void use_text(char to[8], uint64_t used, uint64_t left)
{
	double all = (double)used + (double)left;
	double percent;

	if (all == 0) {
		(void)snprintf(to, 8, "-");
		return;
	}
	percent = 100.0 * (double)used / all;
	(void)snprintf(to, 8, "%u%%",
		(unsigned)percent + (percent > (double)(unsigned)percent));
}

static const char *amount(
	const struct df *df, char to[AMOUNT_MAX], uint64_t bytes)
{
	unsigned long long kib = bytes / 1024 + (bytes % 1024 != 0);

	if (df->human)
		return show_size(to, bytes);
	(void)snprintf(to, AMOUNT_MAX, "%llu", kib);
	return to;
}

static void put_blocks(const struct df *df, const struct extant_statfs *s)
{
	char all[AMOUNT_MAX];
	char used[AMOUNT_MAX];
	char left[AMOUNT_MAX];
	char use[8];
	uint64_t taken =
		s->blocks > s->blocks_free ? s->blocks - s->blocks_free : 0;

	use_text(use, taken, s->blocks_available);
	(void)printf(" %12s %12s %12s %5s\n",
		amount(df, all, s->blocks * s->block_bytes),
		amount(df, used, taken * s->block_bytes),
		amount(df, left, s->blocks_available * s->block_bytes), use);
}

static void put_inodes(const struct extant_statfs *s)
{
	uint64_t taken =
		s->inodes > s->inodes_free ? s->inodes - s->inodes_free : 0;
	char use[8];

	use_text(use, taken, s->inodes_free);
	(void)printf(" %12llu %12llu %12llu %5s\n",
		(unsigned long long)s->inodes, (unsigned long long)taken,
		(unsigned long long)s->inodes_free, use);
}

static void put_line(
	const struct df *df, const char *image, const struct extant_statfs *s)
{
	const struct show show = show_stdout(false);
	int width = (int)strlen(image);

	show_text(&show, image);
	(void)printf("%*s", width < df->width ? df->width - width : 0, "");
	if (df->inodes)
		put_inodes(s);
	else
		put_blocks(df, s);
}

static void put_json(const char *image, const struct extant_statfs *s)
{
	struct json json;

	json_init(&json, stdout);
	json_object(&json, NULL);
	json_string(&json, "image", image);
	json_unsigned(&json, "block_bytes", s->block_bytes);
	json_unsigned(&json, "blocks", s->blocks);
	json_unsigned(&json, "blocks_free", s->blocks_free);
	json_unsigned(&json, "blocks_available", s->blocks_available);
	json_unsigned(&json, "inodes", s->inodes);
	json_unsigned(&json, "inodes_free", s->inodes_free);
	json_unsigned(&json, "name_bytes_max", s->name_bytes_max);
	json_end(&json);
}

static void put_head(const struct df *df)
{
	(void)printf("%-*s", df->width, "Image");
	if (df->inodes)
		(void)printf(" %12s %12s %12s %5s\n", "Inodes", "IUsed",
			"IFree", "IUse%");
	else
		(void)printf(" %12s %12s %12s %5s\n",
			df->human ? "Size" : "1K-blocks", "Used", "Available",
			"Use%");
}

/* ---- one image --------------------------------------------------------------- */

static int look(const struct df *df, const char *image)
{
	struct extant_statfs s;
	struct extant *fs;
	int status = image_open(image, &df->opts, NULL, &fs);
	int err;

	if (status)
		return status;
	err = extant_statfs(fs, NULL, "/", &s);
	(void)extant_close(fs);
	if (err)
		return tool_fail(image, "%s", strerrordesc_np(-err));
	if (df->as_json)
		put_json(image, &s);
	else
		put_line(df, image, &s);
	return tool_flush(TOOL_OK);
}

/* The child's part; does not return. */
static void be_child(const struct df *df, const char *image, int pipe_end)
{
	int status = TOOL_FAILED;

	if (dup2(pipe_end, STDOUT_FILENO) >= 0)
		status = look(df, image);
	_exit(status);
}

/* Copy what comes to stdout, after a comma if something went before; whether
 * anything came. */
static bool pass_on(int from, bool comma)
{
	char chunk[4096];
	bool any = false;
	ssize_t n;

	while ((n = read(from, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		if (!any && comma)
			(void)fputs(",\n", stdout);
		any = true;
		(void)fwrite(chunk, 1, (size_t)n, stdout);
	}
	return any;
}

/* The exit status of whoever looks at @image.  *@any: something was printed,
 * now or before. */
static int look_apart(const struct df *df, const char *image, bool *any)
{
	int ends[2];
	int told = 0;
	pid_t child;

	(void)fflush(NULL);
	if (pipe(ends))
		return tool_fail(image, "%s", strerrordesc_np(errno));
	child = fork();
	if (child == 0)
		be_child(df, image, ends[1]);
	(void)close(ends[1]);
	if (child > 0)
		*any |= pass_on(ends[0], df->as_json && *any);
	(void)close(ends[0]);
	if (child < 0)
		return tool_fail(image, "cannot make a process");
	while (waitpid(child, &told, 0) < 0)
		if (errno != EINTR)
			return tool_fail(image, "lost its process");
	return WIFEXITED(told) ? WEXITSTATUS(told)
			       : tool_fail(image, "its process died");
}

/* ---- the command --------------------------------------------------------------- */

static int take_option(void *arg, int option, const char *value)
{
	struct df *df = arg;

	(void)value;
	if (option == 'h')
		df->human = true;
	else if (option == 'i')
		df->inodes = true;
	else
		df->as_json = true;
	return 0;
}

static int run_all(struct df *df, char *const *images, int count)
{
	bool any = false;
	int failed = 0;

	for (int i = 0; i < count; i++)
		if ((int)strlen(images[i]) > df->width)
			df->width = (int)strlen(images[i]);
	if (df->as_json)
		(void)fputs("[", stdout);
	else
		put_head(df);
	for (int i = 0; i < count; i++)
		failed += look_apart(df, images[i], &any) != TOOL_OK;
	if (df->as_json)
		(void)fputs("]\n", stdout);
	if (failed == 0)
		return tool_flush(TOOL_OK);
	return tool_flush(failed < count ? TOOL_SOME : TOOL_FAILED);
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = {
		{"human-readable", no_argument, NULL, 'h'},
		{"inodes", no_argument, NULL, 'i'},
		{"json", no_argument, NULL, IMAGE_OPTION_OWN},
		{NULL, 0, NULL, 0},
	};
	static const struct image_syntax syntax = {.command = &tool_df,
		.letters = "hi",
		.longs = longs,
		.option = take_option};
	struct df df = {.opts = EXTANT_OPTS(), .width = (int)strlen("Image")};
	int status;
	int first;

	if (!image_parse(&syntax, argc, argv, &df.opts, &df, &first, &status))
		return status;
	if (argc == first)
		return tool_misuse(&tool_df, "no IMAGE");
	return run_all(&df, argv + first, argc - first);
}

const struct tool_command tool_df = {.name = "df", .run = run, .usage = usage};
