/* SPDX-License-Identifier: BSD-2-Clause */
/* turnstile.c - see turnstile.h. */
#include "sync/turnstile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int turnstile_init(struct turnstile *t)
{
	uint32_t count = cpu_count();
	size_t bytes = count * sizeof(struct turnstile_shard);

	t->shard = aligned_alloc(LINE_BYTES, bytes);
	if (t->shard == NULL)
		return -ENOMEM;
	memset(t->shard, 0, bytes);
	t->shard_count = count;
	atomic_init(&t->shut, false);
	return 0;
}

void turnstile_fini(struct turnstile *t)
{
	free(t->shard);
	t->shard = NULL;
}

bool turnstile_shut(struct turnstile *t)
{
	bool empty = true;

	/* Pairs with turnstile_enter(): shut, then look. */
	atomic_store(&t->shut, true);
	for (uint32_t i = 0; i < t->shard_count; i++)
		empty &= atomic_load(&t->shard[i].inside) == 0;
	if (!empty)
		atomic_store(&t->shut, false);
	return empty;
}
