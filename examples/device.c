/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.c - a device of one's own, and several threads.
 *
 * The image lies in memory, as it might come from a network or a container of
 * some kind.  Threads read the files of one directory and print a checksum
 * (Adler-32) of each.
 *
 *     cc device.c $(pkg-config --cflags --libs extant) -pthread -o device
 *     ./device disk.img /etc
 */
#define _DEFAULT_SOURCE

#include <extant/extant.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { THREADS = 4, CHUNK = 65536 };

/* ---- the device ------------------------------------------------------------ */

struct memory {
	unsigned char *data;
	size_t bytes;
};

/* Runs in any thread, in several at once: there is nothing to lock here. */
static int memory_read(void *arg, uint64_t offset, size_t bytes, void *to)
{
	const struct memory *memory = arg;

	memcpy(to, memory->data + offset, bytes);
	return 0;
}

static void memory_close(void *arg)
{
	struct memory *memory = arg;

	free(memory->data);
}

static int memory_load(const char *path, struct memory *memory)
{
	FILE *file = fopen(path, "rb");
	long bytes = 0;

	memory->data = NULL;
	if (file == NULL)
		return -1;
	if (fseek(file, 0, SEEK_END) == 0)
		bytes = ftell(file);
	rewind(file);
	if (bytes > 0)
		memory->data = malloc((size_t)bytes);
	if (memory->data != NULL)
		memory->bytes = fread(memory->data, 1, (size_t)bytes, file);
	fclose(file);
	return memory->data != NULL ? 0 : -1;
}

static int open_memory(struct memory *memory, struct extant **fs)
{
	const struct extant_device device = {
		.size = sizeof(device),
		.bytes = memory->bytes / 512 * 512,
		.arg = memory,
		.pread = memory_read,
		.close = memory_close,
	};
	const struct extant_opts opts = EXTANT_OPTS(.cache_bytes = 8 << 20);
	struct extant_problem problem;
	int err = extant_open_device(&device, &opts, fs, &problem);

	if (err != 0)
		fprintf(stderr, "device: %s\n", problem.text);
	return err;
}

/* ---- the work -------------------------------------------------------------- */

/* What all threads share.  The directory's handle is one: any number of
 * threads may look names up from it. */
struct work {
	struct extant *fs;
	struct extant_file *dir;
	pthread_mutex_t lock; /* of what follows, and of stdout */
	uint64_t cookie;      /* where the next entry is looked for */
	int failed;
};

/* The next entry into @to; 0 at the end. */
static size_t take_entry(struct work *work, struct extant_dirent *to)
{
	size_t done = 0;

	pthread_mutex_lock(&work->lock);
	if (extant_readdir(
		    work->dir, work->cookie, to, EXTANT_DIRENT_MAX, &done) != 0)
		work->failed = 1;
	else if (done != 0)
		work->cookie = to->cookie;
	pthread_mutex_unlock(&work->lock);
	return done;
}

static uint32_t adler(uint32_t sum, const unsigned char *data, size_t bytes)
{
	uint32_t a = sum & 0xffff;
	uint32_t b = sum >> 16;

	for (size_t i = 0; i < bytes; i++) {
		a = (a + data[i]) % 65521;
		b = (b + a) % 65521;
	}
	return b << 16 | a;
}

static int sum_file(struct extant_file *file, uint32_t *sum)
{
	unsigned char *chunk = malloc(CHUNK);
	uint64_t offset = 0;
	size_t done = 0;
	int err = chunk == NULL ? -1 : 0;

	*sum = 1;
	while (err == 0) {
		err = extant_pread(file, offset, chunk, CHUNK, &done);
		if (err != 0 || done == 0)
			break;
		*sum = adler(*sum, chunk, done);
		offset += done;
	}
	free(chunk);
	return err;
}

static void do_entry(struct work *work, const char *name)
{
	struct extant_file *file;
	struct extant_stat st;
	uint32_t sum = 0;
	int err = extant_file_open(work->fs, EXTANT_AT(.dir = work->dir), name,
		EXTANT_NOFOLLOW, &file);

	if (err == 0) {
		extant_file_stat(file, &st);
		if (S_ISREG(st.mode))
			err = sum_file(file, &sum);
		extant_file_close(file);
		if (err == 0 && !S_ISREG(st.mode))
			return;
	}
	pthread_mutex_lock(&work->lock);
	if (err != 0)
		work->failed = 1;
	else
		printf("%08x %8llu %s\n", (unsigned)sum,
			(unsigned long long)st.size, name);
	pthread_mutex_unlock(&work->lock);
}

static void *run(void *arg)
{
	struct work *work = arg;

	union {
		struct extant_dirent entry;
		char room[EXTANT_DIRENT_MAX];
	} one;

	/* The buffer has room for one entry at least; only the first is used. */
	while (take_entry(work, &one.entry) != 0)
		do_entry(work, one.entry.name);
	return NULL;
}

static int run_threads(struct work *work)
{
	pthread_t threads[THREADS];
	int started = 0;

	while (started < THREADS &&
		pthread_create(&threads[started], NULL, run, work) == 0)
		started++;
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return started > 0 ? work->failed : 1;
}

int main(int argc, char **argv)
{
	struct work work = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct memory memory;
	int status = 1;

	if (argc != 3) {
		fprintf(stderr, "Usage: device IMAGE DIRECTORY\n");
		return 2;
	}
	if (memory_load(argv[1], &memory) != 0) {
		fprintf(stderr, "device: cannot load %s\n", argv[1]);
		return 2;
	}
	if (open_memory(&memory, &work.fs) != 0)
		return 2;
	if (extant_file_open(
		    work.fs, NULL, argv[2], EXTANT_DIRECTORY, &work.dir) == 0) {
		status = run_threads(&work);
		extant_file_close(work.dir);
	} else {
		fprintf(stderr, "device: %s is no directory\n", argv[2]);
	}
	extant_close(work.fs);
	return status;
}
