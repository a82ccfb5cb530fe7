/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mount.c - mounting for reading.
 *
 *     superblock --> (journal --> overlay --> superblock again) --> layout
 *          '-- damaged: a copy                                 --> cache
 *
 * The overlay is a device that shows replayed blocks in their places; from
 * then on nobody knows that there was a journal.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "ext/mount_int.h"
#include "jnl/sink.h"

enum {
	CACHE_BYTES = 64 << 20,
	CACHE_BLOCKS_MIN = 64,
	CACHE_BYTES_MIN = 1 << 20,
	SPARE_SHARE = 50, /* one in as many clusters */
	SPARE_MAX = 4096,
	/* What has a name and cannot be read. */
	UNREADABLE = EXT_INCOMPAT_COMPRESSION | EXT_INCOMPAT_DIRDATA,
};

/* ---- what all of a mount's files use ------------------------------------- */

int ext_report(int err, const struct ext_damage *damage)
{
	bool told = err == -EUCLEAN || err == -EBADMSG || err == -EIO ||
		    err == -EOPNOTSUPP;

	if (told && damage->inode)
		log_block(LOG_ERROR, "ext", damage->block, "inode %u: %s",
			damage->inode, damage->why);
	else if (told)
		log_block(LOG_ERROR, "ext", damage->block, "%s", damage->why);
	return err;
}

uint64_t ext_check_as(unsigned role, const struct ext_inode *owner)
{
	uint64_t who =
		owner ? (uint64_t)owner->generation << 32 | owner->ino : 0;

	return hash_u64(hash_u64(who) + role);
}

/* In the part of a buffer that is the cache's user's; 0 at first. */
static _Atomic uint64_t *good_as(const struct buf *buf)
{
	return (_Atomic uint64_t *)(void *)buf->client;
}

bool ext_buf_is(const struct buf *buf, uint64_t as)
{
	return atomic_load_explicit(good_as(buf), memory_order_relaxed) == as;
}

/* Contents do not change while the file system is mounted for reading, so two
 * that check at once come to the same. */
static int buf_check_as(const struct buf *buf, const struct ext_check *check)
{
	int err;

	if (ext_buf_is(buf, check->as))
		return 0;
	err = check->run(check->arg, buf->block, buf->data);
	if (!err)
		atomic_store_explicit(
			good_as(buf), check->as, memory_order_relaxed);
	return err;
}

int ext_buf_get(const struct ext_mount *m, blk_no block,
	const struct ext_check *check, struct buf **out,
	struct ext_damage *damage)
{
	struct buf *buf;
	int busy;
	int err;

	if (block >= m->ext.super.block_count)
		return EXT_DAMAGED(damage, -EUCLEAN, block, 0,
			"block beyond the end of the file system");
	/* Stands unless the check knows better. */
	ext_damage_say(damage, block, 0, "cannot be read");
	err = cache_get(m->fs.cache, block, NULL, &buf);
	if (err)
		return err;
	if (check)
		err = buf_check_as(buf, check);
	if (!err) {
		*out = buf;
		return 0;
	}
	buf_put(buf);
	/* The device is asked again next time; -EBUSY if somebody uses the
	 * block as something else. */
	busy = cache_forget(m->fs.cache, block);
	(void)busy;
	return err;
}

/* ---- superblock ----------------------------------------------------------- */

int ext_mount_admit(const struct ext *fs, struct ext_damage *damage)
{
	uint32_t unreadable = fs->super.features.incompat & UNREADABLE;

	if (ext_is_journal_dev(fs))
		return EXT_DAMAGED(damage, -EOPNOTSUPP, LOG_NO_BLOCK, 0,
			"a journal device, not a file system");
	for (unsigned bit = 0; bit < 32; bit++)
		if (unreadable & UINT32_C(1) << bit)
			return EXT_DAMAGED(damage, -EOPNOTSUPP, LOG_NO_BLOCK, 0,
				"feature %s cannot be read",
				ext_feature_name(1, bit));
	return 0;
}

/* ---- journal --------------------------------------------------------------- */

/* What a replay hands over. */
struct filling {
	struct jnl_overlay *o;
	struct ext_fast fast;
};

static int fill_block(void *arg, blk_no home, const void *data)
{
	struct filling *f = arg;

	return jnl_overlay_ops.block(f->o, home, data);
}

static int fill_fast(void *arg, uint16_t tag, const void *body, uint32_t bytes)
{
	struct filling *f = arg;

	return ext_fast_take(&f->fast, tag, body, bytes);
}

