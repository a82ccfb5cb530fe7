/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hash.c - the hashes that order an indexed directory.
 *
 * Legacy is a multiplicative hash of its own.  Half MD4 runs the three round
 * functions of MD4, eight steps each, over eight words of the name at a time;
 * TEA is Wheeler and Needham's cipher, sixteen cycles over four words.  Both
 * start from the file system's seed and feed back.
 *
 * Names are bytes, but the first implementations took them as the machine's
 * char, and so each hash exists with signed and with unsigned ones.
 */
#include "ext/dir_int.h"

enum {
	MD4_WORDS = 8,
	TEA_WORDS = 4,
	TEA_CYCLES = 16,
};

#define TEA_DELTA UINT32_C(0x9e3779b9)
#define HASH_END  UINT32_C(0xfffffffe) /* means the end of a directory */

static uint32_t char_at(const char *p, bool is_unsigned)
{
	return is_unsigned ? (uint32_t)(uint8_t)*p
			   : (uint32_t)(int32_t)(int8_t)*p;
}

static uint32_t hash_legacy(const char *name, uint32_t bytes, bool is_unsigned)
{
	uint32_t before = 0x37abe8f9;
	uint32_t hash = 0x12a3fe2d;

	for (uint32_t i = 0; i < bytes; i++) {
		uint32_t c = char_at(name + i, is_unsigned);
		uint32_t next = before + (hash ^ (c * 7152373));

		if (next & 0x80000000)
			next -= 0x7fffffff;
		before = hash;
		hash = next;
	}
	return hash << 1;
}

/*
 * Up to @count words of four chars each, most significant first, from the
 * @bytes that are left of a name; the rest is padded with that length in
 * every byte.
 */
static void words_of(const char *name, uint32_t bytes, bool is_unsigned,
	uint32_t *words, uint32_t count)
{
	uint32_t pad = (bytes | bytes << 8) & 0xffff;
	uint32_t used = bytes < count * 4 ? bytes : count * 4;
	uint32_t at = 0;

	pad |= pad << 16;
	for (uint32_t w = 0; w < count; w++) {
		uint32_t word = pad;

		for (int i = 0; i < 4 && at < used; i++)
			word = (word << 8) + char_at(name + at++, is_unsigned);
		words[w] = word;
	}
}

static uint32_t rotate(uint32_t v, unsigned by)
{
	return v << by | v >> (32 - by);
}

static uint32_t md4_choose(uint32_t x, uint32_t y, uint32_t z)
{
	return z ^ (x & (y ^ z));
}

static uint32_t md4_majority(uint32_t x, uint32_t y, uint32_t z)
{
	return (x & y) + ((x ^ y) & z);
}

static uint32_t md4_parity(uint32_t x, uint32_t y, uint32_t z)
{
	return x ^ y ^ z;
}

struct md4_round {
	uint32_t (*mix)(uint32_t x, uint32_t y, uint32_t z);
	uint32_t add;
	uint8_t order[MD4_WORDS];
	uint8_t shift[4];
};

static const struct md4_round md4_rounds[] = {
	{md4_choose, 0, {0, 1, 2, 3, 4, 5, 6, 7}, {3, 7, 11, 19}},
	{md4_majority, 0x5a827999, {1, 3, 5, 7, 0, 2, 4, 6}, {3, 5, 9, 13}},
	{md4_parity, 0x6ed9eba1, {3, 7, 2, 6, 1, 5, 0, 4}, {3, 9, 11, 15}},
};

static void half_md4(uint32_t state[4], const uint32_t words[MD4_WORDS])
{
	uint32_t v[4];

	memcpy(v, state, sizeof(v));
	for (size_t r = 0; r < ARRAY_COUNT(md4_rounds); r++) {
		const struct md4_round *round = &md4_rounds[r];

		for (unsigned i = 0; i < MD4_WORDS; i++) {
			/* a, d, c, b take turns. */
			uint32_t *to = &v[(4 - i % 4) % 4];
			uint32_t x = v[(5 - i % 4) % 4];
			uint32_t y = v[(6 - i % 4) % 4];
			uint32_t z = v[(7 - i % 4) % 4];

			*to = rotate(*to + round->mix(x, y, z) +
					     words[round->order[i]] +
					     round->add,
				round->shift[i % 4]);
		}
	}
	for (int i = 0; i < 4; i++)
		state[i] += v[i];
}

static void tea(uint32_t state[4], const uint32_t words[TEA_WORDS])
{
	uint32_t left = state[0];
	uint32_t right = state[1];
	uint32_t sum = 0;

	for (int i = 0; i < TEA_CYCLES; i++) {
		sum += TEA_DELTA;
		left += ((right << 4) + words[0]) ^ (right + sum) ^
			((right >> 5) + words[1]);
		right += ((left << 4) + words[2]) ^ (left + sum) ^
			 ((left >> 5) + words[3]);
	}
	state[0] += left;
	state[1] += right;
}

static void state_init(uint32_t state[4], const uint32_t seed[4])
{
	static const uint32_t start[4] = {
		0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
	bool seeded = seed[0] | seed[1] | seed[2] | seed[3];

	memcpy(state, seeded ? seed : start, sizeof(start));
}

static uint32_t pieces(uint32_t bytes, uint32_t words)
{
	return (bytes + words * 4 - 1) / (words * 4);
}

uint32_t ext_hash_name(unsigned version, const uint32_t seed[4],
	const char *name, uint32_t bytes, uint32_t *minor)
{
	bool is_unsigned = version >= EXT_HASH_UNSIGNED;
	uint32_t words[MD4_WORDS];
	uint32_t state[4];
	uint32_t hash;

	state_init(state, seed);
	*minor = 0;
	switch (version % EXT_HASH_UNSIGNED) {
	case EXT_HASH_HALF_MD4:
		for (uint32_t i = 0; i < pieces(bytes, MD4_WORDS); i++) {
			words_of(name + (size_t)i * MD4_WORDS * 4,
				bytes - i * MD4_WORDS * 4, is_unsigned, words,
				MD4_WORDS);
			half_md4(state, words);
		}
		hash = state[1];
		*minor = state[2];
		break;
	case EXT_HASH_TEA:
		for (uint32_t i = 0; i < pieces(bytes, TEA_WORDS); i++) {
			words_of(name + (size_t)i * TEA_WORDS * 4,
				bytes - i * TEA_WORDS * 4, is_unsigned, words,
				TEA_WORDS);
			tea(state, words);
		}
		hash = state[0];
		*minor = state[1];
		break;
	default:
		hash = hash_legacy(name, bytes, is_unsigned);
	}
	hash &= ~UINT32_C(1);
	return hash == HASH_END ? HASH_END - 2 : hash;
}
