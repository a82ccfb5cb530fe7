/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk.c - see walk.h.
 *
 * The way down to where the walk is, is a stack of levels, one a directory.
 * Of each the length of its path is known and the number of its inode; its
 * handle and the names yet to come may have been given up by deeper levels.
 * Who comes back opens it again as ".." of the level below, and reads the
 * names after the one that it comes back from, which is in the path.
 *
 * Directories entered once are remembered by their number, sixteen bytes or so
 * each: whatever a damaged image says, none is entered again.
 */
#include "tools/walk.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "tools/image.h"
#include "tools/walk_names.h"

enum {
	BUFFER_BYTES = 32 << 10,
	LEVEL_NAMES_MAX = WALK_NAMES_MAX / 4, /* bytes */
	STEP = 64 /* levels that the stack grows by, at least */
};

struct level {
	struct extant_file *dir; /* NULL: given up */
	struct walk_names names;
	bool listed; /* names are what the directory holds */
	uint64_t ino;
	size_t path_bytes;
};

struct seen {
	uint64_t *slots; /* 0: free; no inode has that number */
	size_t count;
	size_t room; /* power of two */
};

struct walk {
	struct extant *fs;
	struct walk_opts opts;
	char *path; /* ended by NUL, of the entry told last */
	size_t path_bytes;
	size_t path_room;
	struct level *levels;
	size_t level_count;
	size_t level_room;
	size_t names_bytes; /* of all levels */
	size_t given_up;    /* levels below this one hold nothing */
	struct seen seen;
	struct walk_entry entry;
	bool begun;
	bool enter; /* the entry told last is to be gone into */
	uint64_t failures;
	void *buffer;
};

/* ---- complaints ---------------------------------------------------------- */

void walk_complain(struct walk *walk, int err)
{
	walk->failures++;
	if (err == -ELOOP)
		(void)tool_fail(walk->opts.image,
			"%s: damaged: a directory that was met before",
			walk->path);
	else
		image_complain(walk->opts.image, walk->path, err);
}

uint64_t walk_failures(const struct walk *walk)
{
	return walk->failures;
}

/* Nothing can go on. */
static void give_out(struct walk *walk, int err)
{
	walk_complain(walk, err);
	walk->enter = false;
	while (walk->level_count > 0) {
		struct level *l = &walk->levels[--walk->level_count];

		walk_names_free(&l->names);
		extant_file_close(l->dir);
	}
}

/* ---- the path ------------------------------------------------------------ */

static void path_cut(struct walk *walk, size_t bytes)
{
	walk->path_bytes = bytes;
	walk->path[bytes] = '\0';
}

/* Where the name in a directory of so long a path begins. */
static size_t name_offset(const struct walk *walk, size_t dir_bytes)
{
	return walk->path[dir_bytes - 1] == '/' ? dir_bytes : dir_bytes + 1;
}

static int path_append(struct walk *walk, const char *name, size_t bytes)
{
	size_t needed = walk->path_bytes + bytes + 2;

	if (needed > walk->path_room) {
		size_t room = needed * 2;
		char *path = realloc(walk->path, room);

		if (path == NULL)
			return -ENOMEM;
		walk->path = path;
		walk->path_room = room;
	}
	if (walk->path[walk->path_bytes - 1] != '/')
		walk->path[walk->path_bytes++] = '/';
	memcpy(walk->path + walk->path_bytes, name, bytes + 1);
	walk->path_bytes += bytes;
	return 0;
}

/* ---- directories seen ---------------------------------------------------- */

static uint64_t *seen_slot(uint64_t *slots, size_t room, uint64_t ino)
{
	size_t i = (size_t)hash_u64(ino) & (room - 1);

	while (slots[i] != 0 && slots[i] != ino)
		i = (i + 1) & (room - 1);
	return &slots[i];
}

static int seen_grow(struct seen *seen)
{
	size_t room = seen->room > 0 ? seen->room * 2 : 64;
	uint64_t *slots = calloc(room, sizeof(*slots));

	if (slots == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < seen->room; i++)
		if (seen->slots[i] != 0)
			*seen_slot(slots, room, seen->slots[i]) =
				seen->slots[i];
	free(seen->slots);
	seen->slots = slots;
	seen->room = room;
	return 0;
}

/* -ELOOP: it was there before. */
static int seen_add(struct seen *seen, uint64_t ino)
{
	uint64_t *slot;

	if (seen->count * 2 >= seen->room) {
		int err = seen_grow(seen);

		if (err != 0)
			return err;
	}
	slot = seen_slot(seen->slots, seen->room, ino);
	if (*slot == ino)
		return -ELOOP;
	*slot = ino;
	seen->count++;
	return 0;
}

