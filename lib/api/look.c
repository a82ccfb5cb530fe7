/* SPDX-License-Identifier: BSD-2-Clause */
/* look.c - calls that only look at what a path leads to. */
#include "api/api_int.h"

/* Flags have the same bits in both interfaces. */
_Static_assert((int)EXTANT_NOFOLLOW == VFS_NOFOLLOW, "flags");
_Static_assert((int)EXTANT_EMPTY_PATH == VFS_EMPTY_PATH, "flags");
_Static_assert((int)EXTANT_DIRECTORY == VFS_DIRECTORY, "flags");
_Static_assert((int)EXTANT_BENEATH == VFS_BENEATH, "flags");

static struct extant_time time_of(const struct vfs_time *time)
{
	return (struct extant_time){
		.seconds = time->seconds, .nanoseconds = time->nanoseconds};
}

void api_stat_of(const struct vfs_attr *attr, struct extant_stat *out)
{
	*out = (struct extant_stat){
		.ino = attr->ino,
		.fsid = attr->fs_id,
		.size = attr->size,
		.blocks = attr->blocks,
		.mode = attr->mode,
		.uid = attr->uid,
		.gid = attr->gid,
		.link_count = attr->link_count,
		.generation = attr->generation,
		.device_major = attr->device_major,
		.device_minor = attr->device_minor,
		.block_bytes = attr->block_bytes,
		.project = attr->project,
		.flags = attr->flags,
		.atime = time_of(&attr->atime),
		.mtime = time_of(&attr->mtime),
		.ctime = time_of(&attr->ctime),
		.crtime = time_of(&attr->crtime),
	};
}

int extant_stat(struct extant *fs, const struct extant_at *at, const char *path,
	unsigned flags, struct extant_stat *out)
{
	struct api_start start;
	struct vfs_attr attr;
	int err = api_start(fs, at, &start);

	if (err == 0)
		err = vfs_stat(&start.at, path, flags, &attr);
	if (err == 0)
		api_stat_of(&attr, out);
	return err;
}

int extant_access(struct extant *fs, const struct extant_at *at,
	const char *path, unsigned flags, int mode)
{
	struct api_start start;
	int err = api_start(fs, at, &start);

	return err != 0 ? err : vfs_access(&start.at, path, flags, mode);
}

int extant_readlink(struct extant *fs, const struct extant_at *at,
	const char *path, void *to, size_t bytes, size_t *done)
{
	struct api_start start;
	int err = api_start(fs, at, &start);

	return err != 0 ? err : vfs_readlink(&start.at, path, to, bytes, done);
}

/* As many parameters as getxattr() at a path below a directory needs. */
// NOLINTNEXTLINE(readability-function-size)
int extant_getxattr(struct extant *fs, const struct extant_at *at,
	const char *path, unsigned flags, const char *name, void *to,
	size_t bytes, size_t *done)
{
	struct api_start start;
	int err = api_start(fs, at, &start);

	if (err != 0)
		return err;
	return vfs_getxattr(&start.at, path, flags, name, to, bytes, done);
}

int extant_listxattr(struct extant *fs, const struct extant_at *at,
	const char *path, unsigned flags, void *to, size_t bytes, size_t *done)
{
	struct api_start start;
	int err = api_start(fs, at, &start);

	if (err != 0)
		return err;
	return vfs_listxattr(&start.at, path, flags, to, bytes, done);
}

int extant_statfs(struct extant *fs, const struct extant_at *at,
	const char *path, struct extant_statfs *out)
{
	struct api_start start;
	struct vfs_statfs s;
	int err = api_start(fs, at, &start);

	if (err == 0)
		err = vfs_statfs(&start.at, path, &s);
	if (err != 0)
		return err;
	*out = (struct extant_statfs){
		.blocks = s.blocks,
		.blocks_free = s.blocks_free,
		.blocks_available = s.blocks_available,
		.inodes = s.inodes,
		.inodes_free = s.inodes_free,
		.block_bytes = s.block_bytes,
		.name_bytes_max = s.name_bytes_max,
	};
	return 0;
}
