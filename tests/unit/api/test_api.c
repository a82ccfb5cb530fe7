/* SPDX-License-Identifier: BSD-2-Clause */
/* What extant/extant.h promises, on an image that mke2fs fills. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "extant/extant.h"

enum { MANY = 300 };

static const char text[] = "twelve bytes";

/* In a folder of its own: tree/ is in fs.img. */
static int setup(void **state)
{
	static char folder[] = "/tmp/extant-api-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(
		system("mkdir -p tree/dir/sub tree/many tree/mnt &&"
		       "printf 'twelve bytes' >tree/dir/file &&"
		       "chmod 640 tree/dir/file && ln -s dir/file tree/link &&"
		       "for i in $(seq 300); do : >tree/many/name$i; done &&"
		       "truncate -s 1M tree/holes &&"
		       "printf x | dd of=tree/holes bs=1 seek=512K"
		       "   conv=notrunc status=none &&"
		       "mke2fs -qF -t ext4 -L label -d tree fs.img 8M >log &&"
		       "debugfs -w -R 'ea_set /dir/file user.key value' fs.img"
		       "   2>/dev/null &&"
		       "debugfs -w -R 'sif /dir/file uid 1000' fs.img"
		       "   2>/dev/null"),
		0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(system("rm -rf \"$PWD\""), 0);
	return 0;
}

static struct extant *opened(void)
{
	struct extant_problem problem;
	struct extant *fs = NULL;

	assert_int_equal(extant_open("fs.img", NULL, &fs, &problem), 0);
	return fs;
}

/* ---- opening ----------------------------------------------------------------- */

static void test_api_open_missing_image_says_so(void **state)
{
	struct extant_problem problem = {.text = ""};
	struct extant *fs = NULL;

	(void)state;
	assert_int_equal(extant_open("none.img", NULL, &fs, &problem), -ENOENT);
	assert_non_null(strstr(problem.text, "none.img"));
	assert_null(fs);
	assert_int_equal(extant_open("none.img", NULL, &fs, NULL), -ENOENT);
}

static void test_api_open_not_a_file_system_is_euclean(void **state)
{
	struct extant_problem problem = {.text = ""};
	struct extant *fs = NULL;

	(void)state;
	assert_int_equal(system("truncate -s 4M zero.img"), 0);
	assert_int_equal(
		extant_open("zero.img", NULL, &fs, &problem), -EUCLEAN);
	assert_string_not_equal(problem.text, "");
}

static void test_api_open_whole_disk_asks_for_a_partition(void **state)
{
	struct extant_problem problem = {.text = ""};
	struct extant_stat st;
	struct extant *fs = NULL;

	(void)state;
	assert_int_equal(system("truncate -s 10M disk.img &&"
				"echo 'start=2048, size=16384, type=83' |"
				"   sfdisk -q --no-tell-kernel disk.img &&"
				"dd if=fs.img of=disk.img bs=1M seek=1"
				"   conv=notrunc status=none"),
		0);
	assert_int_equal(
		extant_open("disk.img", NULL, &fs, &problem), -EUCLEAN);
	assert_non_null(strstr(problem.text, "partitions"));
	assert_int_equal(extant_open("disk.img#1", NULL, &fs, &problem), 0);
	assert_int_equal(extant_stat(fs, NULL, "/dir/file", 0, &st), 0);
	assert_int_equal(extant_close(fs), 0);
}

static void test_api_open_options_of_another_version(void **state)
{
	struct {
		struct extant_opts opts;
		uint64_t later;
	} newer = {.opts = {.size = sizeof(newer)}};
	struct extant_opts none = {.size = 0};
	struct extant *fs = NULL;

	(void)state;
	assert_int_equal(extant_open("fs.img", &none, &fs, NULL), -EINVAL);
	assert_int_equal(extant_open("fs.img", &newer.opts, &fs, NULL), 0);
	assert_int_equal(extant_close(fs), 0);
	newer.later = 1;
	assert_int_equal(
		extant_open("fs.img", &newer.opts, &fs, NULL), -EINVAL);
}

static void test_api_close_with_open_file_is_ebusy(void **state)
{
	struct extant *fs = opened();
	struct extant_file *file;
	struct extant_stat st;

	(void)state;
	assert_int_equal(extant_file_open(fs, NULL, "/dir/file", 0, &file), 0);
	assert_int_equal(extant_close(fs), -EBUSY);
	assert_int_equal(extant_stat(fs, NULL, "/dir", 0, &st), 0);
	extant_file_close(file);
	extant_file_close(NULL);
	assert_int_equal(extant_close(fs), 0);
	assert_int_equal(extant_close(NULL), 0);
}

