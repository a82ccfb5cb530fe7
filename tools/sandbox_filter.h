/* SPDX-License-Identifier: BSD-2-Clause */
/* sandbox_filter.h - see sandbox.h: which system calls are left. */
#ifndef TOOLS_SANDBOX_FILTER_H
#define TOOLS_SANDBOX_FILTER_H

#include <stdbool.h>

#include "base/cc.h"

/*
 * From now on, in every thread, all system calls but those of a table fail
 * with -EPERM; with @files those that make and open files are in it.
 * PR_SET_NO_NEW_PRIVS is set.  -ENOSYS, -EINVAL: the kernel has no filters, or
 * there is no table for this machine.
 */
MUST_USE int sandbox_filter_enter(bool files);

#endif /* TOOLS_SANDBOX_FILTER_H */
