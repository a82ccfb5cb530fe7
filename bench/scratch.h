/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scratch.h - devices that a benchmark may write all over.
 *
 * "mem:" is memory of the size asked for.  Any other name is a file that must
 * not exist: it is made, and removed at the end.  What exists is destroyed
 * only if the user has said so.
 */
#ifndef BENCH_SCRATCH_H
#define BENCH_SCRATCH_H

#include <stdbool.h>

#include "blk/blk.h"

struct bench_scratch {
	const char *spec;
	struct blk_dev *dev;
	bool remove; /* the file is ours */
};

/* At least @bytes large.  Complains itself: returns 0 or TOOL_FAILED. */
MUST_USE int bench_scratch_open(const char *spec, uint64_t bytes,
	bool overwrite, struct bench_scratch *out);
void bench_scratch_close(struct bench_scratch *s);

#endif /* BENCH_SCRATCH_H */
