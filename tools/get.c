/* SPDX-License-Identifier: BSD-2-Clause */
/* get.c - `extant get`: copy files out of an image. */
#include "tools/get.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/image.h"
#include "tools/progress.h"

static const char usage[] =
	"Usage: extant get [options] IMAGE PATH... DEST\n"
	"\n"
	"Copy files and whole directories out of the file system on IMAGE.  "
	"If\n"
	"DEST is a directory they go into it, under their own names; if there\n"
	"is no DEST, the only PATH becomes it.  Of a PATH that ends in '/.', "
	"and\n"
	"of the root, all that is in it is copied.\n"
	"\n"
	"Holes, hard links, symlinks, modes, times, attributes and ACLs are\n"
	"kept, and owners too if you are root.  Nothing is written outside of\n"
	"DEST, whatever the image holds.\n"
	"\n"
	"  -f, --force          replace files that are there\n"
	"  -j, --threads N      copy with N threads (one a CPU)\n"
	"  --owner, --no-owner  keep owners, or do not, whoever you are\n"
	"  --no-xattrs          without attributes and ACLs\n"
	"  --special            devices, set-id bits and capabilities "
	"too\n" IMAGE_USAGE;

enum { THREADS_MAX = 256 };

struct arguments {
	struct get_options options;
	unsigned threads; /* 0: one a CPU */
};

enum {
	OPTION_OWNER = IMAGE_OPTION_OWN,
	OPTION_NO_OWNER,
	OPTION_NO_XATTRS,
	OPTION_SPECIAL,
};

static int option_take(void *arg, int option, const char *value)
{
	struct arguments *args = arg;
	uint64_t threads;

	switch (option) {
	case 'f':
		args->options.force = true;
		return 0;
	case 'j':
		if (!image_size_parse(value, &threads) || threads == 0 ||
			threads > THREADS_MAX)
			return tool_misuse(&tool_get,
				"--threads takes 1 to %d, not '%s'",
				THREADS_MAX, value);
		args->threads = (unsigned)threads;
		return 0;
	case OPTION_OWNER:
	case OPTION_NO_OWNER:
		args->options.owner = option == OPTION_OWNER;
		return 0;
	case OPTION_NO_XATTRS:
		args->options.xattrs = false;
		return 0;
	default:
		args->options.special = true;
		return 0;
	}
}

static bool parse(int argc, char **argv, struct arguments *args,
	struct extant_opts *opts, int *first, int *status)
{
	static const struct option longs[] = {
		{"force", no_argument, NULL, 'f'},
		{"threads", required_argument, NULL, 'j'},
		{"owner", no_argument, NULL, OPTION_OWNER},
		{"no-owner", no_argument, NULL, OPTION_NO_OWNER},
		{"no-xattrs", no_argument, NULL, OPTION_NO_XATTRS},
		{"special", no_argument, NULL, OPTION_SPECIAL},
		{NULL, 0, NULL, 0},
	};
	static const struct image_syntax syntax = {
		.command = &tool_get,
		.letters = "fj:",
		.longs = longs,
		.option = option_take,
	};

	if (!image_parse(&syntax, argc, argv, opts, args, first, status))
		return false;
	if (argc - *first >= 3)
		return true;
	*status = tool_misuse(&tool_get, "%s",
		argc == *first ? "no IMAGE" : "no PATH or no DEST");
	return false;
}

/* ---- the destination ------------------------------------------------------- */

struct target {
	int fd;           /* of the directory to begin in */
	char *below;      /* its path */
	const char *name; /* of what is made in it; NULL: the source's */
};

