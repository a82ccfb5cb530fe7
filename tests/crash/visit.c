/* SPDX-License-Identifier: BSD-2-Clause */
/* visit.c - see visit.h. */
#include "visit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"

static int failed(struct verdict *v, const char *what, int err)
{
	(void)snprintf(v->why, sizeof(v->why), "%s: %s", what,
		err == 0 ? "wrong" : strerrordesc_np(-err));
	return -1;
}

int visit_state(const struct model *m, const struct cold *cold,
	struct model_point need, struct verdict *out)
{
	int err = cold_recover(&m->opts, cold, &out->asked);

	if (err != 0)
		return failed(out, "recovery failed", err);
	return model_judge(
		m, cold->home, need, &out->point, out->why, sizeof(out->why));
}

int visit_again(
	const struct model *m, const struct cold *cold, struct verdict *out)
{
	size_t bytes;
	char *before = cold_bytes(cold, &bytes);
	int err = toy_recover(&m->opts, cold->home, cold->log);
	char *after = cold_bytes(cold, &bytes);
	bool same = memcmp(before, after, bytes) == 0;

	free(before);
	free(after);
	if (err != 0)
		return failed(out, "recovering again failed", err);
	return same ? 0 : failed(out, "recovering again changed bytes", 0);
}

static bool same_point(struct model_point a, struct model_point b)
{
	return !model_after(a, b) && !model_after(b, a);
}

static int recovery_cut(const struct model *m, struct power *p, uint64_t cut,
	uint64_t seed, struct model_point point, struct verdict *out)
{
	struct cold cold;
	int err;

	power_cut(p, cut, seed, &cold);
	err = visit_state(m, &cold, point, out);
	if (err == 0 && !same_point(out->point, point))
		err = failed(out, "a cut recovery ended elsewhere", 0);
	cold_close(&cold);
	return err;
}

int visit_recovery(const struct model *m, struct cold *cold, uint32_t cuts,
	uint64_t seed, struct model_point point, struct verdict *out)
{
	struct cold top;
	struct power p;
	int err;

	power_on(&p, &m->opts, cold, PACE_AT_ONCE);
	top = (struct cold){p.home, p.log};
	err = cold_recover(&m->opts, &top, &out->asked);
	if (err != 0)
		err = failed(out, "recovery failed the second time", err);
	for (uint32_t i = 0; i < cuts && err == 0; i++) {
		uint64_t cut = hash_next(&seed) % (power_events(&p) + 1);

		err = recovery_cut(m, &p, cut,
			i < 2 ? i : hash_next(&seed) % 1000, point, out);
	}
	power_close(&p);
	return err;
}
