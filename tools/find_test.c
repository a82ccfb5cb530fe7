/* SPDX-License-Identifier: BSD-2-Clause */
/* find_test.c - see find.h: predicates of `extant find`. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/detail.h"
#include "tools/find.h"

const struct extant_stat *find_stat(struct find_file *file)
{
	if (!file->has_stat) {
		struct extant_at at = walk_at(file->entry);

		file->has_stat = true;
		file->stat_err = extant_stat(file->find->fs, &at,
			file->entry->name, EXTANT_NOFOLLOW, &file->stat);
		if (file->stat_err != 0)
			walk_complain(file->walk, file->stat_err);
	}
	return file->stat_err == 0 ? &file->stat : NULL;
}

/* ---- names --------------------------------------------------------------- */

/* The last component, as find(1) sees it: of "a/b/" it is "b". */
static bool name_matches(
	struct find_file *file, const struct find_node *node, int flags)
{
	const char *path = file->entry->path;
	size_t end = file->entry->path_bytes;
	char name[256];
	size_t start;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/'; start--)
		;
	if (start == end) /* the root */
		start = 0;
	if (end - start >= sizeof(name))
		return false;
	memcpy(name, path + start, end - start);
	name[end - start] = '\0';
	return fnmatch(node->text, name, flags) == 0;
}

static bool test_name(struct find_file *file, const struct find_node *node)
{
	return name_matches(file, node, 0);
}

static bool test_iname(struct find_file *file, const struct find_node *node)
{
	return name_matches(file, node, FNM_CASEFOLD);
}

static bool test_path(struct find_file *file, const struct find_node *node)
{
	return fnmatch(node->text, file->entry->path, 0) == 0;
}

static bool test_ipath(struct find_file *file, const struct find_node *node)
{
	return fnmatch(node->text, file->entry->path, FNM_CASEFOLD) == 0;
}

static bool test_lname(struct find_file *file, const struct find_node *node)
{
	struct extant_at at = walk_at(file->entry);
	struct detail link = {
		.fs = file->find->fs, .at = &at, .name = file->entry->name};
	char *target = NULL;
	bool matches;
	int err;

	if (file->entry->type != DT_LNK)
		return false;
	link.stat = find_stat(file);
	if (link.stat == NULL)
		return false;
	err = detail_target(&link, &target);
	if (err != 0) {
		walk_complain(file->walk, err);
		return false;
	}
	matches = fnmatch(node->text, target, 0) == 0;
	free(target);
	return matches;
}

/* ---- numbers ------------------------------------------------------------- */

static bool number_fits(const struct find_node *node, uint64_t number)
{
	if (node->sense == FIND_MORE)
		return number > node->number;
	if (node->sense == FIND_LESS)
		return number < node->number;
	return number == node->number;
}

/* In units, of which a part counts as a whole. */
static bool test_size(struct find_file *file, const struct find_node *node)
{
	const struct extant_stat *st = find_stat(file);
	uint32_t unit = node->unit;

	return st != NULL &&
	       number_fits(node, st->size / unit + (st->size % unit != 0));
}

static bool test_links(struct find_file *file, const struct find_node *node)
{
	const struct extant_stat *st = find_stat(file);

	return st != NULL && number_fits(node, st->link_count);
}

static bool test_inum(struct find_file *file, const struct find_node *node)
{
	const struct extant_stat *st = find_stat(file);

	return st != NULL && number_fits(node, st->ino);
}

static bool test_uid(struct find_file *file, const struct find_node *node)
{
	const struct extant_stat *st = find_stat(file);

	return st != NULL && number_fits(node, st->uid);
}

static bool test_gid(struct find_file *file, const struct find_node *node)
{
	const struct extant_stat *st = find_stat(file);

	return st != NULL && number_fits(node, st->gid);
}

/* ---- times --------------------------------------------------------------- */

/* Whole units that have gone by since @then; a part does not count. */
static bool age_fits(const struct find *find, const struct find_node *node,
	struct extant_time then)
{
	int64_t seconds = (int64_t)find->now - then.seconds;

	/* As find(1) has it, what is to come is older than nothing. */
	if (seconds < 0)
		return node->sense == FIND_LESS;
	return number_fits(node, (uint64_t)seconds / node->unit);
}

static bool test_mage(struct find_file *file, const struct find_node *node)
{
	const struct extant_stat *st = find_stat(file);

	return st != NULL && age_fits(file->find, node, st->mtime);
}

static bool test_cage(struct find_file *file, const struct find_node *node)
{
	const struct extant_stat *st = find_stat(file);

	return st != NULL && age_fits(file->find, node, st->ctime);
}

static bool test_aage(struct find_file *file, const struct find_node *node)
{
	const struct extant_stat *st = find_stat(file);

	return st != NULL && age_fits(file->find, node, st->atime);
}

static bool test_newer(struct find_file *file, const struct find_node *node)
{
	const struct extant_stat *st = find_stat(file);

	if (st == NULL)
		return false;
	if (st->mtime.seconds != node->time.seconds)
		return st->mtime.seconds > node->time.seconds;
	return st->mtime.nanoseconds > node->time.nanoseconds;
}

/* ---- the rest ------------------------------------------------------------ */

static bool test_type(struct find_file *file, const struct find_node *node)
{
	return strchr(node->text,
		       show_type_letter(DTTOIF(file->entry->type))) != NULL;
}

