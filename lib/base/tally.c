/* SPDX-License-Identifier: BSD-2-Clause */
/* tally.c - see tally.h. */
#include "base/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int tally_init(struct tally *t)
{
	uint32_t count = cpu_count();
	size_t bytes = count * sizeof(struct tally_shard);

	t->shard = aligned_alloc(LINE_BYTES, bytes);
	if (t->shard == NULL)
		return -ENOMEM;
	memset(t->shard, 0, bytes);
	t->shard_count = count;
	atomic_init(&t->total, 0);
	return 0;
}

void tally_fini(struct tally *t)
{
	free(t->shard);
	t->shard = NULL;
}

int64_t tally_sum(const struct tally *t)
{
	int64_t sum = atomic_load(&t->total);

	for (uint32_t i = 0; i < t->shard_count; i++)
		sum += atomic_load(&t->shard[i].delta);
	return sum;
}
