/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fast.c - what fast commits came to: gathering the records, and inodes.
 *
 * The record of an inode leaves its map to other records, unless the map is
 * the data: of a symlink, a device, an inline file.  The block map of a file
 * without extents counts as such, too, since nothing else can say it whole.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "ext/dir_int.h"
#include "ext/fast_int.h"
#include "jnl/format.h"

enum {
	LOG_BYTES_MAX = 16 << 20, /* 256 of the largest blocks */
	NAME_MAX_BYTES = 255,
};

/* ---- records -------------------------------------------------------------------- */

int ext_fast_take(
	struct ext_fast *r, uint16_t tag, const void *body, uint32_t bytes)
{
	struct jbd_fast head = {
		.tag = le16_of(tag), .bytes = le16_of((uint16_t)bytes)};
	size_t need = r->bytes + sizeof(head) + bytes;

	if (need > LOG_BYTES_MAX)
		return -E2BIG;
	if (need > r->room) {
		size_t room = 2 * need;
		uint8_t *data = realloc(r->data, room);

		if (!data)
			return -ENOMEM;
		r->data = data;
		r->room = room;
	}
	memcpy(r->data + r->bytes, &head, sizeof(head));
	memcpy(r->data + r->bytes + sizeof(head), body, bytes);
	r->bytes = need;
	return 0;
}

void ext_fast_drop(struct ext_fast *r)
{
	free(r->data);
	*r = (struct ext_fast){0};
}

/* ---- files ------------------------------------------------------------------------- */

static int place_find(struct fast *f, struct fast_file *file)
{
	const struct ext_super *sb = &f->fs->super;
	uint32_t per_block = sb->block_bytes / sb->inode_bytes;
	uint32_t index = (file->ino - 1) % sb->inodes_per_group;
	struct ext_group g;
	int err = ext_group_read(
		f->fs, (file->ino - 1) / sb->inodes_per_group, &g, f->damage);

	if (err)
		return err;
	file->table = g.inode_table + index / per_block;
	file->offset = index % per_block * sb->inode_bytes;
	return 0;
}

/* The inode as it was. */
static int old_load(struct fast *f, struct fast_file *file)
{
	const struct ext_super *sb = &f->fs->super;
	uint8_t *block = malloc(sb->block_bytes);
	int err = block ? place_find(f, file) : -ENOMEM;

	if (!err)
		err = ext_block_read(f->fs, file->table, block, f->damage);
	if (!err) {
		memcpy(file->raw, block + file->offset, sb->inode_bytes);
		ext_inode_decode(
			sb, file->raw, file->ino, file->table, &file->old);
		file->fresh = file->old.links == 0 || file->old.mode == 0;
	}
	if (!err && !file->fresh &&
		!ext_csum_inode_ok(sb, file->ino, file->raw))
		err = EXT_DAMAGED(f->damage, -EBADMSG, file->table, file->ino,
			"inode has a bad checksum");
	if (!err && file->fresh)
		memset(file->raw, 0, sb->inode_bytes);
	free(block);
	return err;
}

static void file_free(struct fast_file *file)
{
	free(file->now.list);
	free(file->raw);
	free(file);
}

int fast_file_get(struct fast *f, uint32_t ino, struct fast_file **out)
{
	const struct ext_super *sb = &f->fs->super;
	struct fast_file **bucket = &f->files[hash_u64(ino) % FAST_BUCKETS];
	struct fast_file *file = *bucket;
	int err = -ENOMEM;

	while (file && file->ino != ino)
		file = file->next;
	if (file) {
		*out = file;
		return 0;
	}
	if (ino > sb->inode_count ||
		(ino < sb->first_ino && ino != EXT_INO_ROOT))
		return FAST_BAD(f, -EUCLEAN, ino, "no such inode");
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->ino = ino;
	file->raw = malloc(sb->inode_bytes);
	if (file->raw)
		err = old_load(f, file);
	if (err) {
		file_free(file);
		return err;
	}
	file->next = *bucket;
	*bucket = file;
	*out = file;
	return 0;
}

/* ---- the kinds of records -------------------------------------------------------------- */

