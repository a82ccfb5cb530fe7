/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.c - list a directory of an image, or print a file of it.
 *
 *     cc list.c $(pkg-config --cflags --libs extant) -o list
 *     ./list disk.img#1 /etc
 */
#define _DEFAULT_SOURCE

#include <extant/extant.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Why @path failed; returns what main() is to exit with. */
static int complain(const char *path, int err)
{
	fprintf(stderr, "list: %s: %s\n", path, strerror(-err));
	return 1;
}

/* One entry.  Names are looked up from the open directory, so that its path is
 * walked once only. */
static int print_entry(struct extant *fs, struct extant_file *dir,
	const struct extant_dirent *entry)
{
	struct extant_stat st;
	int err = extant_stat(
		fs, EXTANT_AT(.dir = dir), entry->name, EXTANT_NOFOLLOW, &st);

	if (err != 0)
		return complain(entry->name, err);
	printf("%06o %8llu %s\n", (unsigned)st.mode,
		(unsigned long long)st.size, entry->name);
	return 0;
}

static int print_directory(struct extant *fs, struct extant_file *dir)
{
	_Alignas(8) char buffer[16384];
	uint64_t cookie = 0;
	int status = 0;

	for (;;) {
		const void *at = buffer;
		size_t done;
		int err = extant_readdir(
			dir, cookie, buffer, sizeof(buffer), &done);

		if (err != 0)
			return complain("readdir", err);
		if (done == 0)
			return status;
		while (at != buffer + done) {
			const struct extant_dirent *entry = at;

			status |= print_entry(fs, dir, entry);
			cookie = entry->cookie;
			at = extant_dirent_next(entry);
		}
	}
}

static int print_contents(struct extant_file *file)
{
	char buffer[65536];
	uint64_t offset = 0;
	size_t done;

	do {
		int err = extant_pread(
			file, offset, buffer, sizeof(buffer), &done);

		if (err != 0)
			return complain("read", err);
		fwrite(buffer, 1, done, stdout);
		offset += done;
	} while (done == sizeof(buffer));
	return 0;
}

static int print_path(struct extant *fs, const char *path)
{
	struct extant_file *file;
	struct extant_stat st;
	int status;
	int err = extant_file_open(fs, NULL, path, 0, &file);

	if (err != 0)
		return complain(path, err);
	extant_file_stat(file, &st);
	if (S_ISDIR(st.mode))
		status = print_directory(fs, file);
	else
		status = print_contents(file);
	extant_file_close(file);
	return status;
}

int main(int argc, char **argv)
{
	struct extant_problem problem;
	struct extant *fs;
	int status;

	if (argc != 3) {
		fprintf(stderr, "Usage: list IMAGE PATH\n");
		return 2;
	}
	if (extant_open(argv[1], NULL, &fs, &problem) != 0) {
		fprintf(stderr, "list: %s: %s\n", argv[1], problem.text);
		return 2;
	}
	status = print_path(fs, argv[2]);
	extant_close(fs);
	return status;
}
