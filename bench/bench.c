/* SPDX-License-Identifier: BSD-2-Clause */
/* bench.c - `extant bench`: a table of workloads, and their options. */
#include "bench/bench.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tool.h"

static const char usage[] =
	"Usage: extant bench WORKLOAD [options] [WORD...]\n"
	"\n"
	"Measures configurations against each other on this machine: runs go\n"
	"round, medians are shown, a standard deviation over 10% is marked.\n"
	"\n"
	"  --threads N,...  client counts\n"
	"  --config NAME,...  configurations; the first is the base of "
	"percents\n"
	"  --seconds S      length of one run; 0.5\n"
	"  --repeat N       runs of each configuration; 9\n"
	"  --json           every run, for programs\n"
	"  --overwrite      scratch devices that exist may be destroyed\n"
	"\n"
	"SCRATCH is \"mem:\" (the default) or a file that is made for this.\n"
	"\n"
	"Workloads:\n"
	"\n"
	"journal [PART...] [SCRATCH...]\n"
	"  ops      operations on own blocks, by number of clients\n"
	"  begin    begin and end alone, against six atomic additions\n"
	"  latency  single begins, with and without commits\n"
	"  group    clients that wait for their commits; flushes take 1 ms\n"
	"  log      writing the log, against plain large writes\n"
	"  All parts unless some are named.  Configurations are percpu,\n"
	"  atomic, lock.  SCRATCH takes 320 MiB; log uses each that is named,\n"
	"  the other parts the first.\n"
	"\n"
	"ops [OP...] IMAGE|DIR...\n"
	"ops --prepare DIR\n"
	"ops --compare [OP...] [DIR...]\n"
	"  Reading, in process over an image and by system calls in a\n"
	"  directory, on the tree that --prepare makes there.  --compare does\n"
	"  it all: an ext4 in memory, read by the kernel and in process; it\n"
	"  needs root, a loop device and mke2fs.  OP is stat, missing, open,\n"
	"  pread-4k, pread-1m, readdir, readlink, getxattr; all unless some\n"
	"  are named.  Configurations are the directories, kernel, extant,\n"
	"  walk=ref, mem, memcpy, bare.\n";

static const struct bench_workload *const workloads[] = {
	&bench_journal, &bench_ops};

enum { RUNS_DEFAULT = 9, SECONDS_MAX = 3600 };

#define NS_PER_S 1000000000

/* ---- what workloads ask --------------------------------------------------- */

bool bench_wants(const struct bench_opts *opts, const char *config)
{
	for (unsigned i = 0; i < opts->config_count; i++)
		if (strcmp(opts->configs[i], config) == 0)
			return true;
	return opts->config_count == 0;
}

void bench_clients_init(struct bench_clients *c, const struct bench_opts *opts,
	const unsigned *usual, unsigned count)
{
	bool given = opts->thread_count != 0;

	*c = (struct bench_clients){
		.count = given ? opts->thread_count : count};
	for (unsigned i = 0; i < c->count; i++) {
		c->threads[i] = given ? opts->threads[i] : usual[i];
		(void)snprintf(c->text[i], sizeof(c->text[i]), "%u client%s",
			c->threads[i], c->threads[i] == 1 ? "" : "s");
		c->names[i] = c->text[i];
	}
}

/* ---- options ---------------------------------------------------------------- */

static int parse_threads(char *list, struct bench_opts *out)
{
	char *save = NULL;

	for (char *word = strtok_r(list, ",", &save); word != NULL;
		word = strtok_r(NULL, ",", &save)) {
		char *end;
		unsigned long n = strtoul(word, &end, 10);

		if (*end != '\0' || n == 0 || n > BENCH_THREADS_MAX ||
			out->thread_count == BENCH_LIST_MAX)
			return tool_misuse(&tool_bench,
				"--threads takes up to %d counts of 1 to %d",
				BENCH_LIST_MAX, BENCH_THREADS_MAX);
		out->threads[out->thread_count++] = (unsigned)n;
	}
	return 0;
}

static int parse_configs(char *list, struct bench_opts *out)
{
	char *save = NULL;

	for (char *word = strtok_r(list, ",", &save); word != NULL;
		word = strtok_r(NULL, ",", &save)) {
		if (out->config_count == BENCH_LIST_MAX)
			return tool_misuse(&tool_bench, "too many configs");
		out->configs[out->config_count++] = word;
	}
	return 0;
}

