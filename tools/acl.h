/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * acl.h - access control lists, as the system calls for attributes give them:
 * a version, then an entry for each class of users.
 */
#ifndef TOOLS_ACL_H
#define TOOLS_ACL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/attributes.h"

#define ACL_ACCESS_NAME  "system.posix_acl_access"
#define ACL_DEFAULT_NAME "system.posix_acl_default"

enum acl_kind {
	ACL_OWNER,
	ACL_USER, /* has an id */
	ACL_OWNING_GROUP,
	ACL_GROUP, /* has an id */
	ACL_MASK,
	ACL_OTHER,
};

struct acl_entry {
	enum acl_kind kind;
	unsigned may; /* R_OK, W_OK, X_OK */
	uint32_t id;
};

static inline bool acl_has_id(enum acl_kind kind)
{
	return kind == ACL_USER || kind == ACL_GROUP;
}

/* How many entries @a has; false: it is no such list. */
bool acl_count(const struct attribute *a, size_t *count);

/* Entry @index, below that count; false: of a kind that nobody knows. */
bool acl_entry_at(
	const struct attribute *a, size_t index, struct acl_entry *out);

#endif /* TOOLS_ACL_H */
