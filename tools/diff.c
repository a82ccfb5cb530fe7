/* SPDX-License-Identifier: BSD-2-Clause */
/* diff.c - `extant diff`: in what do two images differ? */
#include "tools/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/image.h"
#include "tools/pool.h"
#include "tools/progress.h"

static const char usage[] =
	"Usage: extant diff [options] IMAGE IMAGE\n"
	"\n"
	"Compare the trees of two file systems: types, modes, owners, sizes,\n"
	"contents, attributes and ACLs, targets, devices, and which names are "
	"one\n"
	"file.  Each path that differs is a line.\n"
	"\n"
	"  -C, --directory PATH  only what is in directory PATH; the second -C "
	"is\n"
	"                        for the second IMAGE\n"
	"  -0, --null            end lines with NUL\n"
	"  -q, --quiet           only the exit status\n"
	"  -t, --times           times of modification too\n"
	"  --json                for programs\n"
	"  --no-owner            without owners\n"
	"  --no-xattrs           without attributes and ACLs\n" IMAGE_USAGE "\n"
	"Exit status: 0 the same, 1 different, 2 trouble.\n";

enum {
	EXIT_SAME = 0,
	EXIT_DIFFERENT = 1, /* as diff(1), and other than TOOL_SOME */
	EXIT_TROUBLE = 2,
};

struct arguments {
	struct diff_options options;
	const char *tops[2];
	unsigned top_count;
};

enum {
	OPTION_JSON = IMAGE_OPTION_OWN,
	OPTION_NO_OWNER,
	OPTION_NO_XATTRS,
};

static int top_take(struct arguments *args, const char *value)
{
	if (args->top_count == 2)
		return tool_misuse(&tool_diff, "more than two -C");
	args->tops[args->top_count++] = value;
	args->tops[1] = value;
	return 0;
}

static int option_take(void *arg, int option, const char *value)
{
	struct arguments *args = arg;

	switch (option) {
	case 'C':
		return top_take(args, value);
	case '0':
		args->options.nul = true;
		break;
	case 'q':
		args->options.quiet = true;
		break;
	case 't':
		args->options.times = true;
		break;
	case OPTION_JSON:
		args->options.json = true;
		break;
	case OPTION_NO_OWNER:
		args->options.owners = false;
		break;
	default:
		args->options.xattrs = false;
		break;
	}
	return 0;
}

static bool parse(int argc, char **argv, struct arguments *args,
	struct extant_opts *opts, int *first, int *status)
{
	static const struct option longs[] = {
		{"directory", required_argument, NULL, 'C'},
		{"null", no_argument, NULL, '0'},
		{"quiet", no_argument, NULL, 'q'},
		{"times", no_argument, NULL, 't'},
		{"json", no_argument, NULL, OPTION_JSON},
		{"no-owner", no_argument, NULL, OPTION_NO_OWNER},
		{"no-xattrs", no_argument, NULL, OPTION_NO_XATTRS},
		{NULL, 0, NULL, 0},
	};
	static const struct image_syntax syntax = {
		.command = &tool_diff,
		.letters = "C:0qt",
		.longs = longs,
		.option = option_take,
	};

	if (!image_parse(&syntax, argc, argv, opts, args, first, status))
		return false;
	if (argc - *first == 2)
		return true;
	*status = tool_misuse(&tool_diff, "%s",
		argc - *first < 2 ? "two IMAGEs are needed"
				  : "more than two IMAGEs");
	return false;
}

static int tops_check(struct diff *diff)
{
	struct extant_stat st;

	for (unsigned i = 0; i < 2; i++) {
		const struct diff_side *side = &diff->sides[i];
		int err = extant_stat(
			side->fs, NULL, side->top, EXTANT_DIRECTORY, &st);

		if (err == 0)
			continue;
		image_complain(side->image, side->top, err);
		return EXIT_TROUBLE;
	}
	return 0;
}

static void tell(struct diff *diff, struct ordered *ordered)
{
	if (!diff->options.json) {
		diff->show = show_stdout(diff->options.nul);
		diff_tell(diff, ordered);
		return;
	}
	json_init(&diff->json, stdout);
	json_object(&diff->json, NULL);
	json_array(&diff->json, "differences");
	diff_tell(diff, ordered);
	json_end(&diff->json);
	json_bool(&diff->json, "same", !diff->differ);
	json_unsigned(&diff->json, "failures", diff->failures);
	json_end(&diff->json);
}

static int run(struct diff *diff)
{
	const struct ordered_opts opts = {
		.threads = pool_cpus() > 2 ? pool_cpus() - 2 : 1,
		.bytes_max = 1,
		.items_max = DIFF_AHEAD_ITEMS,
		.arg = diff,
		.produce = diff_plan,
		.work = diff_compare,
		.drop = diff_drop,
	};
	struct ordered *ordered;
	int err = ordered_open(&opts, &ordered);

	if (err != 0)
		return tool_fail(NULL, "%s", strerrordesc_np(-err));
	/* Lines on a terminal show it well enough. */
	if (diff->options.quiet || !isatty(STDOUT_FILENO))
		progress_begin("compared", 0);
	tell(diff, ordered);
	progress_end();
	ordered_close(ordered);
	if (diff->failures != 0)
		return tool_flush(EXIT_TROUBLE);
	return tool_flush(diff->differ ? EXIT_DIFFERENT : EXIT_SAME);
}

static int diff_run(int argc, char **argv)
{
	struct arguments args = {
		.options = {.owners = true, .xattrs = true},
		.tops = {"/", "/"},
	};
	struct extant_opts opts = EXTANT_OPTS();
	struct diff diff = {.differ = false};
	struct extant *both[2];
	int first;
	int status;

	if (!parse(argc, argv, &args, &opts, &first, &status))
		return status;
	status = image_open_all(
		(const char *const *)argv + first, 2, &opts, NULL, both);
	if (status != 0)
		return EXIT_TROUBLE;
	diff.options = args.options;
	for (unsigned i = 0; i < 2; i++)
		diff.sides[i] = (struct diff_side){.fs = both[i],
			.image = argv[first + (int)i],
			.top = args.tops[i]};
	status = tops_check(&diff);
	if (status == 0)
		status = run(&diff);
	for (unsigned i = 0; i < 2; i++) {
		inomap_each(&diff.sides[i].names, free);
		inomap_fini(&diff.sides[i].names);
		(void)extant_close(both[i]);
	}
	return status;
}

const struct tool_command tool_diff = {
	.name = "diff", .run = diff_run, .usage = usage};
