/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.c - a transaction becomes durable: in the log, or straight at home.
 *
 * In the log: revoke blocks, then groups of a descriptor with the blocks that
 * it names, then the commit block.  A group never spans two pieces of the
 * stream, so a descriptor is complete before its piece is submitted.
 *
 * The place of the commit block is written twice.  Before the first barrier
 * it gets zeroes: its final tail, and a first sector that is no commit block.
 * After the barrier only the first sector changes, and a sector does not
 * tear, so a power cut leaves a commit block or none, never a damaged one.
 */
#include <string.h>
#include <time.h>

#include "base/crc32c.h"
#include "jnl/jnl_int.h"

/* Where the next log block goes. */
struct scribe {
	struct jnl *j;
	struct jnl_haul *haul;
	jnl_tid tid;     /* the sequence number */
	uint32_t at;     /* log block */
	uint32_t count;  /* log blocks so far */
	uint32_t v1_crc; /* of descriptors and data in log order */
};

static uint32_t blocks_for(uint32_t items, uint32_t per_block)
{
	return (items + per_block - 1) / per_block;
}

uint32_t jnl_record_need(
	const struct jnl_super *sb, uint32_t blocks, uint32_t piece_blocks)
{
	uint32_t tags = jnl_tags_per_block(sb);
	uint32_t revokes = jnl_block_room(sb) - sizeof(struct jbd_revoke);

	/* A piece that begins in the middle may cut one group short, and each
	 * piece end cuts at most one more. */
	if (tags > piece_blocks - 1)
		tags = piece_blocks - 1;
	return blocks + blocks_for(blocks, tags) +
	       blocks_for(blocks, piece_blocks - 1) + 1 +
	       blocks_for(blocks, revokes / jnl_revoke_bytes(sb)) + 1;
}

static unsigned char *scribe_block(struct scribe *s)
{
	struct jnl *j = s->j;
	void *block =
		jnl_stream_block(&j->stream, jnl_place_dev(&j->place, s->at));

	s->at = s->at + 1 == j->super.end ? j->super.first : s->at + 1;
	s->count++;
	return block;
}

/* ---- revokes ---------------------------------------------------------------- */

static void scribe_revoke_block(struct scribe *s, uint32_t from, uint32_t count)
{
	struct jnl *j = s->j;
	unsigned char *block = scribe_block(s);
	uint32_t bytes = jnl_revoke_bytes(&j->super);
	unsigned char *at = block + sizeof(struct jbd_revoke);
	struct jbd_revoke *head = (struct jbd_revoke *)(void *)block;

	memset(block, 0, j->block_bytes);
	jnl_header_encode(block, JBD_REVOKE, s->tid);
	for (uint32_t i = 0; i < count; i++, at += bytes) {
		blk_no freed = s->haul->freed[from + i]->block;
		struct be64 wide = be64_of(freed);
		struct be32 narrow = be32_of((uint32_t)freed);

		if (bytes == sizeof(wide))
			memcpy(at, &wide, sizeof(wide));
		else
			memcpy(at, &narrow, sizeof(narrow));
	}
	head->bytes = be32_of((uint32_t)(at - block));
	jnl_block_seal(&j->super, block);
}

static void scribe_revokes(struct scribe *s)
{
	uint32_t most =
		(jnl_block_room(&s->j->super) - sizeof(struct jbd_revoke)) /
		jnl_revoke_bytes(&s->j->super);
	uint32_t count = s->haul->freed_count;

	for (uint32_t at = 0; at < count; at += most)
		scribe_revoke_block(
			s, at, count - at < most ? count - at : most);
	s->j->stats.revokes += count;
}

/* ---- blocks -------------------------------------------------------------------- */

/*
 * Copy what the transaction @stamp says @b holds to @to, checksums stored.
 * From here on nobody keeps the old contents for it.
 */
static void copy_sealed(
	struct jnl *j, uint64_t stamp, struct buf *b, unsigned char *to)
{
	struct jnl_buf *jb = jnl_buf_of(b);
	void *data;

	mtx_lock(&b->lock);
	data = jb->frozen != NULL ? jb->frozen : b->data;
	ASSERT(jb->frozen != NULL || jb->folded ||
		atomic_load(&jb->stamp) == stamp);
	if (j->client->seal != NULL)
		j->client->seal(j->client_arg, b, data);
	memcpy(to, data, j->block_bytes);
	if (jb->frozen != NULL)
		cache_copy_free(j->cache, jb->frozen);
	jb->frozen = NULL;
	jb->member[jnl_parity(stamp)] = MEMBER_NONE;
	mtx_unlock(&b->lock);
}

/* A block that begins with the magic number would look like the log's own. */
static uint32_t escape(unsigned char *block)
{
	struct be32 first;

	memcpy(&first, block, sizeof(first));
	if (be32_get(first) != JBD_MAGIC)
		return 0;
	memset(block, 0, sizeof(first));
	return JBD_TAG_ESCAPE;
}

/*
 * The contents of the next block are on their way to the CPU while the present
 * one is checksummed, and so is what stands around those of a later one: all
 * are cold, and no two need lie side by side.
 */
