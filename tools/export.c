/* SPDX-License-Identifier: BSD-2-Clause */
/* export.c - `extant export`: a tree of an image as an archive. */
#include "tools/export.h"

#include <archive.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/image.h"
#include "tools/pool.h"
#include "tools/progress.h"

static const char usage[] =
	"Usage: extant export [options] IMAGE\n"
	"\n"
	"Write the tree of the file system on IMAGE as a tar archive, in the "
	"pax\n"
	"format, with owners, times to the nanosecond, attributes, ACLs, hard\n"
	"links, holes and devices.  The same image gives the same archive.\n"
	"\n"
	"  -C, --directory PATH  only what is in directory PATH\n"
	"  -f, --file TAR        to file TAR; else to standard output\n"
	"  -z, --compress HOW    by gzip, bzip2, xz, zstd, lz4, or none; else "
	"as\n"
	"                        the name of TAR says\n" IMAGE_USAGE;

/* ---- compression ----------------------------------------------------------- */

static const struct compression {
	const char *name;
	const char *endings[2]; /* of file names */
	int (*add)(struct archive *archive);
} compressions[] = {
	{"none", {".tar"}, archive_write_add_filter_none},
	{"gzip", {".gz", ".tgz"}, archive_write_add_filter_gzip},
	{"bzip2", {".bz2", ".tbz2"}, archive_write_add_filter_bzip2},
	{"xz", {".xz", ".txz"}, archive_write_add_filter_xz},
	{"zstd", {".zst", ".tzst"}, archive_write_add_filter_zstd},
	{"lz4", {".lz4"}, archive_write_add_filter_lz4},
};

static const struct compression *compression_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(compressions); i++)
		if (strcmp(compressions[i].name, name) == 0)
			return &compressions[i];
	return NULL;
}

static bool ends_with(const char *text, const char *end)
{
	size_t bytes = strlen(text);

	return bytes > strlen(end) &&
	       strcmp(text + bytes - strlen(end), end) == 0;
}

static const struct compression *compression_of_file(const char *file)
{
	for (size_t i = 0; i < ARRAY_COUNT(compressions); i++)
		for (size_t k = 0; k < 2; k++)
			if (compressions[i].endings[k] != NULL &&
				ends_with(file, compressions[i].endings[k]))
				return &compressions[i];
	return &compressions[0];
}

/* ---- arguments ------------------------------------------------------------- */

struct arguments {
	const char *top;
	const char *file; /* NULL: standard output */
	const struct compression *compression;
};

static int option_take(void *arg, int option, const char *value)
{
	struct arguments *args = arg;

	switch (option) {
	case 'C':
		args->top = value;
		return 0;
	case 'f':
		args->file = strcmp(value, "-") != 0 ? value : NULL;
		return 0;
	default:
		args->compression = compression_named(value);
		return args->compression != NULL
			       ? 0
			       : tool_misuse(&tool_export,
					 "--compress takes no '%s'", value);
	}
}

static bool parse(int argc, char **argv, struct arguments *args,
	struct extant_opts *opts, int *first, int *status)
{
	static const struct option longs[] = {
		{"directory", required_argument, NULL, 'C'},
		{"file", required_argument, NULL, 'f'},
		{"compress", required_argument, NULL, 'z'},
		{NULL, 0, NULL, 0},
	};
	static const struct image_syntax syntax = {
		.command = &tool_export,
		.letters = "C:f:z:",
		.longs = longs,
		.option = option_take,
	};

	if (!image_parse(&syntax, argc, argv, opts, args, first, status))
		return false;
	if (argc - *first != 1) {
		*status = tool_misuse(&tool_export, "%s",
			argc == *first ? "no IMAGE" : "more than one IMAGE");
		return false;
	}
	if (args->compression == NULL)
		args->compression = args->file != NULL
					    ? compression_of_file(args->file)
					    : &compressions[0];
	return true;
}

/* ---- output ---------------------------------------------------------------- */

enum { BLOCK_BYTES = 1 << 20 };

static const char *out_name(const struct arguments *args)
{
	return args->file != NULL ? args->file : "standard output";
}

