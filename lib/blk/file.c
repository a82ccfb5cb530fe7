/* SPDX-License-Identifier: BSD-2-Clause */
/* file.c - see file.h: opening and closing, and which way a request goes. */
#include "blk/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_SECTOR = 512, PAGE_MIN = 4096 };

static struct lock_class start_class = {.name = "blk.file", .rank = RANK_BLK};

static void tell_list(const struct file_who *who, const char *fmt, va_list args)
{
	int n;

	if (who->text == NULL || who->bytes == 0)
		return;
	n = snprintf(who->text, who->bytes, "%s: ", who->path);
	if (n >= 0 && (size_t)n < who->bytes)
		(void)vsnprintf(
			who->text + n, who->bytes - (size_t)n, fmt, args);
}

void file_tell(const struct file_who *who, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tell_list(who, fmt, args);
	va_end(args);
}

/* ---- ways -------------------------------------------------------------- */

enum file_way file_way(const struct file_dev *file, const struct blk_io *io)
{
	uint64_t offset_bits = io->offset | io->bytes;
	uintptr_t memory_bits = 0;

	if (file->direct_fd < 0 || (offset_bits & (file->direct_unit - 1)) != 0)
		return WAY_BUFFERED;
	for (int i = 0; i < io->iov_count; i++)
		memory_bits |=
			(uintptr_t)io->iov[i].iov_base | io->iov[i].iov_len;
	return (memory_bits & (file->memory_unit - 1)) == 0 ? WAY_DIRECT
							    : WAY_BOUNCE;
}

/* Whether @fd takes a read of one unit into vectors that start off a unit. */
static bool direct_reads(int fd, uint8_t *memory, size_t unit, size_t step)
{
	struct iovec iov[2] = {
		{memory + step, step}, {memory + 2 * step, unit - step}};
	int count = step == unit ? 1 : 2;
	ssize_t n;

	do
		n = preadv(fd, iov, count, 0);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)unit;
}

/* Try what memory @fd takes.  -1: none; the file stays buffered. */
static int direct_probe(struct file_dev *file, int fd)
{
	size_t unit = file->direct_unit;
	uint8_t *memory = aligned_alloc(unit, 3 * unit);

	if (memory == NULL)
		return -1;
	file->memory_unit = FILE_SECTOR;
	if (!direct_reads(fd, memory, unit, FILE_SECTOR)) {
		file->memory_unit = file->direct_unit;
		if (!direct_reads(fd, memory, unit, unit))
			file->memory_unit = 0;
	}
	free(memory);
	return file->memory_unit == 0 ? -1 : 0;
}

