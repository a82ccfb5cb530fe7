/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format.h - ext2, ext3 and ext4 as they lie on disk.
 *
 * Source: Documentation/filesystems/ext4/ of the Linux tree.  Everything is
 * little endian.  Only what the code reads so far is here by name; the rest
 * of each struct is padding of the right size.
 */
#ifndef EXT_FORMAT_H
#define EXT_FORMAT_H

#include <stddef.h>

#include "base/endian.h"

enum {
	EXT_SUPER_OFFSET = 1024, /* bytes from the start of the device */
	EXT_SUPER_BYTES = 1024,
	EXT_SUPER_MAGIC = 0xef53,

	EXT_INO_BAD_BLOCKS = 1,
	EXT_INO_ROOT = 2,
	EXT_INO_RESIZE = 7,  /* its blocks are kept for descriptors */
	EXT_INO_JOURNAL = 8, /* the usual one; s_journal_inum decides */
	EXT_OLD_FIRST_INO = 11,
	EXT_OLD_INODE_BYTES = 128,
	EXT_OLD_DESC_BYTES = 32,
	EXT_WIDE_DESC_BYTES = 64,
	EXT_BLOCK_LOG_MIN = 10,
	EXT_BLOCK_LOG_MAX = 16,
	EXT_CLUSTER_LOG_MAX = 30,

	EXT_MAP_WORDS = 15, /* of i_block */
	EXT_MAP_DIRECT = 12,
	EXT_JNL_WORDS = 17, /* i_block, high half of i_size, low half */
};

enum ext_compat {
	EXT_COMPAT_HAS_JOURNAL = 0x4,
	EXT_COMPAT_RESIZE_INODE = 0x10,
	EXT_COMPAT_SPARSE_SUPER2 = 0x200,
	EXT_COMPAT_FAST_COMMIT = 0x400,
	EXT_COMPAT_ORPHAN_FILE = 0x1000,
};

enum ext_incompat {
	EXT_INCOMPAT_COMPRESSION = 0x1,
	EXT_INCOMPAT_FILETYPE = 0x2,
	EXT_INCOMPAT_RECOVER = 0x4,
	EXT_INCOMPAT_JOURNAL_DEV = 0x8,
	EXT_INCOMPAT_META_BG = 0x10,
	EXT_INCOMPAT_EXTENTS = 0x40,
	EXT_INCOMPAT_64BIT = 0x80,
	EXT_INCOMPAT_MMP = 0x100,
	EXT_INCOMPAT_FLEX_BG = 0x200,
	EXT_INCOMPAT_DIRDATA = 0x1000,
	EXT_INCOMPAT_CSUM_SEED = 0x2000,
	EXT_INCOMPAT_LARGE_DIR = 0x4000,
};

enum ext_ro_compat {
	EXT_RO_COMPAT_SPARSE_SUPER = 0x1,
	EXT_RO_COMPAT_LARGE_FILE = 0x2,
	EXT_RO_COMPAT_BTREE_DIR = 0x4,
	EXT_RO_COMPAT_HUGE_FILE = 0x8,
	EXT_RO_COMPAT_GDT_CSUM = 0x10,
	EXT_RO_COMPAT_BIGALLOC = 0x200,
	EXT_RO_COMPAT_METADATA_CSUM = 0x400,
	EXT_RO_COMPAT_READONLY = 0x1000,
	EXT_RO_COMPAT_PROJECT = 0x2000,
	EXT_RO_COMPAT_SHARED_BLOCKS = 0x4000,
	EXT_RO_COMPAT_ORPHAN_PRESENT = 0x10000,
};

enum ext_super_flag {
	EXT_SUPER_SIGNED_HASH = 0x1,
	EXT_SUPER_UNSIGNED_HASH = 0x2,
	EXT_SUPER_TEST = 0x4,
};

enum ext_state {
	EXT_STATE_CLEAN = 0x1,
	EXT_STATE_ERROR = 0x2,
	EXT_STATE_ORPHANS = 0x4,
};

/* What the kernel noted of errors. */
struct ext_disk_errors {
	struct le32 count;
	struct le32 first_time;
	struct le32 first_ino;
	struct le64 first_block;
	char first_func[32];
	struct le32 first_line;
	struct le32 last_time;
	struct le32 last_ino;
	struct le32 last_line;
	struct le64 last_block;
	char last_func[32];
};

/* The fifth bytes of times. */
struct ext_disk_time_hi {
	uint8_t write;
	uint8_t mount;
	uint8_t mkfs;
	uint8_t lastcheck;
	uint8_t first_error;
	uint8_t last_error;
};

