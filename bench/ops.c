/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ops.c - `extant bench ops`: reading operations, by several sides.
 *
 * A grid for each operation, a row for each side.  How much one file that all
 * use costs is seen with stat: from 64 files of each client's own, from one
 * file of its own, from the same one file for all.
 */
#include "bench/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/team.h"
#include "tools/tool.h"

enum {
	DIRECTORIES_MAX = 3,
	SIDES_MAX = DIRECTORIES_MAX + 6,
	ROWS_MAX = 3 * SIDES_MAX,
	ROW_BYTES = 64,
};

static const struct {
	const char *name; /* on the command line, of the grid */
	const char *title;
	double times_kernel; /* the bar */
} kinds[OPS_KINDS] = {
	[OPS_STAT] = {"stat", "stat of a file, 5 names deep", 5},
	[OPS_MISSING] = {"missing", "stat of a name that is not there", 5},
	[OPS_OPEN] = {"open", "open and close", 5},
	[OPS_PREAD_4K] = {"pread-4k", "4 KiB from anywhere in 8 MiB, cached",
		3},
	[OPS_PREAD_1M] = {"pread-1m", "1 MiB from anywhere in 8 MiB, cached",
		0},
	[OPS_READDIR] = {"readdir", "a directory of 130 entries, whole", 0},
	[OPS_READLINK] = {"readlink", "readlink, 5 names deep", 0},
	[OPS_GETXATTR] = {"getxattr", "an attribute of a file, 5 names deep",
		0},
};

static const struct bench_metric metrics[] = {
	{"ops_per_s", "ops/s", 0},
	{"switches_per_op", "switches/op", 6},
	{"cpu_ns_per_op", "cpu ns/op", 1},
};

/* Which files a client uses. */
enum ops_files { FILES_OWN, FILE_EACH, FILE_SHARED, FILES_WAYS };

struct ops_row {
	struct ops_side *side;
	enum ops_files files;
	char name[ROW_BYTES];
};

struct ops {
	const struct bench_opts *opts;
	struct bench_clients clients;
	unsigned most; /* clients at once */
	bool wanted[OPS_KINDS];
	unsigned directory_count;
	const char *directories[DIRECTORIES_MAX];
	const char *image; /* or NULL */
	int image_fd;      /* of --compare, or -1 */
	char image_path[32];
	unsigned side_count;
	struct ops_side sides[SIDES_MAX];

	/* Of the grid that is being measured. */
	enum ops_kind kind;
	unsigned row_count;
	struct ops_row rows[ROWS_MAX];
	const char *row_names[ROWS_MAX];
};

/* What the clients of a run are told. */
struct ops_task {
	struct ops_side *side;
	enum ops_kind kind;
	enum ops_files files;
};

/* ---- clients ------------------------------------------------------------- */

static void client_close(struct ops_client *c)
{
	c->side->ops->leave(c);
	free(c->buffer);
	free(c);
}

static int client_open(
	struct ops_client **out, struct ops_side *side, unsigned index)
{
	struct ops_client *c = aligned_alloc(LINE_BYTES, sizeof(*c));
	int err;

	if (c == NULL)
		return -ENOMEM;
	memset(c, 0, sizeof(*c));
	c->side = side;
	c->random = index;
	ops_names_init(&c->names, index);
	c->buffer = aligned_alloc(OPS_SMALL_BYTES, OPS_LARGE_BYTES);
	if (c->buffer == NULL) {
		free(c);
		return -ENOMEM;
	}
	memset(c->buffer, 0, OPS_LARGE_BYTES);
	err = side->ops->enter(c);
	if (err == 0)
		*out = c;
	else
		client_close(c);
	return err;
}

static int client_body(struct bench_member *m)
{
	const struct ops_task *task = bench_arg(m);
	ops_one one = task->side->ops->one[task->kind];
	unsigned mask = task->files == FILES_OWN ? OPS_FILES - 1 : 0;
	unsigned index = task->files == FILE_SHARED ? 0 : m->index;
	struct ops_client *c;
	int err = client_open(&c, task->side, index);

	if (err != 0)
		return err;
	for (unsigned i = 0; err == 0 && bench_next(m); i++)
		err = one(c, i & mask);
	client_close(c);
	return err;
}

/* ---- a grid -------------------------------------------------------------- */

