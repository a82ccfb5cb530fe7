/* SPDX-License-Identifier: BSD-2-Clause */
/* set.h - a growing set of 64-bit hashes. */
#ifndef TESTS_CRASH_SET_H
#define TESTS_CRASH_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"

struct set {
	uint64_t *slots; /* 0: empty */
	uint64_t room;   /* a power of two */
	uint64_t count;
};

static inline void set_init(struct set *s)
{
	*s = (struct set){.room = 64};
	s->slots = calloc(s->room, sizeof(*s->slots));
	CHECK(s->slots != NULL);
}

static inline void set_fini(struct set *s)
{
	free(s->slots);
}

static inline void set_clear(struct set *s)
{
	memset(s->slots, 0, s->room * sizeof(*s->slots));
	s->count = 0;
}

static inline bool set_put(struct set *s, uint64_t key)
{
	uint64_t at = hash_u64(key) & (s->room - 1);

	while (s->slots[at] != 0 && s->slots[at] != key)
		at = (at + 1) & (s->room - 1);
	if (s->slots[at] == key)
		return false;
	s->slots[at] = key;
	s->count++;
	return true;
}

/* True: @key is new. */
static inline bool set_add(struct set *s, uint64_t key)
{
	struct set old = *s;

	if (s->count * 2 >= s->room) {
		*s = (struct set){.room = old.room * 2};
		s->slots = calloc(s->room, sizeof(*s->slots));
		CHECK(s->slots != NULL);
		for (uint64_t i = 0; i < old.room; i++)
			if (old.slots[i] != 0)
				(void)set_put(s, old.slots[i]);
		free(old.slots);
	}
	/* 0 marks what is empty; its stand-in is as unlikely as any. */
	return set_put(s, key != 0 ? key : 1);
}

#endif /* TESTS_CRASH_SET_H */