static int take_span(struct fast *f, uint32_t ino, const struct fast_span *s)
{
	struct fast_file *file;
	int err = fast_file_get(f, ino, &file);

	if (!err && s->count)
		err = fast_span_put(&file->now, s);
	if (err == -E2BIG)
		err = FAST_BAD(f, err, ino, "too many ranges");
	return err;
}

static int take_add(struct fast *f, const uint8_t *body, uint32_t bytes)
{
	const struct ext_super *sb = &f->fs->super;
	struct ext_disk_fast_add add;
	struct fast_span s = {0};
	struct fast_span used;
	int err;

	if (bytes < sizeof(add))
		return FAST_BAD(f, -EUCLEAN, 0, "short record");
	memcpy(&add, body, sizeof(add));
	s.file = le32_get(add.extent.block);
	s.count = le16_get(add.extent.len);
	s.unwritten = s.count > EXT_EXTENT_INIT_MAX;
	if (s.unwritten)
		s.count -= EXT_EXTENT_INIT_MAX;
	s.dev = (blk_no)le16_get(add.extent.start_hi) << 32 |
		le32_get(add.extent.start_lo);
	if (s.dev <= ext_super_block(sb) || s.dev >= sb->block_count ||
		s.count > sb->block_count - s.dev)
		return FAST_BAD(f, -EUCLEAN, le32_get(add.ino),
			"range outside the file system");
	used = (struct fast_span){.file = s.dev, .count = s.count, .dev = 1};
	err = s.count ? fast_span_put(&f->taken, &used) : 0;
	return err ? err : take_span(f, le32_get(add.ino), &s);
}

static int take_del(struct fast *f, const uint8_t *body, uint32_t bytes)
{
	struct ext_disk_fast_del del;
	struct fast_span s = {0};

	if (bytes < sizeof(del))
		return FAST_BAD(f, -EUCLEAN, 0, "short record");
	memcpy(&del, body, sizeof(del));
	s.file = le32_get(del.block);
	s.count = le32_get(del.count);
	return take_span(f, le32_get(del.ino), &s);
}

/* Put record @from, of @bytes, over @file's inode, less what it does not
 * decide. */
static void inode_merge(struct fast *f, struct fast_file *file,
	const struct ext_disk_inode *from, uint32_t bytes)
{
	const struct ext_super *sb = &f->fs->super;
	struct ext_disk_inode *raw = fast_raw(file);
	struct ext_disk_inode before = *raw;
	bool dir = S_ISDIR(le16_get(from->mode));
	bool mapped = le32_get(from->flags) & EXT_INODE_EXTENTS;

	memcpy(raw, from, bytes);
	if (mapped)
		memcpy(raw->block, before.block, sizeof(raw->block));
	/* A directory is as large as it gets here. */
	if (dir && !file->fresh) {
		raw->size_lo = before.size_lo;
		raw->size_hi = before.size_hi;
		raw->blocks_lo = before.blocks_lo;
		raw->blocks_hi = before.blocks_hi;
	} else if (dir) {
		raw->size_lo = le32_of(sb->block_bytes);
	}
}

static int take_inode(struct fast *f, const uint8_t *body, uint32_t bytes)
{
	const struct ext_super *sb = &f->fs->super;
	struct ext_disk_inode from = {0};
	struct fast_file *file;
	struct le32 ino;
	bool other;
	int err;

	if (bytes < sizeof(ino) + EXT_OLD_INODE_BYTES ||
		bytes - sizeof(ino) > sb->inode_bytes)
		return FAST_BAD(f, -EUCLEAN, 0, "bad size of an inode");
	memcpy(&ino, body, sizeof(ino));
	bytes -= sizeof(ino);
	body += sizeof(ino);
	err = fast_file_get(f, le32_get(ino), &file);
	if (err)
		return err;
	memcpy(&from, body, bytes < sizeof(from) ? bytes : sizeof(from));
	other = le32_get(from.generation) !=
			le32_get(fast_raw(file)->generation) ||
		((le16_get(from.mode) ^ le16_get(fast_raw(file)->mode)) &
			EXT_MODE_TYPE);
	if (other && le16_get(fast_raw(file)->mode) != 0) {
		/* The number was given up, and taken again. */
		file->fresh = true;
		file->now.count = 0;
		memset(file->raw, 0, sb->inode_bytes);
	}
	inode_merge(f, file, (const struct ext_disk_inode *)(const void *)body,
		bytes);
	return 0;
}

