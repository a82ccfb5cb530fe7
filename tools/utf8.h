/* SPDX-License-Identifier: BSD-2-Clause */
/* utf8.h - which bytes are UTF-8. */
#ifndef TOOLS_UTF8_H
#define TOOLS_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the sequence that the @bytes bytes at @text begin with, and
 * its code point; 0: it is none. */
size_t utf8_decode(const void *text, size_t bytes, uint32_t *code);

/* Whether terminals obey @code rather than show it: controls, marks that change
 * the direction of text, separators of lines. */
bool utf8_is_obeyed(uint32_t code);

#endif /* TOOLS_UTF8_H */
