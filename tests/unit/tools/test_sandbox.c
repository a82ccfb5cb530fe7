/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sandbox bites: in a child that has entered it, what an intruder would
 * want is tried and must fail, and what the library needs must work.
 *
 * A child tells by its exit status which line was wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "extant/extant.h"
#include "tools/sandbox.h"

enum { WAITED = 255 };

static char folder[] = "/tmp/extant-sandbox-XXXXXX";

/* In a child: leave with a status that is not 0 if @truth does not hold. */
static void must(int truth, int number)
{
	if (!truth)
		_exit(number);
}

#define MUST(truth) must(truth, __COUNTER__ + 1)

#define REFUSED(call, error) MUST((call) == -1 && errno == (error))

static void expect_child(void (*body)(void))
{
	int status = 0;
	pid_t child;

#ifdef EXTANT_NO_SANDBOX
	skip_because("there is no sandbox in this flavour");
#endif
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		fail_msg("the child's check %d failed", WEXITSTATUS(status));
	assert_true(WIFEXITED(status));
}

static void enter(const char *below)
{
	const struct sandbox sandbox = {.below = below};

	must(sandbox_prepare(&sandbox) == 0, 200);
	must(sandbox_enter(&sandbox) == 0, 201);
}

static bool has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0,
		       LANDLOCK_CREATE_RULESET_VERSION) >= 1;
}

static void *nothing(void *arg)
{
	return arg;
}

/* ---- no destination ------------------------------------------------------ */

static void try_files(void)
{
	struct stat st;

	enter(NULL);
	REFUSED(open("/etc/passwd", O_RDONLY), EPERM);
	REFUSED(syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY), EPERM);
	REFUSED(open("made", O_CREAT | O_WRONLY, 0600), EPERM);
	REFUSED(unlink("victim"), EPERM);
	REFUSED(rename("victim", "gone"), EPERM);
	REFUSED(stat("victim", &st), EPERM);
	REFUSED(chmod("victim", 0777), EPERM);
	REFUSED(truncate("victim", 0), EPERM);
	REFUSED(mkdir("made", 0700), EPERM);
	REFUSED(chdir("/"), EPERM);
	REFUSED(chroot("/"), EPERM);
}

static void test_sandbox_opens_and_changes_no_file(void **state)
{
	(void)state;
	expect_child(try_files);
	assert_int_equal(access("victim", F_OK), 0);
	assert_int_not_equal(access("made", F_OK), 0);
}