struct ext_disk_super {
	struct le32 inodes_count; /* 0x000 */
	struct le32 blocks_count_lo;
	struct le32 r_blocks_count_lo;
	struct le32 free_blocks_count_lo;
	struct le32 free_inodes_count; /* 0x010 */
	struct le32 first_data_block;
	struct le32 log_block_size;   /* block is 2 ^ (10 + this) bytes */
	struct le32 log_cluster_size; /* likewise */
	struct le32 blocks_per_group; /* 0x020 */
	struct le32 clusters_per_group;
	struct le32 inodes_per_group;
	struct le32 mtime;
	struct le32 wtime; /* 0x030 */
	struct le16 mnt_count;
	struct le16 max_mnt_count;
	struct le16 magic;
	struct le16 state;    /* enum ext_state */
	struct le16 on_error; /* 1: go on, 2: read-only, 3: panic */
	struct le16 minor_rev_level;
	struct le32 lastcheck; /* 0x040 */
	struct le32 checkinterval;
	struct le32 creator_os;
	struct le32 rev_level;  /* below, nothing is valid when it is 0 */
	struct le16 def_resuid; /* 0x050 */
	struct le16 def_resgid;
	struct le32 first_ino;
	struct le16 inode_size;
	struct le16 block_group_nr; /* that holds this copy */
	struct le32 feature_compat;
	struct le32 feature_incompat; /* 0x060 */
	struct le32 feature_ro_compat;
	uint8_t uuid[16];
	char volume_name[16]; /* 0x078 */
	char last_mounted[64];
	struct le32 algorithm_usage_bitmap; /* 0x0c8 */
	uint8_t prealloc_blocks;
	uint8_t prealloc_dir_blocks;
	struct le16 reserved_gdt_blocks;
	uint8_t journal_uuid[16]; /* 0x0d0 */
	struct le32 journal_inum; /* 0x0e0 */
	struct le32 journal_dev;
	struct le32 last_orphan;
	struct le32 hash_seed[4];
	uint8_t def_hash_version; /* 0x0fc */
	uint8_t jnl_backup_type;
	struct le16 desc_size;
	struct le32 default_mount_opts; /* 0x100 */
	struct le32 first_meta_bg;
	struct le32 mkfs_time;
	struct le32 jnl_blocks[EXT_JNL_WORDS];
	struct le32 blocks_count_hi; /* 0x150 */
	struct le32 r_blocks_count_hi;
	struct le32 free_blocks_count_hi;
	struct le16 min_extra_isize;
	struct le16 want_extra_isize;
	struct le32 flags; /* 0x160 */
	struct le16 raid_stride;
	struct le16 mmp_interval;
	struct le64 mmp_block;
	struct le32 raid_stripe_width; /* 0x170 */
	uint8_t log_groups_per_flex;
	uint8_t checksum_type; /* 1: crc32c */
	struct le16 reserved_pad;
	struct le64 kbytes_written;
	uint8_t snapshots[20];         /* 0x180 */
	struct ext_disk_errors errors; /* 0x194 */
	char mount_opts[64];           /* 0x200 */
	struct le32 usr_quota_inum;
	struct le32 grp_quota_inum;
	struct le32 overhead_clusters;
	struct le32 backup_bgs[2]; /* 0x24c, SPARSE_SUPER2 */
	uint8_t encrypt_algos[4];
	uint8_t encrypt_pw_salt[16];
	struct le32 lpf_ino; /* 0x268 */
	struct le32 prj_quota_inum;
	struct le32 checksum_seed; /* 0x270, CSUM_SEED */
	struct ext_disk_time_hi time_hi;
	uint8_t pad[2];
	struct le16 encoding; /* 0x27c */
	struct le16 encoding_flags;
	struct le32 orphan_file_inum; /* 0x280 */
	struct le32 reserved[94];
	struct le32 checksum; /* 0x3fc: crc32c of all before it */
};

_Static_assert(sizeof(struct ext_disk_super) == EXT_SUPER_BYTES, "superblock");
_Static_assert(offsetof(struct ext_disk_super, uuid) == 0x68, "uuid");
_Static_assert(
	offsetof(struct ext_disk_super, journal_uuid) == 0xd0, "journal");
_Static_assert(offsetof(struct ext_disk_super, jnl_blocks) == 0x10c, "backup");
_Static_assert(offsetof(struct ext_disk_super, mount_opts) == 0x200, "options");
_Static_assert(offsetof(struct ext_disk_super, checksum_seed) == 0x270, "seed");

enum ext_group_flag {
	EXT_GROUP_INODE_UNINIT = 0x1,
	EXT_GROUP_BLOCK_UNINIT = 0x2,
	EXT_GROUP_INODE_ZEROED = 0x4,
};

/* 32 bytes; 64 or more, as the superblock says, with 64BIT. */
struct ext_disk_group {
	struct le32 block_bitmap_lo;
	struct le32 inode_bitmap_lo;
	struct le32 inode_table_lo;
	struct le16 free_blocks_count_lo;
	struct le16 free_inodes_count_lo;
	struct le16 used_dirs_count_lo;
	struct le16 flags; /* enum ext_group_flag */
	struct le32 exclude_bitmap_lo;
	struct le16 block_bitmap_csum_lo;
	struct le16 inode_bitmap_csum_lo;
	struct le16 itable_unused_lo;
	struct le16 checksum; /* 0x1e */
	/* With 64BIT. */
	struct le32 block_bitmap_hi; /* 0x20 */
	struct le32 inode_bitmap_hi;
	struct le32 inode_table_hi;
	struct le16 free_blocks_count_hi;
	struct le16 free_inodes_count_hi;
	struct le16 used_dirs_count_hi;
	struct le16 itable_unused_hi;
	struct le32 exclude_bitmap_hi;
	struct le16 block_bitmap_csum_hi;
	struct le16 inode_bitmap_csum_hi;
	struct le32 reserved;
};

_Static_assert(sizeof(struct ext_disk_group) == EXT_WIDE_DESC_BYTES, "group");
_Static_assert(offsetof(struct ext_disk_group, checksum) == 0x1e, "group");

enum ext_mode {
	EXT_MODE_TYPE = 0xf000,
	EXT_MODE_FIFO = 0x1000,
	EXT_MODE_CHAR = 0x2000,
	EXT_MODE_DIR = 0x4000,
	EXT_MODE_BLOCK = 0x6000,
	EXT_MODE_REG = 0x8000,
	EXT_MODE_LINK = 0xa000,
	EXT_MODE_SOCK = 0xc000,
};

enum ext_inode_flag {
	EXT_INODE_ENCRYPT = 0x800,
	EXT_INODE_INDEX = 0x1000, /* a directory with a hash tree */
	EXT_INODE_HUGE_FILE =
		0x40000, /* blocks counted in file system blocks */
	EXT_INODE_EXTENTS = 0x80000,
	EXT_INODE_EA_INODE = 0x200000, /* holds the value of an attribute */
	EXT_INODE_INLINE_DATA = 0x10000000,
	EXT_INODE_CASEFOLD = 0x40000000,
	EXT_INODE_VISIBLE = 0x725bdfff, /* what lsattr shows */
};

/* The first 128 bytes, and what follows in larger inodes. */
struct ext_disk_inode {
	struct le16 mode;
	struct le16 uid_lo;
	struct le32 size_lo;
	struct le32 atime;
	struct le32 ctime;
	struct le32 mtime;
	struct le32 dtime;
	struct le16 gid_lo;
	struct le16 links_count;
	struct le32 blocks_lo;
	struct le32 flags;
	struct le32 version_lo;
	uint8_t block[EXT_MAP_WORDS * 4]; /* 0x28 */
	struct le32 generation;           /* 0x64 */
	struct le32 file_acl_lo;
	struct le32 size_hi; /* 0x6c */
	struct le32 faddr;
	struct le16 blocks_hi;
	struct le16 file_acl_hi;
	struct le16 uid_hi;
	struct le16 gid_hi;
	struct le16 checksum_lo; /* 0x7c */
	struct le16 reserved;
	/* In inodes of more than 128 bytes. */
	struct le16 extra_isize; /* 0x80 */
	struct le16 checksum_hi; /* 0x82 */
	/* Nanoseconds * 4 + bits 32 and 33 of the seconds. */
	struct le32 ctime_extra;
	struct le32 mtime_extra;
	struct le32 atime_extra; /* 0x8c */
	struct le32 crtime;
	struct le32 crtime_extra;
	struct le32 version_hi;
	struct le32 projid; /* 0x9c */
};

_Static_assert(offsetof(struct ext_disk_inode, block) == 0x28, "inode");
_Static_assert(offsetof(struct ext_disk_inode, checksum_lo) == 0x7c, "inode");
_Static_assert(offsetof(struct ext_disk_inode, checksum_hi) == 0x82, "inode");

/* The end of a block of the orphan file, behind numbers of inodes. */
enum {
	EXT_ORPHAN_MAGIC = 0x0b10ca04,
	EXT_ORPHAN_BLOCKS_MAX = 1 << 20, /* far more than the kernel allows */
};

