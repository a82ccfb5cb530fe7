/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get_dir.c - `extant get`: directories, from mkdir to their last change.
 *
 * A listing is a job that reads one batch of entries, puts itself back for the
 * next one, and copies what it read: a large directory is copied by all
 * threads, and a batch is all that is kept of it.  Directories in a batch
 * become jobs, which the stack of the pool gives out before the next batch.
 * Files are copied in the order of their inodes, as these lie on the disk.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tools/acl.h"
#include "tools/get.h"
#include "tools/progress.h"

#define MODE_NONE ((mode_t)-1)

struct listing {
	struct pool_job job;
	struct get_dir *dir; /* held */
	uint64_t cookie;
};

/* ---- coming and going ------------------------------------------------------ */

/* A node for @name in @parent, which it holds.  It has one holder. */
static struct get_dir *dir_new(
	struct get *get, struct get_dir *parent, const char *name)
{
	size_t bytes = strlen(name) + 1;
	struct get_dir *dir = calloc(1, sizeof(*dir) + bytes);

	if (dir == NULL)
		return NULL;
	dir->get = get;
	dir->parent = parent;
	dir->fd = -1;
	atomic_init(&dir->pending, 1);
	memcpy(dir->name, name, bytes);
	if (parent != NULL)
		get_dir_hold(parent);
	return dir;
}

static bool has_default_acl(int fd)
{
	return fgetxattr(fd, ACL_DEFAULT_NAME, NULL, 0) >= 0;
}

int get_dir_top(struct get *get, int fd, struct get_dir **out)
{
	struct get_dir *dir = dir_new(get, NULL, "");

	if (dir == NULL)
		return -ENOMEM;
	dir->fd = fd;
	dir->keeps = true;
	dir->inherits = has_default_acl(fd);
	*out = dir;
	return 0;
}

void get_dir_hold(struct get_dir *dir)
{
	(void)atomic_fetch_add_explicit(&dir->pending, 1, memory_order_relaxed);
}

static void dir_finish(struct get_worker *w, struct get_dir *dir)
{
	struct get_source s = {
		.at = {dir->parent, dir->name, dir->path}, .file = dir->from};

	if (!dir->keeps) {
		extant_file_stat(dir->from, &s.st);
		/* Of what was there, the mode is not known. */
		get_attr_set(w, &s, dir->fd, dir->made ? 0700 : MODE_NONE);
	}
	if (dir->from != NULL)
		progress_add(1, 0);
	if (dir->fd >= 0)
		(void)close(dir->fd);
	extant_file_close(dir->from);
	free(dir);
}

void get_dir_put(struct get_worker *w, struct get_dir *dir)
{
	while (dir != NULL) {
		struct get_dir *parent = dir->parent;

		/* Releases what was done in it to whoever finishes it, and
		 * acquires that of all others: pairs with itself. */
		if (atomic_fetch_sub_explicit(
			    &dir->pending, 1, memory_order_acq_rel) != 1)
			return;
		dir_finish(w, dir);
		dir = parent;
	}
}

/* ---- listing --------------------------------------------------------------- */

/* Entries that fit into a batch at most. */
enum { BATCH_MAX = GET_BATCH_BYTES / sizeof(struct extant_dirent) };

static bool is_dot(const struct extant_dirent *entry)
{
	return strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0;
}

struct picked {
	uint64_t ino;
	const char *name;
};

