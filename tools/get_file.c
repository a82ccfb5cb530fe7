/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get_file.c - `extant get`: regular files, with their holes.
 *
 * A file is copied in pieces of data, which whoever works on it takes one
 * after the other.  Of a large file, jobs offer the work to other threads; who
 * leaves last completes it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/get.h"
#include "tools/image.h"
#include "tools/progress.h"

struct helper {
	struct pool_job job;
	struct making *making;
};

/* A file that is being made. */
struct making {
	struct get_source s;      /* [const] */
	struct place place;       /* [const] until the last holder */
	mode_t first;             /* [const] its mode by now */
	_Atomic uint32_t holders; /* [atomic] threads and jobs */
	pthread_mutex_t lock;
	uint64_t next;    /* [lock] where the next piece begins, or a hole */
	uint64_t end;     /* [lock] of the data around @next */
	uint64_t written; /* [lock] the length of what is made */
	int err;          /* [lock] the first */
	char *name;       /* [const] that s.at.name is; NULL: another's */
	struct helper helpers[];
};

/* ---- pieces ---------------------------------------------------------------- */

/* Move on to data.  False: there is no more, or an error, which is told here
 * as the image's. */
static bool data_find(struct making *m)
{
	int err = extant_seek_data(m->s.file, m->next, &m->next);

	if (err == 0)
		err = extant_seek_hole(m->s.file, m->next, &m->end);
	if (err != 0 && err != -ENXIO) {
		get_fail_image(&m->s.at, err);
		m->err = -ECANCELED;
	}
	if (m->end > m->s.st.size)
		m->end = m->s.st.size;
	if (err == 0 && m->next < m->end)
		return true;
	m->next = m->s.st.size;
	return false;
}

/* Take the next piece of data. */
static bool piece_take(struct making *m, uint64_t *from, size_t *bytes)
{
	bool taken = false;

	(void)pthread_mutex_lock(&m->lock);
	if (m->err == 0 && get_is_stopped(m->s.at.dir->get))
		m->err = -EINTR;
	if (m->err == 0 && m->next < m->s.st.size &&
		(m->next < m->end || data_find(m))) {
		uint64_t left = m->end - m->next;

		*from = m->next;
		*bytes = left < GET_PIECE_BYTES ? left : GET_PIECE_BYTES;
		m->next += *bytes;
		m->written = m->next;
		taken = true;
	}
	(void)pthread_mutex_unlock(&m->lock);
	return taken;
}

static int write_all(int fd, const void *data, size_t bytes, uint64_t offset)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pwrite(fd, (const char *)data + done, bytes - done,
			(off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENOSPC;
		done += (size_t)n;
	}
	return 0;
}

/* -ECANCELED: an error of the image, which is told. */
static int piece_copy(struct get_worker *w, const struct making *m,
	uint64_t from, size_t bytes)
{
	int err = image_pread_all(m->s.file, from, w->piece, bytes);

	if (err != 0) {
		get_fail_image(&m->s.at, err);
		return -ECANCELED;
	}
	progress_add(0, bytes);
	return write_all(m->place.fd, w->piece, bytes, from);
}

static void pieces_copy(struct get_worker *w, struct making *m)
{
	uint64_t from;
	size_t bytes;

	while (piece_take(m, &from, &bytes)) {
		int err = piece_copy(w, m, from, bytes);

		if (err == 0)
			continue;
		(void)pthread_mutex_lock(&m->lock);
		if (m->err == 0)
			m->err = err;
		(void)pthread_mutex_unlock(&m->lock);
	}
}

/* ---- from the beginning to the end ----------------------------------------- */

/* All is there but its name; nobody else works on it. */
static void making_end(struct get_worker *w, struct making *m)
{
	int err = m->err;

	/* A hole at the end. */
	if (err == 0 && m->written < m->s.st.size &&
		ftruncate(m->place.fd, (off_t)m->s.st.size) != 0)
		err = -errno;
	if (err != 0) {
		place_drop(&m->place);
	} else {
		get_attr_set(w, &m->s, m->place.fd, m->first);
		err = place_commit(
			&m->place, m->s.at.name, w->get->options.force);
	}
	if (err == 0)
		progress_add(1, 0);
	else if (err != -ECANCELED && err != -EINTR)
		get_fail_dest(&m->s.at, NULL, err);
	if (m->s.st.link_count > 1)
		get_link_done(w, &m->s, err);
	extant_file_close(m->s.file);
	(void)pthread_mutex_destroy(&m->lock);
}

static void making_leave(struct get_worker *w, struct making *m)
{
	struct get_dir *dir = m->s.at.dir;

	/* Releases what was written to whoever ends it: pairs with itself. */
	if (atomic_fetch_sub_explicit(&m->holders, 1, memory_order_acq_rel) !=
		1)
		return;
	making_end(w, m);
	free(m->name);
	free(m);
	get_dir_put(w, dir);
}

static void helper_run(struct pool_job *job, unsigned worker)
{
	struct making *m = CONTAINER_OF(job, struct helper, job)->making;
	struct get_worker *w = &m->s.at.dir->get->workers[worker];

	pieces_copy(w, m);
	making_leave(w, m);
}

static int making_begin(struct making *m, const struct get_source *s)
{
	int err;

	m->s = *s;
	m->first = get_attr_first(s);
	err = place_file(&m->place, s->at.dir->fd, m->first);
	if (err == 0)
		(void)pthread_mutex_init(&m->lock, NULL);
	return err;
}

/* Nothing was made of @s. */
static void begin_fail(
	struct get_worker *w, const struct get_source *s, int err)
{
	get_fail_dest(&s->at, NULL, err);
	if (s->st.link_count > 1)
		get_link_done(w, s, err);
	extant_file_close(s->file);
}

static void copy_small(struct get_worker *w, const struct get_source *s)
{
	struct making m = {.next = 0};
	int err = making_begin(&m, s);

	if (err != 0) {
		begin_fail(w, s, err);
		return;
	}
	pieces_copy(w, &m);
	making_end(w, &m);
}

/* As many helpers as may have something to do. */
static unsigned helpers_of(const struct get *get, const struct get_source *s)
{
	uint64_t pieces = s->st.size / GET_PIECE_BYTES;
	unsigned others = get->thread_count - 1;

	return pieces < others ? (unsigned)pieces : others;
}

static void copy_large(struct get_worker *w, const struct get_source *s)
{
	unsigned count = helpers_of(w->get, s);
	struct making *m =
		calloc(1, sizeof(*m) + count * sizeof(m->helpers[0]));
	int err = -ENOMEM;

	if (m == NULL)
		goto out_fail;
	m->name = strdup(s->at.name);
	if (m->name == NULL)
		goto out_free;
	err = making_begin(m, s);
	if (err != 0)
		goto out_free;
	m->s.at.name = m->name;
	atomic_init(&m->holders, count + 1);
	get_dir_hold(s->at.dir);
	for (unsigned i = 0; i < count; i++) {
		m->helpers[i] =
			(struct helper){.job.run = helper_run, .making = m};
		pool_push(w->get->pool, &m->helpers[i].job);
	}
	pieces_copy(w, m);
	making_leave(w, m);
	return;

out_free:
	free(m != NULL ? m->name : NULL);
	free(m);
out_fail:
	begin_fail(w, s, err);
}

void get_file_copy(struct get_worker *w, const struct get_source *s)
{
	if (s->st.size <= GET_PIECE_BYTES)
		copy_small(w, s);
	else
		copy_large(w, s);
}
