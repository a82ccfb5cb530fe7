/* SPDX-License-Identifier: BSD-2-Clause */
/* read_judge.c - which errors a call may give, and how. */
#include <errno.h>
#include <time.h>
#include <xxhash.h>

#include "read_pass.h"

enum { ERRORS_MAX = 5, NS = 1000000000 };

/* Besides damage. */
static const int documented[READ_CALLS][ERRORS_MAX] = {
	[READ_STAT] = {ENOENT},
	[READ_FOLLOW] = {ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, ENOKEY},
	[READ_LINK] = {ENOKEY},
	[READ_NOXATTR] = {ENODATA},
	[READ_DATA] = {ENOKEY},
	[READ_SEEK] = {ENXIO},
	[READ_PATH] = {ERANGE},
};

bool read_is_damage(int err)
{
	return err == -EUCLEAN || err == -EBADMSG || err == -EOPNOTSUPP;
}

static bool is_documented(enum read_call call, int err)
{
	for (int i = 0; i < ERRORS_MAX; i++)
		if (documented[call][i] != 0 && documented[call][i] == -err)
			return true;
	return false;
}

int read_judge(struct read_pass *p, enum read_call call, int err)
{
	uint64_t reports = atomic_load(&read_reports);

	if (read_is_damage(err)) {
		MUST(reports > p->reports);
		p->clean = false;
	} else if (err != 0) {
		MUST(is_documented(call, err));
	}
	p->reports = reports;
	read_add_number(p, (uint64_t)err);
	return err;
}

void read_add(struct read_pass *p, const void *data, size_t bytes)
{
	p->sum = XXH3_64bits_withSeed(data, bytes, p->sum);
}

void read_add_number(struct read_pass *p, uint64_t number)
{
	read_add(p, &number, sizeof(number));
}

uint64_t read_cpu_ns(void)
{
	struct timespec t;

	MUST(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0);
	return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}
