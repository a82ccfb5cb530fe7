/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layers.h - devices that wrap another: statistics, faults, power cuts.
 *
 * Each layer owns the device below it, once it exists, and passes on what it
 * does not change.
 * All are in the library for good: users count their I/O with the same layer
 * that the benchmarks read.
 */
#ifndef BLK_LAYERS_H
#define BLK_LAYERS_H

#include "blk/blk.h"

/* ---- statistics -------------------------------------------------------- */

struct blk_stats {
	uint64_t ops[5];    /* completed requests, by enum blk_op */
	uint64_t bytes[5];  /* of those that succeeded */
	uint64_t errors[5]; /* those that failed */
	uint64_t ns[5];     /* time between submission and completion */
};

MUST_USE int blk_wrap_stats(struct blk_dev *below, struct blk_dev **out);

/* Sums over CPUs; exact when no request is in flight. */
void blk_stats_read(const struct blk_dev *dev, struct blk_stats *out);

/* ---- faults ------------------------------------------------------------ */

struct blk_fault {
	enum blk_op op; /* which kind of request */
	uint64_t nth;   /* fail the nth of that kind from now, 1 is the next */
	uint64_t count; /* and that many in all; UINT64_MAX: for good */
	int error;      /* -errno to report */
	bool half;      /* do half of a write's or read's sectors before */
};

MUST_USE int blk_wrap_fault(struct blk_dev *below, struct blk_dev **out);

/* Arm one more rule; any number may be armed.  -ENOMEM. */
MUST_USE int blk_fault_arm(struct blk_dev *dev, const struct blk_fault *rule);
void blk_fault_disarm(struct blk_dev *dev);

/* Delay every flush by @ns from now on. */
void blk_fault_delay_flush(struct blk_dev *dev, uint64_t ns);

/* Requests of kind @op seen since the layer was made. */
uint64_t blk_fault_seen(const struct blk_dev *dev, enum blk_op op);

/* ---- power cuts -------------------------------------------------------- */

/*
 * Records every write, discard, zeroing and barrier, as events numbered from
 * 0, while passing them on.  blk_crash_state() makes what a disk could hold
 * after power was cut just before event @cut: the image at the time of the
 * wrap, every write that had completed when the last flush before @cut that
 * succeeded began, and of the later ones a subset in an order and torn at
 * sectors as @seed says.  Seed 0 keeps none of the later ones, seed 1 all
 * whole in order.  Of a discard that counts nobody knows what it left: the old
 * bytes, zeroes or junk.
 *
 * What a test was promised, it notes beside blk_crash_events(): a promise made
 * when there were N events holds in every state with @cut >= N.
 *
 * Wrap a memory device directly: its contents are then shared, not copied.
 * Ascending cuts are cheapest; closing the layer leaves its states alive.
 */
MUST_USE int blk_wrap_crash(struct blk_dev *below, struct blk_dev **out);

/*
 * Another device that loses power together with crash layer @beside: both
 * number their events in one order, so that a cut is the same instant on
 * each.  What survives of each, and which flush covers what, stays its own.
 */
MUST_USE int blk_wrap_crash_beside(
	struct blk_dev *below, struct blk_dev *beside, struct blk_dev **out);

/* Of all devices that share the order. */
uint64_t blk_crash_events(const struct blk_dev *dev);

/* A new memory device with such a state.  -EINVAL: @cut beyond the events. */
MUST_USE int blk_crash_state(
	struct blk_dev *dev, uint64_t cut, uint64_t seed, struct blk_dev **out);

/*
 * A hash of what blk_crash_state() would make, for counting distinct ones:
 * equal if and only if the contents are (but for zeroings and discards above
 * 1 MiB, whose way there counts too).  Asking for the state next is free.
 */
MUST_USE int blk_crash_hash(
	struct blk_dev *dev, uint64_t cut, uint64_t seed, uint64_t *out);

#endif /* BLK_LAYERS_H */
