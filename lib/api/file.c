/* SPDX-License-Identifier: BSD-2-Clause */
/* file.c - open files and directories. */
#include <errno.h>
#include <string.h>

#include "api/api_int.h"

int extant_file_open(struct extant *fs, const struct extant_at *at,
	const char *path, unsigned flags, struct extant_file **out)
{
	struct api_start start;
	struct vfs_file *file;
	int err = api_start(fs, at, &start);

	if (err == 0)
		err = vfs_file_open(&start.at, path, flags, &file);
	if (err == 0)
		*out = (struct extant_file *)(void *)file;
	return err;
}

void extant_file_close(struct extant_file *file)
{
	if (file != NULL)
		vfs_file_close(api_file(file));
}

void extant_file_stat(struct extant_file *file, struct extant_stat *out)
{
	struct vfs_attr attr;

	vfs_inode_attr(vfs_file_inode(api_file(file)), &attr);
	api_stat_of(&attr, out);
}

int extant_path_of(struct extant_file *file, char *to, size_t bytes)
{
	return vfs_path_of(api_file(file), to, bytes);
}

/* ---- contents ---------------------------------------------------------------- */

int extant_pread(struct extant_file *file, uint64_t offset, void *to,
	size_t bytes, size_t *done)
{
	return vfs_pread(api_file(file), offset, bytes, to, done);
}

int extant_preadv(struct extant_file *file, uint64_t offset,
	const struct iovec *iov, int count, size_t *done)
{
	size_t total = 0;

	for (int i = 0; i < count; i++) {
		size_t got;
		int err = vfs_pread(api_file(file), offset + total,
			iov[i].iov_len, iov[i].iov_base, &got);

		if (err != 0 && total == 0)
			return err;
		if (err != 0)
			break; /* whoever goes on from there is told */
		total += got;
		if (got < iov[i].iov_len)
			break;
	}
	*done = total;
	return 0;
}

int extant_seek_data(struct extant_file *file, uint64_t offset, uint64_t *out)
{
	return vfs_seek(api_file(file), offset, true, out);
}

int extant_seek_hole(struct extant_file *file, uint64_t offset, uint64_t *out)
{
	return vfs_seek(api_file(file), offset, false, out);
}

/* ---- entries ------------------------------------------------------------------- */

_Static_assert(offsetof(struct extant_dirent, name) + VFS_NAME_MAX + 1 <=
		       EXTANT_DIRENT_MAX,
	"the longest name fits");
_Static_assert(EXTANT_DIRENT_MAX % sizeof(uint64_t) == 0, "alignment");

struct packing {
	unsigned char *to;
	size_t bytes;
	size_t done;
};

static int pack(void *arg, const struct vfs_dirent *e)
{
	struct packing *p = arg;
	size_t bytes = offsetof(struct extant_dirent, name) + e->name_bytes + 1;
	struct extant_dirent *out = (void *)(p->to + p->done);

	bytes = (bytes + sizeof(uint64_t) - 1) & ~(sizeof(uint64_t) - 1);
	if (p->bytes - p->done < bytes)
		return 1;
	out->ino = e->ino;
	out->cookie = e->cookie;
	out->bytes = (uint16_t)bytes;
	out->type = e->type;
	out->name_bytes = e->name_bytes;
	memcpy(out->name, e->name, e->name_bytes);
	out->name[e->name_bytes] = '\0';
	p->done += bytes;
	return 0;
}

int extant_readdir(struct extant_file *dir, uint64_t cookie, void *to,
	size_t bytes, size_t *done)
{
	struct packing p = {.to = to, .bytes = bytes};
	int err;

	if (bytes < EXTANT_DIRENT_MAX || (uintptr_t)to % sizeof(uint64_t) != 0)
		return -EINVAL;
	err = vfs_readdir(api_file(dir), cookie, pack, &p);
	/* What is behind good entries is told to whoever goes on from there. */
	if (err != 0 && p.done == 0)
		return err;
	*done = p.done;
	return 0;
}