static int ops_run(void *arg, unsigned block, unsigned row, double *values)
{
	struct ops *ops = arg;
	struct ops_task task = {.side = ops->rows[row].side,
		.kind = ops->kind,
		.files = ops->rows[row].files};
	const struct bench_plan plan = {.threads = ops->clients.threads[block],
		.warm_ns = ops->opts->run_ns / 5,
		.measure_ns = ops->opts->run_ns,
		.body = client_body,
		.arg = &task};
	struct bench_result r;
	int err = bench_team_run(&plan, &r);

	if (err != 0 || r.ops == 0)
		return err;
	values[0] = (double)r.ops * 1e9 / (double)r.ns;
	values[1] = (double)(r.cost.slept + r.cost.preempted) / (double)r.ops;
	values[2] = (double)r.cost.cpu_ns / (double)r.ops;
	return 0;
}

static void row_name(char *to, const struct ops_side *side, enum ops_files how)
{
	static const char *const suffixes[FILES_WAYS] = {
		"", ", one file each", ", one file"};

	(void)snprintf(to, ROW_BYTES, "%.40s%s", side->name, suffixes[how]);
}

static void rows_add(struct ops *ops, struct ops_side *side)
{
	unsigned ways =
		ops->kind == OPS_STAT && !side->is_plain ? FILES_WAYS : 1;
	bool walks = ops->kind != OPS_PREAD_4K && ops->kind != OPS_PREAD_1M &&
		     ops->kind != OPS_READDIR;

	if (side->ops->one[ops->kind] == NULL || side->lacks[ops->kind] ||
		(side->walks_only && !walks))
		return;
	for (unsigned way = 0; way < ways; way++) {
		struct ops_row *row = &ops->rows[ops->row_count];

		*row = (struct ops_row){
			.side = side, .files = (enum ops_files)way};
		row_name(row->name, side, row->files);
		ops->row_names[ops->row_count++] = row->name;
	}
}

/* Bars and notes of what was measured with 1 and 2 clients. */

static void judge_pair(struct bench_report *report, const struct bench_grid *g,
	struct bench_ratio ratio)
{
	char what[80];

	(void)snprintf(what, sizeof(what), "%.30s over %.30s, %s",
		ratio.above_row, ratio.below_row, ratio.above_block);
	if (ratio.what == NULL)
		ratio.what = what;
	bench_report_ratio(report, g, &ratio);
}

static void judge_kernel(struct bench_report *report,
	const struct bench_grid *g, const struct ops_side *side, double limit)
{
	bool bar = side->is_kernel && limit != 0;

	for (unsigned i = 0; i < g->block_count && i < 2; i++)
		judge_pair(report, g,
			(struct bench_ratio){NULL, g->blocks[i], "extant",
				g->blocks[i], side->name,
				bar ? BENCH_AT_LEAST : BENCH_NOTE, limit});
}

static void ops_judge(struct bench_report *report, const struct bench_grid *g)
{
	static const struct bench_ratio ratios[] = {
		{"extant: T(2)/T(1)", "2 clients", "extant", "1 client",
			"extant", BENCH_AT_LEAST, 1.7},
		{NULL, "2 clients", "extant, one file", "2 clients",
			"extant, one file each", BENCH_AT_LEAST, 0.9},
		{NULL, "2 clients", "walk=ref, one file", "2 clients",
			"walk=ref, one file each", BENCH_NOTE, 0},
		{"walk=ref, which must show its lesson: T(2)/T(1), one file",
			"2 clients", "walk=ref, one file", "1 client",
			"walk=ref, one file", BENCH_AT_MOST, 1.2},
		{"walk=ref: T(2)/T(1)", "2 clients", "walk=ref", "1 client",
			"walk=ref", BENCH_NOTE, 0},
		{"bare: T(2)/T(1)", "2 clients", "bare", "1 client", "bare",
			BENCH_NOTE, 0},
	};
	const struct ops *ops = g->arg;

	for (unsigned i = 0; i < ops->side_count; i++)
		if (ops->sides[i].vfs == NULL && !ops->sides[i].is_plain)
			judge_kernel(report, g, &ops->sides[i],
				kinds[ops->kind].times_kernel);
	judge_pair(report, g,
		(struct bench_ratio){NULL, "1 client", "extant", "1 client",
			"memcpy",
			ops->kind == OPS_PREAD_1M ? BENCH_AT_LEAST : BENCH_NOTE,
			0.9});
	for (size_t i = 0; i < ARRAY_COUNT(ratios); i++)
		judge_pair(report, g, ratios[i]);
}

static int ops_grid(
	struct ops *ops, enum ops_kind kind, struct bench_report *report)
{
	struct bench_grid g = {.name = kinds[kind].name,
		.title = kinds[kind].title,
		.block_count = ops->clients.count,
		.blocks = ops->clients.names,
		.metric_count = ARRAY_COUNT(metrics),
		.metrics = metrics,
		.runs = ops->opts->runs,
		.run = ops_run,
		.arg = ops};
	int err;

