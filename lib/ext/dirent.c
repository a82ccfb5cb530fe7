/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dirent.c - directory entries, and the blocks that hold them.
 *
 * Every entry is checked each time it is passed, as it costs little.
 * Checksums are verified once, when a cached block is first looked at as what
 * it is: of entries in the last twelve bytes of the block, which look like an
 * unused entry; of the index behind its entries.
 */
#include <dirent.h>
#include <errno.h>

#include "ext/dir_int.h"

enum {
	ENTRY_HEAD = 8,
	ENTRY_MIN = 12,
	TAIL_BYTES = 12,
	TAIL_TYPE = 0xde,
	LENGTH_LONG = 65535, /* stands for 65536, and so does 0 */
};

/* ---- entries ----------------------------------------------------------------- */

static int bad(const struct ext_dir_area *area, uint32_t offset,
	const char *what, struct ext_damage *damage)
{
	return EXT_DAMAGED(damage, -EUCLEAN, area->at, area->ino,
		"directory: %s at byte %u", what, offset);
}

static uint32_t length_of(struct le16 raw, uint32_t bytes)
{
	uint32_t length = le16_get(raw);

	if (bytes == UINT32_C(1) << 16 &&
		(length == LENGTH_LONG || length == 0))
		return bytes;
	return length;
}

static uint8_t type_of(uint8_t raw)
{
	static const uint8_t types[] = {DT_UNKNOWN, DT_REG, DT_DIR, DT_CHR,
		DT_BLK, DT_FIFO, DT_SOCK, DT_LNK};

	return raw < ARRAY_COUNT(types) ? types[raw] : DT_UNKNOWN;
}

static const char *name_flaw(
	const struct ext_dir_area *area, const struct ext_dirent *e)
{
	if (e->name_bytes == 0)
		return "empty name";
	if (e->name_bytes > VFS_NAME_MAX)
		return "name too long";
	if (!area->raw && (memchr(e->name, '/', e->name_bytes) ||
				  memchr(e->name, 0, e->name_bytes)))
		return "slash or NUL in a name";
	return NULL;
}

int ext_dirent_next(const struct ext_dir_area *area, uint32_t *pos,
	struct ext_dirent *out, struct ext_damage *damage)
{
	bool filetype = area->sb->features.incompat & EXT_INCOMPAT_FILETYPE;
	struct ext_disk_dirent raw;
	uint32_t at = *pos;
	uint32_t length;
	const char *flaw;

	if (at == area->bytes)
		return -ENOENT;
	if (area->bytes - at < ENTRY_HEAD)
		return bad(area, at, "no room for an entry", damage);
	memcpy(&raw, area->data + at, sizeof(raw));
	length = length_of(raw.length, area->bytes);
	*out = (struct ext_dirent){
		.ino = le32_get(raw.ino),
		.offset = at,
		.name = (const char *)area->data + at + ENTRY_HEAD,
		.name_bytes = raw.name_bytes,
	};
	if (filetype)
		out->type = type_of(raw.type);
	else
		out->name_bytes |= (uint32_t)raw.type << 8;
	if (length < ENTRY_MIN || length % 4 != 0 || length > area->bytes - at)
		return bad(area, at, "bad length of an entry", damage);
	*pos = at + length;
	if (out->ino == 0)
		return 0;
	if (out->name_bytes > length - ENTRY_HEAD)
		return bad(area, at, "name longer than its entry", damage);
	flaw = name_flaw(area, out);
	if (flaw)
		return bad(area, at, flaw, damage);
	if (out->ino > area->sb->inode_count)
		return bad(area, at, "no such inode", damage);
	return 0;
}

int ext_dirent_find(const struct ext_dir_area *area, const char *name,
	uint32_t name_bytes, struct ext_dirent *out, struct ext_damage *damage)
{
	uint32_t pos = 0;
	int err;

	do
		err = ext_dirent_next(area, &pos, out, damage);
	while (!err && (out->ino == 0 || out->name_bytes != name_bytes ||
			       memcmp(out->name, name, name_bytes) != 0));
	return err;
}

/* ---- blocks --------------------------------------------------------------------- */

struct block_check {
	const struct ext_node *dir;
	enum ext_dir_block_kind kind;
	struct ext_damage *damage;
};

static int bad_csum(const struct block_check *c, blk_no at)
{
	return EXT_DAMAGED(c->damage, -EBADMSG, at, c->dir->core.ino,
		"directory: bad checksum");
}

