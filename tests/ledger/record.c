/* SPDX-License-Identifier: BSD-2-Clause */
/* record.c - see record.h.  One hash table, emptied between cells. */
#include "record.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cc.h"
#include "base/hash.h"

enum { SLOTS = 1 << 17 }; /* power of two; twice what a cell needs */

static struct record_line slots[SLOTS];
static uint32_t used[SLOTS / 2];
static uint32_t used_count;

static _Thread_local struct {
	bool on;
	uint8_t role;
	uint8_t cpu;
} self __attribute__((tls_model("initial-exec")));

void record_begin(unsigned role, unsigned cpu)
{
	self.role = (uint8_t)role;
	self.cpu = (uint8_t)cpu;
	self.on = true;
}

void record_end(void)
{
	self.on = false;
}

void record_reset(void)
{
	for (uint32_t i = 0; i < used_count; i++)
		slots[used[i]] = (struct record_line){0};
	used_count = 0;
}

/* The slot of @line, or the free one where it belongs. */
static struct record_line *slot_of(uintptr_t line)
{
	uint64_t at = hash_u64(line);

	while (slots[at % SLOTS].line != line && slots[at % SLOTS].line != 0)
		at++;
	return &slots[at % SLOTS];
}

static struct record_line *slot_make(uintptr_t line)
{
	struct record_line *l = slot_of(line);

	if (l->line != 0)
		return l;
	if (used_count == ARRAY_COUNT(used)) {
		(void)fputs("ledger: too many lines in one cell\n", stderr);
		abort();
	}
	used[used_count++] = (uint32_t)(l - slots);
	l->line = line;
	return l;
}

static void site_note(
	struct record_line *l, uintptr_t addr, bool store, uintptr_t pc)
{
	for (unsigned i = 0; i < l->site_count; i++) {
		if (l->sites[i].pc == pc && l->sites[i].store == store)
			return;
	}
	if (l->site_count < RECORD_SITES)
		l->sites[l->site_count++] =
			(struct record_site){pc, addr, store};
}

static void line_note(uintptr_t line, uintptr_t addr, bool store, uintptr_t pc)
{
	struct record_line *l = slot_make(line);
	struct record_side *side = &l->side[self.role];
	uint64_t bit = UINT64_C(1) << self.cpu;

	if (store) {
		side->stores |= bit;
		side->store_count++;
	} else {
		side->loads |= bit;
		side->load_count++;
	}
	site_note(l, addr, store, pc);
}

void record_access(
	const volatile void *addr, size_t bytes, bool store, const void *pc)
{
	uintptr_t first = (uintptr_t)addr / RECORD_LINE;
	uintptr_t last;

	if (LIKELY(!self.on) || bytes == 0)
		return;
	last = ((uintptr_t)addr + bytes - 1) / RECORD_LINE;
	for (uintptr_t line = first; line <= last; line++)
		line_note(line,
			line == first ? (uintptr_t)addr : line * RECORD_LINE,
			store, (uintptr_t)pc);
}

const struct record_line *record_find(uintptr_t line)
{
	const struct record_line *l = slot_of(line);

	return l->line == 0 ? NULL : l;
}

void record_each(
	void (*fn)(void *arg, const struct record_line *line), void *arg)
{
	for (uint32_t i = 0; i < used_count; i++)
		fn(arg, &slots[used[i]]);
}

static bool sides_meet(const struct record_side *a, const struct record_side *b)
{
	return (a->stores != 0 && (b->loads | b->stores) != 0) ||
	       (b->stores != 0 && (a->loads | a->stores) != 0);
}

static bool side_meets_itself(const struct record_side *a)
{
	return a->stores != 0 && __builtin_popcountll(a->loads | a->stores) > 1;
}

bool record_meets(const struct record_line *line, bool alone)
{
	if (alone)
		return side_meets_itself(&line->side[0]);
	return sides_meet(&line->side[0], &line->side[1]);
}

bool record_meets_near(const struct record_line *line, bool alone)
{
	const struct record_line *buddy = record_find(line->line ^ 1);
	struct record_line both = *line;

	if (buddy == NULL || record_meets(line, alone) ||
		record_meets(buddy, alone))
		return false;
	for (int role = 0; role < 2; role++) {
		both.side[role].loads |= buddy->side[role].loads;
		both.side[role].stores |= buddy->side[role].stores;
	}
	return record_meets(&both, alone);
}