/* A second descriptor of the same file, past the page cache; -1: buffered. */
static int direct_open(struct file_dev *file, bool write)
{
	long page = sysconf(_SC_PAGESIZE);
	char name[64];
	int fd;

	file->direct_unit = page < PAGE_MIN ? PAGE_MIN : (uint32_t)page;
	if (file->dev.geom.bytes < file->direct_unit)
		return -1;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", file->fd);
	fd = open(name, (write ? O_RDWR : O_RDONLY) | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (direct_probe(file, fd) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* ---- opening ----------------------------------------------------------- */

static int type_check(const struct stat *st, const struct file_who *who)
{
	if (S_ISREG(st->st_mode) || S_ISBLK(st->st_mode))
		return 0;
	if (S_ISDIR(st->st_mode)) {
		file_tell(who, "is a directory");
		return -EISDIR;
	}
	file_tell(who, "neither a file nor a block device");
	return -EINVAL;
}

/* @path opened for what @flags say; *@st is of what was opened. */
static int image_open(const char *path, unsigned flags,
	const struct file_who *who, struct stat *st)
{
	int how = O_CLOEXEC | O_NOCTTY;
	int err;
	int fd;

	/* First a look, as opening a pipe would wait for its other end. */
	if (stat(path, st) != 0)
		goto out_errno;
	err = type_check(st, who);
	if (err != 0)
		return err;
	how |= (flags & BLK_OPEN_WRITE) != 0 ? O_RDWR : O_RDONLY;
	if (S_ISBLK(st->st_mode) && (flags & BLK_OPEN_WRITE) != 0 &&
		(flags & BLK_OPEN_NO_LOCK) == 0)
		how |= O_EXCL; /* against the kernel's own users */
	fd = open(path, how);
	if (fd < 0)
		goto out_errno;
	if (fstat(fd, st) == 0)
		return fd;
	(void)close(fd);
out_errno:
	err = -errno;
	file_tell(who, "%s", strerrordesc_np(-err));
	return err;
}

/* After a refusal by O_EXCL: a mount or a lock may explain it. */
static void busy_explain(const char *path, const struct file_who *who)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0 || (file_mount_check(fd, true, who) == 0 &&
			      file_lock(fd, false, true, who) == 0))
		file_tell(who, "in use by the kernel (swap, RAID, device "
			       "mapper) or by an exclusive opener");
	if (fd >= 0)
		(void)close(fd);
}

static int geometry(int fd, const struct stat *st, struct blk_geom *geom)
{
	uint64_t bytes;
	int sector;

	if (!S_ISBLK(st->st_mode)) {
		/* What does not fill a sector is out of reach. */
		geom->bytes = (uint64_t)st->st_size / FILE_SECTOR * FILE_SECTOR;
		geom->sector_bytes = FILE_SECTOR;
		return 0;
	}
	if (ioctl(fd, BLKGETSIZE64, &bytes) != 0 ||
		ioctl(fd, BLKSSZGET, &sector) != 0)
		return -errno;
	geom->bytes = bytes;
	geom->sector_bytes = (uint32_t)sector;
	return blk_geom_check(geom);
}

/* Locks, mounts and size of an open image. */
static int image_claim(int fd, unsigned flags, const struct stat *st,
	const struct file_who *who, struct blk_geom *geom)
{
	bool write = (flags & BLK_OPEN_WRITE) != 0;
	int err = 0;

	if ((flags & BLK_OPEN_NO_LOCK) == 0)
		err = file_lock(fd, write, S_ISBLK(st->st_mode), who);
	if (err == 0)
		err = file_mount_check(fd, write, who);
	if (err != 0)
		return err;
	geom->read_only = !write;
	err = geometry(fd, st, geom);
	if (err != 0)
		file_tell(who, "%s", strerrordesc_np(-err));
	return err;
}

static void file_close(struct blk_dev *dev)
{
	struct file_dev *file = file_of(dev);

	file_async_close(file);
	blk_pool_fini(&file->pool);
	file_rings_fini(file);
	mtx_fini(&file->start);
	if (file->direct_fd >= 0)
		(void)close(file->direct_fd);
	file_unlock(file->fd);
	/* An error of close() tells nothing that a flush would not have. */
	(void)close(file->fd);
	free(file);
}

static int file_make(
	int fd, unsigned flags, struct blk_geom geom, struct file_dev **out)
{
	static const struct blk_ops ops = {file_run, file_submit, file_close};
	struct file_dev *file = calloc(1, sizeof(*file));
	int err;

	if (file == NULL)
		return -ENOMEM;
	blk_dev_init(&file->dev, &ops, geom);
	err = file_rings_init(file);
	if (err != 0) {
		free(file);
		return err;
	}
	file->fd = fd;
	file->direct_fd = -1;
	if ((flags & BLK_OPEN_DIRECT) != 0)
		file->direct_fd =
			direct_open(file, (flags & BLK_OPEN_WRITE) != 0);
	atomic_init(&file->no_ring, (flags & BLK_OPEN_NO_URING) != 0);
	mtx_init(&file->start, &start_class);
	blk_pool_init(&file->pool);
	if ((flags & BLK_OPEN_EAGER) != 0 && (flags & BLK_OPEN_NO_URING) == 0) {
		file_rings_warm(file);
		file_async_warm(file);
	}
	*out = file;
	return 0;
}

int blk_open_file(const char *path, unsigned flags, char *who, size_t who_bytes,
	struct blk_dev **out)
{
	struct file_who tell = {.path = path, .bytes = who_bytes};
	struct blk_geom geom = {0};
	struct file_dev *file;
	struct stat st;
	int err;
	int fd;

	tell.text = who;
	fd = image_open(path, flags, &tell, &st);
	if (fd == -EBUSY)
		busy_explain(path, &tell);
	if (fd < 0)
		return fd;
	err = image_claim(fd, flags, &st, &tell, &geom);
	if (err != 0)
		goto out_close;
	err = file_make(fd, flags, geom, &file);
	if (err != 0) {
		file_tell(&tell, "%s", strerrordesc_np(-err));
		goto out_close;
	}
	file->is_block = S_ISBLK(st.st_mode);
	*out = &file->dev;
	return 0;
out_close:
	(void)close(fd);
	return err;
}