/* ---- levels -------------------------------------------------------------- */

static struct level *top(struct walk *walk)
{
	return &walk->levels[walk->level_count - 1];
}

static void level_drop_names(struct walk *walk, struct level *l)
{
	walk->names_bytes -= walk_names_bytes(&l->names);
	walk_names_free(&l->names);
	l->listed = false;
}

/* Keep within the bounds at the cost of the levels that are farthest up. */
static void levels_trim(struct walk *walk)
{
	while (walk->given_up + 1 < walk->level_count &&
		(walk->level_count - walk->given_up > WALK_OPEN_MAX ||
			walk->names_bytes > WALK_NAMES_MAX)) {
		struct level *l = &walk->levels[walk->given_up++];

		level_drop_names(walk, l);
		extant_file_close(l->dir);
		l->dir = NULL;
	}
}

/* What is in the directory after @after; NULL: all. */
static void level_list(struct walk *walk, struct level *l, const char *after)
{
	int err;

	level_drop_names(walk, l);
	err = walk_names_read(&l->names, l->dir, after, LEVEL_NAMES_MAX,
		walk->buffer, BUFFER_BYTES);
	walk->names_bytes += walk_names_bytes(&l->names);
	l->listed = true;
	if (err != 0) {
		path_cut(walk, l->path_bytes);
		walk_complain(walk, err);
	}
	levels_trim(walk);
}

static int levels_reserve(struct walk *walk)
{
	size_t room = walk->level_room + walk->level_room / 2 + STEP;
	struct level *levels;

	if (walk->level_count < walk->level_room)
		return 0;
	levels = reallocarray(walk->levels, room, sizeof(*levels));
	if (levels == NULL)
		return -ENOMEM;
	walk->levels = levels;
	walk->level_room = room;
	return 0;
}

/* Go into the directory that was told last. */
static int level_push(struct walk *walk)
{
	struct extant_at at = walk_at(&walk->entry);
	struct extant_file *dir;
	struct extant_stat st;
	int err = levels_reserve(walk);

	if (err != 0)
		return err;
	err = extant_file_open(walk->fs, &at, walk->entry.name,
		EXTANT_NOFOLLOW | EXTANT_DIRECTORY, &dir);
	if (err != 0)
		return err;
	extant_file_stat(dir, &st);
	err = seen_add(&walk->seen, st.ino);
	if (err != 0) {
		extant_file_close(dir);
		return err;
	}
	walk->levels[walk->level_count++] = (struct level){
		.dir = dir, .ino = st.ino, .path_bytes = walk->path_bytes};
	level_list(walk, top(walk), NULL);
	return 0;
}

/* Open the directory above @dir again, which was @l. */
static int level_reopen(
	struct walk *walk, struct extant_file *dir, struct level *l)
{
	struct extant_at at = {.size = sizeof(at), .dir = dir};
	struct extant_file *up;
	struct extant_stat st;
	int err = extant_file_open(
		walk->fs, &at, "..", EXTANT_NOFOLLOW | EXTANT_DIRECTORY, &up);

	if (err != 0)
		return err;
	extant_file_stat(up, &st);
	if (st.ino != l->ino) {
		extant_file_close(up);
		return -EUCLEAN;
	}
	l->dir = up;
	walk->given_up--;
	return 0;
}

/* Leave the innermost directory; the path becomes its own. */
static int level_pop(struct walk *walk)
{
	struct level old = *top(walk);
	int err = 0;

	level_drop_names(walk, top(walk));
	walk->level_count--;
	path_cut(walk, old.path_bytes);
	if (walk->level_count > 0 && top(walk)->dir == NULL)
		err = level_reopen(walk, old.dir, top(walk));
	extant_file_close(old.dir);
	return err;
}

/* ---- entries ------------------------------------------------------------- */

static struct walk_entry *entry_make(
	struct walk *walk, uint64_t ino, uint8_t type)
{
	struct level *up = walk->level_count > 0 ? top(walk) : NULL;

	walk->entry = (struct walk_entry){
		.path = walk->path,
		.path_bytes = walk->path_bytes,
		.name = walk->opts.name ? walk->opts.name : walk->path,
		.dir = walk->opts.dir,
		.ino = ino,
		.depth = (unsigned)walk->level_count,
		.type = type,
	};
	if (up != NULL) {
		walk->entry.dir = up->dir;
		walk->entry.name =
			walk->path + name_offset(walk, up->path_bytes);
	}
	return &walk->entry;
}

