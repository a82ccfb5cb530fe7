/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Partition tables: sfdisk makes them and says what is in them; damaged and
 * hostile ones are made by hand.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cmocka_all.h"
#include "../seed.h"
#include "base/hash.h"
#include "base/log.h"
#include "blk/blk.h"
#include "blk/part.h"
#include "mbr_make.h"

static char image[32];

/* In memory where there is a place. */
static int image_make(void **state)
{
	int fd;

	(void)state;
	(void)strcpy(image, "/dev/shm/blk-part-XXXXXX");
	fd = mkstemp(image);
	if (fd < 0) {
		(void)strcpy(image, "blk-part-XXXXXX");
		fd = mkstemp(image);
	}
	return fd < 0 ? -1 : close(fd);
}

static int image_remove(void **state)
{
	(void)state;
	return unlink(image);
}

static struct blk_dev *image_open(unsigned flags)
{
	struct blk_dev *dev = NULL;
	char who[256] = "";

	if (blk_open_file(image, flags, who, sizeof(who), &dev) != 0)
		fail_msg("%s", who);
	return dev;
}

/* ---- sfdisk ------------------------------------------------------------ */

/*
 * Have a command that takes the image's name make a table on an empty one.
 * sfdisk goes with --no-tell-kernel, or it would wait until all that anybody
 * on this machine has written is on the disks, as fdisk does in any case.
 */
static void table_make(const char *command, const char *script)
{
	char line[512];
	FILE *to;

	assert_int_equal(truncate(image, 0), 0);
	assert_int_equal(truncate(image, DEV_BYTES), 0);
	(void)snprintf(line, sizeof(line),
		"PATH=$PATH:/sbin:/usr/sbin; %s %s >/dev/null 2>&1", command,
		image);
	to = popen(line, "w"); /* NOLINT(cert-env33-c) */
	assert_non_null(to);
	assert_true(fputs(script, to) >= 0);
	if (pclose(to) != 0) {
		skip_because("no sfdisk here, or no loop device");
	}
}

/* What sfdisk says about one partition. */
struct judged {
	unsigned number;
	uint64_t start;
	uint64_t size;
	char type[64];
	char uuid[64];
	char name[256];
};

/* The value of @key in a line of `sfdisk -d`, up to a comma or quote. */
static void value_get(
	const char *line, const char *key, char *value, size_t bytes)
{
	const char *at = strstr(line, key);
	size_t n;

	value[0] = '\0';
	if (at == NULL)
		return;
	at += strlen(key);
	at += strspn(at, " ");
	n = *at == '"' ? strcspn(++at, "\"") : strcspn(at, ",\n");
	assert_true(n < bytes);
	memcpy(value, at, n);
	value[n] = '\0';
}

static unsigned judge_read(struct judged *list)
{
	char command[256];
	char line[1024];
	char value[64];
	unsigned count = 0;
	FILE *from;

	(void)snprintf(command, sizeof(command),
		"PATH=$PATH:/sbin:/usr/sbin; sfdisk -d %s", image);
	from = popen(command, "r"); /* NOLINT(cert-env33-c) */
	assert_non_null(from);
	while (fgets(line, sizeof(line), from) != NULL) {
		struct judged *j = &list[count];
		const char *at;

		if (strncmp(line, image, strlen(image)) != 0)
			continue;
		/* After a name that ends in a digit comes a "p". */
		at = line + strlen(image);
		j->number = (unsigned)strtoul(at + (*at == 'p'), NULL, 10);
		value_get(line, "start=", value, sizeof(value));
		j->start = strtoull(value, NULL, 10);
		value_get(line, "size=", value, sizeof(value));
		j->size = strtoull(value, NULL, 10);
		value_get(line, "type=", j->type, sizeof(j->type));
		value_get(line, "uuid=", j->uuid, sizeof(j->uuid));
		value_get(line, "name=", j->name, sizeof(j->name));
		assert_true(++count <= PART_MAX);
	}
	assert_int_equal(pclose(from), 0);
	return count;
}

