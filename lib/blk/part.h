/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * part.h - partitions of a disk: MBR with its logical chain, and GPT.
 *
 * Read-only: tables are parsed and checked (GPT by both checksums, the backup
 * when the primary is damaged), never written.
 */
#ifndef BLK_PART_H
#define BLK_PART_H

#include "blk/blk.h"

enum { PART_MAX = 256 };

enum part_scheme { PART_NONE, PART_MBR, PART_GPT };

struct part {
	uint32_t number; /* as the kernel counts: 1-4 primary, 5.. logical */
	uint64_t offset; /* bytes */
	uint64_t bytes;
	uint8_t mbr_type;      /* MBR */
	uint8_t guid_type[16]; /* GPT, as on disk */
	uint8_t guid[16];      /* GPT, as on disk */
	char name[36 * 3 + 1]; /* GPT, UTF-8; empty for MBR */
};

struct part_table {
	enum part_scheme scheme;
	uint32_t count;
	struct part parts[PART_MAX]; /* ascending by number */
};

/* An extended partition: a container of logical ones. */
static inline bool part_is_extended(uint8_t mbr_type)
{
	return mbr_type == 0x05 || mbr_type == 0x0f || mbr_type == 0x85;
}

/* -EUCLEAN: there is a table and it is damaged; the log says where. */
MUST_USE int part_read(struct blk_dev *dev, struct part_table *out);

/* Whether @dev is a disk with a good table and a partition in it. */
bool part_any(struct blk_dev *dev);

/*
 * Open IMAGE or IMAGE#N as a user writes it.  A file that really has a '#'
 * in its name wins.  "mem:SIZE" (K, M, G, T) makes an empty memory device.
 * @why, if not NULL, gets one line without a newline about any failure.
 * -ENOENT: no such partition.  -EMEDIUMTYPE: a container that must be opened
 * or converted first (qcow2 and its like, LVM, LUKS), with a hint.  Flags as
 * for blk_open_file().
 */
MUST_USE int blk_open_image(const char *spec, unsigned flags, char *why,
	size_t why_bytes, struct blk_dev **out);

#endif /* BLK_PART_H */
