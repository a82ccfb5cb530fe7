/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk_tree.c - everything that can be seen of a tree, one line a file.
 *
 *     walk_tree image FILE [option=value]...    through the library
 *     walk_tree host DIR                        through system calls
 *     walk_tree hash FILE...                    the hash of each, as below
 *
 * The first two print the same for the same tree, so a judge compares two
 * texts.  Lines are sorted by path:
 *
 *     path ino mode uid gid links size blocks device mtime ctime atime crtime
 *     flags project [-> target] [name=value-hash]... [segments content-hash]
 *
 * Options: journal=FILE, superblock=N, no_replay=1, cache=BYTES, log=1,
 * statfs=1 (one more line, first).  stats=1: at the end, on stderr, what it
 * took: device reads, seconds to open and to walk, the peak of memory.
 * visit=FILE: instead of walking, stat each path that FILE has a line of, and
 * print its inode.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/log.h"
#include "blk/blk.h"
#include "blk/layers.h"
#include "ext/ext.h"
#include "tree_view.h"
#include "vfs/vfs.h"

enum { CHUNK = 1 << 18, LIST_MAX = 1 << 16, VALUE_MAX = 1 << 16 };

static int failures;

static void complain(const char *path, const char *what, int err)
{
	(void)fprintf(stderr, "walk_tree: %s: %s: %s\n", path, what,
		strerrorname_np(-err));
	printf("/%s !%s %s\n", path, what, strerrorname_np(-err));
	failures++;
}

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

/* ---- through the library ------------------------------------------------------ */

static struct vfs_at at_of(const struct tree *t)
{
	return (struct vfs_at){.vfs = t->vfs};
}

static int lib_attr(struct tree *t, const char *path, struct vfs_attr *out)
{
	struct vfs_at at = at_of(t);

	return vfs_stat(&at, *path ? path : "/", VFS_NOFOLLOW, out);
}

struct adding {
	void (*add)(void *arg, const char *name, size_t bytes, vfs_ino ino,
		unsigned type);
	void *arg;
	uint64_t cookie;
	unsigned left; /* until the call is cut short */
};

static int add_entry(void *arg, const struct vfs_dirent *e)
{
	struct adding *a = arg;

	if (e->cookie <= a->cookie)
		abort();
	a->cookie = e->cookie;
	a->add(a->arg, e->name, e->name_bytes, e->ino, e->type);
	return --a->left == 0;
}

/* In pieces of growing size, each gone on with by its cookie. */
static int lib_names(struct tree *t, const char *path,
	void (*add)(void *arg, const char *name, size_t bytes, vfs_ino ino,
		unsigned type),
	void *arg)
{
	struct vfs_at at = at_of(t);
	struct adding a = {.add = add, .arg = arg};
	struct vfs_file *dir;
	unsigned piece = 1;
	int err = vfs_file_open(&at, *path ? path : "/", VFS_NOFOLLOW, &dir);

	while (!err) {
		a.left = piece;
		err = vfs_readdir(dir, a.cookie, add_entry, &a);
		if (a.left)
			break;
		piece += piece / 3 + 1;
	}
	if (err != -ENOENT || piece > 1)
		vfs_file_close(dir);
	return err;
}

static int lib_target(
	struct tree *t, const char *path, char *to, size_t bytes, size_t *done)
{
	struct vfs_at at = at_of(t);

	return vfs_readlink(&at, path, to, bytes, done);
}

static int lib_list(
	struct tree *t, const char *path, char *to, size_t bytes, size_t *done)
{
	struct vfs_at at = at_of(t);

	return vfs_listxattr(
		&at, *path ? path : "/", VFS_NOFOLLOW, to, bytes, done);
}

static int lib_value(struct tree *t, const char *path, const char *name,
	void *to, size_t bytes, size_t *done)
{
	struct vfs_at at = at_of(t);

	return vfs_getxattr(
		&at, *path ? path : "/", VFS_NOFOLLOW, name, to, bytes, done);
}

static int lib_open(struct tree *t, const char *path)
{
	struct vfs_at at = at_of(t);

	return vfs_file_open(&at, path, VFS_NOFOLLOW, &t->file);
}

static int lib_read(
	struct tree *t, uint64_t offset, size_t bytes, void *to, size_t *done)
{
	return vfs_pread(t->file, offset, bytes, to, done);
}

static int lib_seek(struct tree *t, uint64_t offset, bool data, uint64_t *out)
{
	return vfs_seek(t->file, offset, data, out);
}

static void lib_close(struct tree *t)
{
	vfs_file_close(t->file);
}

static int lib_space(struct tree *t, struct vfs_statfs *out)
{
	struct vfs_at at = at_of(t);

	return vfs_statfs(&at, "/", out);
}

