/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * known.c - see known.h.
 *
 * Containers come first: what lies inside one is not its own.  Sources are
 * the formats' own documents, and magic(5).
 */
#include "blk/known.h"

#include <errno.h>
#include <string.h>

static const char hint_convert[] = "convert it with: qemu-img convert -O raw";
static const char hint_lvm[] =
	"activate its volumes with vgchange -ay and use /dev/GROUP/VOLUME";
static const char hint_luks[] =
	"open it with cryptsetup open and use /dev/mapper/NAME";

/* clang-format off */
static const struct known list[] = {
	{0, 4, "QFI\xfb", "qcow2", "a qcow2 image", hint_convert},
	{0, 4, "KDMV", "vmdk", "a VMDK image", hint_convert},
	{0, 8, "vhdxfile", "vhdx", "a VHDX image", hint_convert},
	{0, 8, "conectix", "vhd", "a VHD image", hint_convert},
	{64, 4, "\x7f\x10\xda\xbe", "vdi", "a VDI image", hint_convert},
	{0, 6, "LUKS\xba\xbe", "luks", "a LUKS container", hint_luks},
	{0, 6, "SKUL\xba\xbe", "luks", "a LUKS container", hint_luks},
	/* The label may be in any of the first four sectors. */
	{512 * 0 + 24, 8, "LVM2 001", "lvm", "an LVM physical volume", hint_lvm},
	{512 * 1 + 24, 8, "LVM2 001", "lvm", "an LVM physical volume", hint_lvm},
	{512 * 2 + 24, 8, "LVM2 001", "lvm", "an LVM physical volume", hint_lvm},
	{512 * 3 + 24, 8, "LVM2 001", "lvm", "an LVM physical volume", hint_lvm},
	/* Not as containers: a mirror's half can be read as it is. */
	{0, 4, "\xfc\x4e\x2b\xa9", "raid", "a member of a Linux RAID", NULL},
	{4096, 4, "\xfc\x4e\x2b\xa9", "raid", "a member of a Linux RAID", NULL},
	{0, 4, "XFSB", "xfs", "an XFS file system", NULL},
	{0, 4, "hsqs", "squashfs", "a squashfs file system", NULL},
	{3, 8, "NTFS    ", "ntfs", "an NTFS file system", NULL},
	{3, 8, "EXFAT   ", "exfat", "an exFAT file system", NULL},
	{54, 5, "FAT12", "vfat", "a FAT file system", NULL},
	{54, 5, "FAT16", "vfat", "a FAT file system", NULL},
	{82, 5, "FAT32", "vfat", "a FAT file system", NULL},
	{32, 4, "NXSB", "apfs", "an APFS container", NULL},
	{1024, 4, "\x10\x20\xf5\xf2", "f2fs", "an F2FS file system", NULL},
	{1024, 4, "\xe2\xe1\xf5\xe0", "erofs", "an EROFS file system", NULL},
	{1024, 2, "H+", "hfsplus", "an HFS+ file system", NULL},
	{4096 - 10, 10, "SWAPSPACE2", "swap", "swap space", NULL},
	{65536 - 10, 10, "SWAPSPACE2", "swap", "swap space", NULL},
	{32768, 4, "JFS1", "jfs", "a JFS file system", NULL},
	{32769, 5, "CD001", "iso9660", "an ISO 9660 file system", NULL},
	{65536 + 52, 8, "ReIsEr2F", "reiserfs", "a ReiserFS file system", NULL},
	{65536 + 64, 8, "_BHRfS_M", "btrfs", "a Btrfs file system", NULL},
};

/* clang-format on */

enum { AHEAD = 4096 }; /* a magic number's whole sectors, at most */

/* Whether @k's magic number is there; entries in one place share a read. */
struct looking {
	struct blk_dev *dev;
	uint64_t offset; /* of what was read last */
	uint64_t bytes;  /* 0: nothing yet */
	uint8_t data[2 * AHEAD];
};

static int look(struct looking *l, const struct known *k, bool *there)
{
	uint64_t first = (uint64_t)k->at / AHEAD * AHEAD;
	uint64_t size = blk_geom(l->dev).bytes;
	uint64_t room = first < size ? size - first : 0;

	*there = false;
	if (room > sizeof(l->data))
		room = sizeof(l->data);
	if (k->at - first + k->bytes > room)
		return 0;
	if (l->bytes == 0 || l->offset != first) {
		int err = blk_read(l->dev, first, room, l->data);

		if (err)
			return err;
		l->offset = first;
		l->bytes = room;
	}
	*there = memcmp(l->data + (k->at - first), k->magic, k->bytes) == 0;
	return 0;
}

static int find(struct blk_dev *dev, bool contained, const struct known **out)
{
	struct looking l = {.dev = dev};
	const struct known *found = NULL;

	for (size_t i = 0; !found && i < ARRAY_COUNT(list); i++) {
		bool there = false;
		int err;

		if (contained && !list[i].hint)
			continue;
		err = look(&l, &list[i], &there);
		if (err)
			return err;
		if (there)
			found = &list[i];
	}
	*out = found;
	return 0;
}

int known_find(struct blk_dev *dev, const struct known **out)
{
	return find(dev, false, out);
}

int known_container(struct blk_dev *dev, const struct known **out)
{
	return find(dev, true, out);
}
