/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gate_dropped.c - a control: one lock around the reservations, dropped while
 * the bitmap is scanned and taken again for the claim.
 */
#include "alloc/alloc_int.h"

static void search(struct alloc *a)
{
	mtx_lock(&a->gate_lock);
	mtx_unlock(&a->gate_lock);
}

static void claim(struct alloc *a) NO_LOCK_ANALYSIS
{
	mtx_lock(&a->gate_lock);
}

static void done(struct alloc *a) NO_LOCK_ANALYSIS
{
	mtx_unlock(&a->gate_lock);
}

const struct alloc_gate alloc_gate_dropped = {search, claim, done};
