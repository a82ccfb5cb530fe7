/* SPDX-License-Identifier: BSD-2-Clause */
/* What a mounted image may say and still do no harm. */
#include <errno.h>

#include "../cmocka_all.h"
#include "base/crc32c.h"
#include "ext_image.h"
#include "vfs/vfs.h"

enum { DIR_AT = 200, MAP_AT = 300, FILE_INO = 12, OTHER_INO = 13 };

static uint32_t csum_seed(void)
{
	static const uint8_t uuid[16];

	return crc32c(~0U, uuid, sizeof(uuid));
}

/* A block of entries. */
struct dir {
	uint8_t data[IMG_BLOCK];
	uint32_t bytes; /* of it, for entries */
	uint32_t end;   /* of those that are there */
	uint32_t last;  /* where the last one begins */
};

static void dir_init(struct dir *dir, bool summed)
{
	memset(dir, 0, sizeof(*dir));
	dir->bytes = IMG_BLOCK;
	if (summed)
		dir->bytes -= sizeof(struct ext_disk_dir_tail);
}

static void dir_add(struct dir *dir, uint32_t ino, const char *name)
{
	struct ext_disk_dirent e = {
		.ino = le32_of(ino),
		.length = le16_of((uint16_t)(dir->bytes - dir->end)),
		.name_bytes = (uint8_t)strlen(name),
	};
	struct ext_disk_dirent before;

	if (dir->end > 0) {
		memcpy(&before, dir->data + dir->last, sizeof(before));
		before.length = le16_of((uint16_t)(dir->end - dir->last));
		memcpy(dir->data + dir->last, &before, sizeof(before));
	}
	memcpy(dir->data + dir->end, &e, sizeof(e));
	memcpy(dir->data + dir->end + sizeof(e), name, strlen(name));
	dir->last = dir->end;
	dir->end += (uint32_t)(sizeof(e) + strlen(name) + 3) & ~3U;
}

/* The first block of FILE_INO, below the root. */
static void dir_below(struct dir *dir, bool summed)
{
	dir_init(dir, summed);
	dir_add(dir, FILE_INO, ".");
	dir_add(dir, EXT_INO_ROOT, "..");
}

/* With the tail of a block of inode @ino. */
static void dir_seal(struct dir *dir, uint32_t ino)
{
	const struct ext_super sb = {.csum_seed = csum_seed()};
	struct ext_disk_dir_tail tail = {
		.length = le16_of(sizeof(tail)), .type = 0xde};

	tail.checksum =
		le32_of(ext_csum_dir(&sb, ino, 0, dir->data, dir->bytes));
	memcpy(dir->data + dir->bytes, &tail, sizeof(tail));
}

/* An image with a root directory of one block, in ext2's first form, or with
 * checksums. */
struct disk {
	struct image image;
	struct ext_disk_inode root;
	struct dir dir;
	bool summed;
};

static void inode_seal(uint32_t ino, struct ext_disk_inode *inode)
{
	struct le32 number = le32_of(ino);
	uint32_t crc = crc32c(csum_seed(), &number, sizeof(number));

	inode->checksum_lo = le16_of(0);
	crc = crc32c(crc, &inode->generation, sizeof(inode->generation));
	crc = crc32c(crc, inode, EXT_OLD_INODE_BYTES);
	inode->checksum_lo = le16_of((uint16_t)crc);
}

static void disk_inode(
	struct disk *d, uint32_t ino, struct ext_disk_inode *inode)
{
	uint32_t per_block = IMG_BLOCK / EXT_OLD_INODE_BYTES;
	blk_no at = IMG_TABLE_AT + (ino - 1) / per_block;
	uint8_t block[IMG_BLOCK];

	if (d->summed)
		inode_seal(ino, inode);
	assert_int_equal(
		blk_read(d->image.dev, at * IMG_BLOCK, IMG_BLOCK, block), 0);
	memcpy(block + (size_t)((ino - 1) % per_block) * EXT_OLD_INODE_BYTES,
		inode, EXT_OLD_INODE_BYTES);
	image_write_block(&d->image, at, block);
}

static void disk_init(struct disk *d, bool summed)
{
	memset(d, 0, sizeof(*d));
	image_init(&d->image);
	d->summed = summed;
	d->root.mode = le16_of(S_IFDIR | 0755);
	d->root.links_count = le16_of(2);
	d->root.size_lo = le32_of(IMG_BLOCK);
	d->root.block[0] = DIR_AT;
	dir_init(&d->dir, summed);
	dir_add(&d->dir, EXT_INO_ROOT, ".");
	dir_add(&d->dir, EXT_INO_ROOT, "..");
}

static void disk_seal(struct disk *d)
{
	struct ext_disk_super *sb = &d->image.super;
	struct ext_disk_group *g = &d->image.group;
	struct le32 number = le32_of(0);
	uint32_t crc = crc32c(csum_seed(), &number, sizeof(number));

	sb->feature_ro_compat = le32_of(EXT_RO_COMPAT_METADATA_CSUM);
	sb->checksum_type = 1;
	sb->checksum = le32_of(ext_csum_super(sb));
	g->checksum = le16_of((uint16_t)crc32c(crc, g, EXT_OLD_DESC_BYTES));
	image_write(&d->image);
	dir_seal(&d->dir, EXT_INO_ROOT);
}