static int by_inode(const void *a, const void *b)
{
	const struct picked *x = a;
	const struct picked *y = b;

	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static void entry_queue(struct get_worker *w, const struct get_entry *at)
{
	struct pool_job *job = get_entry_job(at);

	if (job != NULL)
		pool_push(w->get->pool, job);
	else
		get_fail_image(at, -ENOMEM);
}

/* Copy the entries in w->batch, @bytes of them, that are in @dir. */
static void batch_copy(struct get_worker *w, struct get_dir *dir, size_t bytes)
{
	struct picked files[BATCH_MAX];
	const struct extant_dirent *entry = (const void *)w->batch;
	const char *end = (const char *)w->batch + bytes;
	size_t count = 0;

	for (; (const char *)entry < end; entry = extant_dirent_next(entry)) {
		struct get_entry at = {.dir = dir, .name = entry->name};

		if (is_dot(entry))
			continue;
		if (!place_name_is_good(entry->name, entry->name_bytes))
			get_fail_image(&at, -EUCLEAN);
		else if (entry->type == DT_DIR)
			entry_queue(w, &at);
		else
			files[count++] =
				(struct picked){entry->ino, entry->name};
	}
	qsort(files, count, sizeof(files[0]), by_inode);
	for (size_t i = 0; i < count; i++) {
		struct get_entry at = {.dir = dir, .name = files[i].name};

		get_entry_copy(w, &at);
	}
}

/* Read the batch after *@cookie, and move that on; *@bytes 0 at the end. */
static int batch_read(struct get_worker *w, struct get_dir *dir,
	uint64_t *cookie, size_t *bytes)
{
	const struct extant_dirent *entry = (const void *)w->batch;
	const struct extant_dirent *last = entry;
	int err = extant_readdir(
		dir->from, *cookie, w->batch, GET_BATCH_BYTES, bytes);
	const char *end;

	if (err != 0 || *bytes == 0)
		return err;
	end = (const char *)w->batch + *bytes;
	for (; (const char *)entry < end; entry = extant_dirent_next(entry))
		last = entry;
	if (last->cookie == *cookie)
		return -EUCLEAN; /* it would never end */
	*cookie = last->cookie;
	return 0;
}

static void listing_run(struct pool_job *job, unsigned worker)
{
	struct listing *l = CONTAINER_OF(job, struct listing, job);
	struct get_dir *dir = l->dir;
	struct get_worker *w = &dir->get->workers[worker];
	size_t bytes = 0;
	int err = 0;

	if (!get_is_stopped(dir->get))
		err = batch_read(w, dir, &l->cookie, &bytes);
	if (err != 0) {
		struct get_entry at = {dir->parent, dir->name, dir->path};

		get_fail_image(&at, err);
		bytes = 0;
	}
	if (bytes > 0) {
		get_dir_hold(dir);
		pool_push(dir->get->pool, &l->job);
		batch_copy(w, dir, bytes);
	} else {
		free(l);
	}
	get_dir_put(w, dir);
}

/* ---- beginning ------------------------------------------------------------- */

/* A directory that has been copied from this source has a second name, which
 * only damage or malice gives it; to follow all of them might never end. */
static int dir_see(struct get *get, uint64_t ino)
{
	int err = -ELOOP;

	(void)pthread_mutex_lock(&get->seen_lock);
	if (inomap_find(&get->seen, ino) == NULL)
		err = inomap_add(&get->seen, ino, get);
	(void)pthread_mutex_unlock(&get->seen_lock);
	return err;
}

/* The directory on the host for @dir, in which nothing is by default what it
 * would not be anywhere else. */
static int dir_make(struct get_dir *dir)
{
	const struct get_dir *parent = dir->parent;
	int err = place_dir(parent->fd, dir->name, &dir->fd, &dir->made);

	if (err != 0)
		return err;
	dir->keeps = !dir->made && !dir->get->options.force;
	if (dir->made && parent->inherits) {
		(void)fremovexattr(dir->fd, ACL_DEFAULT_NAME);
		(void)fremovexattr(dir->fd, ACL_ACCESS_NAME);
		if (fchmod(dir->fd, 0700) != 0)
			return -errno;
	}
	dir->inherits = !dir->made && has_default_acl(dir->fd);
	return 0;
}

/* Begin to list @dir into itself; both pass. */
static void dir_list(struct get_worker *w, struct get_dir *dir)
{
	struct listing *l = malloc(sizeof(*l));

	if (l == NULL) {
		struct get_entry at = {dir->parent, dir->name, dir->path};

		get_fail_image(&at, -ENOMEM);
		get_dir_put(w, dir);
		return;
	}
	*l = (struct listing){.job.run = listing_run, .dir = dir};
	pool_push(dir->get->pool, &l->job);
}

/* A node that could not be begun. */
static void dir_abandon(struct get_worker *w, struct get_dir *dir)
{
	dir->keeps = true;
	get_dir_put(w, dir);
}

void get_dir_copy(struct get_worker *w, const struct get_source *s)
{
	struct get_dir *dir;
	int err = dir_see(w->get, s->st.ino);

	if (err != 0) {
		get_fail_image(&s->at, err);
		extant_file_close(s->file);
		return;
	}
	dir = dir_new(w->get, s->at.dir, s->at.name);
	if (dir == NULL) {
		get_fail_image(&s->at, -ENOMEM);
		extant_file_close(s->file);
		return;
	}
	dir->from = s->file;
	dir->path = s->at.path;
	err = dir_make(dir);
	if (err != 0) {
		get_fail_dest(&s->at, NULL, err);
		dir_abandon(w, dir);
		return;
	}
	dir_list(w, dir);
}

void get_dir_copy_contents(struct get_worker *w, const struct get_source *s)
{
	struct get_dir *dir = dir_new(w->get, s->at.dir, "");
	int err;

	if (dir == NULL) {
		get_fail_image(&s->at, -ENOMEM);
		extant_file_close(s->file);
		return;
	}
	dir->from = s->file;
	dir->path = s->at.path;
	dir->keeps = true;
	dir->inherits = s->at.dir->inherits;
	dir->fd = fcntl(s->at.dir->fd, F_DUPFD_CLOEXEC, 0);
	err = dir_see(w->get, s->st.ino);
	if (err == 0 && dir->fd < 0)
		err = -EMFILE;
	if (err == 0) {
		dir_list(w, dir);
		return;
	}
	get_fail_dest(&s->at, NULL, err);
	dir_abandon(w, dir);
}
