/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sandbox_filter.c - see sandbox_filter.h.
 *
 * One table says which calls there are and what a call's argument must be; the
 * BPF program is the table, line by line.  Those that depend on the number
 * alone cost nothing, as the kernel keeps a bitmap of them.
 *
 * What is left is: transfer to and from open files, make memory and threads,
 * wait, and tell the time.  clone3() hides its flags from a filter; -ENOSYS
 * makes the C library use clone().
 */
#include "tools/sandbox_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define MACHINE AUDIT_ARCH_RISCV64
#endif

#ifndef MACHINE

int sandbox_filter_enter(bool files)
{
	(void)files;
	return -ENOSYS;
}

#else

/* Of io_uring_register(2). */
enum { UNREGISTER_FILES = 3 };

/* Allowed if (argument & mask) == value; mask 0: always.  The kernel looks at
 * the lower half of such an argument, and so does the filter. */
struct rule {
	int call;
	unsigned argument;
	uint32_t mask;
	uint32_t value;
};

#define ALWAYS(name)                                                           \
	{                                                                      \
		__NR_##name, 0, 0, 0                                           \
	}
#define EQUAL(name, n, to)                                                     \
	{                                                                      \
		__NR_##name, n, UINT32_MAX, to                                 \
	}
#define CLEAR(name, n, of)                                                     \
	{                                                                      \
		__NR_##name, n, of, 0                                          \
	}
#define SET(name, n, all)                                                      \
	{                                                                      \
		__NR_##name, n, all, all                                       \
	}

static const struct rule rules[] = {
	/* Open files. */
	ALWAYS(read),
	ALWAYS(write),
	ALWAYS(readv),
	ALWAYS(writev),
	ALWAYS(pread64),
	ALWAYS(preadv),
	ALWAYS(preadv2),
	ALWAYS(lseek),
	ALWAYS(ftruncate),
	ALWAYS(close),
	ALWAYS(fstat),
	SET(newfstatat, 3, AT_EMPTY_PATH),
	ALWAYS(fadvise64),
	EQUAL(fcntl, 1, F_GETFD),
	EQUAL(fcntl, 1, F_SETFD),
	EQUAL(fcntl, 1, F_GETFL),
	EQUAL(fcntl, 1, F_SETLK),
	EQUAL(fcntl, 1, F_OFD_SETLK),
	ALWAYS(flock),
	EQUAL(ioctl, 1, TCGETS),
	EQUAL(ioctl, 1, TIOCGWINSZ),
	ALWAYS(eventfd2),
	ALWAYS(ppoll),
	ALWAYS(io_uring_enter),
	EQUAL(io_uring_register, 1, UNREGISTER_FILES),
	/* Memory; the cache punches holes into its own file. */
	ALWAYS(brk),
	CLEAR(mmap, 2, PROT_EXEC),
	CLEAR(mprotect, 2, PROT_EXEC),
	ALWAYS(munmap),
	ALWAYS(mremap),
	ALWAYS(madvise),
	ALWAYS(fallocate),
	ALWAYS(getrandom),
	/* Threads. */
	SET(clone, 0, CLONE_THREAD | CLONE_VM | CLONE_SIGHAND),
	ALWAYS(set_robust_list),
	ALWAYS(rseq),
	ALWAYS(futex),
	ALWAYS(membarrier),
	ALWAYS(gettid),
	ALWAYS(getpid),
	ALWAYS(getcpu),
	ALWAYS(sched_yield),
	ALWAYS(sched_getaffinity),
	EQUAL(prctl, 0, PR_SET_NAME),
	ALWAYS(rt_sigaction),
	ALWAYS(rt_sigprocmask),
	ALWAYS(rt_sigreturn),
	ALWAYS(sigaltstack),
	ALWAYS(restart_syscall),
	ALWAYS(exit),
	ALWAYS(exit_group),
	/* Time and what qsort() asks for. */
	ALWAYS(clock_gettime),
	ALWAYS(clock_nanosleep),
	ALWAYS(nanosleep),
	ALWAYS(gettimeofday),
	ALWAYS(sysinfo),
	ALWAYS(uname),
};

