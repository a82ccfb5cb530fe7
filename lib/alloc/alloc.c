/* SPDX-License-Identifier: BSD-2-Clause */
/* alloc.c - an allocator opens and closes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/alloc_int.h"

static struct lock_class class_load = {
	.name = "alloc.load", .rank = RANK_CACHE};
static struct lock_class class_fold = {
	.name = "alloc.fold", .rank = RANK_CACHE};
static struct lock_class class_gate = {
	.name = "alloc.gate", .rank = RANK_CACHE};

static const struct alloc_gate *const gates[] = {
	[ALLOC_CAS] = &alloc_gate_cas,
	[ALLOC_DROPPED] = &alloc_gate_dropped,
	[ALLOC_HELD] = &alloc_gate_held,
};

static int open_groups(struct alloc *a, const uint32_t *free)
{
	a->group = calloc(a->group_count, sizeof(*a->group));
	if (a->group == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->group_count; i++) {
		uint32_t size = alloc_group_size(a, i);

		atomic_init(&a->group[i].free, free[i] < size ? free[i] : size);
	}
	return 0;
}

static void alloc_free_all(struct alloc *a)
{
	for (uint32_t i = 0; a->group != NULL && i < a->group_count; i++) {
		free(RCU_DEREF(a->group[i].map));
		free(a->group[i].leaving);
	}
	free(a->group);
	record_close(a);
	tally_fini(&a->passed_by);
	tally_fini(&a->took_reserved);
	free(a);
}

int alloc_open(const struct alloc_opts *opts, struct alloc **out)
{
	struct alloc *a = aligned_alloc(LINE_BYTES, sizeof(*a));
	uint64_t map_bytes =
		ALLOC_MAPS * sizeof(uint64_t) * bits_words(opts->group_units);
	int err;

	if (a == NULL)
		return -ENOMEM;
	memset(a, 0, sizeof(*a));
	a->name = opts->name;
	a->count = opts->count;
	a->group_units = opts->group_units;
	a->group_count = (uint32_t)((opts->count + opts->group_units - 1) /
				    opts->group_units);
	a->loaded_max = opts->loaded_bytes_max / map_bytes;
	a->gate = gates[opts->mode];
	a->client = opts->client;
	a->client_arg = opts->client_arg;
	mtx_init(&a->load_lock, &class_load);
	mtx_init(&a->fold_lock, &class_fold);
	mtx_init(&a->gate_lock, &class_gate);
	a->folded_end = &a->folded;
	err = tally_init(&a->passed_by);
	if (err == 0)
		err = tally_init(&a->took_reserved);
	if (err == 0)
		err = record_open(a);
	if (err == 0)
		err = open_groups(a, opts->group_free);
	if (err != 0) {
		alloc_free_all(a);
		return err;
	}
	*out = a;
	return 0;
}

void alloc_close(struct alloc *a)
{
	mtx_fini(&a->load_lock);
	mtx_fini(&a->fold_lock);
	mtx_fini(&a->gate_lock);
	alloc_free_all(a);
}

void alloc_stats_read(struct alloc *a, struct alloc_stats *out)
{
	uint64_t out_of_use = 0;

	for (uint32_t i = 0; i < a->group_count; i++)
		out_of_use += atomic_load(&a->group[i].out_of_use);
	*out = (struct alloc_stats){
		.loaded = atomic_load(&a->loaded),
		.out_of_use = out_of_use,
		.passed_by = (uint64_t)tally_sum(&a->passed_by),
		.took_reserved = (uint64_t)tally_sum(&a->took_reserved),
	};
}
