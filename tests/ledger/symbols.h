/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbols.h - names of this program's functions and objects, static ones too.
 */
#ifndef LEDGER_SYMBOLS_H
#define LEDGER_SYMBOLS_H

#include <stdint.h>

#include "base/cc.h"

/* Read the program's own symbol table.  0 or -errno. */
MUST_USE int symbols_open(void);

struct symbol {
	const char *name;
	uintptr_t offset; /* of the address, from the symbol's start */
	const char *file; /* "" if not this program's own */
};

/* The function or object that contains @addr; name NULL: none is known. */
struct symbol symbols_find(uintptr_t addr);

struct code {
	char function[64]; /* inlined ones by their own name, if known */
	char line[96];     /* "file:line", or "" */
};

/* The code before return address @pc.  Asks addr2line(1), once for each. */
const struct code *symbols_code(uintptr_t pc);

#endif /* LEDGER_SYMBOLS_H */
