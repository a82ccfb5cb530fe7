/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * journal.c - finding the log of a file system: by its inode, by the copy of
 * that inode's map in the superblock, or on a device of its own.
 */
#include <errno.h>
#include <stdlib.h>

#include "ext/ext_int.h"
#include "jnl/format.h"

/* Whether there is a journal superblock at all; what it says is for lib/jnl
 * to judge. */
static int log_check(const struct jnl_place *place, struct ext_damage *damage)
{
	/* Inside a file system place->super is 0, outside the map is 1:1. */
	blk_no at = place->map[0].dev + place->super;
	uint8_t *buf = malloc(place->block_bytes);
	struct jbd_header head = {0};
	uint32_t type;
	int err;

	if (!buf)
		return -ENOMEM;
	err = blk_read(
		place->dev, at * place->block_bytes, place->block_bytes, buf);
	if (!err)
		memcpy(&head, buf, sizeof(head));
	free(buf);
	if (err)
		return EXT_DAMAGED(damage, err, at, 0,
			"cannot read the journal superblock");
	type = be32_get(head.type);
	if (be32_get(head.magic) != JBD_MAGIC ||
		(type != JBD_SUPER_V1 && type != JBD_SUPER_V2))
		return EXT_DAMAGED(damage, -EUCLEAN, at, 0,
			"the log has no journal superblock");
	return 0;
}

/* ---- inside the file system ---------------------------------------------- */

static int from_map(const struct ext *fs, const struct ext_inode *inode,
	bool check_csum, struct ext_journal *out, struct ext_damage *damage)
{
	struct jnl_extent *map;
	uint32_t count;
	int err = ext_jmap_build(fs, inode, check_csum, &map, &count, damage);

	if (err)
		return err;
	out->place = (struct jnl_place){
		.dev = fs->dev,
		.block_bytes = fs->super.block_bytes,
		.map = map,
		.map_count = count,
	};
	err = log_check(&out->place, damage);
	if (err)
		free(map);
	return err;
}

static int from_inode(const struct ext *fs, struct ext_journal *out,
	struct ext_damage *damage)
{
	struct ext_inode inode;
	int err = ext_inode_read(fs, fs->super.journal_inum, &inode, damage);

	if (err)
		return err;
	if ((inode.mode & EXT_MODE_TYPE) != EXT_MODE_REG || inode.links == 0)
		return EXT_DAMAGED(damage, -EUCLEAN, inode.at, inode.ino,
			"the journal inode is not a file in use");
	out->source = EXT_JOURNAL_INODE;
	return from_map(fs, &inode, true, out, damage);
}

/* The copy has no flags: the root of an extent tree shows by its header,
 * whose values no block map that mkfs ever made begins with. */
static bool looks_like_extents(const uint8_t *block)
{
	struct ext_disk_extent_head head;

	memcpy(&head, block, sizeof(head));
	return le16_get(head.magic) == EXT_EXTENT_MAGIC &&
	       le16_get(head.max) == EXT_EXTENT_ROOT_MAX &&
	       le16_get(head.entries) <= EXT_EXTENT_ROOT_MAX &&
	       le16_get(head.depth) <= EXT_EXTENT_DEPTH_MAX;
}

static int from_backup(const struct ext *fs, struct ext_journal *out,
	struct ext_damage *damage)
{
	const struct le32 *words = fs->super.jnl_blocks;
	struct ext_inode inode = {
		.ino = fs->super.journal_inum,
		.at = ext_super_block(&fs->super),
		.bytes = (uint64_t)le32_get(words[EXT_MAP_WORDS]) << 32 |
			 le32_get(words[EXT_MAP_WORDS + 1]),
	};

	memcpy(inode.block, words, sizeof(inode.block));
	if (looks_like_extents(inode.block))
		inode.flags = EXT_INODE_EXTENTS;
	out->source = EXT_JOURNAL_BACKUP;
	return from_map(fs, &inode, false, out, damage);
}

static int find_inside(const struct ext *fs, struct ext_journal *out,
	struct ext_damage *damage)
{
	struct ext_damage first = {.block = LOG_NO_BLOCK};
	int err = from_inode(fs, out, &first);