/* As Windows and sfdisk print it: three fields little-endian. */
static void guid_text(const uint8_t g[16], char text[40])
{
	(void)snprintf(text, 40,
		"%02X%02X%02X%02X-%02X%02X-%02X%02X-%02X%02X-"
		"%02X%02X%02X%02X%02X%02X",
		g[3], g[2], g[1], g[0], g[5], g[4], g[7], g[6], g[8], g[9],
		g[10], g[11], g[12], g[13], g[14], g[15]);
}

static void compare(const struct part *part, const struct judged *j,
	enum part_scheme scheme, uint64_t lba)
{
	char text[40];

	assert_int_equal(part->number, j->number);
	assert_int_equal(part->offset, j->start * lba);
	assert_int_equal(part->bytes, j->size * lba);
	if (scheme == PART_MBR) {
		assert_int_equal(part->mbr_type, strtoul(j->type, NULL, 16));
		assert_string_equal(part->name, "");
		return;
	}
	guid_text(part->guid_type, text);
	assert_string_equal(text, j->type);
	guid_text(part->guid, text);
	assert_string_equal(text, j->uuid);
	assert_string_equal(part->name, j->name);
}

/* Our reading of the image and sfdisk's are the same. */
static unsigned judge(enum part_scheme scheme, uint64_t lba)
{
	static struct judged list[PART_MAX];
	static struct part_table table;
	struct blk_dev *dev = image_open(0);
	unsigned count = judge_read(list);

	assert_int_equal(part_read(dev, &table), 0);
	assert_int_equal(table.scheme, scheme);
	assert_int_equal(table.count, count);
	for (unsigned i = 0; i < count; i++)
		compare(&table.parts[i], &list[i], scheme, lba);
	blk_close(dev);
	return count;
}

/* ---- made by sfdisk ---------------------------------------------------- */

static void test_part_mbr_as_sfdisk_says(void **state)
{
	(void)state;
	table_make("sfdisk --no-tell-kernel",
		"label: dos\n"
		"1: start=2048, size=4096, type=83, bootable\n"
		"3: start=8192, size=1, type=82\n"
		"4: start=16384, size=100000, type=5\n"
		"5: start=18432, size=2048, type=83\n"
		"6: start=24576, size=63, type=b\n"
		"7: start=30000, size=70000, type=8e\n");
	assert_int_equal(judge(PART_MBR, SECTOR), 6);
	table_make("sfdisk --no-tell-kernel",
		"label: dos\nstart=1, size=131071, type=83\n");
	assert_int_equal(judge(PART_MBR, SECTOR), 1);
	table_make(
		"sfdisk --no-tell-kernel", "label: dos\nstart=2048, type=f\n");
	assert_int_equal(judge(PART_MBR, SECTOR), 1);
	table_make("sfdisk --no-tell-kernel", "label: dos\n");
	assert_int_equal(judge(PART_MBR, SECTOR), 0);
}

static void test_part_random_mbr_as_sfdisk_says(void **state)
{
	uint64_t rng = test_seed();

	(void)state;
	for (int round = 0; round < 6; round++) {
		char script[8192];
		size_t used = (size_t)snprintf(
			script, sizeof(script), "label: dos\n");
		uint64_t at = 65536;
		unsigned logical = (unsigned)(hash_next(&rng) % 40);

		for (unsigned n = 1; n <= 3; n++)
			if (hash_next(&rng) % 2 == 0)
				used += (size_t)snprintf(script + used,
					sizeof(script) - used,
					"%u: start=%u, size=%u, type=%x\n", n,
					2048 + n * 10000,
					1 + (unsigned)(hash_next(&rng) % 9999),
					0x80 + n);
		used += (size_t)snprintf(script + used, sizeof(script) - used,
			"4: start=65000, size=66000, type=f\n");
		for (unsigned n = 0; n < logical; n++) {
			uint64_t size = 1 + hash_next(&rng) % 1400;

			at += 2 + hash_next(&rng) % 100;
			used += (size_t)snprintf(script + used,
				sizeof(script) - used,
				"%u: start=%u, size=%u, type=83\n", n + 5,
				(unsigned)at, (unsigned)size);
			at += size;
		}
		table_make("sfdisk --no-tell-kernel", script);
		assert_true(judge(PART_MBR, SECTOR) >= 1 + logical);
	}
}

