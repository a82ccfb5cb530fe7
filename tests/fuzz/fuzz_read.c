/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_read.c - any bytes as an image: mount it, and look at everything.
 *
 * Beyond "no crash": what read_pass.h says; nothing is written; a mount that
 * fails says why; the cache keeps to its size; two passes see the same, from
 * the device and from the cache.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "cache/cache.h"
#include "ext/ext.h"
#include "read_pass.h"
#include "sparse.h"

int fuzz_one(const uint8_t *data, size_t bytes) __asm__(
	"LLVMFuzzerTestOneInput");

enum {
	SECTOR = 512,
	CACHE_LEAST = 1 << 20,
	CACHE_MOST = 4 << 20,
	DENTRIES_LEAST = 64,
	DENTRIES_MOST = 4096,
};

/* Of CPU time, for one pass; what one call took beyond it is a hang. */
#define PASS_NS UINT64_C(1000000000)
#define CALL_NS UINT64_C(8000000000)

_Atomic uint64_t read_reports;
_Atomic uint64_t read_turns;

static void on_log(void *arg, const struct log_record *r)
{
	(void)arg;
	MUST(r->text[0] != '\0' && strchr(r->text, '\n') == NULL);
	if (r->level == LOG_ERROR)
		atomic_fetch_add(&read_reports, 1);
	if (strstr(r->text, "reading the directory without it") ||
		strstr(r->text, "second name of a directory"))
		atomic_fetch_add(&read_turns, 1);
}

/* ---- a device that nobody may write to ---------------------------------------- */

static int image_pread(void *arg, uint64_t offset, size_t bytes, void *data)
{
	return blk_read(arg, offset, bytes, data);
}

static int image_pwrite(
	void *arg, uint64_t offset, size_t bytes, const void *data)
{
	(void)arg;
	(void)offset;
	(void)bytes;
	(void)data;
	MUST(!"written to");
	return -EIO;
}

static int image_discard(void *arg, uint64_t offset, uint64_t bytes)
{
	return image_pwrite(arg, offset, bytes, NULL);
}

static void image_close(void *arg)
{
	blk_close(arg);
}

static struct blk_dev *guard(struct blk_dev *below)
{
	static const struct blk_caller_ops ops = {
		.pread = image_pread,
		.pwrite = image_pwrite,
		.discard = image_discard,
		.close = image_close,
	};
	struct blk_geom geom = {
		.bytes = blk_geom(below).bytes, .sector_bytes = SECTOR};
	struct blk_dev *dev;

	MUST(blk_open_caller(&ops, below, geom, &dev) == 0);
	return dev;
}

/* ---- mounting ------------------------------------------------------------------ */

static void judge_mount(int err, const struct ext_damage *d)
{
	MUST(read_is_damage(err) || err == -ENOENT || err == -ENXIO);
	MUST(d->why[0] != '\0' && strchr(d->why, '\n') == NULL);
}

static struct vfs_fs *mount_image(const struct sparse *s)
{
	struct ext_damage damage = {0};
	struct ext_mount_opts opts = {
		.cache_bytes = s->flags & SPARSE_SMALL_CACHE ? CACHE_LEAST
							     : CACHE_MOST,
		.superblock = s->superblock,
		.no_replay = s->flags & SPARSE_NO_REPLAY,
	};
	struct vfs_fs *fs;
	int err;

	opts.journal = sparse_load_outside(s);
	if (opts.journal)
		opts.journal = guard(opts.journal);
	err = ext_mount(guard(sparse_load(s)), &opts, &fs, &damage);
	blk_close(opts.journal);
	if (err)
		judge_mount(err, &damage);
	return err ? NULL : fs;
}

static struct vfs *open_image(const struct sparse *s, struct vfs_fs *fs)
{
	struct vfs_opts opts = {
		.cache_entries = s->flags & SPARSE_SMALL_CACHE ? DENTRIES_LEAST
							       : DENTRIES_MOST,
		.walk = s->flags & SPARSE_WALK_REF ? VFS_WALK_REF
						   : VFS_WALK_RCU,
	};
	struct vfs *vfs;
	int err;

	MUST(vfs_open(&opts, &vfs) == 0);
	err = vfs_mount(vfs, "/", fs);
	if (!err)
		return vfs;
	MUST(read_is_damage(err));
	MUST(fs->ops->unmount(fs) == 0);
	MUST(vfs_close(vfs) == 0);
	return NULL;
}

/* ---- passes -------------------------------------------------------------------- */

static void judge_space(struct vfs *vfs)
{
	struct vfs_at at = {.vfs = vfs};
	struct vfs_statfs s;

	MUST(vfs_statfs(&at, "/", &s) == 0);
	MUST(s.block_bytes >= 1024 && s.block_bytes <= 65536);
	MUST(s.name_bytes_max == VFS_NAME_MAX);
}

static void judge_memory(const struct sparse *s, struct cache *cache)
{
	uint64_t least = UINT64_C(64) * cache_block_bytes(cache);
	uint64_t bound =
		s->flags & SPARSE_SMALL_CACHE ? CACHE_LEAST : CACHE_MOST;
	struct cache_stats stats;

	cache_stats_read(cache, &stats);
	MUST(stats.peak_bytes <= (bound > least ? bound : least));
}

/* What was good the first time is the same the second. */
static void judge_same(
	const struct read_pass *first, const struct read_pass *second)
{
	for (uint32_t i = 0; i < first->count; i++) {
		const struct read_note *a = &first->notes[i];
		const struct read_note *b = NULL;

		if (!a->clean)
			continue;
		for (uint32_t k = 0; !b && k < second->count; k++)
			if (second->notes[k].path == a->path)
				b = &second->notes[k];
		if (!b)
			continue;
		MUST(b->clean && b->sum == a->sum);
	}
}

/* False: something happened that changes later answers. */
static bool pass(struct vfs *vfs, struct read_pass *p)
{
	uint64_t turns = atomic_load(&read_turns);
	uint64_t began = read_cpu_ns();

	*p = (struct read_pass){.vfs = vfs, .stop_ns = began + PASS_NS};
	read_pass_run(p);
	MUST(read_cpu_ns() < p->stop_ns + CALL_NS);
	return atomic_load(&read_turns) == turns && !p->cut;
}

static void look(const struct sparse *s, struct vfs *vfs, struct cache *cache)
{
	static struct read_pass first;
	static struct read_pass second;
	bool calm;

	judge_space(vfs);
	calm = pass(vfs, &first);
	/* What an inode has turned to is forgotten with it. */
	if (!calm && !(s->flags & SPARSE_SMALL_CACHE))
		calm = pass(vfs, &first);
	if (pass(vfs, &second) && calm)
		judge_same(&first, &second);
	judge_memory(s, cache);
}

int fuzz_one(const uint8_t *data, size_t bytes)
{
	struct sparse s;
	struct vfs_fs *fs;
	struct vfs *vfs;

	log_to(on_log, NULL);
	if (!sparse_decode(data, bytes, &s))
		return 0;
	fs = mount_image(&s);
	if (!fs)
		return 0;
	vfs = open_image(&s, fs);
	if (!vfs)
		return 0;
	look(&s, vfs, fs->cache);
	MUST(vfs_close(vfs) == 0);
	return 0;
}
