/* SPDX-License-Identifier: BSD-2-Clause */
/* api_int.h - what the files behind extant/extant.h share. */
#ifndef API_API_INT_H
#define API_API_INT_H

#include "extant/extant.h"
#include "vfs/vfs.h"

struct extant {
	struct vfs *vfs;      /* [const] */
	struct vfs_fs *first; /* [const] mounted at "/" */
};

/* A file of the public interface is one of the VFS under another name. */
static inline struct vfs_file *api_file(struct extant_file *file)
{
	return (struct vfs_file *)(void *)file;
}

/* ---- structs that begin with their size (take.c) --------------------------- */

/*
 * Copy what a caller filled in, @from, to @to, of @bytes, the size that this
 * version knows.  A caller built for an older version gives less, at least
 * @least, and the rest is zero; of a newer one, what is unknown here must be
 * zero.  -EINVAL.
 */
MUST_USE int api_take(void *to, size_t bytes, size_t least, const void *from);

/* Where a call begins, and who makes it. */
struct api_start {
	struct vfs_at at;
	struct vfs_cred cred;
};

/* @from, which may be NULL, as the VFS takes it.  *@out refers to itself. */
MUST_USE int api_start(
	struct extant *fs, const struct extant_at *from, struct api_start *out);

/* ---- looking (look.c) -------------------------------------------------------- */

void api_stat_of(const struct vfs_attr *attr, struct extant_stat *out);

#endif /* API_API_INT_H */
