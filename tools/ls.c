/* SPDX-License-Identifier: BSD-2-Clause */
/* ls.c - `extant ls`: names in directories. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/detail.h"
#include "tools/image.h"
#include "tools/walk.h"

static const char usage[] =
	"Usage: extant ls [options] IMAGE [PATH...]\n"
	"\n"
	"Lists directories, the root unless told otherwise, and files; names "
	"sorted\n"
	"by their bytes, one a line.\n"
	"\n"
	"  -l            mode, links, uid, gid, size or device, time of "
	"change, "
	"target\n"
	"  -a, --all     names that begin with a dot too; -A: without . and "
	"..\n"
	"  -R            directories below, too\n"
	"  -d            directories themselves, not what is in them\n"
	"  -i            the number of the inode first\n"
	"  -h            sizes like 1.5K and 23M\n"
	"  -0            names end in NUL and are never escaped\n"
	"  --json        an array of objects\n" IMAGE_USAGE;

struct ls {
	struct extant *fs;
	const char *image;
	struct show show;
	struct json json;
	bool all;  /* hidden names */
	bool dots; /* . and .. */
	bool details;
	bool recursive;
	bool directories; /* themselves */
	bool inodes;
	bool human;
	bool nul;
	bool as_json;
	bool headed; /* directories are told before what is in them */
	bool told;   /* a line has been printed */
	int status;
};

static void complain(struct ls *ls, const char *path, int err)
{
	image_complain(ls->image, path, err);
	ls->status = TOOL_SOME;
}

/* ---- one file ------------------------------------------------------------ */

static int put_json(struct ls *ls, const struct detail *file)
{
	int err;

	json_line(&ls->json);
	json_object(&ls->json, NULL);
	err = detail_json(&ls->json, file);
	json_end(&ls->json);
	return err;
}

static int put_line(struct ls *ls, const struct detail *file)
{
	int err = 0;

	ls->told = true;
	if (ls->inodes)
		(void)fprintf(ls->show.out, "%8" PRIu64 " ", file->stat->ino);
	if (ls->details)
		err = detail_line(&ls->show, file, ls->human);
	else
		show_text(&ls->show, file->path);
	show_end(&ls->show);
	return err;
}

/*
 * Show @name below @at.  @path is how to complain about it; in JSON it is what
 * is shown, and elsewhere @shown.
 */
static void put_file(struct ls *ls, const struct extant_at *at,
	const char *name, const char *path, const char *shown)
{
	struct extant_stat st = {0};
	struct detail file = {
		.fs = ls->fs, .at = at, .name = name, .stat = &st};
	int err = 0;

	file.path = ls->as_json ? path : shown;
	if (ls->details || ls->inodes || ls->as_json)
		err = extant_stat(ls->fs, at, name, EXTANT_NOFOLLOW, &st);
	if (err == 0)
		err = ls->as_json ? put_json(ls, &file) : put_line(ls, &file);
	if (err != 0)
		complain(ls, path, err);
}

/* ---- a directory --------------------------------------------------------- */

static void put_heading(struct ls *ls, const char *path)
{
	if (!ls->headed || ls->as_json)
		return;
	if (ls->told)
		show_end(&ls->show);
	show_text(&ls->show, path);
	(void)putc(':', ls->show.out);
	show_end(&ls->show);
	ls->told = true;
}

/* A directory that is listed: @name below @dir, told to the user as @path. */
struct listing {
	const char *path;
	const char *name;
	struct extant_file *dir;
	unsigned dots; /* of "." and "..", how many have been told */
};

/* "." or "..", which a walk does not tell. */
static void put_dots(struct ls *ls, const struct listing *l, const char *dots)
{
	struct extant_at at = {.size = sizeof(at), .dir = l->dir};
	char *path = NULL;
	char *name = NULL;

	if (asprintf(&path, "%s/%s", l->path, dots) < 0)
		path = NULL;
	if (asprintf(&name, "%s/%s", l->name, dots) < 0)
		name = NULL;
	if (path == NULL || name == NULL)
		complain(ls, l->path, -ENOMEM);
	else
		put_file(ls, &at, name, path, dots);
	free(path);
	free(name);
}

/* Those of the dots that come before @name; NULL: all. */
static void put_dots_before(struct ls *ls, struct listing *l, const char *name)
{
	static const char *const dots[] = {".", ".."};

	if (!ls->dots)
		return;
	while (l->dots < ARRAY_COUNT(dots) &&
		(name == NULL || strcmp(dots[l->dots], name) < 0))
		put_dots(ls, l, dots[l->dots++]);
}

static void put_names(struct ls *ls, struct listing *l, struct walk *walk)
{
	const struct walk_entry *entry;

	while ((entry = walk_next(walk)) != NULL) {
		struct extant_at at = walk_at(entry);

		if (entry->depth == 0 || (!ls->all && entry->name[0] == '.'))
			continue;
		put_dots_before(ls, l, entry->name);
		put_file(ls, &at, entry->name, entry->path, entry->name);
	}
	put_dots_before(ls, l, NULL);
}

/* What is in the directory at @path, which is @name below @dir. */
static void put_directory(struct ls *ls, const char *path,
	struct extant_file *dir, const char *name)
{
	const struct walk_opts opts = {
		.image = ls->image, .depth_max = 1, .dir = dir, .name = name};
	struct listing l = {.path = path, .name = name, .dir = dir};
	struct walk *walk = NULL;
	int err = walk_open(ls->fs, &opts, path, &walk);

