/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Block devices, and images that the kernel has mounted.  Loop devices need
 * root; elsewhere these tests are skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/blkpg.h>
#include <linux/loop.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "base/log.h"
#include "blk/blk.h"

enum { START = 1 << 20 };

#define IMAGE_BYTES (UINT64_C(8) << 20)

struct loop {
	char image[32];
	char device[32];
	char point[32];
	int fd; /* the loop goes when this is closed and nothing is mounted */
};

static char warning[512];

static void note_warning(void *arg, const struct log_record *record)
{
	(void)arg;
	if (record->level == LOG_WARN)
		(void)snprintf(warning, sizeof(warning), "%s", record->text);
}

static bool run_mke2fs(const char *path, const char *offset)
{
	extern char **environ;
	char *argv[] = {"mke2fs", "-q", "-F", "-t", "ext2", "-E",
		(char *)offset, (char *)path, "2048", NULL};
	int status = -1;
	pid_t pid;

	if (posix_spawnp(&pid, "mke2fs", NULL, NULL, argv, environ) != 0)
		return false;
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static bool loop_attach_try(struct loop *l, int file)
{
	struct loop_config config = {
		.fd = (uint32_t)file, .info = {.lo_flags = LO_FLAGS_AUTOCLEAR}};
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int number = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);

	if (control >= 0)
		(void)close(control);
	if (number < 0)
		return false;
	(void)snprintf(l->device, sizeof(l->device), "/dev/loop%d", number);
	l->fd = open(l->device, O_RDWR | O_CLOEXEC);
	if (l->fd < 0)
		return false;
	if (ioctl(l->fd, LOOP_CONFIGURE, &config) == 0)
		return true;
	(void)close(l->fd);
	l->fd = -1;
	return false;
}

/* Others may take the device that was free. */
static bool loop_attach(struct loop *l, int file)
{
	for (int tries = 0; tries < 5; tries++)
		if (loop_attach_try(l, file))
			return true;
	return false;
}

/* One partition of 4 MiB from START on, told to the kernel directly, as not
 * every kernel reads partition tables. */
static bool partition_change(const struct loop *l, int op)
{
	struct blkpg_partition part = {
		.start = START, .length = 4 << 20, .pno = 1};
	struct blkpg_ioctl_arg arg = {
		.op = op, .datalen = sizeof(part), .data = &part};

	return ioctl(l->fd, BLKPG, &arg) == 0;
}

static void loop_close(struct loop *l)
{
	if (l->fd >= 0) {
		(void)partition_change(l, BLKPG_DEL_PARTITION);
		(void)close(l->fd);
	}
	(void)rmdir(l->point);
	(void)unlink(l->image);
}

/* An image with a file system, whole or in a partition, on a loop device in a
 * mount namespace of our own; skips the test where that cannot be. */
static void loop_open(struct loop *l, bool partitioned)
{
	char offset[32];
	int file;

	*l = (struct loop){.image = "blk-mount-XXXXXX",
		.point = "/tmp/blk mount XXXXXX",
		.fd = -1};
	file = mkstemp(l->image);
	assert_true(file >= 0);
	assert_int_equal(ftruncate(file, (off_t)IMAGE_BYTES), 0);
	(void)snprintf(
		offset, sizeof(offset), "offset=%d", partitioned ? START : 0);
	assert_non_null(mkdtemp(l->point));
	if (geteuid() != 0 || !run_mke2fs(l->image, offset))
		goto out_skip;
	if (unshare(CLONE_NEWNS) != 0 ||
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		!loop_attach(l, file) ||
		(partitioned && !partition_change(l, BLKPG_ADD_PARTITION)))
		goto out_skip;
	(void)close(file);
	return;
out_skip:
	(void)close(file);
	loop_close(l);
	skip_because("needs root, mke2fs and a loop device");
}

static void loop_mount(struct loop *l, const char *suffix, unsigned long flags)
{
	char device[40];

	(void)snprintf(device, sizeof(device), "%s%s", l->device, suffix);
	if (mount(device, l->point, "ext2", flags, NULL) == 0 ||
		mount(device, l->point, "ext4", flags, NULL) == 0)
		return;
	loop_close(l);
	print_message("# the kernel does not mount %s here\n", device);
	skip();
}

static void expect_busy(const struct loop *l, const char *path)
{
	struct blk_dev *dev = NULL;
	char who[256] = "";
	char want[256];
	char point[64];

	/* As in mountinfo, a blank would end the word. */
	(void)snprintf(point, sizeof(point), "/tmp/blk\\040mount\\040%s",
		l->point + sizeof("/tmp/blk mount ") - 1);
	(void)snprintf(want, sizeof(want), "%s: mounted by the kernel on %s",
		path, point);
	assert_int_equal(
		blk_open_file(path, BLK_OPEN_WRITE, who, sizeof(who), &dev),
		-EBUSY);
	assert_string_equal(who, want);
	assert_null(dev);
}

