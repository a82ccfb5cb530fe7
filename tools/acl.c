/* SPDX-License-Identifier: BSD-2-Clause */
/* acl.c - see acl.h. */
#include "tools/acl.h"

#include <string.h>

#include "base/endian.h"

enum { ACL_VERSION = 2 };

struct raw_head {
	struct le32 version;
};

struct raw_entry {
	struct le16 tag;
	struct le16 may;
	struct le32 id;
};

bool acl_count(const struct attribute *a, size_t *count)
{
	struct raw_head head;

	if (a->bytes < sizeof(head) ||
		(a->bytes - sizeof(head)) % sizeof(struct raw_entry) != 0)
		return false;
	memcpy(&head, a->value, sizeof(head));
	*count = (a->bytes - sizeof(head)) / sizeof(struct raw_entry);
	return le32_get(head.version) == ACL_VERSION;
}

bool acl_entry_at(
	const struct attribute *a, size_t index, struct acl_entry *out)
{
	struct raw_entry raw;
	unsigned tag;

	memcpy(&raw, a->value + sizeof(struct raw_head) + index * sizeof(raw),
		sizeof(raw));
	/* A bit for each kind, in their order. */
	tag = le16_get(raw.tag);
	if (tag == 0 || tag > 1U << ACL_OTHER || (tag & (tag - 1)) != 0)
		return false;
	*out = (struct acl_entry){
		.kind = (enum acl_kind)__builtin_ctz(tag),
		.may = le16_get(raw.may) & 7,
		.id = le32_get(raw.id),
	};
	return true;
}
