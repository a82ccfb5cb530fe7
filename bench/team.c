/* SPDX-License-Identifier: BSD-2-Clause */
/* team.c - see team.h. */
#include "bench/team.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/clock.h"
#include "sync/futex.h"

void bench_cost_read(struct bench_cost *out)
{
	struct rusage use;

	/* Cannot fail with valid arguments. */
	(void)getrusage(RUSAGE_THREAD, &use);
	*out = (struct bench_cost){
		.cpu_ns = bench_cpu_ns(),
		.slept = (uint64_t)use.ru_nvcsw,
		.preempted = (uint64_t)use.ru_nivcsw,
	};
}

static struct bench_cost cost_since(
	const struct bench_cost *from, const struct bench_cost *to)
{
	return (struct bench_cost){
		.cpu_ns = to->cpu_ns - from->cpu_ns,
		.slept = to->slept - from->slept,
		.preempted = to->preempted - from->preempted,
	};
}

bool bench_turn(struct bench_member *m, enum bench_phase phase)
{
	struct bench_cost now;

	bench_cost_read(&now);
	/* A member that slept through MEASURE did nothing in it. */
	if (m->seen == BENCH_WARM) {
		m->ops = 0;
		m->from = now;
	}
	m->seen = phase;
	if (phase != BENCH_STOP)
		return true;
	m->cost = cost_since(&m->from, &now);
	return false;
}

static void *member_main(void *arg)
{
	struct bench_member *m = arg;
	struct bench_team *team = m->team;

	(void)atomic_fetch_add(&team->ready, 1);
	futex_wake_all(&team->ready);
	while (atomic_load(&team->gate) == 0)
		(void)futex_wait(&team->gate, 0, FUTEX_FOREVER);
	m->error = team->body(m);
	return NULL;
}

static void team_wait_ready(struct bench_team *team, unsigned count)
{
	uint32_t seen;

	while ((seen = atomic_load(&team->ready)) != count)
		(void)futex_wait(&team->ready, seen, FUTEX_FOREVER);
}

static void team_go(struct bench_team *team)
{
	atomic_store(&team->gate, 1);
	futex_wake_all(&team->gate);
}

static uint64_t team_conduct(
	struct bench_team *team, const struct bench_plan *plan)
{
	uint64_t began;

	team_go(team);
	bench_sleep_ns(plan->warm_ns);
	atomic_store(&team->phase, BENCH_MEASURE);
	began = bench_now_ns();
	bench_sleep_ns(plan->measure_ns);
	atomic_store(&team->phase, BENCH_STOP);
	return bench_now_ns() - began;
}

static int team_join(
	struct bench_member *members, unsigned count, struct bench_result *out)
{
	int err = 0;

	for (unsigned i = 0; i < count; i++) {
		struct bench_member *m = &members[i];

		(void)pthread_join(m->thread, NULL);
		if (err == 0)
			err = m->error;
		out->ops += m->ops;
		out->cost.cpu_ns += m->cost.cpu_ns;
		out->cost.slept += m->cost.slept;
		out->cost.preempted += m->cost.preempted;
	}
	return err;
}

int bench_team_run(const struct bench_plan *plan, struct bench_result *out)
{
	struct bench_team team = {.arg = plan->arg, .body = plan->body};
	size_t bytes = sizeof(struct bench_member) * plan->threads;
	struct bench_member *members = aligned_alloc(LINE_BYTES, bytes);
	struct bench_result result = {0};
	unsigned count = 0;
	int err = 0;

	if (members == NULL)
		return -ENOMEM;
	memset(members, 0, bytes);
	for (; count < plan->threads && err == 0; count++) {
		members[count].team = &team;
		members[count].index = count;
		err = -pthread_create(&members[count].thread, NULL, member_main,
			&members[count]);
	}
	if (err != 0) {
		count--;
		atomic_store(&team.phase, BENCH_STOP);
		team_go(&team);
		(void)team_join(members, count, &result);
		goto out_free;
	}
	team_wait_ready(&team, count);
	result.ns = team_conduct(&team, plan);
	err = team_join(members, count, &result);
	if (err == 0)
		*out = result;
out_free:
	free(members);
	return err;
}
