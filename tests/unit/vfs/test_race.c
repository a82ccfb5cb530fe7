/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks beside eviction and unmounting: every answer is right whenever it
 * comes, and caches stay within their bounds.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/tally.h"
#include "tree.h"
#include "vfs/vfs_int.h"

enum { DIRS = 20, FILES = 50, THREADS = 4, WALKS = 4000, LIMIT = 256 };

struct crowd {
	struct tree t;
	vfs_ino ino[DIRS][FILES];
	_Atomic bool stop;
	_Atomic uint32_t wrong;
	uint64_t seed;
};

static void crowd_open(struct crowd *c, const struct vfs_opts *opts)
{
	char name[32];

	tree_open(&c->t, opts);
	for (int d = 0; d < DIRS; d++) {
		vfs_ino dir;

		(void)snprintf(name, sizeof(name), "d%d", d);
		dir = tree_add(c->t.mem, MEM_ROOT, name, S_IFDIR | 0755, NULL);
		for (int f = 0; f < FILES; f++) {
			(void)snprintf(name, sizeof(name), "f%d", f);
			c->ino[d][f] = tree_add(
				c->t.mem, dir, name, S_IFREG | 0644, "x");
		}
	}
}

static void *crowd_walk(void *arg)
{
	struct crowd *c = arg;
	struct vfs_at at = {.vfs = c->t.vfs};
	uint64_t random = (uint64_t)(uintptr_t)&at;

	for (int i = 0; i < WALKS; i++) {
		uint32_t d = (uint32_t)(hash_next(&random) % DIRS);
		uint32_t f = (uint32_t)(hash_next(&random) % (FILES + 10));
		struct vfs_attr attr = {.ino = 0};
		struct vfs_file *file;
		char path[64];
		int err;

		(void)snprintf(path, sizeof(path), "/d%u/f%u", d, f);
		err = vfs_stat(&at, path, 0, &attr);
		if (f >= FILES ? err != -ENOENT
			       : err != 0 || attr.ino != c->ino[d][f])
			atomic_fetch_add(&c->wrong, 1);
		if (f >= FILES || i % 4 != 0)
			continue;
		err = vfs_file_open(&at, path, 0, &file);
		if (err != 0 || vfs_file_inode(file)->ino != c->ino[d][f])
			atomic_fetch_add(&c->wrong, 1);
		if (err == 0)
			vfs_file_close(file);
	}
	return NULL;
}

static void *crowd_shrink(void *arg)
{
	struct crowd *c = arg;

	while (!atomic_load(&c->stop))
		vfs_shrink(c->t.vfs, 8);
	return NULL;
}

/* Something comes and goes under the walkers' feet. */
static void *crowd_mount(void *arg)
{
	struct crowd *c = arg;
	struct vfs_at at = {.vfs = c->t.vfs};

	while (!atomic_load(&c->stop)) {
		struct vfs_attr attr;
		struct mem_fs *mem;
		vfs_ino inner;
		int err;

		CHECK(mem_open(&mem) == 0);
		inner = tree_add(mem, MEM_ROOT, "inner", S_IFREG | 0644, NULL);
		CHECK(vfs_mount(c->t.vfs, "/mnt", mem_vfs(mem)) == 0);
		err = vfs_stat(&at, "/mnt/inner", 0, &attr);
		if (err != 0 || attr.ino != inner)
			atomic_fetch_add(&c->wrong, 1);
		do
			err = vfs_unmount(c->t.vfs, "/mnt");
		while (err == -EBUSY);
		if (err != 0)
			atomic_fetch_add(&c->wrong, 1);
	}
	return NULL;
}

static void *crowd_peek(void *arg)
{
	struct crowd *c = arg;
	struct vfs_at at = {.vfs = c->t.vfs};

	while (!atomic_load(&c->stop)) {
		struct vfs_attr attr;
		int err = vfs_stat(&at, "/mnt/inner", 0, &attr);

		if (err != 0 && err != -ENOENT)
			atomic_fetch_add(&c->wrong, 1);
	}
	return NULL;
}

