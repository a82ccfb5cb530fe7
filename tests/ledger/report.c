/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - what the cells met on, by name.
 *
 * A line is named by the object that holds the first byte stored to it:
 *   name+0x8     an object of the program, or a range that a row has named
 *   maker()+0x8  heap memory that the function maker() allocated
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap.h"
#include "ledger.h"
#include "symbols.h"

enum { NAME_BYTES = 96, MET_SHOWN = 8, CELLS_MAX = 1024, OBJECTS_MAX = 1024 };

struct object {
	struct record_site sites[RECORD_SITES];
	unsigned site_count;
	bool wanted; /* a cell that was printed met on it */
	char name[NAME_BYTES];
};

/* A line that a cell met on. */
struct met {
	struct met *next;
	struct object *object;
	uint64_t stores;
	uint64_t loads;
	bool allowed;
	bool near;
};

struct cell {
	const struct ledger_op *a;
	const struct ledger_op *b;
	enum verdict verdict;
	unsigned runs;
	unsigned met_count;
	struct met *met;
};

static struct cell cells[CELLS_MAX];
static unsigned cell_count;
static struct object objects[OBJECTS_MAX];
static unsigned object_count;

/* ---- names --------------------------------------------------------------------- */

static void name_symbol(uintptr_t addr, char *out)
{
	struct symbol s = symbols_find(addr);

	if (s.name == NULL)
		(void)snprintf(out, NAME_BYTES, "unknown");
	else if (s.offset == 0)
		(void)snprintf(out, NAME_BYTES, "%s", s.name);
	else
		(void)snprintf(out, NAME_BYTES, "%s+%#lx", s.name,
			(unsigned long)s.offset);
}

static void name_object(uintptr_t addr, char *out)
{
	struct heap_object h;
	unsigned long offset;

	if (!heap_find(addr, &h)) {
		name_symbol(addr, out);
		return;
	}
	offset = (unsigned long)(addr - h.start);
	if (h.caller == 0) {
		(void)snprintf(out, NAME_BYTES, "%s+%#lx", h.name, offset);
		return;
	}

	struct symbol s = symbols_find(h.caller - 1);

	(void)snprintf(out, NAME_BYTES, "%s()+%#lx",
		s.name != NULL ? s.name : "?", offset);
}

static uintptr_t line_address(const struct record_line *l)
{
	for (unsigned i = 0; i < l->site_count; i++) {
		if (l->sites[i].store)
			return l->sites[i].addr;
	}
	return l->sites[0].addr;
}

static struct object *object_of(const struct record_line *l)
{
	char name[NAME_BYTES];
	struct object *o = objects;

	name_object(line_address(l), name);
	while (o < &objects[object_count] && strcmp(o->name, name) != 0)
		o++;
	if (o == &objects[object_count]) {
		if (object_count == OBJECTS_MAX)
			abort();
		object_count++;
		memcpy(o->name, name, sizeof(name));
	}
	return o;
}

static void object_add_site(struct object *o, const struct record_site *site)
{
	for (unsigned i = 0; i < o->site_count; i++) {
		if (o->sites[i].pc == site->pc)
			return;
	}
	if (o->site_count < RECORD_SITES)
		o->sites[o->site_count++] = *site;
}

/* ---- judging -------------------------------------------------------------------- */

struct judging {
	struct cell *cell;
	bool strict;
};

static void met_add(struct cell *c, const struct record_line *l, bool near)
{
	struct met *m = calloc(1, sizeof(*m));

	if (m == NULL)
		abort();
	m->object = object_of(l);
	for (unsigned i = 0; i < l->site_count; i++)
		object_add_site(m->object, &l->sites[i]);
	m->stores = l->side[0].store_count + (uint64_t)l->side[1].store_count;
	m->loads = l->side[0].load_count + (uint64_t)l->side[1].load_count;
	m->near = near;
	m->allowed =
		!near && exceptions_allow(c->a->name, c->b->name, l, c->runs);
	m->next = c->met;
	c->met = m;
	c->met_count++;
}

static void judge_line(void *arg, const struct record_line *l)
{
	struct judging *j = arg;
	struct cell *c = j->cell;
	bool alone = c->a == c->b;
	bool met = record_meets(l, alone);
	bool near = !met && record_meets_near(l, alone);
	enum verdict verdict = GREEN;

	if (!met && !near)
		return;
	met_add(c, l, near);
	if (near)
		verdict = j->strict ? RED : NEAR;
	else
		verdict = c->met->allowed ? ALLOWED : RED;
	if (verdict > c->verdict)
		c->verdict = verdict;
}