	put_heading(ls, path);
	if (err != 0) {
		complain(ls, path, err);
		return;
	}
	put_names(ls, &l, walk);
	if (walk_failures(walk) > 0)
		ls->status = TOOL_SOME;
	walk_close(walk);
}

/* Hidden directories are not gone into unless their names are shown. */
static void put_tree(struct ls *ls, const char *path, struct extant_file *dir,
	const char *name)
{
	const struct walk_opts opts = {
		.image = ls->image, .dir = dir, .name = name};
	const struct walk_entry *entry;
	struct walk *walk = NULL;
	int err = walk_open(ls->fs, &opts, path, &walk);

	if (err != 0) {
		complain(ls, path, err);
		return;
	}
	while ((entry = walk_next(walk)) != NULL) {
		if (entry->type != DT_DIR)
			continue;
		if (entry->depth > 0 && !ls->all && entry->name[0] == '.')
			walk_skip(walk);
		else
			put_directory(ls, entry->path, entry->dir, entry->name);
	}
	if (walk_failures(walk) > 0)
		ls->status = TOOL_SOME;
	walk_close(walk);
}

/* ---- what was asked for -------------------------------------------------- */

/* Whether what is in @path is asked for, as of a symlink that leads to a
 * directory unless all about the symlink itself is. */
static int is_listed(struct ls *ls, const char *path, bool *out)
{
	struct extant_stat st;
	unsigned flags = ls->details || ls->directories ? EXTANT_NOFOLLOW : 0;
	int err = extant_stat(ls->fs, NULL, path, flags, &st);

	if (err == -ENOENT || err == -ELOOP) /* where a symlink leads */
		err = extant_stat(ls->fs, NULL, path, EXTANT_NOFOLLOW, &st);
	if (err == 0)
		*out = S_ISDIR(st.mode) && !ls->directories;
	return err;
}

/* A path whose symlink at the end is followed. */
static void put_followed(struct ls *ls, const char *path)
{
	struct extant_file *dir;
	int err = extant_file_open(ls->fs, NULL, path, EXTANT_DIRECTORY, &dir);

	if (err != 0) {
		complain(ls, path, err);
		return;
	}
	if (ls->recursive)
		put_tree(ls, path, dir, ".");
	else
		put_directory(ls, path, dir, ".");
	extant_file_close(dir);
}

/* Files first, then directories, each in the order of the arguments. */
static void put_paths(struct ls *ls, char **paths, size_t count)
{
	bool *listed = calloc(count, sizeof(*listed));

	if (listed == NULL) {
		complain(ls, paths[0], -ENOMEM);
		return;
	}
	ls->headed = count > 1 || ls->recursive;
	for (size_t i = 0; i < count; i++) {
		int err = is_listed(ls, paths[i], &listed[i]);

		if (err != 0) {
			complain(ls, paths[i], err);
			paths[i] = NULL;
		} else if (!listed[i]) {
			put_file(ls, NULL, paths[i], paths[i], paths[i]);
		}
	}
	for (size_t i = 0; i < count; i++)
		if (paths[i] != NULL && listed[i])
			put_followed(ls, paths[i]);
	free(listed);
}

/* ---- the command --------------------------------------------------------- */

static const struct option longs[] = {
	{"all", no_argument, NULL, 'a'},
	{"json", no_argument, NULL, IMAGE_OPTION_OWN},
	{NULL, 0, NULL, 0},
};

static int option(void *arg, int c, const char *value)
{
	struct ls *ls = arg;

	(void)value;
	switch (c) {
	case 'l':
		ls->details = true;
		break;
	case 'a':
		ls->all = ls->dots = true;
		break;
	case 'A':
		ls->all = true;
		break;
	case 'R':
		ls->recursive = true;
		break;
	case 'd':
		ls->directories = true;
		break;
	case 'i':
		ls->inodes = true;
		break;
	case 'h':
		ls->human = true;
		break;
	case '0':
		ls->nul = true;
		break;
	default:
		ls->as_json = true;
	}
	return 0;
}

static int run(int argc, char **argv)
{
	static const struct image_syntax syntax = {.command = &tool_ls,
		.letters = "laARdih0",
		.longs = longs,
		.option = option};
	static char root[] = "/";
	struct extant_opts opts = EXTANT_OPTS();
	struct ls ls = {.status = TOOL_OK};
	char *only_root = root;
	int status;
	int first;

	if (!image_parse(&syntax, argc, argv, &opts, &ls, &first, &status))
		return status;
	if (argc == first)
		return tool_misuse(&tool_ls, "no IMAGE");
	ls.image = argv[first++];
	status = image_open(ls.image, &opts, NULL, &ls.fs);
	if (status != 0)
		return status;
	ls.show = show_stdout(ls.nul);
	json_init(&ls.json, stdout);
	if (ls.as_json)
		json_array(&ls.json, NULL);
	if (first < argc)
		put_paths(&ls, argv + first, (size_t)(argc - first));
	else
		put_paths(&ls, &only_root, 1);
	if (ls.as_json)
		json_end(&ls.json);
	(void)extant_close(ls.fs);
	return tool_flush(ls.status);
}

const struct tool_command tool_ls = {.name = "ls", .run = run, .usage = usage};
