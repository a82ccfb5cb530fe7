/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fast.c - the fast-commit area: little-endian records in a row of blocks.
 *
 * The area is written from its beginning after each full commit, over what
 * was there; records of older transactions may follow the new ones.  Nothing
 * says how many there are: they go on until something is not a record, not
 * intact, or another transaction's, which is how the kernel reads them, too.
 */
#include <errno.h>

#include "base/crc32c.h"
#include "jnl/replay_int.h"

void jnl_fast_init(struct jnl_fast *f, struct jnl_log *log)
{
	*f = (struct jnl_fast){.log = log, .at = log->sb.fc_first};
}

/* Read the fields of a HEAD or a TAIL; false: it is too short to have them. */
static bool decode_ends(struct jnl_fast_record *r)
{
	struct jbd_fast_head head;
	struct jbd_fast_tail tail;

	if (r->tag == JBD_FAST_HEAD) {
		if (r->bytes < sizeof(head))
			return false;
		memcpy(&head, r->body, sizeof(head));
		r->features = le32_get(head.features);
		r->tid = le32_get(head.tid);
	} else if (r->tag == JBD_FAST_TAIL) {
		if (r->bytes < sizeof(tail))
			return false;
		memcpy(&tail, r->body, sizeof(tail));
		r->tid = le32_get(tail.tid);
	}
	return true;
}

/* Take @r, which lies at @raw, into the checksum; a TAIL ends it. */
static void sum_up(
	struct jnl_fast *f, struct jnl_fast_record *r, const uint8_t *raw)
{
	const uint32_t covered = sizeof(struct jbd_fast) +
				 offsetof(struct jbd_fast_tail, checksum);
	struct jbd_fast_tail tail;

	if (r->tag != JBD_FAST_TAIL) {
		f->crc =
			crc32c(f->crc, raw, sizeof(struct jbd_fast) + r->bytes);
		return;
	}
	memcpy(&tail, r->body, sizeof(tail));
	f->crc = crc32c(f->crc, raw, covered);
	r->sum = f->crc == le32_get(tail.checksum) ? JNL_SUM_GOOD : JNL_SUM_BAD;
	f->crc = 0;
}

bool jnl_fast_next(struct jnl_fast *f, struct jnl_fast_record *out, int *err)
{
	const uint32_t block_bytes = f->log->sb.block_bytes;
	struct jbd_fast raw;
	const void *data;
	const uint8_t *from;

	*err = 0;
	if (block_bytes - f->offset < sizeof(raw)) {
		f->at++;
		f->offset = 0;
	}
	if (f->at >= f->log->sb.block_count)
		return false;
	*err = jnl_log_read(f->log, f->at, &data);
	if (*err != 0)
		return false;
	from = (const uint8_t *)data + f->offset;
	memcpy(&raw, from, sizeof(raw));
	*out = (struct jnl_fast_record){
		.log = f->at,
		.offset = f->offset,
		.tag = le16_get(raw.tag),
		.bytes = le16_get(raw.bytes),
		.body = from + sizeof(raw),
	};
	if (out->tag < JBD_FAST_ADD_RANGE || out->tag > JBD_FAST_HEAD ||
		out->bytes > block_bytes - f->offset - sizeof(raw) ||
		!decode_ends(out))
		return false;
	sum_up(f, out, from);
	f->offset += sizeof(raw) + out->bytes;
	return true;
}

int jnl_fast_count(struct jnl_log *log, jnl_tid tid, uint32_t *count)
{
	struct jnl_fast_record record;
	struct jnl_fast f;
	uint32_t features = 0;
	uint32_t seen = 0;
	int err;

	*count = 0;
	jnl_fast_init(&f, log);
	while (jnl_fast_next(&f, &record, &err)) {
		bool head = record.tag == JBD_FAST_HEAD;
		bool tail = record.tag == JBD_FAST_TAIL;

		if ((seen == 0 && !head) ||
			((head || tail) && record.tid != tid) ||
			record.sum == JNL_SUM_BAD)
			break;
		features |= record.features;
		seen++;
		if (!tail)
			continue;
		if (features != 0)
			return jnl_log_refuse(log, -EOPNOTSUPP,
				"unknown fast-commit features 0x%x", features);
		*count = seen;
	}
	return err;
}
