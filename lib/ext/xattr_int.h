/* SPDX-License-Identifier: BSD-2-Clause */
/* xattr_int.h - entries of extended attributes, for those who look into them. */
#ifndef EXT_XATTR_INT_H
#define EXT_XATTR_INT_H

#include "ext/mount_int.h"

/* A place that holds entries. */
struct ext_xattrs {
	const uint8_t *data; /* offsets of values count from here */
	uint32_t bytes;
	uint32_t first; /* where entries begin */
	blk_no at;      /* the block it is in */
	uint32_t ino;
};

struct ext_xattr {
	uint8_t index;    /* of the name's prefix */
	const char *name; /* without prefix, not terminated */
	uint32_t name_bytes;
	const uint8_t *value; /* NULL: in an inode, or empty */
	uint32_t value_bytes;
	uint32_t value_inum; /* or 0 */
};

/* The entry at @*pos, which moves on; -ENODATA: there are no more. */
MUST_USE int ext_xattr_next(const struct ext_xattrs *x, uint32_t *pos,
	struct ext_xattr *out, struct ext_damage *damage);

/* -ENODATA: none of that name. */
MUST_USE int ext_xattr_find(const struct ext_xattrs *x, uint8_t index,
	const char *name, size_t name_bytes, struct ext_xattr *out,
	struct ext_damage *damage);

/* Those inside the inode; only where node->body is set. */
struct ext_xattrs ext_body_xattrs(const struct ext_node *node);

/* Call @fn on the entries of the inode's block, which must have one.  @fn may
 * be inside a read section and must not wait.  The value is @fn's. */
typedef int (*ext_xattrs_fn)(
	const struct ext_xattrs *x, void *arg, struct ext_damage *damage);

MUST_USE int ext_xattr_block(const struct ext_mount *m,
	const struct ext_inode *inode, ext_xattrs_fn fn, void *arg,
	struct ext_damage *damage);

/* The value, of @bytes, that inode @ino holds for @owner. */
MUST_USE int ext_xattr_outside(const struct ext_mount *m,
	const struct ext_inode *owner, uint32_t ino, uint32_t bytes, void *to,
	struct ext_damage *damage);

#endif /* EXT_XATTR_INT_H */