static int leaf_check(const struct block_check *c, blk_no at, const uint8_t *p)
{
	const struct ext_super *sb = &ext_node_mount(c->dir)->ext.super;
	const struct ext_inode *inode = &c->dir->core;
	uint32_t covered = sb->block_bytes - TAIL_BYTES;
	struct ext_disk_dir_tail tail;

	memcpy(&tail, p + covered, sizeof(tail));
	if (le32_get(tail.zero) != 0 || le16_get(tail.length) != TAIL_BYTES ||
		tail.type != TAIL_TYPE)
		return EXT_DAMAGED(c->damage, -EUCLEAN, at, inode->ino,
			"directory: no room for the checksum");
	if (le32_get(tail.checksum) !=
		ext_csum_dir(sb, inode->ino, inode->generation, p, covered))
		return bad_csum(c, at);
	return 0;
}

/* The entries of an index begin at byte @first. */
static int index_check(const struct block_check *c, blk_no at, const uint8_t *p,
	uint32_t first)
{
	const struct ext_super *sb = &ext_node_mount(c->dir)->ext.super;
	const struct ext_inode *inode = &c->dir->core;
	struct ext_disk_index_count head;
	struct ext_disk_index_tail tail;
	uint32_t limit;
	uint32_t count;

	memcpy(&head, p + first, sizeof(head));
	limit = le16_get(head.limit);
	count = le16_get(head.count);
	if (count > limit ||
		first + (limit + 1) * sizeof(struct ext_disk_index) >
			sb->block_bytes)
		return EXT_DAMAGED(c->damage, -EUCLEAN, at, inode->ino,
			"directory index: no room for the checksum");
	memcpy(&tail, p + first + limit * sizeof(struct ext_disk_index),
		sizeof(tail));
	if (le32_get(tail.checksum) !=
		ext_csum_index(sb, inode->ino, inode->generation, p,
			first + count * (uint32_t)sizeof(struct ext_disk_index),
			&tail))
		return bad_csum(c, at);
	return 0;
}

/* Nodes of the index pass for one unused entry. */
static bool looks_like_index(const uint8_t *p, uint32_t bytes)
{
	struct ext_disk_dirent raw;

	memcpy(&raw, p, sizeof(raw));
	return le32_get(raw.ino) == 0 && length_of(raw.length, bytes) == bytes;
}

static int block_check(void *arg, blk_no at, const void *data)
{
	const struct block_check *c = arg;
	const struct ext_super *sb = &ext_node_mount(c->dir)->ext.super;

	if (!sb->csum)
		return 0;
	switch (c->kind) {
	case EXT_DIR_ROOT:
		return index_check(c, at, data, EXT_INDEX_ROOT_FIRST);
	case EXT_DIR_NODE:
		return index_check(c, at, data, EXT_INDEX_NODE_FIRST);
	case EXT_DIR_ANY:
		if (looks_like_index(data, sb->block_bytes))
			return 0;
		break;
	case EXT_DIR_LEAF:
		break;
	}
	return leaf_check(c, at, data);
}

uint32_t ext_dir_blocks(const struct ext_node *dir)
{
	uint64_t blocks =
		dir->core.bytes / ext_node_mount(dir)->ext.super.block_bytes;

	if (dir->inlined)
		return 0;
	return blocks < UINT32_MAX ? (uint32_t)blocks : UINT32_MAX;
}

int ext_dir_block_get(const struct ext_node *dir, uint32_t index,
	enum ext_dir_block_kind kind, struct buf **out,
	struct ext_damage *damage)
{
	const struct ext_mount *m = ext_node_mount(dir);
	const struct ext_inode *inode = &dir->core;
	struct block_check c = {.dir = dir, .kind = kind, .damage = damage};
	struct ext_check check = {
		.as = ext_check_as(EXT_ROLE_DIR + kind, inode),
		.run = block_check,
		.arg = &c,
	};
	bool around = kind == EXT_DIR_ANY && index == 0 &&
		      inode->flags & EXT_INODE_INDEX;
	struct ext_run run;
	int err;

	if (index >= ext_dir_blocks(dir))
		return EXT_DAMAGED(damage, -EUCLEAN, inode->at, inode->ino,
			"directory: block %u is beyond its end", index);
	err = ext_map_find(m, inode, index, &run, damage);
	if (err)
		return err;
	if (run.dev == 0 || run.unwritten)
		return EXT_DAMAGED(damage, -EUCLEAN, inode->at, inode->ino,
			"directory: block %u is not mapped", index);
	return ext_buf_get(m, run.dev, around ? NULL : &check, out, damage);
}

struct ext_dir_area ext_dir_area_of(
	const struct ext_node *dir, const struct buf *buf)
{
	const struct ext_super *sb = &ext_node_mount(dir)->ext.super;

	return (struct ext_dir_area){
		.sb = sb,
		.data = buf->data,
		.bytes = sb->block_bytes,
		.at = buf->block,
		.ino = dir->core.ino,
		.raw = dir->core.flags & EXT_INODE_ENCRYPT,
	};
}
