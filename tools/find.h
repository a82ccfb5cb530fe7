/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * find.h - what the files of `extant find` share.
 *
 *   find.c        the command: walks, and prints
 *   find_parse.c  arguments become an expression
 *   find_test.c   one predicate, asked of one file
 */
#ifndef TOOLS_FIND_H
#define TOOLS_FIND_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "extant/extant.h"
#include "tools/json.h"
#include "tools/show.h"
#include "tools/walk.h"

struct find;
struct find_node;

/* The file that is looked at; what is dear to know is asked for once. */
struct find_file {
	struct find *find;
	struct walk *walk;
	const struct walk_entry *entry;
	bool has_stat;
	int stat_err;
	struct extant_stat stat;
};

/* Whether it holds; actions do what they do, and hold. */
typedef bool (*find_test_fn)(
	struct find_file *file, const struct find_node *node);

/* How a number is compared: N, +N, -N. */
enum find_sense { FIND_EQUAL, FIND_MORE, FIND_LESS };

/* A predicate, or an operator on those before it; see find_parse.c. */
struct find_node {
	find_test_fn test; /* NULL: an operator */
	const char *text;  /* the argument as it was written */
	uint64_t number;
	enum find_sense sense;
	uint32_t unit;           /* what number counts: bytes, seconds */
	struct extant_time time; /* compared with */
	/* Of an operator: */
	char op; /* '!', '&', '|' */
	struct find_node *left;
	struct find_node *right; /* NULL for '!' */

	struct find_node *parent; /* NULL: the root */
	bool is_reference;        /* @time is that of the file @text */
};

struct find {
	struct extant *fs;
	const char *image;
	struct show show;
	struct json json;
	bool as_json;
	struct find_node *nodes; /* of the expression, and their count */
	size_t node_count;
	struct find_node *root; /* NULL: every file */
	uint32_t depth_min;
	uint32_t depth_max; /* UINT32_MAX: no bound */
	bool depth_first;   /* directories after what is in them */
	bool acts;          /* the expression prints by itself */
	bool quit;
	time_t now;
	int status;
};

/* Parse the expression that @argv, ended by NULL, is.  0, or TOOL_FAILED and
 * a complaint. */
MUST_USE int find_parse(struct find *find, char **argv);

/* The file's attributes; NULL after a complaint. */
const struct extant_stat *find_stat(struct find_file *file);

/* ---- predicates (find_test.c), and actions (find.c) ------------------------ */

enum find_argument {
	FIND_NONE,
	FIND_TEXT,
	FIND_NUMBER,  /* [+-]N */
	FIND_SIZE,    /* [+-]N and a unit */
	FIND_MODE,    /* [-/]OCTAL */
	FIND_TYPES,   /* letters, commas between them */
	FIND_INSTANT, /* "YYYY-MM-DD HH:MM:SS", in local time, or @SECONDS */
	FIND_FILE,    /* a path, whose time is compared with */
	FIND_DEPTH    /* an option with a number */
};

struct find_word {
	const char *name; /* with its '-' */
	enum find_argument argument;
	find_test_fn test; /* NULL: an option */
	uint32_t unit;     /* see find_node */
	bool acts;
};

extern const struct find_word find_words[]; /* ended by a NULL name */

bool find_print(struct find_file *file, const struct find_node *node);
bool find_print0(struct find_file *file, const struct find_node *node);
bool find_ls(struct find_file *file, const struct find_node *node);

#endif /* TOOLS_FIND_H */
