/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.h - a circular doubly linked list of nodes that live in their owners.
 *
 * A list head is a node of its own.  No call locks anything: whoever owns the
 * list says which lock guards it.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>

#include "base/cc.h"

struct list {
	struct list *next;
	struct list *prev;
};

#define LIST_ENTRY(node, type, member) CONTAINER_OF(node, type, member)

/* Walk @head with @pos; @pos must stay on the list. */
#define list_for_each(pos, head)                                               \
	for ((pos) = (head)->next; (pos) != (head); (pos) = (pos)->next)

/* As above, but @pos may leave the list inside the loop. */
#define list_for_each_safe(pos, after, head)                                   \
	for ((pos) = (head)->next, (after) = (pos)->next; (pos) != (head);     \
		(pos) = (after), (after) = (pos)->next)

static inline void list_init(struct list *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_add_tail(struct list *head, struct list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void list_add_head(struct list *head, struct list *node)
{
	list_add_tail(head->next, node);
}

/* Take @node off its list and leave it empty, so that it may be asked. */
static inline void list_del(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/* Move all nodes of @from to the end of @to; @from is empty afterwards. */
static inline void list_splice_tail(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

#endif /* BASE_LIST_H */
