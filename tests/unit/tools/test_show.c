/* SPDX-License-Identifier: BSD-2-Clause */
/* Names on terminals and in JSON, sizes, modes, times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../cmocka_all.h"
#include "tools/image.h"
#include "tools/json.h"
#include "tools/show.h"
#include "tools/utf8.h"

#define ESCAPES(name, wanted)                                                  \
	do {                                                                   \
		char to[256];                                                  \
		show_escape(to, sizeof(to), name, sizeof(name) - 1);           \
		assert_string_equal(to, wanted);                               \
	} while (0)

static void test_show_harmless_names_stay(void **state)
{
	(void)state;
	ESCAPES("", "");
	ESCAPES("plain name (1).txt", "plain name (1).txt");
	ESCAPES("gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2 \xf0\x9f\x90\xa7",
		"gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2 \xf0\x9f\x90\xa7");
}

static void test_show_obeyed_characters_are_escaped(void **state)
{
	(void)state;
	ESCAPES("a\nb\tc\rd", "a\\nb\\tc\\rd");
	ESCAPES("back\\slash", "back\\\\slash");
	ESCAPES("\033[31mred\x7f", "\\033[31mred\\177");
	/* C1 controls, of which U+009B is CSI. */
	ESCAPES("\xc2\x9b"
		"31m",
		"\\302\\23331m");
	/* Right-to-left override, isolates, marks. */
	ESCAPES("\xe2\x80\xae"
		"gpj.exe",
		"\\342\\200\\256gpj.exe");
	ESCAPES("\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c",
		"\\342\\201\\246\\342\\200\\217\\330\\234");
	ESCAPES("\xf3\xa0\x81\x81", "\\363\\240\\201\\201");
}

static void test_show_bytes_that_are_not_utf8_are_escaped(void **state)
{
	(void)state;
	ESCAPES("\xff\xfe", "\\377\\376");
	ESCAPES("\xc3", "\\303");                   /* cut short */
	ESCAPES("\xc0\xaf", "\\300\\257");          /* overlong '/' */
	ESCAPES("\xed\xa0\x80", "\\355\\240\\200"); /* a surrogate */
	ESCAPES("\xf4\x90\x80\x80", "\\364\\220\\200\\200");
	ESCAPES("caf\xe9!", "caf\\351!");
}

static void test_show_escape_is_cut_between_characters(void **state)
{
	char to[6];

	(void)state;
	show_escape(to, sizeof(to), "a\033\033", 3);
	assert_string_equal(to, "a\\033");
	show_escape(to, 1, "a", 1);
	assert_string_equal(to, "");
}

static void test_show_pipe_gets_names_as_they_are(void **state)
{
	static const char name[] = "\033\n\xff";
	char *text = NULL;
	size_t bytes = 0;
	struct show show = {.out = open_memstream(&text, &bytes), .end = '\0'};

	(void)state;
	show_text(&show, name);
	show_end(&show);
	(void)fclose(show.out);
	assert_int_equal(bytes, sizeof(name));
	assert_memory_equal(text, name, bytes);
	free(text);
}

static void test_json_names_are_told_and_not_obeyed(void **state)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	struct json json;

	(void)state;
	json_init(&json, out);
	json_array(&json, NULL);
	json_string(
		&json, NULL, "\"\\\n\xff\xe2\x80\xae\xf3\xa0\x81\x81\xc3\xbc");
	json_end(&json);
	(void)fclose(out);
	assert_string_equal(text,
		"[\"\\\"\\\\\\u000a\\udcff\\u202e\\udb40\\udc41\xc3\xbc\"]\n");
	free(text);
}

static void test_show_size_is_as_of_ls(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} sizes[] = {
		{0, "0"},
		{1023, "1023"},
		{1024, "1.0K"},
		{1025, "1.1K"},
		{10188, "10K"}, /* 9.95 rounds up to 10.0 */
		{10240, "10K"},
		{10241, "11K"},
		{1047552, "1023K"},
		{1047553, "1.0M"},
		{1048576, "1.0M"},
		{UINT64_C(5) << 30, "5.0G"},
		{UINT64_MAX, "16E"},
	};

	char to[SHOW_SIZE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_string_equal(
			show_size(to, sizes[i].bytes), sizes[i].text);
}

static void test_show_mode_is_as_of_ls(void **state)
{
	char to[SHOW_MODE_MAX];

	(void)state;
	assert_string_equal(show_mode(to, S_IFREG | 0644), "-rw-r--r--");
	assert_string_equal(show_mode(to, S_IFDIR | 01777), "drwxrwxrwt");
	assert_string_equal(show_mode(to, S_IFDIR | 01776), "drwxrwxrwT");
	assert_string_equal(show_mode(to, S_IFREG | 06755), "-rwsr-sr-x");
	assert_string_equal(show_mode(to, S_IFREG | 06644), "-rwSr-Sr--");
	assert_string_equal(show_mode(to, 0), "?---------");
	assert_int_equal(show_type_letter(S_IFSOCK), 's');
}

static void test_show_time_has_its_zone(void **state)
{
	struct extant_time time = {INT64_C(15032385535), 7};
	char to[SHOW_TIME_MAX];

	(void)state;
	assert_int_equal(setenv("TZ", "UTC0", 1), 0);
	assert_string_equal(show_time(to, time, true),
		"2446-05-10 22:38:55.000000007 +0000");
	assert_string_equal(show_time(to, time, false), "2446-05-10 22:38");
	time.seconds = INT64_MAX;
	assert_string_equal(show_time(to, time, true), "@9223372036854775807");
}

static void test_image_sizes_have_units(void **state)
{
	uint64_t bytes = 1;

	(void)state;
	assert_true(image_size_parse("0", &bytes));
	assert_int_equal(bytes, 0);
	assert_true(image_size_parse("64M", &bytes));
	assert_int_equal(bytes, 64 << 20);
	assert_false(image_size_parse("", &bytes));
	assert_false(image_size_parse("-1", &bytes));
	assert_false(image_size_parse("1Q", &bytes));
	assert_false(image_size_parse("1KB", &bytes));
	assert_false(image_size_parse("16E", &bytes));
	assert_false(image_size_parse("18446744073709551616", &bytes));
	assert_int_equal(bytes, 64 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_show_harmless_names_stay),
		cmocka_unit_test(test_show_obeyed_characters_are_escaped),
		cmocka_unit_test(test_show_bytes_that_are_not_utf8_are_escaped),
		cmocka_unit_test(test_show_escape_is_cut_between_characters),
		cmocka_unit_test(test_show_pipe_gets_names_as_they_are),
		cmocka_unit_test(test_json_names_are_told_and_not_obeyed),
		cmocka_unit_test(test_show_size_is_as_of_ls),
		cmocka_unit_test(test_show_mode_is_as_of_ls),
		cmocka_unit_test(test_show_time_has_its_zone),
		cmocka_unit_test(test_image_sizes_have_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