	if (!err)
		return 0;
	if ((err == -EUCLEAN || err == -EBADMSG) && fs->super.has_jnl_backup &&
		!from_backup(fs, out, NULL)) {
		log_block(LOG_WARN, "ext", first.block,
			"journal inode %u cannot be used (%s); using the copy "
			"of its block map in the superblock",
			fs->super.journal_inum, first.why);
		return 0;
	}
	if (damage)
		*damage = first;
	return err;
}

/* ---- on a device of its own ---------------------------------------------- */

int ext_journal_of_dev(const struct ext *fs, struct ext_journal *out,
	struct ext_damage *damage)
{
	blk_no super = ext_super_block(&fs->super) + 1;
	blk_no blocks = fs->super.block_count;
	struct jnl_extent *map;
	struct ext_journal j;
	int err;

	if (blocks <= super + 1 || blocks > UINT32_MAX)
		return EXT_DAMAGED(damage, -EUCLEAN, LOG_NO_BLOCK, 0,
			"a journal device cannot have %llu blocks",
			(unsigned long long)blocks);
	map = calloc(1, sizeof(*map));
	if (!map)
		return -ENOMEM;
	map[0] = (struct jnl_extent){.count = (uint32_t)blocks};
	j = (struct ext_journal){
		.place =
			{
				.dev = fs->dev,
				.block_bytes = fs->super.block_bytes,
				.super = (uint32_t)super,
				.map = map,
				.map_count = 1,
				.external = true,
			},
		.source = EXT_JOURNAL_DEVICE,
	};
	err = log_check(&j.place, damage);
	if (err)
		free(map);
	else
		*out = j;
	return err;
}

static int match_outside(
	const struct ext *fs, const struct ext *log, struct ext_damage *damage)
{
	if (!ext_is_journal_dev(log))
		return EXT_DAMAGED(damage, -ENXIO, LOG_NO_BLOCK, 0,
			"not a journal device");
	if (memcmp(log->super.uuid, fs->super.journal_uuid,
		    sizeof(log->super.uuid)) != 0)
		return EXT_DAMAGED(damage, -ENXIO, LOG_NO_BLOCK, 0,
			"the journal of another file system (uuid differs)");
	if (log->super.block_bytes != fs->super.block_bytes)
		return EXT_DAMAGED(damage, -EUCLEAN, LOG_NO_BLOCK, 0,
			"blocks of %u bytes, the file system's have %u",
			log->super.block_bytes, fs->super.block_bytes);
	return 0;
}

static int find_outside(const struct ext *fs, struct blk_dev *outside,
	struct ext_journal *out, struct ext_damage *damage)
{
	struct ext *log;
	int err = ext_open(outside, &log, damage);

	if (!err) {
		err = match_outside(fs, log, damage);
		if (!err)
			err = ext_journal_of_dev(log, out, damage);
		ext_close(log);
	}
	if (err && damage)
		damage->outside = true;
	return err;
}

/* ---- either -------------------------------------------------------------- */

int ext_journal_find(const struct ext *fs, struct blk_dev *outside,
	struct ext_journal *out, struct ext_damage *damage)
{
	struct ext_journal j;
	int err;

	if (!(fs->super.features.compat & EXT_COMPAT_HAS_JOURNAL))
		return EXT_DAMAGED(damage, -ENOENT, LOG_NO_BLOCK, 0,
			"the file system has no journal");
	if (fs->super.journal_inum != 0 && outside)
		return EXT_DAMAGED(damage, -ENXIO, LOG_NO_BLOCK, 0,
			"the journal is inside the file system");
	if (fs->super.journal_inum == 0 && !outside)
		return EXT_DAMAGED(damage, -ENOENT, LOG_NO_BLOCK, 0,
			"the journal is on another device");
	if (outside)
		err = find_outside(fs, outside, &j, damage);
	else
		err = find_inside(fs, &j, damage);
	if (!err)
		*out = j;
	return err;
}

void ext_journal_drop(struct ext_journal *j)
{
	free((void *)j->place.map);
	j->place.map = NULL;
}
