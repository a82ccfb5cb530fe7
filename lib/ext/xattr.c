/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xattr.c - extended attributes as they lie on disk.
 *
 * Two places hold entries: what is left of a large inode, and one block, which
 * several inodes may share.  Values lie at the far end of the same place, or
 * fill an inode of their own.
 *
 *     | entry entry entry 0000        value value |
 *       ^ entries grow -->        <-- values grow
 *     ^ a block begins with a header, which values are counted from
 */
#include <errno.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "ext/xattr_int.h"

enum { END_BYTES = 4, INLINE_INDEX = 7, ACL_INDEX = 2 };

static int bad(
	const struct ext_xattrs *x, const char *what, struct ext_damage *damage)
{
	return EXT_DAMAGED(damage, -EUCLEAN, x->at, x->ino,
		"extended attributes: %s", what);
}

int ext_xattr_next(const struct ext_xattrs *x, uint32_t *pos,
	struct ext_xattr *out, struct ext_damage *damage)
{
	struct ext_disk_xattr raw;
	uint32_t at = *pos;
	uint32_t end;

	if (x->bytes < END_BYTES || at > x->bytes - END_BYTES)
		return bad(x, "no end of the entries", damage);
	if (memcmp(x->data + at, "\0\0\0", END_BYTES) == 0)
		return -ENODATA;
	if (x->bytes - at < sizeof(raw))
		return bad(x, "entry out of bounds", damage);
	memcpy(&raw, x->data + at, sizeof(raw));
	end = at + (uint32_t)sizeof(raw) + raw.name_bytes;
	if (end > x->bytes)
		return bad(x, "name out of bounds", damage);
	*out = (struct ext_xattr){
		.index = raw.name_index,
		.name = (const char *)x->data + at + sizeof(raw),
		.name_bytes = raw.name_bytes,
		.value_bytes = le32_get(raw.value_bytes),
		.value_inum = le32_get(raw.value_inum),
	};
	if (memchr(out->name, 0, out->name_bytes))
		return bad(x, "NUL in a name", damage);
	if (out->value_inum == 0 && out->value_bytes != 0) {
		uint32_t offset = le16_get(raw.value_offset);

		if (offset > x->bytes || out->value_bytes > x->bytes - offset)
			return bad(x, "value out of bounds", damage);
		out->value = x->data + offset;
	}
	*pos = (end + 3) & ~UINT32_C(3);
	return 0;
}

static bool is_named(const struct ext_xattr *e, uint8_t index, const char *name,
	size_t name_bytes)
{
	return e->index == index && e->name_bytes == name_bytes &&
	       memcmp(e->name, name, name_bytes) == 0;
}

int ext_xattr_find(const struct ext_xattrs *x, uint8_t index, const char *name,
	size_t name_bytes, struct ext_xattr *out, struct ext_damage *damage)
{
	uint32_t pos = x->first;
	int err;

	do
		err = ext_xattr_next(x, &pos, out, damage);
	while (!err && !is_named(out, index, name, name_bytes));
	return err;
}

/* ---- inside the inode ------------------------------------------------------------ */

struct ext_xattrs ext_body_xattrs(const struct ext_node *node)
{
	return (struct ext_xattrs){
		.data = node->body,
		.bytes = node->body_bytes,
		.at = node->core.at,
		.ino = node->core.ino,
	};
}

int ext_body_inline(const struct ext_node *node, const uint8_t **value,
	uint32_t *bytes, struct ext_damage *damage)
{
	struct ext_xattrs x = ext_body_xattrs(node);
	struct ext_xattr e;
	int err;

	if (!node->body)
		return 0;
	err = ext_xattr_find(&x, INLINE_INDEX, "data", 4, &e, damage);
	if (err == -ENODATA)
		return 0;
	if (!err && e.value_inum != 0)
		err = bad(&x, "inline data in another inode", damage);
	if (!err) {
		*value = e.value;
		*bytes = e.value_bytes;
	}
	return err;
}

/* ---- blocks ------------------------------------------------------------------------- */

struct block_check {
	const struct ext_mount *m;
	uint32_t ino;
	struct ext_damage *damage;
};

static uint32_t block_csum(
	const struct ext_super *sb, blk_no at, const uint8_t *data)
{
	static const uint8_t zeroes[4];
	const size_t hole = offsetof(struct ext_disk_xattr_head, checksum);
	struct le64 number = le64_of(at);
	uint32_t crc = crc32c(sb->csum_seed, &number, sizeof(number));

	crc = crc32c(crc, data, hole);
	crc = crc32c(crc, zeroes, sizeof(zeroes));
	return crc32c(crc, data + hole + sizeof(zeroes),
		sb->block_bytes - hole - sizeof(zeroes));
}

static const char *head_flaw(const struct ext_disk_xattr_head *head)
{
	if (le32_get(head->magic) != EXT_XATTR_MAGIC)
		return "block has no magic number";
	if (le32_get(head->blocks) != 1)
		return "more than one block";
	return NULL;
}

