/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows_vfs.c - names and files, over an ext4 in memory.
 *
 * Each CPU has a directory with a file, a symlink and an attribute of its own;
 * the way there begins at one root, or at one directory handle, for all.  The
 * control walks by counted references.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ext/ext.h"
#include "ledger.h"
#include "vfs/vfs.h"

enum {
	IMAGE_BYTES = 16 << 20,
	DATA_BYTES = 40000, /* of each file */
	NAME_BYTES = 32,
	PIECE_BYTES = 4096,
};

#define XATTR "user.ledger"

static struct vfs *by_rcu;
static struct vfs *by_ref;
static struct vfs_file *shared_dir;
static const struct vfs_cred cred = {.uid = 1000, .gid = 1000};

static struct own {
	LINE_ALIGNED char file[NAME_BYTES];
	char link[NAME_BYTES];
	char missing[NAME_BYTES];
	struct vfs_file *open_file;
	struct vfs_file *open_dir;
	LINE_ALIGNED char piece[PIECE_BYTES];
} own[RECORD_CPUS];

static struct vfs_at at_of(struct vfs *vfs)
{
	return (struct vfs_at){.vfs = vfs, .cred = &cred};
}

/* ---- the image -------------------------------------------------------------- */

static int run_program(char *const *argv)
{
	char *const envp[] = {"PATH=/usr/sbin:/sbin:/usr/bin:/bin", NULL};
	posix_spawn_file_actions_t quiet;
	pid_t pid;
	int status;
	int err;

	/* debugfs greets on both. */
	(void)posix_spawn_file_actions_init(&quiet);
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		(void)posix_spawn_file_actions_addopen(
			&quiet, fd, "/dev/null", O_WRONLY, 0);
	err = posix_spawn(&pid, argv[0], &quiet, NULL, argv, envp);
	(void)posix_spawn_file_actions_destroy(&quiet);
	if (err != 0)
		return -err;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status == 0 ? 0 : -EIO;
}

/* What debugfs is to do: to each CPU its own. */
static int script_write(const char *path, const char *data)
{
	FILE *script = fopen(path, "we");

	if (script == NULL)
		return -errno;
	for (unsigned i = 0; i < RECORD_CPUS; i++)
		(void)fprintf(script,
			"cd /\nmkdir c%02u\ncd c%02u\nmkdir d\ncd d\n"
			"write %s f\nsymlink l f\nea_set f " XATTR " value\n",
			i, i, data);
	return fclose(script) == 0 ? 0 : -errno;
}

static int data_write(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	int err = 0;

	if (fd < 0)
		return -errno;
	for (unsigned i = 0; i < DATA_BYTES / 4 && err == 0; i++)
		if (write(fd, "data", 4) != 4)
			err = -EIO;
	(void)close(fd);
	return err;
}

static int image_fill(char *image, char *script, char *data)
{
	char *const mke2fs[] = {"/usr/sbin/mke2fs", "-q", "-F", "-t", "ext4",
		"-b", "4096", image, "16M", NULL};
	char *const debugfs[] = {
		"/usr/sbin/debugfs", "-w", "-f", script, image, NULL};
	int err = data_write(data);

	if (err == 0)
		err = script_write(script, data);
	if (err == 0)
		err = run_program(mke2fs);
	return err != 0 ? err : run_program(debugfs);
}

/* The bytes of @path as a device in memory. */
static int image_load(const char *path, struct blk_dev **out)
{
	struct blk_dev *file;
	char *all = malloc(IMAGE_BYTES);
	int err = blk_open_file(path, 0, NULL, 0, &file);

	if (err != 0 || all == NULL) {
		free(all);
		return err != 0 ? err : -ENOMEM;
	}
	err = blk_read(file, 0, IMAGE_BYTES, all);
	blk_close(file);
	if (err == 0)
		err = blk_open_mem(IMAGE_BYTES, out);
	if (err == 0)
		err = blk_write(*out, 0, IMAGE_BYTES, all);
	free(all);
	return err;
}

static int image_make(struct blk_dev **one, struct blk_dev **other)
{
	char folder[] = "/tmp/ledger-XXXXXX";
	char image[NAME_BYTES];
	char script[NAME_BYTES];
	char data[NAME_BYTES];
	int err;

	if (mkdtemp(folder) == NULL)
		return -errno;
	(void)snprintf(image, sizeof(image), "%s/image", folder);
	(void)snprintf(script, sizeof(script), "%s/script", folder);
	(void)snprintf(data, sizeof(data), "%s/data", folder);
	err = image_fill(image, script, data);
	if (err == 0)
		err = image_load(image, one);
	if (err == 0)
		err = image_load(image, other);
	(void)unlink(image);
	(void)unlink(script);
	(void)unlink(data);
	(void)rmdir(folder);
	return err;
}

static int mount_open(
	struct blk_dev *dev, enum vfs_walk_mode walk, struct vfs **out)
{
	const struct vfs_opts opts = {.walk = walk};
	struct vfs_fs *fs;
	int err = vfs_open(&opts, out);

	if (err == 0)
		err = ext_mount(dev, NULL, &fs, NULL);
	return err != 0 ? err : vfs_mount(*out, "/", fs);
}

/* ---- what the operations use ------------------------------------------------ */

