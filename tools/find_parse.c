/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * find_parse.c - see find.h: arguments become an expression.
 *
 *     either   = both { -o both }
 *     both     = single { [-a] single }
 *     single   = ! single | ( either ) | predicate
 *
 * Two stacks do without recursion: operands, and operators that wait for a
 * right side.  Nodes are of one array, as long as there are arguments twice
 * over: between two predicates an "and" may go without saying.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/find.h"
#include "tools/image.h"

struct parser {
	struct find *find;
	char **argv;
	struct find_node **operands;
	size_t operand_count;
	char *operators; /* '!', '&', '|', '(' */
	size_t operator_count;
	bool complete; /* an operand was last, so an operator may follow */
};

static int misuse(const char *fmt, const char *word)
{
	return tool_misuse(&tool_find, fmt, word);
}

/* ---- arguments of predicates --------------------------------------------- */

/* [+-]N, and what follows it. */
static const char *sense_parse(const char *text, struct find_node *node)
{
	char *end;

	node->sense = FIND_EQUAL;
	if (*text == '+' || *text == '-')
		node->sense = *text++ == '+' ? FIND_MORE : FIND_LESS;
	if (*text < '0' || *text > '9')
		return NULL;
	errno = 0;
	node->number = strtoull(text, &end, 10);
	return errno == 0 ? end : NULL;
}

static bool size_parse(const char *text, struct find_node *node)
{
	static const struct unit {
		char letter;
		uint32_t bytes;
	} units[] = {{'b', 512}, {'c', 1}, {'w', 2}, {'k', 1U << 10},
		{'M', 1U << 20}, {'G', 1U << 30}};

	const char *end = sense_parse(text, node);

	if (end == NULL || *end == '\0')
		return end != NULL;
	for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
		if (*end != units[i].letter || end[1] != '\0')
			continue;
		node->unit = units[i].bytes;
		return true;
	}
	return false;
}

static bool mode_parse(const char *text, struct find_node *node)
{
	char *end;

	if (*text == '-' || *text == '/')
		text++;
	if (*text < '0' || *text > '7')
		return false;
	errno = 0;
	node->number = strtoull(text, &end, 8);
	return errno == 0 && *end == '\0' && node->number <= 07777;
}

static bool types_parse(const char *text)
{
	for (size_t i = 0; text[i] != '\0'; i++)
		if (strchr(i % 2 == 0 ? "fdlcbps" : ",", text[i]) == NULL)
			return false;
	return strlen(text) % 2 == 1;
}

static bool instant_parse(const char *text, struct find_node *node)
{
	static const char *const forms[] = {
		"@%s", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d"};

	for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
		struct tm tm = {.tm_isdst = -1};
		const char *end = strptime(text, forms[i], &tm);

		if (end == NULL || *end != '\0')
			continue;
		node->time.seconds = mktime(&tm);
		return true;
	}
	return false;
}

static bool argument_parse(
	const struct find_word *word, const char *text, struct find_node *node)
{
	const char *end;

	switch (word->argument) {
	case FIND_NUMBER:
		end = sense_parse(text, node);
		return end != NULL && *end == '\0';
	case FIND_SIZE:
		return size_parse(text, node);
	case FIND_MODE:
		return mode_parse(text, node);
	case FIND_TYPES:
		return types_parse(text);
	case FIND_INSTANT:
		return instant_parse(text, node);
	case FIND_DEPTH:
		end = sense_parse(text, node);
		return end != NULL && *end == '\0' &&
		       node->sense == FIND_EQUAL && node->number < UINT32_MAX;
	default:
		return true;
	}
}

/* ---- operators ----------------------------------------------------------- */

static struct find_node *node_new(struct find *find)
{
	return &find->nodes[find->node_count++];
}

/* Of two that compete for what is between them the stronger gets it. */
static int strength(char op)
{
	return op == '!' ? 3 : op == '&' ? 2 : op == '|' ? 1 : 0;
}

static void reduce(struct parser *p)
{
	struct find_node *node = node_new(p->find);

	node->op = p->operators[--p->operator_count];
	if (node->op != '!') {
		node->right = p->operands[--p->operand_count];
		node->right->parent = node;
	}
	node->left = p->operands[p->operand_count - 1];
	node->left->parent = node;
	p->operands[p->operand_count - 1] = node;
}

static char operator_last(const struct parser *p)
{
	if (p->operator_count == 0)
		return '\0';
	return p->operators[p->operator_count - 1];
}

