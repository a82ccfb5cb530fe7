/* SPDX-License-Identifier: BSD-2-Clause */
/* open.c - file systems come and go. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "base/assert.h"
#include "base/log.h"
#include "blk/part.h"
#include "ext/ext.h"

/* ---- problems -------------------------------------------------------------------- */

static void problem_say(struct extant_problem *problem, const char *fmt, ...)
	PRINTF(2, 3);

static void problem_say(struct extant_problem *problem, const char *fmt, ...)
{
	va_list args;

	if (problem == NULL)
		return;
	*problem = (struct extant_problem){.block = EXTANT_NO_BLOCK};
	va_start(args, fmt);
	(void)vsnprintf(problem->text, sizeof(problem->text), fmt, args);
	va_end(args);
}

static void problem_of(struct extant_problem *problem, int err,
	const struct ext_damage *damage)
{
	problem_say(problem, "%s",
		damage->why[0] != '\0' ? damage->why : strerrordesc_np(-err));
	if (problem == NULL)
		return;
	problem->block = damage->block;
	problem->inode = damage->inode;
}

/* ---- devices ------------------------------------------------------------------- */

static int take_opts(const struct extant_opts *from, struct extant_opts *out,
	struct extant_problem *problem)
{
	static const struct extant_opts defaults = EXTANT_OPTS();
	int err = api_take(out, sizeof(*out),
		offsetof(struct extant_opts, journal) + sizeof(char *),
		from != NULL ? from : &defaults);

	if (err != 0)
		problem_say(problem, "options of another version");
	return err;
}

static int open_image(const char *image, const struct extant_opts *opts,
	struct blk_dev **out, struct extant_problem *problem)
{
	char why[sizeof(problem->text)] = "";
	unsigned flags = (opts->direct ? BLK_OPEN_DIRECT : 0) |
			 (opts->eager ? BLK_OPEN_EAGER : 0);
	int err = blk_open_image(image, flags, why, sizeof(why), out);

	if (err != 0)
		problem_say(problem, "%s",
			why[0] != '\0' ? why : strerrordesc_np(-err));
	return err;
}

/* A caller's mistake that is better told as such. */
static bool is_whole_disk(struct blk_dev *dev, const struct extant_opts *opts)
{
	struct ext *probe;

	if (opts->superblock != 0)
		return false;
	if (ext_open(dev, &probe, NULL) != 0)
		return part_any(dev);
	ext_close(probe);
	return false;
}

/* The file system on @dev, which is its from now on, also on failure. */
static int mount_dev(struct blk_dev *dev, const struct extant_opts *opts,
	struct vfs_fs **out, struct extant_problem *problem)
{
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct ext_mount_opts how = {
		.cache_bytes = opts->cache_bytes,
		.superblock = opts->superblock,
		.superblock_bytes = opts->superblock_bytes,
		.no_replay = opts->no_replay,
	};
	int err = 0;

	if (is_whole_disk(dev, opts)) {
		problem_say(
			problem, "a disk with partitions; name one with #N");
		blk_close(dev);
		return -EUCLEAN;
	}
	if (opts->journal != NULL)
		err = open_image(opts->journal, opts, &how.journal, problem);
	if (err != 0) {
		blk_close(dev);
		return err;
	}
	err = ext_mount(dev, &how, out, &damage);
	if (err != 0)
		problem_of(problem, err, &damage);
	blk_close(how.journal);
	return err;
}

/* ---- file systems --------------------------------------------------------------- */

/* @dev is taken, also on failure. */
static int open_dev(struct blk_dev *dev, const struct extant_opts *opts,
	struct extant **out, struct extant_problem *problem)
{
	struct vfs_opts how = {.cache_entries = opts->cache_names};
	struct extant *fs = malloc(sizeof(*fs));
	int err = -ENOMEM;