static int parse_seconds(const char *word, struct bench_opts *out)
{
	char *end;
	double seconds = strtod(word, &end);

	if (*end != '\0' || !(seconds >= 0.001 && seconds <= SECONDS_MAX))
		return tool_misuse(&tool_bench, "--seconds takes 0.001 to %d",
			SECONDS_MAX);
	out->run_ns = (uint64_t)(seconds * NS_PER_S);
	return 0;
}

static int parse_repeat(const char *word, struct bench_opts *out)
{
	char *end;
	unsigned long n = strtoul(word, &end, 10);

	if (*end != '\0' || n == 0 || n > BENCH_RUNS_MAX)
		return tool_misuse(
			&tool_bench, "--repeat takes 1 to %d", BENCH_RUNS_MAX);
	out->runs = (unsigned)n;
	return 0;
}

static int parse_option(int c, char *const *argv, struct bench_opts *out)
{
	switch (c) {
	case 't':
		return parse_threads(optarg, out);
	case 'c':
		return parse_configs(optarg, out);
	case 's':
		return parse_seconds(optarg, out);
	case 'r':
		return parse_repeat(optarg, out);
	case 'j':
		out->json = true;
		return 0;
	case 'o':
		out->overwrite = true;
		return 0;
	case 'p':
		out->prepare = true;
		return 0;
	case 'k':
		out->compare = true;
		return 0;
	case ':':
		return tool_misuse(
			&tool_bench, "%s needs a value", argv[optind - 1]);
	default:
		return tool_misuse(
			&tool_bench, "no option '%s'", argv[optind - 1]);
	}
}

static int parse(int argc, char **argv, struct bench_opts *out)
{
	static const struct option longs[] = {
		{"threads", required_argument, NULL, 't'},
		{"config", required_argument, NULL, 'c'},
		{"seconds", required_argument, NULL, 's'},
		{"repeat", required_argument, NULL, 'r'},
		{"json", no_argument, NULL, 'j'},
		{"overwrite", no_argument, NULL, 'o'},
		{"prepare", no_argument, NULL, 'p'},
		{"compare", no_argument, NULL, 'k'},
		{NULL, 0, NULL, 0},
	};
	int err = 0;
	int c;

	*out = (struct bench_opts){
		.run_ns = NS_PER_S / 2, .runs = RUNS_DEFAULT};
	opterr = 0;
	optind = 1;
	/* No other thread runs. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((c = getopt_long(argc, argv, ":", longs, NULL)) != -1 &&
		err == 0)
		err = parse_option(c, argv, out);
	out->word_count = argc - optind;
	out->words = argv + optind;
	return err;
}

/* ---- the command -------------------------------------------------------------- */

static const struct bench_workload *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(workloads); i++)
		if (strcmp(workloads[i]->name, name) == 0)
			return workloads[i];
	return NULL;
}

/* The command as it was typed: getopt and strtok change argv. */
static char **argv_copy(int argc, char *const *argv)
{
	char **copy = calloc((size_t)argc + 1, sizeof(*copy));

	for (int i = 0; i < argc && copy != NULL; i++)
		copy[i] = strdup(argv[i]);
	return copy;
}

static void argv_free(int argc, char **argv)
{
	for (int i = 0; i < argc && argv != NULL; i++)
		free(argv[i]);
	free(argv);
}

static int measure(const struct bench_opts *opts, int argc, char *const *typed)
{
	const struct bench_workload *workload = find(opts->words[0]);
	struct bench_opts own = *opts;
	struct bench_report report;
	int err;

	if (workload == NULL)
		return tool_misuse(
			&tool_bench, "no workload '%s'", opts->words[0]);
	if ((own.prepare || own.compare) && workload != &bench_ops)
		return tool_misuse(
			&tool_bench, "--prepare and --compare are for ops");
	own.words++;
	own.word_count--;
	bench_report_init(&report, own.json, argc, typed);
	err = workload->run(&own, &report);
	if (err != 0)
		return TOOL_FAILED;
	bench_report_end(&report);
	return tool_flush(TOOL_OK);
}

static int run(int argc, char **argv)
{
	struct bench_opts opts;
	char **typed;
	int status;

	if (strcmp(argv[argc - 1], "--help") == 0)
		return tool_help(&tool_bench);
	typed = argv_copy(argc, argv);
	if (typed == NULL)
		return tool_fail(NULL, "%s", strerrordesc_np(ENOMEM));
	status = parse(argc, argv, &opts);
	if (status == 0 && opts.word_count == 0)
		status = tool_misuse(&tool_bench, "no WORKLOAD");
	else if (status == 0)
		status = measure(&opts, argc, typed);
	argv_free(argc, typed);
	return status;
}

const struct tool_command tool_bench = {
	.name = "bench", .run = run, .usage = usage};