/* Complains itself: 0 or TOOL_FAILED. */
static int out_open(const struct arguments *args, int *out)
{
	if (args->file != NULL)
		*out = open(args->file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	else
		*out = STDOUT_FILENO;
	if (*out < 0)
		return tool_fail(args->file, "%s", strerrordesc_np(errno));
	if (isatty(*out))
		return tool_fail(out_name(args),
			"is a terminal, which an archive is not for; see -f");
	/* A reader that is woken up less often; only pipes take it. */
	(void)fcntl(*out, F_SETPIPE_SZ, BLOCK_BYTES);
	return 0;
}

/* What was in a file before; not before it is known that there is an image. */
static int out_empty(const struct arguments *args, int out)
{
	struct stat st;

	if (args->file == NULL || fstat(out, &st) != 0 || !S_ISREG(st.st_mode))
		return 0;
	if (ftruncate(out, 0) == 0)
		return 0;
	return tool_fail(args->file, "%s", strerrordesc_np(errno));
}

static la_ssize_t out_write(
	struct archive *archive, void *arg, const void *data, size_t bytes)
{
	const int *out = arg;
	ssize_t n;

	do
		n = write(*out, data, bytes);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		archive_set_error(archive, errno, "%s", "cannot write");
	return n;
}

static int archive_begin(struct archive *archive,
	const struct compression *compression, int *out)
{
	int result = archive_write_set_format_pax(archive);

	/* Once is enough: this is the form that GNU tar knows. */
	if (result == ARCHIVE_OK)
		result = archive_write_set_format_option(
			archive, "pax", "xattrheader", "SCHILY");
	if (result == ARCHIVE_OK)
		result = compression->add(archive);
	/* The clock. */
	if (result == ARCHIVE_OK && strcmp(compression->name, "gzip") == 0)
		result = archive_write_set_filter_option(
			archive, "gzip", "timestamp", NULL);
	if (result == ARCHIVE_OK)
		result =
			archive_write_set_bytes_per_block(archive, BLOCK_BYTES);
	/* Compressed, zeroes behind the end would be an error. */
	if (result == ARCHIVE_OK)
		result = archive_write_set_bytes_in_last_block(archive, 1);
	if (result == ARCHIVE_OK)
		result =
			archive_write_open(archive, out, NULL, out_write, NULL);
	return result == ARCHIVE_OK ? 0 : -ENOTSUP;
}

/* ---- the command ----------------------------------------------------------- */

static int top_check(const struct export *export)
{
	struct extant_stat st;
	int err = extant_stat(
		export->fs, NULL, export->top, EXTANT_DIRECTORY, &st);

	if (err != 0)
		image_complain(export->image, export->top, err);
	return err != 0 ? TOOL_FAILED : 0;
}

static int run(struct export *export, const struct arguments *args, int *out)
{
	/* The writer works when it has nothing to write, and one plans. */
	const struct ordered_opts opts = {
		.threads = pool_cpus() > 2 ? pool_cpus() - 2 : 1,
		.bytes_max = EXPORT_AHEAD_BYTES,
		.items_max = EXPORT_AHEAD_ITEMS,
		.arg = export,
		.produce = export_plan,
		.work = export_read,
		.drop = export_drop,
	};
	struct ordered *ordered = NULL;
	int err = archive_begin(export->archive, args->compression, out);

	if (err == 0)
		err = ordered_open(&opts, &ordered);
	if (err == 0)
		err = export_write(export, ordered);
	ordered_close(ordered);
	if (err == 0 && archive_write_close(export->archive) != ARCHIVE_OK)
		err = -archive_errno(export->archive);
	if (err == 0 && args->file != NULL && close(*out) != 0)
		err = -errno;
	if (err != 0)
		return tool_fail(out_name(args), "%s; the archive is not whole",
			strerrordesc_np(-err));
	return export->failures != 0 ? TOOL_SOME : TOOL_OK;
}

/* What has to be there before the sandbox. */
static int export_open(struct export *export)
{
	void *zeroes = mmap(NULL, EXPORT_ZEROES_BYTES, PROT_READ,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* Names are bytes; where they are UTF-8 the archive says so. */
	locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);

	export->zeroes = zeroes;
	export->archive = archive_write_new();
	if (zeroes == MAP_FAILED || export->archive == NULL)
		return tool_fail(NULL, "%s", strerrordesc_np(ENOMEM));
	if (locale != (locale_t)0)
		(void)uselocale(locale);
	return 0;
}

static void export_close(struct export *export)
{
	locale_t locale = uselocale(LC_GLOBAL_LOCALE);

	if (locale != LC_GLOBAL_LOCALE)
		freelocale(locale);
	(void)archive_write_free(export->archive);
	if (export->zeroes != MAP_FAILED)
		(void)munmap((void *)export->zeroes, EXPORT_ZEROES_BYTES);
	inomap_each(&export->names, free);
	inomap_fini(&export->names);
	inomap_fini(&export->lost);
}

static int export_run(int argc, char **argv)
{
	struct arguments args = {.top = "/"};
	struct extant_opts opts = EXTANT_OPTS();
	struct export export = {.fs = NULL};
	int out;
	int first;
	int status;

	if (!parse(argc, argv, &args, &opts, &first, &status))
		return status;
	status = out_open(&args, &out);
	if (status != 0)
		return status;
	export.image = argv[first];
	export.top = args.top;
	status = export_open(&export);
	if (status == 0)
		status = image_open(export.image, &opts, NULL, &export.fs);
	if (status == 0)
		status = top_check(&export);
	if (status == 0)
		status = out_empty(&args, out);
	if (status == 0) {
		progress_begin("exported", 0);
		status = run(&export, &args, &out);
		progress_end();
	}
	export_close(&export);
	if (export.fs != NULL)
		(void)extant_close(export.fs);
	return status;
}

const struct tool_command tool_export = {
	.name = "export", .run = export_run, .usage = usage};
