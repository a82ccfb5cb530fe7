/* SPDX-License-Identifier: BSD-2-Clause */
/* keep.c - see keep.h. */
#include "keep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

enum { COPY_BYTES = 1 << 16 };

static FILE *open_part(const char *prefix, const char *part, const char *mode)
{
	char path[512];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s.%s", prefix, part);
	file = fopen(path, mode);
	if (file == NULL)
		(void)fprintf(stderr, "%s: cannot open\n", path);
	return file;
}

/* ---- writing -------------------------------------------------------------------- */

static void keep_dev(const char *prefix, const char *part, struct blk_dev *dev)
{
	FILE *file = open_part(prefix, part, "wb");
	char *data = malloc(COPY_BYTES);

	CHECK(data != NULL);
	for (uint64_t at = 0; file != NULL && at < blk_geom(dev).bytes;) {
		uint64_t left = blk_geom(dev).bytes - at;
		size_t bytes = left < COPY_BYTES ? left : COPY_BYTES;

		CHECK(blk_read(dev, at, bytes, data) == 0);
		if (fwrite(data, 1, bytes, file) != bytes)
			(void)fprintf(
				stderr, "%s.%s: cannot write\n", prefix, part);
		at += bytes;
	}
	free(data);
	if (file != NULL)
		(void)fclose(file);
}

static void keep_block(FILE *file, const struct model *m, blk_no b)
{
	const struct model_block *block = &m->blocks[b];

	(void)fprintf(file, "block %" PRIu64 " %d %" PRIu64 " %" PRIu32, b,
		block->base.kind, block->base.version, block->count);
	for (uint32_t i = 0; i < block->count; i++)
		(void)fprintf(file, "  %" PRIu32 " %d %" PRIu64,
			block->entries[i].tid, block->entries[i].kind,
			block->entries[i].version);
	(void)fprintf(file, "\n");
}

static void keep_model(
	const char *prefix, const struct model *m, struct model_point need)
{
	const struct toy_opts *o = &m->opts;
	FILE *file = open_part(prefix, "model", "w");

	if (file == NULL)
		return;
	(void)fprintf(file,
		"toy %" PRIu32 " %" PRIu32 " %" PRIu32 " %d %" PRIu32 "\n",
		o->block_bytes, o->home_blocks, o->log_blocks, o->external,
		o->map_extent);
	(void)fprintf(file, "life %" PRIu32 " need %d %" PRIu32 "\n", m->life,
		need.any, need.tid);
	for (blk_no b = TOY_FIRST; b < o->home_blocks; b++)
		keep_block(file, m, b);
	(void)fclose(file);
}

void keep_state(const char *prefix, const struct model *m,
	const struct cold *cold, struct model_point need)
{
	keep_model(prefix, m, need);
	keep_dev(prefix, "home", cold->home);
	if (cold->log != NULL)
		keep_dev(prefix, "log", cold->log);
	(void)fprintf(stderr, "kept: judge it again with --judge %s\n", prefix);
}

/* ---- reading -------------------------------------------------------------------- */

/* Words of the model, one behind the other. */
struct reader {
	FILE *file;
	bool bad; /* some word was not what it had to be */
};

static uint64_t number(struct reader *r)
{
	char text[32] = "";
	char *end;
	uint64_t value;

	if (!r->bad && fscanf(r->file, " %31s", text) != 1)
		r->bad = true;
	value = strtoull(text, &end, 10);
	r->bad |= end == text || *end != 0;
	return r->bad ? 0 : value;
}

static void keyword(struct reader *r, const char *name)
{
	char text[32] = "";

	if (!r->bad && fscanf(r->file, " %31s", text) != 1)
		r->bad = true;
	r->bad |= strcmp(text, name) != 0;
}

static void load_block(struct reader *r, struct model *m, blk_no b)
{
	uint64_t count;

	keyword(r, "block");
	r->bad |= number(r) != b;
	m->blocks[b].base.kind = (enum model_kind)number(r);
	m->blocks[b].base.version = number(r);
	count = number(r);
	while (count-- > 0 && !r->bad) {
		jnl_tid tid = (jnl_tid)number(r);
		enum model_kind kind = (enum model_kind)number(r);

		model_record(m, b, tid, kind, number(r));
	}
}

static void load_model(
	struct reader *r, struct model *m, struct model_point *need)
{
	struct toy_opts opts = {0};

	keyword(r, "toy");
	opts.block_bytes = (uint32_t)number(r);
	opts.home_blocks = (uint32_t)number(r);
	opts.log_blocks = (uint32_t)number(r);
	opts.external = number(r) != 0;
	opts.map_extent = (uint32_t)number(r);
	model_init(m, &opts);
	keyword(r, "life");
	m->life = (uint32_t)number(r);
	keyword(r, "need");
	need->any = number(r) != 0;
	need->tid = (jnl_tid)number(r);
	for (blk_no b = TOY_FIRST; b < opts.home_blocks && !r->bad; b++)
		load_block(r, m, b);
}

static int load_dev(const char *prefix, const char *part, struct blk_dev *dev)
{
	FILE *file = open_part(prefix, part, "rb");
	char *data = malloc(COPY_BYTES);
	uint64_t at = 0;
	size_t bytes;

	CHECK(data != NULL);
	while (file != NULL && (bytes = fread(data, 1, COPY_BYTES, file)) > 0) {
		CHECK(blk_write(dev, at, bytes, data) == 0);
		at += bytes;
	}
	free(data);
	if (file != NULL)
		(void)fclose(file);
	return at == blk_geom(dev).bytes ? 0 : -1;
}

static int load_devs(
	const char *prefix, const struct toy_opts *opts, struct cold *cold)
{
	int err;

	cold_format(opts, cold);
	err = load_dev(prefix, "home", cold->home);
	if (err == 0 && cold->log != NULL)
		err = load_dev(prefix, "log", cold->log);
	if (err != 0)
		cold_close(cold);
	return err;
}

int keep_load(const char *prefix, struct model *m, struct cold *cold,
	struct model_point *need)
{
	struct reader r = {.file = open_part(prefix, "model", "r")};

	if (r.file == NULL)
		return -1;
	load_model(&r, m, need);
	(void)fclose(r.file);
	if (!r.bad && load_devs(prefix, &m->opts, cold) == 0)
		return 0;
	(void)fprintf(stderr, "%s: not what --keep wrote\n", prefix);
	model_fini(m);
	return -1;
}
