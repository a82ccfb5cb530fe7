/* SPDX-License-Identifier: BSD-2-Clause */
/* log.c - the library's messages, as users get them. */
#include "base/log.h"

#include "api/api_int.h"

_Static_assert((int)EXTANT_LOG_DEBUG == LOG_DEBUG, "levels");
_Static_assert((int)EXTANT_LOG_NOTE == LOG_INFO, "levels");
_Static_assert((int)EXTANT_LOG_WARNING == LOG_WARN, "levels");
_Static_assert((int)EXTANT_LOG_ERROR == LOG_ERROR, "levels");
_Static_assert(EXTANT_NO_BLOCK == LOG_NO_BLOCK, "blocks");

static extant_log_fn log_fn_set; /* [const] while others are inside */

static void pass_on(void *arg, const struct log_record *record)
{
	struct extant_message message = {
		.level = (enum extant_level)record->level,
		.text = record->text,
		.block = record->block,
	};

	log_fn_set(arg, &message);
}

void extant_log_to(extant_log_fn fn, void *arg)
{
	log_fn_set = fn;
	log_to(fn != NULL ? pass_on : NULL, arg);
}