static void test_api_info_is_the_superblocks(void **state)
{
	struct extant *fs = opened();
	struct extant_info info;
	bool extents = false;

	(void)state;
	extant_info(fs, &info);
	assert_string_equal(info.label, "label");
	assert_int_equal(info.block_count * info.block_bytes, 8 << 20);
	assert_false(info.has_errors);
	for (unsigned bit = 0; bit < 32; bit++)
		if (info.features[1] & UINT32_C(1) << bit &&
			strcmp(extant_feature_name(1, bit), "extent") == 0)
			extents = true;
	assert_true(extents);
	assert_null(extant_feature_name(3, 0));
	assert_int_equal(extant_close(fs), 0);
}

/* ---- a device of one's own ---------------------------------------------------- */

struct disk {
	int fd;
	_Atomic unsigned reads;
	unsigned closes;
};

static int disk_pread(void *arg, uint64_t offset, size_t bytes, void *to)
{
	struct disk *d = arg;

	atomic_fetch_add(&d->reads, 1);
	return pread(d->fd, to, bytes, (off_t)offset) == (ssize_t)bytes ? 0
									: -EIO;
}

static void disk_close(void *arg)
{
	struct disk *d = arg;

	d->closes++;
}

static void test_api_own_device_reads_and_is_closed_once(void **state)
{
	struct disk disk = {.fd = open("fs.img", O_RDONLY | O_CLOEXEC)};
	struct extant_device device = {
		.size = sizeof(device),
		.bytes = 8 << 20,
		.arg = &disk,
		.pread = disk_pread,
		.close = disk_close,
	};
	struct extant *fs = NULL;
	struct extant_stat st;

	(void)state;
	assert_int_equal(extant_open_device(&device, NULL, &fs, NULL), 0);
	assert_int_equal(extant_stat(fs, NULL, "/dir/file", 0, &st), 0);
	assert_int_equal(st.size, sizeof(text) - 1);
	assert_true(atomic_load(&disk.reads) > 0);
	assert_int_equal(disk.closes, 0);
	assert_int_equal(extant_close(fs), 0);
	assert_int_equal(disk.closes, 1);

	device.bytes = 1 << 20; /* less than the file system says it has */
	assert_int_equal(
		extant_open_device(&device, NULL, &fs, NULL), -EUCLEAN);
	assert_int_equal(disk.closes, 2);
	assert_int_equal(close(disk.fd), 0);
}

/* ---- looking --------------------------------------------------------------------- */

static void test_api_stat_sees_what_was_put_there(void **state)
{
	struct extant *fs = opened();
	struct extant_stat st;

	(void)state;
	assert_int_equal(extant_stat(fs, NULL, "/dir/file", 0, &st), 0);
	assert_int_equal(st.mode, S_IFREG | 0640);
	assert_int_equal(st.size, sizeof(text) - 1);
	assert_int_equal(st.uid, 1000);
	assert_int_equal(st.link_count, 1);
	assert_true(st.mtime.seconds > 0);
	assert_int_equal(extant_stat(fs, NULL, "link", 0, &st), 0);
	assert_int_equal(st.mode & S_IFMT, S_IFREG);
	assert_int_equal(
		extant_stat(fs, NULL, "link", EXTANT_NOFOLLOW, &st), 0);
	assert_int_equal(st.mode & S_IFMT, S_IFLNK);
	assert_int_equal(extant_stat(fs, NULL, "none", 0, &st), -ENOENT);
	assert_int_equal(extant_stat(fs, NULL, "dir/file/x", 0, &st), -ENOTDIR);
	assert_int_equal(extant_close(fs), 0);
}

