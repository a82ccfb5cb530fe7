/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * make_journal.c - leave a dirty journal in an ext4 image, as a crash would.
 *
 *    make_journal IMAGE JOURNAL|- none|v1|v2|v3 32|64 FIRST COUNT OPS SEED OUT
 *
 * Runs OPS operations on the COUNT free blocks from FIRST on, through the
 * cache and the journal: each edits a few of them with random bytes, some
 * beginning with the journal's magic number, and some free one.  Every block
 * is written to OUT as it must be after recovery, a block freed at the end as
 * it was edited last (nobody compares those; their numbers go to stdout).  The
 * process then ends without closing anything.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/crc32c.h"
#include "base/hash.h"
#include "cache/cache.h"
#include "ext/ext.h"
#include "jnl/jnl.h"

enum { PER_OP = 6, LAST_OPS = 20, SUPER_AT = 1024, BYTES_MAX = 65536 };

struct maker {
	struct blk_dev *dev;
	struct blk_dev *outside;
	struct ext *fs;
	struct ext_journal journal;
	struct cache *cache;
	struct jnl *jnl;
	uint32_t block_bytes;
	blk_no first;
	uint32_t count;
	uint64_t random;
	bool *freed;
	unsigned char *model; /* count blocks */
};

/* Set or clear needs_recovery in the primary superblock. */
static int flag_recovery(void *arg, bool needed)
{
	struct maker *m = arg;
	struct ext_disk_super raw;
	uint32_t incompat;
	int err = blk_read(m->dev, SUPER_AT, sizeof(raw), &raw);

	if (err != 0)
		return err;
	incompat = le32_get(raw.feature_incompat);
	incompat = needed ? incompat | EXT_INCOMPAT_RECOVER
			  : incompat & ~(uint32_t)EXT_INCOMPAT_RECOVER;
	raw.feature_incompat = le32_of(incompat);
	if (le32_get(raw.feature_ro_compat) & EXT_RO_COMPAT_METADATA_CSUM)
		raw.checksum = le32_of(crc32c(~UINT32_C(0), &raw,
			offsetof(struct ext_disk_super, checksum)));
	err = blk_write(m->dev, SUPER_AT, sizeof(raw), &raw);
	return err != 0 ? err : blk_flush(m->dev);
}

static const struct jnl_client client = {.need_recovery = flag_recovery};

static enum jnl_checksum parse_checksum(const char *word)
{
	static const char *const words[] = {"", "none", "v1", "v2", "v3"};

	for (unsigned i = JNL_CHECKSUM_NONE; i <= JNL_CHECKSUM_V3; i++)
		if (strcmp(word, words[i]) == 0)
			return (enum jnl_checksum)i;
	abort();
}

static void maker_open(struct maker *m, char **argv)
{
	struct cache_opts cache = {
		.bytes = 64 << 20, .client_bytes = JNL_BUF_BYTES};
	struct jnl_opts opts = {.place = &m->journal.place,
		.client = &client,
		.client_arg = m,
		.checksum = parse_checksum(argv[3]),
		.wide = strcmp(argv[4], "64") == 0};

	CHECK(blk_open_file(argv[1], BLK_OPEN_WRITE, NULL, 0, &m->dev) == 0);
	if (strcmp(argv[2], "-") != 0)
		CHECK(blk_open_file(argv[2], BLK_OPEN_WRITE, NULL, 0,
			      &m->outside) == 0);
	CHECK(ext_open(m->dev, &m->fs, NULL) == 0);
	CHECK(ext_journal_find(m->fs, m->outside, &m->journal, NULL) == 0);
	m->block_bytes = m->fs->super.block_bytes;
	cache.block_bytes = m->block_bytes;
	CHECK(cache_open(m->dev, &cache, &m->cache) == 0);
	opts.cache = m->cache;
	CHECK(jnl_open(&opts, &m->jnl) == 0);
}

/* Random bytes for model block @at; one in eight looks like the log's own. */
static void maker_fill(struct maker *m, uint32_t at)
{
	static const unsigned char magic[] = {0xc0, 0x3b, 0x39, 0x98};
	unsigned char *block = m->model + (size_t)at * m->block_bytes;

	for (uint32_t i = 0; i < m->block_bytes; i += sizeof(uint64_t)) {
		uint64_t word = hash_next(&m->random);

		memcpy(block + i, &word, sizeof(word));
	}
	if (hash_next(&m->random) % 8 == 0)
		memcpy(block, magic, sizeof(magic));
}

static void maker_edit(struct maker *m, struct jnl_op *op, uint32_t at)
{
	struct buf *b;

	CHECK(cache_get_new(m->cache, m->first + at, &b) == 0);
	CHECK(jnl_get_create(op, b) == 0);
	maker_fill(m, at);
	memcpy(b->data, m->model + (size_t)at * m->block_bytes, m->block_bytes);
	m->freed[at] = false;
	buf_put(b);
}

static jnl_tid maker_op(struct maker *m)
{
	struct jnl_op op;
	uint32_t at;

	CHECK(jnl_begin(m->jnl, PER_OP + 1, &op) == 0);
	for (uint32_t i = 0; i < PER_OP; i++)
		maker_edit(
			m, &op, (uint32_t)(hash_next(&m->random) % m->count));
	at = (uint32_t)(hash_next(&m->random) % m->count);
	if (hash_next(&m->random) % 4 == 0 && !m->freed[at]) {
		CHECK(jnl_forget(&op, m->first + at, NULL) == 0);
		m->freed[at] = true;
	}
	return jnl_end(&op);
}

static void maker_report(const struct maker *m, const char *out)
{
	FILE *file = fopen(out, "wb");

	CHECK(file != NULL);
	CHECK(fwrite(m->model, m->block_bytes, m->count, file) == m->count);
	CHECK(fclose(file) == 0);
	for (uint32_t i = 0; i < m->count; i++)
		if (m->freed[i])
			(void)printf("%" PRIu64 "\n", m->first + i);
	(void)fflush(stdout);
}

/* The blocks as the image holds them now. */
static void maker_read_model(struct maker *m)
{
	CHECK(blk_read(m->dev, m->first * m->block_bytes,
		      (size_t)m->count * m->block_bytes, m->model) == 0);
}

static void maker_run(struct maker *m, unsigned long ops)
{
	jnl_tid tid = 0;

	for (unsigned long i = 0; i < ops; i++) {
		tid = maker_op(m);
		if (i % 7 == 6)
			CHECK(jnl_wait(m->jnl, tid) == 0);
	}
	CHECK(jnl_wait(m->jnl, tid) == 0);
}

int main(int argc, char **argv)
{
	struct maker m = {0};
	unsigned long ops;

	CHECK(argc == 10);
	m.first = strtoull(argv[5], NULL, 10);
	m.count = (uint32_t)strtoul(argv[6], NULL, 10);
	ops = strtoul(argv[7], NULL, 10);
	m.random = strtoull(argv[8], NULL, 10);
	maker_open(&m, argv);
	m.freed = calloc(m.count, sizeof(*m.freed));
	m.model = malloc((size_t)m.count * m.block_bytes);
	CHECK(m.freed != NULL && m.model != NULL);
	maker_read_model(&m);
	maker_run(&m, ops);
	/* A log that has wrapped may have been brought home whole by now; a
	 * few operations on an empty one stay in it. */
	if (ops > LAST_OPS) {
		CHECK(jnl_checkpoint(m.jnl) == 0);
		maker_run(&m, LAST_OPS);
	}
	maker_report(&m, argv[9]);
	_exit(0);
}
