/* SPDX-License-Identifier: BSD-2-Clause */
/* damage.c - what is wrong with a disk, as data. */
#include <stdarg.h>
#include <stdio.h>

#include "ext/ext_int.h"

void ext_damage_say(struct ext_damage *d, blk_no block, uint32_t inode,
	const char *fmt, ...)
{
	va_list args;

	if (!d)
		return;
	d->block = block;
	d->inode = inode;
	d->outside = false;
	va_start(args, fmt);
	/* Cut short when it does not fit; the caller's buffer is what it is. */
	(void)vsnprintf(d->why, sizeof(d->why), fmt, args);
	va_end(args);
}
