/* SPDX-License-Identifier: BSD-2-Clause */
/* find.c - see find.h: `extant find`. */
#include "tools/find.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/detail.h"
#include "tools/image.h"

static const char usage[] =
	"Usage: extant find [options] IMAGE [PATH...] [EXPRESSION]\n"
	"\n"
	"Goes through the files below each PATH, the root unless told "
	"otherwise, in\n"
	"the order of their names, and prints those for which the expression "
	"holds.\n"
	"\n"
	"  -name GLOB  -iname GLOB  -path GLOB  -ipath GLOB  -lname GLOB\n"
	"  -type [fdlcbps],...  -size [+-]N[cwbkMG]  -empty  -perm [-/]OCTAL\n"
	"  -links N  -inum N  -uid N  -gid N  -xattr NAME\n"
	"  -mtime N  -ctime N  -atime N  -mmin N  -cmin N  -amin N\n"
	"  -newer PATH  -newermt 'YYYY-MM-DD HH:MM:SS'|@SECONDS  -true  "
	"-false\n"
	"  -print  -print0  -ls  -prune  -quit\n"
	"  -maxdepth N  -mindepth N  -depth\n"
	"  ( A )  ! A  A B  A -o B\n"
	"\n"
	"  --json               an array of objects\n" IMAGE_USAGE;

/* ---- actions ------------------------------------------------------------- */

bool find_print(struct find_file *file, const struct find_node *node)
{
	const struct show *show = &file->find->show;

	(void)node;
	show_name(show, file->entry->path, file->entry->path_bytes);
	show_end(show);
	return true;
}

bool find_print0(struct find_file *file, const struct find_node *node)
{
	struct show raw = file->find->show;

	(void)node;
	raw.escape = false;
	raw.end = '\0';
	show_name(&raw, file->entry->path, file->entry->path_bytes);
	show_end(&raw);
	return true;
}

static struct detail detail_of(
	const struct find_file *file, const struct extant_at *at)
{
	return (struct detail){
		.fs = file->find->fs,
		.at = at,
		.name = file->entry->name,
		.path = file->entry->path,
		.stat = &file->stat,
	};
}

bool find_ls(struct find_file *file, const struct find_node *node)
{
	const struct show *show = &file->find->show;
	const struct extant_stat *st = find_stat(file);
	struct extant_at at = walk_at(file->entry);
	struct detail detail = detail_of(file, &at);
	int err;

	(void)node;
	if (st == NULL)
		return true;
	(void)fprintf(show->out, "%8" PRIu64 " %6" PRIu64 " ", st->ino,
		(st->blocks + 1) / 2);
	err = detail_line(show, &detail, false);
	show_end(show);
	if (err != 0)
		walk_complain(file->walk, err);
	return true;
}

static void put_json(struct find_file *file)
{
	struct json *json = &file->find->json;
	struct extant_at at = walk_at(file->entry);
	struct detail detail = detail_of(file, &at);
	int err;

	if (find_stat(file) == NULL)
		return;
	json_line(json);
	json_object(json, NULL);
	err = detail_json(json, &detail);
	json_end(json);
	if (err != 0)
		walk_complain(file->walk, err);
}

/* ---- the expression ------------------------------------------------------ */

/* Down to the first predicate, then up and down again as each operator asks:
 * its right side matters only if the left one has not decided. */
static bool holds(struct find_file *file)
{
	const struct find_node *node = file->find->root;

	if (node == NULL)
		return true;
	for (;;) {
		bool value;
		const struct find_node *up;

		while (node->test == NULL)
			node = node->left;
		value = node->test(file, node);
		if (file->find->quit)
			return value;
		for (up = node->parent; up != NULL; up = node->parent) {
			if (up->op == '!')
				value = !value;
			else if (node == up->left && value == (up->op == '&'))
				break;
			node = up;
		}
		if (up == NULL)
			return value;
		node = up->right;
	}
}

/* ---- walking ------------------------------------------------------------- */

