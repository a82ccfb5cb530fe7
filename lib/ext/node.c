/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node.c - from an inode on disk to one of the VFS.
 *
 * What a cached inode is asked for often is taken along when it is loaded:
 * attributes, a symlink's target, the attributes and the data inside it.  So
 * later calls need no block of the inode table, which neighbours share.
 */
#include <errno.h>
#include <stdlib.h>

#include "ext/mount_int.h"

/* ---- finding --------------------------------------------------------------- */

static int table_find(const struct ext_mount *m, uint32_t group, blk_no *table,
	struct ext_damage *damage)
{
	const struct ext_super *sb = &m->ext.super;
	uint32_t per_block = sb->block_bytes / sb->desc_bytes;
	blk_no at = ext_desc_block(sb, group / per_block);
	struct ext_group g;
	struct buf *buf;
	int err = ext_buf_get(m, at, NULL, &buf, damage);

	if (err)
		return err;
	err = ext_group_decode(sb, group,
		(const uint8_t *)buf->data +
			(size_t)(group % per_block) * sb->desc_bytes,
		at, &g, damage);
	buf_put(buf);
	if (!err)
		*table = g.inode_table;
	return err;
}

int ext_inode_get(const struct ext_mount *m, uint32_t ino,
	struct ext_inode *out, struct buf **buf, const uint8_t **raw,
	struct ext_damage *damage)
{
	const struct ext_super *sb = &m->ext.super;
	uint32_t per_block = sb->block_bytes / sb->inode_bytes;
	uint32_t index;
	struct buf *b;
	blk_no at;
	int err;

	if (ino == 0 || ino > sb->inode_count)
		return EXT_DAMAGED(
			damage, -EUCLEAN, LOG_NO_BLOCK, ino, "no such inode");
	index = (ino - 1) % sb->inodes_per_group;
	err = table_find(m, (ino - 1) / sb->inodes_per_group, &at, damage);
	if (err)
		return err;
	at += index / per_block;
	err = ext_buf_get(m, at, NULL, &b, damage);
	if (err)
		return err;
	*raw = (const uint8_t *)b->data +
	       (size_t)(index % per_block) * sb->inode_bytes;
	if (!ext_csum_inode_ok(sb, ino, *raw)) {
		buf_put(b);
		return EXT_DAMAGED(
			damage, -EBADMSG, at, ino, "inode has a bad checksum");
	}
	ext_inode_decode(sb, *raw, ino, at, out);
	*buf = b;
	return 0;
}

/* ---- checking ----------------------------------------------------------------- */

static int bad(const struct ext_inode *inode, struct ext_damage *damage,
	const char *what, uint64_t value)
{
	return EXT_DAMAGED(damage, -EUCLEAN, inode->at, inode->ino,
		"inode: %s (%#llx)", what, (unsigned long long)value);
}

static bool type_known(uint16_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFLNK:
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		return true;
	default:
		return false;
	}
}

static int inode_check(const struct ext_super *sb,
	const struct ext_inode *inode, struct ext_damage *damage)
{
	uint32_t room = sb->inode_bytes - EXT_OLD_INODE_BYTES;

	if (inode->links == 0)
		return bad(inode, damage, "in use, but free", inode->mode);
	if (!type_known(inode->mode))
		return bad(inode, damage, "unknown type", inode->mode);
	if (inode->ino == EXT_INO_ROOT && !S_ISDIR(inode->mode))
		return bad(
			inode, damage, "the root is no directory", inode->mode);
	if (inode->bytes > INT64_MAX)
		return bad(inode, damage, "bad size", inode->bytes);
	if (room != 0 && (inode->extra > room || inode->extra % 4 != 0))
		return bad(inode, damage, "bad extra size", inode->extra);
	if (inode->flags & EXT_INODE_EA_INODE)
		return bad(inode, damage,
			"holds an attribute's value, but "
			"has a name",
			inode->flags);
	return 0;
}

/* A directory has no holes, so it cannot be larger than the file system. */
static int dir_check(const struct ext_super *sb, const struct ext_inode *inode,
	struct ext_damage *damage)
{
	if (inode->flags & EXT_INODE_INLINE_DATA)
		return 0;
	if (inode->bytes % sb->block_bytes != 0 ||
		inode->bytes / sb->block_bytes > sb->block_count)
		return bad(
			inode, damage, "bad size of a directory", inode->bytes);
	return 0;
}

