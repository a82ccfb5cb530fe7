/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window.c - reservations ahead of files that grow.
 *
 * A window is a run of set bits in *reserved*, inside one group, that starts
 * right after the file's last unit.  Others may take its units when nothing
 * else is left; the owner then finds them used, and begins elsewhere.
 */
#include "alloc/alloc_int.h"

static void window_unreserve(struct alloc *a, struct alloc_window *w)
{
	uint32_t group = alloc_group_of(a, w->next);
	struct alloc_map *map;

	rcu_begin();
	map = alloc_map_back_rcu(a, group);
	if (map != NULL)
		(void)bits_clear(map->reserved,
			(uint32_t)(w->next - alloc_unit_of(a, group, 0)),
			w->left);
	rcu_end();
	w->left = 0;
}

void alloc_window_drop(struct alloc *a, struct alloc_window *w)
{
	if (w->left != 0)
		window_unreserve(a, w);
	*w = (struct alloc_window){0};
}

uint32_t window_take_rcu(struct alloc *a, jnl_tid tid,
	const struct alloc_want *want, struct alloc_run *out)
{
	struct alloc_window *w = want->window;
	uint32_t count = want->count;
	uint32_t fought = 0;
	struct alloc_map *map;
	uint32_t group;
	uint32_t at;

	if (w->left == 0 || want->goal != w->next)
		return 0;
	group = alloc_group_of(a, w->next);
	at = (uint32_t)(w->next - alloc_unit_of(a, group, 0));
	map = alloc_map_back_rcu(a, group);
	if (map == NULL)
		return 0;
	if (count > w->left)
		count = w->left;
	count = bits_claim(map->used, at, count, &fought);
	(void)bits_clear(map->reserved, at, count);
	alloc_stamp_rcu(a, group, tid);
	if (fought != 0)
		tally_add(&a->passed_by, fought);
	*out = (struct alloc_run){.start = w->next, .count = count};
	w->next += count;
	w->left -= count;
	return count;
}

uint32_t window_size(const struct alloc_window *w, uint64_t goal)
{
	if (w->want == 0 || w->next != goal)
		return ALLOC_WINDOW_LEAST;
	return w->want < ALLOC_WINDOW_MOST ? w->want * 2 : ALLOC_WINDOW_MOST;
}

/* Reserve up to @size units right at @at of @group. */
static uint32_t window_reserve(
	struct alloc *a, uint32_t group, uint32_t at, uint32_t size)
{
	uint32_t end = alloc_group_size(a, group);
	uint32_t fought = 0;
	uint32_t start = at;
	struct alloc_map *map;
	uint32_t count = 0;

	if (size > end - at)
		size = end - at;
	rcu_begin();
	map = alloc_map_back_rcu(a, group);
	if (map != NULL && size != 0)
		count = bits_find(
			map->used, map->reserved, at, at + size, size, &start);
	if (count != 0 && start == at)
		count = bits_claim(map->reserved, at, count, &fought);
	else
		count = 0;
	rcu_end();
	return count;
}

void window_renew(struct alloc *a, struct alloc_window *w,
	const struct alloc_run *run, uint32_t size)
{
	uint64_t next = run->start + run->count;
	uint32_t group;

	if (w->left != 0)
		window_unreserve(a, w);
	*w = (struct alloc_window){.next = next, .want = size};
	if (next >= a->count)
		return;
	group = alloc_group_of(a, next);
	if (group == alloc_group_of(a, run->start))
		w->left = window_reserve(a, group,
			(uint32_t)(next - alloc_unit_of(a, group, 0)), size);
}