static void expect_opens(const char *path, unsigned flags)
{
	struct blk_dev *dev = NULL;
	char who[256] = "";

	warning[0] = '\0';
	if (blk_open_file(path, flags, who, sizeof(who), &dev) != 0)
		fail_msg("%s", who);
	blk_close(dev);
}

static void test_file_mounted_through_loop_is_refused(void **state)
{
	struct loop l;

	(void)state;
	loop_open(&l, false);
	log_to(note_warning, NULL);
	expect_opens(l.image, BLK_OPEN_WRITE);
	loop_mount(&l, "", 0);
	expect_busy(&l, l.image);
	expect_busy(&l, l.device);
	expect_opens(l.image, 0);
	assert_non_null(strstr(warning, "mounted read-write on"));
	expect_opens(l.device, 0);
	assert_non_null(strstr(warning, "mounted read-write on"));
	assert_int_equal(umount(l.point), 0);
	expect_opens(l.image, BLK_OPEN_WRITE);
	loop_mount(&l, "", MS_RDONLY);
	expect_busy(&l, l.image);
	expect_opens(l.image, 0);
	assert_string_equal(warning, "");
	assert_int_equal(umount(l.point), 0);
	log_to(NULL, NULL);
	loop_close(&l);
}

static void test_file_with_mounted_partition_is_refused(void **state)
{
	struct loop l;

	(void)state;
	loop_open(&l, true);
	loop_mount(&l, "p1", 0);
	expect_busy(&l, l.image);
	expect_busy(&l, l.device);
	expect_opens(l.image, 0);
	assert_int_equal(umount(l.point), 0);
	loop_close(&l);
}

/* Two requests that are not neighbours: with rings, one ring. */
static void pair_read(struct blk_dev *dev)
{
	_Alignas(4096) static uint8_t data[2][4096];
	struct iovec iov[2] = {{data[0], 4096}, {data[1], 4096}};
	struct blk_io ios[2];

	for (unsigned i = 0; i < 2; i++)
		ios[i] = (struct blk_io){.op = BLK_READ,
			.offset = UINT64_C(65536) * i,
			.bytes = 4096,
			.iov = &iov[i],
			.iov_count = 1};
	assert_int_equal(blk_run(dev, ios, 2), 0);
}

static void round_trip(struct blk_dev *dev)
{
	_Alignas(4096) static uint8_t data[65536];
	_Alignas(4096) static uint8_t back[65536];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31 + i / 512);
	assert_int_equal(blk_write(dev, START, sizeof(data), data), 0);
	assert_int_equal(blk_write(dev, START + 65536 + 512, 512, data), 0);
	assert_int_equal(blk_flush(dev), 0);
	assert_int_equal(blk_read(dev, START, sizeof(back), back), 0);
	assert_memory_equal(data, back, sizeof(data));
	assert_int_equal(blk_read(dev, START + 65536 + 512, 512, back), 0);
	assert_memory_equal(data, back, 512);
	assert_int_equal(blk_write_zeroes(dev, START + 4096, 8192), 0);
	assert_int_equal(blk_read(dev, START, sizeof(back), back), 0);
	assert_memory_equal(data, back, 4096);
	for (size_t i = 4096; i < 4096 + 8192; i++)
		assert_int_equal(back[i], 0);
	assert_memory_equal(data + 12288, back + 12288, sizeof(data) - 12288);
	assert_int_equal(blk_discard(dev, START, 65536), 0);
	pair_read(dev);
}

static void test_file_block_device_works_and_is_exclusive(void **state)
{
	static const unsigned flags[] = {0, BLK_OPEN_DIRECT};
	struct loop l;

	(void)state;
	loop_open(&l, false);
	for (size_t i = 0; i < ARRAY_COUNT(flags); i++) {
		struct blk_dev *dev = NULL;
		struct blk_dev *other = NULL;
		char who[256] = "";
		char want[64];

		assert_int_equal(
			blk_open_file(l.device, BLK_OPEN_WRITE | flags[i], who,
				sizeof(who), &dev),
			0);
		assert_int_equal(blk_geom(dev).bytes, IMAGE_BYTES);
		assert_int_equal(blk_geom(dev).sector_bytes, 512);
		round_trip(dev);
		(void)snprintf(want, sizeof(want), "locked by process %d (",
			(int)getpid());
		assert_int_equal(blk_open_file(l.device, BLK_OPEN_WRITE, who,
					 sizeof(who), &other),
			-EBUSY);
		assert_non_null(strstr(who, want));
		assert_int_equal(
			blk_open_file(l.device, 0, who, sizeof(who), &other),
			-EBUSY);
		assert_non_null(strstr(who, want));
		blk_close(dev);
	}
	loop_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_mounted_through_loop_is_refused),
		cmocka_unit_test(test_file_with_mounted_partition_is_refused),
		cmocka_unit_test(test_file_block_device_works_and_is_exclusive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
