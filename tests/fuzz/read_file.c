/* SPDX-License-Identifier: BSD-2-Clause */
/* read_file.c - a regular file: its first and last bytes, its holes. */
#include <errno.h>
#include <string.h>

#include "read_pass.h"

enum { CHUNK = 20000, PIECE = 700, SEGMENTS_MAX = 24, PROBE = 512 };

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* @bytes from @offset, all that there are; false: damage.  A call that meets
 * some after good bytes gives these, and the next call says so. */
static bool get(struct read_pass *p, struct vfs_file *file, uint64_t size,
	uint64_t offset, size_t bytes, void *to)
{
	uint64_t left = offset < size ? at_most(bytes, size - offset) : 0;
	uint8_t *at = to;
	size_t done;

	do {
		if (read_judge(p, READ_DATA,
			    vfs_pread(file, offset, bytes, at, &done)))
			return false;
		MUST(done <= left && (done > 0 || left == 0));
		left -= done;
		bytes -= done;
		offset += done;
		at += done;
	} while (left > 0);
	return true;
}

/* The same bytes at once and in pieces. */
static void read_around(struct read_pass *p, struct vfs_file *file,
	uint64_t size, uint64_t offset)
{
	static uint8_t whole[CHUNK];
	static uint8_t pieces[CHUNK];
	size_t bytes = (size_t)at_most(CHUNK, size - offset);
	bool good = true;

	if (!get(p, file, size, offset, CHUNK, whole))
		return;
	read_add(p, whole, bytes);
	for (size_t at = 0; good && at < bytes; at += PIECE)
		good = get(p, file, size, offset + at,
			at_most(PIECE, bytes - at), pieces + at);
	if (good)
		MUST(memcmp(whole, pieces, bytes) == 0);
}

static void probe_hole(struct read_pass *p, struct vfs_file *file,
	uint64_t size, uint64_t from, uint64_t to)
{
	static const uint8_t zeroes[PROBE];
	uint8_t found[PROBE];
	size_t bytes = (size_t)at_most(PROBE, to - from);

	if (get(p, file, size, from, bytes, found))
		MUST(memcmp(found, zeroes, bytes) == 0);
}

static void probe_data(struct read_pass *p, struct vfs_file *file,
	uint64_t size, uint64_t from, uint64_t to)
{
	uint8_t found[PROBE];
	size_t bytes = (size_t)at_most(PROBE, to - from);

	if (get(p, file, size, from, bytes, found))
		read_add(p, found, bytes);
}

static int seek(struct read_pass *p, struct vfs_file *file, uint64_t size,
	uint64_t from, bool data, uint64_t *out)
{
	int err = read_judge(p, READ_SEEK, vfs_seek(file, from, data, out));

	if (err)
		return err;
	MUST(*out >= from && *out <= size);
	read_add_number(p, *out);
	return 0;
}

static void segments(struct read_pass *p, struct vfs_file *file, uint64_t size)
{
	uint64_t at = 0;

	for (int i = 0; i < SEGMENTS_MAX && at < size; i++) {
		uint64_t from = size;
		uint64_t to = size;
		int err = seek(p, file, size, at, true, &from);

		if (err != 0 && err != -ENXIO)
			return;
		MUST(err == 0 ? from < size : from == size);
		if (from > at)
			probe_hole(p, file, size, at, from);
		if (err || seek(p, file, size, from, false, &to))
			return;
		MUST(to > from);
		probe_data(p, file, size, from, to);
		at = to;
	}
}

void read_file(
	struct read_pass *p, struct vfs_file *file, const struct vfs_attr *a)
{
	uint64_t size = a->size;
	uint64_t none = 0;
	uint8_t byte;

	(void)get(p, file, size, size, 1, &byte);
	MUST(read_judge(p, READ_SEEK, vfs_seek(file, size, true, &none)) ==
		-ENXIO);
	if (size == 0)
		return;
	read_around(p, file, size, 0);
	read_around(p, file, size, size - at_most(size, CHUNK / 2));
	segments(p, file, size);
}
