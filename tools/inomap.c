/* SPDX-License-Identifier: BSD-2-Clause */
/* inomap.c - see inomap.h: open addressing with linear probes. */
#include "tools/inomap.h"

#include <errno.h>
#include <stdlib.h>

enum { SLOTS_FIRST = 64 };

/* Inode numbers are small and close together. */
static size_t slot_of(const struct inomap *map, uint64_t ino)
{
	return (size_t)((ino * UINT64_C(0x9e3779b97f4a7c15)) >> 32) &
	       (map->slot_count - 1);
}

static size_t slot_after(const struct inomap *map, size_t slot)
{
	return (slot + 1) & (map->slot_count - 1);
}

/* Where @ino is, or would be. */
static size_t probe(const struct inomap *map, uint64_t ino)
{
	size_t slot = slot_of(map, ino);

	while (map->slots[slot].ino != 0 && map->slots[slot].ino != ino)
		slot = slot_after(map, slot);
	return slot;
}

static int grow(struct inomap *map)
{
	struct inomap bigger = {
		.slot_count = map->slot_count != 0 ? map->slot_count * 2
						   : SLOTS_FIRST,
		.used = map->used,
	};

	bigger.slots = calloc(bigger.slot_count, sizeof(*bigger.slots));
	if (bigger.slots == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < map->slot_count; i++)
		if (map->slots[i].ino != 0)
			bigger.slots[probe(&bigger, map->slots[i].ino)] =
				map->slots[i];
	free(map->slots);
	*map = bigger;
	return 0;
}

void inomap_fini(struct inomap *map)
{
	free(map->slots);
	*map = (struct inomap){0};
}

void *inomap_find(const struct inomap *map, uint64_t ino)
{
	return map->used != 0 ? map->slots[probe(map, ino)].value : NULL;
}

int inomap_add(struct inomap *map, uint64_t ino, void *value)
{
	int err = map->used * 2 >= map->slot_count ? grow(map) : 0;

	if (err != 0)
		return err;
	map->slots[probe(map, ino)] =
		(struct inomap_slot){.ino = ino, .value = value};
	map->used++;
	return 0;
}

void inomap_remove(struct inomap *map, uint64_t ino)
{
	size_t hole = map->used != 0 ? probe(map, ino) : 0;

	if (map->used == 0 || map->slots[hole].ino == 0)
		return;
	map->used--;
	/* Whoever probed past the hole moves into it. */
	for (size_t i = slot_after(map, hole); map->slots[i].ino != 0;
		i = slot_after(map, i)) {
		size_t home = slot_of(map, map->slots[i].ino);
		size_t mask = map->slot_count - 1;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->slots[hole] = (struct inomap_slot){0};
}

void inomap_each(const struct inomap *map, void (*fn)(void *value))
{
	for (size_t i = 0; i < map->slot_count; i++)
		if (map->slots[i].ino != 0)
			fn(map->slots[i].value);
}
