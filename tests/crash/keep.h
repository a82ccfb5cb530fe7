/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keep.h - a state that failed, in files, to be judged again by itself.
 *
 * PREFIX.home and PREFIX.log are the devices as the power cut left them, not
 * recovered; PREFIX.model is text: what the toy was, what was promised, and
 * the history of each block.  Threads do not repeat themselves, files do.
 */
#ifndef TESTS_CRASH_KEEP_H
#define TESTS_CRASH_KEEP_H

#include "model.h"
#include "power.h"

/* Write the files; says on stderr what went wrong. */
void keep_state(const char *prefix, const struct model *m,
	const struct cold *cold, struct model_point need);

/* Read them.  -1: they make no sense, says stderr; else @m and @cold are the
 * caller's to release. */
int keep_load(const char *prefix, struct model *m, struct cold *cold,
	struct model_point *need);

#endif /* TESTS_CRASH_KEEP_H */
