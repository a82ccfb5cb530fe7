/* SPDX-License-Identifier: BSD-2-Clause */
/* deny.c - see deny.h. */
#include "deny.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Requests of each kind that are granted before one is denied; below 0: it
 * was. */
static _Atomic int64_t granted[DENY_KINDS];
static _Atomic bool armed[DENY_KINDS];
static _Atomic bool for_good;

void deny_arm(enum deny_kind kind, uint64_t nth, bool good)
{
	atomic_store(&for_good, good);
	atomic_store(&granted[kind], (int64_t)nth - 1);
	atomic_store(&armed[kind], true);
}

bool deny_disarm(void)
{
	bool denied = false;

	for (int i = 0; i < DENY_KINDS; i++)
		denied |= atomic_exchange(&armed[i], false) &&
			  atomic_load(&granted[i]) < 0;
	return denied;
}

static bool denied(enum deny_kind kind)
{
	int64_t left;

	if (!atomic_load_explicit(&armed[kind], memory_order_relaxed))
		return false;
	left = atomic_fetch_sub(&granted[kind], 1);
	if (left > 0 || (left < 0 && !atomic_load(&for_good)))
		return false;
	errno = kind == DENY_THREAD ? EAGAIN : ENOMEM;
	return true;
}

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming):
 * the linker names them */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_reallocarray(void *old, size_t count, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
int __real_posix_memalign(void **out, size_t align, size_t bytes);
void *__real_mmap64(
	void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
int __real_memfd_create(const char *name, unsigned flags);
int __real_ftruncate64(int fd, off_t bytes);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
	void *(*body)(void *arg), void *arg);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_reallocarray(void *old, size_t count, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
int __wrap_posix_memalign(void **out, size_t align, size_t bytes);
void *__wrap_mmap64(
	void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_ftruncate64(int fd, off_t bytes);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
	void *(*body)(void *arg), void *arg);

void *__wrap_malloc(size_t bytes)
{
	return denied(DENY_MEMORY) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return denied(DENY_MEMORY) ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return denied(DENY_MEMORY) ? NULL : __real_realloc(old, bytes);
}

void *__wrap_reallocarray(void *old, size_t count, size_t bytes)
{
	return denied(DENY_MEMORY) ? NULL
				   : __real_reallocarray(old, count, bytes);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
	return denied(DENY_MEMORY) ? NULL : __real_aligned_alloc(align, bytes);
}

int __wrap_posix_memalign(void **out, size_t align, size_t bytes)
{
	return denied(DENY_MEMORY) ? ENOMEM
				   : __real_posix_memalign(out, align, bytes);
}

void *__wrap_mmap64(
	void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	return denied(DENY_MAP)
		       ? MAP_FAILED
		       : __real_mmap64(at, bytes, prot, flags, fd, offset);
}

int __wrap_memfd_create(const char *name, unsigned flags)
{
	return denied(DENY_MAP) ? -1 : __real_memfd_create(name, flags);
}

int __wrap_ftruncate64(int fd, off_t bytes)
{
	return denied(DENY_MAP) ? -1 : __real_ftruncate64(fd, bytes);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
	void *(*body)(void *arg), void *arg)
{
	return denied(DENY_THREAD)
		       ? EAGAIN
		       : __real_pthread_create(thread, attr, body, arg);
}

/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */
