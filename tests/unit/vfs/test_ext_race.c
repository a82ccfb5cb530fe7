/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Readers of an ext4 image beside eviction of names, inodes and blocks, and
 * beside a second mount of it that comes and goes.  The cache holds a part of
 * the image only, so that every kind of block is read again and again.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "base/assert.h"
#include "base/hash.h"
#include "ext/ext.h"
#include "vfs/vfs.h"

#define MKE2FS "/usr/sbin/mke2fs"

enum {
	DIRS = 12,
	FILES = 30,
	FILE_BYTES = 9000, /* 360 of them: three times the cache */
	CACHE_BYTES = 1 << 20,
	ENTRIES = 128,
	READERS = 4,
	ROUNDS = 700,
};

extern char **environ;

static char folder[] = "/tmp/vfs-race-XXXXXX";
static char image[64];

/* ---- the image -------------------------------------------------------------- */

/* What file @f of directory @d holds at @offset. */
static unsigned char byte_of(uint32_t d, uint32_t f, uint32_t offset)
{
	return (unsigned char)(d * 31 + f * 7 + offset / 16);
}

static void file_make(uint32_t d, uint32_t f)
{
	unsigned char data[FILE_BYTES];
	char path[128];
	char target[32];
	FILE *file;

	for (uint32_t i = 0; i < FILE_BYTES; i++)
		data[i] = byte_of(d, f, i);
	(void)snprintf(path, sizeof(path), "%s/tree/d%u/f%u", folder, d, f);
	file = fopen(path, "we");
	CHECK(file != NULL && fwrite(data, sizeof(data), 1, file) == 1);
	CHECK(fclose(file) == 0);
	(void)snprintf(path, sizeof(path), "%s/tree/d%u/l%u", folder, d, f);
	(void)snprintf(target, sizeof(target), "../d%u/f%u", d, f);
	CHECK(symlink(target, path) == 0);
}

static void dir_make(const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	CHECK(mkdir(path, 0755) == 0);
}

static int run(char *const *argv)
{
	posix_spawn_file_actions_t quiet;
	int status = -1;
	pid_t pid;

	(void)posix_spawn_file_actions_init(&quiet);
	(void)posix_spawn_file_actions_addopen(
		&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&pid, argv[0], &quiet, NULL, argv, environ) == 0)
		CHECK(waitpid(pid, &status, 0) == pid);
	(void)posix_spawn_file_actions_destroy(&quiet);
	return status;
}

static int image_make(void **state)
{
	char tree[64];
	char name[32];
	char *const argv[] = {MKE2FS, "-q", "-t", "ext4", "-b", "1024", "-d",
		tree, image, "16M", NULL};

	(void)state;
	CHECK(mkdtemp(folder) != NULL);
	(void)snprintf(image, sizeof(image), "%s/image", folder);
	(void)snprintf(tree, sizeof(tree), "%s/tree", folder);
	dir_make("tree");
	dir_make("tree/mnt");
	for (uint32_t d = 0; d < DIRS; d++) {
		(void)snprintf(name, sizeof(name), "tree/d%u", d);
		dir_make(name);
		for (uint32_t f = 0; f < FILES; f++)
			file_make(d, f);
	}
	return access(MKE2FS, X_OK) != 0 || run(argv) == 0 ? 0 : -1;
}

static int image_remove(void **state)
{
	char *const argv[] = {"/bin/rm", "-rf", folder, NULL};

	(void)state;
	return run(argv);
}

static struct vfs_fs *image_mount(void)
{
	const struct ext_mount_opts opts = {.cache_bytes = CACHE_BYTES};
	struct blk_dev *dev;
	struct vfs_fs *fs;

	CHECK(blk_open_file(image, 0, NULL, 0, &dev) == 0);
	CHECK(ext_mount(dev, &opts, &fs, NULL) == 0);
	return fs;
}

/* ---- who races -------------------------------------------------------------- */

struct crowd {
	struct vfs *vfs;
	_Atomic bool stop;
	_Atomic uint32_t wrong;
};

static void expect(struct crowd *c, bool holds)
{
	if (!holds)
		atomic_fetch_add(&c->wrong, 1);
}

/* A piece of the file at @path, which is file @f of directory @d. */
static void read_piece(struct crowd *c, const char *path, uint32_t d,
	uint32_t f, uint32_t offset)
{
	const struct vfs_at at = {.vfs = c->vfs};
	unsigned char piece[3000];
	struct vfs_file *file;
	bool same = true;
	size_t done = 0;
	int err = vfs_file_open(&at, path, 0, &file);

	expect(c, err == 0);
	if (err != 0)
		return;
	err = vfs_pread(file, offset, sizeof(piece), piece, &done);
	expect(c, err == 0 && done > 0);
	for (uint32_t i = 0; i < done; i++)
		same &= piece[i] == byte_of(d, f, offset + i);
	expect(c, same);
	vfs_file_close(file);
}