/* ---- attributes ------------------------------------------------------------------ */

static uint32_t word_of(const struct ext_inode *inode, unsigned i)
{
	struct le32 raw;

	memcpy(&raw, inode->block + i * sizeof(raw), sizeof(raw));
	return le32_get(raw);
}

/* The first word holds numbers of 8 bits, or is 0 and the second has 12 bits
 * of major and 20 of minor number, these in two parts. */
static void device_decode(const struct ext_inode *inode, struct vfs_attr *attr)
{
	uint32_t small = word_of(inode, 0);
	uint32_t large = word_of(inode, 1);

	if (!S_ISCHR(inode->mode) && !S_ISBLK(inode->mode))
		return;
	if (small != 0) {
		attr->device_major = small >> 8 & 0xff;
		attr->device_minor = small & 0xff;
	} else {
		attr->device_major = large >> 8 & 0xfff;
		attr->device_minor = (large & 0xff) | (large >> 12 & 0xfff00);
	}
}

static struct vfs_time time_copy(struct ext_time t)
{
	return (struct vfs_time){
		.seconds = t.seconds, .nanoseconds = t.nanoseconds};
}

static void attr_set(const struct ext_super *sb, struct ext_node *node)
{
	const struct ext_inode *inode = &node->core;
	struct vfs_attr attr = {
		.ino = inode->ino,
		.size = inode->bytes,
		.blocks = inode->sectors,
		.mode = inode->mode,
		.uid = inode->uid,
		.gid = inode->gid,
		.link_count = inode->links,
		.generation = inode->generation,
		.block_bytes = sb->block_bytes,
		.project = inode->project,
		.flags = inode->flags & EXT_INODE_VISIBLE,
		.atime = time_copy(inode->atime),
		.mtime = time_copy(inode->mtime),
		.ctime = time_copy(inode->ctime),
		.crtime = time_copy(inode->crtime),
	};

	/* As the kernel has it, lest somebody takes the file for a hole. */
	if (node->inlined && S_ISREG(inode->mode))
		attr.blocks += (inode->bytes + 511) / 512;
	device_decode(inode, &attr);
	vfs_inode_set_attr(&node->inode, &attr);
}

