/* SPDX-License-Identifier: BSD-2-Clause */
/* check_say.c - findings of the quick check. */
#include <stdarg.h>
#include <stdio.h>

#include "ext/check_int.h"

static void fill(struct ext_finding *f, enum ext_check_part part, blk_no block,
	uint32_t inode, const char *fmt, va_list args)
{
	*f = (struct ext_finding){
		.part = part, .what = {.block = block, .inode = inode}};
	(void)vsnprintf(f->what.why, sizeof(f->what.why), fmt, args);
}

static void tell(struct check *c, const struct ext_finding *f)
{
	c->result.findings += !f->note;
	c->opts->found(c->opts->arg, f);
}

void check_say(struct check *c, enum ext_check_part part, blk_no block,
	uint32_t inode, const char *fmt, ...)
{
	struct ext_finding f;
	va_list args;

	va_start(args, fmt);
	fill(&f, part, block, inode, fmt, args);
	va_end(args);
	tell(c, &f);
}

void check_say_damage(struct check *c, enum ext_check_part part,
	const struct ext_damage *damage)
{
	const struct ext_finding f = {.part = part, .what = *damage};

	tell(c, &f);
}

void check_note(struct check *c, enum ext_check_part part, const char *fmt, ...)
{
	struct ext_finding f;
	va_list args;

	va_start(args, fmt);
	fill(&f, part, LOG_NO_BLOCK, 0, fmt, args);
	va_end(args);
	f.note = true;
	tell(c, &f);
}

/* ---- in a group -------------------------------------------------------------- */

static struct ext_finding *next(struct check_worker *w)
{
	struct check_findings *f = &w->findings;

	if (f->count < CHECK_FINDINGS_MAX)
		return &f->items[f->count++];
	f->dropped++;
	return NULL;
}

void check_found(struct check_worker *w, enum ext_check_part part, blk_no block,
	uint32_t inode, const char *fmt, ...)
{
	struct ext_finding *f = next(w);
	va_list args;

	if (!f)
		return;
	va_start(args, fmt);
	fill(f, part, block, inode, fmt, args);
	va_end(args);
}

void check_found_damage(struct check_worker *w, enum ext_check_part part,
	const struct ext_damage *damage)
{
	struct ext_finding *f = next(w);

	if (f)
		*f = (struct ext_finding){.part = part, .what = *damage};
}

void check_tell(struct check *c, const struct check_findings *f, uint32_t group)
{
	for (uint32_t i = 0; i < f->count; i++)
		tell(c, &f->items[i]);
	if (f->dropped)
		check_say(c, EXT_CHECK_GROUP, LOG_NO_BLOCK, 0,
			"group %u: %llu more findings", group,
			(unsigned long long)f->dropped);
}
