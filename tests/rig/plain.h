/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plain.h - a device that is a piece of memory, and one lock around it.
 *
 * Its memory is all there from the beginning, so that a test may deny more, and
 * a request happens at one moment, so that a test may read beside those who
 * write.
 */
#ifndef TESTS_RIG_PLAIN_H
#define TESTS_RIG_PLAIN_H

#include "base/cc.h"
#include "blk/blk.h"

/* @bytes of zeroes.  -ENOMEM. */
MUST_USE int plain_open(uint64_t bytes, struct blk_dev **out);

#endif /* TESTS_RIG_PLAIN_H */