static void try_programs(void)
{
	char *const argv[] = {"true", NULL};

	enter(NULL);
	REFUSED(execv("/bin/true", argv), EPERM);
	REFUSED(execveat(AT_FDCWD, "/bin/true", argv, NULL, 0), EPERM);
	REFUSED(fork(), EPERM);
	REFUSED(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), EPERM);
	REFUSED(syscall(SYS_clone3, NULL, 0), ENOSYS);
	REFUSED(kill(getppid(), SIGTERM), EPERM);
	REFUSED(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL), EPERM);
	REFUSED(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0),
		EPERM);
	MUST(mmap(NULL, 4096, PROT_READ | PROT_EXEC,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
	REFUSED(syscall(SYS_memfd_create, "code", 0), EPERM);
}

static void test_sandbox_starts_and_touches_no_process(void **state)
{
	(void)state;
	expect_child(try_programs);
}

static void try_network_and_kernel(void)
{
	struct io_uring_params params = {0};

	enter(NULL);
	REFUSED(socket(AF_INET, SOCK_STREAM, 0), EPERM);
	REFUSED(socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
	REFUSED(syscall(SYS_io_uring_setup, 4, &params), EPERM);
	REFUSED(syscall(SYS_io_uring_register, 0, IORING_REGISTER_FILES, NULL,
			0),
		EPERM);
	REFUSED(syscall(SYS_bpf, 0, NULL, 0), EPERM);
	REFUSED(syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0), EPERM);
	REFUSED(syscall(SYS_mount, "a", "b", "c", 0, NULL), EPERM);
	REFUSED(syscall(SYS_unshare, 0), EPERM);
	REFUSED(syscall(SYS_seccomp, 1, 0, NULL), EPERM);
	REFUSED(fcntl(STDOUT_FILENO, F_SETOWN, getppid()), EPERM);
}

static void test_sandbox_talks_to_no_one(void **state)
{
	(void)state;
	expect_child(try_network_and_kernel);
}

static void try_the_rest(void)
{
	struct timespec moment = {.tv_nsec = 1000};
	char byte = 0;
	pthread_t thread;
	int fds[2];
	struct stat st;
	struct tm tm;
	time_t now = 1700000000;

	MUST(pipe(fds) == 0);
	enter(NULL);
	MUST(write(fds[1], "x", 1) == 1 && read(fds[0], &byte, 1) == 1);
	MUST(fstat(fds[0], &st) == 0 && S_ISFIFO(st.st_mode));
	MUST(pthread_create(&thread, NULL, nothing, fds) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	MUST(nanosleep(&moment, NULL) == 0);
	MUST(localtime_r(&now, &tm) != NULL);
	free(malloc((size_t)64 << 20));
	MUST(close(fds[0]) == 0);
}

static void test_sandbox_leaves_memory_threads_and_open_files(void **state)
{
	(void)state;
	expect_child(try_the_rest);
}

/* ---- threads that were there before --------------------------------------- */

static pthread_barrier_t entered;

static void *try_later(void *arg)
{
	(void)arg;
	(void)pthread_barrier_wait(&entered);
	return open("/etc/passwd", O_RDONLY) == -1 && errno == EPERM ? &entered
								     : NULL;
}

static void try_thread(void)
{
	pthread_t thread;
	void *refused = NULL;

	MUST(pthread_barrier_init(&entered, NULL, 2) == 0);
	MUST(pthread_create(&thread, NULL, try_later, NULL) == 0);
	enter(NULL);
	(void)pthread_barrier_wait(&entered);
	MUST(pthread_join(thread, &refused) == 0);
	MUST(refused != NULL);
}

static void test_sandbox_holds_threads_begun_before(void **state)
{
	(void)state;
	expect_child(try_thread);
}

/* ---- a destination -------------------------------------------------------- */

static void try_destination(void)
{
	char *const argv[] = {"true", NULL};
	int fd;

	enter("below");
	fd = open("below/made", O_CREAT | O_RDWR, 0600);
	MUST(fd >= 0 && write(fd, "x", 1) == 1 && ftruncate(fd, 0) == 0);
	MUST(mkdirat(AT_FDCWD, "below/dir", 0700) == 0);
	MUST(symlinkat("/etc", AT_FDCWD, "below/link") == 0);
	REFUSED(open("/etc/passwd", O_RDONLY), EACCES);
	REFUSED(open("below/link/passwd", O_RDONLY), EACCES);
	REFUSED(open("below/../victim", O_WRONLY), EACCES);
	REFUSED(open("made", O_CREAT | O_WRONLY, 0600), EACCES);
	REFUSED(syscall(SYS_unlinkat, AT_FDCWD, "victim", 0), EACCES);
	REFUSED(syscall(SYS_linkat, AT_FDCWD, "victim", AT_FDCWD, "below/x", 0),
		EXDEV);
	REFUSED(execv("/bin/true", argv), EPERM);
	REFUSED(socket(AF_INET, SOCK_STREAM, 0), EPERM);
}

static void test_sandbox_destination_is_all_there_is(void **state)
{
	(void)state;
	if (!has_landlock())
		skip_because("the kernel has no Landlock");
	expect_child(try_destination);
	assert_int_equal(access("below/dir", F_OK), 0);
	assert_int_equal(access("victim", F_OK), 0);
}

static void try_prepared(void)
{
	const char *const files[] = {"victim", "image#1", "absent"};
	const struct sandbox sandbox = {.files = files, .file_count = 3};

	MUST(sandbox_prepare(&sandbox) == 0);
	MUST(open("victim", O_RDONLY) >= 0);
	MUST(open("image", O_RDONLY) >= 0);
	MUST(open("/proc/self/mountinfo", O_RDONLY) >= 0);
	REFUSED(open("absent", O_RDONLY), ENOENT);
	REFUSED(open("victim", O_WRONLY), EACCES);
	REFUSED(open("/etc/passwd", O_RDONLY), EACCES);
}

static void test_sandbox_prepared_opens_what_was_named(void **state)
{
	(void)state;
	if (!has_landlock())
		skip_because("the kernel has no Landlock");
	expect_child(try_prepared);
}

/* ---- the library in it ----------------------------------------------------- */

static void try_reading(void)
{
	const char *const files[] = {"fs.img"};
	const struct sandbox sandbox = {.files = files, .file_count = 1};
	const struct extant_opts opts = EXTANT_OPTS(.eager = true);
	struct extant_file *file = NULL;
	struct extant *fs = NULL;
	char text[64 << 10];
	uint64_t at = 0;
	size_t done = 0;

	MUST(sandbox_prepare(&sandbox) == 0);
	MUST(extant_open("fs.img", &opts, &fs, NULL) == 0);
	MUST(sandbox_enter(&sandbox) == 0);
	MUST(extant_file_open(fs, NULL, "big", 0, &file) == 0);
	do {
		MUST(extant_pread(file, at, text, sizeof(text), &done) == 0);
		for (size_t i = 0; i < done; i++)
			if (text[i] != 'x')
				_exit(WAITED);
		at += done;
	} while (done > 0);
	MUST(at == 3 << 20);
	extant_file_close(file);
	extant_shrink(fs, 0);
	MUST(extant_close(fs) == 0);
}

static void test_sandbox_library_reads_and_closes(void **state)
{
	(void)state;
	expect_child(try_reading);
}

/* ---------------------------------------------------------------------------- */

static int setup(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL || chdir(folder) != 0)
		return -1;
	return system("PATH=$PATH:/sbin:/usr/sbin;"
		      "mkdir below tree && echo x >victim && echo x >image &&"
		      "head -c 3M /dev/zero | tr '\\0' x >tree/big &&"
		      "mke2fs -qF -t ext4 -d tree fs.img 16M >said");
}

static int teardown(void **state)
{
	(void)state;
	return system("rm -rf \"$PWD\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sandbox_opens_and_changes_no_file),
		cmocka_unit_test(test_sandbox_starts_and_touches_no_process),
		cmocka_unit_test(test_sandbox_talks_to_no_one),
		cmocka_unit_test(
			test_sandbox_leaves_memory_threads_and_open_files),
		cmocka_unit_test(test_sandbox_holds_threads_begun_before),
		cmocka_unit_test(test_sandbox_destination_is_all_there_is),
		cmocka_unit_test(test_sandbox_prepared_opens_what_was_named),
		cmocka_unit_test(test_sandbox_library_reads_and_closes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