static void operator_push(struct parser *p, char op)
{
	while (op != '!' && op != '(' && p->operator_count > 0 &&
		strength(operator_last(p)) >= strength(op))
		reduce(p);
	p->operators[p->operator_count++] = op;
	p->complete = false;
}

/* Before an operand: what stands before it, unless an operator does. */
static void operand_expect(struct parser *p)
{
	if (p->complete)
		operator_push(p, '&');
}

static int close_parse(struct parser *p)
{
	if (!p->complete)
		return misuse("nothing to close before '%s'", ")");
	while (p->operator_count > 0 && operator_last(p) != '(')
		reduce(p);
	if (p->operator_count == 0)
		return misuse("'%s' without '('", ")");
	p->operator_count--;
	return 0;
}

/* '&' and '|' stand between two; '!' and '(' before one. */
static int operator_parse(struct parser *p, const char *word, char op)
{
	if (op == ')')
		return close_parse(p);
	if (op == '!' || op == '(')
		operand_expect(p);
	else if (!p->complete)
		return misuse("nothing before '%s'", word);
	operator_push(p, op);
	return 0;
}

/* ---- words --------------------------------------------------------------- */

static char operator_find(const char *word)
{
	static const struct operator_word {
		const char *word;
		char op;
	} words[] = {{"!", '!'}, {"-not", '!'}, {"(", '('}, {")", ')'},
		{"-a", '&'}, {"-and", '&'}, {"-o", '|'}, {"-or", '|'}};

	for (size_t i = 0; i < ARRAY_COUNT(words); i++)
		if (strcmp(word, words[i].word) == 0)
			return words[i].op;
	return '\0';
}

static const struct find_word *word_find(const char *name)
{
	const struct find_word *word = find_words;

	while (word->name != NULL && strcmp(word->name, name) != 0)
		word++;
	return word->name != NULL ? word : NULL;
}

/* Options hold for the whole search, wherever they stand. */
static void option_take(struct find *find, const struct find_word *word,
	const struct find_node *node)
{
	if (word->argument == FIND_NONE)
		find->depth_first = true;
	else if (strcmp(word->name, "-maxdepth") == 0)
		find->depth_max = (uint32_t)node->number;
	else
		find->depth_min = (uint32_t)node->number;
}

static int predicate_parse(struct parser *p, const struct find_word *word)
{
	struct find *find = p->find;
	struct find_node *node;

	operand_expect(p);
	node = node_new(find);
	*node = (struct find_node){
		.test = word->test,
		.unit = word->unit,
		.is_reference = word->argument == FIND_FILE,
	};
	if (word->argument != FIND_NONE) {
		node->text = *p->argv++;
		if (node->text == NULL)
			return misuse("%s needs a value", word->name);
		if (!argument_parse(word, node->text, node))
			return tool_misuse(&tool_find, "%s takes no '%s'",
				word->name, node->text);
	}
	if (word->test == NULL) {
		option_take(find, word, node);
		node->test = word_find("-true")->test;
	}
	find->acts |= word->acts;
	p->operands[p->operand_count++] = node;
	p->complete = true;
	return 0;
}

static int word_parse(struct parser *p, const char *text)
{
	const struct find_word *word = word_find(text);
	char op = operator_find(text);

	if (op != '\0')
		return operator_parse(p, text, op);
	if (word == NULL)
		return misuse("no predicate '%s'", text);
	return predicate_parse(p, word);
}

static int words_parse(struct parser *p)
{
	int status = 0;

	while (status == 0 && *p->argv != NULL) {
		const char *text = *p->argv++;

		status = word_parse(p, text);
	}
	if (status != 0)
		return status;
	if (!p->complete)
		return misuse("nothing after '%s'", p->argv[-1]);
	while (p->operator_count > 0) {
		if (operator_last(p) == '(')
			return misuse("'%s' without ')'", "(");
		reduce(p);
	}
	p->find->root = p->operands[0];
	return 0;
}

int find_parse(struct find *find, char **argv)
{
	struct parser p = {.find = find, .argv = argv};
	size_t count = 0;
	int status;

	while (argv[count] != NULL)
		count++;
	if (count == 0)
		return 0;
	find->nodes = calloc(2 * count, sizeof(*find->nodes));
	p.operands = calloc(count, sizeof(struct find_node *));
	p.operators = calloc(2, count);
	if (find->nodes == NULL || p.operands == NULL || p.operators == NULL)
		status = tool_fail(NULL, "out of memory");
	else
		status = words_parse(&p);
	free(p.operands);
	free(p.operators);
	return status;
}
