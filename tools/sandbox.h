/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sandbox.h - what a process may still do once it parses a stranger's image.
 *
 * Whoever finds a hole in the parsers is left with the files that are open:
 * no program can be started, no file opened, nothing sent, no process looked
 * into, and no memory made executable.
 *
 *   sandbox_prepare()   Landlock: of all files only those that opening the
 *                       image takes can be read, and none written
 *   (images are opened: locks, io_uring rings, threads of the library)
 *   sandbox_enter()     Landlock: nothing; seccomp, in every thread: system
 *                       calls on open files, memory, threads, time
 *
 * A destination is a directory below which files may be made and read, from
 * before prepare to the end.  With one, the calls that change an owner, a mode
 * or a time by name are there too, and Landlock does not govern these: they
 * reach what the user owns outside of it.
 *
 * The library's threads that began before enter keep what prepare left, and
 * get the same filter.  io_uring is no way around it: no ring can be set up any
 * more, and those of lib/blk transfer to and from the image alone.
 *
 * Where the kernel has no Landlock (before 5.13, or disabled) the filter does
 * without: a destination then confines nothing but by the command's own care.
 */
#ifndef TOOLS_SANDBOX_H
#define TOOLS_SANDBOX_H

#include <stdbool.h>

#include "base/cc.h"

struct sandbox {
	/* Files that will be opened for reading before enter; IMAGE#N too. */
	const char *const *files;
	unsigned file_count;
	const char *below; /* the destination, or NULL */
};

/* Both: 0 or -errno.  Prepare is called by the only thread there is. */
MUST_USE int sandbox_prepare(const struct sandbox *sandbox);
MUST_USE int sandbox_enter(const struct sandbox *sandbox);

#endif /* TOOLS_SANDBOX_H */