	if (fs == NULL)
		goto out_close;
	err = vfs_open(&how, &fs->vfs);
	if (err != 0)
		goto out_free;
	err = mount_dev(dev, opts, &fs->first, problem);
	dev = NULL;
	if (err != 0)
		goto out_vfs;
	err = vfs_mount(fs->vfs, "/", fs->first);
	if (err != 0) {
		problem_say(
			problem, "root directory: %s", strerrordesc_np(-err));
		(void)fs->first->ops->unmount(fs->first);
		goto out_vfs;
	}
	*out = fs;
	return 0;

out_vfs:
	CHECK(vfs_close(fs->vfs) == 0); /* nothing is mounted */
out_free:
	free(fs);
out_close:
	if (dev != NULL)
		problem_say(problem, "%s", strerrordesc_np(-err));
	blk_close(dev);
	return err;
}

int extant_open(const char *image, const struct extant_opts *opts,
	struct extant **out, struct extant_problem *problem)
{
	struct extant_opts how;
	struct blk_dev *dev;
	int err = take_opts(opts, &how, problem);

	if (err == 0)
		err = open_image(image, &how, &dev, problem);
	return err != 0 ? err : open_dev(dev, &how, out, problem);
}

int extant_open_device(const struct extant_device *device,
	const struct extant_opts *opts, struct extant **out,
	struct extant_problem *problem)
{
	struct extant_device from;
	struct extant_opts how;
	struct blk_dev *dev;
	int err = api_take(&from, sizeof(from),
		offsetof(struct extant_device, close) + sizeof(from.close),
		device);
	struct blk_caller_ops ops;
	struct blk_geom geom;

	if (err != 0) {
		problem_say(problem, "a device of another version");
		return err;
	}
	ops = (struct blk_caller_ops){
		.pread = from.pread,
		.pwrite = from.pwrite,
		.flush = from.flush,
		.discard = from.discard,
		.close = from.close,
	};
	geom = (struct blk_geom){
		.bytes = from.bytes,
		.sector_bytes =
			from.sector_bytes != 0 ? from.sector_bytes : 512,
		.read_only = true,
	};
	err = take_opts(opts, &how, problem);
	if (err != 0)
		goto out_close;
	err = blk_open_caller(&ops, from.arg, geom, &dev);
	if (err != 0) {
		problem_say(problem, "device: %s", strerrordesc_np(-err));
		goto out_close;
	}
	return open_dev(dev, &how, out, problem);

out_close:
	if (from.close != NULL)
		from.close(from.arg);
	return err;
}

int extant_close(struct extant *fs)
{
	int err;

	if (fs == NULL)
		return 0;
	err = vfs_close(fs->vfs);
	if (err != -EBUSY)
		free(fs);
	return err;
}

int extant_attach(struct extant *fs, const char *path, const char *image,
	const struct extant_opts *opts, struct extant_problem *problem)
{
	struct extant_opts how;
	struct vfs_fs *inner;
	struct blk_dev *dev;
	int err = take_opts(opts, &how, problem);

	if (err == 0)
		err = open_image(image, &how, &dev, problem);
	if (err == 0)
		err = mount_dev(dev, &how, &inner, problem);
	if (err != 0)
		return err;
	err = vfs_mount(fs->vfs, path, inner);
	if (err == 0)
		return 0;
	problem_say(problem, "%s: %s", path, strerrordesc_np(-err));
	(void)inner->ops->unmount(inner);
	return err;
}

int extant_detach(struct extant *fs, const char *path)
{
	struct vfs_at at = {.vfs = fs->vfs};
	struct vfs_attr attr;
	int err = vfs_stat(&at, path, VFS_DIRECTORY, &attr);

	if (err != 0)
		return err;
	if (attr.fs_id == fs->first->id)
		return -EINVAL;
	return vfs_unmount(fs->vfs, path);
}

void extant_shrink(struct extant *fs, uint32_t keep)
{
	vfs_shrink(fs->vfs, keep);
}
