/* SPDX-License-Identifier: BSD-2-Clause */
/* read_node.c - what every node has: attributes, small and large; a path. */
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "read_pass.h"

enum { LIST_MAX = 1 << 20, VALUE_MAX = 1 << 17, VALUES_MAX = 32 };

static void add_attr(struct read_pass *p, const struct vfs_attr *a)
{
	/* Field by field: there may be padding. */
	const uint64_t words[] = {a->ino, a->size, a->blocks, a->mode, a->uid,
		a->gid, a->link_count, a->generation, a->device_major,
		a->device_minor, a->block_bytes, a->project, a->flags,
		(uint64_t)a->atime.seconds, a->atime.nanoseconds,
		(uint64_t)a->mtime.seconds, a->mtime.nanoseconds,
		(uint64_t)a->ctime.seconds, a->ctime.nanoseconds,
		(uint64_t)a->crtime.seconds, a->crtime.nanoseconds};

	MUST(a->atime.nanoseconds < 1000000000);
	MUST(a->size <= INT64_MAX);
	read_add(p, words, sizeof(words));
}

static void read_link(
	struct read_pass *p, struct vfs_file *dir, const char *name)
{
	struct vfs_at at = {.vfs = p->vfs, .dir = dir};
	char target[VFS_PATH_MAX];
	struct vfs_attr a;
	size_t done = 0;
	int err = read_judge(p, READ_LINK,
		vfs_readlink(&at, name, target, sizeof(target), &done));

	if (err)
		return;
	MUST(done > 0 && done < VFS_PATH_MAX);
	MUST(memchr(target, 0, done) == NULL);
	read_add(p, target, done);
	(void)read_judge(p, READ_FOLLOW, vfs_stat(&at, name, 0, &a));
}

/* ---- extended attributes ---------------------------------------------------- */

static void read_value(struct read_pass *p, const struct vfs_at *at,
	const char *path, const char *name)
{
	static uint8_t value[VALUE_MAX];
	unsigned flags = VFS_NOFOLLOW | VFS_EMPTY_PATH;
	size_t asked = 0;
	size_t done = 0;
	int err = read_judge(p, READ_GETXATTR,
		vfs_getxattr(at, path, flags, name, NULL, 0, &asked));

	if (err)
		return;
	MUST(asked <= VALUE_MAX);
	if (asked > 1)
		MUST(vfs_getxattr(at, path, flags, name, value, asked - 1,
			     &done) == -ERANGE);
	err = read_judge(p, READ_GETXATTR,
		vfs_getxattr(at, path, flags, name, value, VALUE_MAX, &done));
	MUST(err == 0 && done == asked);
	read_add(p, value, done);
}

static void read_values(
	struct read_pass *p, struct vfs_file *dir, const char *name)
{
	struct vfs_at at = {.vfs = p->vfs, .dir = dir};
	unsigned flags = VFS_NOFOLLOW | VFS_EMPTY_PATH;
	size_t asked = 0;
	size_t done = 0;
	unsigned left = VALUES_MAX;
	char *list;
	int err = read_judge(p, READ_LISTXATTR,
		vfs_listxattr(&at, name, flags, NULL, 0, &asked));

	(void)read_judge(p, READ_NOXATTR,
		vfs_getxattr(&at, name, flags, "user.no-such", NULL, 0, &done));
	if (err || asked == 0)
		return;
	MUST(asked <= LIST_MAX);
	list = malloc(asked);
	MUST(list != NULL);
	err = read_judge(p, READ_LISTXATTR,
		vfs_listxattr(&at, name, flags, list, asked, &done));
	MUST(err == 0 && done == asked && list[done - 1] == '\0');
	read_add(p, list, done);
	for (const char *n = list; left > 0 && n < list + done;
		n += strlen(n) + 1, left--)
		read_value(p, &at, name, n);
	free(list);
}

/* ---- a node -------------------------------------------------------------------- */

static void read_path(struct read_pass *p, struct vfs_file *file)
{
	char path[VFS_PATH_MAX];
	int err =
		read_judge(p, READ_PATH, vfs_path_of(file, path, sizeof(path)));

	MUST(err == 0 || err == -ERANGE);
	if (!err)
		read_add(p, path, strlen(path));
}

void read_note(struct read_pass *p, uint64_t path)
{
	if (p->count < READ_NODES_MAX)
		p->notes[p->count++] = (struct read_note){
			.path = path, .sum = p->sum, .clean = p->clean};
}

static bool enough(struct read_pass *p, unsigned depth)
{
	p->cut = p->cut || read_cpu_ns() > p->stop_ns;
	return p->cut || p->count == READ_NODES_MAX || depth > READ_DEPTH_MAX;
}

/* As deep as READ_DEPTH_MAX. NOLINTNEXTLINE(misc-no-recursion) */
void read_node(struct read_pass *p, struct vfs_file *dir, const char *name,
	uint64_t path, unsigned depth)
{
	struct vfs_at at = {.vfs = p->vfs, .dir = dir};
	struct vfs_file *file;
	struct vfs_attr a;
	int err;

	if (enough(p, depth))
		return;
	path = XXH3_64bits_withSeed(name, strlen(name), path);
	p->sum = 0;
	p->clean = true;
	err = read_judge(p, READ_STAT, vfs_stat(&at, name, VFS_NOFOLLOW, &a));
	if (!err) {
		add_attr(p, &a);
		read_values(p, dir, name);
		if (S_ISLNK(a.mode))
			read_link(p, dir, name);
		err = read_judge(p, READ_STAT,
			vfs_file_open(&at, name, VFS_NOFOLLOW, &file));
	}
	if (err) {
		read_note(p, path);
		return;
	}
	read_path(p, file);
	if (S_ISREG(a.mode))
		read_file(p, file, &a);
	if (S_ISDIR(a.mode))
		read_dir(p, file, &a, path, depth);
	else
		read_note(p, path);
	vfs_file_close(file);
}

void read_pass_run(struct read_pass *p)
{
	p->reports = atomic_load(&read_reports);
	read_node(p, NULL, "/", 0, 0);
}