static int overlay_fill(const struct ext *fs, const struct ext_journal *j,
	struct filling *f, struct jnl_replay_result *log,
	struct ext_damage *damage)
{
	static const struct jnl_replay_sink sink = {
		.block = fill_block, .fast = fill_fast};
	blk_no blocks = blk_geom(fs->dev).bytes / fs->super.block_bytes;
	int err = jnl_replay(&j->place, blocks, &sink, f, log);

	if (err) {
		ext_damage_say(damage, LOG_NO_BLOCK, 0, "journal: %s",
			log->why[0] ? log->why : "cannot be read");
		if (damage)
			damage->outside = j->place.external;
	}
	return err;
}

static void replay_say(const struct jnl_replay_result *log)
{
	log_say(LOG_INFO, "ext",
		"journal: %u transactions applied in memory (%llu blocks), "
		"nothing written",
		log->transactions, (unsigned long long)log->blocks);
	if (log->error)
		log_say(LOG_WARN, "ext", "journal: was aborted with error %d",
			log->error);
}

/* Put what the log holds over fs->dev; fast commits are left to @fast. */
static int replay_over(struct ext *fs, const struct ext_journal *j,
	struct ext_fast *fast, struct ext_damage *damage)
{
	struct jnl_replay_result log = {0};
	struct filling f = {0};
	int err = jnl_overlay_open(fs->dev, fs->super.block_bytes, &f.o);

	if (err)
		return err;
	err = overlay_fill(fs, j, &f, &log, damage);
	if (!err && log.transactions)
		err = jnl_overlay_seal(f.o, &fs->dev);
	if (err || !log.transactions)
		jnl_overlay_close(f.o);
	if (!err && (log.transactions || log.fast_records))
		replay_say(&log);
	*fast = f.fast;
	return err;
}

static int fast_say(int err, const struct ext_damage *why)
{
	switch (err) {
	case 0:
		log_say(LOG_INFO, "ext",
			"journal: fast commits applied in memory");
		return 0;
	case -EOPNOTSUPP:
	case -EUCLEAN:
	case -EBADMSG:
	case -ENOSPC:
	case -E2BIG:
		log_say(LOG_WARN, "ext",
			"journal: fast commits are not applied, the newest "
			"changes are missing (inode %u: %s)",
			why->inode, why->why);
		return 0;
	default:
		return err;
	}
}

/* Put what @fast says over that, or nothing of it. */
static int fast_over(struct ext *fs, const struct ext_fast *fast)
{
	struct ext_damage why = {.why = "too much"};
	struct jnl_overlay *o;
	int err;

	if (fast->bytes == 0)
		return 0;
	err = jnl_overlay_open(fs->dev, fs->super.block_bytes, &o);
	if (err)
		return err;
	err = ext_fast_apply(fs, fast, o, &why);
	if (!err)
		err = jnl_overlay_seal(o, &fs->dev);
	if (err)
		jnl_overlay_close(o);
	return fast_say(err, &why);
}

/* The log may have held a newer superblock. */
static int super_again(struct ext *fs, struct ext_damage *damage)
{
	struct ext_damage inner = {.block = LOG_NO_BLOCK};
	struct ext_super after;
	int err = ext_super_primary(fs->dev, &after, &inner);

	if (err && fs->super.at != ext_super_block(&fs->super))
		return 0;
	if (!err && after.block_bytes != fs->super.block_bytes) {
		ext_damage_say(&inner, LOG_NO_BLOCK, 0, "other block size");
		err = -EUCLEAN;
	}
	if (err)
		return EXT_DAMAGED(damage, err, LOG_NO_BLOCK, 0,
			"superblock after replay: %.100s", inner.why);
	if (fs->super.at == ext_super_block(&fs->super))
		fs->super = after;
	return 0;
}

/* Copies of the superblock do not know whether the journal is dirty. */
static int bring_up_to_date(struct ext *fs, const struct ext_mount_opts *opts,
	struct ext_damage *damage)
{
	const struct ext_features *f = &fs->super.features;
	bool copy = fs->super.at != ext_super_block(&fs->super);
	struct ext_fast fast = {0};
	struct ext_journal j;
	int err;

	if (!(f->compat & EXT_COMPAT_HAS_JOURNAL) ||
		!(copy || f->incompat & EXT_INCOMPAT_RECOVER))
		return 0;
	if (opts->no_replay) {
		log_say(LOG_WARN, "ext", "journal: left out of account");
		return 0;
	}
	err = ext_journal_find(fs, opts->journal, &j, damage);
	if (err)
		return err;
	err = replay_over(fs, &j, &fast, damage);
	ext_journal_drop(&j);
	if (!err)
		err = super_again(fs, damage);
	if (!err)
		err = fast_over(fs, &fast);
	ext_fast_drop(&fast);
	return err;
}

