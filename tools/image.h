/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * image.h - the command lines of subcommands that read images, and opening
 * what they name.
 *
 * A subcommand parses its arguments by image_parse(), opens files of its own
 * that it will write to, then its images by image_open(), which leaves the
 * process in its sandbox (sandbox.h), and works on them through the public
 * API.
 */
#ifndef TOOLS_IMAGE_H
#define TOOLS_IMAGE_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "extant/extant.h"
#include "tools/tool.h"

/* Options of a subcommand that have no letter begin here. */
enum { IMAGE_OPTION_OWN = 512 };

/* The text of --help on the options that image_parse() knows. */
#define IMAGE_USAGE                                                            \
	"  --superblock N       use the copy of the superblock in block N\n"   \
	"  --superblock-size B  ... of a file system with blocks of B bytes\n" \
	"  --journal FILE       the journal is on FILE, outside the image\n"   \
	"  --no-replay          show the disk as it is, whatever the journal " \
	"holds\n"                                                              \
	"  --cache SIZE         memory for blocks and data (64M)\n"            \
	"  --utc                times in UTC rather than local\n"              \
	"  --help               this text\n"

struct image_syntax {
	const struct tool_command *command;
	/* As for getopt_long(), without a leading ':'; a '+' at the start ends
	 * the options at the first argument.  @longs may be NULL. */
	const char *letters;
	const struct option *longs;
	/* Called for each option that is the command's own; 0, or the exit
	 * status after a complaint. */
	int (*option)(void *arg, int option, const char *value);
};

/*
 * Parse the options of @argv: those of images into @opts, the others through
 * @syntax->option; argv[*first] is then the first argument.  False: the
 * command is to exit with *status, as it has complained or told its usage.
 */
MUST_USE bool image_parse(const struct image_syntax *syntax, int argc,
	char **argv, struct extant_opts *opts, void *arg, int *first,
	int *status);

/* "12", "4K", "1G", in bytes. */
MUST_USE bool image_size_parse(const char *text, uint64_t *out);

/*
 * Open the images @specs, IMAGE or IMAGE#N, alike, and enter the sandbox; below
 * the host's directory @below, which exists, files may still be made; NULL:
 * nowhere.  Complains itself: 0, or TOOL_FAILED and nothing is open.
 */
MUST_USE int image_open_all(const char *const *specs, unsigned count,
	const struct extant_opts *opts, const char *below, struct extant **out);

MUST_USE int image_open(const char *spec, const struct extant_opts *opts,
	const char *below, struct extant **out);

/* Likewise as devices, for those who look below the file system. */
MUST_USE int image_open_devices(
	const char *const *specs, unsigned count, struct blk_dev **out);

/* All of @bytes from @offset on, which is before the end.  -EIO: they are not
 * there. */
MUST_USE int image_pread_all(
	struct extant_file *file, uint64_t offset, void *to, size_t bytes);

/* Complain about @path inside @image: -errno @err. */
void image_complain(const char *image, const char *path, int err);

#endif /* TOOLS_IMAGE_H */
