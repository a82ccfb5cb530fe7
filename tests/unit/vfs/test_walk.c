/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What paths mean, as path_resolution(7) says; each test runs with lock-free
 * walks, cold and warm, and with referenced ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "tree.h"

/* The inode number of @path, or the error. */
static int64_t number(const struct vfs_at *at, const char *path, unsigned flags)
{
	struct vfs_attr attr;
	int err = vfs_stat(at, path, flags, &attr);

	return err != 0 ? err : (int64_t)attr.ino;
}

typedef void (*body)(struct tree *t, const struct vfs_at *at);

static void run_all(body test)
{
	static const struct vfs_opts opts[] = {
		{.walk = VFS_WALK_RCU}, {.walk = VFS_WALK_REF}};

	for (size_t i = 0; i < ARRAY_COUNT(opts); i++) {
		struct tree t;
		struct vfs_at at;

		tree_open(&t, &opts[i]);
		at = (struct vfs_at){.vfs = t.vfs};
		test(&t, &at);
		test(&t, &at);
		tree_close(&t);
	}
}

static void names_body(struct tree *t, const struct vfs_at *at)
{
	assert_int_equal(number(at, "/", 0), MEM_ROOT);
	assert_int_equal(number(at, "/a/b/c/file", 0), t->file);
	assert_int_equal(number(at, "//a///b/c//file", 0), t->file);
	assert_int_equal(number(at, "a/./b/../b/c/file", 0), t->file);
	assert_int_equal(number(at, "/../../a/b/c", 0), t->c);
	assert_int_equal(number(at, "/a/b/c/", 0), t->c);
	assert_int_equal(number(at, "/a/b/c/.", 0), t->c);
	assert_int_equal(number(at, "", 0), -ENOENT);
	assert_int_equal(number(at, "/a/none", 0), -ENOENT);
	assert_int_equal(number(at, "/a/none/b", 0), -ENOENT);
	assert_int_equal(number(at, "/a/b/c/file/", 0), -ENOTDIR);
	assert_int_equal(number(at, "/a/b/c/file/x", 0), -ENOTDIR);
	assert_int_equal(number(at, "/a/b/c/file/..", 0), -ENOTDIR);
	assert_int_equal(number(at, "/a/null", VFS_DIRECTORY), -ENOTDIR);
}

static void test_vfs_walk_names(void **state)
{
	(void)state;
	run_all(names_body);
}

static void links_body(struct tree *t, const struct vfs_at *at)
{
	assert_int_equal(number(at, "/a/rel", 0), t->file);
	assert_int_equal(number(at, "/a/abs/file", 0), t->file);
	assert_int_equal(number(at, "/a/b/up/a/rel", 0), t->file);
	assert_true(number(at, "/a/abs", VFS_NOFOLLOW) > (int64_t)t->c);
	assert_int_equal(number(at, "/a/abs/", VFS_NOFOLLOW), t->c);
	assert_int_equal(number(at, "/a/slash/c", 0), t->c);
	assert_int_equal(number(at, "/a/rel/", 0), -ENOTDIR);
	assert_int_equal(number(at, "/a/loop", 0), -ELOOP);
	assert_true(number(at, "/a/loop", VFS_NOFOLLOW) > 0);
	assert_int_equal(number(at, "/a/loop/x", VFS_NOFOLLOW), -ELOOP);
	assert_int_equal(number(at, "/a/dangling", 0), -ENOENT);
	assert_true(number(at, "/a/dangling", VFS_NOFOLLOW) > 0);
}

static void test_vfs_walk_symlinks(void **state)
{
	(void)state;
	run_all(links_body);
}

static void lengths_body(struct tree *t, const struct vfs_at *at)
{
	char name[VFS_NAME_MAX + 2];
	char path[VFS_PATH_MAX + 1];

	(void)t;
	memset(name, 'n', sizeof(name));
	name[VFS_NAME_MAX + 1] = '\0';
	assert_int_equal(number(at, name, 0), -ENAMETOOLONG);
	name[VFS_NAME_MAX] = '\0';
	assert_int_equal(number(at, name, 0), -ENOENT);
	memset(path, '/', sizeof(path));
	path[VFS_PATH_MAX] = '\0';
	assert_int_equal(number(at, path, 0), -ENAMETOOLONG);
	path[VFS_PATH_MAX - 1] = '\0';
	assert_int_equal(number(at, path, 0), MEM_ROOT);
}

