/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sink.h - what to do with the blocks that a replay hands over.
 *
 * A *home sink* writes them home, in batches that it sorts.  An *overlay*
 * keeps them in memory and makes a read-only device that shows them in their
 * places over the device below, so that a reader sees the file system as it
 * would be and the image stays as it is.
 *
 *     err = jnl_home_sink_open(dev, block_bytes, &sink);
 *     err = jnl_replay(place, blocks, &jnl_home_sink_ops, sink, &result);
 *     err = jnl_home_sink_flush(sink);
 *     err = jnl_replay_finish(place, result.next_tid);
 *
 * Memory: a home sink has its batch of at most 1 MiB; an overlay has as much
 * as the log has distinct blocks.
 *
 * Threads: filling is one thread's; the overlay's device is as any other.
 * Errors: 0 or -errno, of the device or -ENOMEM.
 */
#ifndef JNL_SINK_H
#define JNL_SINK_H

#include "jnl/replay.h"

/* ---- home ---------------------------------------------------------------- */

struct jnl_home_sink;

/* @dev stays the caller's. */
MUST_USE int jnl_home_sink_open(
	struct blk_dev *dev, uint32_t block_bytes, struct jnl_home_sink **out);

/* Pass the sink as the replay's argument. */
extern const struct jnl_replay_sink jnl_home_sink_ops;

/* Write what is left of the last batch, and flush the device. */
MUST_USE int jnl_home_sink_flush(struct jnl_home_sink *s);

/* What was not flushed may be lost.  NULL is allowed. */
void jnl_home_sink_close(struct jnl_home_sink *s);

/* ---- overlay ------------------------------------------------------------- */

struct jnl_overlay;

/* @below stays the caller's until jnl_overlay_seal(). */
MUST_USE int jnl_overlay_open(
	struct blk_dev *below, uint32_t block_bytes, struct jnl_overlay **out);

/* Pass the overlay as the replay's argument. */
extern const struct jnl_replay_sink jnl_overlay_ops;

/*
 * Contents of block @home as the device will show them, to be changed in place
 * until it is sealed.
 */
MUST_USE int jnl_overlay_edit(struct jnl_overlay *o, blk_no home, void **data);

/* What jnl_overlay_edit() has been given of @home, or NULL. */
const void *jnl_overlay_peek(const struct jnl_overlay *o, blk_no home);

/*
 * The device with everything in its place.  It owns @o and the device below
 * from now on; on failure nothing has changed.
 */
MUST_USE int jnl_overlay_seal(struct jnl_overlay *o, struct blk_dev **out);

/* Give up an overlay that was not sealed.  NULL is allowed. */
void jnl_overlay_close(struct jnl_overlay *o);

#endif /* JNL_SINK_H */
