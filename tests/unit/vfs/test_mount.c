/* SPDX-License-Identifier: BSD-2-Clause */
/* A file system that cannot be mounted stays its owner's, whole. */
#include <errno.h>
#include <stdlib.h>

#include "../cmocka_all.h"
#include "base/cc.h"
#include "vfs/vfs.h"

struct odd_fs {
	struct vfs_fs fs; /* first */
	int load_error;
	uint32_t root_mode;
	int loaded;
	int dropped;
};

static int odd_load(struct vfs_fs *fs, struct vfs_inode *inode)
{
	struct odd_fs *odd = CONTAINER_OF(fs, struct odd_fs, fs);
	struct vfs_attr attr = {.ino = inode->ino, .mode = odd->root_mode};

	if (odd->load_error)
		return odd->load_error;
	vfs_inode_set_attr(inode, &attr);
	odd->loaded++;
	return 0;
}

static void odd_drop(struct vfs_inode *inode)
{
	CONTAINER_OF(inode->fs, struct odd_fs, fs)->dropped++;
}

static const struct vfs_fs_ops odd_ops = {
	.inode_bytes = sizeof(struct vfs_inode),
	.inode_load = odd_load,
	.inode_drop = odd_drop,
};

/* The error; afterwards nobody uses @odd any more. */
static int mount_odd(struct odd_fs *odd)
{
	struct vfs_opts opts = {0};
	struct vfs *vfs;
	int err;

	odd->fs.ops = &odd_ops;
	odd->fs.root = 2;
	assert_int_equal(vfs_open(&opts, &vfs), 0);
	err = vfs_mount(vfs, "/", &odd->fs);
	assert_int_equal(odd->dropped, odd->loaded);
	assert_int_equal(vfs_close(vfs), 0);
	return err;
}

static void test_vfs_mount_of_a_root_that_is_a_file_lets_go(void **state)
{
	struct odd_fs odd = {.root_mode = S_IFREG | 0644};

	(void)state;
	assert_int_equal(mount_odd(&odd), -EUCLEAN);
	assert_int_equal(odd.loaded, 1);
}

static void test_vfs_mount_of_a_damaged_root_says_so(void **state)
{
	struct odd_fs odd = {.load_error = -EBADMSG};

	(void)state;
	assert_int_equal(mount_odd(&odd), -EBADMSG);
	assert_int_equal(odd.loaded, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_vfs_mount_of_a_root_that_is_a_file_lets_go),
		cmocka_unit_test(test_vfs_mount_of_a_damaged_root_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