/* The last component of @path without slashes at its end, cut off there. */
static char *base_of(char *path)
{
	size_t bytes = strlen(path);
	char *slash;

	while (bytes > 1 && path[bytes - 1] == '/')
		path[--bytes] = '\0';
	slash = strrchr(path, '/');
	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static int dest_fail(const char *dest, int err)
{
	return tool_fail(dest, "%s", strerrordesc_np(-err));
}

/* @dest is not there, or no directory: what is made takes its place. */
static int target_open_new(char *dest, struct target *out)
{
	char *name = base_of(dest);

	if (!place_name_is_good(name, strlen(name)))
		return dest_fail(dest, -ENOTDIR);
	out->name = name;
	out->below = name == dest ? strdup(".")
				  : strndup(dest, (size_t)(name - dest));
	if (out->below == NULL)
		return dest_fail(dest, -ENOMEM);
	out->fd = open(out->below, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return out->fd < 0 ? dest_fail(out->below, -errno) : 0;
}

/* Complains itself: 0 or TOOL_FAILED. */
static int target_open(char *dest, unsigned sources, struct target *out)
{
	*out = (struct target){
		.fd = open(dest, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	if (out->fd < 0 && sources == 1 &&
		(errno == ENOENT || errno == ENOTDIR))
		return target_open_new(dest, out);
	if (out->fd < 0)
		return dest_fail(dest, -errno);
	out->below = strdup(dest);
	return out->below == NULL ? dest_fail(dest, -ENOMEM) : 0;
}

static void target_close(struct target *target)
{
	if (target->fd >= 0)
		(void)close(target->fd);
	free(target->below);
}

/* ---- workers --------------------------------------------------------------- */

enum { NAMES_ROOM = 4096, VALUE_ROOM = 4096 };

static bool worker_open(struct get_worker *w, struct get *get)
{
	*w = (struct get_worker){
		.get = get,
		.piece = aligned_alloc(4096, GET_PIECE_BYTES),
		.batch = malloc(GET_BATCH_BYTES),
		.names = malloc(NAMES_ROOM),
		.names_room = NAMES_ROOM,
		.value = malloc(VALUE_ROOM),
		.value_room = VALUE_ROOM,
	};
	return w->piece != NULL && w->batch != NULL && w->names != NULL &&
	       w->value != NULL;
}

static void run_close(struct get *get)
{
	pool_close(get->pool);
	get_links_close(get->links);
	for (unsigned i = 0; get->workers != NULL && i < get->thread_count;
		i++) {
		free(get->workers[i].piece);
		free(get->workers[i].batch);
		free(get->workers[i].names);
		free(get->workers[i].value);
	}
	free(get->workers);
	inomap_fini(&get->seen);
	(void)pthread_mutex_destroy(&get->seen_lock);
}

static unsigned cpus_used(void)
{
	return pool_cpus() < THREADS_MAX ? pool_cpus() : THREADS_MAX;
}

static int run_open(struct get *get, unsigned threads)
{
	bool whole = true;

	(void)pthread_mutex_init(&get->seen_lock, NULL);
	get->thread_count = threads != 0 ? threads : cpus_used();
	get->workers = calloc(get->thread_count, sizeof(*get->workers));
	whole = get->workers != NULL;
	for (unsigned i = 0; whole && i < get->thread_count; i++)
		whole = worker_open(&get->workers[i], get);
	if (whole && get_links_open(&get->links) == 0 &&
		pool_open(get->thread_count, &get->pool) == 0)
		return 0;
	run_close(get);
	return tool_fail(NULL, "%s", strerrordesc_np(ENOMEM));
}

/* ---- copying --------------------------------------------------------------- */

/* What the name of @path's last component is here; NULL: it has none, and what
 * is in it is meant.  The caller frees @path's copy, which it lies in. */
static const char *source_name(char *path)
{
	const char *name = base_of(path);

	return place_name_is_good(name, strlen(name)) ? name : NULL;
}

static void contents_copy(struct get_worker *w, const struct get_entry *at)
{
	struct get_source s = {.at = *at};
	int err = extant_file_open(
		w->get->fs, NULL, at->path, EXTANT_DIRECTORY, &s.file);

	if (err != 0) {
		get_fail_image(at, err);
		return;
	}
	extant_file_stat(s.file, &s.st);
	get_dir_copy_contents(w, &s);
}

static void source_copy(struct get *get, struct get_dir *top,
	const struct target *target, const char *path)
{
	struct get_entry at = {.dir = top, .name = "", .path = path};
	char *copy = strdup(path);
	const char *name = target->name;

	if (copy == NULL) {
		get_fail_image(&at, -ENOMEM);
		return;
	}
	if (name == NULL)
		name = source_name(copy);
	if (name != NULL) {
		at.name = name;
		get_entry_copy(&get->workers[0], &at);
	} else {
		contents_copy(&get->workers[0], &at);
	}
	pool_drain(get->pool);
	inomap_fini(&get->seen);
	free(copy);
}

static int run(struct get *get, const struct target *target,
	char *const *sources, unsigned count)
{
	struct get_dir *top;
	int err = get_dir_top(get, target->fd, &top);

	if (err != 0)
		return tool_fail(NULL, "%s", strerrordesc_np(-err));
	for (unsigned i = 0; i < count; i++)
		source_copy(get, top, target, sources[i]);
	get_dir_put(&get->workers[0], top);
	return get->failures != 0 ? TOOL_SOME : TOOL_OK;
}

/* ---- signals --------------------------------------------------------------- */

/* [signal] of the one run */
static _Atomic int *stop_word;

static void on_signal(int number)
{
	atomic_store_explicit(stop_word, number, memory_order_relaxed);
}

/* Signals that end a process end the run instead, and then the process. */
static void signals_catch(struct get *get)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction catch = {.sa_handler = on_signal};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction now;

	stop_word = &get->stop;
	(void)sigemptyset(&catch.sa_mask);
	for (size_t i = 0; i < ARRAY_COUNT(numbers); i++)
		if (sigaction(numbers[i], NULL, &now) == 0 &&
			now.sa_handler != SIG_IGN)
			(void)sigaction(numbers[i], &catch, NULL);
	/* Files over a limit are an error of theirs. */
	(void)sigaction(SIGXFSZ, &ignore, NULL);
}

static int run_tell(struct get *get, int status)
{
	int why = get->stop;
	struct sigaction end = {.sa_handler = SIG_DFL};

	if (get->dropped != 0)
		(void)tool_fail(NULL,
			"%s: %llu set-id bits and capabilities left out; "
			"--special keeps them",
			get->image, (unsigned long long)get->dropped);
	if (why < 0)
		return tool_fail(get->dest, "stopped: %s; not all was copied",
			       strerrordesc_np(-why)),
		       TOOL_SOME;
	if (why == 0)
		return status;
	(void)tool_fail(get->dest, "interrupted; not all was copied");
	(void)sigaction(why, &end, NULL);
	(void)raise(why);
	return TOOL_SOME;
}

/* ---- the command ----------------------------------------------------------- */

/* A directory is open for each level that is being copied. */
static void limits_raise(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

static int get_run(int argc, char **argv)
{
	bool root = geteuid() == 0;
	struct arguments args = {
		.options = {
			.owner = root, .xattrs = true, .system_xattrs = root}};
	struct extant_opts opts = EXTANT_OPTS();
	struct get get = {.options = {false}};
	struct target target = {.fd = -1};
	unsigned count;
	int first;
	int status;

	if (!parse(argc, argv, &args, &opts, &first, &status))
		return status;
	count = (unsigned)(argc - first - 2);
	get.image = argv[first];
	get.options = args.options;
	(void)umask(0);
	limits_raise();
	status = target_open(argv[argc - 1], count, &target);
	if (status != 0)
		goto out_target;
	get.dest = target.below;
	get.top_fd = target.fd;
	status = run_open(&get, args.threads);
	if (status != 0)
		goto out_target;
	status = image_open(get.image, &opts, target.below, &get.fs);
	if (status != 0)
		goto out_run;
	signals_catch(&get);
	progress_begin("copied", 0);
	status = run(&get, &target, argv + first + 1, count);
	target.fd = -1; /* closed with the top */
	progress_end();
	(void)extant_close(get.fs);
	status = run_tell(&get, status);
out_run:
	run_close(&get);
out_target:
	target_close(&target);
	return status;
}

const struct tool_command tool_get = {
	.name = "get", .run = get_run, .usage = usage};
