/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * runtime.c - what code compiled with -fsanitize=thread calls, as gcc 12 and
 * clang 14 emit it.
 *
 * Plain accesses are recorded and made by the caller; atomic ones are recorded
 * and made here, all of them sequentially consistent.  A compare-and-exchange
 * counts as a store even if it fails, because the processor takes the line as
 * for a store.  Calls of memcpy(), memmove(), memset() and memcmp() arrive
 * here by the linker's --wrap.
 */
#include <stdint.h>
#include <string.h>

#include "record.h"

#define PC() __builtin_return_address(0)

/* Names and forms are those of the compilers and the linker. */
/* NOLINTBEGIN(bugprone-reserved-identifier,bugprone-macro-parentheses,
 * readability-identifier-naming) */
/* clang-format off */

/* Declare, then define: the compiler is the only caller. */
#define HOOK(result, name, args) result name args; result name args

/* ---- life ----------------------------------------------------------------- */

HOOK(void, __tsan_init, (void))
{
}

HOOK(void, __tsan_func_entry, (void *pc))
{
	(void)pc;
}

HOOK(void, __tsan_func_exit, (void))
{
}

HOOK(void, __tsan_ignore_thread_begin, (void))
{
}

HOOK(void, __tsan_ignore_thread_end, (void))
{
}

/* ---- plain accesses --------------------------------------------------------- */