static void test_api_start_directory_and_beneath(void **state)
{
	struct extant *fs = opened();
	struct extant_file *dir;
	struct extant_stat st;

	(void)state;
	assert_int_equal(
		extant_file_open(fs, NULL, "/dir", EXTANT_DIRECTORY, &dir), 0);
	assert_int_equal(
		extant_stat(fs, EXTANT_AT(.dir = dir), "file", 0, &st), 0);
	assert_int_equal(
		extant_stat(fs, EXTANT_AT(.dir = dir), "../link", 0, &st), 0);
	assert_int_equal(extant_stat(fs, EXTANT_AT(.dir = dir), "../link",
				 EXTANT_BENEATH, &st),
		-EXDEV);
	assert_int_equal(extant_stat(fs, EXTANT_AT(.dir = dir), "",
				 EXTANT_EMPTY_PATH, &st),
		0);
	assert_int_equal(st.mode & S_IFMT, S_IFDIR);
	extant_file_close(dir);
	assert_int_equal(extant_close(fs), 0);
}

static void test_api_access_asks_for_the_credentials(void **state)
{
	const struct extant_cred owner = {
		.size = sizeof(owner), .uid = 1000, .gid = 1000};
	const struct extant_cred other = {
		.size = sizeof(other), .uid = 2000, .gid = 2000};
	struct extant *fs = opened();
	struct extant_file *file;

	(void)state;
	assert_int_equal(extant_access(fs, EXTANT_AT(.cred = &owner),
				 "/dir/file", 0, R_OK | W_OK),
		0);
	assert_int_equal(extant_access(fs, EXTANT_AT(.cred = &other),
				 "/dir/file", 0, R_OK),
		-EACCES);
	assert_int_equal(extant_file_open(fs, EXTANT_AT(.cred = &other),
				 "/dir/file", 0, &file),
		-EACCES);
	assert_int_equal(extant_access(fs, NULL, "/dir/file", 0, R_OK), 0);
	assert_int_equal(extant_close(fs), 0);
}

static void test_api_xattr_value_names_and_lengths(void **state)
{
	struct extant *fs = opened();
	char room[64];
	size_t done = 0;

	(void)state;
	assert_int_equal(extant_getxattr(fs, NULL, "/dir/file", 0, "user.key",
				 room, sizeof(room), &done),
		0);
	assert_int_equal(done, 5);
	assert_memory_equal(room, "value", 5);
	assert_int_equal(extant_getxattr(fs, NULL, "/dir/file", 0, "user.key",
				 NULL, 0, &done),
		0);
	assert_int_equal(done, 5);
	assert_int_equal(extant_getxattr(fs, NULL, "/dir/file", 0, "user.key",
				 room, 4, &done),
		-ERANGE);
	assert_int_equal(extant_getxattr(fs, NULL, "/dir/file", 0, "user.no",
				 room, sizeof(room), &done),
		-ENODATA);
	assert_int_equal(extant_listxattr(fs, NULL, "/dir/file", 0, room,
				 sizeof(room), &done),
		0);
	assert_int_equal(done, sizeof("user.key"));
	assert_string_equal(room, "user.key");
	assert_int_equal(extant_close(fs), 0);
}

static void test_api_readlink_gives_the_target(void **state)
{
	struct extant *fs = opened();
	char room[64];
	size_t done = 0;

	(void)state;
	assert_int_equal(
		extant_readlink(fs, NULL, "link", room, sizeof(room), &done),
		0);
	assert_int_equal(done, 8);
	assert_memory_equal(room, "dir/file", 8);
	assert_int_equal(
		extant_readlink(fs, NULL, "dir", room, sizeof(room), &done),
		-EINVAL);
	assert_int_equal(extant_close(fs), 0);
}

static void test_api_statfs_counts_are_sane(void **state)
{
	struct extant *fs = opened();
	struct extant_statfs s;

	(void)state;
	assert_int_equal(extant_statfs(fs, NULL, "/", &s), 0);
	assert_true(s.blocks * s.block_bytes <= 8 << 20);
	assert_true(s.blocks_free <= s.blocks);
	assert_true(s.inodes_free < s.inodes);
	assert_int_equal(s.name_bytes_max, 255);
	assert_int_equal(extant_close(fs), 0);
}

/* ---- open files --------------------------------------------------------------------- */

static void test_api_pread_ends_at_the_end(void **state)
{
	struct extant *fs = opened();
	struct extant_file *file;
	char room[64];
	size_t done = 0;

	(void)state;
	assert_int_equal(extant_file_open(fs, NULL, "link", 0, &file), 0);
	assert_int_equal(extant_pread(file, 0, room, sizeof(room), &done), 0);
	assert_int_equal(done, sizeof(text) - 1);
	assert_memory_equal(room, text, done);
	assert_int_equal(extant_pread(file, 7, room, sizeof(room), &done), 0);
	assert_int_equal(done, 5);
	assert_memory_equal(room, "bytes", 5);
	assert_int_equal(extant_pread(file, 99, room, sizeof(room), &done), 0);
	assert_int_equal(done, 0);
	extant_file_close(file);
	assert_int_equal(extant_file_open(fs, NULL, "dir", 0, &file), 0);
	assert_int_equal(
		extant_pread(file, 0, room, sizeof(room), &done), -EISDIR);
	extant_file_close(file);
	assert_int_equal(extant_close(fs), 0);
}

