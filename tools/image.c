/* SPDX-License-Identifier: BSD-2-Clause */
/* image.c - see image.h. */
#include "tools/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "tools/sandbox.h"

_Static_assert(EXTANT_NO_BLOCK == LOG_NO_BLOCK, "no block, alike");

/* ---- options ------------------------------------------------------------- */

enum {
	OPTION_SUPERBLOCK = 256,
	OPTION_SUPERBLOCK_SIZE,
	OPTION_JOURNAL,
	OPTION_NO_REPLAY,
	OPTION_CACHE,
	OPTION_UTC,
	OPTION_HELP,
};

static const struct option common[] = {
	{"superblock", required_argument, NULL, OPTION_SUPERBLOCK},
	{"superblock-size", required_argument, NULL, OPTION_SUPERBLOCK_SIZE},
	{"journal", required_argument, NULL, OPTION_JOURNAL},
	{"no-replay", no_argument, NULL, OPTION_NO_REPLAY},
	{"cache", required_argument, NULL, OPTION_CACHE},
	{"utc", no_argument, NULL, OPTION_UTC},
	{"help", no_argument, NULL, OPTION_HELP},
};

enum { LONGS_MAX = 48, LETTERS_MAX = 64 };

/* The command's own long options and the common ones, in one table. */
static void table_make(
	const struct image_syntax *syntax, struct option table[LONGS_MAX])
{
	size_t count = 0;

	for (const struct option *o = syntax->longs; o && o->name; o++)
		table[count++] = *o;
	memcpy(table + count, common, sizeof(common));
	table[count + ARRAY_COUNT(common)] = (struct option){0};
}

/* A leading ':', after the '+' if there is one, tells a missing value from an
 * unknown option. */
static void letters_make(const char *letters, char out[LETTERS_MAX])
{
	bool ends = *letters == '+';

	(void)snprintf(out, LETTERS_MAX, "%s:%s", ends ? "+" : "",
		letters + (ends ? 1 : 0));
}

bool image_size_parse(const char *text, uint64_t *out)
{
	static const char units[] = "KMGTPE";
	const char *unit;
	unsigned shift = 0;
	uint64_t bytes;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	bytes = strtoull(text, &end, 10);
	if (errno != 0)
		return false;
	unit = *end != '\0' ? strchr(units, *end) : NULL;
	if (unit != NULL) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
	}
	if (*end != '\0' || bytes > UINT64_MAX >> shift)
		return false;
	*out = bytes << shift;
	return true;
}

/* A number of at most @most, perhaps with a unit, for option --@name. */
static int number_take(const struct image_syntax *syntax, const char *name,
	const char *value, uint64_t most, uint64_t *out)
{
	uint64_t number;

	if (!image_size_parse(value, &number) || number == 0 || number > most)
		return tool_misuse(
			syntax->command, "--%s takes no '%s'", name, value);
	*out = number;
	return 0;
}

static int common_take(const struct image_syntax *syntax, int option,
	const char *value, struct extant_opts *opts)
{
	uint64_t number = 0;
	int status = 0;

	switch (option) {
	case OPTION_SUPERBLOCK:
		return number_take(syntax, "superblock", value, UINT64_MAX,
			&opts->superblock);
	case OPTION_SUPERBLOCK_SIZE:
		status = number_take(
			syntax, "superblock-size", value, 65536, &number);
		opts->superblock_bytes = (uint32_t)number;
		break;
	case OPTION_JOURNAL:
		opts->journal = value;
		break;
	case OPTION_NO_REPLAY:
		opts->no_replay = true;
		break;
	case OPTION_UTC:
		/* No other thread runs. NOLINTNEXTLINE(concurrency-mt-unsafe) */
		(void)setenv("TZ", "UTC0", 1);
		break;
	default:
		return number_take(
			syntax, "cache", value, SIZE_MAX, &opts->cache_bytes);
	}
	return status;
}

/* What getopt_long() stumbled over, which stands before optind or in it. */
static int stumble(const struct image_syntax *syntax, int c, char **argv)
{
	const char *word = argv[optind - 1];

	if (c == ':')
		return tool_misuse(syntax->command, "%s needs a value", word);
	if (optopt > 0 && optopt < OPTION_SUPERBLOCK)
		return tool_misuse(syntax->command, "no option '-%c'", optopt);
	return tool_misuse(syntax->command, "no option '%s'", word);
}

bool image_parse(const struct image_syntax *syntax, int argc, char **argv,
	struct extant_opts *opts, void *arg, int *first, int *status)
{
	struct option table[LONGS_MAX];
	char letters[LETTERS_MAX];
	int c;

