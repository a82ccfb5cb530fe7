/* SPDX-License-Identifier: BSD-2-Clause */
/* info.c - what library, and what file system, this is. */
#include <string.h>

#include "api/api_int.h"
#include "api/version.h"
#include "ext/ext.h"

const char *extant_version(void)
{
	return EXTANT_VERSION;
}

void extant_info(struct extant *fs, struct extant_info *out)
{
	const struct ext_super *sb = ext_mount_super(fs->first);

	*out = (struct extant_info){
		.block_bytes = sb->block_bytes,
		.cluster_bytes = sb->cluster_bytes,
		.inode_bytes = sb->inode_bytes,
		.group_count = sb->group_count,
		.block_count = sb->block_count,
		.inode_count = sb->inode_count,
		.features = {sb->features.compat, sb->features.incompat,
			sb->features.ro_compat},
		.has_errors = sb->state & EXT_STATE_ERROR,
	};
	memcpy(out->label, sb->label, sizeof(out->label));
	memcpy(out->uuid, sb->uuid, sizeof(out->uuid));
}

const char *extant_feature_name(unsigned word, unsigned bit)
{
	return word < 3 && bit < 32 ? ext_feature_name(word, bit) : NULL;
}