static int name_room(struct fast *f)
{
	size_t room = f->name_room ? f->name_room * 2 : 64;
	struct fast_name *names;

	if (f->name_count < f->name_room)
		return 0;
	names = reallocarray(f->names, room, sizeof(*names));
	if (!names)
		return -ENOMEM;
	f->names = names;
	f->name_room = room;
	return 0;
}

static int take_name(
	struct fast *f, uint16_t tag, const uint8_t *body, uint32_t bytes)
{
	const struct ext_super *sb = &f->fs->super;
	struct ext_disk_fast_name head;
	struct fast_name name;
	int err = name_room(f);

	if (err)
		return err;
	if (bytes <= sizeof(head) || bytes - sizeof(head) > NAME_MAX_BYTES)
		return FAST_BAD(f, -EUCLEAN, 0, "bad length of a name");
	memcpy(&head, body, sizeof(head));
	name = (struct fast_name){
		.parent = le32_get(head.parent),
		.ino = le32_get(head.ino),
		.order = (uint32_t)f->name_count,
		.bytes = (uint8_t)(bytes - sizeof(head)),
		.text = (const char *)body + sizeof(head),
	};
	if (name.ino < sb->first_ino || name.ino > sb->inode_count)
		return FAST_BAD(f, -EUCLEAN, name.ino, "no such inode");
	if (ext_name_is_dots(name.text, name.bytes) ||
		memchr(name.text, '/', name.bytes) ||
		memchr(name.text, 0, name.bytes))
		return FAST_BAD(f, -EUCLEAN, name.parent, "impossible name");
	if (tag == JBD_FAST_UNLINK)
		name.ino = 0;
	f->names[f->name_count++] = name;
	return 0;
}

static int take(
	struct fast *f, uint16_t tag, const uint8_t *body, uint32_t bytes)
{
	switch (tag) {
	case JBD_FAST_ADD_RANGE:
		return take_add(f, body, bytes);
	case JBD_FAST_DEL_RANGE:
		return take_del(f, body, bytes);
	case JBD_FAST_CREATE:
	case JBD_FAST_LINK:
	case JBD_FAST_UNLINK:
		return take_name(f, tag, body, bytes);
	case JBD_FAST_INODE:
		return take_inode(f, body, bytes);
	default: /* HEAD, TAIL, PAD are the log's business */
		return 0;
	}
}

static int take_all(struct fast *f, const struct ext_fast *r)
{
	size_t at = 0;
	int err = 0;

	while (!err && at < r->bytes) {
		struct jbd_fast head;
		uint32_t bytes;

		memcpy(&head, r->data + at, sizeof(head));
		bytes = le16_get(head.bytes);
		at += sizeof(head);
		err = take(f, le16_get(head.tag), r->data + at, bytes);
		at += bytes;
	}
	return err;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int file_write(struct fast *f, struct fast_file *file)
{
	const struct ext_super *sb = &f->fs->super;
	void *block;
	int err = fast_map_write(f, file);

	if (!err)
		err = jnl_overlay_edit(f->o, file->table, &block);
	if (err)
		return err;
	ext_csum_inode_set(sb, file->ino, file->raw);
	memcpy((uint8_t *)block + file->offset, file->raw, sb->inode_bytes);
	return 0;
}

static int files_write(struct fast *f)
{
	int err = 0;

	for (size_t i = 0; i < FAST_BUCKETS; i++)
		for (struct fast_file *file = f->files[i]; !err && file;
			file = file->next)
			err = file_write(f, file);
	return err;
}

static void fast_fini(struct fast *f)
{
	for (size_t i = 0; i < FAST_BUCKETS; i++)
		while (f->files[i]) {
			struct fast_file *file = f->files[i];

			f->files[i] = file->next;
			file_free(file);
		}
	free(f->names);
	free(f->taken.list);
	free(f->bitmap);
	free(f);
}

int ext_fast_apply(const struct ext *fs, const struct ext_fast *r,
	struct jnl_overlay *o, struct ext_damage *damage)
{
	struct fast *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->fs = fs;
	f->o = o;
	f->damage = damage;
	err = take_all(f, r);
	if (!err)
		err = fast_names_apply(f);
	if (!err)
		err = files_write(f);
	fast_fini(f);
	return err;
}
