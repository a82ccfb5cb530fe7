/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cat.c - `extant cat`: the bytes of files.
 *
 * Holes are not read: what is between pieces of data is written from a buffer
 * of zeroes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/image.h"
#include "tools/progress.h"

static const char usage[] =
	"Usage: extant cat [options] IMAGE PATH...\n"
	"\n"
	"Writes the contents of files to standard output, one after the "
	"other.\n"
	"\n" IMAGE_USAGE;

enum { CHUNK = 1 << 20, ZEROES = 1 << 16 };

static const char zeroes[ZEROES];

struct cat {
	struct extant *fs;
	const char *image;
	char *chunk; /* CHUNK bytes */
	int broken;  /* -errno: nothing more can be written */
};

/* Write all of it.  What fails is remembered, and ends the command. */
static bool put(struct cat *cat, const char *from, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(STDOUT_FILENO, from, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			cat->broken = -errno;
			return false;
		}
		progress_add(0, (uint64_t)n);
		from += n;
		bytes -= (size_t)n;
	}
	return true;
}

static bool put_zeroes(struct cat *cat, uint64_t bytes)
{
	while (bytes > 0) {
		size_t piece = bytes < ZEROES ? (size_t)bytes : ZEROES;

		if (!put(cat, zeroes, piece))
			return false;
		bytes -= piece;
	}
	return true;
}

/* Bytes @from to @to of @file, which are data or, where that is quicker, not. */
static int put_data(
	struct cat *cat, struct extant_file *file, uint64_t from, uint64_t to)
{
	while (from < to && cat->broken == 0) {
		size_t piece = to - from < CHUNK ? (size_t)(to - from) : CHUNK;
		size_t done;
		int err = extant_pread(file, from, cat->chunk, piece, &done);

		if (err != 0)
			return err;
		if (done == 0)
			break;
		(void)put(cat, cat->chunk, done);
		from += done;
	}
	return 0;
}

static int put_file(struct cat *cat, struct extant_file *file)
{
	struct extant_stat st;
	uint64_t at = 0;

	extant_file_stat(file, &st);
	while (at < st.size && cat->broken == 0) {
		uint64_t data = 0;
		uint64_t hole = 0;
		int err = extant_seek_data(file, at, &data);

		if (err == -ENXIO)
			data = hole = st.size;
		else if (err == 0)
			err = extant_seek_hole(file, data, &hole);
		if (err != 0 && err != -ENXIO)
			return err;
		if (!put_zeroes(cat, data - at))
			break;
		err = put_data(cat, file, data, hole);
		if (err != 0)
			return err;
		at = hole;
	}
	return 0;
}

static int put_path(struct cat *cat, const char *path)
{
	struct extant_file *file;
	struct extant_stat st;
	int err = extant_file_open(cat->fs, NULL, path, 0, &file);

	if (err != 0)
		return err;
	extant_file_stat(file, &st);
	if (S_ISDIR(st.mode))
		err = -EISDIR;
	else if (!S_ISREG(st.mode))
		err = -EINVAL;
	else
		err = put_file(cat, file);
	extant_file_close(file);
	return err;
}

static int put_paths(struct cat *cat, char **paths)
{
	int status = TOOL_OK;

	for (; *paths != NULL && cat->broken == 0; paths++) {
		int err = put_path(cat, *paths);

		progress_add(err == 0, 0);
		if (err == 0)
			continue;
		image_complain(cat->image, *paths, err);
		status = TOOL_SOME;
	}
	if (cat->broken == 0)
		return status;
	return tool_fail(
		"standard output", "%s", strerrordesc_np(-cat->broken));
}

/* With how far it is, unless the files themselves go to the terminal. */
static int put_told(struct cat *cat, char **paths)
{
	int status;

	if (!isatty(STDOUT_FILENO))
		progress_begin("written", 0);
	status = put_paths(cat, paths);
	progress_end();
	return status;
}

static int no_option(void *arg, int option, const char *value)
{
	(void)arg;
	(void)option;
	(void)value;
	return 0;
}

static int run(int argc, char **argv)
{
	static const struct image_syntax syntax = {
		.command = &tool_cat, .letters = "", .option = no_option};
	struct extant_opts opts = EXTANT_OPTS();
	struct cat cat = {0};
	int status;
	int first;

	if (!image_parse(&syntax, argc, argv, &opts, NULL, &first, &status))
		return status;
	if (argc - first < 2)
		return tool_misuse(&tool_cat, "%s",
			argc == first ? "no IMAGE" : "no PATH");
	cat.image = argv[first];
	status = image_open(cat.image, &opts, NULL, &cat.fs);
	if (status != 0)
		return status;
	cat.chunk = malloc(CHUNK);
	if (cat.chunk == NULL)
		status = tool_fail(NULL, "out of memory");
	else
		status = put_told(&cat, argv + first + 1);
	free(cat.chunk);
	(void)extant_close(cat.fs);
	return status;
}

const struct tool_command tool_cat = {
	.name = "cat", .run = run, .usage = usage};