static void test_part_gpt_as_sfdisk_says(void **state)
{
	(void)state;
	table_make("sfdisk --no-tell-kernel",
		"label: gpt\n"
		"1: start=2048, size=4096, type=linux, name=\"root\"\n"
		"2: start=8192, size=1, type=uefi\n"
		"7: start=65536, size=2048, type=swap, "
		"name=\"gr\xc3\xb6\xc3\x9f\x65 \xf0\x9f\x90\xa7 "
		"\xe2\x82\xac\"\n"
		"128: start=9000, size=100, type=linux\n");
	assert_int_equal(judge(PART_GPT, SECTOR), 4);
	table_make("sfdisk --no-tell-kernel",
		"label: gpt\ntable-length: 256\n"
		"256: start=34000, size=8, type=linux\n");
	assert_int_equal(judge(PART_GPT, SECTOR), 1);
	table_make("sfdisk --no-tell-kernel", "label: gpt\n");
	assert_int_equal(judge(PART_GPT, SECTOR), 0);
}

static void test_part_gpt_of_4k_sectors_is_read_from_a_file(void **state)
{
	static struct part_table table;
	struct blk_dev *dev;

	(void)state;
	/* sfdisk takes the size of sectors from the device. */
	table_make("sh -c '"
		   "dev=$(losetup -f --show -b 4096 $0) || exit 1;"
		   "sfdisk -q --no-tell-kernel --no-reread $dev;"
		   "made=$?; losetup -d $dev; exit $made'",
		"label: gpt\nstart=256, size=512\nstart=768, size=256\n");
	dev = image_open(0);
	assert_int_equal(part_read(dev, &table), 0);
	assert_int_equal(table.scheme, PART_GPT);
	assert_int_equal(table.count, 2);
	assert_int_equal(table.parts[0].offset, 256 * 4096);
	assert_int_equal(table.parts[0].bytes, 2 << 20);
	assert_int_equal(table.parts[1].offset, (256 + 512) * 4096);
	assert_int_equal(table.parts[1].bytes, 1 << 20);
	blk_close(dev);
}

/* ---- damaged, by hand -------------------------------------------------- */

static char said[512];

static void note_said(void *arg, const struct log_record *record)
{
	(void)arg;
	(void)snprintf(said, sizeof(said), "%s", record->text);
}

static void expect_damaged(struct blk_dev *dev, const char *reason)
{
	static struct part_table table;

	said[0] = '\0';
	log_to(note_said, NULL);
	assert_int_equal(part_read(dev, &table), -EUCLEAN);
	log_to(NULL, NULL);
	assert_non_null(strstr(said, reason));
}

static void put64(uint8_t *at, uint64_t value)
{
	put32(at, (uint32_t)value);
	put32(at + 4, (uint32_t)(value >> 32));
}

static struct blk_dev *mem_open(void)
{
	struct blk_dev *dev = NULL;

	assert_int_equal(blk_open_mem(DEV_BYTES, &dev), 0);
	return dev;
}