/* A directory is asked about when it is told, or when it is left. */
static bool is_due(const struct find *find, const struct walk_entry *entry)
{
	bool entered = entry->type == DT_DIR && entry->depth < find->depth_max;

	return entry->depth >= find->depth_min &&
	       entry->leaving == (find->depth_first && entered);
}

static void look_at(
	struct find *find, struct walk *walk, const struct walk_entry *entry)
{
	struct find_file file = {.find = find, .walk = walk, .entry = entry};

	if (!is_due(find, entry) || !holds(&file) || find->acts)
		return;
	if (find->as_json)
		put_json(&file);
	else
		(void)find_print(&file, NULL);
}

static void search(struct find *find, const char *path)
{
	const struct walk_opts opts = {
		.image = find->image,
		.leave = find->depth_first,
		.depth_max = find->depth_max,
	};
	const struct walk_entry *entry;
	struct walk *walk = NULL;
	int err = walk_open(find->fs, &opts, path, &walk);

	if (err != 0) {
		image_complain(find->image, path, err);
		find->status = TOOL_SOME;
		return;
	}
	while (!find->quit && (entry = walk_next(walk)) != NULL) {
		if (find->depth_max == 0)
			walk_skip(walk);
		look_at(find, walk, entry);
	}
	if (walk_failures(walk) > 0)
		find->status = TOOL_SOME;
	walk_close(walk);
}

/* ---- the command --------------------------------------------------------- */

/* Times of files that others are compared with. */
static int references_find(struct find *find)
{
	for (size_t i = 0; i < find->node_count; i++) {
		struct find_node *node = &find->nodes[i];
		struct extant_stat st;
		int err;

		if (!node->is_reference)
			continue;
		err = extant_stat(
			find->fs, NULL, node->text, EXTANT_NOFOLLOW, &st);
		if (err != 0) {
			image_complain(find->image, node->text, err);
			return TOOL_FAILED;
		}
		node->time = st.mtime;
	}
	return 0;
}

static bool begins_expression(const char *word)
{
	return word[0] == '-' || strcmp(word, "(") == 0 ||
	       strcmp(word, ")") == 0 || strcmp(word, "!") == 0;
}

static void search_all(struct find *find, char **paths, char **end)
{
	if (find->as_json)
		json_array(&find->json, NULL);
	if (paths == end)
		search(find, "/");
	for (; paths < end && !find->quit; paths++)
		search(find, *paths);
	if (find->as_json)
		json_end(&find->json);
}

static int option(void *arg, int c, const char *value)
{
	struct find *find = arg;

	(void)c;
	(void)value;
	find->as_json = true;
	return 0;
}

/* @argv: the image, paths, and the expression. */
static int find_run(
	struct find *find, const struct extant_opts *opts, char **argv)
{
	char **paths = argv + 1;
	char **end = paths;
	int status;

	while (*end != NULL && !begins_expression(*end))
		end++;
	status = find_parse(find, end);
	if (status != 0)
		return status;
	if (find->as_json && find->acts)
		return tool_misuse(
			&tool_find, "--json leaves no choice of how to print");
	find->image = argv[0];
	status = image_open(find->image, opts, NULL, &find->fs);
	if (status != 0)
		return status;
	find->show = show_stdout(false);
	json_init(&find->json, stdout);
	status = references_find(find);
	if (status == 0) {
		search_all(find, paths, end);
		status = tool_flush(find->status);
	}
	(void)extant_close(find->fs);
	return status;
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, IMAGE_OPTION_OWN},
		{NULL, 0, NULL, 0},
	};
	static const struct image_syntax syntax = {.command = &tool_find,
		.letters = "+",
		.longs = longs,
		.option = option};
	struct extant_opts opts = EXTANT_OPTS();
	struct find find = {.depth_max = UINT32_MAX, .now = time(NULL)};
	int status;
	int first;

	if (!image_parse(&syntax, argc, argv, &opts, &find, &first, &status))
		return status;
	if (argc == first)
		return tool_misuse(&tool_find, "no IMAGE");
	status = find_run(&find, &opts, argv + first);
	free(find.nodes);
	return status;
}

const struct tool_command tool_find = {
	.name = "find", .run = run, .usage = usage};