static int block_check(void *arg, blk_no at, const void *data)
{
	const struct block_check *c = arg;
	const struct ext_super *sb = &c->m->ext.super;
	const struct ext_disk_xattr_head *head = data;
	const char *flaw = head_flaw(head);

	if (flaw)
		return EXT_DAMAGED(c->damage, -EUCLEAN, at, c->ino,
			"extended attributes: %s", flaw);
	if (sb->csum && le32_get(head->checksum) != block_csum(sb, at, data))
		return EXT_DAMAGED(c->damage, -EBADMSG, at, c->ino,
			"extended attributes: bad checksum");
	return 0;
}

/* The entries of a block that lies at @data. */
static int block_take(const struct ext_mount *m, const struct ext_inode *inode,
	const void *data, ext_xattrs_fn fn, void *arg,
	struct ext_damage *damage)
{
	struct ext_xattrs x = {
		.data = data,
		.bytes = m->ext.super.block_bytes,
		.first = sizeof(struct ext_disk_xattr_head),
		.at = inode->xattr_block,
		.ino = inode->ino,
	};

	return fn(&x, arg, damage);
}

/*
 * Many inodes share a block, so one that is cached is looked at without a pin.
 * Buffers do not change while the file system is mounted for reading.
 */
int ext_xattr_block(const struct ext_mount *m, const struct ext_inode *inode,
	ext_xattrs_fn fn, void *arg, struct ext_damage *damage)
{
	struct block_check c = {.m = m, .ino = inode->ino, .damage = damage};
	struct ext_check check = {
		.as = ext_check_as(EXT_ROLE_XATTR, NULL),
		.run = block_check,
		.arg = &c,
	};
	struct buf *buf;
	int err;

	err = ext_layout_check(
		m, inode, inode->at, inode->xattr_block, 1, damage);
	if (err)
		return err;
	rcu_begin();
	buf = cache_peek_rcu(m->fs.cache, inode->xattr_block);
	if (buf && !ext_buf_is(buf, check.as))
		buf = NULL;
	if (buf)
		err = block_take(m, inode, buf->data, fn, arg, damage);
	rcu_end();
	if (buf)
		return err;
	err = ext_buf_get(m, inode->xattr_block, &check, &buf, damage);
	if (err)
		return err;
	err = block_take(m, inode, buf->data, fn, arg, damage);
	buf_put(buf);
	return err;
}

/* ---- values in inodes ----------------------------------------------------------------- */

/* The hash of a value is kept where others have their time of access.  Lustre,
 * which had such inodes first, notes the owner there instead. */
static bool value_is_of(const struct ext_inode *owner,
	const struct ext_inode *holder, uint32_t hash)
{
	if ((uint32_t)holder->atime.seconds == hash)
		return true;
	return (uint32_t)holder->mtime.seconds == owner->ino &&
	       holder->generation == owner->generation;
}

/* The seed of these hashes exists without metadata_csum, too. */
static uint32_t value_seed(const struct ext_super *sb)
{
	return sb->csum ? sb->csum_seed
			: crc32c(~0U, sb->uuid, sizeof(sb->uuid));
}

static int holder_get(const struct ext_mount *m, const struct ext_inode *owner,
	uint32_t ino, uint32_t bytes, struct ext_inode *out,
	struct ext_damage *damage)
{
	const uint8_t *raw;
	struct buf *buf;
	int err = ext_inode_get(m, ino, out, &buf, &raw, damage);

	if (err)
		return err;
	buf_put(buf);
	if (!(out->flags & EXT_INODE_EA_INODE) || !S_ISREG(out->mode) ||
		out->bytes != bytes ||
		out->flags & (EXT_INODE_INLINE_DATA | EXT_INODE_ENCRYPT))
		return EXT_DAMAGED(damage, -EUCLEAN, out->at, ino,
			"does not hold the attribute of inode %u", owner->ino);
	return 0;
}

int ext_xattr_outside(const struct ext_mount *m, const struct ext_inode *owner,
	uint32_t ino, uint32_t bytes, void *to, struct ext_damage *damage)
{
	struct ext_inode holder;
	int err = holder_get(m, owner, ino, bytes, &holder, damage);

	if (!err)
		err = ext_read_plain(m, &holder, 0, bytes, to, damage);
	if (!err && !value_is_of(owner, &holder,
			    crc32c(value_seed(&m->ext.super), to, bytes)))
		err = EXT_DAMAGED(damage, -EBADMSG, holder.at, ino,
			"value of an attribute of inode %u has a bad hash",
			owner->ino);
	return err;
}

/* ---- access lists, as far as loading an inode cares --------------------------------------- */

static int look_for_acl(
	const struct ext_xattrs *x, void *arg, struct ext_damage *damage)
{
	struct ext_xattr e;
	bool *found = arg;
	int err = ext_xattr_find(x, ACL_INDEX, "", 0, &e, damage);

	if (!err)
		*found = true;
	return err;
}

/* Damage counts as a list, so that whoever checks permissions meets it. */
bool ext_has_acl(const struct ext_node *node)
{
	struct ext_xattrs x = ext_body_xattrs(node);
	bool found = false;
	int err = -ENODATA;

	if (S_ISLNK(node->core.mode))
		return false;
	if (node->body)
		err = look_for_acl(&x, &found, NULL);
	if (err == -ENODATA && node->core.xattr_block)
		err = ext_xattr_block(ext_node_mount(node), &node->core,
			look_for_acl, &found, NULL);
	return found || (err && err != -ENODATA);
}
