/* SPDX-License-Identifier: BSD-2-Clause */
/* get_entry.c - `extant get`: an entry of the image, whatever it is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/get.h"

struct entry_job {
	struct pool_job job;
	struct get_entry at;
	char name[];
};

static void entry_run(struct pool_job *job, unsigned worker)
{
	struct entry_job *e = CONTAINER_OF(job, struct entry_job, job);
	struct get_dir *dir = e->at.dir;
	struct get_worker *w = &dir->get->workers[worker];

	get_entry_copy(w, &e->at);
	free(e);
	get_dir_put(w, dir);
}

struct pool_job *get_entry_job(const struct get_entry *at)
{
	size_t bytes = strlen(at->name) + 1;
	struct entry_job *e = malloc(sizeof(*e) + bytes);

	if (e == NULL)
		return NULL;
	e->job.run = entry_run;
	e->at = *at;
	e->at.name = memcpy(e->name, at->name, bytes);
	get_dir_hold(at->dir);
	return &e->job;
}

static int entry_open(const struct get_entry *at, struct extant_file **out)
{
	struct extant *fs = at->dir->get->fs;

	if (at->path != NULL)
		return extant_file_open(
			fs, NULL, at->path, EXTANT_NOFOLLOW, out);
	return extant_file_open(fs, EXTANT_AT(.dir = at->dir->from), at->name,
		EXTANT_NOFOLLOW, out);
}

/* Whether @s is not to be copied, and has been told. */
static bool is_refused(const struct get_source *s)
{
	const struct get_dir *dir = s->at.dir;
	mode_t type = s->st.mode & S_IFMT;

	if (!dir->get->options.special &&
		(type == S_IFCHR || type == S_IFBLK)) {
		get_leave_out(&s->at, type == S_IFCHR ? "a character device"
						      : "a block device");
		return true;
	}
	/* Before anything is copied in vain. */
	if (dir->made || dir->get->options.force || type == S_IFDIR ||
		!place_is_taken(dir->fd, s->at.name))
		return false;
	get_fail_dest(&s->at, NULL, -EEXIST);
	return true;
}

void get_entry_copy(struct get_worker *w, const struct get_entry *at)
{
	struct get_source s = {.at = *at};
	int err;

	if (get_is_stopped(w->get))
		return;
	err = entry_open(at, &s.file);
	if (err != 0) {
		get_fail_image(at, err);
		return;
	}
	extant_file_stat(s.file, &s.st);
	if (is_refused(&s))
		goto out_close;
	if (S_ISDIR(s.st.mode)) {
		get_dir_copy(w, &s);
		return;
	}
	if (s.st.link_count > 1 && !get_link_claim(w, &s))
		goto out_close;
	if (S_ISREG(s.st.mode)) {
		get_file_copy(w, &s);
		return;
	}
	get_node_copy(w, &s);
out_close:
	extant_file_close(s.file);
}
