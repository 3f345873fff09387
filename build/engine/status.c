/* SPDX-License-Identifier: MIT */
#include "build/engine/internal.h"

#include <json-c/json.h>

#define MOST_FAILED 100

static void add(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

static struct json_object *new_entry(const char *arch, const char *name)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "arch", json_object_new_string(arch));
	json_object_object_add(object, "name", json_object_new_string(name));
	return object;
}

/* What the workers are at, the oldest first, which engine->activities has last. */
static struct json_object *describe_work(struct engine *engine)
{
	struct json_object *list = json_object_new_array();
	uint64_t now = now_us();
	size_t n = 0;

	pthread_mutex_lock(&engine->lock);
	for (const struct activity *activity = engine->activities; activity; activity = activity->next)
		n++;
	for (const struct activity *activity = engine->activities; activity; activity = activity->next) {
		struct json_object *object = new_entry(activity->file->arch, activity->file->name);
		json_object_object_add(object, "stage", json_object_new_string(activity->stage ? activity->stage : ""));
		add(object, "elapsed_ms", (MAX(now, activity->since_us) - activity->since_us) / 1000);
		json_object_array_put_idx(list, --n, object);
	}
	pthread_mutex_unlock(&engine->lock);
	return list;
}

static struct json_object *describe_jobs(struct engine *engine)
{
	struct json_object *object = json_object_new_object();
	struct pool_counts counts = pool_counts(engine->pool);

	add(object, "workers", pool_threads(engine->pool));
	add(object, "running", counts.running);
	add(object, "running_quick", counts.quick_running);
	add(object, "queued_quick", counts.queued[POOL_QUICK]);
	add(object, "queued", counts.queued[POOL_WAITED]);
	add(object, "queued_ahead", counts.queued[POOL_AHEAD]);
	json_object_object_add(object, "work", describe_work(engine));
	return object;
}

static struct json_object *describe_builds(const struct engine_statistics *statistics)
{
	struct json_object *object = json_object_new_object();

	add(object, "builds", statistics->builds);
	add(object, "failures", statistics->failures);
	add(object, "shared", statistics->shared);
	add(object, "plans", statistics->plans);
	add(object, "kernels", statistics->kernels);
	add(object, "kernel_hits", statistics->kernel_hits);
	add(object, "instructions", statistics->instructions);
	add(object, "links", statistics->links);
	add(object, "bytes", statistics->built_bytes);
	add(object, "build_us", statistics->built_us);
	add(object, "generate_us", statistics->generate_us);
	add(object, "link_us", statistics->link_us);
	return object;
}

static struct json_object *describe_cache(struct engine *engine, const struct engine_statistics *statistics)
{
	struct json_object *object = json_object_new_object();
	struct cachedb_statistics cache;
	uint64_t bytes, entries;

	memory_usage(engine->memory, &bytes, &entries);
	add(object, "memory_hits", statistics->memory_hits);
	add(object, "memory_entries", entries);
	add(object, "memory_bytes", bytes);
	add(object, "memory_used", memory_used(engine->memory));
	add(object, "memory_limit", memory_limit(engine->memory));
	add(object, "disk_hits", statistics->cache_hits);
	add(object, "disk_errors", statistics->cache_errors);
	if (engine->cache && cachedb_get_statistics(engine->cache, &cache) == 0) {
		json_object_object_add(object, "directory", json_object_new_string(engine->cache_path));
		add(object, "disk_entries", cache.entries);
		add(object, "disk_bytes", cache.bytes);
		add(object, "disk_limit_bytes", engine->cache_max_bytes);
		add(object, "disk_pinned_bytes", cache.pinned_bytes);
		add(object, "disk_file_bytes", cache.file_bytes);
		add(object, "disk_free_bytes", cache.free_bytes);
		add(object, "disk_puts", cache.puts);
		add(object, "disk_evictions", cache.evictions);
		add(object, "disk_corrupt", cache.corrupt);
	}
	return object;
}

static void add_reason(struct json_object *list, const char *arch, const char *name, const char *reason)
{
	struct json_object *object = new_entry(arch, name);

	json_object_object_add(object, "reason", json_object_new_string(reason));
	json_object_array_add(list, object);
}

/* Files that could not be made, up to MOST_FAILED of them: .tensilefs/errors has them all. With engine->lock held. */
static void describe_failed(const struct engine_file *file, struct json_object *failed)
{
	if (file->failure && file->present && json_object_array_length(failed) < MOST_FAILED)
		add_reason(failed, file->arch, file->name, file->failure_text ? file->failure_text : strerror(-file->failure));
}

/* What is served as it was before the logic was broken: bases that are held back, and files. */
static void describe_files(struct engine *engine, const struct edition *edition, struct json_object *failed, struct json_object *stale)
{
	for (size_t i = 0; i < edition->n_held; i++)
		add_reason(stale, edition->held[i].arch, edition->held[i].name, edition->held[i].reason);
	pthread_mutex_lock(&engine->lock);
	for (size_t i = 0; i < engine->n_archs; i++) {
		const struct engine_arch *arch = engine->archs[i];
		for (size_t k = 0; k < arch->n_files; k++) {
			describe_failed(arch->files[k], failed);
			if (arch->files[k]->stale)
				add_reason(stale, arch->name, arch->files[k]->name, arch->files[k]->stale);
		}
	}
	if (engine->edit_failure)
		add_reason(stale, "", "", engine->edit_failure);
	pthread_mutex_unlock(&engine->lock);
}

int engine_status(struct engine *engine, struct buffer *ret_json)
{
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(engine);
	struct json_object *object = json_object_new_object();
	const char *linker = engine_linker_version(engine);
	struct engine_statistics statistics;

	pthread_mutex_lock(&engine->lock);
	statistics = engine->statistics;
	pthread_mutex_unlock(&engine->lock);
	json_object_object_add(object, "logic", json_object_new_string(engine->logic));
	json_object_object_add(object, "linker", linker ? json_object_new_string(linker) : NULL);
	json_object_object_add(object, "jobs", describe_jobs(engine));
	json_object_object_add(object, "built", describe_builds(&statistics));
	json_object_object_add(object, "cache", describe_cache(engine, &statistics));
	struct json_object *faults = json_object_new_array();
	for (size_t i = 0; edition->faults[i]; i++)
		json_object_array_add(faults, json_object_new_string(edition->faults[i]));
	json_object_object_add(object, "faults", faults);
	struct json_object *failed = json_object_new_array(), *stale = json_object_new_array();
	describe_files(engine, edition, failed, stale);
	json_object_object_add(object, "failed", failed);
	json_object_object_add(object, "stale", stale);
	buffer_append_string(ret_json, json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	buffer_append_string(ret_json, "\n");
	json_object_put(object);
	return ret_json->failed ? -ENOMEM : 0;
}