static void test_part_mbr_hostile_values_are_euclean(void **state)
{
	struct blk_dev *dev = mem_open();
	uint8_t mbr[512] = {0};
	uint8_t ebr[512] = {0};

	(void)state;
	mbr_entry_put(mbr, 1, 0x83, SECTORS - 1, 2);
	put(dev, 0, mbr);
	expect_damaged(dev, "partition 2 ends beyond the device");
	mbr_entry_put(mbr, 1, 0x83, UINT32_MAX, UINT32_MAX);
	put(dev, 0, mbr);
	expect_damaged(dev, "partition 2 ends beyond the device");

	/* A chain that leads to itself, then one that leads away. */
	mbr_entry_put(mbr, 1, 0x05, 1000, 100000);
	put(dev, 0, mbr);
	mbr_entry_put(ebr, 0, 0x83, 1, 10);
	mbr_entry_put(ebr, 1, 0x05, 500, 100);
	put(dev, 1000, ebr);
	put(dev, 1500, ebr);
	expect_damaged(dev, "in a circle at sector 1500");
	mbr_entry_put(ebr, 1, 0x05, 3000000, 100);
	put(dev, 1500, ebr);
	expect_damaged(dev, "beyond the device");
	mbr_entry_put(ebr, 1, 0x05, 700, 100);
	put(dev, 1500, ebr);
	expect_damaged(dev, "no logical partition's record at sector 1700");
	mbr_entry_put(ebr, 0, 0x83, UINT32_MAX, 1);
	put(dev, 1500, ebr);
	expect_damaged(dev, "partition 6 ends beyond the device");
	blk_close(dev);
}

static void test_part_endless_chain_ends(void **state)
{
	struct blk_dev *dev = mem_open();
	uint8_t mbr[512] = {0};
	uint8_t ebr[512] = {0};

	(void)state;
	mbr_entry_put(mbr, 0, 0x0f, 1000, 100000);
	put(dev, 0, mbr);
	for (uint32_t i = 0; i < 1000; i++) {
		mbr_entry_put(ebr, 1, 0x05, i + 1, 100);
		put(dev, 1000 + i, ebr);
	}
	expect_damaged(dev, "more than 256 logical partitions");
	for (uint32_t i = 0; i < 1000; i++) {
		mbr_entry_put(ebr, 0, 0x83, 1, 1);
		mbr_entry_put(ebr, 1, 0x05, i + 1, 100);
		put(dev, 1000 + i, ebr);
	}
	expect_damaged(dev, "more than 256 partitions");
	blk_close(dev);
}

static void test_part_boot_sectors_are_no_tables(void **state)
{
	static struct part_table table;
	struct blk_dev *dev = mem_open();
	uint8_t sector[512] = {0};

	(void)state;
	assert_int_equal(part_read(dev, &table), 0);
	assert_int_equal(table.scheme, PART_NONE);
	memset(sector, 0x90, 510); /* code */
	sector[510] = 0x55;
	sector[511] = 0xaa;
	put(dev, 0, sector);
	assert_int_equal(part_read(dev, &table), 0);
	assert_int_equal(table.scheme, PART_NONE);
	memset(sector, 0, 510);
	for (int i = 0; i < 8; i++)
		sector[82 + i] = (uint8_t) "FAT32   "[i];
	sector[446 + 4] = 0x83;
	put32(sector + 446 + 12, 5);
	put(dev, 0, sector);
	assert_int_equal(part_read(dev, &table), 0);
	assert_int_equal(table.scheme, PART_NONE);
	blk_close(dev);
	assert_int_equal(blk_open_mem(0, &dev), 0);
	assert_int_equal(part_read(dev, &table), 0);
	assert_int_equal(table.scheme, PART_NONE);
	blk_close(dev);
}

/* ---- GPT by hand ------------------------------------------------------- */