/* MODE: just these bits; -MODE: all of them; /MODE: any of them. */
static bool test_perm(struct find_file *file, const struct find_node *node)
{
	const struct extant_stat *st = find_stat(file);
	uint32_t bits;

	if (st == NULL)
		return false;
	bits = st->mode & 07777;
	if (node->text[0] == '-')
		return (bits & node->number) == node->number;
	if (node->text[0] == '/')
		return node->number == 0 || (bits & node->number) != 0;
	return bits == node->number;
}

/* Whether nothing but the dots is in the directory. */
static int directory_is_empty(struct find_file *file, bool *out)
{
	_Alignas(8) char buffer[3 * EXTANT_DIRENT_MAX];
	struct extant_at at = walk_at(file->entry);
	const struct extant_dirent *entry;
	struct extant_file *dir;
	size_t done = 0;
	int err = extant_file_open(file->find->fs, &at, file->entry->name,
		EXTANT_NOFOLLOW | EXTANT_DIRECTORY, &dir);

	if (err != 0)
		return err;
	*out = true;
	err = extant_readdir(dir, 0, buffer, sizeof(buffer), &done);
	for (size_t at_byte = 0; err == 0 && at_byte < done;
		at_byte += entry->bytes) {
		entry = (const void *)(buffer + at_byte);
		if (strcmp(entry->name, ".") != 0 &&
			strcmp(entry->name, "..") != 0)
			*out = false;
	}
	extant_file_close(dir);
	return err;
}

static bool test_empty(struct find_file *file, const struct find_node *node)
{
	bool empty = false;

	(void)node;
	if (file->entry->type == DT_DIR) {
		int err = directory_is_empty(file, &empty);

		if (err != 0)
			walk_complain(file->walk, err);
	} else if (file->entry->type == DT_REG) {
		const struct extant_stat *st = find_stat(file);

		empty = st != NULL && st->size == 0;
	}
	return empty;
}

static bool test_xattr(struct find_file *file, const struct find_node *node)
{
	struct extant_at at = walk_at(file->entry);
	size_t done;
	int err = extant_getxattr(file->find->fs, &at, file->entry->name,
		EXTANT_NOFOLLOW, node->text, NULL, 0, &done);

	if (err != 0 && err != -ENODATA && err != -EOPNOTSUPP)
		walk_complain(file->walk, err);
	return err == 0;
}

static bool test_true(struct find_file *file, const struct find_node *node)
{
	(void)file;
	(void)node;
	return true;
}

static bool test_false(struct find_file *file, const struct find_node *node)
{
	(void)file;
	(void)node;
	return false;
}

static bool test_prune(struct find_file *file, const struct find_node *node)
{
	(void)node;
	walk_skip(file->walk);
	return true;
}

static bool test_quit(struct find_file *file, const struct find_node *node)
{
	(void)node;
	file->find->quit = true;
	return true;
}

enum { MINUTE = 60, DAY = 86400 };

const struct find_word find_words[] = {
	{"-name", FIND_TEXT, test_name, 0, false},
	{"-iname", FIND_TEXT, test_iname, 0, false},
	{"-path", FIND_TEXT, test_path, 0, false},
	{"-wholename", FIND_TEXT, test_path, 0, false},
	{"-ipath", FIND_TEXT, test_ipath, 0, false},
	{"-lname", FIND_TEXT, test_lname, 0, false},
	{"-type", FIND_TYPES, test_type, 0, false},
	{"-size", FIND_SIZE, test_size, 512, false},
	{"-empty", FIND_NONE, test_empty, 0, false},
	{"-perm", FIND_MODE, test_perm, 0, false},
	{"-links", FIND_NUMBER, test_links, 0, false},
	{"-inum", FIND_NUMBER, test_inum, 0, false},
	{"-uid", FIND_NUMBER, test_uid, 0, false},
	{"-gid", FIND_NUMBER, test_gid, 0, false},
	{"-mtime", FIND_NUMBER, test_mage, DAY, false},
	{"-ctime", FIND_NUMBER, test_cage, DAY, false},
	{"-atime", FIND_NUMBER, test_aage, DAY, false},
	{"-mmin", FIND_NUMBER, test_mage, MINUTE, false},
	{"-cmin", FIND_NUMBER, test_cage, MINUTE, false},
	{"-amin", FIND_NUMBER, test_aage, MINUTE, false},
	{"-newer", FIND_FILE, test_newer, 0, false},
	{"-newermt", FIND_INSTANT, test_newer, 0, false},
	{"-xattr", FIND_TEXT, test_xattr, 0, false},
	{"-true", FIND_NONE, test_true, 0, false},
	{"-false", FIND_NONE, test_false, 0, false},
	{"-prune", FIND_NONE, test_prune, 0, false},
	{"-quit", FIND_NONE, test_quit, 0, false},
	{"-print", FIND_NONE, find_print, 0, true},
	{"-print0", FIND_NONE, find_print0, 0, true},
	{"-ls", FIND_NONE, find_ls, 0, true},
	{"-maxdepth", FIND_DEPTH, NULL, 0, false},
	{"-mindepth", FIND_DEPTH, NULL, 0, false},
	{"-depth", FIND_NONE, NULL, 0, false},
	{NULL, FIND_NONE, NULL, 0, false},
};
