/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xattr_ops.c - extended attributes for the VFS.
 *
 * On disk the prefix of a name is a number, and access control lists are
 * packed tighter than the calls that hand them out want them.
 */
#include <errno.h>
#include <stdlib.h>

#include "ext/xattr_int.h"

/* ---- prefixes ----------------------------------------------------------------- */

struct prefix {
	const char *text;
	uint8_t index;
	bool whole; /* nothing follows it */
};

/* Whole names first: one of them begins like a prefix. */
static const struct prefix prefixes[] = {
	{"system.posix_acl_access", 2, true},
	{"system.posix_acl_default", 3, true},
	{"user.", 1, false},
	{"trusted.", 4, false},
	{"security.", 6, false},
	{"gnu.", 10, false},
};

enum { ACL_ACCESS = 2, ACL_DEFAULT = 3 };

static const struct prefix *prefix_of_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(prefixes); i++) {
		const struct prefix *p = &prefixes[i];
		size_t bytes = strlen(p->text);

		if (strncmp(name, p->text, bytes) == 0 &&
			(name[bytes] == '\0') == p->whole)
			return p;
	}
	return NULL;
}

/* NULL for what is not shown: inline data, encryption contexts. */
static const struct prefix *prefix_of_entry(const struct ext_xattr *e)
{
	for (size_t i = 0; i < ARRAY_COUNT(prefixes); i++)
		if (prefixes[i].index == e->index &&
			(e->name_bytes == 0) == prefixes[i].whole)
			return &prefixes[i];
	return NULL;
}

/* ---- access control lists -------------------------------------------------------- */

enum {
	ACL_DISK_VERSION = 1,
	ACL_VERSION = 2,
	ACL_USER = 0x02,  /* of a named user */
	ACL_GROUP = 0x08, /* of a named group */
	ACL_HEAD = 4,
	ACL_SHORT = 4, /* on disk, without an id */
	ACL_LONG = 8,
};

struct acl_entry {
	struct le16 tag;
	struct le16 perm;
	struct le32 id;
};

/*
 * What the list at @from is for the calls: *@done bytes at @to, which has room
 * for @bytes; none are written if that is 0.  -EUCLEAN, -ERANGE.
 */
static int acl_convert(const uint8_t *from, uint32_t from_bytes, uint8_t *to,
	size_t bytes, size_t *done)
{
	struct le32 version;
	uint32_t at = ACL_HEAD;
	size_t end = ACL_HEAD;

	if (from_bytes < ACL_HEAD)
		return -EUCLEAN;
	memcpy(&version, from, sizeof(version));
	if (le32_get(version) != ACL_DISK_VERSION)
		return -EUCLEAN;
	version = le32_of(ACL_VERSION);
	if (bytes >= ACL_HEAD)
		memcpy(to, &version, sizeof(version));
	while (at < from_bytes) {
		struct acl_entry e = {.id = le32_of(UINT32_MAX)};
		uint32_t length = ACL_SHORT;

		if (from_bytes - at < ACL_SHORT)
			return -EUCLEAN;
		memcpy(&e, from + at, ACL_SHORT);
		if (le16_get(e.tag) == ACL_USER || le16_get(e.tag) == ACL_GROUP)
			length = ACL_LONG;
		if (from_bytes - at < length)
			return -EUCLEAN;
		memcpy(&e, from + at, length);
		at += length;
		end += sizeof(e);
		if (bytes >= end)
			memcpy(to + end - sizeof(e), &e, sizeof(e));
	}
	if (bytes != 0 && bytes < end)
		return -ERANGE;
	*done = end;
	return 0;
}

/* ---- one ----------------------------------------------------------------------------- */

enum { VALUE_MAX = 1 << 16 }; /* of the calls */

struct getting {
	const struct prefix *prefix;
	const char *suffix;
	uint8_t *to;
	size_t bytes;
	size_t done;
	uint32_t value_inum; /* or 0: it is done */
	uint32_t value_bytes;
};

static bool is_acl(const struct getting *g)
{
	return g->prefix->index == ACL_ACCESS ||
	       g->prefix->index == ACL_DEFAULT;
}

