/* SPDX-License-Identifier: MIT */
#include "build/engine/internal.h"

#include "build/engine/trace.h"

/* Bytes of memory that the process has now; proc(5), /proc/pid/statm: pages, of which the second number are resident. */
static uint64_t resident_bytes(void)
{
	FILE *stream = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (!stream)
		return 0;
	if (fscanf(stream, "%*u %llu", &pages) != 1)
		pages = 0;
	fclose(stream);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void trace_load(struct engine *engine)
{
	uint64_t bytes, entries;

	if (!engine->trace)
		return;
	struct pool_counts counts = pool_counts(engine->pool);
	trace_count(engine->trace, "jobs", TRACE_WITH({ "running", .number = counts.running }, { "running_quick", .number = counts.quick_running },
						      { "queued_quick", .number = counts.queued[POOL_QUICK] },
						      { "queued", .number = counts.queued[POOL_WAITED] },
						      { "queued_ahead", .number = counts.queued[POOL_AHEAD] }));
	memory_usage(engine->memory, &bytes, &entries);
	trace_count(engine->trace, "memory", TRACE_WITH({ "artifacts", .number = bytes }, { "resident", .number = resident_bytes() }));
}

void activity_begin(struct activity *activity, struct engine_file *file, uint64_t asked_us)
{
	struct engine *engine = file->engine;

	*activity = (struct activity){ .file = file, .since_us = now_us() };
	trace_load(engine);
	trace_begin(engine->trace, file->name, TRACE_WITH({ "arch", .text = file->arch }, { "queued_us", .number = activity->since_us - asked_us }));
	pthread_mutex_lock(&engine->lock);
	activity->next = engine->activities;
	engine->activities = activity;
	pthread_mutex_unlock(&engine->lock);
}

void activity_end(struct activity *activity, const char *outcome)
{
	struct engine *engine = activity->file->engine;

	pthread_mutex_lock(&engine->lock);
	struct activity **at = &engine->activities;
	while (*at != activity)
		at = &(*at)->next;
	*at = activity->next;
	pthread_mutex_unlock(&engine->lock);
	trace_end(engine->trace, activity->file->name, TRACE_WITH({ "outcome", .text = outcome }));
	trace_load(engine);
}

static void set_stage(struct activity *activity, const char *stage)
{
	struct engine *engine = activity->file->engine;

	pthread_mutex_lock(&engine->lock);
	activity->stage = stage;
	pthread_mutex_unlock(&engine->lock);
}

void stage_begin(struct activity *activity, const char *stage, const struct trace_value *values)
{
	if (!activity)
		return;
	set_stage(activity, stage);
	trace_begin(activity->file->engine->trace, stage, values);
}

void stage_end(struct activity *activity, const struct trace_value *values)
{
	if (!activity)
		return;
	trace_end(activity->file->engine->trace, activity->stage, values);
	set_stage(activity, NULL);
}
