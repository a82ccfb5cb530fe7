/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ordered.c - see ordered.h.
 *
 *    first --> ... --> next_todo --> ... --> last
 *    | done, or worked on |  to be done        |
 */
#include "tools/ordered.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct ordered {
	struct ordered_opts opts; /* [const] */
	pthread_mutex_t lock;
	pthread_cond_t todo; /* for workers: an item, or the end */
	pthread_cond_t done; /* for the taker: the first is done, an item */
	pthread_cond_t room; /* for the producer */
	struct ordered_item *first;     /* [lock] */
	struct ordered_item **last;     /* [lock] where the next one goes */
	struct ordered_item *next_todo; /* [lock] */
	size_t bytes;                   /* [lock] of all items */
	size_t items;                   /* [lock] */
	bool produced;                  /* [lock] there will be no more */
	bool closing;                   /* [lock] */
	bool room_wanted;               /* [lock] the producer waits */
	unsigned idle;                  /* [lock] workers that wait */
	pthread_t producer;
	unsigned started; /* [opener] of @workers */
	pthread_t workers[];
};

/* ---- working ----------------------------------------------------------------- */

/* Do the next item; the lock is held before and after. */
static void work_next(struct ordered *o)
{
	struct ordered_item *item = o->next_todo;

	o->next_todo = item->next;
	(void)pthread_mutex_unlock(&o->lock);
	o->opts.work(o->opts.arg, item);
	(void)pthread_mutex_lock(&o->lock);
	item->done = true;
	if (item == o->first)
		(void)pthread_cond_signal(&o->done);
}

static void *worker_main(void *arg)
{
	struct ordered *o = arg;

	(void)pthread_mutex_lock(&o->lock);
	while (!o->closing && !(o->produced && o->next_todo == NULL)) {
		if (o->next_todo != NULL) {
			work_next(o);
			continue;
		}
		o->idle++;
		(void)pthread_cond_wait(&o->todo, &o->lock);
		o->idle--;
	}
	(void)pthread_mutex_unlock(&o->lock);
	return NULL;
}

static void *producer_main(void *arg)
{
	struct ordered *o = arg;

	o->opts.produce(o->opts.arg, o);
	(void)pthread_mutex_lock(&o->lock);
	o->produced = true;
	(void)pthread_cond_broadcast(&o->todo);
	(void)pthread_cond_signal(&o->done);
	(void)pthread_mutex_unlock(&o->lock);
	return NULL;
}

/* ---- putting and taking -------------------------------------------------------- */

static bool is_full(const struct ordered *o, const struct ordered_item *item)
{
	return o->items > 0 &&
	       (o->items >= o->opts.items_max ||
		       o->bytes + item->bytes > o->opts.bytes_max);
}

bool ordered_put(struct ordered *o, struct ordered_item *item)
{
	bool closing;

	item->next = NULL;
	item->done = false;
	(void)pthread_mutex_lock(&o->lock);
	o->room_wanted = true;
	while (!o->closing && is_full(o, item))
		(void)pthread_cond_wait(&o->room, &o->lock);
	o->room_wanted = false;
	closing = o->closing;
	if (!closing) {
		*o->last = item;
		o->last = &item->next;
		o->bytes += item->bytes;
		o->items++;
		if (o->next_todo == NULL)
			o->next_todo = item;
		if (o->idle > 0)
			(void)pthread_cond_signal(&o->todo);
		if (o->first == item)
			(void)pthread_cond_signal(&o->done);
	}
	(void)pthread_mutex_unlock(&o->lock);
	if (closing)
		o->opts.drop(o->opts.arg, item);
	return !closing;
}

/* Take the first item off, which may be there or not. */
static struct ordered_item *first_take(struct ordered *o)
{
	struct ordered_item *item = o->first;

	if (item == NULL)
		return NULL;
	o->first = item->next;
	if (o->first == NULL)
		o->last = &o->first;
	o->bytes -= item->bytes;
	o->items--;
	/* A producer that fills up one by one would wake up for each. */
	if (o->room_wanted && o->items <= o->opts.items_max / 2 &&
		o->bytes <= o->opts.bytes_max / 2)
		(void)pthread_cond_signal(&o->room);
	return item;
}

struct ordered_item *ordered_take(struct ordered *o)
{
	struct ordered_item *item;

	(void)pthread_mutex_lock(&o->lock);
	while (!(o->first != NULL && o->first->done) &&
		!(o->first == NULL && o->produced)) {
		if (o->next_todo != NULL)
			work_next(o);
		else
			(void)pthread_cond_wait(&o->done, &o->lock);
	}
	item = first_take(o);
	(void)pthread_mutex_unlock(&o->lock);
	return item;
}

/* ---- opening and closing --------------------------------------------------------- */

int ordered_open(const struct ordered_opts *opts, struct ordered **out)
{
	struct ordered *o =
		calloc(1, sizeof(*o) + opts->threads * sizeof(o->workers[0]));
	int err;

	if (o == NULL)
		return -ENOMEM;
	o->opts = *opts;
	o->last = &o->first;
	(void)pthread_mutex_init(&o->lock, NULL);
	(void)pthread_cond_init(&o->todo, NULL);
	(void)pthread_cond_init(&o->done, NULL);
	(void)pthread_cond_init(&o->room, NULL);
	err = -pthread_create(&o->producer, NULL, producer_main, o);
	if (err != 0) {
		free(o);
		return err;
	}
	while (o->started < opts->threads &&
		pthread_create(&o->workers[o->started], NULL, worker_main, o) ==
			0)
		o->started++;
	*out = o;
	return 0;
}

void ordered_close(struct ordered *o)
{
	struct ordered_item *item;

	if (o == NULL)
		return;
	(void)pthread_mutex_lock(&o->lock);
	o->closing = true;
	(void)pthread_cond_signal(&o->room);
	(void)pthread_cond_broadcast(&o->todo);
	(void)pthread_mutex_unlock(&o->lock);
	(void)pthread_join(o->producer, NULL);
	for (unsigned i = 0; i < o->started; i++)
		(void)pthread_join(o->workers[i], NULL);
	while ((item = first_take(o)) != NULL)
		o->opts.drop(o->opts.arg, item);
	(void)pthread_cond_destroy(&o->room);
	(void)pthread_cond_destroy(&o->done);
	(void)pthread_cond_destroy(&o->todo);
	(void)pthread_mutex_destroy(&o->lock);
	free(o);
}