static void test_vfs_walk_lengths(void **state)
{
	(void)state;
	run_all(lengths_body);
}

static void handles_body(struct tree *t, const struct vfs_at *at)
{
	struct vfs_at from = *at;
	struct vfs_file *file;
	char path[64];

	assert_int_equal(vfs_file_open(at, "/a/b", 0, &from.dir), 0);
	assert_int_equal(number(&from, "c/file", 0), t->file);
	assert_int_equal(number(&from, "../b/c", 0), t->c);
	assert_int_equal(number(&from, "/a/b/c", 0), t->c);
	assert_int_equal(number(&from, "c/file", VFS_BENEATH), t->file);
	assert_int_equal(number(&from, "c/..", VFS_BENEATH) > 0, 1);
	assert_int_equal(number(&from, "..", VFS_BENEATH), -EXDEV);
	assert_int_equal(number(&from, "up", VFS_BENEATH), -EXDEV);
	assert_int_equal(number(&from, "/a", VFS_BENEATH), -EXDEV);
	assert_int_equal(vfs_file_open(&from, "c/file", 0, &file), 0);
	assert_int_equal(vfs_path_of(file, path, sizeof(path)), 0);
	assert_string_equal(path, "/a/b/c/file");
	assert_int_equal(vfs_path_of(file, path, 11), -ERANGE);
	vfs_file_close(from.dir);
	from.dir = file;
	assert_int_equal(number(&from, "x", 0), -ENOTDIR);
	assert_int_equal(number(&from, "", VFS_EMPTY_PATH), t->file);
	vfs_file_close(file);
}

static void test_vfs_walk_from_handles(void **state)
{
	(void)state;
	run_all(handles_body);
}

static void credentials_body(struct tree *t, const struct vfs_at *at)
{
	const struct vfs_cred owner = {.uid = 1000, .gid = 100};
	const struct vfs_cred group = {.uid = 1, .gid = 100};
	const struct vfs_cred other = {.uid = 1, .gid = 1};
	const struct vfs_cred root = {.uid = 0, .privileged = true};
	struct vfs_at as = *at;

	as.cred = &owner;
	assert_int_equal(number(&as, "/private/x", 0), t->private_x);
	assert_int_equal(vfs_access(&as, "/a/b/c/file", 0, R_OK | W_OK), 0);
	assert_int_equal(vfs_access(&as, "/a/b/c/file", 0, X_OK), -EACCES);
	as.cred = &group;
	assert_int_equal(number(&as, "/private/x", 0), -EACCES);
	assert_int_equal(number(&as, "/private", 0), t->private);
	assert_int_equal(vfs_access(&as, "/a/b/c/file", 0, R_OK), 0);
	assert_int_equal(vfs_access(&as, "/a/b/c/file", 0, W_OK), -EACCES);
	as.cred = &other;
	assert_int_equal(vfs_access(&as, "/a/b/c/file", 0, R_OK), -EACCES);
	assert_int_equal(number(&as, "/private/../a", 0), -EACCES);
	as.cred = &root;
	assert_int_equal(number(&as, "/private/x", 0), t->private_x);
	assert_int_equal(vfs_access(&as, "/a/b/c/file", 0, W_OK), 0);
	assert_int_equal(vfs_access(&as, "/a/b/c/file", 0, X_OK), -EACCES);
}

static void test_vfs_walk_checks_credentials(void **state)
{
	(void)state;
	run_all(credentials_body);
}

/* Reading through an open file, and listing. */
struct listing {
	char text[256];
	unsigned limit;
	uint64_t last;
};

static int list_one(void *arg, const struct vfs_dirent *entry)
{
	struct listing *l = arg;

	(void)strncat(l->text, entry->name, entry->name_bytes);
	(void)strcat(l->text, " ");
	l->last = entry->cookie;
	return --l->limit == 0;
}

