/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.h - how far it is, on a terminal, when it takes over a second.
 *
 * The line stands on stderr and is gone at the end.  Complaints go through
 * tool_fail(), which takes it away first.  Counting costs an atomic addition
 * to this CPU's own line; a thread of its own adds them up, five times a
 * second.  Where stderr is no terminal there is neither line nor thread.
 *
 * One at a time in a process.
 */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdint.h>

/* @verb: "copied"; @total: bytes that will be counted, 0: not known. */
void progress_begin(const char *verb, uint64_t total_bytes);
void progress_end(void);

/* From any thread; does nothing without a begin. */
void progress_add(uint64_t files, uint64_t bytes);

/* Around lines for stderr from any thread. */
void progress_hide(void);
void progress_unhide(void);

#endif /* TOOLS_PROGRESS_H */
