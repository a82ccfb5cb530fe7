/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_lock.c - see file.h: who else has the image open.
 *
 * flock(2) rather than fcntl(2) locks: those vanish when any descriptor of
 * the file is closed.  Both kinds are listed in /proc/locks by device, inode
 * and holder.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/log.h"
#include "blk/file.h"

enum { COMMAND_BYTES = 32 };

/*
 * "1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF": the holder of a lock on
 * the file of @st, or 0.  Lines of those who wait have "->" as second word.
 */
static long line_holder(char *line, const struct stat *st)
{
	char *words[6];
	char *rest = line;
	char name[64];

	for (unsigned i = 0; i < ARRAY_COUNT(words); i++) {
		words[i] = strtok_r(NULL, " \t\n", &rest);
		if (words[i] == NULL)
			return 0;
	}
	(void)snprintf(name, sizeof(name), "%02x:%02x:%llu", major(st->st_dev),
		minor(st->st_dev), (unsigned long long)st->st_ino);
	if (strcmp(words[1], "FLOCK") != 0 || strcmp(words[5], name) != 0)
		return 0;
	return strtol(words[4], NULL, 10);
}

/* The process that holds a lock on @fd; 0: cannot be seen from here. */
static long lock_holder(int fd)
{
	FILE *locks = fopen("/proc/locks", "re");
	struct stat st;
	char *line = NULL;
	size_t room = 0;
	long holder = 0;

	if (locks == NULL)
		return 0;
	if (fstat(fd, &st) == 0)
		while (holder <= 0 && getline(&line, &room, locks) >= 0)
			holder = line_holder(line, &st);
	free(line);
	(void)fclose(locks);
	return holder;
}

/* The name of process @pid, fit for one line of a terminal. */
static void command_name(long pid, char name[COMMAND_BYTES])
{
	char path[64];
	FILE *comm;

	(void)snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	name[0] = '\0';
	comm = fopen(path, "re");
	if (comm == NULL)
		return;
	if (fgets(name, COMMAND_BYTES, comm) == NULL)
		name[0] = '\0';
	(void)fclose(comm);
	name[strcspn(name, "\n")] = '\0';
	for (char *at = name; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at > '~')
			*at = '?';
}

static void holder_tell(int fd, const struct file_who *who)
{
	long pid = lock_holder(fd);
	char name[COMMAND_BYTES];

	if (pid <= 0) {
		file_tell(who, "locked by another process");
		return;
	}
	command_name(pid, name);
	file_tell(who, "locked by process %ld (%s)", pid,
		name[0] == '\0' ? "gone" : name);
}

/* Device managers look at a block device under a short lock of their own
 * whenever a writer has closed it: they get a fifth of a second. */
static int lock_try(int fd, int how, bool is_block)
{
	const struct timespec pause = {0, 20000000};

	for (int tries = is_block ? 10 : 1;; tries--) {
		if (flock(fd, how | LOCK_NB) == 0)
			return 0;
		if (errno != EINTR && (errno != EWOULDBLOCK || tries <= 1))
			return -errno;
		if (errno == EWOULDBLOCK)
			(void)nanosleep(&pause, NULL);
	}
}

int file_lock(int fd, bool exclusive, bool is_block, const struct file_who *who)
{
	int err = lock_try(fd, exclusive ? LOCK_EX : LOCK_SH, is_block);

	if (err == 0)
		return 0;
	if (err == -EWOULDBLOCK) {
		holder_tell(fd, who);
		return -EBUSY;
	}
	/* Some network file systems have no locks; that is no reason to
	 * refuse, but one to say so. */
	log_say(LOG_WARN, "blk", "%s: cannot be locked: %s", who->path,
		strerrordesc_np(-err));
	return 0;
}

void file_unlock(int fd)
{
	(void)flock(fd, LOCK_UN);
}
