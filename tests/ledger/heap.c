/* SPDX-License-Identifier: BSD-2-Clause */
/* heap.c - see heap.h.  Tables of linked objects; speed hardly matters. */
#include "heap.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/hash.h"

enum { BUCKETS = 1 << 14 };

struct node {
	struct node *next;
	void *memory; /* freed, but kept */
	struct heap_object object;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct node *buckets[BUCKETS]; /* [lock] allocations, by start */
static struct node *named;            /* [lock] newest first */
static struct node *kept;             /* [lock] freed, but not yet */
static bool keeping;                  /* [lock] */

/* The linker's names. */
/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
/* clang-format off */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
int __real_posix_memalign(void **out, size_t align, size_t bytes);
void __real_free(void *p);
void *__real_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t from);
int __real_munmap(void *p, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
int __wrap_posix_memalign(void **out, size_t align, size_t bytes);
void __wrap_free(void *p);
void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t from);
int __wrap_munmap(void *p, size_t bytes);

/* clang-format on */
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static struct node **bucket_of(uintptr_t start)
{
	return &buckets[hash_u64(start) % BUCKETS];
}

static struct node *node_new(const void *start, size_t bytes)
{
	struct node *n = __real_calloc(1, sizeof(*n));

	if (n == NULL)
		abort();
	n->object.start = (uintptr_t)start;
	n->object.bytes = bytes;
	return n;
}

static void note(void *p, size_t bytes, const void *caller)
{
	struct node **bucket = bucket_of((uintptr_t)p);
	struct node *n;

	if (p == NULL)
		return;
	n = node_new(p, bytes);
	n->object.caller = (uintptr_t)caller;
	(void)pthread_mutex_lock(&lock);
	n->next = *bucket;
	*bucket = n;
	(void)pthread_mutex_unlock(&lock);
}

/* Take @p's note off its bucket; NULL: it has none. */
static struct node *unnote_locked(const void *p)
{
	struct node **at = bucket_of((uintptr_t)p);

	for (; *at != NULL; at = &(*at)->next) {
		struct node *n = *at;

		if (n->object.start == (uintptr_t)p) {
			*at = n->next;
			return n;
		}
	}
	return NULL;
}

static void unnote(const void *p)
{
	(void)pthread_mutex_lock(&lock);
	__real_free(unnote_locked(p));
	(void)pthread_mutex_unlock(&lock);
}

/* ---- wrapped calls --------------------------------------------------------- */

void *__wrap_malloc(size_t bytes)
{
	void *p = __real_malloc(bytes);

	note(p, bytes, __builtin_return_address(0));
	return p;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	void *p = __real_calloc(count, bytes);

	note(p, count * bytes, __builtin_return_address(0));
	return p;
}

void *__wrap_realloc(void *old, size_t bytes)
{
	void *p;

	unnote(old);
	p = __real_realloc(old, bytes);
	note(p, bytes, __builtin_return_address(0));
	return p;
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
	void *p = __real_aligned_alloc(align, bytes);

	note(p, bytes, __builtin_return_address(0));
	return p;
}

int __wrap_posix_memalign(void **out, size_t align, size_t bytes)
{
	int err = __real_posix_memalign(out, align, bytes);

	if (err == 0)
		note(*out, bytes, __builtin_return_address(0));
	return err;
}

void *__wrap_mmap(
	void *at, size_t bytes, int prot, int flags, int fd, off_t from)
{
	void *p = __real_mmap(at, bytes, prot, flags, fd, from);

	if (p != MAP_FAILED)
		note(p, bytes, __builtin_return_address(0));
	return p;
}

int __wrap_munmap(void *p, size_t bytes)
{
	unnote(p);
	return __real_munmap(p, bytes);
}

void __wrap_free(void *p)
{
	struct node *n;

	(void)pthread_mutex_lock(&lock);
	n = unnote_locked(p);
	if (n != NULL && keeping) {
		n->memory = p;
		n->next = kept;
		kept = n;
		p = NULL;
	} else {
		__real_free(n);
	}
	(void)pthread_mutex_unlock(&lock);
	__real_free(p);
}

/* ---- for the ledger ----------------------------------------------------------- */

void heap_name(const void *start, size_t bytes, const char *fmt, ...)
{
	struct node *n = node_new(start, bytes);
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(n->object.name, sizeof(n->object.name), fmt, args);
	va_end(args);
	(void)pthread_mutex_lock(&lock);
	n->next = named;
	named = n;
	(void)pthread_mutex_unlock(&lock);
}

static const struct node *covering(const struct node *n, uintptr_t addr)
{
	while (n != NULL && addr - n->object.start >= n->object.bytes)
		n = n->next;
	return n;
}

/* A small allocation wins over one that contains it, such as an arena. */
static const struct node *allocation_locked(uintptr_t addr)
{
	const struct node *best = covering(kept, addr);

	for (unsigned i = 0; i < BUCKETS; i++) {
		const struct node *n = covering(buckets[i], addr);

		if (n != NULL &&
			(best == NULL || n->object.bytes < best->object.bytes))
			best = n;
	}
	return best;
}

bool heap_find(uintptr_t addr, struct heap_object *out)
{
	const struct node *n;

	(void)pthread_mutex_lock(&lock);
	n = covering(named, addr);
	if (n == NULL)
		n = allocation_locked(addr);
	if (n != NULL)
		*out = n->object;
	(void)pthread_mutex_unlock(&lock);
	return n != NULL;
}

void heap_keep(void)
{
	(void)pthread_mutex_lock(&lock);
	keeping = true;
	(void)pthread_mutex_unlock(&lock);
}

void heap_release(void)
{
	(void)pthread_mutex_lock(&lock);
	keeping = false;
	while (kept != NULL) {
		struct node *n = kept;

		kept = n->next;
		__real_free(n->memory);
		__real_free(n);
	}
	(void)pthread_mutex_unlock(&lock);
}
