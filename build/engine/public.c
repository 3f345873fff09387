/* SPDX-License-Identifier: MIT */
/* libtensilefs: the engine behind a stable interface. */
#include "build/engine/engine.h"
#include "build/engine/tools.h"
#include "tensilefs/tensilefs.h"

#define PUBLIC __attribute__((visibility("default")))

_Static_assert(TENSILEFS_REASON >= sizeof(((struct error *)0)->text), "a reason must hold any message");

struct tensilefs {
	struct engine *engine;
};

static int give_reason(int r, const struct error *error, char *reason)
{
	if (r < 0 && reason)
		snprintf(reason, TENSILEFS_REASON, "%s", error_text(error, r));
	return r;
}

static enum bundle_kind bundle_of(enum tensilefs_bundle bundle)
{
	switch (bundle) {
	case TENSILEFS_BUNDLE_COMPRESSED:
		return BUNDLE_COMPRESSED;
	case TENSILEFS_BUNDLE_NONE:
		return BUNDLE_NONE;
	default:
		return BUNDLE_PLAIN;
	}
}

static enum engine_library library_of(enum tensilefs_library library)
{
	switch (library) {
	case TENSILEFS_LIBRARY_SEPARATE:
		return ENGINE_LIBRARY_SEPARATE;
	case TENSILEFS_LIBRARY_MERGED:
		return ENGINE_LIBRARY_MERGED;
	default:
		return ENGINE_LIBRARY_LAZY;
	}
}

PUBLIC int tensilefs_open(const struct tensilefs_options *options, struct tensilefs **ret_library, char *reason)
{
	struct error error = { 0 };

	if (!options || !options->logic || !ret_library)
		return give_reason(-EINVAL, NULL, reason);
	struct engine_options engine = {
		.logic = options->logic,
		.cache = options->cache,
		.cache_max_bytes = options->cache_max_bytes,
		.cache_min_free = CACHEDB_MIN_FREE,
		.linker = options->linker,
		.bundle = bundle_of(options->bundle),
		.names_tensile = options->names_tensile,
		.keep_all = options->keep_all,
		.jobs = options->jobs,
		.custom_kernels = options->custom_kernels,
		.tensilelite = options->tensilelite,
		.python = options->python,
		.assembler = options->assembler,
		.hip_compiler = options->hip_compiler,
		.build_id = options->build_id,
		.metadata_only = options->metadata_only,
		.library_yaml = options->library_yaml,
		.library = library_of(options->library),
	};
	struct tensilefs *library = calloc(1, sizeof(*library));
	if (!library)
		return give_reason(-ENOMEM, NULL, reason);
	int r = engine_new(&engine, &library->engine, &error);
	if (r < 0) {
		free(library);
		return give_reason(r, &error, reason);
	}
	*ret_library = library;
	return 0;
}

PUBLIC void tensilefs_close(struct tensilefs *library)
{
	if (library)
		engine_unref(library->engine);
	free(library);
}

PUBLIC const char *tensilefs_fault(const struct tensilefs *library, size_t index)
{
	return library ? engine_fault(library->engine, index) : NULL;
}

PUBLIC const char *tensilefs_arch(const struct tensilefs *library, size_t index)
{
	return library && index < engine_n_archs(library->engine) ? engine_arch(library->engine, index) : NULL;
}

PUBLIC int tensilefs_foreach(struct tensilefs *library, const char *arch, int (*callback)(void *userdata, const char *name), void *userdata)
{
	if (!library || !arch || !callback)
		return -EINVAL;
	for (size_t a = 0; a < engine_n_archs(library->engine); a++) {
		int r = 0;
		if (strcmp(engine_arch(library->engine, a), arch) != 0)
			continue;
		for (size_t i = 0; r == 0 && i < engine_n_files(library->engine, a); i++)
			r = callback(userdata, engine_file_name(engine_file(library->engine, a, i)));
		return r;
	}
	return -ENOENT;
}

static int find(struct tensilefs *library, const char *arch, const char *name, struct engine_file **ret_file)
{
	if (!library || !arch || !name)
		return -EINVAL;
	struct engine_file *file = engine_lookup(library->engine, arch, name);
	if (!file)
		return -ENOENT;
	*ret_file = file;
	return 0;
}

PUBLIC int tensilefs_stat(struct tensilefs *library, const char *arch, const char *name, struct tensilefs_stat *ret_stat)
{
	const struct tools *tools;
	struct engine_file *file;
	struct engine_stat stat;

	int r = ret_stat ? find(library, arch, name, &file) : -EINVAL;
	if (r < 0)
		return r;
	tools_identify(library->engine, engine_file_kind(file), &tools, NULL);	/* without the linker's version no hash is known */
	engine_stat(library->engine, file, &stat);
	*ret_stat = (struct tensilefs_stat){ .known = stat.known };
	if (stat.known) {
		ret_stat->size = stat.size;
		ret_stat->kernels = stat.items;
		ret_stat->build_us = stat.cost_us;
		memcpy(ret_stat->hash, stat.hash.bytes, sizeof(ret_stat->hash));
	}
	return 0;
}

PUBLIC int tensilefs_get(struct tensilefs *library, const char *arch, const char *name, struct tensilefs_bytes *ret_bytes, char *reason)
{
	struct error error = { 0 };
	struct artifact *artifact;
	struct engine_file *file;

	int r = ret_bytes ? find(library, arch, name, &file) : -EINVAL;
	if (r == 0)
		r = engine_get(library->engine, file, &artifact, &error);
	if (r < 0)
		return give_reason(r, &error, reason);
	*ret_bytes = (struct tensilefs_bytes){ .data = artifact->data, .size = artifact->size, .owner = artifact };
	return 0;
}

PUBLIC void tensilefs_bytes_release(struct tensilefs_bytes *bytes)
{
	if (!bytes)
		return;
	artifact_unref(bytes->owner);
	*bytes = (struct tensilefs_bytes){ 0 };
}

PUBLIC int tensilefs_explain(struct tensilefs *library, const char *arch, const char *name, char **ret_json, char *reason)
{
	_cleanup_buffer_ struct buffer json = { 0 };
	struct error error = { 0 };
	struct engine_file *file;

	int r = ret_json ? find(library, arch, name, &file) : -EINVAL;
	if (r == 0)
		r = engine_explain(library->engine, file, &json, &error);
	if (r < 0)
		return give_reason(r, &error, reason);
	buffer_append(&json, "", 1);
	if (json.failed)
		return give_reason(-ENOMEM, NULL, reason);
	*ret_json = (char *)TAKE(json.data);
	return 0;
}