	table_make(syntax, table);
	letters_make(syntax->letters, letters);
	opterr = 0;
	optind = 0; /* from the start again, whatever was parsed before */
	*status = 0;
	/* No other thread runs. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((c = getopt_long(argc, argv, letters, table, NULL)) != -1) {
		if (c == ':' || c == '?')
			*status = stumble(syntax, c, argv);
		else if (c == OPTION_HELP)
			*status = tool_help(syntax->command);
		else if (c >= OPTION_SUPERBLOCK && c < OPTION_HELP)
			*status = common_take(syntax, c, optarg, opts);
		else
			*status = syntax->option(arg, c, optarg);
		if (*status != 0 || c == OPTION_HELP)
			return false;
	}
	*first = optind;
	return true;
}

/* ---- opening ------------------------------------------------------------- */

/* Whether @text begins with @file and a colon, as reasons from below do. */
static bool names_file(const char *text, const char *file)
{
	size_t bytes = file != NULL ? strlen(file) : 0;
	const char *mark = file != NULL ? strrchr(file, '#') : NULL;

	if (bytes > 0 && strncmp(text, file, bytes) == 0 && text[bytes] == ':')
		return true;
	bytes = mark != NULL ? (size_t)(mark - file) : 0;
	return bytes > 0 && strncmp(text, file, bytes) == 0 &&
	       text[bytes] == ':';
}

static int problem_tell(const char *spec, const struct extant_opts *opts,
	const struct extant_problem *problem)
{
	char where[64] = "";
	int used = 0;

	if (names_file(problem->text, spec) ||
		names_file(problem->text, opts->journal))
		return tool_fail(NULL, "%s", problem->text);
	if (problem->block != EXTANT_NO_BLOCK)
		used = snprintf(where, sizeof(where),
			"block %llu: ", (unsigned long long)problem->block);
	if (problem->inode != 0 && used >= 0)
		(void)snprintf(where + used, sizeof(where) - (size_t)used,
			"inode %u: ", problem->inode);
	return tool_fail(spec, "%s%s", where, problem->text);
}

static int open_one(
	const char *spec, const struct extant_opts *opts, struct extant **out)
{
	struct extant_problem problem = {.block = EXTANT_NO_BLOCK};
	int err = extant_open(spec, opts, out, &problem);

	return err == 0 ? 0 : problem_tell(spec, opts, &problem);
}

/* The kernel may have no seccomp at all; then it goes without. */
static int enter_tell(int err)
{
	if (err == 0)
		return 0;
	if (err == -ENOSYS || err == -EINVAL) {
		(void)tool_fail(NULL, "warning: this system has no seccomp; "
				      "reading the image unconfined");
		return 0;
	}
	return tool_fail(
		NULL, "cannot enter the sandbox: %s", strerrordesc_np(-err));
}

enum { IMAGES_MAX = 8 };

int image_open_all(const char *const *specs, unsigned count,
	const struct extant_opts *opts, const char *below, struct extant **out)
{
	const char *files[IMAGES_MAX + 1];
	struct sandbox sandbox = {.files = files, .below = below};
	struct extant_opts how = *opts;
	unsigned opened = 0;
	int status;

	ASSERT(count <= IMAGES_MAX);
	how.eager = true;
	for (unsigned i = 0; i < count; i++)
		files[sandbox.file_count++] = specs[i];
	if (opts->journal != NULL)
		files[sandbox.file_count++] = opts->journal;
	status = enter_tell(sandbox_prepare(&sandbox));
	for (; status == 0 && opened < count; opened++) {
		status = open_one(specs[opened], &how, &out[opened]);
		if (status != 0)
			break;
	}
	if (status == 0)
		status = enter_tell(sandbox_enter(&sandbox));
	if (status == 0)
		return 0;
	while (opened > 0)
		(void)extant_close(out[--opened]);
	return status;
}

int image_open(const char *spec, const struct extant_opts *opts,
	const char *below, struct extant **out)
{
	return image_open_all(&spec, 1, opts, below, out);
}

int image_pread_all(
	struct extant_file *file, uint64_t offset, void *to, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		size_t some;
		int err = extant_pread(file, offset + done, (char *)to + done,
			bytes - done, &some);

		if (err != 0)
			return err;
		if (some == 0)
			return -EIO;
		done += some;
	}
	return 0;
}

int image_open_devices(
	const char *const *specs, unsigned count, struct blk_dev **out)
{
	struct sandbox sandbox = {.files = specs, .file_count = count};
	unsigned opened = 0;
	int status = enter_tell(sandbox_prepare(&sandbox));

	for (; status == 0 && opened < count; opened++) {
		status = tool_open(specs[opened], BLK_OPEN_EAGER, &out[opened]);
		if (status != 0)
			break;
	}
	if (status == 0)
		status = enter_tell(sandbox_enter(&sandbox));
	if (status == 0)
		return 0;
	while (opened > 0)
		blk_close(out[--opened]);
	return status;
}

void image_complain(const char *image, const char *path, int err)
{
	const char *why = strerrordesc_np(-err);

	if (err == -EUCLEAN)
		why = "damaged";
	else if (err == -EBADMSG)
		why = "damaged: bad checksum";
	else if (err == -ENOKEY)
		why = "encrypted, and there is no key";
	(void)tool_fail(image, "%s: %s", path, why ? why : "unknown error");
}
