/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes of names: each must be what debugfs says. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "../seed.h"
#include "base/hash.h"
#include "ext/dir_int.h"

enum { NAMES = 120, NAME_MAX_BYTES = 255 };

/* It knows those of signed chars only, which take names of ASCII alike. */
static const char *const versions[] = {"legacy", "half_md4", "tea"};

/* As debugfs takes it, and as the superblock has it. */
static const char seed_text[] = "01020304-a5b6-c7d8-e9fa-0b0c0d0e0f10";
static const uint32_t seed[4] = {
	0x04030201, 0xd8c7b6a5, 0x0c0bfae9, 0x100f0e0d};

struct asked {
	unsigned version;
	bool seeded;
	char name[NAME_MAX_BYTES + 1];
};

/* Letters, digits, and bytes beyond ASCII, which are what differs. */
static void name_make(uint64_t *state, struct asked *a)
{
	bool ascii = a->version >= EXT_HASH_UNSIGNED;
	uint32_t bytes = 1 + (uint32_t)(hash_next(state) % NAME_MAX_BYTES);

	for (uint32_t i = 0; i < bytes; i++) {
		uint64_t r = hash_next(state);

		a->name[i] =
			(char)(r & 0x100 && !ascii ? 0x80 | (r & 0x7f)
						   : 'a' + (r & 0xff) % 26);
	}
	a->name[bytes] = '\0';
}

static void ask(FILE *script, const struct asked *a)
{
	(void)fprintf(script, "dx_hash -h %s",
		versions[a->version % EXT_HASH_UNSIGNED]);
	if (a->seeded)
		(void)fprintf(script, " -s %s", seed_text);
	(void)fprintf(script, " %s\n", a->name);
}

static void compare(const struct asked *a, uint32_t hash, uint32_t minor)
{
	static const uint32_t none[4];
	uint32_t our_minor;
	uint32_t ours = ext_hash_name(a->version, a->seeded ? seed : none,
		a->name, (uint32_t)strlen(a->name), &our_minor);

	assert_int_equal(ours, hash);
	assert_int_equal(our_minor, minor);
}

static void test_ext_hash_of_any_name_is_what_debugfs_says(void **state)
{
	static struct asked asked[NAMES];
	char script[] = "/tmp/test_hash.XXXXXX";
	char command[128];
	char line[1024];
	uint64_t random = test_seed();
	int fd = mkstemp(script);
	FILE *file = fdopen(fd, "w");
	unsigned answers = 0;

	(void)state;
	assert_non_null(file);
	for (unsigned i = 0; i < NAMES; i++) {
		asked[i].version = i % EXT_HASH_COUNT;
		asked[i].seeded = i / EXT_HASH_COUNT % 2;
		name_make(&random, &asked[i]);
		ask(file, &asked[i]);
	}
	(void)fclose(file);
	(void)snprintf(command, sizeof(command),
		"PATH=$PATH:/usr/sbin:/sbin debugfs -f %s 2>/dev/null", script);
	file = popen(command, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *hash = strstr(line, " is 0x");
		char *minor = strstr(line, " (minor 0x");

		if (strncmp(line, "Hash of ", 8) != 0 || !hash || !minor)
			continue;
		assert_in_range(answers, 0, NAMES - 1);
		compare(&asked[answers++],
			(uint32_t)strtoul(hash + 4, NULL, 16),
			(uint32_t)strtoul(minor + 8, NULL, 16));
	}
	pclose(file);
	unlink(script);
	assert_int_equal(answers, NAMES);
}

/* The value that means the end of a directory is never a hash. */
static void test_ext_hash_is_even_and_not_the_end(void **state)
{
	static const uint32_t none[4];
	uint64_t random = test_seed();
	struct asked a = {0};

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		uint32_t minor;
		uint32_t hash;

		name_make(&random, &a);
		hash = ext_hash_name(i % EXT_HASH_COUNT, none, a.name,
			(uint32_t)strlen(a.name), &minor);
		assert_int_equal(hash & 1, 0);
		assert_int_not_equal(hash, 0xfffffffe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_ext_hash_of_any_name_is_what_debugfs_says),
		cmocka_unit_test(test_ext_hash_is_even_and_not_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
