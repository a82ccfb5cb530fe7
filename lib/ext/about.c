/* SPDX-License-Identifier: BSD-2-Clause */
/* about.c - see about.h. */
#include "ext/about.h"

#include <errno.h>
#include <stdlib.h>

#include "ext/mount_int.h"
#include "jnl/format.h"

/* What the drivers of the kernel for ext2 and ext3 can do. */
enum {
	EXT2_INCOMPAT = EXT_INCOMPAT_FILETYPE | EXT_INCOMPAT_META_BG,
	EXT3_INCOMPAT = EXT2_INCOMPAT | EXT_INCOMPAT_RECOVER,
	EXT3_RO_COMPAT = EXT_RO_COMPAT_SPARSE_SUPER | EXT_RO_COMPAT_LARGE_FILE |
			 EXT_RO_COMPAT_BTREE_DIR,
};

unsigned ext_family(const struct ext_features *f)
{
	bool old = !(f->ro_compat & ~(uint32_t)EXT3_RO_COMPAT);

	if (f->compat & EXT_COMPAT_HAS_JOURNAL)
		return old && !(f->incompat & ~(uint32_t)EXT3_INCOMPAT) ? 3 : 4;
	return old && !(f->incompat & ~(uint32_t)EXT2_INCOMPAT) ? 2 : 4;
}

static int64_t time_of(struct le32 lo, uint8_t hi)
{
	return (int64_t)hi << 32 | le32_get(lo);
}

/* @to has a byte more than @from, for the end. */
static void text(char *to, const char *from, size_t bytes)
{
	memcpy(to, from, bytes);
	to[bytes] = '\0';
}

static void about_times(const struct ext_disk_super *raw, struct ext_about *a)
{
	const struct ext_disk_time_hi *hi = &raw->time_hi;

	a->created = time_of(raw->mkfs_time, hi->mkfs);
	a->mounted = time_of(raw->mtime, hi->mount);
	a->written = time_of(raw->wtime, hi->write);
	a->checked = time_of(raw->lastcheck, hi->lastcheck);
	a->check_interval = le32_get(raw->checkinterval);
	a->mount_count = le16_get(raw->mnt_count);
	a->mount_count_max = (int16_t)le16_get(raw->max_mnt_count);
}

static void about_errors(const struct ext_disk_super *raw, struct ext_about *a)
{
	const struct ext_disk_errors *e = &raw->errors;
	const struct ext_disk_time_hi *hi = &raw->time_hi;

	a->error_count = le32_get(e->count);
	a->first_error = (struct ext_error_note){
		.seconds = time_of(e->first_time, hi->first_error),
		.inode = le32_get(e->first_ino),
		.block = le64_get(e->first_block),
		.line = le32_get(e->first_line),
	};
	a->last_error = (struct ext_error_note){
		.seconds = time_of(e->last_time, hi->last_error),
		.inode = le32_get(e->last_ino),
		.block = le64_get(e->last_block),
		.line = le32_get(e->last_line),
	};
	text(a->first_error.function, e->first_func, sizeof(e->first_func));
	text(a->last_error.function, e->last_func, sizeof(e->last_func));
}

