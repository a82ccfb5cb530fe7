/* SPDX-License-Identifier: BSD-2-Clause */
/* sandbox.c - see sandbox.h: files by Landlock, then the filter. */
#include "tools/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tools/sandbox_filter.h"

/* Newer than the headers may be. */
#define FS_REFER    (UINT64_C(1) << 13)
#define FS_TRUNCATE (UINT64_C(1) << 14)

enum { FS_FIRST = (1 << 13) - 1 }; /* the rights of the first Landlock */

/* All rights that the kernel's Landlock governs; 0: there is none. */
static uint64_t rights_governed(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
		LANDLOCK_CREATE_RULESET_VERSION);

	if (version < 1)
		return 0;
	return FS_FIRST | (version >= 2 ? FS_REFER : 0) |
	       (version >= 3 ? FS_TRUNCATE : 0);
}

/* Allow @rights at @path and below.  A path that is not there needs none. */
static int rule_add(int rules, const char *path, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = rights};
	int err = 0;

	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES
			       ? 0
			       : -errno;
	if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH,
		    &rule, 0) != 0)
		err = -errno;
	(void)close(rule.parent_fd);
	return err;
}

/* @file, or IMAGE of IMAGE#N, may be read. */
static int rule_add_file(int rules, const char *file)
{
	const char *mark = strrchr(file, '#');
	char image[PATH_MAX];
	int err = rule_add(rules, file, LANDLOCK_ACCESS_FS_READ_FILE);

	if (err != 0 || mark == NULL || mark - file >= PATH_MAX)
		return err;
	memcpy(image, file, (size_t)(mark - file));
	image[mark - file] = '\0';
	return rule_add(rules, image, LANDLOCK_ACCESS_FS_READ_FILE);
}

/* Below the destination everything is allowed but to execute. */
static int rule_add_below(int rules, const char *below, uint64_t governed)
{
	if (below == NULL)
		return 0;
	return rule_add(
		rules, below, governed & ~(uint64_t)LANDLOCK_ACCESS_FS_EXECUTE);
}

/* Whom an image is locked by and where it is mounted is read from here. */
static int rules_add_prepare(int rules, const struct sandbox *sandbox)
{
	const uint64_t read =
		LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	int err = rule_add(rules, "/proc", read);

	if (err == 0)
		err = rule_add(rules, "/sys", read);
	for (unsigned i = 0; err == 0 && i < sandbox->file_count; i++)
		err = rule_add_file(rules, sandbox->files[i]);
	return err;
}

/* Give up all files but the destination and, if @prepare, what is needed to
 * open images. */
static int files_leave(const struct sandbox *sandbox, bool prepare)
{
	struct landlock_ruleset_attr attr = {
		.handled_access_fs = rights_governed()};
	int err = 0;
	int rules;

	if (attr.handled_access_fs == 0)
		return 0;
	rules = (int)syscall(
		SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (rules < 0)
		return -errno;
	if (prepare)
		err = rules_add_prepare(rules, sandbox);
	if (err == 0)
		err = rule_add_below(
			rules, sandbox->below, attr.handled_access_fs);
	if (err == 0 && syscall(SYS_landlock_restrict_self, rules, 0) != 0)
		err = -errno;
	(void)close(rules);
	return err;
}

#ifdef EXTANT_NO_SANDBOX
/* Sanitizers and coverage open files and look into threads of their own. */
static const bool confine = false;
#else
static const bool confine = true;
#endif

int sandbox_prepare(const struct sandbox *sandbox)
{
	/* The zone is read now; with TZ set the C library does not look again
	 * for changes of it, and find that it may not.  No other thread runs.
	 * NOLINTNEXTLINE(concurrency-mt-unsafe) */
	(void)setenv("TZ", ":/etc/localtime", 0);
	tzset();
	if (!confine)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	return files_leave(sandbox, true);
}

int sandbox_enter(const struct sandbox *sandbox)
{
	int err = confine ? files_leave(sandbox, false) : 0;

	if (err != 0 || !confine)
		return err;
	return sandbox_filter_enter(sandbox->below != NULL);
}
