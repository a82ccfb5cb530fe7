/* SPDX-License-Identifier: BSD-2-Clause */
/* cc.h - compiler vocabulary shared by every module. */
#ifndef BASE_CC_H
#define BASE_CC_H

#include <stddef.h>

#define MUST_USE          __attribute__((warn_unused_result))
#define NOINLINE          __attribute__((noinline))
#define NORETURN          __attribute__((noreturn))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/*
 * Two fields that different threads write, or that one writes and another
 * reads, stand this many bytes apart: a cache line is 64 bytes, and the
 * adjacent-line prefetcher of x86 couples them in pairs.
 */
#define LINE_BYTES   128
#define LINE_ALIGNED __attribute__((aligned(LINE_BYTES)))

#define ARRAY_COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define CONTAINER_OF(ptr, type, member)                                        \
	((type *)((char *)(ptr)-offsetof(type, member)))

/* Clang's thread-safety analysis; gcc sees nothing. */
#if defined(__clang__)
#define CAPABILITY(name)       __attribute__((capability(name)))
#define ACQUIRES(...)          __attribute__((acquire_capability(__VA_ARGS__)))
#define RELEASES(...)          __attribute__((release_capability(__VA_ARGS__)))
#define REQUIRES(...)          __attribute__((requires_capability(__VA_ARGS__)))
#define EXCLUDES(...)          __attribute__((locks_excluded(__VA_ARGS__)))
#define NO_LOCK_ANALYSIS       __attribute__((no_thread_safety_analysis))
#define ASSERTS_HELD(x)        __attribute__((assert_capability(x)))
#define ASSERTS_HELD_SHARED(x) __attribute__((assert_shared_capability(x)))
#define ACQUIRES_SHARED(...)                                                   \
	__attribute__((acquire_shared_capability(__VA_ARGS__)))
#define RELEASES_SHARED(...)                                                   \
	__attribute__((release_shared_capability(__VA_ARGS__)))
#define TRY_ACQUIRES(...) __attribute__((try_acquire_capability(__VA_ARGS__)))
#define TRY_ACQUIRES_SHARED(...)                                               \
	__attribute__((try_acquire_shared_capability(__VA_ARGS__)))
#else
#define CAPABILITY(name)
#define ACQUIRES(...)
#define RELEASES(...)
#define REQUIRES(...)
#define EXCLUDES(...)
#define NO_LOCK_ANALYSIS
#define ASSERTS_HELD(x)
#define ASSERTS_HELD_SHARED(x)
#define ACQUIRES_SHARED(...)
#define RELEASES_SHARED(...)
#define TRY_ACQUIRES(...)
#define TRY_ACQUIRES_SHARED(...)
#endif

#endif /* BASE_CC_H */