struct ext_disk_orphan_tail {
	struct le32 magic;
	struct le32 checksum;
};

enum {
	EXT_EXTENT_MAGIC = 0xf30a,
	EXT_EXTENT_DEPTH_MAX = 5,
	EXT_EXTENT_INIT_MAX = 32768, /* longer: unwritten, less this */
	EXT_EXTENT_ROOT_MAX = 4,     /* entries in the inode */
};

struct ext_disk_extent_head {
	struct le16 magic;
	struct le16 entries;
	struct le16 max;
	struct le16 depth; /* 0: a leaf */
	struct le32 generation;
};

struct ext_disk_extent_index {
	struct le32 block; /* first file block below */
	struct le32 leaf_lo;
	struct le16 leaf_hi;
	struct le16 unused;
};

struct ext_disk_extent {
	struct le32 block; /* first file block */
	struct le16 len;
	struct le16 start_hi;
	struct le32 start_lo;
};

_Static_assert(sizeof(struct ext_disk_extent_head) == 12, "extent header");
_Static_assert(sizeof(struct ext_disk_extent_index) == 12, "extent index");
_Static_assert(sizeof(struct ext_disk_extent) == 12, "extent");

/* The name follows; the length includes it and reaches the next entry. */
struct ext_disk_dirent {
	struct le32 ino; /* 0: unused */
	struct le16 length;
	uint8_t name_bytes;
	uint8_t type; /* FILETYPE; else the high half of name_bytes */
};

/* The end of a block of entries, with metadata_csum. */
struct ext_disk_dir_tail {
	struct le32 zero;
	struct le16 length; /* 12 */
	uint8_t zero2;
	uint8_t type; /* 0xde */
	struct le32 checksum;
};

/*
 * An index over the entries, by hash.  Its root passes for a block of "." and
 * "..", its other nodes for one unused entry; so whoever does not know it sees
 * a directory.
 */
enum {
	EXT_INDEX_INFO = 24,       /* byte of the root's struct below */
	EXT_INDEX_ROOT_FIRST = 32, /* byte of the root's first entry */
	EXT_INDEX_NODE_FIRST = 8,
	EXT_INDEX_BLOCK_MASK = 0xfffffff,
};

struct ext_disk_index_info {
	struct le32 reserved;
	uint8_t hash_version;
	uint8_t bytes;  /* of this: 8 */
	uint8_t levels; /* below the root, leaves not counted */
	uint8_t flags;
};

/* In place of the first entry's hash. */
struct ext_disk_index_count {
	struct le16 limit;
	struct le16 count; /* this one included */
};

struct ext_disk_index {
	struct le32 hash;
	struct le32 block; /* of the directory */
};

/* Behind the last entry there is room for, with metadata_csum. */
struct ext_disk_index_tail {
	struct le32 reserved;
	struct le32 checksum;
};

_Static_assert(sizeof(struct ext_disk_dirent) == 8, "entry");
_Static_assert(sizeof(struct ext_disk_dir_tail) == 12, "tail of entries");
_Static_assert(sizeof(struct ext_disk_index) == 8, "index");

/* Before the entries in a large inode, and at the start of a block of them. */
enum { EXT_XATTR_MAGIC = 0xea020000 };

struct ext_disk_xattr_head {
	struct le32 magic;
	struct le32 refcount;
	struct le32 blocks;
	struct le32 hash;
	struct le32 checksum; /* 0x10 */
	struct le32 reserved[3];
};

/* The name follows; the next entry begins at a multiple of four. */
struct ext_disk_xattr {
	uint8_t name_bytes;
	uint8_t name_index; /* of its prefix */
	struct le16 value_offset;
	struct le32 value_inum;
	struct le32 value_bytes;
	struct le32 hash;
};

_Static_assert(sizeof(struct ext_disk_xattr_head) == 32, "attributes");
_Static_assert(sizeof(struct ext_disk_xattr) == 16, "attribute");

/* Bodies of fast-commit records (enum jbd_fast_tag). */
struct ext_disk_fast_add {
	struct le32 ino;
	struct ext_disk_extent extent;
};

struct ext_disk_fast_del {
	struct le32 ino;
	struct le32 block; /* of the file */
	struct le32 count;
};

/* The name follows, to the end of the record. */
struct ext_disk_fast_name {
	struct le32 parent;
	struct le32 ino;
};

_Static_assert(sizeof(struct ext_disk_fast_add) == 16, "fast commit");

#endif /* EXT_FORMAT_H */
