/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool.h - what the subcommands of `extant` share.
 *
 * A subcommand gets its own argv, argv[0] being its name, and returns the
 * exit status of the process.  Results go to stdout, complaints to stderr as
 * one line: `extant: FILE: block N: reason`.
 */
#ifndef TOOLS_TOOL_H
#define TOOLS_TOOL_H

#include "base/cc.h"
#include "blk/blk.h"
#include "ext/ext.h"

enum tool_exit {
	TOOL_OK = 0,
	TOOL_SOME = 1,   /* some of what was asked for failed, and is named */
	TOOL_FAILED = 2, /* wrong usage, cannot open, nothing done */
};

struct tool_command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *usage; /* whole text for --help */
};

extern const struct tool_command tool_bench; /* bench/bench.c */
extern const struct tool_command tool_cat;
extern const struct tool_command tool_check;
extern const struct tool_command tool_df;
extern const struct tool_command tool_diff;
extern const struct tool_command tool_export;
extern const struct tool_command tool_find;
extern const struct tool_command tool_get;
extern const struct tool_command tool_info;
extern const struct tool_command tool_journal;
extern const struct tool_command tool_ls;
extern const struct tool_command tool_parts;
extern const struct tool_command tool_stat;

/* Complain about @file, which may be NULL; returns TOOL_FAILED. */
int tool_fail(const char *file, const char *fmt, ...) PRINTF(2, 3);

/* Likewise about @error and what it is known about it. */
int tool_fail_damage(
	const char *file, int error, const struct ext_damage *damage);

/* Wrong usage of @command, which is described in one line by @fmt. */
int tool_misuse(const struct tool_command *command, const char *fmt, ...)
	PRINTF(2, 3);

/* Print the usage of @command to stdout. */
int tool_help(const struct tool_command *command);

/*
 * Open the image that a user wrote as @spec (blk/part.h), with the flags of
 * blk_open_file().  Complains itself: returns 0 or TOOL_FAILED.
 */
MUST_USE int tool_open(const char *spec, unsigned flags, struct blk_dev **out);

/* The file system on @dev, which tool_open() made of @spec.  Likewise. */
MUST_USE int tool_open_fs(
	const char *spec, struct blk_dev *dev, struct ext **out);

/* @status, or TOOL_FAILED with a complaint if stdout could not be written. */
int tool_flush(int status);

#endif /* TOOLS_TOOL_H */
