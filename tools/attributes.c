/* SPDX-License-Identifier: BSD-2-Clause */
/* attributes.c - see attributes.h. */
#include "tools/attributes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cc.h"
#include "tools/acl.h"
#include "tools/utf8.h"

/* ---- reading ------------------------------------------------------------- */

static int attribute_order(const void *a, const void *b)
{
	const struct attribute *x = a;
	const struct attribute *y = b;

	return strcmp(x->name, y->name);
}

static int value_read(struct extant *fs, const struct extant_at *at,
	const char *path, unsigned flags, struct attribute *out)
{
	size_t bytes = 0;
	int err = extant_getxattr(
		fs, at, path, flags, out->name, NULL, 0, &bytes);

	if (err != 0)
		return err;
	out->value = malloc(bytes + 1);
	if (out->value == NULL)
		return -ENOMEM;
	return bytes == 0 ? 0
			  : extant_getxattr(fs, at, path, flags, out->name,
				    out->value, bytes, &out->bytes);
}

static size_t names_count(const char *names, size_t bytes)
{
	size_t count = 0;

	for (size_t i = 0; i < bytes; i++)
		count += names[i] == '\0';
	return count;
}

int attributes_read(struct extant *fs, const struct extant_at *at,
	const char *path, unsigned flags, struct attributes *out)
{
	size_t bytes = 0;
	size_t next = 0;
	int first = 0;
	int err = extant_listxattr(fs, at, path, flags, NULL, 0, &bytes);

	if (err != 0 || bytes == 0)
		return err;
	out->names = malloc(bytes);
	if (out->names == NULL)
		return -ENOMEM;
	err = extant_listxattr(fs, at, path, flags, out->names, bytes, &bytes);
	if (err != 0)
		return err;
	out->list = calloc(
		names_count(out->names, bytes) + 1, sizeof(out->list[0]));
	if (out->list == NULL)
		return -ENOMEM;
	for (; next < bytes; next += strlen(out->names + next) + 1) {
		struct attribute *a = &out->list[out->count];

		a->name = out->names + next;
		err = value_read(fs, at, path, flags, a);
		if (err == 0)
			out->count++;
		else if (first == 0)
			first = err;
		if (err != 0) {
			free(a->value);
			*a = (struct attribute){0};
		}
	}
	if (out->count > 1)
		qsort(out->list, out->count, sizeof(out->list[0]),
			attribute_order);
	return first;
}

void attributes_free(struct attributes *attributes)
{
	for (size_t i = 0; i < attributes->count; i++)
		free(attributes->list[i].value);
	free(attributes->list);
	free(attributes->names);
}

/* ---- ACLs ---------------------------------------------------------------- */

/* As acl(5) writes them. */
static const char *const acl_words[] = {
	[ACL_OWNER] = "user:",
	[ACL_USER] = "user:",
	[ACL_OWNING_GROUP] = "group:",
	[ACL_GROUP] = "group:",
	[ACL_MASK] = "mask:",
	[ACL_OTHER] = "other:",
};

/* "user::rwx,group::r-x,..."; to be freed.  NULL: it is none, or no memory. */
static char *acl_text(const struct attribute *a)
{
	struct acl_entry e;
	size_t count;
	char *text;
	char *end;

	if (!acl_count(a, &count))
		return NULL;
	text = end = calloc(count + 1, sizeof("group:4294967295:rwx,"));
	for (size_t i = 0; text != NULL && i < count; i++) {
		if (!acl_entry_at(a, i, &e)) {
			free(text);
			return NULL;
		}
		end += sprintf(
			end, "%s%s", i > 0 ? "," : "", acl_words[e.kind]);
		if (acl_has_id(e.kind))
			end += sprintf(end, "%" PRIu32, e.id);
		end += sprintf(end, ":%c%c%c", e.may & R_OK ? 'r' : '-',
			e.may & W_OK ? 'w' : '-', e.may & X_OK ? 'x' : '-');
	}
	return text;
}

static const char *acl_name(const struct attribute *a)
{
	if (strcmp(a->name, ACL_ACCESS_NAME) == 0)
		return "acl";
	if (strcmp(a->name, ACL_DEFAULT_NAME) == 0)
		return "default_acl";
	return NULL;
}

/* ---- showing ------------------------------------------------------------- */

static bool is_text(const struct attribute *a)
{
	size_t at = 0;

	while (at < a->bytes) {
		uint32_t code;
		size_t bytes = utf8_decode(a->value + at, a->bytes - at, &code);

		if (bytes == 0 || utf8_is_obeyed(code))
			return false;
		at += bytes;
	}
	return true;
}

static void show_value(const struct attribute *a, const struct show *show)
{
	if (is_text(a)) {
		(void)putc('"', show->out);
		show_name(show, (const char *)a->value, a->bytes);
		(void)putc('"', show->out);
		return;
	}
	(void)fputs("0x", show->out);
	for (size_t i = 0; i < a->bytes; i++)
		(void)fprintf(show->out, "%02x", a->value[i]);
}

void attributes_show(
	const struct attributes *attributes, const struct show *show)
{
	for (size_t i = 0; i < attributes->count; i++) {
		const struct attribute *a = &attributes->list[i];
		const char *acl = acl_name(a);
		char *text = acl != NULL ? acl_text(a) : NULL;

		if (text != NULL) {
			(void)fprintf(show->out, "%9s: %s\n",
				acl[0] == 'a' ? "ACL" : "Default", text);
			free(text);
			continue;
		}
		(void)fputs("    Xattr: ", show->out);
		show_text(show, a->name);
		(void)putc('=', show->out);
		show_value(a, show);
		show_end(show);
	}
}

void attributes_json(const struct attributes *attributes, struct json *json)
{
	json_object(json, "xattrs");
	for (size_t i = 0; i < attributes->count; i++)
		json_hex(json, attributes->list[i].name,
			attributes->list[i].value, attributes->list[i].bytes);
	json_end(json);
	for (size_t i = 0; i < attributes->count; i++) {
		const char *name = acl_name(&attributes->list[i]);
		char *text =
			name != NULL ? acl_text(&attributes->list[i]) : NULL;

		if (text != NULL)
			json_string(json, name, text);
		free(text);
	}
}
