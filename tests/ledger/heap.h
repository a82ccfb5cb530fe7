/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heap.h - what lies at an address of the heap, and no reuse inside a cell.
 *
 * Allocations of the library are noted by the linker's --wrap, with their
 * caller, who is a good name for what they hold.  A row may give better names
 * to parts of them.
 *
 * While a cell runs, freed memory is kept: else the allocator would hand one
 * CPU's old object to another, and the ledger would call that sharing.
 */
#ifndef LEDGER_HEAP_H
#define LEDGER_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cc.h"

struct heap_object {
	uintptr_t start;
	size_t bytes;
	uintptr_t caller; /* return address; 0: named */
	char name[64];    /* if named */
};

/* Name @bytes at @start; the newest name of an address wins. */
void heap_name(const void *start, size_t bytes, const char *fmt, ...)
	PRINTF(3, 4);

/* The named range that covers @addr, or else the allocation; false: neither. */
bool heap_find(uintptr_t addr, struct heap_object *out);

/* Keep what is freed from now on, until heap_release(). */
void heap_keep(void);
void heap_release(void);

#endif /* LEDGER_HEAP_H */