static int own_open(unsigned cpu)
{
	const struct vfs_at at = at_of(by_rcu);
	struct own *o = &own[cpu];
	char dir[NAME_BYTES];
	int err;

	(void)snprintf(dir, sizeof(dir), "c%02u/d", cpu);
	(void)snprintf(o->file, sizeof(o->file), "c%02u/d/f", cpu);
	(void)snprintf(o->link, sizeof(o->link), "c%02u/d/l", cpu);
	(void)snprintf(o->missing, sizeof(o->missing), "c%02u/d/n", cpu);
	err = vfs_file_open(&at, o->file, 0, &o->open_file);
	if (err != 0)
		return err;
	return vfs_file_open(&at, dir, 0, &o->open_dir);
}

static int open_vfs(void)
{
	struct blk_dev *one;
	struct blk_dev *other;
	struct vfs_at at;
	int err = image_make(&one, &other);

	if (err == 0)
		err = mount_open(one, VFS_WALK_RCU, &by_rcu);
	if (err == 0)
		err = mount_open(other, VFS_WALK_REF, &by_ref);
	if (err != 0)
		return err;
	at = at_of(by_rcu);
	err = vfs_file_open(&at, "/", 0, &shared_dir);
	for (unsigned i = 0; i < RECORD_CPUS && err == 0; i++)
		err = own_open(i);
	return err;
}

static void close_vfs(void)
{
	for (unsigned i = 0; i < RECORD_CPUS; i++) {
		vfs_file_close(own[i].open_file);
		vfs_file_close(own[i].open_dir);
	}
	vfs_file_close(shared_dir);
	if (vfs_close(by_rcu) != 0 || vfs_close(by_ref) != 0)
		abort();
}

/* ---- operations ------------------------------------------------------------- */

static int stat_at(const struct vfs_at *at, const char *path)
{
	struct vfs_attr attr;

	return vfs_stat(at, path, 0, &attr);
}

static int run_stat_own(unsigned cpu)
{
	const struct vfs_at at = at_of(by_rcu);

	return stat_at(&at, own[cpu].file);
}

static int run_stat_shared(unsigned cpu)
{
	const struct vfs_at at = at_of(by_rcu);

	(void)cpu;
	return stat_at(&at, own[0].file);
}

static int run_stat_from_dir(unsigned cpu)
{
	struct vfs_at at = at_of(by_rcu);

	at.dir = shared_dir;
	return stat_at(&at, own[cpu].file);
}

static int run_stat_missing(unsigned cpu)
{
	const struct vfs_at at = at_of(by_rcu);
	int err = stat_at(&at, own[cpu].missing);

	return err == -ENOENT ? 0 : -EEXIST;
}

static int run_open_own(unsigned cpu)
{
	const struct vfs_at at = at_of(by_rcu);
	struct vfs_file *file;
	int err = vfs_file_open(&at, own[cpu].file, 0, &file);

	if (err == 0)
		vfs_file_close(file);
	return err;
}

static int run_pread_own(unsigned cpu)
{
	struct own *o = &own[cpu];
	size_t done;
	int err = vfs_pread(o->open_file, 10000, PIECE_BYTES, o->piece, &done);

	return err != 0 || done == PIECE_BYTES ? err : -EIO;
}

static int run_pread_shared(unsigned cpu)
{
	size_t done;

	return vfs_pread(
		own[0].open_file, 10000, PIECE_BYTES, own[cpu].piece, &done);
}

static int count_entry(void *arg, const struct vfs_dirent *entry)
{
	unsigned *count = arg;

	(void)entry;
	(*count)++;
	return 0;
}

static int run_readdir_own(unsigned cpu)
{
	unsigned count = 0;
	int err = vfs_readdir(own[cpu].open_dir, 0, count_entry, &count);

	return err != 0 || count == 4 ? err : -EIO;
}

static int run_readlink_own(unsigned cpu)
{
	const struct vfs_at at = at_of(by_rcu);
	size_t done;

	return vfs_readlink(
		&at, own[cpu].link, own[cpu].piece, PIECE_BYTES, &done);
}

static int run_getxattr_own(unsigned cpu)
{
	const struct vfs_at at = at_of(by_rcu);
	size_t done;

	return vfs_getxattr(&at, own[cpu].file, 0, XATTR, own[cpu].piece,
		PIECE_BYTES, &done);
}

static int run_walk_ref(unsigned cpu)
{
	const struct vfs_at at = at_of(by_ref);

	return stat_at(&at, own[cpu].file);
}

static const struct ledger_op ops[] = {
	{"vfs_stat, own files", false, run_stat_own},
	{"vfs_stat, same file", false, run_stat_shared},
	{"vfs_stat, from one directory", false, run_stat_from_dir},
	{"vfs_stat, missing names", false, run_stat_missing},
	{"vfs_file_open and close, own", false, run_open_own},
	{"vfs_pread, own files", false, run_pread_own},
	{"vfs_pread, same open file", false, run_pread_shared},
	{"vfs_readdir, own directories", false, run_readdir_own},
	{"vfs_readlink, own symlinks", false, run_readlink_own},
	{"vfs_getxattr, own files", false, run_getxattr_own},
	{"vfs_stat, walk=ref", true, run_walk_ref},
};

const struct ledger_group ledger_vfs = {
	.ops = ops,
	.count = ARRAY_COUNT(ops),
	.open = open_vfs,
	.close = close_vfs,
};
