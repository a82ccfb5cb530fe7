/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A mounted file system that mke2fs filled: many threads see one tree while
 * caches evict, and a block's checksum is verified when the block enters the
 * cache, and only then.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "../seed.h"
#include "base/hash.h"
#include "ext/mount_int.h"

enum {
	DIRS = 4,
	FILES = 60,
	PIECES = 9,
	BLOCK = 1024,
	THREADS = 4,
	ROUNDS = 300,
};

struct fixture {
	char folder[64];
	char tree[72];
	char image[96];
	struct vfs *vfs;
	struct vfs_fs *fs;
	uint64_t seed;
	_Atomic uint32_t started;
	_Atomic uint32_t wrong;
};

/* ---- an image ------------------------------------------------------------------ */

/* What file @f of directory @d holds at @i. */
static uint8_t byte_of(unsigned d, unsigned f, unsigned i)
{
	return (uint8_t)(hash_u64((uint64_t)d << 40 | f << 20 | i) | 1);
}

static unsigned bytes_of(unsigned f)
{
	return 1 + f * 197;
}

static void file_make(const char *folder, unsigned d, unsigned f)
{
	uint8_t data[FILES * 197 + 1];
	char path[128];
	int fd;

	for (unsigned i = 0; i < bytes_of(f); i++)
		data[i] = byte_of(d, f, i);
	(void)snprintf(path, sizeof(path), "%s/d%u/file-%u", folder, d, f);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes_of(f)), bytes_of(f));
	close(fd);
}

/* Blocks with holes between, so that its tree has nodes. */
static void pieces_make(const char *folder)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/pieces", folder);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	for (unsigned i = 0; i < PIECES; i++)
		assert_int_equal(pwrite(fd, "piece", 5, (off_t)i * 65536), 5);
	close(fd);
}

static void tree_make(const char *folder)
{
	char path[128];

	for (unsigned d = 0; d < DIRS; d++) {
		(void)snprintf(path, sizeof(path), "%s/d%u", folder, d);
		assert_int_equal(mkdir(path, 0755), 0);
		for (unsigned f = 0; f < FILES; f++)
			file_make(folder, d, f);
		(void)snprintf(path, sizeof(path), "%s/link%u", folder, d);
		assert_int_equal(symlink("d0/file-7", path), 0);
	}
	pieces_make(folder);
}