/* Tell the file that the path leads to, whose type is perhaps known. */
static const struct walk_entry *entry_tell(
	struct walk *walk, uint64_t ino, uint8_t type)
{
	struct walk_entry *entry = entry_make(walk, ino, type);

	if (type == DT_UNKNOWN) {
		struct extant_at at = walk_at(entry);
		struct extant_stat st;
		int err = extant_stat(
			walk->fs, &at, entry->name, EXTANT_NOFOLLOW, &st);

		if (err != 0) {
			walk_complain(walk, err);
			return NULL;
		}
		entry->ino = st.ino;
		entry->type = IFTODT(st.mode);
	}
	walk->enter = entry->type == DT_DIR &&
		      (walk->opts.depth_max == 0 ||
			      entry->depth < walk->opts.depth_max);
	return entry;
}

/* The next name of the innermost directory; NULL: that was all. */
static const struct walk_name *name_next(struct walk *walk)
{
	struct level *l = top(walk);
	const struct walk_name *name =
		l->listed ? walk_names_next(&l->names) : NULL;
	char after[WALK_NAME_MAX + 1];
	const char *told;

	if (name != NULL || (l->listed && !l->names.more))
		return name;
	/* The path still ends in the name that was told last, or in what is
	 * below it. */
	told = walk->path + name_offset(walk, l->path_bytes);
	(void)snprintf(
		after, sizeof(after), "%.*s", (int)strcspn(told, "/"), told);
	level_list(walk, l, after);
	return walk_names_next(&l->names);
}

/* Step to @name in the innermost directory; *@told: NULL if that failed. */
static int step_to(struct walk *walk, const struct walk_name *name,
	const struct walk_entry **told)
{
	int err;

	path_cut(walk, top(walk)->path_bytes);
	err = path_append(walk, name->text, name->bytes);
	if (err == 0)
		*told = entry_tell(walk, name->ino, name->type);
	return err;
}

/* Step out of the innermost directory; *@told: NULL if that is not told. */
static int step_out(struct walk *walk, const struct walk_entry **told)
{
	uint64_t ino = top(walk)->ino;
	int err = level_pop(walk);

	if (err == 0 && walk->opts.leave) {
		entry_make(walk, ino, DT_DIR)->leaving = true;
		*told = &walk->entry;
	}
	return err;
}

/* Step into the directory told last.  Where that fails it is left at once. */
static const struct walk_entry *step_in(struct walk *walk)
{
	int err = level_push(walk);

	walk->enter = false;
	if (err == 0)
		return NULL;
	walk_complain(walk, err);
	walk->entry.leaving = true;
	return walk->opts.leave ? &walk->entry : NULL;
}

const struct walk_entry *walk_next(struct walk *walk)
{
	const struct walk_entry *told = NULL;
	int err = 0;

	if (!walk->begun) {
		walk->begun = true;
		return entry_tell(walk, 0, DT_UNKNOWN);
	}
	if (walk->enter)
		told = step_in(walk);
	while (err == 0 && told == NULL && walk->level_count > 0) {
		const struct walk_name *name = name_next(walk);

		if (name != NULL)
			err = step_to(walk, name, &told);
		else
			err = step_out(walk, &told);
	}
	if (err != 0)
		give_out(walk, err);
	return told;
}

void walk_skip(struct walk *walk)
{
	walk->enter = false;
}

/* ---- begin and end ------------------------------------------------------- */

int walk_open(struct extant *fs, const struct walk_opts *opts, const char *path,
	struct walk **out)
{
	struct walk *walk = calloc(1, sizeof(*walk));

	if (walk == NULL)
		return -ENOMEM;
	walk->fs = fs;
	walk->opts = *opts;
	walk->path = strdup(*path != '\0' ? path : "/");
	walk->buffer = malloc(BUFFER_BYTES);
	if (walk->path == NULL || walk->buffer == NULL) {
		walk_close(walk);
		return -ENOMEM;
	}
	walk->path_bytes = strlen(walk->path);
	walk->path_room = walk->path_bytes + 1;
	*out = walk;
	return 0;
}

void walk_close(struct walk *walk)
{
	if (walk == NULL)
		return;
	for (size_t i = 0; i < walk->level_count; i++) {
		walk_names_free(&walk->levels[i].names);
		extant_file_close(walk->levels[i].dir);
	}
	free(walk->levels);
	free(walk->seen.slots);
	free(walk->path);
	free(walk->buffer);
	free(walk);
}