static void scribe_prefetch(const struct scribe *s, uint32_t next)
{
	enum { LATER = 4, LINE = 64 };
	const struct jnl_haul *haul = s->haul;
	const unsigned char *data;

	if (next + LATER >= haul->count)
		return;
	__builtin_prefetch(&haul->logged[next + LATER].buf->data);
	__builtin_prefetch(&haul->logged[next + LATER].buf->lock, 1);
	__builtin_prefetch(haul->logged[next + LATER].buf->client, 1);
	data = haul->logged[next].buf->data;
	for (uint32_t at = 0; at < s->j->block_bytes; at += LINE)
		__builtin_prefetch(data + at);
}

/* One descriptor and the @count blocks from @from on that it names. */
static void scribe_group(struct scribe *s, uint32_t from, uint32_t count)
{
	struct jnl *j = s->j;
	unsigned char *descriptor = scribe_block(s);
	uint32_t at = sizeof(struct jbd_header);

	memset(descriptor, 0, j->block_bytes);
	jnl_header_encode(descriptor, JBD_DESCRIPTOR, s->tid);
	for (uint32_t i = 0; i < count; i++) {
		struct buf *b = s->haul->logged[from + i].buf;
		unsigned char *block = scribe_block(s);
		struct jnl_tag tag = {.home = b->block};

		copy_sealed(j, s->haul->stamp, b, block);
		scribe_prefetch(s, from + i + 1);
		tag.flags = escape(block);
		tag.flags |= i != 0 ? JBD_TAG_SAME_UUID : 0;
		tag.flags |= i == count - 1 ? JBD_TAG_LAST : 0;
		tag.checksum = jnl_tag_checksum(&j->super, s->tid, block);
		jnl_tag_encode(&j->super, descriptor, &at, &tag);
	}
	jnl_block_seal(&j->super, descriptor);
	/* The group lies in one piece: descriptor and data are contiguous. */
	if (j->super.csum_v1)
		s->v1_crc = crc32_be(s->v1_crc, descriptor,
			((size_t)count + 1) * j->block_bytes);
}

static void scribe_blocks(struct scribe *s)
{
	struct jnl *j = s->j;
	uint32_t tags = jnl_tags_per_block(&j->super);
	uint32_t count;

	for (uint32_t at = 0; at < s->haul->count; at += count) {
		uint32_t room = jnl_stream_room(&j->stream);

		if (room < 2)
			room = jnl_stream_break(&j->stream);
		count = s->haul->count - at;
		if (count > tags)
			count = tags;
		if (count > room - 1)
			count = room - 1;
		scribe_group(s, at, count);
	}
}

/* ---- the commit block ------------------------------------------------------------ */

static int scribe_commit(struct scribe *s, blk_no address)
{
	struct jnl *j = s->j;
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	jnl_commit_encode(&j->super, j->commit_block, s->tid,
		(uint64_t)now.tv_sec, (uint32_t)now.tv_nsec, s->v1_crc);
	return blk_write(j->log_dev, address * j->block_bytes, j->block_bytes,
		j->commit_block);
}

int jnl_record_log(struct jnl *j, struct jnl_haul *haul)
{
	struct scribe s = {.j = j,
		.haul = haul,
		.tid = j->next_sequence,
		.at = j->head,
		.v1_crc = ~0U};
	blk_no commit;
	int err = 0;

	scribe_revokes(&s);
	scribe_blocks(&s);
	commit = jnl_place_dev(&j->place, s.at);
	memset(scribe_block(&s), 0, j->block_bytes);
	err = jnl_stream_wait(&j->stream);
	/* The barrier before the commit block: pairs with replay's trust that
	 * an intact commit block vouches for all that it follows, and with
	 * the order of ordered data, on whichever device that is. */
	if (err == 0 && j->place.external)
		err = blk_flush(j->home_dev);
	if (err == 0)
		err = blk_flush(j->log_dev);
	if (err == 0)
		err = scribe_commit(&s, commit);
	/* The barrier after it: what waits for this transaction is told. */
	if (err == 0)
		err = blk_flush(j->log_dev);
	haul->log_blocks = s.count;
	j->stats.logged_blocks += s.count;
	ASSERT(s.count <= j->log_need);
	return err;
}

/* ---- without a journal -------------------------------------------------------------- */

int jnl_record_home(struct jnl *j, struct jnl_haul *haul)
{
	enum { PASSES = 4 };

	int err = 0;

	for (unsigned pass = 0; pass < PASSES && err == 0; pass++) {
		for (uint32_t i = 0; i < haul->count; i++) {
			struct buf *b = haul->logged[i].buf;
			unsigned its =
				j->client->home_pass != NULL
					? j->client->home_pass(j->client_arg, b)
					: 0;

			if (its % PASSES == pass)
				copy_sealed(j, haul->stamp, b,
					jnl_stream_block(&j->stream, b->block));
		}
		err = jnl_stream_wait(&j->stream);
	}
	atomic_fetch_add(&j->stat_home, haul->count);
	return err == 0 ? blk_flush(j->home_dev) : err;
}