static int shell(const char *command)
{
	int status = system(command); /* NOLINT(concurrency-mt-unsafe,cert*) */

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int image_make(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	char command[512];

	assert_non_null(x);
	strcpy(x->folder, "/tmp/extant-mounted.XXXXXX");
	assert_non_null(mkdtemp(x->folder));
	(void)snprintf(x->image, sizeof(x->image), "%s/fs.img", x->folder);
	(void)snprintf(x->tree, sizeof(x->tree), "%s/tree", x->folder);
	assert_int_equal(mkdir(x->tree, 0755), 0);
	tree_make(x->tree);
	(void)snprintf(command, sizeof(command),
		"PATH=$PATH:/usr/sbin:/sbin; mke2fs -q -F -t ext4 -b %d -O "
		"^has_journal,metadata_csum -d %s %s 8M && "
		"e2fsck -fyD %s >/dev/null 2>&1; [ $? -le 1 ]",
		BLOCK, x->tree, x->image, x->image);
	assert_int_equal(shell(command), 0);
	*state = x;
	return 0;
}

static int image_drop(void **state)
{
	struct fixture *x = *state;
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf %s", x->folder);
	assert_int_equal(shell(command), 0);
	free(x);
	return 0;
}

static void mount_it(struct fixture *x, uint64_t cache, uint32_t entries)
{
	struct ext_mount_opts opts = {.cache_bytes = cache};
	struct vfs_opts vfs = {.cache_entries = entries};
	struct ext_damage damage = {0};
	struct blk_dev *dev;
	char why[160];

	assert_int_equal(blk_open_file(x->image, 0, why, sizeof(why), &dev), 0);
	assert_int_equal(ext_mount(dev, &opts, &x->fs, &damage), 0);
	assert_int_equal(vfs_open(&vfs, &x->vfs), 0);
	assert_int_equal(vfs_mount(x->vfs, "/", x->fs), 0);
}

/* ---- threads --------------------------------------------------------------------- */

static int count_entry(void *arg, const struct vfs_dirent *e)
{
	unsigned *count = arg;

	(void)e;
	++*count;
	return 0;
}

static bool dir_right(const struct vfs_at *at, unsigned d)
{
	struct vfs_file *dir;
	unsigned count = 0;
	char path[32];
	int err;

	(void)snprintf(path, sizeof(path), "/d%u", d);
	if (vfs_file_open(at, path, 0, &dir))
		return false;
	err = vfs_readdir(dir, 0, count_entry, &count);
	vfs_file_close(dir);
	return err == 0 && count == FILES + 2;
}

static bool file_right(const struct vfs_at *at, unsigned d, unsigned f)
{
	uint8_t data[FILES * 197 + 1];
	struct vfs_file *file;
	size_t done = 0;
	bool right;
	char path[32];

	(void)snprintf(path, sizeof(path), "/d%u/file-%u", d, f);
	if (vfs_file_open(at, path, 0, &file))
		return false;
	right = vfs_pread(file, 0, sizeof(data), data, &done) == 0 &&
		done == bytes_of(f);
	for (unsigned i = 0; right && i < done; i++)
		right = data[i] == byte_of(d, f, i);
	vfs_file_close(file);
	return right;
}

static bool names_right(const struct vfs_at *at, unsigned d, unsigned f)
{
	struct vfs_attr attr;
	char target[32];
	size_t done = 0;
	char path[32];

	(void)snprintf(path, sizeof(path), "/d%u/none-%u", d, f);
	if (vfs_stat(at, path, 0, &attr) != -ENOENT)
		return false;
	(void)snprintf(path, sizeof(path), "/link%u", d);
	if (vfs_readlink(at, path, target, sizeof(target), &done) || done != 9)
		return false;
	return vfs_stat(at, path, 0, &attr) == 0 && attr.size == bytes_of(7);
}

static bool pieces_right(const struct vfs_at *at)
{
	struct vfs_file *file;
	uint64_t end = 0;
	unsigned count = 0;
	uint64_t from;

	if (vfs_file_open(at, "/pieces", 0, &file))
		return false;
	while (vfs_seek(file, end, true, &from) == 0 &&
		vfs_seek(file, from, false, &end) == 0)
		count += from == (uint64_t)count * 65536;
	vfs_file_close(file);
	return count == PIECES;
}

static void *walker(void *arg)
{
	struct fixture *x = arg;
	struct vfs_at at = {.vfs = x->vfs};
	uint64_t random = x->seed + atomic_fetch_add(&x->started, 1);

	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned d = (unsigned)(hash_next(&random) % DIRS);
		unsigned f = (unsigned)(hash_next(&random) % FILES);
		bool right = file_right(&at, d, f) && names_right(&at, d, f);

		if (right && i % 16 == 0)
			right = dir_right(&at, d) && pieces_right(&at);
		if (!right)
			atomic_fetch_add(&x->wrong, 1);
	}
	return NULL;
}

static void test_ext_mounted_threads_see_one_tree_beside_eviction(void **state)
{
	struct fixture *x = *state;
	struct cache_stats stats;
	pthread_t threads[THREADS];

	x->seed = test_seed();
	/* Less than the tree needs, of blocks and of names. */
	mount_it(x, 1 << 20, 64);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, walker, x), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&x->wrong), 0);
	cache_stats_read(x->fs->cache, &stats);
	assert_true(stats.evicted > 0);
	assert_int_equal(vfs_close(x->vfs), 0);
}

