/* SPDX-License-Identifier: BSD-2-Clause */
/* journal.c - `extant bench journal`: parts, devices, and their order. */
#include "bench/journal.h"

#include <string.h>

#include "blk/layers.h"
#include "tools/tool.h"

static const struct journal_part *const parts[] = {&journal_part_ops,
	&journal_part_begin, &journal_part_latency, &journal_part_group,
	&journal_part_log};

struct journal_bench {
	bool wanted[ARRAY_COUNT(parts)];
	unsigned dev_count;
	struct stand_dev devs[BENCH_LIST_MAX];
};

static int part_index(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
		if (strcmp(parts[i]->name, name) == 0)
			return (int)i;
	return -1;
}

/* @dev owns what it was wrapped around. */
static int dev_wrap(struct stand_dev *dev)
{
	int err = blk_wrap_fault(dev->scratch.dev, &dev->fault);

	if (err != 0)
		return err;
	dev->scratch.dev = dev->fault;
	return blk_wrap_stats(dev->fault, &dev->scratch.dev);
}

/* Complains itself. */
static int dev_open(struct journal_bench *jb, const char *spec, bool overwrite)
{
	struct stand_dev *dev = &jb->devs[jb->dev_count];
	int err;

	if (jb->dev_count == ARRAY_COUNT(jb->devs))
		return tool_fail(spec, "one device too many");
	err = bench_scratch_open(spec, STAND_BYTES, overwrite, &dev->scratch);
	if (err != 0)
		return err;
	jb->dev_count++;
	err = dev_wrap(dev);
	if (err == 0)
		err = stand_format(dev->scratch.dev);
	return err == 0 ? 0 : tool_fail(spec, "%s", strerrordesc_np(-err));
}

static int journal_words(
	struct journal_bench *jb, const struct bench_opts *opts)
{
	bool all = true;
	int err = 0;

	for (int i = 0; i < opts->word_count && err == 0; i++) {
		int part = part_index(opts->words[i]);

		if (part >= 0)
			jb->wanted[part] = true;
		else
			err = dev_open(jb, opts->words[i], opts->overwrite);
		all = all && part < 0;
	}
	for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
		jb->wanted[i] |= all;
	if (err == 0 && jb->dev_count == 0)
		err = dev_open(jb, "mem:", false);
	return err;
}

static int journal_configs(const struct bench_opts *opts)
{
	for (unsigned i = 0; i < opts->config_count; i++)
		if (!stand_row_known(opts->configs[i]))
			return tool_misuse(&tool_bench, "no configuration '%s'",
				opts->configs[i]);
	return 0;
}

static int journal_run(
	const struct bench_opts *opts, struct bench_report *report)
{
	struct journal_bench jb = {0};
	int err = journal_configs(opts);

	if (err == 0)
		err = journal_words(&jb, opts);
	for (size_t i = 0; i < ARRAY_COUNT(parts) && err == 0; i++) {
		if (!jb.wanted[i])
			continue;
		err = parts[i]->run(opts, jb.devs, jb.dev_count, report);
		if (err != 0)
			err = tool_fail(
				parts[i]->name, "%s", strerrordesc_np(-err));
	}
	for (unsigned i = 0; i < jb.dev_count; i++)
		bench_scratch_close(&jb.devs[i].scratch);
	return err;
}

const struct bench_workload bench_journal = {
	.name = "journal", .run = journal_run};
