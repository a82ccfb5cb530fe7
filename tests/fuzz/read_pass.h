/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_pass.h - one pass over all that can be seen of a mounted image.
 *
 * A pass asks everything about every node it comes to, and for each node notes
 * a sum of the answers.  The next pass, from the caches, must come to the same
 * sum wherever the first met no damage.
 *
 * What else must hold is checked at once: errors are those that a call
 * documents, and damage is told to the log; lengths agree with contents; a
 * directory's cookies grow, and reading goes on from each; what a directory
 * lists is found by its name; holes are zeroes.
 */
#ifndef TESTS_FUZZ_READ_PASS_H
#define TESTS_FUZZ_READ_PASS_H

#include <stdatomic.h>

#include "must.h"
#include "vfs/vfs.h"

struct read_note {
	uint64_t path; /* hash */
	uint64_t sum;
	bool clean; /* no damage was met */
};

enum { READ_NODES_MAX = 400, READ_DEPTH_MAX = 48 };

struct read_pass {
	struct vfs *vfs;
	uint64_t sum; /* of the node that is looked at, so far */
	bool clean;
	uint64_t reports; /* to the log, before this call */
	uint64_t stop_ns; /* of CPU time: go no further */
	bool cut;         /* by that */
	uint32_t count;
	struct read_note notes[READ_NODES_MAX];
	uint32_t dir_count; /* gone into: a directory may have two names */
	vfs_ino dirs[READ_NODES_MAX];
};

/* Messages about damage so far; and about such as changes later answers. */
extern _Atomic uint64_t read_reports;
extern _Atomic uint64_t read_turns;

/* The whole tree from the root. */
void read_pass_run(struct read_pass *p);

/* ---- errors (read_judge.c) ------------------------------------------------ */

enum read_call {
	READ_STAT,   /* and open, of a name, or by a path without symlinks */
	READ_FOLLOW, /* stat through symlinks */
	READ_LINK,
	READ_LISTXATTR,
	READ_GETXATTR, /* of a name that is listed */
	READ_NOXATTR,  /* of another */
	READ_DATA,
	READ_SEEK,
	READ_DIR,
	READ_PATH,
	READ_CALLS,
};

/* -EUCLEAN and its like. */
bool read_is_damage(int err);

/* Check what @call answered; the value is @err.  Damage spoils the node. */
int read_judge(struct read_pass *p, enum read_call call, int err);

/* Add to the sum. */
void read_add(struct read_pass *p, const void *data, size_t bytes);
void read_add_number(struct read_pass *p, uint64_t number);

uint64_t read_cpu_ns(void);

/* ---- nodes (read_node.c, read_file.c, read_dir.c) -------------------------- */

/* Everything about @name in @dir, and below it. */
void read_node(struct read_pass *p, struct vfs_file *dir, const char *name,
	uint64_t path, unsigned depth);

void read_file(
	struct read_pass *p, struct vfs_file *file, const struct vfs_attr *a);

/* Notes the directory itself, then goes into it. */
void read_dir(struct read_pass *p, struct vfs_file *dir,
	const struct vfs_attr *a, uint64_t path, unsigned depth);

void read_note(struct read_pass *p, uint64_t path);

#endif /* TESTS_FUZZ_READ_PASS_H */
