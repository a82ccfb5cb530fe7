/* SPDX-License-Identifier: BSD-2-Clause */
/* dir_int.h - what the files about directories share. */
#ifndef EXT_DIR_INT_H
#define EXT_DIR_INT_H

#include "ext/mount_int.h"

/* ---- entries (dirent.c) ---------------------------------------------------- */

/* A stretch of entries: a block, or a part of an inline directory. */
struct ext_dir_area {
	const struct ext_super *sb;
	const uint8_t *data;
	uint32_t bytes;
	blk_no at;    /* the block it is in */
	uint32_t ino; /* of the directory */
	bool raw;     /* names are ciphertext: any bytes */
};

struct ext_dirent {
	uint32_t ino; /* 0: unused */
	uint32_t offset;
	uint8_t type; /* DT_* */
	uint32_t name_bytes;
	const char *name;
};

/*
 * The entry at @*pos, which moves on to the next; -ENOENT at the end.  An
 * entry that makes no sense is -EUCLEAN.
 */
MUST_USE int ext_dirent_next(const struct ext_dir_area *area, uint32_t *pos,
	struct ext_dirent *out, struct ext_damage *damage);

/* The entry of that name; -ENOENT: there is none in @area. */
MUST_USE int ext_dirent_find(const struct ext_dir_area *area, const char *name,
	uint32_t name_bytes, struct ext_dirent *out, struct ext_damage *damage);

/* How many blocks the directory has; none when it is inline. */
uint32_t ext_dir_blocks(const struct ext_node *dir);

enum ext_dir_block_kind {
	EXT_DIR_ANY,  /* whichever it looks like; the root's checksum is not
	                 checked: for whoever reads around a damaged index */
	EXT_DIR_LEAF, /* entries */
	EXT_DIR_ROOT, /* of the index */
	EXT_DIR_NODE, /* of the index, below the root */
};

/* Block @index of @dir, pinned. */
MUST_USE int ext_dir_block_get(const struct ext_node *dir, uint32_t index,
	enum ext_dir_block_kind kind, struct buf **out,
	struct ext_damage *damage);

/* The entries of such a block. */
struct ext_dir_area ext_dir_area_of(
	const struct ext_node *dir, const struct buf *buf);

/* ---- names as they are shown (dirname.c) ------------------------------------ */

/* "." and "..". */
bool ext_name_is_dots(const char *name, uint32_t bytes);

/*
 * The name of @e as it is shown: itself, or in @room (VFS_NAME_MAX bytes) a
 * stand-in for ciphertext.
 */
const char *ext_name_shown(const struct ext_node *dir,
	const struct ext_dirent *e, char *room, uint32_t *bytes);

/* ---- hashes of names (hash.c) -------------------------------------------------- */

enum ext_hash_version {
	EXT_HASH_LEGACY,
	EXT_HASH_HALF_MD4,
	EXT_HASH_TEA,
	EXT_HASH_UNSIGNED, /* added to those when chars are unsigned */
	EXT_HASH_COUNT = 2 * EXT_HASH_UNSIGNED,
};

/* What the index is ordered by; always even.  @seed: all 0 is the default. */
uint32_t ext_hash_name(unsigned version, const uint32_t seed[4],
	const char *name, uint32_t bytes, uint32_t *minor);

/* ---- the index (htree.c) --------------------------------------------------------- */

enum ext_index_state {
	EXT_INDEX_UNKNOWN, /* not looked at as a whole */
	EXT_INDEX_GOOD,
	EXT_INDEX_BAD, /* damaged: the directory is read in its order */
};

enum { EXT_HTREE_LEVELS_MAX = 3 };

struct ext_htree_level {
	struct buf *buf;
	uint32_t first; /* byte where entries begin */
	uint32_t count;
	uint32_t pos;
};

/* A place in the index of a directory: one of its leaves. */
struct ext_htree {
	const struct ext_node *dir;
	struct ext_damage *damage;
	unsigned version; /* enum ext_hash_version */
	unsigned levels;
	struct ext_htree_level level[EXT_HTREE_LEVELS_MAX];
	uint32_t lo;    /* the lowest hash in this leaf; odd: the leaf before
	                  has some of this hash, too */
	uint32_t hi;    /* of the next leaf; 0: there is none */
	uint32_t leaf;  /* block of the directory */
	uint32_t steps; /* leaves passed */
};

/* Whether @dir has an index that can be used. */
bool ext_htree_usable(const struct ext_node *dir);

MUST_USE int ext_htree_open(struct ext_htree *t, const struct ext_node *dir,
	struct ext_damage *damage);
void ext_htree_close(struct ext_htree *t);

/* Go to the first leaf that may hold @hash. */
MUST_USE int ext_htree_seek(struct ext_htree *t, uint32_t hash);

/* Go to the next leaf; -ENOENT: there is none. */
MUST_USE int ext_htree_next(struct ext_htree *t);

MUST_USE int ext_htree_lookup(const struct ext_node *dir, const char *name,
	uint32_t bytes, uint32_t *ino, struct ext_damage *damage);

/* Look at the whole index without any leaf. */
MUST_USE int ext_htree_verify(
	const struct ext_node *dir, struct ext_damage *damage);

/* ---- reading (htread.c, dir.c) ------------------------------------------------------ */

/* In order of hashes; 0 also when @emit stopped it. */
MUST_USE int ext_htree_readdir(const struct ext_node *dir, uint64_t cookie,
	vfs_dirent_fn emit, void *arg, struct ext_damage *damage);

#endif /* EXT_DIR_INT_H */
