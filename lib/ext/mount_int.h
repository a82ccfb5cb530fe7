/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mount_int.h - what the files of a mounted file system share.
 *
 * Everything here is constant after ext_mount(), or after the inode was
 * loaded, unless it says otherwise; so nothing takes a lock, and what is
 * cached is found without a store.
 */
#ifndef EXT_MOUNT_INT_H
#define EXT_MOUNT_INT_H

#include "cache/cache.h"
#include "ext/ext_int.h"
#include "vfs/vfs.h"

/* What one pass over the group descriptors finds (layout.c). */
struct ext_layout {
	struct ext_range *fixed; /* metadata, sorted, no overlaps */
	size_t fixed_count;
	uint64_t free_blocks;
	uint64_t free_inodes;
	uint64_t overhead_blocks; /* of the fixed metadata and the journal */
	blk_no overlap; /* the first block that two claim; LOG_NO_BLOCK */
};

struct ext_mount {
	struct vfs_fs fs;         /* first */
	struct ext ext;           /* [const] its device is ours */
	struct ext_layout layout; /* [const] */
};

struct ext_node {
	struct vfs_inode inode; /* first */
	struct ext_inode core;  /* [const] */
	char *link;             /* [const] a symlink's target */
	uint8_t *body;          /* [const] attributes inside the inode */
	uint32_t body_bytes;    /* [const] */
	uint8_t *inlined;       /* [const] INLINE_DATA: the contents */
	uint32_t inlined_bytes; /* [const] room, not the size */
	_Atomic uint32_t index; /* [atomic] enum ext_index_state */
};

static inline struct ext_mount *ext_mount_of(struct vfs_fs *fs)
{
	return (struct ext_mount *)(void *)fs;
}

static inline struct ext_node *ext_node_of(struct vfs_inode *inode)
{
	return (struct ext_node *)(void *)inode;
}

static inline struct ext_mount *ext_node_mount(const struct ext_node *node)
{
	return ext_mount_of(node->inode.fs);
}

/* ---- superblock copies (backup.c) ---------------------------------------- */

/* Find an intact copy of the superblock of @dev where mke2fs puts them. */
MUST_USE int ext_backup_find(
	struct blk_dev *dev, struct ext_super *out, struct ext_damage *damage);

/* The copy in block @block, of @block_bytes or 0: any size that fits. */
MUST_USE int ext_backup_read(struct blk_dev *dev, uint64_t block,
	uint32_t block_bytes, struct ext_super *out, struct ext_damage *damage);

/*
 * The copy in block @block; 0: the primary, or else any copy that is good,
 * and the log is told so.
 */
MUST_USE int ext_super_find(struct blk_dev *dev, uint64_t block,
	uint32_t block_bytes, struct ext_super *out, struct ext_damage *damage);

/* ---- layout.c ------------------------------------------------------------- */

MUST_USE int ext_layout_read(const struct ext *fs, struct ext_layout *out);
void ext_layout_drop(struct ext_layout *l);

/* Whether @count blocks from @dev touch the fixed metadata. */
bool ext_layout_touches(const struct ext_layout *l, blk_no dev, uint32_t count);

/* -EUCLEAN unless the map of @inode, in block @at, may point at @count blocks
 * from @dev: inside the file system and off its fixed metadata. */
MUST_USE int ext_layout_check(const struct ext_mount *m,
	const struct ext_inode *inode, blk_no at, blk_no dev, uint32_t count,
	struct ext_damage *damage);

/* ---- may it be mounted? (mount.c) ------------------------------------------ */

/* -EOPNOTSUPP: a journal device, or a feature that cannot be read. */
MUST_USE int ext_mount_admit(const struct ext *fs, struct ext_damage *damage);

/* ---- buffers (mount.c) ----------------------------------------------------- */

/* What a block may be looked at as; extent nodes by depth, blocks of
 * directories by kind (dir_int.h). */
