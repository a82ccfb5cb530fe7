/* SPDX-License-Identifier: BSD-2-Clause */
/* scratch.c - see scratch.h. */
#include "bench/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tools/tool.h"

/* A sparse file of @bytes, which did not exist. */
static int file_make(const char *path, uint64_t bytes)
{
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) != 0)
		err = -errno;
	(void)close(fd);
	if (err != 0)
		(void)unlink(path);
	return err;
}

static int scratch_open_named(const char *spec, uint64_t bytes, bool overwrite,
	struct bench_scratch *out)
{
	bool in_memory = strncmp(spec, "mem:", 4) == 0;
	int err = 0;

	if (!in_memory)
		err = file_make(spec, bytes);
	if (err == -EEXIST && !overwrite)
		return tool_fail(
			spec, "exists; --overwrite destroys what is on it");
	if (err != 0 && err != -EEXIST)
		return tool_fail(spec, "%s", strerrordesc_np(-err));
	out->remove = !in_memory && err == 0;
	return tool_open(spec, BLK_OPEN_WRITE, &out->dev);
}

int bench_scratch_open(const char *spec, uint64_t bytes, bool overwrite,
	struct bench_scratch *out)
{
	struct bench_scratch s = {.spec = spec};
	int err;

	if (strcmp(spec, "mem:") == 0) {
		err = blk_open_mem(bytes, &s.dev);
		if (err != 0)
			err = tool_fail(spec, "%s", strerrordesc_np(-err));
	} else {
		err = scratch_open_named(spec, bytes, overwrite, &s);
	}
	if (err == 0 && blk_geom(s.dev).bytes < bytes)
		err = tool_fail(spec, "is smaller than %llu MiB",
			(unsigned long long)(bytes >> 20));
	if (err != 0)
		bench_scratch_close(&s);
	else
		*out = s;
	return err;
}

void bench_scratch_close(struct bench_scratch *s)
{
	blk_close(s->dev);
	if (s->remove)
		(void)unlink(s->spec);
	*s = (struct bench_scratch){0};
}
