/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ops_kernel.c - an ext4 that the kernel has mounted, to be compared with.
 *
 *     memfd (tmpfs) --> mke2fs --> loop device --> mount, fill, mount again ro
 *
 * The image has no name, the loop device goes with its last user, and the
 * mount is in no place (fsmount(2)): however this process ends, nothing is
 * left of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/ops.h"
#include "tools/tool.h"

/* Beside the data of the clients. */
#define SPARE_BYTES ((uint64_t)64 << 20)

enum { LOOP_TRIES = 16 };

/* A path to what @fd stands for, in this process and its children. */
static void fd_path(char *to, size_t bytes, int fd)
{
	(void)snprintf(to, bytes, "/proc/self/fd/%d", fd);
}

static int run_mke2fs(int image_fd)
{
	char path[32];
	char *const argv[] = {"mke2fs", "-q", "-F", "-t", "ext4", path, NULL};
	char *const envp[] = {"PATH=/usr/sbin:/sbin:/usr/bin:/bin", NULL};
	pid_t pid;
	int status;
	int err;

	fd_path(path, sizeof(path), image_fd);
	err = posix_spawnp(&pid, "mke2fs", NULL, NULL, argv, envp);
	if (err == ENOENT)
		err = posix_spawn(
			&pid, "/usr/sbin/mke2fs", NULL, NULL, argv, envp);
	if (err != 0)
		return tool_fail("mke2fs", "%s", strerrordesc_np(err));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return tool_fail(
				"mke2fs", "%s", strerrordesc_np(errno));
	if (status != 0)
		return tool_fail("mke2fs", "cannot make a file system");
	return 0;
}

/* The image has no close-on-exec: mke2fs inherits it. */
static int image_make(unsigned clients, int *out)
{
	int fd = memfd_create("extant-bench", 0);
	uint64_t bytes = SPARE_BYTES + (uint64_t)clients * OPS_DATA_BYTES;
	int err;

	if (fd < 0)
		return tool_fail("memfd", "%s", strerrordesc_np(errno));
	if (ftruncate(fd, (off_t)bytes) != 0)
		err = tool_fail("memfd", "%s", strerrordesc_np(errno));
	else
		err = run_mke2fs(fd);
	if (err != 0)
		(void)close(fd);
	else
		*out = fd;
	return err;
}

/* ---- loop devices -------------------------------------------------------- */

/* Loop device @number over @image_fd; its descriptor or -errno. */
static int loop_take(int number, int image_fd)
{
	struct loop_config config = {.fd = (uint32_t)image_fd};
	char path[32];
	int fd;

	config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
	(void)snprintf(path, sizeof(path), "/dev/loop%d", number);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, LOOP_CONFIGURE, &config) != 0) {
		int err = -errno;

		(void)close(fd);
		return err;
	}
	return fd;
}

/* Others may be looking for one too, and be quicker. */
static int loop_open(int image_fd, int *out)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int fd = -EBUSY;

	if (control < 0)
		return tool_fail(
			"/dev/loop-control", "%s", strerrordesc_np(errno));
	for (int i = 0; i < LOOP_TRIES && fd == -EBUSY; i++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE);

		fd = number < 0 ? -errno : loop_take(number, image_fd);
	}
	(void)close(control);
	if (fd < 0)
		return tool_fail("loop device", "%s", strerrordesc_np(-fd));
	*out = fd;
	return 0;
}

/* ---- mounting ------------------------------------------------------------ */

static int mount_configure(int fs, int loop_fd, bool read_only)
{
	char path[32];

	fd_path(path, sizeof(path), loop_fd);
	if (fsconfig(fs, FSCONFIG_SET_STRING, "source", path, 0) != 0)
		return -errno;
	if (read_only && fsconfig(fs, FSCONFIG_SET_FLAG, "ro", NULL, 0) != 0)
		return -errno;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		return -errno;
	return 0;
}

/* Mount the ext4 on @loop_fd in no place; *@out is its root. */
static int mount_open(int loop_fd, bool read_only, int *out)
{
	unsigned attrs = read_only ? MOUNT_ATTR_RDONLY : 0;
	int fs = fsopen("ext4", FSOPEN_CLOEXEC);
	int fd = -1;
	int err;

	if (fs < 0)
		return tool_fail("ext4", "%s", strerrordesc_np(errno));
	err = mount_configure(fs, loop_fd, read_only);
	if (err == 0) {
		fd = fsmount(fs, FSMOUNT_CLOEXEC, attrs);
		err = fd < 0 ? -errno : 0;
	}
	(void)close(fs);
	if (err != 0)
		return tool_fail(
			"ext4", "cannot be mounted: %s", strerrordesc_np(-err));
	*out = fd;
	return 0;
}

static int mount_filled(int loop_fd, unsigned clients, int *out)
{
	int fd = -1;
	int err = mount_open(loop_fd, false, &fd);

	if (err != 0)
		return err;
	err = ops_tree_make(fd, clients);
	(void)close(fd);
	if (err != 0)
		return tool_fail("ext4", "%s", strerrordesc_np(-err));
	return mount_open(loop_fd, true, out);
}

int ops_kernel_open(unsigned clients, int *image_fd, int *mount_fd)
{
	int image = -1;
	int loop = -1;
	int err;

	if (geteuid() != 0)
		return tool_fail("--compare",
			"needs root, for a loop device and a mount");
	err = image_make(clients, &image);
	if (err != 0)
		return err;
	err = loop_open(image, &loop);
	if (err == 0) {
		err = mount_filled(loop, clients, mount_fd);
		(void)close(loop);
	}
	if (err != 0)
		(void)close(image);
	else
		*image_fd = image;
	return err;
}