static int value_give(struct getting *g, const uint8_t *value, uint32_t bytes)
{
	if (is_acl(g))
		return acl_convert(value, bytes, g->to, g->bytes, &g->done);
	if (g->bytes != 0 && g->bytes < bytes)
		return -ERANGE;
	if (g->bytes != 0 && bytes != 0)
		memcpy(g->to, value, bytes);
	g->done = bytes;
	return 0;
}

static int get_from(
	const struct ext_xattrs *x, void *arg, struct ext_damage *damage)
{
	struct getting *g = arg;
	struct ext_xattr e;
	int err = ext_xattr_find(
		x, g->prefix->index, g->suffix, strlen(g->suffix), &e, damage);

	if (err)
		return err;
	g->value_inum = e.value_inum;
	g->value_bytes = e.value_bytes;
	if (e.value_inum != 0)
		return 0;
	err = value_give(g, e.value, e.value_bytes);
	if (err == -EUCLEAN)
		ext_damage_say(damage, x->at, x->ino,
			"extended attributes: bad access control list");
	return err;
}

static int get_outside(const struct ext_node *node, struct getting *g,
	struct ext_damage *damage)
{
	uint8_t *value;
	int err;

	if (g->value_bytes > VALUE_MAX)
		return EXT_DAMAGED(damage, -EUCLEAN, node->core.at,
			node->core.ino,
			"extended attributes: value of %u bytes",
			g->value_bytes);
	value = malloc(g->value_bytes + 1);
	if (!value)
		return -ENOMEM;
	err = ext_xattr_outside(ext_node_mount(node), &node->core,
		g->value_inum, g->value_bytes, value, damage);
	if (!err)
		err = value_give(g, value, g->value_bytes);
	free(value);
	return err;
}

int ext_getxattr(struct vfs_inode *inode, const char *name, void *to,
	size_t bytes, size_t *done)
{
	const struct ext_node *node = ext_node_of(inode);
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct getting g = {
		.prefix = prefix_of_name(name), .to = to, .bytes = bytes};
	struct ext_xattrs body = ext_body_xattrs(node);
	int err = -ENODATA;

	if (!g.prefix)
		return -EOPNOTSUPP;
	g.suffix = name + strlen(g.prefix->text);
	if (node->body)
		err = get_from(&body, &g, &damage);
	if (err == -ENODATA && node->core.xattr_block)
		err = ext_xattr_block(ext_node_mount(node), &node->core,
			get_from, &g, &damage);
	if (!err && g.value_inum)
		err = get_outside(node, &g, &damage);
	if (!err)
		*done = g.done;
	return ext_report(err, &damage);
}

/* ---- all ------------------------------------------------------------------------------- */

struct listing {
	char *to;
	size_t bytes;
	size_t done;
};

static void list_add(struct listing *l, const void *text, size_t bytes)
{
	if (l->done + bytes <= l->bytes)
		memcpy(l->to + l->done, text, bytes);
	l->done += bytes;
}

static int list_from(
	const struct ext_xattrs *x, void *arg, struct ext_damage *damage)
{
	struct listing *l = arg;
	uint32_t pos = x->first;
	struct ext_xattr e;
	int err;

	while (!(err = ext_xattr_next(x, &pos, &e, damage))) {
		const struct prefix *p = prefix_of_entry(&e);

		if (!p)
			continue;
		list_add(l, p->text, strlen(p->text));
		list_add(l, e.name, e.name_bytes);
		list_add(l, "", 1);
	}
	return err == -ENODATA ? 0 : err;
}

/* The operation's type says char. */
/* NOLINTNEXTLINE(readability-non-const-parameter) */
int ext_listxattr(struct vfs_inode *inode, char *to, size_t bytes, size_t *done)
{
	const struct ext_node *node = ext_node_of(inode);
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct listing l = {.to = to, .bytes = bytes};
	struct ext_xattrs body = ext_body_xattrs(node);
	int err = 0;

	if (node->body)
		err = list_from(&body, &l, &damage);
	if (!err && node->core.xattr_block)
		err = ext_xattr_block(ext_node_mount(node), &node->core,
			list_from, &l, &damage);
	if (!err && bytes != 0 && l.done > bytes)
		err = -ERANGE;
	if (!err)
		*done = l.done;
	return ext_report(err, &damage);
}