/* ---- mounting --------------------------------------------------------------- */

static int open_cache(struct ext_mount *m, uint64_t bytes)
{
	uint32_t block = m->ext.super.block_bytes;
	struct cache_opts opts = {
		.bytes = bytes ? bytes : CACHE_BYTES,
		.block_bytes = block,
		.client_bytes = sizeof(_Atomic uint64_t),
	};

	if (opts.bytes < (uint64_t)block * CACHE_BLOCKS_MIN)
		opts.bytes = (uint64_t)block * CACHE_BLOCKS_MIN;
	if (opts.bytes < CACHE_BYTES_MIN)
		opts.bytes = CACHE_BYTES_MIN;
	return cache_open(m->ext.dev, &opts, &m->fs.cache);
}

static int ext_unmount(struct vfs_fs *fs)
{
	struct ext_mount *m = ext_mount_of(fs);

	if (fs->cache)
		cache_close(fs->cache);
	ext_layout_drop(&m->layout);
	blk_close(m->ext.dev);
	free(m);
	return 0;
}

int ext_mount(struct blk_dev *dev, const struct ext_mount_opts *opts,
	struct vfs_fs **out, struct ext_damage *damage)
{
	static const struct ext_mount_opts defaults;
	struct ext_mount *m = calloc(1, sizeof(*m));
	int err;

	if (!m) {
		blk_close(dev);
		return -ENOMEM;
	}
	if (!opts)
		opts = &defaults;
	m->ext.dev = dev;
	err = ext_super_find(m->ext.dev, opts->superblock,
		opts->superblock_bytes, &m->ext.super, damage);
	if (!err)
		err = ext_mount_admit(&m->ext, damage);
	if (!err)
		err = bring_up_to_date(&m->ext, opts, damage);
	if (!err)
		err = ext_layout_read(&m->ext, &m->layout);
	if (!err)
		err = open_cache(m, opts->cache_bytes);
	if (err) {
		(void)ext_unmount(&m->fs);
		return err;
	}
	m->fs.ops = &ext_ops;
	m->fs.root = EXT_INO_ROOT;
	*out = &m->fs;
	return 0;
}

const struct ext_super *ext_mount_super(struct vfs_fs *fs)
{
	return &ext_mount_of(fs)->ext.super;
}

/* ---- the whole ---------------------------------------------------------------- */

/* The kernel keeps a part to itself where extents may have to be split. */
static uint64_t spare_blocks(const struct ext_super *sb)
{
	uint64_t ratio = sb->cluster_bytes / sb->block_bytes;
	uint64_t clusters = sb->block_count / ratio / SPARE_SHARE;

	if (!(sb->features.incompat & EXT_INCOMPAT_EXTENTS))
		return 0;
	return (clusters < SPARE_MAX ? clusters : SPARE_MAX) * ratio;
}

static int ext_statfs(struct vfs_fs *fs, struct vfs_statfs *out)
{
	const struct ext_mount *m = ext_mount_of(fs);
	const struct ext_super *sb = &m->ext.super;
	uint64_t ratio = sb->cluster_bytes / sb->block_bytes;
	uint64_t overhead = sb->overhead_clusters
				    ? sb->overhead_clusters * ratio
				    : m->layout.overhead_blocks;
	uint64_t withheld = sb->reserved_blocks + spare_blocks(sb);
	uint64_t uuid[2];
	struct vfs_statfs s = {
		.blocks = sb->block_count > overhead
				  ? sb->block_count - overhead
				  : 0,
		.blocks_free = m->layout.free_blocks * ratio,
		.inodes = sb->inode_count,
		.inodes_free = m->layout.free_inodes,
		.block_bytes = sb->block_bytes,
		.name_bytes_max = VFS_NAME_MAX,
	};

	if (s.blocks_free > withheld)
		s.blocks_available = s.blocks_free - withheld;
	memcpy(uuid, sb->uuid, sizeof(uuid));
	s.fsid = uuid[0] ^ uuid[1];
	*out = s;
	return 0;
}

const struct vfs_fs_ops ext_ops = {
	.inode_bytes = sizeof(struct ext_node),
	.inode_load = ext_inode_load,
	.inode_drop = ext_inode_drop,
	.lookup = ext_lookup,
	.readdir = ext_readdir,
	.readlink = ext_readlink,
	.getxattr = ext_getxattr,
	.listxattr = ext_listxattr,
	.pread = ext_pread,
	.seek = ext_seek,
	.statfs = ext_statfs,
	.unmount = ext_unmount,
};
