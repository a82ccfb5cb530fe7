/* SPDX-License-Identifier: BSD-2-Clause */
/* read_dir.c - a directory: what it lists, in one go and on from each cookie;
 * then every name. */
#include <errno.h>
#include <string.h>

#include "read_pass.h"

enum {
	NAMES_MAX = 256,  /* of one directory that are looked at */
	RESUMES_MAX = 40, /* of its cookies */
	ENTRY_MIN = 12,   /* bytes */
	DOTS = 2,
	FLAG_INDEX = 0x1000, /* as lsattr has it */
};

struct entry {
	vfs_ino ino;
	uint64_t cookie;
	uint8_t type;
	char name[VFS_NAME_MAX + 1];
};

struct listing {
	struct read_pass *pass;
	uint64_t cookie; /* of the last entry */
	uint64_t seen;   /* entries */
	uint32_t count;
	struct entry *list;
};

static void check_name(const struct vfs_dirent *e)
{
	MUST(e->name_bytes > 0);
	MUST(memchr(e->name, '/', e->name_bytes) == NULL);
	MUST(memchr(e->name, 0, e->name_bytes) == NULL);
	MUST(e->ino != 0);
}

static int take(void *arg, const struct vfs_dirent *e)
{
	struct listing *l = arg;
	struct entry *to = &l->list[l->count];

	check_name(e);
	MUST(e->cookie > l->cookie);
	l->cookie = e->cookie;
	l->seen++;
	if (l->count == NAMES_MAX)
		return 0;
	*to = (struct entry){
		.ino = e->ino, .cookie = e->cookie, .type = e->type};
	memcpy(to->name, e->name, e->name_bytes);
	read_add(l->pass, to->name, e->name_bytes);
	read_add_number(l->pass, e->ino ^ (uint64_t)e->type << 32);
	read_add_number(l->pass, e->cookie);
	l->count++;
	return 0;
}

struct resume {
	const struct entry *next; /* or NULL: the end */
	bool met;
};

static int take_next(void *arg, const struct vfs_dirent *e)
{
	struct resume *r = arg;

	MUST(r->next != NULL);
	MUST(e->cookie == r->next->cookie && e->ino == r->next->ino);
	MUST(strlen(r->next->name) == e->name_bytes);
	MUST(memcmp(r->next->name, e->name, e->name_bytes) == 0);
	r->met = true;
	return 1;
}

/* The listing is whole: from each cookie it goes on with the next entry. */
static void go_on(const struct listing *l, struct vfs_file *dir)
{
	uint32_t step = 1 + l->count / RESUMES_MAX;

	for (uint32_t i = 0; i < l->count; i += step) {
		bool last = i + 1 == l->count;
		struct resume r = {.next = last ? NULL : &l->list[i + 1]};

		if (last && l->seen > l->count)
			break;
		MUST(vfs_readdir(dir, l->list[i].cookie, take_next, &r) == 0);
		MUST(r.met == !last);
	}
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static uint32_t times_listed(const struct listing *l, const char *name)
{
	uint32_t times = 0;

	for (uint32_t i = 0; i < l->count; i++)
		times += strcmp(l->list[i].name, name) == 0;
	return times;
}

/* An index may lead elsewhere than to where a name is; without one, what is
 * listed is there, and if it is listed once it is that.  Dots are what the
 * tree says, whatever the root's entries do. */
static void look_up(struct read_pass *p, const struct listing *l, bool whole,
	const struct vfs_attr *dir_attr, struct vfs_file *dir,
	const struct entry *e)
{
	struct vfs_at at = {.vfs = p->vfs, .dir = dir};
	struct vfs_attr a;
	int err = read_judge(
		p, READ_STAT, vfs_stat(&at, e->name, VFS_NOFOLLOW, &a));

	if (!(dir_attr->flags & FLAG_INDEX))
		MUST(err != -ENOENT);
	if (!err && whole && l->seen == l->count && !is_dots(e->name) &&
		times_listed(l, e->name) == 1)
		MUST(a.ino == e->ino);
}

static void look_up_none(struct read_pass *p, struct vfs_file *dir)
{
	struct vfs_at at = {.vfs = p->vfs, .dir = dir};
	struct vfs_attr a;
	int err = read_judge(
		p, READ_STAT, vfs_stat(&at, "no-such-name", VFS_NOFOLLOW, &a));

	/* Somebody may call a file so. */
	if (!err)
		read_add_number(p, a.ino);
}

static bool first_visit(struct read_pass *p, vfs_ino ino)
{
	for (uint32_t i = 0; i < p->dir_count; i++)
		if (p->dirs[i] == ino)
			return false;
	if (p->dir_count == READ_NODES_MAX)
		return false;
	p->dirs[p->dir_count++] = ino;
	return true;
}

void read_dir(struct read_pass *p, struct vfs_file *dir,
	const struct vfs_attr *a, uint64_t path, unsigned depth)
{
	struct listing l = {.pass = p};
	bool whole;
	int err;

	l.list = calloc(NAMES_MAX, sizeof(*l.list));
	MUST(l.list != NULL);
	err = read_judge(p, READ_DIR, vfs_readdir(dir, 0, take, &l));
	/* The size of an inline directory is less than that of a block. */
	MUST(l.seen <= DOTS + a->size / ENTRY_MIN);
	whole = err == 0;
	if (whole)
		go_on(&l, dir);
	for (uint32_t i = 0; i < l.count; i++)
		look_up(p, &l, whole, a, dir, &l.list[i]);
	look_up_none(p, dir);
	read_note(p, path);
	if (!first_visit(p, a->ino))
		l.count = 0;
	for (uint32_t i = 0; i < l.count; i++)
		if (!is_dots(l.list[i].name))
			read_node(p, dir, l.list[i].name, path, depth + 1);
	free(l.list);
}