static int disk_mount(struct disk *d, struct vfs **vfs, struct vfs_fs **fs)
{
	struct vfs_opts opts = {0};
	struct ext_damage damage;

	if (d->summed)
		disk_seal(d);
	disk_inode(d, EXT_INO_ROOT, &d->root);
	image_write_block(&d->image, DIR_AT, d->dir.data);
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
	disk_init(&d, false);
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
	disk_init(&d, false);
	disk_inode(&d, FILE_INO, &inode);
	image_write_block(&d.image, MAP_AT, map);
	dir_add(&d.dir, FILE_INO, "file");
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

/* A directory of @blocks blocks from MAP_AT on. */
static struct ext_disk_inode dir_inode(uint32_t blocks)
{
	struct ext_disk_inode inode = {
		.mode = le16_of(S_IFDIR | 0755),
		.links_count = le16_of(2),
		.size_lo = le32_of(blocks * IMG_BLOCK),
	};

	for (uint32_t i = 0; i < blocks; i++) {
		struct le32 block = le32_of(MAP_AT + i);

		memcpy(inode.block + i * sizeof(block), &block, sizeof(block));
	}
	return inode;
}

/* Or a tree of such directories has as many paths as one likes. */
static void test_ext_second_name_of_a_directory_is_damage(void **state)
{
	struct ext_disk_inode inode = dir_inode(1);
	struct vfs_at at = {0};
	struct vfs_fs *fs;
	struct dir below;
	struct disk d;

	(void)state;
	disk_init(&d, false);
	disk_inode(&d, FILE_INO, &inode);
	dir_below(&below, false);
	image_write_block(&d.image, MAP_AT, below.data);
	dir_add(&d.dir, FILE_INO, "first");
	dir_add(&d.dir, FILE_INO, "second");
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

/* What one directory found good is not what another one may rely on. */
static void test_ext_checksum_of_a_shared_block_is_checked_for_each(
	void **state)
{
	struct ext_disk_inode inode = dir_inode(1);
	struct vfs_at at = {0};
	struct vfs_fs *fs;
	struct dir below;
	struct disk d;

	(void)state;
	disk_init(&d, true);
	disk_inode(&d, FILE_INO, &inode);
	disk_inode(&d, OTHER_INO, &inode);
	dir_below(&below, true);
	dir_seal(&below, FILE_INO);
	image_write_block(&d.image, MAP_AT, below.data);
	dir_add(&d.dir, FILE_INO, "owner");
	dir_add(&d.dir, OTHER_INO, "other");
	assert_int_equal(disk_mount(&d, &at.vfs, &fs), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(stat_of(&at, "/other"), -EBADMSG);
		assert_int_equal(stat_of(&at, "/owner"), 0);
	}
	disk_close(at.vfs);
}

static void count_give_ups(void *arg, const struct log_record *r)
{
	*(int *)arg += strstr(r->text, "without it") != NULL;
}

/* The way to a directory reads its first block for "..", unchecked. */
static void test_ext_checksum_of_an_index_is_checked_behind_a_walk(void **state)
{
	const struct ext_disk_index_info info = {
		.bytes = sizeof(info), .hash_version = 1};
	const struct ext_disk_index_count head = {
		.limit = le16_of(123), .count = le16_of(1)};
	const struct le32 leaf = le32_of(1);
	struct ext_disk_inode inode = dir_inode(2);
	struct vfs_at at = {0};
	struct vfs_fs *fs;
	struct dir below;
	struct disk d;
	int give_ups = 0;

	(void)state;
	disk_init(&d, true);
	d.image.super.feature_compat = le32_of(0x20); /* dir_index */
	inode.flags = le32_of(EXT_INODE_INDEX);
	disk_inode(&d, FILE_INO, &inode);
	dir_below(&below, false);
	memcpy(below.data + EXT_INDEX_INFO, &info, sizeof(info));
	memcpy(below.data + EXT_INDEX_ROOT_FIRST, &head, sizeof(head));
	memcpy(below.data + EXT_INDEX_ROOT_FIRST + sizeof(head), &leaf,
		sizeof(leaf));
	image_write_block(&d.image, MAP_AT, below.data);
	dir_init(&below, true);
	dir_add(&below, FILE_INO, "name");
	dir_seal(&below, FILE_INO);
	image_write_block(&d.image, MAP_AT + 1, below.data);
	dir_add(&d.dir, FILE_INO, "dir");
	log_to(count_give_ups, &give_ups);
	assert_int_equal(disk_mount(&d, &at.vfs, &fs), 0);
	assert_int_equal(stat_of(&at, "/dir"), 0);
	assert_int_equal(stat_of(&at, "/dir/none"), -ENOENT);
	log_to(NULL, NULL);
	assert_int_equal(give_ups, 1);
	disk_close(at.vfs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ext_mount_root_is_a_file_is_damage),
		cmocka_unit_test(test_ext_seek_in_a_map_of_itself_ends),
		cmocka_unit_test(test_ext_second_name_of_a_directory_is_damage),
		cmocka_unit_test(
			test_ext_checksum_of_a_shared_block_is_checked_for_each),
		cmocka_unit_test(
			test_ext_checksum_of_an_index_is_checked_behind_a_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
