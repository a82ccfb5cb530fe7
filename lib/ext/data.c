/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * data.c - the bytes of a file: inside its inode, or where its map says.
 *
 * Blocks that the map leaves out, or calls unwritten, read as zeroes.
 */
#include <errno.h>

#include "ext/mount_int.h"

/* Where the bytes from @offset on lie: a run of whole blocks, less what comes
 * before @offset. */
static int data_map(const struct ext_mount *m, const struct ext_inode *inode,
	uint64_t offset, struct pages_run *out, struct ext_damage *damage)
{
	uint32_t block_bytes = m->ext.super.block_bytes;
	uint64_t file = offset / block_bytes;
	uint32_t inside = (uint32_t)(offset % block_bytes);
	struct ext_run run;
	int err;

	if (file > UINT32_MAX)
		return EXT_DAMAGED(damage, -EUCLEAN, inode->at, inode->ino,
			"file larger than any map can be");
	err = ext_map_find(m, inode, (uint32_t)file, &run, damage);
	if (err)
		return err;
	*out = (struct pages_run){
		.kind = run.dev && !run.unwritten ? PAGES_DEVICE : PAGES_ZERO,
		.bytes = (uint64_t)run.count * block_bytes - inside,
		.device = run.dev * block_bytes + inside,
	};
	return 0;
}

int ext_read_plain(const struct ext_mount *m, const struct ext_inode *inode,
	uint64_t offset, size_t bytes, void *to, struct ext_damage *damage)
{
	uint32_t block_bytes = m->ext.super.block_bytes;
	uint8_t *at = to;

	while (bytes > 0) {
		size_t inside = (size_t)(offset % block_bytes);
		size_t piece = block_bytes - inside;
		struct pages_run run;
		struct buf *buf;
		int err = data_map(m, inode, offset, &run, damage);

		if (piece > bytes)
			piece = bytes;
		if (!err && run.kind == PAGES_DEVICE) {
			err = ext_buf_get(m, run.device / block_bytes, NULL,
				&buf, damage);
			if (!err) {
				memcpy(at, (uint8_t *)buf->data + inside,
					piece);
				buf_put(buf);
			}
		} else if (!err) {
			memset(at, 0, piece);
		}
		if (err)
			return err;
		offset += piece;
		bytes -= piece;
		at += piece;
	}
	return 0;
}

/* A file may be longer than its data, as if a hole followed. */
static void inline_read(
	const struct ext_node *node, uint64_t offset, size_t bytes, uint8_t *to)
{
	size_t have = 0;

	if (offset < node->inlined_bytes)
		have = node->inlined_bytes - (size_t)offset;
	if (have > bytes)
		have = bytes;
	if (have)
		memcpy(to, node->inlined + offset, have);
	memset(to + have, 0, bytes - have);
}

static int pages_map(struct pages *p, uint64_t offset, struct pages_run *out)
{
	const struct ext_node *node =
		ext_node_of(CONTAINER_OF(p, struct vfs_inode, pages));
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	int err = data_map(
		ext_node_mount(node), &node->core, offset, out, &damage);

	return ext_report(err, &damage);
}

const struct pages_ops ext_pages_ops = {.map = pages_map};

int ext_pread(struct vfs_inode *inode, struct pages_ahead *ahead,
	uint64_t offset, size_t bytes, void *to, size_t *done)
{
	const struct ext_node *node = ext_node_of(inode);
	uint64_t size = node->core.bytes;

	if (node->core.flags & EXT_INODE_ENCRYPT)
		return -ENOKEY;
	if (!node->inlined)
		return pages_read(&inode->pages, &inode->size, ahead, offset,
			bytes, to, done);
	if (offset >= size)
		bytes = 0;
	else if (bytes > size - offset)
		bytes = (size_t)(size - offset);
	inline_read(node, offset, bytes, to);
	*done = bytes;
	return 0;
}

/*
 * A map may visit the same blocks again and again, and a search for its end
 * would go on for hours.  Unless blocks may be shared, more of them than there
 * are is damage.
 */
static int passed_check(
	const struct ext_node *node, uint64_t blocks, struct ext_damage *damage)
{
	const struct ext_super *sb = &ext_node_mount(node)->ext.super;

	if (blocks <= sb->block_count ||
		sb->features.ro_compat & EXT_RO_COMPAT_SHARED_BLOCKS)
		return 0;
	return EXT_DAMAGED(damage, -EUCLEAN, node->core.at, node->core.ino,
		"more blocks are mapped than there are");
}

/* What lies at @offset of a file that is larger. */
static int seek_map(const struct ext_node *node, uint64_t offset,
	struct pages_run *out, struct ext_damage *damage)
{
	if (!node->inlined)
		return data_map(
			ext_node_mount(node), &node->core, offset, out, damage);
	*out = (struct pages_run){
		.kind = PAGES_MEMORY, .bytes = node->core.bytes - offset};
	return 0;
}

int ext_seek(struct vfs_inode *inode, uint64_t offset, bool data, uint64_t *out)
{
	const struct ext_node *node = ext_node_of(inode);
	uint32_t block_bytes = ext_node_mount(node)->ext.super.block_bytes;
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	uint64_t size = node->core.bytes;
	uint64_t passed = 0; /* blocks of data */

	if (offset >= size)
		return -ENXIO;
	while (offset < size) {
		struct pages_run run;
		int err = seek_map(node, offset, &run, &damage);

		if (!err)
			err = passed_check(node, passed, &damage);
		if (err)
			return ext_report(err, &damage);
		if ((run.kind != PAGES_ZERO) == data)
			break;
		if (!data)
			passed += run.bytes / block_bytes;
		offset += run.bytes;
	}
	if (offset >= size && data)
		return -ENXIO;
	*out = offset < size ? offset : size;
	return 0;
}