enum verdict report_cell(
	const struct ledger_op *a, const struct ledger_op *b, bool strict)
{
	struct judging j = {.cell = &cells[cell_count], .strict = strict};

	if (cell_count == CELLS_MAX)
		abort();
	cell_count++;
	*j.cell = (struct cell){.a = a, .b = b, .runs = cell_runs()};
	record_each(judge_line, &j);
	return j.cell->verdict;
}

/* ---- printing ------------------------------------------------------------------- */

static const struct cell *cell_of(
	const struct ledger_op *a, const struct ledger_op *b)
{
	for (unsigned i = 0; i < cell_count; i++) {
		if ((cells[i].a == a && cells[i].b == b) ||
			(cells[i].a == b && cells[i].b == a))
			return &cells[i];
	}
	return NULL;
}

static bool is_control(const struct cell *c)
{
	return c->a == c->b && c->a->control;
}

static const char *mark_of(const struct cell *c)
{
	static const char *const marks[] = {".", "~", "e", "R"};

	if (c == NULL)
		return " ";
	if (is_control(c))
		return c->verdict == RED ? "c" : "!";
	return marks[c->verdict];
}

static void print_matrix(const struct ledger_op *const *ops, unsigned count)
{
	(void)printf("%32s", "");
	for (unsigned i = 0; i < count; i++)
		(void)printf(" %2u", i + 1);
	(void)printf("\n");
	for (unsigned i = 0; i < count; i++) {
		(void)printf("%2u %-29s", i + 1, ops[i]->name);
		for (unsigned k = 0; k <= i; k++)
			(void)printf("  %s", mark_of(cell_of(ops[k], ops[i])));
		(void)printf("\n");
	}
	(void)printf("\n. meet nowhere   ~ only on a pair of lines   "
		     "e on excepted lines   R red\n"
		     "c control, red as it must be   ! control that is not\n");
}

/* Is @c as it must be? */
static bool is_right(const struct cell *c)
{
	return (c->verdict == RED) == is_control(c);
}

static const char *heading_of(const struct cell *c)
{
	if (is_control(c))
		return is_right(c) ? ", a control, meet on"
				   : ", a control, must meet, but do not";
	switch (c->verdict) {
	case RED:
		return " must not meet, but do on";
	case ALLOWED:
		return " may meet on";
	default:
		return " meet on a pair of lines only, on";
	}
}

static void print_cell(const struct cell *c)
{
	unsigned shown = 0;

	(void)printf("\n%s x %s%s\n", c->a->name, c->b->name, heading_of(c));
	for (struct met *m = c->met; m != NULL; m = m->next) {
		if (shown++ == MET_SHOWN) {
			(void)printf(
				"  and %u more\n", c->met_count - MET_SHOWN);
			return;
		}
		m->object->wanted = true;
		(void)printf("  %-36s %6llu stores %6llu loads in %u runs%s\n",
			m->object->name, (unsigned long long)m->stores,
			(unsigned long long)m->loads, c->runs,
			m->near      ? " (pair)"
			: m->allowed ? " (excepted)"
				     : "");
	}
}

static void print_object(const struct object *o)
{
	(void)printf("\n%s\n", o->name);
	for (unsigned i = 0; i < o->site_count; i++) {
		const struct record_site *site = &o->sites[i];
		const struct code *code = symbols_code(site->pc);

		(void)printf("  %s by %-32s %s\n",
			site->store ? "stored" : "loaded", code->function,
			code->line);
	}
}

/* The cells that are @right or not, and the code that met there. */
static void print_cells(bool right, bool all)
{
	for (unsigned i = 0; i < cell_count; i++) {
		const struct cell *c = &cells[i];
		bool told = c->verdict >= ALLOWED || is_control(c) ||
			    (all && c->verdict == NEAR);

		if (told && is_right(c) == right)
			print_cell(c);
	}
	for (unsigned i = 0; i < object_count; i++) {
		if (objects[i].wanted)
			print_object(&objects[i]);
		objects[i].wanted = false;
	}
}

void report_print(const struct ledger_op *const *ops, unsigned count, bool all)
{
	print_matrix(ops, count);
	print_cells(true, all);
	(void)printf("\n");
	exceptions_print();
	/* Last, where whoever has to mend it looks first. */
	print_cells(false, all);
}
