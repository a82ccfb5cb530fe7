/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dirname.c - names as they are shown.
 *
 * Encrypted names are shown without keys: as their ciphertext in base64 with
 * the alphabet of RFC 4648 that suits file names, behind a prefix that says
 * so.  What is too long for that ends in a hash of the rest.
 */
#include <stdio.h>
#include <xxhash.h>

#include "ext/dir_int.h"

#define PREFIX "encrypted."

enum {
	PREFIX_BYTES = sizeof(PREFIX) - 1,
	/* Of ciphertext, 3 to 4 chars; what is left holds ".", 16 digits. */
	WHOLE_MAX = (VFS_NAME_MAX - PREFIX_BYTES) / 4 * 3,
	CUT_BYTES = (VFS_NAME_MAX - PREFIX_BYTES - 17) / 4 * 3,
};

static const char alphabet[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

bool ext_name_is_dots(const char *name, uint32_t bytes)
{
	return (bytes == 1 && name[0] == '.') ||
	       (bytes == 2 && name[0] == '.' && name[1] == '.');
}

/* Returns the end of what was written. */
static char *base64(const uint8_t *from, uint32_t bytes, char *to)
{
	uint32_t held = 0;
	unsigned bits = 0;

	for (uint32_t i = 0; i < bytes; i++) {
		held = held << 8 | from[i];
		bits += 8;
		for (; bits >= 6; bits -= 6)
			*to++ = alphabet[held >> (bits - 6) & 63];
	}
	if (bits)
		*to++ = alphabet[held << (6 - bits) & 63];
	return to;
}

const char *ext_name_shown(const struct ext_node *dir,
	const struct ext_dirent *e, char *room, uint32_t *bytes)
{
	bool whole = e->name_bytes <= WHOLE_MAX;
	char rest[18];
	char *end;

	*bytes = e->name_bytes;
	if (!(dir->core.flags & EXT_INODE_ENCRYPT) ||
		ext_name_is_dots(e->name, e->name_bytes))
		return e->name;
	memcpy(room, PREFIX, PREFIX_BYTES);
	end = base64((const uint8_t *)e->name,
		whole ? e->name_bytes : (uint32_t)CUT_BYTES,
		room + PREFIX_BYTES);
	if (!whole) {
		(void)snprintf(rest, sizeof(rest), ".%016llx",
			(unsigned long long)XXH64(e->name, e->name_bytes, 0));
		memcpy(end, rest, sizeof(rest) - 1);
		end += sizeof(rest) - 1;
	}
	*bytes = (uint32_t)(end - room);
	return room;
}