static const struct tree lib_tree = {
	.attr = lib_attr,
	.names = lib_names,
	.target = lib_target,
	.list = lib_list,
	.value = lib_value,
	.open = lib_open,
	.read = lib_read,
	.seek = lib_seek,
	.close = lib_close,
	.space = lib_space,
};

/* ---- printing ---------------------------------------------------------------------- */

static void print_escaped(const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c <= ' ' || c == '%' || c == '=' || c >= 0x7f)
			printf("%%%02x", c);
		else
			putchar(c);
	}
}

static void print_time(struct vfs_time t)
{
	printf(" %lld.%09u", (long long)t.seconds, t.nanoseconds);
}

static void print_attr(const struct vfs_attr *a)
{
	bool dir = S_ISDIR(a->mode);

	printf(" %llu %06o %u %u %u", (unsigned long long)a->ino, a->mode,
		a->uid, a->gid, a->link_count);
	printf(" %llu %llu %u:%u", (unsigned long long)a->size,
		(unsigned long long)a->blocks, a->device_major,
		a->device_minor);
	print_time(a->mtime);
	print_time(a->ctime);
	print_time(a->atime);
	print_time(a->crtime);
	printf(" %x %u", S_ISREG(a->mode) || dir ? a->flags : 0,
		S_ISREG(a->mode) || dir ? a->project : 0);
}

static void print_target(struct tree *t, const char *path)
{
	char target[PATH_MAX];
	size_t done = 0;
	int err = t->target(t, path, target, sizeof(target) - 1, &done);

	if (err) {
		printf(" ->!%s", strerrorname_np(-err));
		return;
	}
	target[done] = '\0';
	printf(" ->");
	print_escaped(target);
}

static int text_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_value(struct tree *t, const char *path, const char *name)
{
	static char value[VALUE_MAX];
	size_t asked = 0;
	size_t done = 0;
	int err = t->value(t, path, name, NULL, 0, &asked);

	if (!err)
		err = t->value(t, path, name, value, sizeof(value), &done);
	putchar(' ');
	print_escaped(name);
	if (err)
		printf("=!%s", strerrorname_np(-err));
	else
		printf("=%zu:%zu:%016llx", asked, done,
			(unsigned long long)XXH3_64bits(value, done));
}

static void print_xattrs(struct tree *t, const char *path)
{
	static char list[LIST_MAX];
	static char *names[LIST_MAX / 2];
	size_t count = 0;
	size_t done = 0;
	int err = t->list(t, path, list, sizeof(list), &done);

	if (err) {
		printf(" xattrs!%s", strerrorname_np(-err));
		return;
	}
	for (char *p = list; p < list + done; p += strlen(p) + 1)
		names[count++] = p;
	qsort(names, count, sizeof(names[0]), text_order);
	for (size_t i = 0; i < count; i++)
		print_value(t, path, names[i]);
}

struct segment {
	uint64_t from;
	uint64_t to;
};

struct segments {
	struct segment *list;
	size_t count;
	size_t room;
};

/* All data of the open file, before any is read: the kernel calls unwritten
 * blocks data once they are in its cache. */
static int segments_find(struct tree *t, struct segments *out)
{
	struct segment s = {0};
	int err;

	while (!(err = t->seek(t, s.to, true, &s.from)) &&
		!(err = t->seek(t, s.from, false, &s.to))) {
		if (out->count == out->room) {
			out->room = out->room ? out->room * 2 : 64;
			out->list = must(
				reallocarray(out->list, out->room, sizeof(s)));
		}
		out->list[out->count++] = s;
	}
	return err == -ENXIO ? 0 : err;
}

/* As "from-to,"; the end of the file ends the last. */
static void print_segments(const struct segments *s)
{
	putchar(' ');
	for (size_t i = 0; i < s->count; i++)
		printf("%llu-%llu,", (unsigned long long)s->list[i].from,
			(unsigned long long)s->list[i].to);
}

static int hash_segment(
	struct tree *t, const struct segment *s, XXH3_state_t *state)
{
	static char chunk[CHUNK];
	uint64_t at = s->from;
	size_t piece = 1000; /* pieces do not keep to blocks */

	while (at < s->to) {
		size_t done = 0;
		int err;

		if (piece > s->to - at)
			piece = (size_t)(s->to - at);
		err = t->read(t, at, piece, chunk, &done);
		if (err || done == 0)
			return err;
		XXH3_64bits_update(state, chunk, done);
		at += done;
		piece = CHUNK;
	}
	return 0;
}

