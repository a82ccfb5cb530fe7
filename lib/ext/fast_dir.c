/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fast_dir.c - the names in a directory after its fast commits.
 *
 * The names of one directory are placed together: one pass over its blocks
 * changes and removes what is there, another finds room for what is not.  An
 * index does not know about the latter and is given up; its blocks turn into
 * blocks of entries.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "ext/dir_int.h"
#include "ext/fast_int.h"

enum {
	ENTRY_HEAD = 8,
	DOT_BYTES = 12,
	LENGTH_LONG = 65535,
};

struct place {
	struct fast *f;
	struct fast_file *file;
	struct fast_name *names; /* sorted by text */
	size_t count;
	struct fast_spans map;
	uint32_t blocks;
	uint32_t end; /* of entries in a block: there the checksum begins */
	uint8_t *buf; /* a block */
	bool reindex; /* blocks of the index are to become entries */
};

/* ---- entries ------------------------------------------------------------------------ */

static uint32_t entry_bytes(uint32_t name_bytes)
{
	return (ENTRY_HEAD + name_bytes + 3) & ~UINT32_C(3);
}

static struct le16 length_code(uint32_t length)
{
	return le16_of((uint16_t)(length < LENGTH_LONG ? length : LENGTH_LONG));
}

static uint8_t type_code(uint16_t mode)
{
	static const uint8_t codes[16] = {[DT_REG] = 1,
		[DT_DIR] = 2,
		[DT_CHR] = 3,
		[DT_BLK] = 4,
		[DT_FIFO] = 5,
		[DT_SOCK] = 6,
		[DT_LNK] = 7};

	return codes[mode >> 12];
}

static void entry_write(const struct fast *f, uint8_t *at, uint32_t length,
	uint32_t ino, uint16_t mode, const char *name, uint8_t bytes)
{
	bool typed = f->fs->super.features.incompat & EXT_INCOMPAT_FILETYPE;
	struct ext_disk_dirent raw = {
		.ino = le32_of(ino),
		.length = length_code(length),
		.name_bytes = bytes,
		.type = typed ? type_code(mode) : 0,
	};

	memcpy(at, &raw, sizeof(raw));
	memcpy(at + ENTRY_HEAD, name, bytes);
}

static void length_set(uint8_t *at, uint32_t length)
{
	struct ext_disk_dirent raw;

	memcpy(&raw, at, sizeof(raw));
	raw.length = length_code(length);
	memcpy(at, &raw, sizeof(raw));
}

static void seal(const struct place *p, uint8_t *data)
{
	const struct ext_super *sb = &p->f->fs->super;
	struct ext_disk_dir_tail tail = {
		.length = le16_of(sizeof(tail)),
		.type = 0xde,
	};

	if (!sb->csum)
		return;
	tail.checksum = le32_of(ext_csum_dir(sb, p->file->ino,
		le32_get(fast_raw(p->file)->generation), data, p->end));
	memcpy(data + p->end, &tail, sizeof(tail));
}

/* ---- blocks ---------------------------------------------------------------------------- */

static int block_dev(const struct place *p, uint32_t index, blk_no *out)
{
	for (size_t i = 0; i < p->map.count; i++) {
		const struct fast_span *s = &p->map.list[i];

		if (index - s->file < s->count && !s->unwritten) {
			*out = s->dev + (index - s->file);
			return 0;
		}
	}
	return FAST_BAD(p->f, -EUCLEAN, p->file->ino, "hole in a directory");
}

static int block_view(struct place *p, uint32_t index, struct ext_dir_area *out)
{
	const struct ext *fs = p->f->fs;
	const void *data;
	blk_no dev;
	int err = block_dev(p, index, &dev);

	if (err)
		return err;
	data = jnl_overlay_peek(p->f->o, dev);
	if (!data) {
		err = ext_block_read(fs, dev, p->buf, p->f->damage);
		data = p->buf;
	}
	*out = (struct ext_dir_area){
		.sb = &fs->super,
		.data = data,
		.bytes = fs->super.block_bytes,
		.at = dev,
		.ino = p->file->ino,
		.raw = p->file->old.flags & EXT_INODE_ENCRYPT,
	};
	return err;
}

/* The same, to be changed. */
static int block_edit(struct place *p, struct ext_dir_area *a, uint8_t **out)
{
	void *data;
	int err = jnl_overlay_edit(p->f->o, a->at, &data);

	if (!err) {
		a->data = data;
		*out = data;
	}
	return err;
}

/* ---- links ------------------------------------------------------------------------------- */

