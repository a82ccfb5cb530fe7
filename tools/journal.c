/* SPDX-License-Identifier: BSD-2-Clause */
/* journal.c - `extant journal`: look into a journal, or replay it. */
#include "tools/journal.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "tools/json.h"

static const char usage[] =
	"Usage: extant journal dump [--json] [--live] [--journal DEV] IMAGE\n"
	"       extant journal replay [--json] [--journal DEV] IMAGE\n"
	"\n"
	"dump shows each block of the journal of the file system on IMAGE, or\n"
	"of the journal device IMAGE: type, sequence, checksum, where copies\n"
	"belong, revoked blocks, commit times, fast-commit records.\n"
	"\n"
	"replay writes home what the journal holds, marks it empty, and "
	"clears\n"
	"needs_recovery.  It writes nothing unless all of the journal is "
	"good.\n"
	"\n"
	"  --journal DEV  the journal is on DEV, outside the file system\n"
	"  --json         for programs\n"
	"  --live         dump only what a replay would read\n"
	"  -h, --help     this text\n";

struct options {
	bool json;
	bool live;
	const char *outside;
	const char *image;
};

static int parse(int argc, char **argv, struct options *out)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},
		{"live", no_argument, NULL, 'l'},
		{"journal", required_argument, NULL, 'J'},
		{NULL, 0, NULL, 0},
	};
	int c;

	opterr = 0;
	optind = 1;
	/* No other thread runs. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((c = getopt_long(argc, argv, "+:", longs, NULL)) != -1) {
		if (c == 'j')
			out->json = true;
		else if (c == 'l')
			out->live = true;
		else if (c == 'J')
			out->outside = optarg;
		else if (c == ':')
			return tool_misuse(&tool_journal, "%s needs a value",
				argv[optind - 1]);
		else
			return tool_misuse(&tool_journal, "no option '%s'",
				argv[optind - 1]);
	}
	if (argc - optind != 1)
		return tool_misuse(&tool_journal, "%s",
			argc == optind ? "no IMAGE" : "more than one IMAGE");
	out->image = argv[optind];
	return 0;
}

/* ---- opening ------------------------------------------------------------- */

static void image_close(struct journal_image *j)
{
	ext_journal_drop(&j->journal);
	ext_close(j->fs);
	blk_close(j->outside_dev);
	blk_close(j->dev);
}

static int image_fail(const struct journal_image *j, int error,
	const struct ext_damage *damage)
{
	return tool_fail_damage(
		damage->outside ? j->outside : j->image, error, damage);
}

static int image_find(struct journal_image *j, struct ext_damage *damage)
{
	if (!ext_is_journal_dev(j->fs))
		return ext_journal_find(
			j->fs, j->outside_dev, &j->journal, damage);
	if (j->outside_dev)
		return -EINVAL;
	return ext_journal_of_dev(j->fs, &j->journal, damage);
}

/* Complains itself. */
static int image_open(
	struct journal_image *j, const struct options *opts, unsigned flags)
{
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	int err;

	*j = (struct journal_image){
		.image = opts->image, .outside = opts->outside};
	err = tool_open(j->image, flags, &j->dev);
	if (!err && j->outside)
		err = tool_open(j->outside, flags, &j->outside_dev);
	if (!err)
		err = tool_open_fs(j->image, j->dev, &j->fs);
	if (err)
		goto out_close;
	err = image_find(j, &damage);
	if (err == -EINVAL && !damage.why[0])
		err = tool_fail(j->image, "is a journal device itself");
	else if (err)
		err = image_fail(j, err, &damage);
out_close:
	if (err)
		image_close(j);
	return err;
}

/* ---- dump ---------------------------------------------------------------- */

static int dump(int argc, char **argv)
{
	struct options opts = {0};
	struct journal_image j;
	int status = parse(argc, argv, &opts);
	int err;

	if (!status)
		status = image_open(&j, &opts, 0);
	if (status)
		return status;
	if (opts.json)
		err = journal_dump_json(&j, opts.live ? JNL_WALK_LIVE : 0);
	else
		err = journal_dump_text(&j, opts.live ? JNL_WALK_LIVE : 0);
	status = tool_flush(err ? TOOL_FAILED : TOOL_OK);
	image_close(&j);
	return status;
}

/* ---- replay -------------------------------------------------------------- */

static void replay_tell(
	const struct journal_image *j, const struct ext_recovery *r)
{
	if (!r->was_needed) {
		(void)printf("%s: clean, nothing to do\n", j->image);
		return;
	}
	(void)printf("%s: replayed %u transactions, %llu blocks written home, "
		     "%llu held back by revokes\n",
		j->image, r->log.transactions,
		(unsigned long long)r->log.blocks,
		(unsigned long long)r->log.revoked);
	if (r->marked_error)
		(void)printf("%s: the journal had aborted with error %d; the "
			     "file system is marked as having errors\n",
			j->image, r->log.error);
	(void)printf("%s: journal empty, next sequence %u; needs_recovery "
		     "cleared\n",
		j->image, r->log.next_tid);
}

static void replay_tell_json(
	const struct journal_image *j, const struct ext_recovery *r)
{
	struct json json;

	json_init(&json, stdout);
	json_object(&json, NULL);
	json_string(&json, "image", j->image);
	json_bool(&json, "needed", r->was_needed);
	json_unsigned(&json, "transactions", r->log.transactions);
	json_unsigned(&json, "blocks", r->log.blocks);
	json_unsigned(&json, "revoked", r->log.revoked);
	json_unsigned(&json, "sequence", r->log.next_tid);
	json_signed(&json, "error", r->log.error);
	json_end(&json);
}

static int replay(int argc, char **argv)
{
	struct ext_damage damage = {.block = LOG_NO_BLOCK};
	struct options opts = {0};
	struct ext_recovery r;
	struct journal_image j;
	int status = parse(argc, argv, &opts);
	int err;

	if (!status && opts.live)
		return tool_misuse(&tool_journal, "replay takes no --live");
	if (!status)
		status = image_open(&j, &opts, BLK_OPEN_WRITE);
	if (status)
		return status;
	if (ext_is_journal_dev(j.fs)) {
		status = tool_fail(j.image,
			"is a journal device; name the "
			"file system, and this by --journal");
		goto out_close;
	}
	err = ext_recover(j.fs, &j.journal, &r, &damage);
	if (err) {
		status = image_fail(&j, err, &damage);
		goto out_close;
	}
	if (opts.json)
		replay_tell_json(&j, &r);
	else
		replay_tell(&j, &r);
	status = tool_flush(TOOL_OK);
out_close:
	image_close(&j);
	return status;
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run(int argc, char **argv)
{
	if (argc < 2)
		return tool_misuse(&tool_journal, "dump or replay?");
	if (is_help(argv[1]) || is_help(argv[argc - 1]))
		return tool_help(&tool_journal);
	if (strcmp(argv[1], "dump") == 0)
		return dump(argc - 1, argv + 1);
	if (strcmp(argv[1], "replay") == 0)
		return replay(argc - 1, argv + 1);
	return tool_misuse(&tool_journal, "no 'journal %s'", argv[1]);
}

const struct tool_command tool_journal = {
	.name = "journal", .run = run, .usage = usage};