/* CRC-32 of IEEE 802.3, bit by bit. */
static uint32_t crc32_slow(const uint8_t *data, size_t bytes)
{
	uint32_t crc = ~0U;

	for (size_t i = 0; i < bytes; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

struct gpt {
	struct blk_dev *dev;
	uint8_t header[512];
	uint8_t table[32 * 512];
};

static void gpt_entry_put(
	struct gpt *g, unsigned index, uint64_t first, uint64_t last)
{
	uint8_t *entry = g->table + (size_t)128 * index;

	memset(entry, 0x11, 32);
	put64(entry + 32, first);
	put64(entry + 40, last);
}

/* Write the copy whose header is at @lba, sealed as its fields are now. */
static void gpt_put(struct gpt *g, uint64_t lba, uint64_t table_lba)
{
	put64(g->header + 24, lba);
	put64(g->header + 72, table_lba);
	put32(g->header + 88, crc32_slow(g->table, sizeof(g->table)));
	put32(g->header + 16, 0);
	put32(g->header + 16, crc32_slow(g->header, 92));
	put(g->dev, lba, g->header);
	assert_int_equal(blk_write(g->dev, table_lba * SECTOR, sizeof(g->table),
				 g->table),
		0);
}

static void gpt_put_both(struct gpt *g)
{
	gpt_put(g, 1, 2);
	gpt_put(g, SECTORS - 1, SECTORS - 33);
}

static void gpt_open(struct gpt *g)
{
	uint8_t mbr[512] = {0};

	*g = (struct gpt){.dev = mem_open()};
	mbr_entry_put(mbr, 0, 0xee, 1, UINT32_MAX);
	put(g->dev, 0, mbr);
	memcpy(g->header, "EFI PART", 8);
	put32(g->header + 8, 0x10000);
	put32(g->header + 12, 92);
	put64(g->header + 40, 34);
	put64(g->header + 48, SECTORS - 34);
	put32(g->header + 80, 128);
	put32(g->header + 84, 128);
	gpt_entry_put(g, 3, 2048, 4095);
	gpt_put_both(g);
}

static void expect_one(struct gpt *g, const char *warning)
{
	static struct part_table table;

	said[0] = '\0';
	log_to(note_said, NULL);
	assert_int_equal(part_read(g->dev, &table), 0);
	log_to(NULL, NULL);
	assert_int_equal(table.scheme, PART_GPT);
	assert_int_equal(table.count, 1);
	assert_int_equal(table.parts[0].number, 4);
	assert_int_equal(table.parts[0].offset, 2048 * SECTOR);
	assert_int_equal(table.parts[0].bytes, 2048 * SECTOR);
	assert_string_equal(said, warning);
}

static void test_part_gpt_backup_stands_in(void **state)
{
	static struct gpt g;
	uint8_t junk[512];

	(void)state;
	memset(junk, 0xdd, sizeof(junk));
	gpt_open(&g);
	expect_one(&g, "");
	put(g.dev, 1, junk);
	expect_one(&g, "no GPT header; using its backup");
	gpt_put_both(&g);
	put(g.dev, 20, junk);
	expect_one(&g, "GPT entries with a bad checksum; using its backup");
	put(g.dev, SECTORS - 20, junk);
	expect_damaged(g.dev, "GPT entries with a bad checksum");
	gpt_put_both(&g);
	g.header[60] ^= 1;
	put(g.dev, 1, g.header);
	expect_one(&g, "a GPT header with a bad checksum; using its backup");
	put(g.dev, SECTORS - 1, junk);
	expect_damaged(g.dev, "a GPT header with a bad checksum");
	blk_close(g.dev);
}

/* One field of a well-sealed header is absurd. */
static void gpt_absurd(unsigned at, uint64_t value, const char *reason)
{
	static struct gpt g;

	gpt_open(&g);
	if (at < 80 && at != 12)
		put64(g.header + at, value);
	else
		put32(g.header + at, (uint32_t)value);
	gpt_put_both(&g);
	expect_damaged(g.dev, reason);
	blk_close(g.dev);
}

static void test_part_gpt_hostile_values_are_euclean(void **state)
{
	static struct gpt g;

	(void)state;
	gpt_absurd(84, 127, "GPT entries of 127 bytes");
	gpt_absurd(84, UINT32_MAX, "GPT entries of 4294967295 bytes");
	gpt_absurd(80, UINT32_MAX, "a GPT of 4294967295 entries");
	gpt_absurd(80, 0, "a GPT of 0 entries");
	gpt_absurd(12, 91, "a GPT header of 91 bytes");
	gpt_absurd(12, UINT32_MAX, "a GPT header of 4294967295 bytes");
	gpt_absurd(48, SECTORS, "a GPT beyond the device");
	gpt_absurd(40, SECTORS, "a GPT beyond the device");
	gpt_absurd(48, UINT64_MAX, "a GPT beyond the device");

	gpt_open(&g);
	gpt_entry_put(&g, 5, 10, 40);
	gpt_put_both(&g);
	expect_damaged(g.dev, "partition 6 lies out of bounds");
	gpt_entry_put(&g, 5, 100, UINT64_MAX);
	gpt_put_both(&g);
	expect_damaged(g.dev, "partition 6 lies out of bounds");
	gpt_entry_put(&g, 5, 100, 99);
	gpt_put_both(&g);
	expect_damaged(g.dev, "partition 6 lies out of bounds");
	gpt_entry_put(&g, 5, 100, 100);
	gpt_put(&g, 1, UINT64_C(2));
	put64(g.header + 72, UINT64_MAX - 3);
	put32(g.header + 16, 0);
	put32(g.header + 16, crc32_slow(g.header, 92));
	put(g.dev, 1, g.header);
	put(g.dev, SECTORS - 1, g.table);
	expect_damaged(g.dev, "beyond the device");
	blk_close(g.dev);
}

/* A few bytes of an MBR with a chain, or of a GPT's header, are others; the
 * checks that would notice are made to pass. */
static void damage(uint8_t bad[1024], bool mbr, uint64_t *rng)
{
	if (mbr)
		mbr_entry_put(bad, 0, 0x05, 1, 1000);
	for (uint64_t n = 1 + hash_next(rng) % 12; n > 0; n--) {
		size_t at = hash_next(rng) % (mbr ? 64 : 92);

		at += mbr ? (hash_next(rng) % 2 * 512) + 446 : 512;
		bad[at] = (uint8_t)hash_next(rng);
	}
	bad[510 + 512] = mbr ? 0x55 : 0;
	bad[511 + 512] = mbr ? 0xaa : 0;
	if (mbr)
		return;
	put32(bad + 512 + 16, 0);
	put32(bad + 512 + 16, crc32_slow(bad + 512, 92));
}

static void expect_in_bounds(struct blk_dev *dev)
{
	static struct part_table table;
	int err = part_read(dev, &table);

	assert_true(err == 0 || err == -EUCLEAN);
	for (uint32_t i = 0; err == 0 && i < table.count; i++) {
		const struct part *p = &table.parts[i];

		assert_true(p->offset <= DEV_BYTES);
		assert_true(p->bytes <= DEV_BYTES - p->offset);
	}
}

static void test_part_random_damage_stays_in_bounds(void **state)
{
	static uint8_t head[1024];
	static struct gpt g;
	uint64_t rng = test_seed();

	(void)state;
	gpt_open(&g);
	assert_int_equal(blk_read(g.dev, 0, sizeof(head), head), 0);
	for (int round = 0; round < 3000; round++) {
		uint8_t bad[1024];

		memcpy(bad, head, sizeof(bad));
		damage(bad, round % 2 == 0, &rng);
		put(g.dev, 0, bad);
		put(g.dev, 1, bad + 512);
		expect_in_bounds(g.dev);
	}
	blk_close(g.dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_part_mbr_as_sfdisk_says),
		cmocka_unit_test(test_part_random_mbr_as_sfdisk_says),
		cmocka_unit_test(test_part_gpt_as_sfdisk_says),
		cmocka_unit_test(
			test_part_gpt_of_4k_sectors_is_read_from_a_file),
		cmocka_unit_test(test_part_mbr_hostile_values_are_euclean),
		cmocka_unit_test(test_part_endless_chain_ends),
		cmocka_unit_test(test_part_boot_sectors_are_no_tables),
		cmocka_unit_test(test_part_gpt_backup_stands_in),
		cmocka_unit_test(test_part_gpt_hostile_values_are_euclean),
		cmocka_unit_test(test_part_random_damage_stays_in_bounds),
	};

	return cmocka_run_group_tests(tests, image_make, image_remove);
}
