/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * late.h - a device that takes its time.
 *
 * Memory completes a request as it is submitted, which no disk does: whoever
 * forgets to wait for one never notices.  Here submitted requests complete on
 * other threads, in any order.
 */
#ifndef TESTS_RIG_LATE_H
#define TESTS_RIG_LATE_H

#include "base/cc.h"
#include "blk/blk.h"

struct late_opts {
	uint32_t us;      /* a request takes up to that long, */
	uint32_t very_us; /* but one in sixteen exactly that long */
	/* Writes that begin below ... */
	uint64_t slow_bytes;
	uint32_t slow_us; /* ... take that long besides */
};

/* @below is owned by the result.  -ENOMEM. */
MUST_USE int late_open(struct blk_dev *below, const struct late_opts *opts,
	struct blk_dev **out);

#endif /* TESTS_RIG_LATE_H */