/* ---- checksums --------------------------------------------------------------------- */

/* The first block whose tail @is_ours recognises. */
static blk_no block_find(
	const struct fixture *x, bool (*is_ours)(const uint8_t *data))
{
	int fd = open(x->image, O_RDONLY | O_CLOEXEC);
	uint8_t data[BLOCK];
	blk_no at = 0;

	assert_true(fd >= 0);
	for (blk_no b = 2;
		at == 0 && pread(fd, data, BLOCK, (off_t)b * BLOCK) == BLOCK;
		b++)
		if (is_ours(data))
			at = b;
	close(fd);
	assert_true(at != 0);
	return at;
}

/* A leaf of a directory that holds a certain name. */
static bool is_leaf(const uint8_t *data)
{
	static const uint8_t tail[] = {0, 0, 0, 0, 12, 0, 0, 0xde};

	return memcmp(data + BLOCK - 12, tail, sizeof(tail)) == 0 &&
	       memmem(data, BLOCK, "file-7", 6);
}

static bool is_node(const uint8_t *data)
{
	return data[0] == 0x0a && data[1] == 0xf3 && data[2] == PIECES;
}

static void flip_on_device(const struct fixture *x, blk_no block)
{
	int fd = open(x->image, O_RDWR | O_CLOEXEC);
	off_t at = (off_t)(block + 1) * BLOCK - 1;
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x55;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* Wrong in the cache, too, where nobody looks any more. */
static void flip_in_cache(const struct fixture *x, blk_no block)
{
	struct buf *buf;

	assert_int_equal(cache_get(x->fs->cache, block, NULL, &buf), 0);
	((uint8_t *)buf->data)[BLOCK - 1] ^= 0x55;
	buf_put(buf);
}

static int read_all(struct vfs_file *file, bool dir)
{
	unsigned count = 0;
	uint64_t at = 65536; /* below what is cached of the map already */

	return dir ? vfs_readdir(file, 0, count_entry, &count)
		   : vfs_seek(file, at + 1, false, &at);
}

static void checksum_once(struct fixture *x, const char *path, bool dir,
	bool (*is_ours)(const uint8_t *data))
{
	struct vfs_at at = {.vfs = x->vfs};
	blk_no block = block_find(x, is_ours);
	struct vfs_file *file;

	assert_int_equal(vfs_file_open(&at, path, 0, &file), 0);
	assert_int_equal(read_all(file, dir), 0);
	flip_in_cache(x, block);
	flip_on_device(x, block);
	assert_int_equal(read_all(file, dir), 0);
	assert_int_equal(cache_forget(x->fs->cache, block), 0);
	assert_int_equal(read_all(file, dir), -EBADMSG);
	/* A bad block does not stay. */
	flip_on_device(x, block);
	assert_int_equal(read_all(file, dir), 0);
	vfs_file_close(file);
}

static void test_ext_mounted_checksums_are_verified_on_entry_only(void **state)
{
	struct fixture *x = *state;
	struct vfs_attr attr;
	struct vfs_at at;
	char path[32];

	mount_it(x, 0, 0);
	at = (struct vfs_at){.vfs = x->vfs};
	checksum_once(x, "/pieces", false, is_node);
	/* Whichever directory the leaf belongs to. */
	for (unsigned d = 0; d < DIRS; d++) {
		(void)snprintf(path, sizeof(path), "/d%u/file-7", d);
		assert_int_equal(vfs_stat(&at, path, 0, &attr), 0);
	}
	checksum_once(x, "/d0", true, is_leaf);
	assert_int_equal(vfs_close(x->vfs), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_ext_mounted_threads_see_one_tree_beside_eviction),
		cmocka_unit_test(
			test_ext_mounted_checksums_are_verified_on_entry_only),
	};

	return cmocka_run_group_tests(tests, image_make, image_drop);
}