/* For a destination.  Landlock says where. */
static const struct rule file_rules[] = {
	ALWAYS(openat),
	ALWAYS(openat2),
	ALWAYS(mkdirat),
	ALWAYS(mknodat),
	ALWAYS(symlinkat),
	ALWAYS(linkat),
	ALWAYS(unlinkat),
#ifdef __NR_renameat /* what the C library calls without flags */
	ALWAYS(renameat),
#endif
	ALWAYS(renameat2),
	ALWAYS(newfstatat),
	ALWAYS(statx),
	ALWAYS(readlinkat),
	ALWAYS(getdents64),
	ALWAYS(pwrite64),
	ALWAYS(pwritev),
	ALWAYS(copy_file_range),
	ALWAYS(fsync),
	ALWAYS(fdatasync),
	ALWAYS(fchown),
	ALWAYS(fchownat),
	ALWAYS(fchmod),
	ALWAYS(fchmodat),
	ALWAYS(utimensat),
	ALWAYS(fsetxattr),
	ALWAYS(setxattr),
	ALWAYS(fgetxattr),
	ALWAYS(flistxattr),
	ALWAYS(fremovexattr),
	ALWAYS(umask),
	ALWAYS(geteuid),
	ALWAYS(getegid),
	EQUAL(fcntl, 1, F_DUPFD_CLOEXEC),
};

enum {
	RULE_STEPS = 6, /* of the program, for one rule at most */
	FRAME_STEPS = 12,
	STEPS_MAX =
		FRAME_STEPS +
		RULE_STEPS * (ARRAY_COUNT(rules) + ARRAY_COUNT(file_rules) + 1)
};

struct program {
	struct sock_filter steps[STEPS_MAX];
	unsigned short count;
};

static void emit(struct program *p, struct sock_filter step)
{
	p->steps[p->count++] = step;
}

#define LOAD(field)                                                            \
	(struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                \
		(uint32_t)offsetof(struct seccomp_data, field))
#define AND(mask)    (struct sock_filter) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask)
#define RETURN(what) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, what)
#define UNLESS_EQUAL(value, skip)                                              \
	(struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)

/* Where the lower half of an argument is, of a little-endian machine, as all
 * of those above are. */
static uint32_t argument_offset(unsigned argument)
{
	return (uint32_t)(offsetof(struct seccomp_data, args) +
			  argument * sizeof(uint64_t));
}

/* The number of the call is loaded before and after. */
static void emit_rule(struct program *p, const struct rule *rule)
{
	if (rule->mask == 0) {
		emit(p, UNLESS_EQUAL((uint32_t)rule->call, 1));
		emit(p, RETURN(SECCOMP_RET_ALLOW));
		return;
	}
	emit(p, UNLESS_EQUAL((uint32_t)rule->call, 5));
	emit(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			argument_offset(rule->argument)));
	emit(p, AND(rule->mask));
	emit(p, UNLESS_EQUAL(rule->value, 1));
	emit(p, RETURN(SECCOMP_RET_ALLOW));
	emit(p, LOAD(nr));
}

static void emit_table(
	struct program *p, const struct rule *table, size_t count)
{
	for (size_t i = 0; i < count; i++)
		emit_rule(p, &table[i]);
}

static void program_make(struct program *p, bool files)
{
	/* To end by a signal. */
	const struct rule self = EQUAL(tgkill, 0, (uint32_t)getpid());

	/* Calls of other kinds of programs would have other numbers. */
	emit(p, LOAD(arch));
	emit(p, UNLESS_EQUAL(MACHINE, 2));
	emit(p, LOAD(nr));
	emit(p, (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));
	emit(p, RETURN(SECCOMP_RET_KILL_PROCESS));
	emit_table(p, rules, ARRAY_COUNT(rules));
	emit_rule(p, &self);
	if (files)
		emit_table(p, file_rules, ARRAY_COUNT(file_rules));
	emit(p, UNLESS_EQUAL(__NR_clone3, 1));
	emit(p, RETURN(SECCOMP_RET_ERRNO | ENOSYS));
	emit(p, RETURN(SECCOMP_RET_ERRNO | EPERM));
}

int sandbox_filter_enter(bool files)
{
	struct program p = {.count = 0};
	struct sock_fprog program = {.filter = p.steps};
	long result;

	program_make(&p, files);
	program.len = p.count;
	result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		SECCOMP_FILTER_FLAG_TSYNC, &program);
	if (result > 0) /* a thread that has a filter of its own */
		return -EBUSY;
	return result == 0 ? 0 : -errno;
}

#endif