static void race(enum vfs_walk_mode walk)
{
	const struct vfs_opts opts = {.walk = walk, .cache_entries = LIMIT};
	void *(*const others[])(void *) = {
		crowd_shrink, crowd_mount, crowd_peek};
	pthread_t walkers[THREADS];
	pthread_t other[ARRAY_COUNT(others)];
	struct vfs_stats stats;
	struct crowd c = {0};

	crowd_open(&c, &opts);
	for (size_t i = 0; i < ARRAY_COUNT(others); i++)
		assert_int_equal(
			pthread_create(&other[i], NULL, others[i], &c), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&walkers[i], NULL, crowd_walk, &c), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(walkers[i], NULL), 0);
	atomic_store(&c.stop, true);
	for (size_t i = 0; i < ARRAY_COUNT(others); i++)
		assert_int_equal(pthread_join(other[i], NULL), 0);
	assert_int_equal(atomic_load(&c.wrong), 0);
	vfs_stats_read(c.t.vfs, &stats);
	assert_true(stats.evicted > 0);
	tree_close(&c.t);
}

static void test_vfs_lock_free_walks_race_eviction_and_unmount(void **state)
{
	(void)state;
	race(VFS_WALK_RCU);
}

static void test_vfs_referenced_walks_race_eviction_and_unmount(void **state)
{
	(void)state;
	race(VFS_WALK_REF);
}

/* Without anybody shrinking, the limit alone keeps the cache bounded. */
static void test_vfs_cache_stays_within_its_entries(void **state)
{
	const struct vfs_opts opts = {.cache_entries = LIMIT};
	struct vfs_stats stats;
	struct crowd c = {0};
	uint64_t slack;

	(void)state;
	crowd_open(&c, &opts);
	(void)crowd_walk(&c);
	vfs_stats_read(c.t.vfs, &stats);
	slack = (uint64_t)TALLY_BATCH * cpu_count();
	assert_int_equal(atomic_load(&c.wrong), 0);
	assert_true(stats.dentries <= LIMIT + slack);
	assert_true(stats.inodes <= stats.dentries + 1);
	tree_close(&c.t);
}

/* Two who unmount the same at once: one does, the other is told that it did not.
 * Both are past their walk before either may go on. */
struct unmounter {
	struct vfs *vfs;
	pthread_t thread;
	int err;
};

static void *unmount_main(void *arg)
{
	struct unmounter *u = arg;

	u->err = vfs_unmount(u->vfs, "/mnt");
	return NULL;
}

static void test_vfs_two_unmounts_of_one_mount(void **state)
{
	const struct vfs_opts opts = {.cache_entries = LIMIT};
	struct unmounter u[2];
	struct mem_fs *mem;
	struct tree t;

	(void)state;
	tree_open(&t, &opts);
	assert_int_equal(mem_open(&mem), 0);
	assert_int_equal(vfs_mount(t.vfs, "/mnt", mem_vfs(mem)), 0);
	mtx_lock(&t.vfs->mount_lock);
	for (int i = 0; i < 2; i++) {
		u[i].vfs = t.vfs;
		assert_int_equal(
			pthread_create(&u[i].thread, NULL, unmount_main, &u[i]),
			0);
	}
	(void)usleep(50000);
	mtx_unlock(&t.vfs->mount_lock);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(u[i].thread, NULL), 0);
	assert_true((u[0].err == 0) != (u[1].err == 0));
	tree_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_vfs_lock_free_walks_race_eviction_and_unmount),
		cmocka_unit_test(
			test_vfs_referenced_walks_race_eviction_and_unmount),
		cmocka_unit_test(test_vfs_cache_stays_within_its_entries),
		cmocka_unit_test(test_vfs_two_unmounts_of_one_mount),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
