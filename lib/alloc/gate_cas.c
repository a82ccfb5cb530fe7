/* SPDX-License-Identifier: BSD-2-Clause */
/* gate_cas.c - nobody excludes anybody: the bit decides. */
#include "alloc/alloc_int.h"

static void nothing(struct alloc *a)
{
	(void)a;
}

const struct alloc_gate alloc_gate_cas = {nothing, nothing, nothing};
