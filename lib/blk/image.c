/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * image.c - see part.h: from what a user writes to a device.
 *
 * Containers that would be taken for a raw image, and destroyed, are known by
 * name and refused.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "blk/blk_int.h"
#include "blk/file.h"
#include "blk/known.h"
#include "blk/part.h"
#include "blk/part_int.h"

/* ---- containers -------------------------------------------------------- */

static int container_refuse(struct blk_dev *dev, const struct file_who *why)
{
	const struct known *k;
	int err = known_container(dev, &k);

	if (err != 0) {
		file_tell(why, "%s", strerrordesc_np(-err));
		return err;
	}
	if (k == NULL)
		return 0;
	file_tell(why, "is %s; %s", k->what, k->hint);
	return -EMEDIUMTYPE;
}

/* ---- partitions -------------------------------------------------------- */

/* Which partitions there are, for whoever asked for another. */
static void absent_tell(const struct part_table *table, unsigned long number,
	const struct file_who *why)
{
	char list[128];
	size_t used = 0;

	if (table->count == 0) {
		file_tell(why, "has no partitions");
		return;
	}
	list[0] = '\0';
	for (uint32_t i = 0; i < table->count && used < sizeof(list); i++) {
		int n = snprintf(list + used, sizeof(list) - used, " %u",
			table->parts[i].number);

		used += n < 0 ? sizeof(list) : (size_t)n;
	}
	file_tell(why, "has no partition %lu, but%s", number, list);
}

static int part_find(struct blk_dev *dev, unsigned long number,
	struct part_table *table, const struct file_who *why,
	const struct part **out)
{
	char reason[128];
	int err = part_read_reason(dev, table, reason, sizeof(reason));

	if (err == -EUCLEAN)
		file_tell(why, "damaged partition table: %s", reason);
	else if (err != 0)
		file_tell(why, "%s", strerrordesc_np(-err));
	if (err != 0)
		return err;
	for (uint32_t i = 0; i < table->count; i++) {
		const struct part *part = &table->parts[i];

		if (part->number != number)
			continue;
		*out = part;
		if (!part_is_extended(part->mbr_type))
			return 0;
		file_tell(why, "partition %lu only contains others", number);
		return -EINVAL;
	}
	absent_tell(table, number, why);
	return -ENOENT;
}

/* Partition @number of @dev, which is owned by the result. */
static int part_open(struct blk_dev *dev, unsigned long number,
	const struct file_who *why, struct blk_dev **out)
{
	struct part_table *table = malloc(sizeof(*table));
	const struct part *part;
	int err = -ENOMEM;

	if (table == NULL) {
		file_tell(why, "%s", strerrordesc_np(ENOMEM));
		return err;
	}
	err = part_find(dev, number, table, why, &part);
	if (err != 0)
		goto out_free;
	err = blk_open_range(dev, part->offset, part->bytes, out);
	if (err != 0)
		file_tell(why, "partition %lu: %s", number,
			strerrordesc_np(-err));
out_free:
	free(table);
	return err;
}

/* ---- what a user writes ------------------------------------------------ */

/* "1G" in bytes; false: not a size. */
static bool size_parse(const char *text, uint64_t *out)
{
	static const char units[] = "KMGTPE";
	const char *unit;
	char *end;
	uint64_t bytes;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	bytes = strtoull(text, &end, 10);
	if (errno != 0)
		return false;
	unit = *end == '\0' ? NULL : strchr(units, *end);
	if (unit != NULL) {
		unsigned shift = 10 * (unsigned)(unit - units + 1);

		if (bytes > UINT64_MAX >> shift)
			return false;
		bytes <<= shift;
		end++;
	}
	*out = bytes;
	return *end == '\0';
}

static int mem_image(const char *size, unsigned flags,
	const struct file_who *why, struct blk_dev **out)
{
	uint64_t bytes;
	int err;

	if (!size_parse(size, &bytes)) {
		file_tell(why, "a size looks like 512M or 1G");
		return -EINVAL;
	}
	err = blk_open_mem(bytes, out);
	if (err == -EINVAL)
		file_tell(why, "a size is a multiple of 512 bytes");
	else if (err != 0)
		file_tell(why, "%s", strerrordesc_np(-err));
	else
		(*out)->geom.read_only = (flags & BLK_OPEN_WRITE) == 0;
	return err;
}

/* Whether @spec is IMAGE#N; @path gets IMAGE. */
static bool spec_split(
	const char *spec, char path[PATH_MAX], unsigned long *number)
{
	const char *mark = strrchr(spec, '#');
	size_t length = mark == NULL ? 0 : (size_t)(mark - spec);
	struct stat st;
	char *end;

	if (length == 0 || length >= PATH_MAX || stat(spec, &st) == 0)
		return false;
	if (mark[1] < '0' || mark[1] > '9')
		return false;
	errno = 0;
	*number = strtoul(mark + 1, &end, 10);
	if (errno != 0 || *end != '\0')
		return false;
	memcpy(path, spec, length);
	path[length] = '\0';
	return true;
}

int blk_open_image(const char *spec, unsigned flags, char *why,
	size_t why_bytes, struct blk_dev **out)
{
	struct file_who tell = {.path = spec, .bytes = why_bytes};
	struct blk_dev *dev = NULL;
	struct blk_dev *part = NULL;
	char path[PATH_MAX];
	unsigned long number = 0;
	bool split;
	int err;

	tell.text = why;
	if (strncmp(spec, "mem:", 4) == 0)
		return mem_image(spec + 4, flags, &tell, out);
	split = spec_split(spec, path, &number);
	if (split)
		tell.path = path;
	err = blk_open_file(tell.path, flags, why, why_bytes, &dev);
	if (err != 0)
		return err;
	err = container_refuse(dev, &tell);
	if (err == 0 && split) {
		err = part_open(dev, number, &tell, &part);
		if (err == 0) {
			dev = part;
			tell.path = spec;
			err = container_refuse(dev, &tell);
		}
	}
	if (err != 0)
		blk_close(dev);
	else
		*out = dev;
	return err;
}