static int mode_of(struct fast *f, uint32_t ino, uint16_t *out)
{
	struct fast_file *file;
	int err = fast_file_get(f, ino, &file);

	if (!err)
		*out = le16_get(fast_raw(file)->mode);
	return err;
}

/* A directory counts the ".." of those in it. */
static void count_child(struct place *p, uint16_t mode, int change)
{
	struct ext_disk_inode *raw = fast_raw(p->file);
	int links = le16_get(raw->links_count);

	if (S_ISDIR(mode) && links >= 2 && links + change >= 2)
		raw->links_count = le16_of((uint16_t)(links + change));
}

/* ---- names that are there -------------------------------------------------------------------- */

static int text_order(const struct fast_name *n, const char *text, size_t bytes)
{
	size_t less = n->bytes < bytes ? n->bytes : bytes;
	int order = memcmp(n->text, text, less);

	return order ? order : (int)n->bytes - (int)bytes;
}

static struct fast_name *name_find(
	const struct place *p, const struct ext_dirent *e)
{
	size_t lo = 0;
	size_t hi = p->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = text_order(&p->names[mid], e->name, e->name_bytes);

		if (order == 0)
			return &p->names[mid];
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* Entry @e of @a, behind the one at @before, is what @n is about. */
static int entry_change(struct place *p, struct ext_dir_area *a,
	const struct ext_dirent *e, uint32_t before, uint32_t next,
	struct fast_name *n)
{
	uint16_t old_mode = 0;
	uint16_t mode = 0;
	uint8_t *data;
	int err;

	n->placed = true;
	if (n->ino == e->ino)
		return 0;
	err = mode_of(p->f, e->ino, &old_mode);
	if (!err && n->ino)
		err = mode_of(p->f, n->ino, &mode);
	if (!err)
		err = block_edit(p, a, &data);
	if (err)
		return err;
	count_child(p, old_mode, -1);
	if (n->ino) {
		count_child(p, mode, 1);
		entry_write(p->f, data + e->offset, next - e->offset, n->ino,
			mode, n->text, n->bytes);
	} else if (before < e->offset) {
		length_set(data + before, next - before);
	} else {
		memset(data + e->offset, 0, sizeof(struct le32));
	}
	seal(p, data);
	return 0;
}

static int block_change(struct place *p, uint32_t index)
{
	struct ext_dir_area a;
	struct ext_dirent e;
	uint32_t before = 0;
	uint32_t pos = 0;
	int err = block_view(p, index, &a);

	while (!err && !(err = ext_dirent_next(&a, &pos, &e, p->f->damage))) {
		struct fast_name *n = e.ino ? name_find(p, &e) : NULL;
		bool gone = n && n->ino == 0;

		if (n)
			err = entry_change(p, &a, &e, before, pos, n);
		/* One that has grown over its successor stays before the next. */
		if (!gone || before == e.offset)
			before = e.offset;
	}
	return err == -ENOENT ? 0 : err;
}

/* ---- names that are not there ------------------------------------------------------------------ */

/* One empty entry from @from on. */
static void block_clear(struct place *p, uint8_t *data, uint32_t from)
{
	memset(data + from, 0, p->f->fs->super.block_bytes - from);
	length_set(data + from, p->end - from);
	seal(p, data);
}

static bool is_index(const struct ext_dir_area *a)
{
	struct ext_dirent e = {0};
	uint32_t pos = 0;

	return !ext_dirent_next(a, &pos, &e, NULL) && e.ino == 0 &&
	       pos == a->bytes;
}

/* A block of the index becomes one of entries; the first keeps its dots. */
static int block_unindex(
	struct place *p, uint32_t index, struct ext_dir_area *a)
{
	uint8_t *data;
	int err;

	if (index != 0 && !is_index(a))
		return 0;
	err = block_edit(p, a, &data);
	if (err)
		return err;
	if (index == 0) {
		length_set(data + DOT_BYTES, DOT_BYTES);
		block_clear(p, data, 2 * DOT_BYTES);
	} else {
		block_clear(p, data, 0);
	}
	return 0;
}

/* Where in @a there is room for @bytes: behind the entry at @*at, which needs
 * @*used itself. */
static bool room_find(const struct place *p, const struct ext_dir_area *a,
	uint32_t bytes, uint32_t *at, uint32_t *used, uint32_t *next)
{
	struct ext_dirent e;
	uint32_t pos = 0;

	while (!ext_dirent_next(a, &pos, &e, NULL) && e.offset < p->end) {
		*at = e.offset;
		*used = e.ino ? entry_bytes(e.name_bytes) : 0;
		*next = pos < p->end ? pos : p->end;
		if (*at + *used + bytes <= *next)
			return true;
	}
	return false;
}

static int name_insert(struct place *p, struct ext_dir_area *a,
	struct fast_name *n, bool *fits)
{
	uint32_t at;
	uint32_t used;
	uint32_t next;
	uint16_t mode;
	uint8_t *data;
	int err;

	*fits = room_find(p, a, entry_bytes(n->bytes), &at, &used, &next);
	if (!*fits)
		return 0;
	err = mode_of(p->f, n->ino, &mode);
	if (!err)
		err = block_edit(p, a, &data);
	if (err)
		return err;
	if (used)
		length_set(data + at, used);
	entry_write(p->f, data + at + used, next - at - used, n->ino, mode,
		n->text, n->bytes);
	seal(p, data);
	count_child(p, mode, 1);
	n->placed = true;
	return 0;
}

/* As many of the names from *@next on as block @index has room for. */
static int block_fill(struct place *p, uint32_t index, size_t *next)
{
	struct ext_dir_area a;
	bool fits = true;
	int err = block_view(p, index, &a);

	if (!err && p->reindex)
		err = block_unindex(p, index, &a);
	while (!err && fits && *next < p->count) {
		struct fast_name *n = &p->names[*next];

		if (n->ino && !n->placed)
			err = name_insert(p, &a, n, &fits);
		*next += fits;
	}
	return err;
}

/* One more block at the end. */
static int dir_extend(struct place *p)
{
	const struct ext_super *sb = &p->f->fs->super;
	struct ext_disk_inode *raw = fast_raw(p->file);
	struct fast_span s = {.file = p->blocks, .count = 1};
	void *data;
	int err = fast_block_take(p->f, &s.dev);

	if (!err)
		err = jnl_overlay_edit(p->f->o, s.dev, &data);
	if (!err)
		err = fast_span_put(&p->file->now, &s);
	if (!err)
		err = fast_span_put(&p->map, &s);
	if (err)
		return err;
	block_clear(p, data, 0);
	p->blocks++;
	raw->size_lo = le32_of(le32_get(raw->size_lo) + sb->block_bytes);
	raw->blocks_lo =
		le32_of(le32_get(raw->blocks_lo) + sb->block_bytes / 512);
	return 0;
}

/* ---- one directory ----------------------------------------------------------------------------- */

static int dir_fill(struct place *p)
{
	struct ext_disk_inode *raw = fast_raw(p->file);
	uint32_t flags = le32_get(raw->flags);
	size_t next = 0;
	int err = 0;

	while (next < p->count &&
		(p->names[next].ino == 0 || p->names[next].placed))
		next++;
	if (next == p->count)
		return 0;
	p->reindex = flags & EXT_INODE_INDEX;
	raw->flags = le32_of(flags & ~(uint32_t)EXT_INODE_INDEX);
	/* What was an index must not be left as one, needed or not. */
	for (uint32_t i = 0;
		!err && i < p->blocks && (p->reindex || next < p->count); i++)
		err = block_fill(p, i, &next);
	p->reindex = false;
	while (!err && next < p->count) {
		err = dir_extend(p);
		if (!err)
			err = block_fill(p, p->blocks - 1, &next);
	}
	return err;
}

/* Its first block, with the dots. */
static int dir_begin(struct place *p)
{
	struct fast_span s = {.count = 1};
	struct fast *f = p->f;
	void *data;
	int err = fast_block_take(f, &s.dev);

	p->file->now.count = 0;
	p->map.count = 0;
	if (!err)
		err = jnl_overlay_edit(f->o, s.dev, &data);
	if (!err)
		err = fast_span_put(&p->file->now, &s);
	if (!err)
		err = fast_span_put(&p->map, &s);
	if (err)
		return err;
	p->blocks = 1;
	/* Those in it are counted as they are placed. */
	fast_raw(p->file)->links_count = le16_of(2);
	block_clear(p, data, 0);
	entry_write(f, data, DOT_BYTES, p->file->ino, S_IFDIR, ".", 1);
	entry_write(f, (uint8_t *)data + DOT_BYTES, p->end - DOT_BYTES,
		p->file->parent, S_IFDIR, "..", 2);
	seal(p, data);
	return 0;
}

static int dir_check(const struct place *p)
{
	const struct ext_super *sb = &p->f->fs->super;
	const struct ext_disk_inode *raw = fast_raw(p->file);
	uint32_t flags = le32_get(raw->flags);
	uint32_t strange = EXT_INODE_INLINE_DATA | EXT_INODE_CASEFOLD;

	if (!S_ISDIR(le16_get(raw->mode)))
		return FAST_BAD(p->f, -EUCLEAN, p->file->ino,
			"a name in what is no directory");
	if (flags & strange)
		return FAST_BAD(p->f, -EOPNOTSUPP, p->file->ino,
			"a name in an inline or casefolded directory");
	if (!(flags & EXT_INODE_EXTENTS))
		return FAST_BAD(p->f, -EOPNOTSUPP, p->file->ino,
			"a name in a directory with a block map");
	if (!p->file->fresh &&
		p->file->old.bytes / sb->block_bytes > UINT32_MAX)
		return FAST_BAD(p->f, -EUCLEAN, p->file->ino,
			"a directory of impossible size");
	return 0;
}

static int dir_open(struct place *p)
{
	const struct ext_super *sb = &p->f->fs->super;
	int err = dir_check(p);

	if (err)
		return err;
	if (p->file->fresh && !p->file->now.count)
		return dir_begin(p);
	err = fast_map_merge(p->f, p->file, &p->map);
	p->blocks = (uint32_t)(p->file->old.bytes / sb->block_bytes);
	if (p->file->fresh)
		p->blocks =
			le32_get(fast_raw(p->file)->size_lo) / sb->block_bytes;
	return err;
}

static int dir_apply(struct fast *f, struct fast_name *names, size_t count)
{
	const struct ext_super *sb = &f->fs->super;
	struct place p = {
		.f = f,
		.names = names,
		.count = count,
		.end = sb->block_bytes -
		       (sb->csum ? sizeof(struct ext_disk_dir_tail) : 0),
		.buf = malloc(sb->block_bytes),
	};
	int err = p.buf ? 0 : -ENOMEM;

	if (!err)
		err = fast_file_get(f, names[0].parent, &p.file);
	if (!err)
		err = dir_open(&p);
	for (uint32_t i = 0; !err && i < p.blocks; i++)
		err = block_change(&p, i);
	if (!err)
		err = dir_fill(&p);
	free(p.map.list);
	free(p.buf);
	return err;
}

/* ---- all ----------------------------------------------------------------------------------------- */

static int name_order(const void *a, const void *b)
{
	const struct fast_name *x = a;
	const struct fast_name *y = b;
	int order = (x->parent > y->parent) - (x->parent < y->parent);

	if (!order)
		order = text_order(x, y->text, y->bytes);
	return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* Keep the last word on each name. */
static size_t names_settle(struct fast_name *names, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(names, count, sizeof(*names), name_order);
	for (size_t i = 0; i < count; i++) {
		const struct fast_name *n = &names[i];

		if (kept && names[kept - 1].parent == n->parent &&
			text_order(&names[kept - 1], n->text, n->bytes) == 0)
			kept--;
		names[kept++] = *n;
	}
	return kept;
}

/* New directories learn where they hang, and begin, though they be empty. */
static int dirs_begin(struct fast *f)
{
	struct fast_file *file;
	int err = 0;

	for (size_t i = 0; !err && i < f->name_count; i++) {
		const struct fast_name *n = &f->names[i];

		if (n->ino == 0)
			continue;
		err = fast_file_get(f, n->ino, &file);
		if (!err && file->fresh &&
			S_ISDIR(le16_get(fast_raw(file)->mode))) {
			file->parent = n->parent;
			file->now.count = 0;
		}
	}
	return err;
}

static int dirs_finish(struct fast *f)
{
	struct fast_file *file;
	int err = 0;

	for (size_t i = 0; !err && i < f->name_count; i++) {
		struct fast_name none = {.parent = f->names[i].ino};

		if (none.parent == 0)
			continue;
		err = fast_file_get(f, none.parent, &file);
		if (!err && file->parent && !file->now.count)
			err = dir_apply(f, &none, 0);
	}
	return err;
}

int fast_names_apply(struct fast *f)
{
	int err;

	f->name_count = names_settle(f->names, f->name_count);
	err = dirs_begin(f);
	for (size_t i = 0; !err && i < f->name_count;) {
		size_t end = i + 1;

		while (end < f->name_count &&
			f->names[end].parent == f->names[i].parent)
			end++;
		err = dir_apply(f, &f->names[i], end - i);
		i = end;
	}
	return err ? err : dirs_finish(f);
}