/* On lines of its own: who reads it meets nobody's stores. */
static void *lines_alloc(size_t bytes)
{
	return aligned_alloc(
		LINE_BYTES, (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES);
}

/* ---- symlinks -------------------------------------------------------------------- */

static bool link_is_fast(
	const struct ext_super *sb, const struct ext_inode *inode)
{
	uint64_t beside = inode->xattr_block ? sb->cluster_bytes / 512 : 0;

	return inode->bytes < sizeof(inode->block) &&
	       !(inode->flags & EXT_INODE_EXTENTS) && inode->sectors <= beside;
}

static int link_read(struct ext_mount *m, struct ext_node *node, char *to,
	struct ext_damage *damage)
{
	const struct ext_inode *inode = &node->core;
	size_t bytes = (size_t)inode->bytes;

	if (inode->flags & EXT_INODE_INLINE_DATA) {
		if (bytes > node->inlined_bytes)
			return bad(inode, damage,
				"symlink larger than its data", bytes);
		memcpy(to, node->inlined, bytes);
		return 0;
	}
	if (link_is_fast(&m->ext.super, inode)) {
		memcpy(to, inode->block, bytes);
		return 0;
	}
	return ext_read_plain(m, inode, 0, bytes, to, damage);
}

static int link_load(
	struct ext_mount *m, struct ext_node *node, struct ext_damage *damage)
{
	const struct ext_inode *inode = &node->core;
	size_t bytes = (size_t)inode->bytes;
	char *link;
	int err;

	/* An encrypted target is of no use to anybody. */
	if (inode->flags & EXT_INODE_ENCRYPT)
		return 0;
	if (inode->bytes == 0 || inode->bytes >= VFS_PATH_MAX)
		return bad(
			inode, damage, "bad size of a symlink", inode->bytes);
	link = lines_alloc(bytes + 1);
	if (!link)
		return -ENOMEM;
	err = link_read(m, node, link, damage);
	link[bytes] = '\0';
	if (!err && strlen(link) != bytes)
		err = bad(inode, damage, "NUL in a symlink", bytes);
	if (err) {
		free(link);
		return err;
	}
	node->link = link;
	node->inode.link = link;
	return 0;
}

int ext_readlink(struct vfs_inode *inode, char *to, size_t bytes, size_t *done)
{
	const struct ext_node *node = ext_node_of(inode);
	size_t have = (size_t)node->core.bytes;

	if (!node->link)
		return node->core.flags & EXT_INODE_ENCRYPT ? -ENOKEY : -EINVAL;
	if (have > bytes)
		have = bytes;
	memcpy(to, node->link, have);
	*done = have;
	return 0;
}

/* ---- the larger part ---------------------------------------------------------------- */

static int body_load(
	const struct ext_super *sb, struct ext_node *node, const uint8_t *raw)
{
	size_t at = EXT_OLD_INODE_BYTES + (size_t)node->core.extra;
	struct le32 magic;

	if (node->core.extra == 0 || at + sizeof(magic) > sb->inode_bytes)
		return 0;
	memcpy(&magic, raw + at, sizeof(magic));
	if (le32_get(magic) != EXT_XATTR_MAGIC)
		return 0;
	at += sizeof(magic);
	node->body_bytes = sb->inode_bytes - (uint32_t)at;
	node->body = lines_alloc(node->body_bytes + 1);
	if (!node->body)
		return -ENOMEM;
	memcpy(node->body, raw + at, node->body_bytes);
	return 0;
}

/* Contents in the inode: what fits the block map's place, then the rest in an
 * attribute. */
static int inline_load(struct ext_node *node, struct ext_damage *damage)
{
	const struct ext_inode *inode = &node->core;
	const uint8_t *rest = NULL;
	uint32_t rest_bytes = 0;
	int err;

	if (!(inode->flags & EXT_INODE_INLINE_DATA))
		return 0;
	err = ext_body_inline(node, &rest, &rest_bytes, damage);
	if (err)
		return err;
	node->inlined = lines_alloc(sizeof(inode->block) + rest_bytes);
	if (!node->inlined)
		return -ENOMEM;
	memcpy(node->inlined, inode->block, sizeof(inode->block));
	if (rest_bytes)
		memcpy(node->inlined + sizeof(inode->block), rest, rest_bytes);
	node->inlined_bytes = sizeof(inode->block) + rest_bytes;
	return 0;
}

/* ---- loading --------------------------------------------------------------------------- */

static void node_free(struct ext_node *node)
{
	free(node->link);
	free(node->body);
	free(node->inlined);
}

static int node_fill(
	struct ext_mount *m, struct ext_node *node, struct ext_damage *damage)
{
	const struct ext_super *sb = &m->ext.super;
	const uint8_t *raw;
	struct buf *buf;
	int err = ext_inode_get(
		m, (uint32_t)node->inode.ino, &node->core, &buf, &raw, damage);

	if (err)
		return err;
	err = inode_check(sb, &node->core, damage);
	if (!err)
		err = body_load(sb, node, raw);
	buf_put(buf);
	if (!err)
		err = inline_load(node, damage);
	if (!err && S_ISDIR(node->core.mode))
		err = dir_check(sb, &node->core, damage);
	if (!err && S_ISLNK(node->core.mode))
		err = link_load(m, node, damage);
	return err;
}

int ext_inode_load(struct vfs_fs *fs, struct vfs_inode *inode)
{
	struct ext_mount *m = ext_mount_of(fs);
	struct ext_node *node = ext_node_of(inode);
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	int err;

	if (inode->ino > m->ext.super.inode_count)
		return -ENOENT;
	err = node_fill(m, node, &damage);
	if (err) {
		node_free(node);
		return ext_report(err, &damage);
	}
	attr_set(&m->ext.super, node);
	atomic_store(&inode->has_acl, ext_has_acl(node));
	if (S_ISREG(node->core.mode))
		pages_init(&inode->pages, fs->cache, &ext_pages_ops);
	return 0;
}

void ext_inode_drop(struct vfs_inode *inode)
{
	struct ext_node *node = ext_node_of(inode);

	if (S_ISREG(node->core.mode))
		pages_fini(&inode->pages);
	node_free(node);
}
