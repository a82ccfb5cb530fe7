/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clash.c - a program with names of its own that are also names inside the
 * library: neither must get the other's.
 */
#include <extant/extant.h>
#include <stdio.h>

int cache_open(void);
int blk_read(void);
int log_say(void);

static int called;

int cache_open(void)
{
	return ++called;
}

int blk_read(void)
{
	return ++called;
}

int log_say(void)
{
	return ++called;
}

int main(int argc, char **argv)
{
	struct extant *fs;
	struct extant_stat st;

	if (argc != 2 || extant_open(argv[1], NULL, &fs, NULL) != 0)
		return 2;
	if (extant_stat(fs, NULL, "/", 0, &st) != 0 || st.ino != 2)
		return 3;
	if (extant_close(fs) != 0)
		return 4;
	printf("%d\n", called);
	return 0;
}
