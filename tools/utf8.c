/* SPDX-License-Identifier: BSD-2-Clause */
/* utf8.c - see utf8.h. */
#include "tools/utf8.h"

#include "base/cc.h"

/*
 * How many bytes a sequence has that begins with a byte of lead_min to
 * lead_max, and between what its second byte is: this is where overlong
 * forms, surrogates and what is beyond the last code point are ruled out.
 */
static const struct utf8_form {
	uint8_t lead_min;
	uint8_t lead_max;
	uint8_t second_min;
	uint8_t second_max;
	uint8_t bytes;
	uint8_t lead_bits; /* of the code point, in the lead */
} utf8_forms[] = {
	{0x00, 0x7f, 0x00, 0xff, 1, 0x7f},
	{0xc2, 0xdf, 0x80, 0xbf, 2, 0x1f},
	{0xe0, 0xe0, 0xa0, 0xbf, 3, 0x0f},
	{0xe1, 0xec, 0x80, 0xbf, 3, 0x0f},
	{0xed, 0xed, 0x80, 0x9f, 3, 0x0f},
	{0xee, 0xef, 0x80, 0xbf, 3, 0x0f},
	{0xf0, 0xf0, 0x90, 0xbf, 4, 0x07},
	{0xf1, 0xf3, 0x80, 0xbf, 4, 0x07},
	{0xf4, 0xf4, 0x80, 0x8f, 4, 0x07},
};

size_t utf8_decode(const void *text, size_t bytes, uint32_t *code)
{
	const uint8_t *s = text;
	const struct utf8_form *f = utf8_forms;

	if (bytes == 0)
		return 0;
	while (*s < f->lead_min || *s > f->lead_max)
		if (++f == utf8_forms + ARRAY_COUNT(utf8_forms))
			return 0;
	if (f->bytes > bytes)
		return 0;
	if (f->bytes > 1 && (s[1] < f->second_min || s[1] > f->second_max))
		return 0;
	*code = *s & f->lead_bits;
	for (size_t i = 1; i < f->bytes; i++) {
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	return f->bytes;
}

static const struct code_range {
	uint32_t first;
	uint32_t last;
} obeyed[] = {
	{0x00, 0x1f},
	{0x7f, 0x9f},
	{0x061c, 0x061c},
	{0x200e, 0x200f},
	{0x2028, 0x202e},
	{0x2066, 0x2069},
	{0xfff9, 0xfffb},
	{0xe0000, 0xe007f},
};

bool utf8_is_obeyed(uint32_t code)
{
	for (size_t i = 0; i < ARRAY_COUNT(obeyed); i++)
		if (code >= obeyed[i].first && code <= obeyed[i].last)
			return true;
	return false;
}