#define PLAIN(name, bytes, store)                                             \
	HOOK(void, __tsan_##name##bytes, (void *addr))                        \
	{                                                                     \
		record_access(addr, bytes, store, PC());                      \
	}

#define PLAIN_BOTH(bytes)                                                     \
	PLAIN(read, bytes, false)                                             \
	PLAIN(write, bytes, true)                                             \
	PLAIN(unaligned_read, bytes, false)                                   \
	PLAIN(unaligned_write, bytes, true)                                   \
	PLAIN(volatile_read, bytes, false)                                    \
	PLAIN(volatile_write, bytes, true)                                    \
	PLAIN(unaligned_volatile_read, bytes, false)                          \
	PLAIN(unaligned_volatile_write, bytes, true)                          \
	PLAIN(read_write, bytes, true)                                        \
	PLAIN(unaligned_read_write, bytes, true)

PLAIN_BOTH(1)
PLAIN_BOTH(2)
PLAIN_BOTH(4)
PLAIN_BOTH(8)
PLAIN_BOTH(16)

HOOK(void, __tsan_read_range, (void *addr, size_t bytes))
{
	record_access(addr, bytes, false, PC());
}

HOOK(void, __tsan_write_range, (void *addr, size_t bytes))
{
	record_access(addr, bytes, true, PC());
}

HOOK(void, __tsan_vptr_update, (void **vptr, void *value))
{
	(void)value;
	record_access(vptr, sizeof(*vptr), true, PC());
}

HOOK(void, __tsan_vptr_read, (void **vptr))
{
	record_access(vptr, sizeof(*vptr), false, PC());
}

/* ---- atomics ------------------------------------------------------------------ */

#define SEQ __ATOMIC_SEQ_CST

#define FETCH(bits, T, op, builtin)                                           \
	HOOK(T, __tsan_atomic##bits##_fetch_##op,                             \
		(volatile T *a, T v, int order))                              \
	{                                                                     \
		(void)order;                                                  \
		record_access(a, sizeof(T), true, PC());                      \
		return builtin(a, v);                                         \
	}

/* One compare-and-exchange in the three forms that compilers use. */
#define COMPARE(bits, T, cas)                                                 \
	HOOK(int, __tsan_atomic##bits##_compare_exchange_strong,              \
		(volatile T *a, T *c, T v, int order, int fail))              \
	{                                                                     \
		T seen = cas(a, *c, v);                                       \
		int done = seen == *c;                                        \
		(void)order;                                                  \
		(void)fail;                                                   \
		record_access(a, sizeof(T), true, PC());                      \
		*c = seen;                                                    \
		return done;                                                  \
	}                                                                     \
	HOOK(int, __tsan_atomic##bits##_compare_exchange_weak,                \
		(volatile T *a, T *c, T v, int order, int fail))              \
	{                                                                     \
		T seen = cas(a, *c, v);                                       \
		int done = seen == *c;                                        \
		(void)order;                                                  \
		(void)fail;                                                   \
		record_access(a, sizeof(T), true, PC());                      \
		*c = seen;                                                    \
		return done;                                                  \
	}                                                                     \
	HOOK(T, __tsan_atomic##bits##_compare_exchange_val,                   \
		(volatile T *a, T c, T v, int order, int fail))               \
	{                                                                     \
		(void)order;                                                  \
		(void)fail;                                                   \
		record_access(a, sizeof(T), true, PC());                      \
		return cas(a, c, v);                                          \
	}

#define ATOMICS(bits, T, load, store, swap, f1, f2, f3, f4, f5, f6, cas)       \
	HOOK(T, __tsan_atomic##bits##_load, (const volatile T *a, int order)) \
	{                                                                     \
		(void)order;                                                  \
		record_access(a, sizeof(T), false, PC());                     \
		return load(a);                                               \
	}                                                                     \
	HOOK(void, __tsan_atomic##bits##_store,                               \
		(volatile T *a, T v, int order))                              \
	{                                                                     \
		(void)order;                                                  \
		record_access(a, sizeof(T), true, PC());                      \
		store(a, v);                                                  \
	}                                                                     \
	HOOK(T, __tsan_atomic##bits##_exchange,                               \
		(volatile T *a, T v, int order))                              \
	{                                                                     \
		(void)order;                                                  \
		record_access(a, sizeof(T), true, PC());                      \
		return swap(a, v);                                            \
	}                                                                     \
	FETCH(bits, T, add, f1)                                              \
	FETCH(bits, T, sub, f2)                                              \
	FETCH(bits, T, and, f3)                                              \
	FETCH(bits, T, or, f4)                                                \
	FETCH(bits, T, xor, f5)                                              \
	FETCH(bits, T, nand, f6)                                            \
	COMPARE(bits, T, cas)

#define LOAD(a)      __atomic_load_n(a, SEQ)
#define STORE(a, v)  __atomic_store_n(a, v, SEQ)
#define SWAP(a, v)   __atomic_exchange_n(a, v, SEQ)
#define ADD(a, v)    __atomic_fetch_add(a, v, SEQ)
#define SUB(a, v)    __atomic_fetch_sub(a, v, SEQ)
#define AND(a, v)    __atomic_fetch_and(a, v, SEQ)
#define OR(a, v)     __atomic_fetch_or(a, v, SEQ)
#define XOR(a, v)    __atomic_fetch_xor(a, v, SEQ)
#define NAND(a, v)   __atomic_fetch_nand(a, v, SEQ)
#define CAS(a, c, v) __sync_val_compare_and_swap(a, c, v)

ATOMICS(8, uint8_t, LOAD, STORE, SWAP, ADD, SUB, AND, OR, XOR, NAND, CAS)
ATOMICS(16, uint16_t, LOAD, STORE, SWAP, ADD, SUB, AND, OR, XOR, NAND, CAS)
ATOMICS(32, uint32_t, LOAD, STORE, SWAP, ADD, SUB, AND, OR, XOR, NAND, CAS)
ATOMICS(64, uint64_t, LOAD, STORE, SWAP, ADD, SUB, AND, OR, XOR, NAND, CAS)

#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
typedef unsigned __int128 u128;

/* Everything by compare-and-exchange: the processor has nothing else. */
#define WIDE(name, expression)                                                \
	static u128 wide_##name(volatile u128 *a, u128 v)                     \
	{                                                                     \
		u128 old = CAS(a, 0, 0);                                      \
		for (;;) {                                                    \
			u128 seen = CAS(a, old, expression);                  \
			if (seen == old)                                      \
				return old;                                   \
			old = seen;                                           \
		}                                                             \
	}

WIDE(swap, v)
WIDE(add, old + v)
WIDE(sub, old - v)
WIDE(and, old & v)
WIDE(or, old | v)
WIDE(xor, old ^ v)
WIDE(nand, ~(old & v))

static u128 wide_load(const volatile u128 *a)
{
	return CAS((volatile u128 *)a, 0, 0);
}

static void wide_store(volatile u128 *a, u128 v)
{
	(void)wide_swap(a, v);
}

ATOMICS(128, u128, wide_load, wide_store, wide_swap, wide_add, wide_sub,
	wide_and, wide_or, wide_xor, wide_nand, CAS)
#endif

HOOK(void, __tsan_atomic_thread_fence, (int order))
{
	(void)order;
	__atomic_thread_fence(SEQ);
}

HOOK(void, __tsan_atomic_signal_fence, (int order))
{
	(void)order;
	__atomic_signal_fence(SEQ);
}

/* ---- memory ---------------------------------------------------------------------- */

void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__real_memmove(void *to, const void *from, size_t bytes);
void *__real_memset(void *to, int value, size_t bytes);
int __real_memcmp(const void *a, const void *b, size_t bytes);

#define MEMORY(prefix)                                                        \
	HOOK(void *, prefix##memcpy,                                          \
		(void *to, const void *from, size_t bytes))                   \
	{                                                                     \
		record_access(from, bytes, false, PC());                      \
		record_access(to, bytes, true, PC());                         \
		return __real_memcpy(to, from, bytes);                        \
	}                                                                     \
	HOOK(void *, prefix##memmove,                                         \
		(void *to, const void *from, size_t bytes))                   \
	{                                                                     \
		record_access(from, bytes, false, PC());                      \
		record_access(to, bytes, true, PC());                         \
		return __real_memmove(to, from, bytes);                       \
	}                                                                     \
	HOOK(void *, prefix##memset, (void *to, int value, size_t bytes))     \
	{                                                                     \
		record_access(to, bytes, true, PC());                         \
		return __real_memset(to, value, bytes);                       \
	}

MEMORY(__wrap_)
MEMORY(__tsan_) /* what later compilers emit */

HOOK(int, __wrap_memcmp, (const void *a, const void *b, size_t bytes))
{
	record_access(a, bytes, false, PC());
	record_access(b, bytes, false, PC());
	return __real_memcmp(a, b, bytes);
}
/* NOLINTEND(bugprone-reserved-identifier,bugprone-macro-parentheses,
 * readability-identifier-naming) */