static int count_entry(void *arg, const struct vfs_dirent *entry)
{
	uint32_t *count = arg;

	(void)entry;
	(*count)++;
	return 0;
}

static void list_dir(struct crowd *c, uint32_t d)
{
	const struct vfs_at at = {.vfs = c->vfs};
	struct vfs_file *file;
	uint32_t count = 0;
	char path[32];
	int err;

	(void)snprintf(path, sizeof(path), "/d%u", d);
	err = vfs_file_open(&at, path, VFS_DIRECTORY, &file);
	expect(c, err == 0);
	if (err != 0)
		return;
	expect(c, vfs_readdir(file, 0, count_entry, &count) == 0);
	expect(c, count == 2 + 2 * FILES);
	vfs_file_close(file);
}

static void *race_read(void *arg)
{
	struct crowd *c = arg;
	const struct vfs_at at = {.vfs = c->vfs};
	uint64_t random = (uint64_t)(uintptr_t)&at;

	for (int i = 0; i < ROUNDS; i++) {
		uint32_t d = (uint32_t)(hash_next(&random) % DIRS);
		uint32_t f = (uint32_t)(hash_next(&random) % FILES);
		char path[64];
		struct vfs_attr attr;

		(void)snprintf(path, sizeof(path), "/d%u/%c%u", d,
			i % 2 == 0 ? 'f' : 'l', f);
		expect(c, vfs_stat(&at, path, 0, &attr) == 0 &&
				  attr.size == FILE_BYTES);
		read_piece(c, path, d, f,
			(uint32_t)(hash_next(&random) % FILE_BYTES));
		(void)snprintf(path, sizeof(path), "/d%u/none%u", d, f);
		expect(c, vfs_stat(&at, path, 0, &attr) == -ENOENT);
		if (i % 16 == 0)
			list_dir(c, d);
	}
	return NULL;
}

static void *race_shrink(void *arg)
{
	struct crowd *c = arg;

	while (!atomic_load(&c->stop))
		vfs_shrink(c->vfs, 16);
	return NULL;
}

static void *race_mount(void *arg)
{
	struct crowd *c = arg;
	int err;

	while (!atomic_load(&c->stop)) {
		expect(c, vfs_mount(c->vfs, "/mnt", image_mount()) == 0);
		read_piece(c, "/mnt/d3/l4", 3, 4, 100);
		do
			err = vfs_unmount(c->vfs, "/mnt");
		while (err == -EBUSY);
		expect(c, err == 0);
	}
	return NULL;
}

/* What is under /mnt is there or not, but never anything else. */
static void *race_peek(void *arg)
{
	struct crowd *c = arg;
	const struct vfs_at at = {.vfs = c->vfs};

	while (!atomic_load(&c->stop)) {
		struct vfs_attr attr;
		int err = vfs_stat(&at, "/mnt/d1/../d2/f3", 0, &attr);

		expect(c, err == -ENOENT ||
				  (err == 0 && attr.size == FILE_BYTES));
	}
	return NULL;
}

static void race(enum vfs_walk_mode walk)
{
	const struct vfs_opts opts = {.walk = walk, .cache_entries = ENTRIES};
	void *(*const bodies[])(void *) = {race_shrink, race_mount, race_peek};
	pthread_t others[ARRAY_COUNT(bodies)];
	pthread_t readers[READERS];
	struct crowd c = {0};
	struct vfs_stats stats;

	if (access(MKE2FS, X_OK) != 0)
		skip_because("mke2fs is not installed");
	assert_int_equal(vfs_open(&opts, &c.vfs), 0);
	assert_int_equal(vfs_mount(c.vfs, "/", image_mount()), 0);
	for (size_t i = 0; i < ARRAY_COUNT(bodies); i++)
		assert_int_equal(
			pthread_create(&others[i], NULL, bodies[i], &c), 0);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(
			pthread_create(&readers[i], NULL, race_read, &c), 0);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_join(readers[i], NULL), 0);
	atomic_store(&c.stop, true);
	for (size_t i = 0; i < ARRAY_COUNT(bodies); i++)
		assert_int_equal(pthread_join(others[i], NULL), 0);
	assert_int_equal(atomic_load(&c.wrong), 0);
	vfs_stats_read(c.vfs, &stats);
	assert_true(stats.evicted > 0);
	assert_int_equal(vfs_close(c.vfs), 0);
}

static void test_vfs_lock_free_readers_of_an_image_race_eviction(void **state)
{
	(void)state;
	race(VFS_WALK_RCU);
}

static void test_vfs_referenced_readers_of_an_image_race_eviction(void **state)
{
	(void)state;
	race(VFS_WALK_REF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_vfs_lock_free_readers_of_an_image_race_eviction),
		cmocka_unit_test(
			test_vfs_referenced_readers_of_an_image_race_eviction),
	};

	return cmocka_run_group_tests(tests, image_make, image_remove);
}