static void reading_body(struct tree *t, const struct vfs_at *at)
{
	struct listing l = {.limit = 3};
	struct vfs_file *file;
	char text[16] = "";
	uint64_t where;
	size_t done;

	(void)t;
	assert_int_equal(vfs_file_open(at, "/a/rel", 0, &file), 0);
	assert_int_equal(vfs_pread(file, 1, sizeof(text), text, &done), 0);
	assert_int_equal(done, 4);
	assert_memory_equal(text, "ello", 4);
	assert_int_equal(vfs_pread(file, 9, sizeof(text), text, &done), 0);
	assert_int_equal(done, 0);
	assert_int_equal(vfs_seek(file, 0, false, &where), 0);
	assert_int_equal(where, 5);
	assert_int_equal(vfs_readdir(file, 0, list_one, &l), -ENOTDIR);
	vfs_file_close(file);
	assert_int_equal(vfs_readlink(at, "/a/rel", text, 3, &done), 0);
	assert_int_equal(done, 3);
	assert_memory_equal(text, "b/c", 3);
	assert_int_equal(vfs_readlink(at, "/a/b", text, 3, &done), -EINVAL);
	assert_int_equal(vfs_file_open(at, "/a", 0, &file), 0);
	assert_int_equal(vfs_pread(file, 0, 1, text, &done), -EISDIR);
	assert_int_equal(vfs_readdir(file, 0, list_one, &l), 0);
	l.limit = 100;
	assert_int_equal(vfs_readdir(file, l.last, list_one, &l), 0);
	assert_string_equal(l.text, ". .. b abs rel slash loop dangling null ");
	vfs_file_close(file);
}

static void test_vfs_files_read_and_list(void **state)
{
	(void)state;
	run_all(reading_body);
}

/* Lock-free walks over warm names do not fall back. */
static void test_vfs_walk_warm_stays_lock_free(void **state)
{
	const struct vfs_opts opts = {.walk = VFS_WALK_RCU};
	struct vfs_stats cold;
	struct vfs_stats warm;
	struct vfs_at at;
	struct tree t;

	(void)state;
	tree_open(&t, &opts);
	at = (struct vfs_at){.vfs = t.vfs};
	assert_int_equal(number(&at, "/a/b/up/a/rel", 0), t.file);
	assert_int_equal(number(&at, "/a/none", 0), -ENOENT);
	vfs_stats_read(t.vfs, &cold);
	assert_int_equal(cold.walks_ref, 2);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(number(&at, "/a/b/up/a/rel", 0), t.file);
		assert_int_equal(number(&at, "/a/none", 0), -ENOENT);
	}
	vfs_stats_read(t.vfs, &warm);
	assert_int_equal(warm.walks_ref, cold.walks_ref);
	assert_int_equal(warm.lookups, cold.lookups);
	tree_close(&t);
}

/* ---- mounts ------------------------------------------------------------------- */

static void mounts_body(struct tree *t, const struct vfs_at *at)
{
	struct vfs_file *file;
	struct mem_fs *mem;
	char path[64];
	vfs_ino inner;

	assert_int_equal(mem_open(&mem), 0);
	inner = tree_add(mem, MEM_ROOT, "inner", S_IFDIR | 0755, NULL);
	assert_int_equal(number(at, "/mnt/inner", 0), -ENOENT);
	assert_int_equal(vfs_mount(t->vfs, "/mnt", mem_vfs(mem)), 0);
	assert_int_equal(number(at, "/mnt/inner", 0), inner);
	assert_int_equal(number(at, "/mnt/inner/../../a/b/c", 0), t->c);
	assert_int_equal(number(at, "/mnt/..", 0), MEM_ROOT);
	assert_int_equal(vfs_unmount(t->vfs, "/a"), -EINVAL);
	assert_int_equal(vfs_file_open(at, "/mnt/inner", 0, &file), 0);
	assert_int_equal(vfs_path_of(file, path, sizeof(path)), 0);
	assert_string_equal(path, "/mnt/inner");
	assert_int_equal(vfs_unmount(t->vfs, "/mnt"), -EBUSY);
	assert_int_equal(vfs_unmount(t->vfs, "/"), -EBUSY);
	vfs_file_close(file);
	assert_int_equal(number(at, "/mnt/inner", 0), inner);
	assert_int_equal(vfs_unmount(t->vfs, "/mnt"), 0);
	assert_int_equal(number(at, "/mnt/inner", 0), -ENOENT);
}

static void test_vfs_mounts_are_crossed(void **state)
{
	(void)state;
	run_all(mounts_body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vfs_walk_names),
		cmocka_unit_test(test_vfs_walk_symlinks),
		cmocka_unit_test(test_vfs_walk_lengths),
		cmocka_unit_test(test_vfs_walk_from_handles),
		cmocka_unit_test(test_vfs_walk_checks_credentials),
		cmocka_unit_test(test_vfs_files_read_and_list),
		cmocka_unit_test(test_vfs_walk_warm_stays_lock_free),
		cmocka_unit_test(test_vfs_mounts_are_crossed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
