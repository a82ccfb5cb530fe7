/* SPDX-License-Identifier: BSD-2-Clause */
/* feature.c - the names of feature bits. */
#include "ext/ext_int.h"

static const char *const names[3][32] = {
	{
		[0] = "dir_prealloc",
		[1] = "imagic_inodes",
		[2] = "has_journal",
		[3] = "ext_attr",
		[4] = "resize_inode",
		[5] = "dir_index",
		[6] = "lazy_bg",
		[8] = "snapshot_bitmap",
		[9] = "sparse_super2",
		[10] = "fast_commit",
		[11] = "stable_inodes",
		[12] = "orphan_file",
	},
	{
		[0] = "compression",
		[1] = "filetype",
		[2] = "needs_recovery",
		[3] = "journal_dev",
		[4] = "meta_bg",
		[6] = "extent",
		[7] = "64bit",
		[8] = "mmp",
		[9] = "flex_bg",
		[10] = "ea_inode",
		[12] = "dirdata",
		[13] = "metadata_csum_seed",
		[14] = "large_dir",
		[15] = "inline_data",
		[16] = "encrypt",
		[17] = "casefold",
	},
	{
		[0] = "sparse_super",
		[1] = "large_file",
		[2] = "btree_dir",
		[3] = "huge_file",
		[4] = "uninit_bg",
		[5] = "dir_nlink",
		[6] = "extra_isize",
		[7] = "snapshot",
		[8] = "quota",
		[9] = "bigalloc",
		[10] = "metadata_csum",
		[11] = "replica",
		[12] = "read-only",
		[13] = "project",
		[14] = "shared_blocks",
		[15] = "verity",
		[16] = "orphan_present",
	},
};

const char *ext_feature_name(unsigned word, unsigned bit)
{
	return word < 3 && bit < 32 ? names[word][bit] : NULL;
}

static uint32_t unknown_bits(unsigned word, uint32_t bits)
{
	for (unsigned bit = 0; bit < 32; bit++)
		if (names[word][bit])
			bits &= ~(UINT32_C(1) << bit);
	return bits;
}

struct ext_features ext_features_unknown(const struct ext_features *f)
{
	return (struct ext_features){
		.compat = unknown_bits(0, f->compat),
		.incompat = unknown_bits(1, f->incompat),
		.ro_compat = unknown_bits(2, f->ro_compat),
	};
}
