/* SPDX-License-Identifier: BSD-2-Clause */
/* What a mounted image may say and still do no harm. */
#include <errno.h>

#include "../cmocka_all.h"
#include "ext_image.h"
#include "vfs/vfs.h"

enum { DIR_AT = 200, MAP_AT = 300, FILE_INO = 12 };

/* An image with a root directory of one block, in ext2's first form. */
struct disk {
	struct image image;
	struct ext_disk_inode root;
	uint8_t dir[IMG_BLOCK];
	uint32_t dir_end; /* bytes of entries */
	uint32_t last;    /* where the last one begins */
};

static void disk_entry(struct disk *d, uint32_t ino, const char *name)
{
	struct ext_disk_dirent e = {
		.ino = le32_of(ino),
		.length = le16_of((uint16_t)(IMG_BLOCK - d->dir_end)),
		.name_bytes = (uint8_t)strlen(name),
	};
	struct ext_disk_dirent before;

	if (d->dir_end > 0) {
		memcpy(&before, d->dir + d->last, sizeof(before));
		before.length = le16_of((uint16_t)(d->dir_end - d->last));
		memcpy(d->dir + d->last, &before, sizeof(before));
	}
	memcpy(d->dir + d->dir_end, &e, sizeof(e));
	memcpy(d->dir + d->dir_end + sizeof(e), name, strlen(name));
	d->last = d->dir_end;
	d->dir_end += (uint32_t)(sizeof(e) + strlen(name) + 3) & ~3U;
}

static void disk_inode(
	struct disk *d, uint32_t ino, const struct ext_disk_inode *inode)
{
	uint32_t per_block = IMG_BLOCK / EXT_OLD_INODE_BYTES;
	blk_no at = IMG_TABLE_AT + (ino - 1) / per_block;
	uint8_t block[IMG_BLOCK];

	assert_int_equal(
		blk_read(d->image.dev, at * IMG_BLOCK, IMG_BLOCK, block), 0);
	memcpy(block + (size_t)((ino - 1) % per_block) * EXT_OLD_INODE_BYTES,
		inode, EXT_OLD_INODE_BYTES);
	image_write_block(&d->image, at, block);
}

static void disk_init(struct disk *d)
{
	memset(d, 0, sizeof(*d));
	image_init(&d->image);
	d->root.mode = le16_of(S_IFDIR | 0755);
	d->root.links_count = le16_of(2);
	d->root.size_lo = le32_of(IMG_BLOCK);
	d->root.block[0] = DIR_AT;
	disk_entry(d, EXT_INO_ROOT, ".");
	disk_entry(d, EXT_INO_ROOT, "..");
}

static int disk_mount(struct disk *d, struct vfs **vfs, struct vfs_fs **fs)
{
	struct vfs_opts opts = {0};
	struct ext_damage damage;

	disk_inode(d, EXT_INO_ROOT, &d->root);
	image_write_block(&d->image, DIR_AT, d->dir);
	assert_int_equal(ext_mount(d->image.dev, NULL, fs, &damage), 0);
	assert_int_equal(vfs_open(&opts, vfs), 0);
	return vfs_mount(*vfs, "/", *fs);
}

static void disk_close(struct vfs *vfs)
{
	assert_int_equal(vfs_close(vfs), 0);
}

static void test_ext_mount_root_is_a_file_is_damage(void **state)
{
	struct vfs_fs *fs;
	struct vfs *vfs;
	struct disk d;

	(void)state;
	disk_init(&d);
	d.root.mode = le16_of(S_IFREG | 0644);
	assert_int_equal(disk_mount(&d, &vfs, &fs), -EUCLEAN);
	assert_int_equal(fs->ops->unmount(fs), 0);
	disk_close(vfs);
}

/* Sixteen million blocks, all of them the one that says so. */
static void test_ext_seek_in_a_map_of_itself_ends(void **state)
{
	struct ext_disk_inode inode = {
		.mode = le16_of(S_IFREG | 0644),
		.links_count = le16_of(1),
		.size_lo = le32_of(UINT32_MAX - IMG_BLOCK + 1),
	};
	struct le32 map[IMG_BLOCK / sizeof(struct le32)];
	struct vfs_file *file;
	struct vfs_at at = {0};
	struct vfs_fs *fs;
	struct disk d;
	uint64_t end;

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(map); i++)
		map[i] = le32_of(MAP_AT);
	memcpy(inode.block, map, sizeof(inode.block));
	disk_init(&d);
	disk_inode(&d, FILE_INO, &inode);
	image_write_block(&d.image, MAP_AT, map);
	disk_entry(&d, FILE_INO, "file");
	assert_int_equal(disk_mount(&d, &at.vfs, &fs), 0);
	assert_int_equal(vfs_file_open(&at, "/file", 0, &file), 0);
	assert_int_equal(vfs_seek(file, 0, true, &end), 0);
	assert_int_equal(vfs_seek(file, 0, false, &end), -EUCLEAN);
	vfs_file_close(file);
	disk_close(at.vfs);
}

static int stat_of(const struct vfs_at *at, const char *path)
{
	struct vfs_attr attr;

	return vfs_stat(at, path, VFS_NOFOLLOW, &attr);
}

/* Or a tree of such directories has as many paths as one likes. */
static void test_ext_second_name_of_a_directory_is_damage(void **state)
{
	struct ext_disk_inode inode = {
		.mode = le16_of(S_IFDIR | 0755),
		.links_count = le16_of(2),
		.size_lo = le32_of(IMG_BLOCK),
	};
	struct le32 block = le32_of(MAP_AT);
	struct vfs_at at = {0};
	struct vfs_fs *fs;
	struct disk below;
	struct disk d;

	(void)state;
	disk_init(&d);
	memcpy(inode.block, &block, sizeof(block));
	disk_inode(&d, FILE_INO, &inode);
	memset(&below, 0, sizeof(below));
	disk_entry(&below, FILE_INO, ".");
	disk_entry(&below, EXT_INO_ROOT, "..");
	image_write_block(&d.image, MAP_AT, below.dir);
	disk_entry(&d, FILE_INO, "first");
	disk_entry(&d, FILE_INO, "second");
	assert_int_equal(disk_mount(&d, &at.vfs, &fs), 0);
	assert_int_equal(stat_of(&at, "/first"), 0);
	assert_int_equal(stat_of(&at, "/second"), -EUCLEAN);
	assert_int_equal(stat_of(&at, "/first/../first/."), 0);
	assert_int_equal(stat_of(&at, "/second"), -EUCLEAN);
	/* Nobody can tell which is the right one. */
	vfs_shrink(at.vfs, 0);
	assert_int_equal(stat_of(&at, "/second"), 0);
	assert_int_equal(stat_of(&at, "/first"), -EUCLEAN);
	disk_close(at.vfs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ext_mount_root_is_a_file_is_damage),
		cmocka_unit_test(test_ext_seek_in_a_map_of_itself_ends),
		cmocka_unit_test(test_ext_second_name_of_a_directory_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