/* Of the data alone, so that terabytes of hole cost nothing. */
static int print_hash(struct tree *t, const struct segments *s)
{
	XXH3_state_t *state = must(XXH3_createState());
	int err = 0;

	XXH3_64bits_reset(state);
	for (size_t i = 0; !err && i < s->count; i++)
		err = hash_segment(t, &s->list[i], state);
	printf(" %016llx", (unsigned long long)XXH3_64bits_digest(state));
	XXH3_freeState(state);
	return err;
}

static void print_contents(struct tree *t, const char *path)
{
	struct segments s = {0};
	int err = t->open(t, path);

	if (err) {
		printf(" open!%s", strerrorname_np(-err));
		return;
	}
	err = segments_find(t, &s);
	print_segments(&s);
	if (err)
		printf(" seek!%s", strerrorname_np(-err));
	err = print_hash(t, &s);
	if (err)
		printf(" read!%s", strerrorname_np(-err));
	free(s.list);
	t->close(t);
}

/* ---- walking ------------------------------------------------------------------------- */

struct names {
	char **list;
	size_t count;
	size_t room;
};

static void names_add(
	void *arg, const char *name, size_t bytes, vfs_ino ino, unsigned type)
{
	struct names *n = arg;
	char *line = must(malloc(bytes + 64));

	/* The number and type follow the terminated name. */
	memcpy(line, name, bytes);
	line[bytes] = '\0';
	(void)snprintf(
		line + bytes + 1, 63, "%llu %u", (unsigned long long)ino, type);
	if (n->count == n->room) {
		n->room = n->room ? n->room * 2 : 64;
		n->list = must(
			reallocarray(n->list, n->room, sizeof(n->list[0])));
	}
	n->list[n->count++] = line;
}

/* A damaged directory may have two names: the second is not gone into. */
static bool first_visit(vfs_ino ino)
{
	static vfs_ino *seen;
	static size_t count;

	for (size_t i = 0; i < count; i++)
		if (seen[i] == ino)
			return false;
	seen = must(reallocarray(seen, count + 1, sizeof(*seen)));
	seen[count++] = ino;
	return true;
}

