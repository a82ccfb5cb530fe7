/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_files.c - run a fuzz target on files instead of a fuzzer's ideas.
 *
 * Inputs that once found a bug are tests from then on, in every flavour.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int fuzz_one(const uint8_t *data, size_t bytes) __asm__(
	"LLVMFuzzerTestOneInput");

enum { INPUT_MAX = 4 << 20 };

static int run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(INPUT_MAX);
	size_t bytes;
	int bad = -1;

	if (file == NULL || data == NULL)
		goto out_close;
	bytes = fread(data, 1, INPUT_MAX, file);
	if (ferror(file))
		goto out_close;
	bad = fuzz_one(data, bytes);
out_close:
	free(data);
	if (file != NULL)
		(void)fclose(file);
	return bad;
}

int main(int argc, char **argv)
{
	(void)printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++) {
		int bad = run_file(argv[i]);

		(void)printf("%sok %d - %s\n", bad ? "not " : "", i, argv[i]);
		(void)fflush(stdout);
	}
	return 0;
}
