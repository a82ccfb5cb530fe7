/* SPDX-License-Identifier: BSD-2-Clause */
/* place.c - see place.h. */
#include "tools/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

bool place_name_is_good(const char *name, size_t bytes)
{
	if (bytes == 0 || strnlen(name, bytes) != bytes)
		return false;
	if (name[0] == '.' && (bytes == 1 || (bytes == 2 && name[1] == '.')))
		return false;
	return memchr(name, '/', bytes) == NULL;
}

bool place_is_taken(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- temporary names ------------------------------------------------------- */

enum { TRIES_MAX = 100 };

static uint64_t salt;
static pthread_once_t salt_once = PTHREAD_ONCE_INIT;

static void salt_make(void)
{
	/* Whoever guesses it gains nothing: names are made with O_EXCL. */
	if (getrandom(&salt, sizeof(salt), GRND_NONBLOCK) != sizeof(salt))
		salt = (uint64_t)getpid();
}

static void temp_name(char to[PLACE_TEMP_MAX])
{
	static _Atomic uint32_t next;
	uint32_t number =
		atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);

	(void)pthread_once(&salt_once, salt_make);
	(void)snprintf(to, PLACE_TEMP_MAX, ".extant-%016llx-%x",
		(unsigned long long)salt, number);
}

static void place_begin(struct place *p, int dir)
{
	p->dir = dir;
	p->fd = -1;
	temp_name(p->temp);
}

/* ---- making ------------------------------------------------------------------ */

int place_file(struct place *p, int dir, mode_t mode)
{
	for (unsigned i = 0; i < TRIES_MAX; i++) {
		place_begin(p, dir);
		p->fd = openat(dir, p->temp,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			mode);
		if (p->fd >= 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Hold what was just made, and see that it was not exchanged. */
static int place_hold(struct place *p, mode_t type)
{
	struct stat st;

	p->fd = openat(p->dir, p->temp, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (p->fd >= 0 && fstat(p->fd, &st) == 0 &&
		(st.st_mode & S_IFMT) == type)
		return 0;
	place_drop(p);
	return -EBUSY;
}

int place_symlink(struct place *p, int dir, const char *target)
{
	for (unsigned i = 0; i < TRIES_MAX; i++) {
		place_begin(p, dir);
		if (symlinkat(target, dir, p->temp) == 0)
			return place_hold(p, S_IFLNK);
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

int place_node(struct place *p, int dir, mode_t mode, dev_t device)
{
	for (unsigned i = 0; i < TRIES_MAX; i++) {
		place_begin(p, dir);
		if (mknodat(dir, p->temp, mode, device) == 0)
			return place_hold(p, mode & S_IFMT);
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* ---- ending -------------------------------------------------------------------- */

void place_drop(struct place *p)
{
	if (p->fd >= 0)
		(void)close(p->fd);
	p->fd = -1;
	(void)unlinkat(p->dir, p->temp, 0);
}

/* Where renames cannot refuse to replace, links do. */
static int rename_new(int dir, const char *from, const char *to)
{
	if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(dir, from, dir, to, 0) != 0)
		return -errno;
	(void)unlinkat(dir, from, 0);
	return 0;
}

int place_commit(struct place *p, const char *name, bool replace)
{
	int err = 0;

	/* File systems on a network tell here that there is no room. */
	if (p->fd >= 0 && close(p->fd) != 0)
		err = -errno;
	p->fd = -1;
	if (err == 0 && !replace)
		err = rename_new(p->dir, p->temp, name);
	else if (err == 0 && renameat2(p->dir, p->temp, p->dir, name, 0) != 0)
		err = -errno;
	if (err != 0)
		place_drop(p);
	return err;
}

/* ---- directories --------------------------------------------------------------- */

/* A directory that is ours alone cannot be a stranger's that was moved to its
 * place since it was made. */
static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	       (st.st_mode & 0777) == 0700;
}

int place_dir(int dir, const char *name, int *fd, bool *made)
{
	bool new = mkdirat(dir, name, 0700) == 0;
	int opened;

	if (!new &&errno != EEXIST)
		return -errno;
	opened = openat(
		dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (opened < 0)
		return errno == ELOOP ? -ENOTDIR : -errno;
	*fd = opened;
	*made = new &&is_ours(opened);
	return 0;
}

/* Component by component, where the kernel cannot do it at once. */
static int open_by_steps(int root, char *path)
{
	int at = root;

	for (char *name = path; name != NULL;) {
		char *slash = strchr(name, '/');
		int next;

		if (slash != NULL)
			*slash = '\0';
		next = openat(at, name,
			O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (at != root)
			(void)close(at);
		if (next < 0)
			return -errno;
		at = next;
		name = slash != NULL ? slash + 1 : NULL;
	}
	return at;
}

/* Directory @path below @root, held; it is cut into pieces. */
static int open_beneath(int root, char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd >= 0)
		return (int)fd;
	if (errno != ENOSYS && errno != EPERM && errno != EAGAIN)
		return -errno;
	return open_by_steps(root, path);
}

/* ---- links ------------------------------------------------------------------------ */

/* A link under a temporary name takes the place of what is there. */
static int link_over(int from, const char *base, int dir, const char *name)
{
	struct place p = {.fd = -1};
	int err;

	for (unsigned i = 0; i < TRIES_MAX; i++) {
		place_begin(&p, dir);
		if (linkat(from, base, dir, p.temp, 0) == 0)
			break;
		if (errno != EEXIST)
			return -errno;
	}
	err = place_commit(&p, name, true);
	/* A rename over the same file does nothing at all. */
	if (err == 0)
		(void)unlinkat(dir, p.temp, 0);
	return err;
}

int place_link(
	int root, const char *path, int dir, const char *name, bool replace)
{
	char *parent = strdup(path);
	char *slash = parent != NULL ? strrchr(parent, '/') : NULL;
	const char *base = path;
	int from = root;
	int err = 0;

	if (parent == NULL)
		return -ENOMEM;
	if (slash != NULL) {
		base = path + (slash - parent) + 1;
		*slash = '\0';
		from = open_beneath(root, parent);
	}
	free(parent);
	if (from < 0)
		return from;
	if (linkat(from, base, dir, name, 0) != 0)
		err = -errno;
	if (err == -EEXIST && replace)
		err = link_over(from, base, dir, name);
	if (from != root)
		(void)close(from);
	return err;
}