static void test_api_preadv_fills_the_pieces_in_order(void **state)
{
	struct extant *fs = opened();
	struct extant_file *file;
	char one[7];
	char two[3];
	char three[9] = "........";
	struct iovec iov[] = {{one, 7}, {two, 3}, {three, 9}};
	size_t done = 0;

	(void)state;
	assert_int_equal(extant_file_open(fs, NULL, "/dir/file", 0, &file), 0);
	assert_int_equal(extant_preadv(file, 0, iov, 3, &done), 0);
	assert_int_equal(done, 12);
	assert_memory_equal(one, "twelve ", 7);
	assert_memory_equal(two, "byt", 3);
	assert_memory_equal(three, "es......", 8);
	extant_file_close(file);
	assert_int_equal(extant_close(fs), 0);
}

static void test_api_seek_finds_data_and_holes(void **state)
{
	struct extant *fs = opened();
	struct extant_file *file;
	struct extant_stat st;
	uint64_t at = 0;

	(void)state;
	assert_int_equal(extant_file_open(fs, NULL, "holes", 0, &file), 0);
	extant_file_stat(file, &st);
	assert_int_equal(st.size, 1 << 20);
	assert_int_equal(extant_seek_data(file, 0, &at), 0);
	assert_int_equal(at, 512 << 10);
	assert_int_equal(extant_seek_hole(file, at, &at), 0);
	assert_int_equal(at, (512 << 10) + st.block_bytes);
	assert_int_equal(extant_seek_data(file, at, &at), -ENXIO);
	extant_file_close(file);
	assert_int_equal(extant_close(fs), 0);
}

/* Read "many" @bytes at a time; each name once. */
static void list_by(struct extant *fs, size_t bytes)
{
	_Alignas(uint64_t) char room[4096];
	bool seen[MANY + 1] = {false};
	struct extant_file *dir;
	uint64_t cookie = 0;
	unsigned dots = 0;
	unsigned named = 0;
	size_t done;

	assert_int_equal(extant_file_open(fs, NULL, "many", 0, &dir), 0);
	for (;;) {
		const struct extant_dirent *e = (const void *)room;

		assert_int_equal(
			extant_readdir(dir, cookie, room, bytes, &done), 0);
		if (done == 0)
			break;
		for (; (const char *)e < room + done;
			e = extant_dirent_next(e)) {
			char *end;
			unsigned long i;

			cookie = e->cookie;
			assert_int_equal(e->name_bytes, strlen(e->name));
			if (e->name[0] == '.') {
				dots++;
				continue;
			}
			assert_int_equal(e->type, DT_REG);
			i = strtoul(e->name + strlen("name"), &end, 10);
			assert_true(*end == '\0' && i >= 1 && i <= MANY);
			assert_false(seen[i]);
			seen[i] = true;
			named++;
		}
	}
	assert_int_equal(named, MANY);
	assert_int_equal(dots, 2);
	extant_file_close(dir);
}

static void test_api_readdir_in_pieces_of_any_size(void **state)
{
	struct extant *fs = opened();
	_Alignas(uint64_t) char room[512];
	struct extant_file *file;
	size_t done = 99;

	(void)state;
	list_by(fs, EXTANT_DIRENT_MAX);
	list_by(fs, 4096);
	assert_int_equal(extant_file_open(fs, NULL, "many", 0, &file), 0);
	assert_int_equal(extant_readdir(file, 0, room, 100, &done), -EINVAL);
	assert_int_equal(
		extant_readdir(file, 0, room + 1, 400, &done), -EINVAL);
	extant_file_close(file);
	assert_int_equal(extant_file_open(fs, NULL, "link", 0, &file), 0);
	assert_int_equal(
		extant_readdir(file, 0, room, sizeof(room), &done), -ENOTDIR);
	assert_int_equal(done, 99);
	extant_file_close(file);
	assert_int_equal(extant_close(fs), 0);
}

