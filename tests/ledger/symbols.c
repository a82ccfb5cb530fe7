/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols.c - see symbols.h. */
#include "symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

/* The program's file, mapped; its symbols and their strings. */
static const char *image;
static size_t image_bytes;
static const ElfW(Sym) * table;
static size_t table_count;
static const char *strings;
static uintptr_t base; /* what its addresses count from */

static int note_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uintptr_t *)arg = info->dlpi_addr;
	return 1; /* the first is the program */
}

static int image_map(void)
{
	struct stat st;
	void *p = MAP_FAILED;
	int err;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) != 0)
		goto out_close;
	image_bytes = (size_t)st.st_size;
	p = mmap(NULL, image_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
out_close:
	err = p == MAP_FAILED ? -errno : 0;
	if (fd >= 0)
		(void)close(fd);
	image = err == 0 ? p : NULL;
	return err;
}

int symbols_open(void)
{
	const ElfW(Ehdr) * header;
	const ElfW(Shdr) * sections;
	int err = image_map();

	if (err != 0)
		return err;
	(void)dl_iterate_phdr(note_base, &base);
	header = (const void *)image;
	sections = (const void *)(image + header->e_shoff);
	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		table = (const void *)(image + sections[i].sh_offset);
		table_count = sections[i].sh_size / sizeof(*table);
		strings = image + sections[sections[i].sh_link].sh_offset;
		return 0;
	}
	return -ENOEXEC;
}

static bool symbol_is_place(const ElfW(Sym) * s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_OBJECT) &&
	       s->st_shndx != SHN_UNDEF;
}

struct symbol symbols_find(uintptr_t addr)
{
	struct symbol found = {NULL, 0, ""};
	Dl_info info;

	for (size_t i = 0; i < table_count; i++) {
		const ElfW(Sym) *s = &table[i];

		if (symbol_is_place(s) &&
			addr - base - s->st_value < s->st_size)
			return (struct symbol){strings + s->st_name,
				addr - base - s->st_value, ""};
	}
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): only looked up */
	if (dladdr((void *)addr, &info) != 0 && info.dli_sname != NULL) {
		found.name = info.dli_sname;
		found.offset = addr - (uintptr_t)info.dli_saddr;
		found.file = info.dli_fname;
	}
	return found;
}

/* ---- lines ------------------------------------------------------------------- */

static FILE *asked;
static FILE *answered;

/* Start addr2line once; it answers two lines for each. */
static bool ask_start(void)
{
	static bool tried;
	char path[4096];
	char *const args[] = {"addr2line", "-f", "-e", path, NULL};
	posix_spawn_file_actions_t actions;
	int to[2];
	int from[2];
	pid_t pid;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (tried || n < 0)
		return asked != NULL;
	tried = true;
	path[n] = '\0';
	if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
		return false;
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(
		&actions, from[1], STDOUT_FILENO);
	if (posix_spawnp(&pid, args[0], &actions, NULL, args, environ) == 0) {
		asked = fdopen(to[1], "w");
		answered = fdopen(from[0], "r");
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(to[0]);
	(void)close(from[1]);
	return asked != NULL && answered != NULL;
}

/* "lib/jnl/op.c:74" of "/src/build-ledger/../lib/jnl/op.c:74 (...)". */
static const char *line_shorten(char *text)
{
	static const char *const tops[] = {"/lib/", "/tests/"};

	text[strcspn(text, " \n")] = '\0';
	for (size_t i = 0; i < ARRAY_COUNT(tops); i++) {
		char *top = strstr(text, tops[i]);

		if (top != NULL)
			return top + 1;
	}
	return text;
}

static bool ask(uintptr_t pc, char *function, char *line, size_t bytes)
{
	return ask_start() &&
	       fprintf(asked, "0x%lx\n", (unsigned long)(pc - 1 - base)) > 0 &&
	       fflush(asked) == 0 &&
	       fgets(function, (int)bytes, answered) != NULL &&
	       fgets(line, (int)bytes, answered) != NULL;
}

/* As much of @text as fits. */
static void copy_text(char *to, size_t bytes, const char *text)
{
	size_t length = strnlen(text, bytes - 1);

	memcpy(to, text, length);
	to[length] = '\0';
}

static void code_find(uintptr_t pc, struct code *out)
{
	struct symbol s = symbols_find(pc - 1);
	char function[4096];
	char line[4096];

	if (ask(pc, function, line, sizeof(line)) && function[0] != '?') {
		function[strcspn(function, "\n")] = '\0';
		s.name = function;
		if (line[0] != '?')
			copy_text(out->line, sizeof(out->line),
				line_shorten(line));
	}
	copy_text(out->function, sizeof(out->function),
		s.name != NULL ? s.name : "?");
}

const struct code *symbols_code(uintptr_t pc)
{
	enum { SLOTS = 4096 };

	static struct {
		uintptr_t pc;
		struct code code;
	} known[SLOTS];

	uint64_t at = hash_u64(pc);

	while (known[at % SLOTS].pc != pc && known[at % SLOTS].pc != 0)
		at++;
	if (known[at % SLOTS].pc == 0) {
		known[at % SLOTS].pc = pc;
		code_find(pc, &known[at % SLOTS].code);
	}
	return &known[at % SLOTS].code;
}