	ops->kind = kind;
	ops->row_count = 0;
	for (unsigned i = 0; i < ops->side_count; i++)
		rows_add(ops, &ops->sides[i]);
	if (ops->row_count == 0)
		return 0;
	g.row_count = ops->row_count;
	g.rows = ops->row_names;
	err = bench_report_grid(report, &g, ops_judge);
	return err == 0 ? 0
			: tool_fail(kinds[kind].name, "%s",
				  strerrordesc_np(-err));
}

/* ---- warming up ---------------------------------------------------------- */

/* Some file systems have no attributes. */
static bool is_lack(enum ops_kind kind, int err)
{
	return kind == OPS_GETXATTR && (err == -EOPNOTSUPP || err == -ENODATA);
}

/* Everything once, so that it is cached. */
static int warm_client(struct ops_client *c)
{
	int err = 0;

	c->in_order = true;
	for (int kind = 0; kind < OPS_KINDS && err == 0; kind++) {
		ops_one one = c->side->ops->one[kind];

		for (unsigned i = 0; one != NULL && err == 0 && i < OPS_FILES;
			i++)
			err = one(c, i);
		if (is_lack((enum ops_kind)kind, err)) {
			c->side->lacks[kind] = true;
			err = 0;
		}
	}
	return err;
}

struct warm_up {
	struct ops_side *side;
	unsigned clients;
};

static int warm_body(struct bench_member *m)
{
	struct warm_up *w = bench_arg(m);
	int err = 0;

	for (unsigned i = 0; i < w->clients && err == 0; i++) {
		struct ops_client *c;

		err = client_open(&c, w->side, i);
		if (err == 0) {
			err = warm_client(c);
			client_close(c);
		}
	}
	return err;
}

/* In a thread of its own, which may get a working directory of its own. */
static int warm_side(struct ops *ops, struct ops_side *side)
{
	struct warm_up w = {.side = side, .clients = ops->most};
	const struct bench_plan plan = {
		.threads = 1, .body = warm_body, .arg = &w};
	struct bench_result r;
	int err = bench_team_run(&plan, &r);

	if (err == -ENOENT)
		return tool_fail(side->name,
			"no tree for %u clients: extant bench ops --prepare "
			"--threads %u DIR makes one",
			ops->most, ops->most);
	return err == 0 ? 0
			: tool_fail(side->name, "%s", strerrordesc_np(-err));
}

/* ---- words --------------------------------------------------------------- */

