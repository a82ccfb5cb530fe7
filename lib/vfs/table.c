/* SPDX-License-Identifier: BSD-2-Clause */
/* table.c - fixed hash tables with RCU chains and striped writer locks. */
#include <errno.h>
#include <stdlib.h>

#include "vfs/vfs_int.h"

enum { STRIPES = 1024, BUCKETS_LEAST = 1024 };

int vfs_table_init(
	struct vfs_table *t, uint64_t entries, struct lock_class *class)
{
	uint64_t buckets = BUCKETS_LEAST;

	while (buckets < entries)
		buckets *= 2;
	t->bucket = calloc(buckets, sizeof(*t->bucket));
	t->lock = calloc(STRIPES, sizeof(*t->lock));
	if (t->bucket == NULL || t->lock == NULL) {
		free(t->bucket);
		free(t->lock);
		return -ENOMEM;
	}
	t->mask = buckets - 1;
	t->lock_mask = STRIPES - 1;
	for (uint32_t i = 0; i < STRIPES; i++)
		mtx_init(&t->lock[i], class);
	return 0;
}

void vfs_table_fini(struct vfs_table *t)
{
	for (uint32_t i = 0; i < STRIPES && t->lock != NULL; i++)
		mtx_fini(&t->lock[i]);
	free(t->bucket);
	free(t->lock);
}
