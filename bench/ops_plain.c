/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ops_plain.c - sides without a file system: what memory and processors do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "bench/ops.h"

uint64_t ops_offset(struct ops_client *c, uint64_t bytes)
{
	uint64_t index = c->in_order ? c->random++ : hash_next(&c->random);

	return index % (OPS_DATA_BYTES / bytes) * bytes;
}

/* ---- memcpy -------------------------------------------------------------- */

static int memcpy_enter(struct ops_client *c)
{
	c->memory = malloc(OPS_DATA_BYTES);
	if (c->memory == NULL)
		return -ENOMEM;
	memset(c->memory, 1, OPS_DATA_BYTES);
	return 0;
}

static void memcpy_leave(struct ops_client *c)
{
	free(c->memory);
}

static int memcpy_4k(struct ops_client *c, unsigned i)
{
	(void)i;
	memcpy(c->buffer, c->memory + ops_offset(c, OPS_SMALL_BYTES),
		OPS_SMALL_BYTES);
	return 0;
}

static int memcpy_1m(struct ops_client *c, unsigned i)
{
	(void)i;
	memcpy(c->buffer, c->memory + ops_offset(c, OPS_LARGE_BYTES),
		OPS_LARGE_BYTES);
	return 0;
}

static void plain_close(struct ops_side *side)
{
	(void)side;
}

static const struct ops_side_ops memcpy_ops = {
	.enter = memcpy_enter,
	.leave = memcpy_leave,
	.one = {[OPS_PREAD_4K] = memcpy_4k, [OPS_PREAD_1M] = memcpy_1m},
	.close = plain_close,
};

void ops_memcpy_open(struct ops_side *out)
{
	*out = (struct ops_side){
		.ops = &memcpy_ops, .name = "memcpy", .is_plain = true};
}

/* ---- bare ---------------------------------------------------------------- */

static int bare_enter(struct ops_client *c)
{
	(void)c;
	return 0;
}

static void bare_leave(struct ops_client *c)
{
	(void)c;
}

static int bare_one(struct ops_client *c, unsigned i)
{
	for (const char *p = c->names.file[i]; *p != '\0'; p++)
		c->random = c->random * 31 + (unsigned char)*p;
	return 0;
}

static const struct ops_side_ops bare_ops = {
	.enter = bare_enter,
	.leave = bare_leave,
	.one = {[OPS_STAT] = bare_one},
	.close = plain_close,
};

void ops_bare_open(struct ops_side *out)
{
	*out = (struct ops_side){
		.ops = &bare_ops, .name = "bare", .is_plain = true};
}
