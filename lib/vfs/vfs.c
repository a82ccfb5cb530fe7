/* SPDX-License-Identifier: BSD-2-Clause */
/* vfs.c - a namespace opens and closes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vfs/vfs_int.h"

enum { ENTRIES_DEFAULT = 65536, ENTRIES_LEAST = 64 };

static struct lock_class class_mount = {
	.name = "vfs.mount", .rank = RANK_MOUNT};
static struct lock_class class_dentry = {
	.name = "vfs.dentry", .rank = RANK_HASH};
static struct lock_class class_inode = {.name = "vfs.inode", .rank = RANK_HASH};
static struct lock_class class_clock = {
	.name = "vfs.clock", .rank = RANK_CACHE};

enum { TALLIES = 5 };

static void vfs_tallies(struct vfs *vfs, struct tally *out[TALLIES])
{
	out[0] = &vfs->dentry_count;
	out[1] = &vfs->inode_count;
	out[2] = &vfs->lookup_count;
	out[3] = &vfs->fallback_count;
	out[4] = &vfs->evict_count;
}

static int open_clocks(struct vfs *vfs)
{
	uint32_t count = cpu_count();
	size_t bytes = count * sizeof(struct vfs_clock);

	vfs->clock = aligned_alloc(LINE_BYTES, bytes);
	if (vfs->clock == NULL)
		return -ENOMEM;
	memset(vfs->clock, 0, bytes);
	vfs->clock_count = count;
	for (uint32_t i = 0; i < count; i++) {
		mtx_init(&vfs->clock[i].lock, &class_clock);
		list_init(&vfs->clock[i].hand);
	}
	return 0;
}

static void vfs_free(struct vfs *vfs)
{
	struct tally *tally[TALLIES];

	vfs_tallies(vfs, tally);
	for (unsigned i = 0; i < TALLIES; i++)
		tally_fini(tally[i]);
	vfs_table_fini(&vfs->dentries);
	vfs_table_fini(&vfs->inodes);
	free(vfs->clock);
	free(vfs);
}

int vfs_open(const struct vfs_opts *opts, struct vfs **out)
{
	struct vfs *vfs = aligned_alloc(LINE_BYTES, sizeof(*vfs));
	struct tally *tally[TALLIES];
	int err = 0;

	if (vfs == NULL)
		return -ENOMEM;
	memset(vfs, 0, sizeof(*vfs));
	vfs->walk = opts->walk;
	vfs->limit = opts->cache_entries != 0 ? opts->cache_entries
					      : ENTRIES_DEFAULT;
	if (vfs->limit < ENTRIES_LEAST)
		vfs->limit = ENTRIES_LEAST;
	mtx_init(&vfs->mount_lock, &class_mount);
	list_init(&vfs->mounts);
	vfs_tallies(vfs, tally);
	for (unsigned i = 0; err == 0 && i < TALLIES; i++)
		err = tally_init(tally[i]);
	if (err == 0)
		err = vfs_table_init(&vfs->dentries, vfs->limit, &class_dentry);
	if (err == 0)
		err = vfs_table_init(&vfs->inodes, vfs->limit, &class_inode);
	if (err == 0)
		err = open_clocks(vfs);
	if (err != 0) {
		vfs_free(vfs);
		return err;
	}
	*out = vfs;
	return 0;
}

int vfs_close(struct vfs *vfs)
{
	int err = vfs_unmount_all(vfs);

	if (err == -EBUSY)
		return err;
	rcu_drain();
	vfs_free(vfs);
	return err;
}

void vfs_stats_read(struct vfs *vfs, struct vfs_stats *out)
{
	*out = (struct vfs_stats){
		.walks_ref = (uint64_t)tally_sum(&vfs->fallback_count),
		.lookups = (uint64_t)tally_sum(&vfs->lookup_count),
		.dentries = (uint64_t)tally_sum(&vfs->dentry_count),
		.inodes = (uint64_t)tally_sum(&vfs->inode_count),
		.evicted = (uint64_t)tally_sum(&vfs->evict_count)};
}
