/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ops_vfs.c - operations in process, over an image and over memory.
 *
 * They ask as whoever runs this, as system calls do: permissions are checked
 * on each name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "bench/ops.h"
#include "tools/tool.h"

/* Beside the data of the clients, in the cache. */
#define CACHE_BYTES ((uint64_t)32 << 20)

static struct vfs_at at_of(const struct ops_client *c)
{
	return (struct vfs_at){.vfs = c->side->vfs, .cred = &c->side->cred};
}

static int vfs_one_stat(struct ops_client *c, unsigned i)
{
	const struct vfs_at at = at_of(c);
	struct vfs_attr attr;

	return vfs_stat(&at, c->names.file[i], 0, &attr);
}

static int vfs_one_missing(struct ops_client *c, unsigned i)
{
	const struct vfs_at at = at_of(c);
	struct vfs_attr attr;
	int err = vfs_stat(&at, c->names.missing[i], 0, &attr);

	return err == -ENOENT ? 0 : -EEXIST;
}

static int vfs_one_open(struct ops_client *c, unsigned i)
{
	const struct vfs_at at = at_of(c);
	struct vfs_file *file;
	int err = vfs_file_open(&at, c->names.file[i], 0, &file);

	if (err == 0)
		vfs_file_close(file);
	return err;
}

static int vfs_one_pread(struct ops_client *c, size_t bytes)
{
	size_t done;
	int err = vfs_pread(
		c->data, ops_offset(c, bytes), bytes, c->buffer, &done);

	if (err != 0)
		return err;
	return done == bytes ? 0 : -EIO;
}

static int vfs_one_pread_4k(struct ops_client *c, unsigned i)
{
	(void)i;
	return vfs_one_pread(c, OPS_SMALL_BYTES);
}

static int vfs_one_pread_1m(struct ops_client *c, unsigned i)
{
	(void)i;
	return vfs_one_pread(c, OPS_LARGE_BYTES);
}

/* As getdents does: number, cookie, type and name into the buffer. */
static int take_entry(void *arg, const struct vfs_dirent *entry)
{
	char **to = arg;

	memcpy(*to, &entry->ino, sizeof(entry->ino));
	*to += sizeof(entry->ino);
	memcpy(*to, &entry->cookie, sizeof(entry->cookie));
	*to += sizeof(entry->cookie);
	*(*to)++ = (char)entry->type;
	memcpy(*to, entry->name, entry->name_bytes);
	*to += entry->name_bytes;
	return 0;
}

static int vfs_one_readdir(struct ops_client *c, unsigned i)
{
	char *to = c->buffer;

	(void)i;
	return vfs_readdir(c->dir, 0, take_entry, &to);
}

static int vfs_one_readlink(struct ops_client *c, unsigned i)
{
	const struct vfs_at at = at_of(c);
	size_t done;

	return vfs_readlink(
		&at, c->names.link[i], c->buffer, OPS_SMALL_BYTES, &done);
}

static int vfs_one_getxattr(struct ops_client *c, unsigned i)
{
	const struct vfs_at at = at_of(c);
	size_t done;

	return vfs_getxattr(&at, c->names.file[i], 0, OPS_XATTR, c->buffer,
		OPS_SMALL_BYTES, &done);
}

static int vfs_enter(struct ops_client *c)
{
	const struct vfs_at at = at_of(c);
	int err = vfs_file_open(&at, c->names.data, 0, &c->data);

	if (err == 0)
		err = vfs_file_open(&at, c->names.dir, VFS_DIRECTORY, &c->dir);
	return err;
}

static void vfs_leave(struct ops_client *c)
{
	if (c->dir != NULL)
		vfs_file_close(c->dir);
	if (c->data != NULL)
		vfs_file_close(c->data);
}

static void vfs_side_close(struct ops_side *side)
{
	int err = vfs_close(side->vfs);

	if (err != 0)
		(void)tool_fail(side->name, "%s", strerrordesc_np(-err));
	free(side->groups);
}

static const struct ops_side_ops vfs_ops = {
	.enter = vfs_enter,
	.leave = vfs_leave,
	.one =
		{
			[OPS_STAT] = vfs_one_stat,
			[OPS_MISSING] = vfs_one_missing,
			[OPS_OPEN] = vfs_one_open,
			[OPS_PREAD_4K] = vfs_one_pread_4k,
			[OPS_PREAD_1M] = vfs_one_pread_1m,
			[OPS_READDIR] = vfs_one_readdir,
			[OPS_READLINK] = vfs_one_readlink,
			[OPS_GETXATTR] = vfs_one_getxattr,
		},
	.close = vfs_side_close,
};

/* ---- opening ------------------------------------------------------------- */

static int cred_init(struct ops_side *side)
{
	int count = getgroups(0, NULL);

	if (count < 0)
		return -errno;
	side->groups = calloc((size_t)count + 1, sizeof(*side->groups));
	if (side->groups == NULL)
		return -ENOMEM;
	count = getgroups(count, side->groups);
	if (count < 0)
		return -errno;
	side->cred = (struct vfs_cred){.uid = geteuid(),
		.gid = getegid(),
		.group_count = (uint32_t)count,
		.groups = side->groups,
		.privileged = geteuid() == 0};
	return 0;
}

/* Takes over @fs. */
static int side_open(struct vfs_fs *fs, const char *name,
	enum vfs_walk_mode walk, struct ops_side *out)
{
	const struct vfs_opts opts = {.walk = walk};
	int err;

	*out = (struct ops_side){.ops = &vfs_ops,
		.name = name,
		.walks_only = walk == VFS_WALK_REF};
	err = cred_init(out);
	if (err == 0)
		err = vfs_open(&opts, &out->vfs);
	if (err != 0)
		goto out_unmount;
	err = vfs_mount(out->vfs, "/", fs);
	if (err != 0)
		goto out_close;
	return 0;

out_close:
	/* Nothing is in it. */
	CHECK(vfs_close(out->vfs) == 0);
out_unmount:
	(void)fs->ops->unmount(fs);
	free(out->groups);
	return tool_fail(name, "%s", strerrordesc_np(-err));
}

int ops_image_open(const char *spec, unsigned clients, enum vfs_walk_mode walk,
	struct ops_side *out)
{
	struct ext_mount_opts opts = {.cache_bytes = CACHE_BYTES};
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct blk_dev *dev;
	struct vfs_fs *fs;
	int err = tool_open(spec, 0, &dev);

	if (err != 0)
		return err;
	/* What only walks reads no data. */
	if (walk == VFS_WALK_RCU)
		opts.cache_bytes += 2 * (uint64_t)clients * OPS_DATA_BYTES;
	err = ext_mount(dev, &opts, &fs, &damage);
	if (err != 0)
		return tool_fail_damage(spec, err, &damage);
	return side_open(
		fs, walk == VFS_WALK_RCU ? "extant" : "walk=ref", walk, out);
}

int ops_memory_open(unsigned clients, struct ops_side *out)
{
	struct vfs_fs *fs;
	int err = ops_tree_in_memory(clients, &fs);

	if (err != 0)
		return tool_fail("mem", "%s", strerrordesc_np(-err));
	return side_open(fs, "mem", VFS_WALK_RCU, out);
}
