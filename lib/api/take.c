/* SPDX-License-Identifier: BSD-2-Clause */
/* take.c - what callers hand in, whichever version they were built for. */
#include <errno.h>
#include <string.h>

#include "api/api_int.h"

/* What the first version had. */
enum {
	CRED_BYTES = offsetof(struct extant_cred, privileged) + sizeof(bool),
	AT_BYTES = offsetof(struct extant_at, cred) + sizeof(void *),
};

int api_take(void *to, size_t bytes, size_t least, const void *from)
{
	const unsigned char *raw = from;
	size_t given;

	memcpy(&given, from, sizeof(given));
	if (given < least)
		return -EINVAL;
	for (size_t i = bytes; i < given; i++)
		if (raw[i] != 0)
			return -EINVAL;
	memset(to, 0, bytes);
	memcpy(to, from, given < bytes ? given : bytes);
	return 0;
}

static int take_cred(const struct extant_cred *from, struct vfs_cred *out)
{
	struct extant_cred cred;
	int err = api_take(&cred, sizeof(cred), CRED_BYTES, from);

	if (err != 0)
		return err;
	*out = (struct vfs_cred){
		.uid = cred.uid,
		.gid = cred.gid,
		.group_count = cred.group_count,
		.groups = cred.groups,
		.privileged = cred.privileged,
	};
	return 0;
}

int api_start(
	struct extant *fs, const struct extant_at *from, struct api_start *out)
{
	struct extant_at at;
	int err;

	out->at = (struct vfs_at){.vfs = fs->vfs};
	if (from == NULL)
		return 0;
	err = api_take(&at, sizeof(at), AT_BYTES, from);
	if (err != 0)
		return err;
	if (at.dir != NULL)
		out->at.dir = api_file(at.dir);
	if (at.cred == NULL)
		return 0;
	out->at.cred = &out->cred;
	return take_cred(at.cred, &out->cred);
}