static int kind_index(const char *name)
{
	for (int i = 0; i < OPS_KINDS; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return i;
	return -1;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int words_read(struct ops *ops)
{
	const struct bench_opts *opts = ops->opts;
	bool all = true;

	for (int i = 0; i < opts->word_count; i++) {
		const char *word = opts->words[i];
		int kind = kind_index(word);

		if (kind >= 0) {
			ops->wanted[kind] = true;
			all = false;
		} else if (is_directory(word)) {
			if (ops->directory_count == DIRECTORIES_MAX)
				return tool_fail(
					word, "one directory too many");
			ops->directories[ops->directory_count++] = word;
		} else if (ops->image != NULL) {
			return tool_fail(word, "one image too many");
		} else {
			ops->image = word;
		}
	}
	for (int i = 0; i < OPS_KINDS; i++)
		ops->wanted[i] |= all;
	return 0;
}

static int words_check(const struct ops *ops)
{
	const struct bench_opts *opts = ops->opts;

	if (ops->most > OPS_CLIENTS_MAX)
		return tool_misuse(&tool_bench, "ops takes up to %d clients",
			OPS_CLIENTS_MAX);
	if (opts->prepare && (opts->compare || ops->image != NULL ||
				     ops->directory_count != 1))
		return tool_misuse(&tool_bench, "--prepare takes a directory");
	if (opts->compare && ops->image != NULL)
		return tool_misuse(
			&tool_bench, "--compare makes an image of its own");
	if (!opts->compare && ops->image == NULL && ops->directory_count == 0)
		return tool_misuse(&tool_bench,
			"ops takes an image, a directory, or --compare");
	return 0;
}

/* ---- sides --------------------------------------------------------------- */

static bool side_wanted(const struct ops *ops, const char *name)
{
	return bench_wants(ops->opts, name);
}

static struct ops_side *side_next(struct ops *ops)
{
	return &ops->sides[ops->side_count];
}

/* The next side is there, unless @err. */
static int side_opened(struct ops *ops, int err)
{
	if (err == 0)
		ops->side_count++;
	return err;
}

static int sides_kernel(struct ops *ops)
{
	int mount_fd;
	int err = ops_kernel_open(ops->most, &ops->image_fd, &mount_fd);

	if (err != 0)
		return err;
	(void)snprintf(ops->image_path, sizeof(ops->image_path),
		"/proc/self/fd/%d", ops->image_fd);
	ops->image = ops->image_path;
	ops_calls_at(mount_fd, side_next(ops));
	if (side_wanted(ops, "kernel"))
		return side_opened(ops, 0);
	(void)close(mount_fd);
	return 0;
}

static int sides_directories(struct ops *ops)
{
	int err = 0;

	for (unsigned i = 0; i < ops->directory_count && err == 0; i++)
		if (side_wanted(ops, ops->directories[i]))
			err = side_opened(
				ops, ops_calls_open(ops->directories[i],
					     side_next(ops)));
	return err;
}

static int sides_image(struct ops *ops)
{
	int err = 0;

	if (side_wanted(ops, "extant"))
		err = side_opened(ops, ops_image_open(ops->image, ops->most,
					       VFS_WALK_RCU, side_next(ops)));
	if (err == 0 && side_wanted(ops, "walk=ref"))
		err = side_opened(ops, ops_image_open(ops->image, ops->most,
					       VFS_WALK_REF, side_next(ops)));
	return err;
}

static int sides_open(struct ops *ops)
{
	int err = ops->opts->compare ? sides_kernel(ops) : 0;

	if (err == 0)
		err = sides_directories(ops);
	if (err == 0 && ops->image != NULL)
		err = sides_image(ops);
	for (unsigned i = 0; i < ops->side_count && err == 0; i++)
		err = warm_side(ops, &ops->sides[i]);
	if (err == 0 && side_wanted(ops, "mem"))
		err = side_opened(
			ops, ops_memory_open(ops->most, side_next(ops)));
	if (err == 0 && side_wanted(ops, "memcpy")) {
		ops_memcpy_open(side_next(ops));
		err = side_opened(ops, 0);
	}
	if (err == 0 && side_wanted(ops, "bare")) {
		ops_bare_open(side_next(ops));
		err = side_opened(ops, 0);
	}
	return err;
}

static void sides_close(struct ops *ops)
{
	for (unsigned i = 0; i < ops->side_count; i++)
		ops->sides[i].ops->close(&ops->sides[i]);
	if (ops->image_fd >= 0)
		(void)close(ops->image_fd);
}

static int configs_check(const struct ops *ops)
{
	for (unsigned i = 0; i < ops->opts->config_count; i++) {
		const char *name = ops->opts->configs[i];
		bool known = false;

		for (unsigned k = 0; k < ops->side_count; k++)
			known |= strcmp(ops->sides[k].name, name) == 0;
		if (!known)
			return tool_misuse(
				&tool_bench, "no configuration '%s'", name);
	}
	return 0;
}

/* ---- the workload -------------------------------------------------------- */

static int ops_prepare(const struct ops *ops)
{
	const char *path = ops->directories[0];
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = fd < 0 ? -errno : ops_tree_make(fd, ops->most);

	if (fd >= 0)
		(void)close(fd);
	return err == 0 ? 0 : tool_fail(path, "%s", strerrordesc_np(-err));
}

static int ops_measure(struct ops *ops, struct bench_report *report)
{
	int err = sides_open(ops);

	if (err == 0)
		err = configs_check(ops);
	for (int kind = 0; kind < OPS_KINDS && err == 0; kind++)
		if (ops->wanted[kind])
			err = ops_grid(ops, (enum ops_kind)kind, report);
	sides_close(ops);
	return err;
}

static int ops_main(const struct bench_opts *opts, struct bench_report *report)
{
	static const unsigned usual[] = {1, 2};
	struct ops *ops = calloc(1, sizeof(*ops));
	int err;

	if (ops == NULL)
		return tool_fail(NULL, "%s", strerrordesc_np(ENOMEM));
	ops->opts = opts;
	ops->image_fd = -1;
	bench_clients_init(&ops->clients, opts, usual, ARRAY_COUNT(usual));
	for (unsigned i = 0; i < ops->clients.count; i++)
		if (ops->clients.threads[i] > ops->most)
			ops->most = ops->clients.threads[i];
	err = words_read(ops);
	if (err == 0)
		err = words_check(ops);
	if (err == 0)
		err = opts->prepare ? ops_prepare(ops)
				    : ops_measure(ops, report);
	free(ops);
	return err;
}

const struct bench_workload bench_ops = {.name = "ops", .run = ops_main};
