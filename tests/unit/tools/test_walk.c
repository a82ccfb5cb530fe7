/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks: order, bounds, damage; on images that mke2fs and debugfs make. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "tools/walk.h"
#include "tools/walk_names.h"

enum { MANY = 600, DEEP = WALK_OPEN_MAX * 2 + 10 };

static char folder[] = "/tmp/extant-walk-XXXXXX";

static struct extant *opened(const char *image)
{
	struct extant *fs = NULL;

	assert_int_equal(extant_open(image, NULL, &fs, NULL), 0);
	return fs;
}

/* All that a walk tells, a line each, in memory to be freed. */
static char *told(struct extant *fs, const struct walk_opts *opts,
	const char *path, uint64_t failures)
{
	const struct walk_entry *entry;
	struct walk *walk;
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(walk_open(fs, opts, path, &walk), 0);
	while ((entry = walk_next(walk)) != NULL) {
		struct extant_at at = walk_at(entry);
		struct extant_stat st;

		assert_int_equal(strlen(entry->path), entry->path_bytes);
		assert_int_equal(
			extant_stat(fs, &at, entry->name, EXTANT_NOFOLLOW, &st),
			0);
		assert_int_equal(st.ino, entry->ino);
		assert_int_equal(IFTODT(st.mode), entry->type);
		(void)fprintf(out, "%u%s%s\n", entry->depth,
			entry->leaving ? "<" : " ", entry->path);
	}
	assert_int_equal(walk_failures(walk), failures);
	walk_close(walk);
	(void)fclose(out);
	return text;
}

static void test_walk_order_is_of_bytes_and_parents_first(void **state)
{
	const struct walk_opts opts = {.image = "fs.img"};
	struct extant *fs = opened("fs.img");
	char *text = told(fs, &opts, "tree", 0);

	(void)state;
	assert_string_equal(text, "0 tree\n"
				  "1 tree/A\n"
				  "1 tree/a\n"
				  "2 tree/a/z\n"
				  "1 tree/a-\n"
				  "1 tree/a0\n"
				  "1 tree/b\n"
				  "1 tree/\xc3\xbc\n");
	free(text);
	text = told(fs, &opts, "tree/b", 0); /* a symlink is not followed */
	assert_string_equal(text, "0 tree/b\n");
	free(text);
	assert_int_equal(extant_close(fs), 0);
}

static void test_walk_leave_tells_directories_again(void **state)
{
	const struct walk_opts opts = {.image = "fs.img", .leave = true};
	struct extant *fs = opened("fs.img");
	char *text = told(fs, &opts, "/tree/a", 0);

	(void)state;
	assert_string_equal(text, "0 /tree/a\n1 /tree/a/z\n0</tree/a\n");
	free(text);
	assert_int_equal(extant_close(fs), 0);
}

static void test_walk_depth_max_bounds_it(void **state)
{
	const struct walk_opts opts = {.image = "fs.img", .depth_max = 1};
	struct extant *fs = opened("fs.img");
	char *text = told(fs, &opts, "/", 0);

	(void)state;
	assert_string_equal(text, "0 /\n1 /deep\n1 /lost+found\n1 /many\n"
				  "1 /tree\n");
	free(text);
	assert_int_equal(extant_close(fs), 0);
}

static void test_walk_begins_below_a_handle(void **state)
{
	struct extant *fs = opened("fs.img");
	struct extant_file *dir;
	struct walk_opts opts = {.image = "fs.img"};
	char *text;

	(void)state;
	assert_int_equal(extant_file_open(fs, NULL, "tree", 0, &dir), 0);
	opts.dir = dir;
	opts.name = "a";
	text = told(fs, &opts, "so called", 0);
	assert_string_equal(text, "0 so called\n1 so called/z\n");
	free(text);
	extant_file_close(dir);
	assert_int_equal(extant_close(fs), 0);
}

/* Beyond WALK_OPEN_MAX the levels above are closed, and opened again. */
static void test_walk_deep_tree_comes_back_up(void **state)
{
	const struct walk_opts opts = {.image = "fs.img", .leave = true};
	struct extant *fs = opened("fs.img");
	char *text = told(fs, &opts, "deep", 0);
	unsigned lines = 0;
	unsigned after = 0;

	(void)state;
	for (char *line = strtok(text, "\n"); line != NULL;
		line = strtok(NULL, "\n")) {
		size_t bytes = strlen(line);

		lines++;
		after += bytes > 2 && strcmp(line + bytes - 2, "/z") == 0;
	}
	/* In each a directory d, told twice, and a file z after it. */
	assert_int_equal(after, DEEP);
	assert_int_equal(lines, 3 * DEEP + 2);
	free(text);
	assert_int_equal(extant_close(fs), 0);
}

