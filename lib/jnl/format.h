/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format.h - the jbd2 log as it lies on disk.
 *
 * Source: Documentation/filesystems/ext4/journal.rst.  Everything is big
 * endian, except the fast-commit area, which is little endian.
 */
#ifndef JNL_FORMAT_H
#define JNL_FORMAT_H

#include "base/endian.h"

#define JBD_MAGIC UINT32_C(0xc03b3998)

enum jbd_block_type {
	JBD_DESCRIPTOR = 1,
	JBD_COMMIT = 2,
	JBD_SUPER_V1 = 3,
	JBD_SUPER_V2 = 4,
	JBD_REVOKE = 5,
};

struct jbd_header {
	struct be32 magic;
	struct be32 type;
	struct be32 sequence;
};

enum jbd_compat { JBD_COMPAT_CHECKSUM = 0x1 };

enum jbd_incompat {
	JBD_INCOMPAT_REVOKE = 0x01,
	JBD_INCOMPAT_64BIT = 0x02,
	JBD_INCOMPAT_ASYNC_COMMIT = 0x04,
	JBD_INCOMPAT_CSUM_V2 = 0x08,
	JBD_INCOMPAT_CSUM_V3 = 0x10,
	JBD_INCOMPAT_FAST_COMMIT = 0x20,
};

enum jbd_checksum_type {
	JBD_CSUM_CRC32 = 1,
	JBD_CSUM_MD5 = 2,
	JBD_CSUM_SHA1 = 3,
	JBD_CSUM_CRC32C = 4,
};

/* Log block 0, its first 1024 bytes. */
struct jbd_super {
	struct jbd_header header;
	struct be32 block_bytes;
	struct be32 block_count; /* of the log, this block included */
	struct be32 first;       /* first block of log information */
	struct be32 sequence;    /* first commit id expected in the log */
	struct be32 start;       /* block of that commit; 0: the log is empty */
	struct be32 error;       /* errno of the last abort */
	/* Version 2 from here on. */
	struct be32 feature_compat;
	struct be32 feature_incompat;
	struct be32 feature_ro_compat;
	uint8_t uuid[16];
	struct be32 user_count; /* file systems that share the log */
	struct be32 dynsuper;
	struct be32 max_transaction;
	struct be32 max_trans_data;
	uint8_t checksum_type; /* enum jbd_checksum_type */
	uint8_t padding2[3];
	struct be32 fc_blocks; /* length of the fast-commit area */
	struct be32 head;      /* next free log block, of an empty log */
	struct be32 padding[40];
	struct be32 checksum; /* crc32c of these 1024 bytes, this as 0 */
	uint8_t users[16 * 48];
};

enum jbd_tag_flag {
	JBD_TAG_ESCAPE = 1,    /* the block began with the magic number */
	JBD_TAG_SAME_UUID = 2, /* no uuid follows */
	JBD_TAG_DELETED = 4,
	JBD_TAG_LAST = 8,
};

/* Checksum v3. */
struct jbd_tag3 {
	struct be32 block;
	struct be32 flags;
	struct be32 block_high;
	struct be32 checksum; /* crc32c of uuid, sequence, log block */
};

/* Otherwise; block_high only with 64BIT.  See jnl_tag_bytes(). */
struct jbd_tag {
	struct be32 block;
	struct be16 checksum; /* low half of the crc32c, with CSUM_V2 */
	struct be16 flags;
	struct be32 block_high;
};

/* Ends descriptor and revoke blocks with CSUM_V2 or CSUM_V3. */
struct jbd_tail {
	struct be32 checksum;
};

struct jbd_revoke {
	struct jbd_header header;
	struct be32 bytes; /* used in this block, this header included */
			   /* then be32 block numbers, or be64 with 64BIT */
};

struct jbd_commit {
	struct jbd_header header;
	uint8_t checksum_type; /* CHECKSUM (v1) only */
	uint8_t checksum_bytes;
	uint8_t padding[2];
	struct be32 checksum[8]; /* [0] is used */
	struct be64 seconds;
	struct be32 nanoseconds;
};

/*
 * The fast-commit area: records of a tag, a length and a body, packed into
 * blocks, none across the end of one.  A fast commit is a run of records that
 * a TAIL ends; the next one begins in the next block.  Only the first has a
 * HEAD.
 */
enum jbd_fast_tag {
	JBD_FAST_ADD_RANGE = 1,
	JBD_FAST_DEL_RANGE = 2,
	JBD_FAST_CREATE = 3,
	JBD_FAST_LINK = 4,
	JBD_FAST_UNLINK = 5,
	JBD_FAST_INODE = 6,
	JBD_FAST_PAD = 7,
	JBD_FAST_TAIL = 8,
	JBD_FAST_HEAD = 9,
};

struct jbd_fast {
	struct le16 tag;
	struct le16 bytes; /* of the body */
};

struct jbd_fast_head {
	struct le32 features; /* 0 */
	struct le32 tid;      /* the transaction that follows the log's last */
};

/* Its length reaches to the end of the block. */
struct jbd_fast_tail {
	struct le32 tid;
	struct le32 checksum; /* crc32c from 0 over all bytes since the last
	                         TAIL, this record up to here included */
};

_Static_assert(sizeof(struct jbd_super) == 1024, "journal superblock");
_Static_assert(sizeof(struct jbd_commit) == 60, "commit block");
_Static_assert(sizeof(struct jbd_revoke) == 16, "revoke block");

#endif /* JNL_FORMAT_H */