static void walk(struct tree *t, const char *path);

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* As deep as a path may be long. NOLINTNEXTLINE(misc-no-recursion) */
static void walk_names(struct tree *t, const char *path)
{
	struct names n = {0};
	int err = t->names(t, path, names_add, &n);

	if (err)
		complain(path, "readdir", err);
	if (n.count)
		qsort(n.list, n.count, sizeof(n.list[0]), text_order);
	for (size_t i = 0; i < n.count; i++) {
		char *name = n.list[i];
		char *child = must(malloc(strlen(path) + strlen(name) + 2));

		(void)sprintf(child, "%s%s%s", path, *path ? "/" : "", name);
		printf("/");
		print_escaped(child);
		/* Types of dots are known without the disk's. */
		printf(" entry %s\n",
			is_dots(name) ? "" : name + strlen(name) + 1);
		if (!is_dots(name))
			walk(t, child);
		free(child);
		free(name);
	}
	free(n.list);
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static void walk(struct tree *t, const char *path)
{
	struct vfs_attr a;
	int err = t->attr(t, path, &a);

	if (err) {
		complain(path, "stat", err);
		return;
	}
	printf("/");
	print_escaped(path);
	print_attr(&a);
	if (S_ISLNK(a.mode))
		print_target(t, path);
	print_xattrs(t, path);
	if (S_ISREG(a.mode))
		print_contents(t, path);
	putchar('\n');
	if (S_ISDIR(a.mode) && first_visit(a.ino))
		walk_names(t, path);
}

static void print_space(struct tree *t)
{
	struct vfs_statfs s;
	int err = t->space(t, &s);

	if (err)
		complain("", "statfs", err);
	else
		printf("statfs %llu %llu %llu %llu %llu %u %u %016llx\n",
			(unsigned long long)s.blocks,
			(unsigned long long)s.blocks_free,
			(unsigned long long)s.blocks_available,
			(unsigned long long)s.inodes,
			(unsigned long long)s.inodes_free, s.block_bytes,
			s.name_bytes_max, (unsigned long long)s.fsid);
}

/* ---- the command ------------------------------------------------------------------------ */

static void to_stderr(void *arg, const struct log_record *r)
{
	(void)arg;
	if (r->block != LOG_NO_BLOCK)
		(void)fprintf(stderr, "%s: block %llu: %s\n", r->module,
			(unsigned long long)r->block, r->text);
	else
		(void)fprintf(stderr, "%s: %s\n", r->module, r->text);
}

struct options {
	struct ext_mount_opts mount;
	bool statfs;
	bool stats;
	const char *visit;
	struct blk_dev *counted; /* the file system's, with statistics */
	double opened;           /* seconds */
};

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print_stats(const struct options *o, double start)
{
	struct blk_stats s;
	struct rusage use;

	blk_stats_read(o->counted, &s);
	(void)getrusage(RUSAGE_SELF, &use);
	(void)fprintf(stderr,
		"reads=%llu bytes=%llu open=%.4f walk=%.4f peak_kib=%ld\n",
		(unsigned long long)s.ops[BLK_READ],
		(unsigned long long)s.bytes[BLK_READ], o->opened - start,
		now() - o->opened, use.ru_maxrss);
}

static void option(struct options *o, const char *text)
{
	const char *value = strchr(text, '=');
	unsigned long long number = value ? strtoull(value + 1, NULL, 0) : 0;
	char why[256];

	if (strncmp(text, "journal=", 8) == 0) {
		if (blk_open_file(
			    text + 8, 0, why, sizeof(why), &o->mount.journal))
			(void)fprintf(stderr, "walk_tree: %s\n", why);
	} else if (strncmp(text, "superblock=", 11) == 0) {
		o->mount.superblock = number;
	} else if (strncmp(text, "no_replay=", 10) == 0) {
		o->mount.no_replay = number;
	} else if (strncmp(text, "cache=", 6) == 0) {
		o->mount.cache_bytes = number;
	} else if (strncmp(text, "log=", 4) == 0) {
		log_to(to_stderr, NULL);
	} else if (strncmp(text, "statfs=", 7) == 0) {
		o->statfs = number;
	} else if (strncmp(text, "stats=", 6) == 0) {
		o->stats = number;
	} else if (strncmp(text, "visit=", 6) == 0) {
		o->visit = text + 6;
	}
}

static int image_open(struct tree *t, const char *image, struct options *o)
{
	struct ext_damage damage = {0};
	struct vfs_opts opts = {0};
	struct blk_dev *dev;
	struct vfs_fs *fs;
	char why[256] = "";
	int err = blk_open_file(image, 0, why, sizeof(why), &dev);

	if (err) {
		(void)fprintf(stderr, "walk_tree: %s: %s\n", image, why);
		return err;
	}
	if (o->stats) {
		err = blk_wrap_stats(dev, &o->counted);
		if (err)
			return err;
		dev = o->counted;
	}
	err = ext_mount(dev, &o->mount, &fs, &damage);
	if (err) {
		(void)fprintf(stderr, "walk_tree: %s: %s\n", image, damage.why);
		return err;
	}
	err = vfs_open(&opts, &t->vfs);
	if (!err)
		err = vfs_mount(t->vfs, "/", fs);
	o->opened = now();
	return err;
}

static void visit(struct tree *t, const char *list)
{
	FILE *file = must(fopen(list, "re"));
	char path[PATH_MAX];
	struct vfs_attr a;

	while (fgets(path, sizeof(path), file)) {
		int err;

		path[strcspn(path, "\n")] = '\0';
		err = t->attr(t, path, &a);
		if (err)
			complain(path, "stat", err);
		else
			printf("%llu\n", (unsigned long long)a.ino);
	}
	(void)fclose(file);
}

static int hash_file(const char *path)
{
	static char chunk[CHUNK];
	XXH3_state_t *state = must(XXH3_createState());
	int fd = open(path, O_RDONLY);
	ssize_t n = -1;

	XXH3_64bits_reset(state);
	while (fd >= 0 && (n = read(fd, chunk, sizeof(chunk))) > 0)
		XXH3_64bits_update(state, chunk, (size_t)n);
	printf("%016llx\n", (unsigned long long)XXH3_64bits_digest(state));
	XXH3_freeState(state);
	if (fd >= 0)
		close(fd);
	return n < 0 ? 2 : 0;
}

int main(int argc, char **argv)
{
	struct options o = {0};
	double start = now();
	struct tree t;
	int err = 0;

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "hash") == 0) {
		for (int i = 2; !err && i < argc; i++)
			err = hash_file(argv[i]);
		return err;
	}
	for (int i = 3; i < argc; i++)
		option(&o, argv[i]);
	if (strcmp(argv[1], "host") == 0) {
		t = host_tree;
		t.host = argv[2];
	} else {
		t = lib_tree;
		if (image_open(&t, argv[2], &o))
			return 2;
	}
	if (o.statfs)
		print_space(&t);
	if (o.visit)
		visit(&t, o.visit);
	else
		walk(&t, "");
	if (o.counted)
		print_stats(&o, start);
	if (t.vfs && vfs_close(t.vfs))
		return 2;
	blk_close(o.mount.journal);
	return failures ? 1 : 0;
}
