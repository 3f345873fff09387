/* SPDX-License-Identifier: MIT */
#include "build/engine/internal.h"

#include <json-c/json.h>

static void add(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
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
	add(object, "disk_hits", statistics->cache_hits);
	add(object, "disk_errors", statistics->cache_errors);
	if (engine->cache && cachedb_get_statistics(engine->cache, &cache) == 0) {
		json_object_object_add(object, "directory", json_object_new_string(engine->cache_path));
		add(object, "disk_entries", cache.entries);
		add(object, "disk_bytes", cache.bytes);
		add(object, "disk_pinned_bytes", cache.pinned_bytes);
		add(object, "disk_file_bytes", cache.file_bytes);
		add(object, "disk_free_bytes", cache.free_bytes);
		add(object, "disk_puts", cache.puts);
		add(object, "disk_evictions", cache.evictions);
		add(object, "disk_corrupt", cache.corrupt);
	}
	return object;
}

static void add_stale(struct json_object *list, const char *arch, const char *name, const char *reason)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "arch", json_object_new_string(arch));
	json_object_object_add(object, "name", json_object_new_string(name));
	json_object_object_add(object, "reason", json_object_new_string(reason));
	json_object_array_add(list, object);
}

/* What is served as it was before the logic was broken: bases that are held back, and files. */
static struct json_object *describe_stale(struct engine *engine, const struct edition *edition)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < edition->n_held; i++)
		add_stale(list, edition->held[i].arch, edition->held[i].name, edition->held[i].reason);
	pthread_mutex_lock(&engine->lock);
	for (size_t i = 0; i < engine->n_archs; i++) {
		const struct engine_arch *arch = engine->archs[i];
		for (size_t k = 0; k < arch->n_files; k++)
			if (arch->files[k]->stale)
				add_stale(list, arch->name, arch->files[k]->name, arch->files[k]->stale);
	}
	if (engine->edit_failure)
		add_stale(list, "", "", engine->edit_failure);
	pthread_mutex_unlock(&engine->lock);
	return list;
}

int engine_status(struct engine *engine, struct buffer *ret_json)
{
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(engine);
	struct json_object *object = json_object_new_object();
	const char *linker = linker_version(engine->linker);
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
	json_object_object_add(object, "stale", describe_stale(engine, edition));
	buffer_append_string(ret_json, json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	buffer_append_string(ret_json, "\n");
	json_object_put(object);
	return ret_json->failed ? -ENOMEM : 0;
}
