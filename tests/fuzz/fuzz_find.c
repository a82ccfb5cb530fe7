/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_find.c - any bytes as the metadata that leads to a journal.
 *
 * An input is up to 19 blocks of 1 KiB: superblock, group descriptors, the
 * block of the inode table that has inode 8, and nodes of its map.  They are
 * put where the seeds say they are, on a device that is empty but for a good
 * journal superblock.  The superblock's own checksum is made right.
 *
 * Beyond "no crash": errors are the documented ones and have a reason; a map
 * that is found is complete, inside the file system, behind its superblock,
 * and maps no block twice; recovery of what is found writes nothing unless it
 * succeeds.
 */
#include <errno.h>
#include <string.h>

#include "base/crc32c.h"
#include "blk/layers.h"
#include "ext/ext.h"
#include "jnl/codec.h"
#include "jnl/format.h"
#include "must.h"

int fuzz_one(const uint8_t *data, size_t bytes) __asm__(
	"LLVMFuzzerTestOneInput");

enum {
	BLOCK = 1024,
	BLOCKS = 8192,
	SUPER_AT = 1,
	DESC_AT = 2,
	TABLE_AT = 5,
	NODES_AT = 100,
	LOG_AT = 1000,
	LOG_BLOCKS = 1024,
	PIECES = 19,
};

static void put(struct blk_dev *dev, uint64_t block, const void *data)
{
	MUST(blk_write(dev, block * BLOCK, BLOCK, data) == 0);
}

static uint64_t piece_at(unsigned piece)
{
	static const uint64_t heads[] = {SUPER_AT, DESC_AT, TABLE_AT};

	return piece < 3 ? heads[piece] : NODES_AT + piece - 3;
}

/* Only the superblock's: of other checksums bad ones are cheap to reject. */
static void repair(uint8_t block[BLOCK])
{
	struct ext_disk_super *sb = (struct ext_disk_super *)block;

	sb->checksum = le32_of(
		crc32c(~0U, block, offsetof(struct ext_disk_super, checksum)));
}

static void log_put(struct blk_dev *dev)
{
	uint8_t block[BLOCK] = {0};
	struct jbd_super *js = (struct jbd_super *)block;

	js->header.magic = be32_of(JBD_MAGIC);
	js->header.type = be32_of(JBD_SUPER_V2);
	js->block_bytes = be32_of(BLOCK);
	js->block_count = be32_of(LOG_BLOCKS);
	js->first = be32_of(1);
	js->sequence = be32_of(1);
	js->user_count = be32_of(1);
	put(dev, LOG_AT, block);
}

static struct blk_dev *load(const uint8_t *data, size_t bytes)
{
	struct blk_dev *dev;

	MUST(blk_open_mem((uint64_t)BLOCKS * BLOCK, &dev) == 0);
	log_put(dev);
	for (unsigned i = 0; i < PIECES && (size_t)i * BLOCK < bytes; i++) {
		size_t left = bytes - (size_t)i * BLOCK;
		uint8_t block[BLOCK] = {0};

		memcpy(block, data + (size_t)i * BLOCK,
			left < BLOCK ? left : BLOCK);
		if (i == 0)
			repair(block);
		put(dev, piece_at(i), block);
	}
	return dev;
}

static void judge_error(int err, const struct ext_damage *d)
{
	MUST(err == -EUCLEAN || err == -EBADMSG || err == -EOPNOTSUPP ||
		err == -ENOENT || err == -EINVAL || err == -ENOMEM);
	MUST(err == -ENOMEM || d->why[0] != '\0');
	MUST(strchr(d->why, '\n') == NULL);
}

static void judge_map(const struct ext *fs, const struct ext_journal *j)
{
	static uint8_t mapped[BLOCKS];
	uint32_t log = 0;

	if (j->source == EXT_JOURNAL_DEVICE)
		return;
	memset(mapped, 0, sizeof(mapped));
	for (uint32_t i = 0; i < j->place.map_count; i++) {
		const struct jnl_extent *e = &j->place.map[i];

		MUST(e->log == log && e->count > 0);
		log += e->count;
		MUST(e->dev * fs->super.block_bytes > EXT_SUPER_OFFSET);
		MUST(e->dev + e->count <= fs->super.block_count);
		for (uint32_t k = 0; k < e->count; k++)
			MUST(mapped[e->dev + k]++ == 0);
	}
	MUST(log == jnl_place_blocks(&j->place));
}

static void recover(struct ext *fs, const struct ext_journal *j,
	const struct blk_dev *counted)
{
	struct ext_damage d = {0};
	struct blk_stats stats;
	struct ext_recovery r;
	int err = ext_recover(fs, j, &r, &d);

	blk_stats_read(counted, &stats);
	if (err)
		judge_error(err, &d);
	MUST((!err && r.was_needed) || stats.ops[BLK_WRITE] == 0);
}

int fuzz_one(const uint8_t *data, size_t bytes)
{
	struct ext_damage d = {0};
	struct ext_journal j;
	struct blk_dev *dev;
	struct ext *fs;
	int err;

	MUST(blk_wrap_stats(load(data, bytes), &dev) == 0);
	err = ext_open(dev, &fs, &d);
	if (err) {
		judge_error(err, &d);
		goto out_close;
	}
	if (ext_is_journal_dev(fs))
		err = ext_journal_of_dev(fs, &j, &d);
	else
		err = ext_journal_find(fs, NULL, &j, &d);
	if (err) {
		judge_error(err, &d);
	} else {
		judge_map(fs, &j);
		if (!ext_is_journal_dev(fs))
			recover(fs, &j, dev);
		ext_journal_drop(&j);
	}
	ext_close(fs);
out_close:
	blk_close(dev);
	return 0;
}
