/* SPDX-License-Identifier: BSD-2-Clause */
/* info.h - what the files of `extant info` share. */
#ifndef TOOLS_INFO_H
#define TOOLS_INFO_H

#include "ext/about.h"
#include "tools/sheet.h"
#include "tools/tool.h"

/* What the superblock says. */
void info_super(struct sheet *s, const struct ext_about *about);

/* The journal of the file system on @dev, or on @outside, or the one that @dev
 * is; why it cannot be shown is a line, too. */
void info_journal(struct sheet *s, struct blk_dev *dev, struct blk_dev *outside,
	const struct ext_about *about);

#endif /* TOOLS_INFO_H */
