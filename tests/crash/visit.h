/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * visit.h - one state of a power cut: recovered, judged, recovered again.
 */
#ifndef TESTS_CRASH_VISIT_H
#define TESTS_CRASH_VISIT_H

#include "model.h"
#include "power.h"

struct verdict {
	struct model_point point; /* the state that it recovered to */
	bool asked;               /* the toy's superblock asked for recovery */
	char why[240];            /* if it failed: what is wrong */
};

/* Recover @cold and compare it with the model; 0 or -1. */
int visit_state(const struct model *m, const struct cold *cold,
	struct model_point need, struct verdict *out);

/* @cold was recovered: doing it once more changes no byte.  0 or -1. */
int visit_again(
	const struct model *m, const struct cold *cold, struct verdict *out);

/*
 * Cut the power while @cold, which this call consumes, is being recovered,
 * @cuts times as @seed says: each time the next recovery ends at @point.
 * 0 or -1.
 */
int visit_recovery(const struct model *m, struct cold *cold, uint32_t cuts,
	uint64_t seed, struct model_point point, struct verdict *out);

#endif /* TESTS_CRASH_VISIT_H */
