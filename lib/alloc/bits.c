/* SPDX-License-Identifier: BSD-2-Clause */
/* bits.c - see bits.h. */
#include "alloc/bits.h"

#include <stddef.h>

/* The part of a run that lies in one word. */
struct piece {
	uint32_t word;
	uint32_t count;
	uint64_t mask;
};

static struct piece piece_at(uint32_t start, uint32_t count)
{
	uint32_t shift = start % WORD_BITS;
	uint32_t most = WORD_BITS - shift;
	struct piece p = {.word = start / WORD_BITS};

	p.count = count < most ? count : most;
	p.mask = (UINT64_MAX >> (WORD_BITS - p.count)) << shift;
	return p;
}

/* What of @mask is below the first bit that is set in both. */
static uint64_t below_conflict(uint64_t mask, uint64_t word)
{
	uint64_t conflict = mask & word;

	return conflict == 0 ? mask : mask & ((conflict & -conflict) - 1);
}

/* Returns the bits that are the caller's now. */
static uint64_t word_claim(
	_Atomic uint64_t *word, uint64_t mask, uint32_t *fought)
{
	uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
	uint64_t mine;

	for (;;) {
		mine = below_conflict(mask, old);
		if (mine == 0 ||
			atomic_compare_exchange_weak(word, &old, old | mine))
			return mine;
		(*fought)++;
	}
}

uint32_t bits_claim(_Atomic uint64_t *words, uint32_t start, uint32_t count,
	uint32_t *fought)
{
	uint32_t done = 0;

	while (done < count) {
		struct piece p = piece_at(start + done, count - done);
		uint64_t mine = word_claim(&words[p.word], p.mask, fought);

		done += (uint32_t)__builtin_popcountll(mine);
		if (mine != p.mask)
			break;
	}
	return done;
}

uint32_t bits_clear(_Atomic uint64_t *words, uint32_t start, uint32_t count)
{
	uint32_t cleared = 0;
	uint32_t done = 0;

	while (done < count) {
		struct piece p = piece_at(start + done, count - done);
		uint64_t old = atomic_fetch_and(&words[p.word], ~p.mask);

		cleared += (uint32_t)__builtin_popcountll(old & p.mask);
		done += p.count;
	}
	return cleared;
}

uint32_t bits_count(
	const _Atomic uint64_t *words, uint32_t start, uint32_t count)
{
	uint32_t set = 0;
	uint32_t done = 0;

	while (done < count) {
		struct piece p = piece_at(start + done, count - done);
		uint64_t word = atomic_load(&words[p.word]);

		set += (uint32_t)__builtin_popcountll(word & p.mask);
		done += p.count;
	}
	return set;
}

/* ---- searching ---------------------------------------------------------------- */

struct pair {
	const _Atomic uint64_t *a;
	const _Atomic uint64_t *b;
};

static uint64_t pair_load(const struct pair *p, uint32_t word)
{
	uint64_t bits = atomic_load_explicit(&p->a[word], memory_order_relaxed);

	if (p->b != NULL)
		bits |= atomic_load_explicit(&p->b[word], memory_order_relaxed);
	return bits;
}

/* The first bit in [@from, @to) that is set (@set) or clear; or @to. */
static uint32_t next_bit(
	const struct pair *p, uint32_t from, uint32_t to, bool set)
{
	while (from < to) {
		uint32_t word = from / WORD_BITS;
		uint64_t bits = pair_load(p, word);

		if (!set)
			bits = ~bits;
		bits &= UINT64_MAX << from % WORD_BITS;
		if (bits != 0) {
			from = word * WORD_BITS +
			       (uint32_t)__builtin_ctzll(bits);
			return from < to ? from : to;
		}
		from = (word + 1) * WORD_BITS;
	}
	return to;
}

uint32_t bits_find(const _Atomic uint64_t *a, const _Atomic uint64_t *b,
	uint32_t from, uint32_t to, uint32_t want, uint32_t *start)
{
	const struct pair p = {a, b};
	uint32_t best = 0;

	while (best < want) {
		uint32_t at = next_bit(&p, from, to, false);
		uint32_t end = to - at > want ? at + want : to;

		if (at == to)
			break;
		end = next_bit(&p, at, end, true);
		if (end - at > best) {
			best = end - at;
			*start = at;
		}
		from = end;
	}
	return best;
}
