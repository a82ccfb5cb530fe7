/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_mount.c - see file.h: does the kernel have this image mounted?
 *
 * The kernel takes no file lock.  But sysfs lists the loop devices that stand
 * on a file and the partitions of a device, and mountinfo what is mounted.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/log.h"
#include "blk/file.h"

enum { DEVICES_MAX = 64, LINE_MAX_BYTES = 4096 };

/* Block devices that show the image's bytes. */
struct devices {
	dev_t list[DEVICES_MAX];
	unsigned count;
};

struct mount {
	char *source;
	char *point;
	bool writable;
};

/* ---- sysfs ------------------------------------------------------------- */

/* The first line of a file, without its end; false: there is none. */
static bool line_read(int dir, const char *name, char line[LINE_MAX_BYTES])
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, line, LINE_MAX_BYTES - 1);
	(void)close(fd);
	if (n <= 0)
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return true;
}

/* "7:0" */
static bool number_parse(const char *text, dev_t *out)
{
	char *end;
	unsigned long high = strtoul(text, &end, 10);

	if (end == text || *end != ':')
		return false;
	*out = makedev((unsigned)high, (unsigned)strtoul(end + 1, NULL, 10));
	return true;
}

static void device_add(struct devices *all, int dir, const char *name)
{
	char line[LINE_MAX_BYTES];

	if (all->count < DEVICES_MAX && line_read(dir, name, line) &&
		number_parse(line, &all->list[all->count]))
		all->count++;
}

/* The device of the sysfs folder @dir, and its partitions. */
static void devices_add(struct devices *all, int dir)
{
	char name[sizeof(((struct dirent *)NULL)->d_name) + 16];
	struct dirent *entry;
	int copy = dup(dir);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);

	device_add(all, dir, "dev");
	if (list == NULL) {
		if (copy >= 0)
			(void)close(copy);
		return;
	}
	/* This stream is this function's alone. */
	while ((entry = readdir(list)) != NULL) { /* NOLINT(concurrency*) */
		(void)snprintf(
			name, sizeof(name), "%s/partition", entry->d_name);
		if (entry->d_name[0] == '.' || faccessat(dir, name, F_OK, 0))
			continue;
		(void)snprintf(name, sizeof(name), "%s/dev", entry->d_name);
		device_add(all, dir, name);
	}
	(void)closedir(list);
}

static bool same_file(const char *path, const struct stat *st)
{
	struct stat other;

	return stat(path, &other) == 0 && other.st_dev == st->st_dev &&
	       other.st_ino == st->st_ino;
}

/* Loop devices over the regular file of @st. */
static void loops_find(struct devices *all, const struct stat *st)
{
	char line[LINE_MAX_BYTES];
	struct dirent *entry;
	DIR *list = opendir("/sys/block");

	if (list == NULL)
		return;
	while ((entry = readdir(list)) != NULL) { /* NOLINT(concurrency*) */
		int dir;

		if (strncmp(entry->d_name, "loop", 4) != 0)
			continue;
		dir = openat(dirfd(list), entry->d_name,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			continue;
		if (line_read(dir, "loop/backing_file", line) &&
			same_file(line, st))
			devices_add(all, dir);
		(void)close(dir);
	}
	(void)closedir(list);
}

static void devices_find(struct devices *all, const struct stat *st)
{
	char name[64];
	int dir;

	all->count = 0;
	if (!S_ISBLK(st->st_mode)) {
		loops_find(all, st);
		return;
	}
	(void)snprintf(name, sizeof(name), "/sys/dev/block/%u:%u",
		major(st->st_rdev), minor(st->st_rdev));
	dir = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0) {
		devices_add(all, dir);
		(void)close(dir);
	} else {
		all->list[all->count++] = st->st_rdev;
	}
}

/* ---- mountinfo --------------------------------------------------------- */

static bool devices_have(const struct devices *all, dev_t number)
{
	for (unsigned i = 0; i < all->count; i++)
		if (all->list[i] == number)
			return true;
	return false;
}

/* "\040" and its like, in place; a mount point stays as it is, one line. */
static void unescape(char *text)
{
	char *to = text;

	while (*text != '\0') {
		if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3) {
			*to++ = (char)((text[1] - '0') * 64 +
				       (text[2] - '0') * 8 + text[3] - '0');
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

static bool has_option(const char *options, const char *name)
{
	size_t length = strlen(name);

	for (; options != NULL; options = strchr(options, ',')) {
		options += *options == ',';
		if (strncmp(options, name, length) == 0 &&
			(options[length] == ',' || options[length] == '\0'))
			return true;
	}
	return false;
}

/*
 * "36 35 7:0 / /mnt rw,noatime shared:1 - ext4 /dev/loop0 rw": number and
 * mount.  File systems that span devices have a number of their own; they
 * are known by their source.
 */
static bool mount_parse(char *line, dev_t *number, struct mount *out)
{
	char *words[6];
	char *rest = line;
	char *options;

	for (unsigned i = 0; i < ARRAY_COUNT(words); i++) {
		words[i] = strtok_r(NULL, " \n", &rest);
		if (words[i] == NULL)
			return false;
	}
	do
		options = strtok_r(NULL, " \n", &rest);
	while (options != NULL && strcmp(options, "-") != 0);
	if (options == NULL || strtok_r(NULL, " \n", &rest) == NULL)
		return false;
	out->source = strtok_r(NULL, " \n", &rest);
	options = strtok_r(NULL, " \n", &rest);
	out->point = words[4];
	if (out->source == NULL || !number_parse(words[2], number))
		return false;
	out->writable = !has_option(options, "ro");
	unescape(out->source);
	return true;
}

static bool mount_is_ours(
	const struct devices *all, const struct mount *mount, dev_t number)
{
	struct stat st;

	if (devices_have(all, number))
		return true;
	return mount->source[0] == '/' && stat(mount->source, &st) == 0 &&
	       S_ISBLK(st.st_mode) && devices_have(all, st.st_rdev);
}

static int mount_judge(
	const struct mount *mount, bool write, const struct file_who *who)
{
	if (write) {
		file_tell(who, "mounted by the kernel on %s", mount->point);
		return -EBUSY;
	}
	if (mount->writable)
		log_say(LOG_WARN, "blk",
			"%s: mounted read-write on %s: what is read may change",
			who->path, mount->point);
	return 0;
}

int file_mount_check(int fd, bool write, const struct file_who *who)
{
	struct devices all;
	struct stat st;
	char *line = NULL;
	size_t room = 0;
	FILE *mounts;
	int err = 0;

	if (fstat(fd, &st) != 0)
		return -errno;
	devices_find(&all, &st);
	if (all.count == 0)
		return 0;
	mounts = fopen("/proc/self/mountinfo", "re");
	if (mounts == NULL)
		return 0;
	while (err == 0 && getline(&line, &room, mounts) >= 0) {
		struct mount mount;
		dev_t number;

		if (mount_parse(line, &number, &mount) &&
			mount_is_ours(&all, &mount, number))
			err = mount_judge(&mount, write, who);
	}
	free(line);
	(void)fclose(mounts);
	return err;
}
