/* SPDX-License-Identifier: MIT */
/*
 * The bare code object inside a bundle. It is not stored in the cache beside the bundle that has it: unwrapping costs a copy, or a
 * decompression, and happens on the pool.
 */
#include "build/engine/internal.h"

struct unwrap {
	struct engine_file *file;
	engine_callback callback;
	void *userdata;
};

static bool is_bare(const struct engine_file *file)
{
	return file->parent->kind == ENGINE_HELPER || file->engine->bundle == BUNDLE_NONE;
}

static int unwrap_artifact(struct engine_file *file, const struct artifact *bundle, struct artifact **ret_artifact, struct error *error)
{
	struct buffer elf = { 0 };
	struct cachedb_key hash;

	int r = plan_hash_raw(&bundle->hash, &hash);
	if (r < 0)
		return r;
	r = bundle_read(bundle->data, bundle->size, file->arch, &elf, error);
	if (r < 0)
		return r;
	r = artifact_new(file->engine->memory, elf.data, elf.size, &hash, ret_artifact);
	if (r < 0)
		return r;
	(*ret_artifact)->cost_us = bundle->cost_us;
	(*ret_artifact)->items = bundle->items;
	memory_add(file->engine->memory, *ret_artifact);
	return 0;
}

static void bundle_arrived(void *userdata, int status, struct artifact *bundle, const struct error *error)
{
	struct unwrap *unwrap = userdata;
	_cleanup_(artifact_unref_p) struct artifact *artifact = NULL;
	struct error failure = { 0 };

	if (status == 0 && is_bare(unwrap->file)) {
		artifact = artifact_ref(bundle);
	} else if (status == 0) {
		status = unwrap_artifact(unwrap->file, bundle, &artifact, &failure);
		error = &failure;
	}
	unwrap->callback(unwrap->userdata, status, artifact, error);
	free(unwrap);
}

static void request_bundle(void *userdata, bool cancelled)
{
	struct unwrap *unwrap = userdata;

	if (cancelled)
		bundle_arrived(unwrap, -ECANCELED, NULL, NULL);
	else
		engine_request(unwrap->file->engine, unwrap->file->parent, ENGINE_WAITED, bundle_arrived, unwrap);
}

/* The unwrapped bytes of a bundle that is known, if they are in memory. */
static struct artifact *find_unwrapped(struct engine_file *file)
{
	struct engine_stat stat;
	struct cachedb_key hash;

	engine_stat(file->engine, file->parent, &stat);
	if (!stat.known)
		return NULL;
	if (is_bare(file))
		hash = stat.hash;
	else if (plan_hash_raw(&stat.hash, &hash) < 0)
		return NULL;
	return memory_find(file->engine->memory, &hash);
}

void raw_request(struct engine_file *file, engine_callback callback, void *userdata)
{
	_cleanup_(artifact_unref_p) struct artifact *artifact = find_unwrapped(file);

	if (artifact) {
		callback(userdata, 0, artifact, NULL);
		return;
	}
	struct unwrap *unwrap = malloc(sizeof(*unwrap));
	if (!unwrap) {
		callback(userdata, -ENOMEM, NULL, NULL);
		return;
	}
	*unwrap = (struct unwrap){ .file = file, .callback = callback, .userdata = userdata };
	engine_call(file->engine, request_bundle, unwrap);
}

void raw_stat(struct engine_file *file, struct engine_stat *ret_stat)
{
	struct engine_stat stat;

	engine_stat(file->engine, file->parent, &stat);
	stat.known = false;
	if (stat.state == ENGINE_BUILT) {
		_cleanup_(artifact_unref_p) struct artifact *artifact = find_unwrapped(file);
		stat.known = artifact != NULL;
		if (artifact) {
			stat.hash = artifact->hash;
			stat.size = artifact->size;
		}
	}
	*ret_stat = stat;
}