static void test_walk_names_in_little_memory_are_all_of_them(void **state)
{
	_Alignas(8) char buffer[4096];
	struct extant *fs = opened("fs.img");
	struct walk_names names = {0};
	const struct walk_name *name;
	struct extant_file *dir;
	char last[WALK_NAME_MAX + 1] = "";
	unsigned count = 0;
	unsigned readings = 0;
	bool more;

	(void)state;
	assert_int_equal(extant_file_open(fs, NULL, "many", 0, &dir), 0);
	do {
		assert_int_equal(
			walk_names_read(&names, dir, readings > 0 ? last : NULL,
				2000, buffer, sizeof(buffer)),
			0);
		readings++;
		while ((name = walk_names_next(&names)) != NULL) {
			assert_true(strcmp(name->text, last) > 0);
			(void)strcpy(last, name->text);
			count++;
		}
		assert_true(walk_names_bytes(&names) < 8192);
		more = names.more;
		walk_names_free(&names);
	} while (more);
	assert_int_equal(count, MANY);
	assert_true(readings > 10);
	extant_file_close(dir);
	assert_int_equal(extant_close(fs), 0);
}

/* Directories that are below themselves, or have two names, are entered
 * once; the rest is told all the same. */
static void test_walk_loops_are_told_and_not_entered(void **state)
{
	const struct walk_opts opts = {.image = "loop.img"};
	const struct walk_entry *entry;
	struct extant *fs = opened("loop.img");
	struct walk *walk;
	unsigned count = 0;
	bool found = false;

	(void)state;
	assert_int_equal(walk_open(fs, &opts, "/", &walk), 0);
	while ((entry = walk_next(walk)) != NULL) {
		assert_true(++count < 100);
		found |= strcmp(entry->path, "/zz") == 0;
	}
	assert_true(walk_failures(walk) >= 2);
	assert_true(found);
	walk_close(walk);
	assert_int_equal(extant_close(fs), 0);
}

static void test_walk_missing_start_is_one_failure(void **state)
{
	const struct walk_opts opts = {.image = "fs.img"};
	struct extant *fs = opened("fs.img");
	char *text = told(fs, &opts, "nothing/here", 1);

	(void)state;
	assert_string_equal(text, "");
	free(text);
	assert_int_equal(extant_close(fs), 0);
}

/* ---------------------------------------------------------------------------- */

static int setup(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL || chdir(folder) != 0)
		return -1;
	return system(
		"PATH=$PATH:/sbin:/usr/sbin; exec 2>/dev/null;"
		"mkdir -p top/tree/a top/many top/deep &&"
		"(cd top/tree && touch A a/z a- a0 \xc3\xbc && ln -s a b) &&"
		"(cd top/many &&"
		" for i in $(seq 600); do : >name$i; done) &&"
		"(cd top/deep &&"
		" for i in $(seq 266); do mkdir d && : >z && cd d; done) &&"
		"mke2fs -qF -t ext4 -d top fs.img 16M >said && rm -r top &&"
		"mkdir -p top/a/b top/c && : >top/zz &&"
		"mke2fs -qF -t ext4 -d top loop.img 4M >said &&"
		"printf 'ln /a /a/b/loop\\nln /c /c2\\nln / /a/up\\n'"
		" | debugfs -w loop.img >/dev/null");
}

static int teardown(void **state)
{
	(void)state;
	return system("rm -rf \"$PWD\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk_order_is_of_bytes_and_parents_first),
		cmocka_unit_test(test_walk_leave_tells_directories_again),
		cmocka_unit_test(test_walk_depth_max_bounds_it),
		cmocka_unit_test(test_walk_begins_below_a_handle),
		cmocka_unit_test(test_walk_deep_tree_comes_back_up),
		cmocka_unit_test(
			test_walk_names_in_little_memory_are_all_of_them),
		cmocka_unit_test(test_walk_loops_are_told_and_not_entered),
		cmocka_unit_test(test_walk_missing_start_is_one_failure),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