/* Fields that mean nothing in revision 0 are left at zero then. */
static void about_dynamic(const struct ext_disk_super *raw, struct ext_about *a)
{
	const struct ext_features *f = &a->super.features;

	text(a->last_mounted, raw->last_mounted, sizeof(raw->last_mounted));
	text(a->mount_opts, raw->mount_opts, sizeof(raw->mount_opts));
	a->default_mount_opts = le32_get(raw->default_mount_opts);
	a->super_flags = le32_get(raw->flags);
	a->written_kib = le64_get(raw->kbytes_written);
	a->extra_min = le16_get(raw->min_extra_isize);
	a->extra_want = le16_get(raw->want_extra_isize);
	a->raid_stride = le16_get(raw->raid_stride);
	a->raid_stripe_width = le32_get(raw->raid_stripe_width);
	if (f->incompat & EXT_INCOMPAT_FLEX_BG && raw->log_groups_per_flex < 32)
		a->flex_groups = UINT32_C(1) << raw->log_groups_per_flex;
	a->hash_version = raw->def_hash_version;
	memcpy(a->hash_seed, raw->hash_seed, sizeof(a->hash_seed));
	a->encoding = le16_get(raw->encoding);
	a->encoding_flags = le16_get(raw->encoding_flags);
	if (f->incompat & EXT_INCOMPAT_MMP) {
		a->mmp_block = le64_get(raw->mmp_block);
		a->mmp_seconds = le16_get(raw->mmp_interval);
	}
	a->last_orphan = le32_get(raw->last_orphan);
	if (f->compat & EXT_COMPAT_ORPHAN_FILE)
		a->orphan_file = le32_get(raw->orphan_file_inum);
	a->quota[0] = le32_get(raw->usr_quota_inum);
	a->quota[1] = le32_get(raw->grp_quota_inum);
	a->quota[2] = le32_get(raw->prj_quota_inum);
	about_errors(raw, a);
}

static void about_decode(const struct ext_disk_super *raw, struct ext_about *a)
{
	a->family = ext_family(&a->super.features);
	a->revision = le32_get(raw->rev_level);
	a->minor_revision = le16_get(raw->minor_rev_level);
	a->creator_os = le32_get(raw->creator_os);
	a->on_error = le16_get(raw->on_error);
	a->reserved_uid = le16_get(raw->def_resuid);
	a->reserved_gid = le16_get(raw->def_resgid);
	if (a->super.csum) {
		a->checksum_type = raw->checksum_type;
		a->checksum = le32_get(raw->checksum);
	}
	about_times(raw, a);
	if (a->revision > 0)
		about_dynamic(raw, a);
}

/* The superblock that is to be shown, as it lies there. */
static int raw_find(struct blk_dev *dev, uint64_t block, uint32_t block_bytes,
	struct ext_disk_super *raw, struct ext_super *out,
	struct ext_damage *damage)
{
	int err = -EUCLEAN;

	if (block == 0) {
		err = ext_super_read(dev, raw, damage);
		if (!err)
			err = ext_super_decode(raw, out, damage);
		if (!err)
			return 0;
		if (err != -EUCLEAN && err != -EBADMSG && err != -EIO)
			return err;
	}
	err = ext_super_find(dev, block, block_bytes, out, damage);
	if (!err)
		err = ext_super_read_at(dev,
			out->at == ext_super_block(out)
				? EXT_SUPER_OFFSET
				: out->at * out->block_bytes,
			raw, damage);
	return err;
}

int ext_about_read(struct blk_dev *dev, uint64_t block, uint32_t block_bytes,
	struct ext_about *out, struct ext_damage *damage)
{
	struct ext_about a = {.damage = {.block = LOG_NO_BLOCK}};
	struct ext_disk_super raw;
	int err = raw_find(dev, block, block_bytes, &raw, &a.super, damage);

	if (err)
		return err;
	about_decode(&raw, &a);
	a.error = ext_super_admit(&a.super, dev, &a.damage);
	*out = a;
	return 0;
}

int ext_about_journal(const struct ext_journal *j, struct jnl_super *out,
	struct ext_damage *damage)
{
	const struct jnl_place *place = &j->place;
	blk_no at = place->map[0].dev + place->super;
	uint8_t *block = malloc(place->block_bytes);
	char why[sizeof(damage->why)] = "";
	struct jbd_super raw;
	int err;

	if (!block)
		return -ENOMEM;
	err = blk_read(
		place->dev, at * place->block_bytes, place->block_bytes, block);
	memcpy(&raw, block, sizeof(raw));
	free(block);
	if (err)
		return EXT_DAMAGED(damage, err, at, 0, "cannot be read");
	err = jnl_super_decode(&raw, place->block_bytes,
		jnl_place_blocks(place), out, why, sizeof(why));
	if (err)
		ext_damage_say(damage, at, 0, "%s", why);
	return err;
}
