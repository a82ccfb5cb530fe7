/* SPDX-License-Identifier: BSD-2-Clause */
/* show.c - see show.h. */
#include "tools/show.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/utf8.h"

struct show show_stdout(bool nul)
{
	return (struct show){
		.out = stdout,
		.escape = !nul && isatty(STDOUT_FILENO),
		.end = nul ? '\0' : '\n',
	};
}

/* ---- escaping ------------------------------------------------------------ */

/* The longest form of one sequence: four bytes of four characters. */
enum { PIECE_MAX = 17 };

/* The first character of @name as it is shown; returns how much of @name it
 * is.  @bytes is not 0. */
static size_t piece(char to[PIECE_MAX], const char *name, size_t bytes)
{
	static const char letters[] = "\\\\\nn\tt\rr\aa\bb\ff\vv";
	uint32_t code = 0;
	size_t taken = utf8_decode(name, bytes, &code);

	if (taken > 0 && code != '\\' && !utf8_is_obeyed(code)) {
		memcpy(to, name, taken);
		to[taken] = '\0';
		return taken;
	}
	for (const char *l = letters; *l != '\0'; l += 2) {
		if (*name != *l)
			continue;
		(void)snprintf(to, PIECE_MAX, "\\%c", l[1]);
		return 1;
	}
	taken = taken > 0 ? taken : 1;
	for (size_t i = 0; i < taken; i++)
		(void)snprintf(to + 4 * i, PIECE_MAX - 4 * i, "\\%03o",
			(unsigned char)name[i]);
	return taken;
}

void show_name(const struct show *show, const char *name, size_t bytes)
{
	char to[PIECE_MAX];

	if (!show->escape) {
		(void)fwrite(name, 1, bytes, show->out);
		return;
	}
	while (bytes > 0) {
		size_t taken = piece(to, name, bytes);

		(void)fputs(to, show->out);
		name += taken;
		bytes -= taken;
	}
}

void show_text(const struct show *show, const char *text)
{
	show_name(show, text, strlen(text));
}

void show_end(const struct show *show)
{
	(void)putc(show->end, show->out);
}

void show_escape(char *to, size_t room, const char *name, size_t bytes)
{
	char one[PIECE_MAX];

	while (bytes > 0) {
		size_t taken = piece(one, name, bytes);
		size_t length = strlen(one);

		if (length >= room)
			break;
		memcpy(to, one, length);
		to += length;
		room -= length;
		name += taken;
		bytes -= taken;
	}
	*to = '\0';
}

/* ---- numbers ------------------------------------------------------------- */

const char *show_size(char to[SHOW_SIZE_MAX], uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	unsigned step = 0;
	unsigned shift = 10;
	uint64_t whole;
	uint64_t rest;
	uint64_t tenths;

	if (bytes < 1024) {
		(void)snprintf(to, SHOW_SIZE_MAX, "%" PRIu64, bytes);
		return to;
	}
	for (; shift < 60 && bytes >> shift >= 1024; shift += 10)
		step++;
	whole = bytes >> shift;
	rest = bytes & ((UINT64_C(1) << shift) - 1);
	/* Rounded up, as by ls and du. */
	tenths = whole * 10 +
		 ((rest * 10 + (UINT64_C(1) << shift) - 1) >> shift);
	whole += rest != 0;
	if (tenths < 100)
		(void)snprintf(to, SHOW_SIZE_MAX, "%u.%u%c",
			(unsigned)tenths / 10, (unsigned)tenths % 10,
			units[step]);
	else if (whole < 1024)
		(void)snprintf(to, SHOW_SIZE_MAX, "%u%c", (unsigned)whole,
			units[step]);
	else
		(void)snprintf(to, SHOW_SIZE_MAX, "1.0%c", units[step + 1]);
	return to;
}

/* ---- types and modes ----------------------------------------------------- */

static const struct file_type {
	uint32_t format; /* S_IF... */
	char mode;       /* as ls writes it */
	char letter;     /* as find does */
	const char *name;
} types[] = {
	{S_IFREG, '-', 'f', "regular file"},
	{S_IFDIR, 'd', 'd', "directory"},
	{S_IFLNK, 'l', 'l', "symbolic link"},
	{S_IFCHR, 'c', 'c', "character device"},
	{S_IFBLK, 'b', 'b', "block device"},
	{S_IFIFO, 'p', 'p', "fifo"},
	{S_IFSOCK, 's', 's', "socket"},
	{0, '?', '?', "unknown"},
};

static const struct file_type *type_of(uint32_t mode)
{
	const struct file_type *t = types;

	while (t->format != 0 && t->format != (mode & S_IFMT))
		t++;
	return t;
}

char show_type_letter(uint32_t mode)
{
	return type_of(mode)->letter;
}

const char *show_type_name(uint32_t mode)
{
	return type_of(mode)->name;
}

/* The execute column, where a second bit may show. */
static char execute(bool can, bool special, const char marks[2])
{
	if (special)
		return marks[can];
	return can ? 'x' : '-';
}

const char *show_mode(char to[SHOW_MODE_MAX], uint32_t mode)
{
	to[0] = type_of(mode)->mode;
	for (unsigned i = 0; i < 3; i++) {
		uint32_t bits = mode >> (6 - 3 * i);

		to[1 + 3 * i] = bits & 4 ? 'r' : '-';
		to[2 + 3 * i] = bits & 2 ? 'w' : '-';
	}
	to[3] = execute(mode & S_IXUSR, mode & S_ISUID, "Ss");
	to[6] = execute(mode & S_IXGRP, mode & S_ISGID, "Ss");
	to[9] = execute(mode & S_IXOTH, mode & S_ISVTX, "Tt");
	to[10] = '\0';
	return to;
}

/* ---- times --------------------------------------------------------------- */

const char *show_time(
	char to[SHOW_TIME_MAX], struct extant_time time, bool full)
{
	time_t seconds = (time_t)time.seconds;
	char zone[8];
	struct tm tm;
	size_t used;

	if (localtime_r(&seconds, &tm) == NULL) {
		(void)snprintf(to, SHOW_TIME_MAX, "@%" PRId64, time.seconds);
		return to;
	}
	used = strftime(to, SHOW_TIME_MAX,
		full ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M", &tm);
	if (full && strftime(zone, sizeof(zone), "%z", &tm) > 0)
		(void)snprintf(to + used, SHOW_TIME_MAX - used, ".%09u %s",
			time.nanoseconds, zone);
	return to;
}
