/* SPDX-License-Identifier: BSD-2-Clause */
/* gate_held.c - a control: one lock, held while the bitmap is scanned. */
#include "alloc/alloc_int.h"

static void search(struct alloc *a) NO_LOCK_ANALYSIS
{
	mtx_lock(&a->gate_lock);
}

static void claim(struct alloc *a)
{
	mtx_assert_held(&a->gate_lock);
}

static void done(struct alloc *a) NO_LOCK_ANALYSIS
{
	mtx_unlock(&a->gate_lock);
}

const struct alloc_gate alloc_gate_held = {search, claim, done};