enum ext_role {
	EXT_ROLE_XATTR = 1,
	EXT_ROLE_EXTENTS = 0x10,
	EXT_ROLE_DIR = 0x20,
};

/*
 * A check, and what its yes means: that the block is good in a role, for an
 * inode.  A hostile disk has one block in many; it is checked once in each,
 * as long as they do not alternate.
 */
struct ext_check {
	uint64_t as; /* ext_check_as() */
	/* Says itself what is wrong. */
	int (*run)(void *arg, blk_no at, const void *data);
	void *arg;
};

/* @owner NULL: whoever asks. */
uint64_t ext_check_as(unsigned role, const struct ext_inode *owner);

/* Whether that is what @buf was last found good as.  Pinned, or in a read
 * section. */
bool ext_buf_is(const struct buf *buf, uint64_t as);

/* Block @block, pinned.  @check NULL: anything. */
MUST_USE int ext_buf_get(const struct ext_mount *m, blk_no block,
	const struct ext_check *check, struct buf **out,
	struct ext_damage *damage);

/* Tell the log, if the disk is to blame for @err; the value is @err. */
int ext_report(int err, const struct ext_damage *damage);

/* ---- block maps (find.c) ----------------------------------------------------- */

/* One run from a certain file block on; dev 0: a hole. */
MUST_USE int ext_map_find(const struct ext_mount *m,
	const struct ext_inode *inode, uint32_t file, struct ext_run *out,
	struct ext_damage *damage);

MUST_USE int ext_extent_find(const struct ext_mount *m,
	const struct ext_inode *inode, uint32_t file, struct ext_run *out,
	struct ext_damage *damage);
MUST_USE int ext_indirect_find(const struct ext_mount *m,
	const struct ext_inode *inode, uint32_t file, struct ext_run *out,
	struct ext_damage *damage);

/* ---- attributes (xattr.c) ----------------------------------------------------- */

/* The part of the contents of an INLINE_DATA inode that is kept among the
 * attributes inside it; outputs are untouched if there is none. */
MUST_USE int ext_body_inline(const struct ext_node *node, const uint8_t **value,
	uint32_t *bytes, struct ext_damage *damage);

/* Whether permissions take more than the mode. */
bool ext_has_acl(const struct ext_node *node);

/* ---- files (node.c, data.c) -------------------------------------------------- */

extern const struct vfs_fs_ops ext_ops;

/* The decoded inode and its table block, pinned, with where in it @raw is. */
MUST_USE int ext_inode_get(const struct ext_mount *m, uint32_t ino,
	struct ext_inode *out, struct buf **buf, const uint8_t **raw,
	struct ext_damage *damage);

int ext_inode_load(struct vfs_fs *fs, struct vfs_inode *inode);
void ext_inode_drop(struct vfs_inode *inode);

extern const struct pages_ops ext_pages_ops;

int ext_pread(struct vfs_inode *inode, struct pages_ahead *ahead,
	uint64_t offset, size_t bytes, void *to, size_t *done);
int ext_seek(
	struct vfs_inode *inode, uint64_t offset, bool data, uint64_t *out);
int ext_readlink(struct vfs_inode *inode, char *to, size_t bytes, size_t *done);

int ext_readdir(
	struct vfs_inode *inode, uint64_t cookie, vfs_dirent_fn fn, void *arg);
int ext_lookup(struct vfs_inode *inode, const char *name, uint32_t name_bytes,
	vfs_ino *ino);

int ext_getxattr(struct vfs_inode *inode, const char *name, void *to,
	size_t bytes, size_t *done);
int ext_listxattr(
	struct vfs_inode *inode, char *to, size_t bytes, size_t *done);

/* Exactly @bytes from @offset of a file that is no vfs_inode, below its size;
 * through buffers. */
MUST_USE int ext_read_plain(const struct ext_mount *m,
	const struct ext_inode *inode, uint64_t offset, size_t bytes, void *to,
	struct ext_damage *damage);

#endif /* EXT_MOUNT_INT_H */
