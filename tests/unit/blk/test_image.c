/* SPDX-License-Identifier: BSD-2-Clause */
/* What users write as an image's name, and what is refused by its contents. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "blk/blk.h"
#include "blk/part.h"
#include "mbr_make.h"

static char image[] = "blk-image-XXXXXX";

static int image_make(void **state)
{
	int fd = mkstemp(image);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int image_remove(void **state)
{
	(void)state;
	return unlink(image);
}

static void expect_refused(const char *spec, int err, const char *text)
{
	struct blk_dev *dev = NULL;
	char why[256] = "";

	assert_int_equal(blk_open_image(spec, 0, why, sizeof(why), &dev), err);
	assert_null(dev);
	assert_string_equal(why, text);
	assert_int_equal(blk_open_image(spec, 0, NULL, 0, &dev), err);
}

static struct blk_dev *spec_open(const char *spec, unsigned flags)
{
	struct blk_dev *dev = NULL;
	char why[256] = "";

	if (blk_open_image(spec, flags, why, sizeof(why), &dev) != 0)
		fail_msg("%s", why);
	return dev;
}

static void test_image_partition_is_opened_by_number(void **state)
{
	uint8_t mbr[512] = {0};
	uint8_t data[512];
	char spec[64];
	char want[128];
	struct blk_dev *dev;

	(void)state;
	assert_int_equal(truncate(image, 0), 0);
	assert_int_equal(truncate(image, DEV_BYTES), 0);
	mbr_entry_put(mbr, 0, 0x83, 2048, 4096);
	mbr_entry_put(mbr, 2, 0x05, 8192, 4096);
	dev = spec_open(image, BLK_OPEN_WRITE);
	put(dev, 0, mbr);
	blk_close(dev);

	(void)snprintf(spec, sizeof(spec), "%s#1", image);
	dev = spec_open(spec, BLK_OPEN_WRITE);
	assert_int_equal(blk_geom(dev).bytes, 4096 * SECTOR);
	memset(data, 0x42, sizeof(data));
	put(dev, 4095, data);
	assert_int_equal(blk_write(dev, 4096 * SECTOR, SECTOR, data), -EINVAL);
	blk_close(dev);
	dev = spec_open(image, 0);
	assert_int_equal(blk_geom(dev).bytes, DEV_BYTES);
	assert_int_equal(blk_read(dev, (2048 + 4095) * SECTOR, SECTOR, mbr), 0);
	assert_memory_equal(mbr, data, sizeof(data));
	blk_close(dev);

	(void)snprintf(spec, sizeof(spec), "%s#2", image);
	(void)snprintf(
		want, sizeof(want), "%s: has no partition 2, but 1 3", image);
	expect_refused(spec, -ENOENT, want);
	(void)snprintf(spec, sizeof(spec), "%s#3", image);
	(void)snprintf(want, sizeof(want),
		"%s: partition 3 only contains others", image);
	expect_refused(spec, -EINVAL, want);
}

static void test_image_with_a_hash_in_its_name_wins(void **state)
{
	static const char name[] = "blk-part-hash#1";
	int fd = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	struct blk_dev *dev;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(close(fd), 0);
	dev = spec_open(name, 0);
	assert_int_equal(blk_geom(dev).bytes, 4096);
	blk_close(dev);
	assert_int_equal(unlink(name), 0);
	expect_refused("blk-part-hash#x", -ENOENT,
		"blk-part-hash#x: No such file or directory");
	expect_refused("blk-part-hash#1", -ENOENT,
		"blk-part-hash: No such file or directory");
}

static void test_image_in_memory_has_a_size(void **state)
{
	static const struct {
		const char *spec;
		uint64_t bytes;
	} good[] = {{"mem:512", 512}, {"mem:64K", 65536},
		{"mem:16T", UINT64_C(16) << 40}, {"mem:3M", 3 << 20}};

	static const char *const bad[] = {"mem:", "mem:-1", "mem:1GB", "mem:x",
		"mem:99999999999999999999", "mem:17179869184G", "mem: 1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
		struct blk_dev *dev = spec_open(good[i].spec, BLK_OPEN_WRITE);

		assert_int_equal(blk_geom(dev).bytes, good[i].bytes);
		assert_false(blk_geom(dev).read_only);
		blk_close(dev);
	}
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		char want[128];

		(void)snprintf(want, sizeof(want),
			"%s: a size looks like 512M or 1G", bad[i]);
		expect_refused(bad[i], -EINVAL, want);
	}
	expect_refused("mem:1000", -EINVAL,
		"mem:1000: a size is a multiple of 512 bytes");
}

static void head_put(size_t at, const char *magic, size_t bytes)
{
	int fd = open(image, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(ftruncate(fd, DEV_BYTES), 0);
	assert_int_equal(pwrite(fd, magic, bytes, (off_t)at), (ssize_t)bytes);
	assert_int_equal(close(fd), 0);
}

static void expect_container(const char *what)
{
	struct blk_dev *dev = NULL;
	char why[256] = "";
	char want[256];

	(void)snprintf(want, sizeof(want), "%s: is %s; ", image, what);
	assert_int_equal(
		blk_open_image(image, 0, why, sizeof(why), &dev), -EMEDIUMTYPE);
	assert_memory_equal(why, want, strlen(want));
	assert_true(strlen(why) > strlen(want));
}

static void test_image_containers_are_refused_by_name(void **state)
{
	(void)state;
	head_put(0, "QFI\xfb\0\0\0\3", 8);
	expect_container("a qcow2 image");
	head_put(0, "LUKS\xba\xbe\0\2", 8);
	expect_container("a LUKS container");
	head_put(512 + 24, "LVM2 001", 8);
	expect_container("an LVM physical volume");
	head_put(0, "KDMV", 4);
	expect_container("a VMDK image");
	head_put(0, "QFI", 3);
	blk_close(spec_open(image, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_image_partition_is_opened_by_number),
		cmocka_unit_test(test_image_with_a_hash_in_its_name_wins),
		cmocka_unit_test(test_image_in_memory_has_a_size),
		cmocka_unit_test(test_image_containers_are_refused_by_name),
	};

	return cmocka_run_group_tests(tests, image_make, image_remove);
}
