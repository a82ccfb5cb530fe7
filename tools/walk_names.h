/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk_names.h - the names of a directory, sorted, as many as memory allows.
 *
 * Of those after a given name the smallest are kept; who has told them all
 * comes back for those after the last.
 */
#ifndef TOOLS_WALK_NAMES_H
#define TOOLS_WALK_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cc.h"
#include "extant/extant.h"

struct walk_name {
	uint64_t ino;
	uint8_t type; /* DT_* */
	uint8_t bytes;
	char text[]; /* ended by NUL */
};

struct walk_names {
	char *memory;
	size_t used;
	size_t room;
	uint32_t *order; /* places of names in memory, in eighths */
	size_t count;
	size_t order_room;
	size_t next;
	bool more; /* than these, after the last */
};

enum { WALK_NAME_MAX = 255 };

/*
 * Read names of @dir that come after @after (NULL: all) into *@out, which is
 * empty, in about @limit bytes, by way of @buffer of @buffer_bytes
 * (extant_readdir()).  After an error what was read before it is there.
 */
MUST_USE int walk_names_read(struct walk_names *out, struct extant_file *dir,
	const char *after, size_t limit, void *buffer, size_t buffer_bytes);

/* The next; NULL: none is left. */
const struct walk_name *walk_names_next(struct walk_names *names);

/* How much memory they take. */
static inline size_t walk_names_bytes(const struct walk_names *names)
{
	return names->room + names->order_room * sizeof(names->order[0]);
}

void walk_names_free(struct walk_names *names);

#endif /* TOOLS_WALK_NAMES_H */