/* ---- several file systems ------------------------------------------------------------ */

static void test_api_attached_file_system_is_crossed_into(void **state)
{
	struct extant_problem problem = {.text = ""};
	struct extant *fs = opened();
	struct extant_file *file;
	struct extant_stat inner;
	struct extant_stat st;
	char room[64];

	(void)state;
	assert_int_equal(
		extant_attach(fs, "/mnt", "none.img", NULL, &problem), -ENOENT);
	assert_int_equal(
		extant_attach(fs, "/dir/file", "fs.img", NULL, &problem),
		-ENOTDIR);
	assert_int_equal(extant_detach(fs, "/mnt"), -EINVAL);
	assert_int_equal(extant_attach(fs, "/mnt", "fs.img", NULL, NULL), 0);
	assert_int_equal(extant_stat(fs, NULL, "/dir/file", 0, &st), 0);
	assert_int_equal(extant_stat(fs, NULL, "/mnt/dir/file", 0, &inner), 0);
	assert_int_equal(inner.ino, st.ino);
	assert_int_not_equal(inner.fsid, st.fsid);
	assert_int_equal(
		extant_file_open(fs, NULL, "/mnt/dir/file", 0, &file), 0);
	assert_int_equal(extant_path_of(file, room, sizeof(room)), 0);
	assert_string_equal(room, "/mnt/dir/file");
	assert_int_equal(extant_path_of(file, room, 5), -ERANGE);
	assert_int_equal(extant_detach(fs, "/mnt"), -EBUSY);
	extant_file_close(file);
	assert_int_equal(extant_detach(fs, "/mnt"), 0);
	assert_int_equal(
		extant_stat(fs, NULL, "/mnt/dir/file", 0, &st), -ENOENT);
	extant_shrink(fs, 0);
	assert_int_equal(extant_stat(fs, NULL, "/dir/file", 0, &st), 0);
	assert_int_equal(extant_close(fs), 0);
}

/* ---- messages ---------------------------------------------------------------------- */

static void count_warnings(void *arg, const struct extant_message *message)
{
	unsigned *count = arg;

	if (message->level == EXTANT_LOG_WARNING &&
		message->block != EXTANT_NO_BLOCK && message->text[0] != '\0')
		(*count)++;
}

static void test_api_log_tells_of_a_damaged_superblock(void **state)
{
	struct extant *fs = NULL;
	unsigned count = 0;

	(void)state;
	/* More than one group, so that there is a copy. */
	assert_int_equal(system("mke2fs -qF -b 1024 -d tree two.img 16M >log &&"
				"dd if=/dev/zero of=two.img bs=1024 seek=1"
				"   count=1 conv=notrunc status=none"),
		0);
	extant_log_to(count_warnings, &count);
	assert_int_equal(extant_open("two.img", NULL, &fs, NULL), 0);
	extant_log_to(NULL, NULL);
	assert_int_equal(count, 1);
	assert_int_equal(extant_close(fs), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_api_open_missing_image_says_so),
		cmocka_unit_test(test_api_open_not_a_file_system_is_euclean),
		cmocka_unit_test(test_api_open_whole_disk_asks_for_a_partition),
		cmocka_unit_test(test_api_open_options_of_another_version),
		cmocka_unit_test(test_api_close_with_open_file_is_ebusy),
		cmocka_unit_test(test_api_info_is_the_superblocks),
		cmocka_unit_test(test_api_own_device_reads_and_is_closed_once),
		cmocka_unit_test(test_api_stat_sees_what_was_put_there),
		cmocka_unit_test(test_api_start_directory_and_beneath),
		cmocka_unit_test(test_api_access_asks_for_the_credentials),
		cmocka_unit_test(test_api_xattr_value_names_and_lengths),
		cmocka_unit_test(test_api_readlink_gives_the_target),
		cmocka_unit_test(test_api_statfs_counts_are_sane),
		cmocka_unit_test(test_api_pread_ends_at_the_end),
		cmocka_unit_test(test_api_preadv_fills_the_pieces_in_order),
		cmocka_unit_test(test_api_seek_finds_data_and_holes),
		cmocka_unit_test(test_api_readdir_in_pieces_of_any_size),
		cmocka_unit_test(test_api_attached_file_system_is_crossed_into),
		cmocka_unit_test(test_api_log_tells_of_a_damaged_superblock),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
