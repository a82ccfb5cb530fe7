/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_part.c - any bytes as a disk with a partition table; sparse.h says how.
 *
 * Beyond "no crash": a table that is damaged says why, in one line; partitions
 * that are found lie on the disk, in ascending order of their numbers, and
 * have names in UTF-8; IMAGE#N opens each, and no other.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "blk/part.h"
#include "must.h"
#include "sparse.h"

int fuzz_one(const uint8_t *data, size_t bytes) __asm__(
	"LLVMFuzzerTestOneInput");

enum { OPENS_MAX = 2, SPEC_BYTES = 64, WHY_BYTES = 256 };

static unsigned reports;

static void on_log(void *arg, const struct log_record *r)
{
	(void)arg;
	MUST(r->text[0] != '\0' && strchr(r->text, '\n') == NULL);
	reports += r->level == LOG_ERROR;
}

static bool is_extended(uint8_t mbr_type)
{
	return mbr_type == 0x05 || mbr_type == 0x0f || mbr_type == 0x85;
}

/* How many bytes a character of UTF-8 has that begins with @first; 0: none. */
static unsigned utf8_bytes(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first < 0xe0)
		return 2;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

static void judge_name(const char *name, size_t room)
{
	size_t left;

	MUST(memchr(name, 0, room) != NULL);
	left = strlen(name);
	while (left > 0) {
		unsigned bytes = utf8_bytes((uint8_t)*name);

		MUST(bytes > 0 && bytes <= left);
		for (unsigned i = 1; i < bytes; i++)
			MUST(((uint8_t)name[i] & 0xc0) == 0x80);
		name += bytes;
		left -= bytes;
	}
}

static void judge_table(const struct part_table *t, uint64_t device_bytes)
{
	uint32_t number = 0;

	MUST(t->count <= PART_MAX);
	MUST(t->scheme != PART_NONE || t->count == 0);
	for (uint32_t i = 0; i < t->count; i++) {
		const struct part *p = &t->parts[i];

		MUST(p->number > number);
		MUST(p->bytes > 0 && p->bytes % 512 == 0);
		MUST(p->offset <= device_bytes);
		MUST(p->bytes <= device_bytes - p->offset);
		judge_name(p->name, sizeof(p->name));
		number = p->number;
	}
}

/* ---- IMAGE#N -------------------------------------------------------------------- */

/* The input as a file that has no name; its descriptor. */
static int file_make(const struct sparse *s)
{
	int fd = memfd_create("disk", MFD_CLOEXEC);

	MUST(fd >= 0);
	MUST(ftruncate(fd, (off_t)s->units * SPARSE_UNIT) == 0);
	for (uint32_t i = 0; i < s->count; i++) {
		const uint8_t *piece = s->pieces + (size_t)i * SPARSE_PIECE;
		uint32_t unit = sparse_get32(piece);

		if (unit < s->units &&
			((size_t)i + 1) * SPARSE_PIECE <= s->bytes)
			MUST(pwrite(fd, piece + 4, SPARSE_UNIT,
				     (off_t)unit * SPARSE_UNIT) == SPARSE_UNIT);
	}
	return fd;
}

/* Why IMAGE#N cannot be opened: by what the table says of it, @p, or for what
 * lies there, or on the whole disk, which must not be taken for raw. */
static void judge_refusal(int err, const struct part *p, const char *why)
{
	MUST(why[0] != '\0' && strchr(why, '\n') == NULL);
	if (err == -EMEDIUMTYPE)
		return;
	if (p == NULL)
		MUST(err == -ENOENT);
	else
		MUST(err == -EINVAL && is_extended(p->mbr_type));
}

static void open_part(int fd, uint32_t number, const struct part *p)
{
	char spec[SPEC_BYTES];
	char why[WHY_BYTES] = "";
	struct blk_dev *dev;
	int err;

	(void)snprintf(spec, sizeof(spec), "/proc/self/fd/%d#%u", fd, number);
	err = blk_open_image(spec, BLK_OPEN_NO_URING, why, sizeof(why), &dev);
	if (err) {
		judge_refusal(err, p, why);
		return;
	}
	MUST(p != NULL && !is_extended(p->mbr_type));
	MUST(blk_geom(dev).bytes == p->bytes);
	blk_close(dev);
}

/* The first partitions, and one that is not there. */
static void open_parts(const struct sparse *s, const struct part_table *t)
{
	uint32_t absent = 1;
	int fd = file_make(s);

	for (uint32_t i = 0; i < t->count && t->parts[i].number == absent; i++)
		absent++;
	for (uint32_t i = 0; i < t->count && i < OPENS_MAX; i++)
		open_part(fd, t->parts[i].number, &t->parts[i]);
	open_part(fd, absent, NULL);
	MUST(close(fd) == 0);
}

int fuzz_one(const uint8_t *data, size_t bytes)
{
	static struct part_table table;
	struct blk_dev *dev;
	struct sparse s;
	int err;

	log_to(on_log, NULL);
	if (!sparse_decode(data, bytes, &s))
		return 0;
	dev = sparse_load(&s);
	reports = 0;
	err = part_read(dev, &table);
	MUST(err == 0 || err == -EUCLEAN);
	MUST(err == 0 || reports > 0);
	if (err == 0) {
		judge_table(&table, blk_geom(dev).bytes);
		/* A cut piece is not in the file. */
		if (s.bytes % SPARSE_PIECE == 0)
			open_parts(&s, &table);
	}
	blk_close(dev);
	return 0;
}
