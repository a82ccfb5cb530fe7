/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perm.c - may they?  Mode bits, and POSIX ACLs where the mode does not decide.
 *
 * The order is that of acl(5): owner, named users, groups (any that grants is
 * enough), others; the mask limits all but owner and others.
 */
#include <errno.h>
#include <unistd.h>

#include "base/endian.h"
#include "vfs/vfs_int.h"

/* The value of system.posix_acl_access, as getxattr(2) shows it. */
struct acl_head {
	struct le32 version;
};

struct acl_entry {
	struct le16 tag;
	struct le16 perm;
	struct le32 id;
};

enum { ACL_VERSION = 2 };

enum acl_tag {
	ACL_USER_OBJ = 0x01,
	ACL_USER = 0x02,
	ACL_GROUP_OBJ = 0x04,
	ACL_GROUP = 0x08,
	ACL_MASK = 0x10,
	ACL_OTHER = 0x20,
};

static bool cred_in_group(const struct vfs_cred *cred, uint32_t gid)
{
	if (cred->gid == gid)
		return true;
	for (uint32_t i = 0; i < cred->group_count; i++)
		if (cred->groups[i] == gid)
			return true;
	return false;
}

static int answer(uint32_t bits, int mask)
{
	return ((int)(bits & 7) & mask) == mask ? 0 : -EACCES;
}

static int permit_privileged(uint32_t mode, int mask)
{
	bool runs = S_ISDIR(mode) || (mode & 0111) != 0;

	return (mask & X_OK) != 0 && !runs ? -EACCES : 0;
}

static int permit_mode(
	const struct vfs_owner *owner, const struct vfs_cred *cred, int mask)
{
	if (cred->uid == owner->uid)
		return answer(owner->mode >> 6, mask);
	if (cred_in_group(cred, owner->gid))
		return answer(owner->mode >> 3, mask);
	return answer(owner->mode, mask);
}

/* ---- ACLs -------------------------------------------------------------------- */

static uint32_t acl_mask(const struct acl_entry *entry, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (le16_get(entry[i].tag) == ACL_MASK)
			return le16_get(entry[i].perm);
	return 7;
}

static bool acl_names_group(const struct acl_entry *e,
	const struct vfs_owner *owner, const struct vfs_cred *cred)
{
	uint32_t tag = le16_get(e->tag);

	if (tag == ACL_GROUP_OBJ)
		return cred_in_group(cred, owner->gid);
	return tag == ACL_GROUP && cred_in_group(cred, le32_get(e->id));
}

static int permit_acl(const struct acl_entry *entry, size_t count,
	const struct vfs_owner *owner, const struct vfs_cred *cred, int mask)
{
	uint32_t limit = acl_mask(entry, count);
	bool grouped = false;

	for (size_t i = 0; i < count; i++)
		if (le16_get(entry[i].tag) == ACL_USER &&
			le32_get(entry[i].id) == cred->uid)
			return answer(le16_get(entry[i].perm) & limit, mask);
	for (size_t i = 0; i < count; i++) {
		if (!acl_names_group(&entry[i], owner, cred))
			continue;
		grouped = true;
		if (answer(le16_get(entry[i].perm) & limit, mask) == 0)
			return 0;
	}
	return grouped ? -EACCES : answer(owner->mode, mask);
}

static int permit_by_acl(struct vfs_inode *inode, const struct vfs_owner *owner,
	const struct vfs_cred *cred, int mask)
{
	union {
		struct acl_head head;
		char bytes[4096];
	} acl;

	size_t count;
	size_t done;
	int err;

	err = inode->fs->ops->getxattr(inode, "system.posix_acl_access",
		acl.bytes, sizeof(acl.bytes), &done);
	if (err == -ENODATA)
		return permit_mode(owner, cred, mask);
	if (err != 0)
		return err;
	if (done < sizeof(acl.head) ||
		le32_get(acl.head.version) != ACL_VERSION)
		return -EUCLEAN;
	count = (done - sizeof(acl.head)) / sizeof(struct acl_entry);
	return permit_acl(
		(const struct acl_entry *)(const void *)(acl.bytes +
							 sizeof(acl.head)),
		count, owner, cred, mask);
}

int vfs_permission(struct vfs_inode *inode, const struct vfs_cred *cred,
	int mask, bool sleeps)
{
	struct vfs_owner owner;

	if (cred == NULL)
		return 0;
	if (cred->privileged)
		return permit_privileged(vfs_inode_mode(inode), mask);
	vfs_inode_owner(inode, &owner);
	if (cred->uid == owner.uid || !atomic_load(&inode->has_acl))
		return permit_mode(&owner, cred, mask);
	return sleeps ? permit_by_acl(inode, &owner, cred, mask) : -ECHILD;
}
