/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get_link.c - `extant get`: files of more than one name stay one file.
 *
 * The first name that comes is copied.  Names that come while it is being
 * copied wait as jobs, which the end of the copy gives back to the pool; if it
 * failed, one of them is the first then.  A file is forgotten when as many
 * names have come as it says that it has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/get.h"

struct link {
	uint64_t ino;
	uint32_t left; /* names still to come */
	char *path;    /* of the first, below the top; NULL: being copied */
	struct pool_job *waiting;
};

struct get_links {
	pthread_mutex_t lock;
	struct inomap map; /* [lock] of struct link */
};

int get_links_open(struct get_links **out)
{
	struct get_links *links = calloc(1, sizeof(*links));

	if (links == NULL)
		return -ENOMEM;
	(void)pthread_mutex_init(&links->lock, NULL);
	*out = links;
	return 0;
}

static void link_free(void *value)
{
	struct link *link = value;

	free(link->path);
	free(link);
}

void get_links_close(struct get_links *links)
{
	if (links == NULL)
		return;
	inomap_each(&links->map, link_free);
	inomap_fini(&links->map);
	(void)pthread_mutex_destroy(&links->lock);
	free(links);
}

static void link_forget(struct get_links *links, struct link *link)
{
	inomap_remove(&links->map, link->ino);
	link_free(link);
}

/* What memory does not allow to remember is copied again. */
static void link_add(struct get_links *links, const struct get_source *s)
{
	struct link *link = malloc(sizeof(*link));

	if (link == NULL)
		return;
	*link = (struct link){.ino = s->st.ino, .left = s->st.link_count};
	if (inomap_add(&links->map, link->ino, link) != 0)
		free(link);
}

/* A path to link to, the caller's then, or NULL: see *@copy. */
static char *claim_locked(
	struct get_links *links, const struct get_source *s, bool *copy)
{
	struct link *link = inomap_find(&links->map, s->st.ino);
	struct pool_job *job;
	char *path;

	*copy = true;
	if (link == NULL) {
		link_add(links, s);
		return NULL;
	}
	if (link->path == NULL) {
		job = get_entry_job(&s->at);
		if (job == NULL)
			return NULL;
		job->next = link->waiting;
		link->waiting = job;
		*copy = false;
		return NULL;
	}
	path = strdup(link->path);
	if (path != NULL && --link->left == 0)
		link_forget(links, link);
	*copy = path == NULL;
	return path;
}

bool get_link_claim(struct get_worker *w, const struct get_source *s)
{
	struct get *get = w->get;
	bool copy;
	char *path;
	int err;

	(void)pthread_mutex_lock(&get->links->lock);
	path = claim_locked(get->links, s, &copy);
	(void)pthread_mutex_unlock(&get->links->lock);
	if (path == NULL)
		return copy;
	err = place_link(get->top_fd, path, s->at.dir->fd, s->at.name,
		get->options.force);
	free(path);
	if (err != 0)
		get_fail_dest(&s->at, NULL, err);
	return false;
}

void get_link_done(struct get_worker *w, const struct get_source *s, int err)
{
	struct get_links *links = w->get->links;
	struct pool_job *waiting = NULL;
	struct link *link;

	(void)pthread_mutex_lock(&links->lock);
	link = inomap_find(&links->map, s->st.ino);
	if (link != NULL && link->path == NULL) {
		waiting = link->waiting;
		link->waiting = NULL;
		if (err == 0)
			link->path = get_path_dest(&s->at);
		if (link->path == NULL || --link->left == 0)
			link_forget(links, link);
	}
	(void)pthread_mutex_unlock(&links->lock);
	while (waiting != NULL) {
		struct pool_job *job = waiting;

		waiting = job->next;
		pool_push(w->get->pool, job);
	}
}
