/* SPDX-License-Identifier: BSD-2-Clause */
/* attributes.h - the extended attributes of a file, ACLs among them. */
#ifndef TOOLS_ATTRIBUTES_H
#define TOOLS_ATTRIBUTES_H

#include "base/cc.h"
#include "extant/extant.h"
#include "tools/json.h"
#include "tools/show.h"

struct attribute {
	const char *name; /* in attributes.names */
	unsigned char *value;
	size_t bytes;
};

struct attributes {
	char *names; /* each ended by NUL */
	struct attribute *list;
	size_t count;
};

/*
 * All attributes of @path, sorted by name; @at and @flags of extant_stat().
 * After an error *@out, which is all zero before, holds those that could be
 * read.  Pair with attributes_free().
 */
MUST_USE int attributes_read(struct extant *fs, const struct extant_at *at,
	const char *path, unsigned flags, struct attributes *out);
void attributes_free(struct attributes *attributes);

/* A line for each: a value that is text in quotes, others in hexadecimal, an
 * ACL as acl(5) writes it. */
void attributes_show(
	const struct attributes *attributes, const struct show *show);

/* "xattrs": {NAME: hexadecimal}, and "acl", "default_acl" where there are. */
void attributes_json(const struct attributes *attributes, struct json *json);

#endif /* TOOLS_ATTRIBUTES_H */
