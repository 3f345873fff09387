/* SPDX-License-Identifier: MIT */
/*
 * Plan -> bytes. A code object: its kernels are generated, linked once, wrapped once. Every buffer is released as soon as the next stage
 * has its own.
 */
#include "build/engine/internal.h"

#include "build/engine/trace.h"

void production_release(struct production *production)
{
	library_unref(production->library);
	helpers_release(&production->helpers);
	buffer_release(&production->bytes);
	*production = (struct production){ 0 };
}

/* ---- planning --------------------------------------------------------------------------------------------------------- */

static int get_library(struct engine_file *file, const struct edition *edition, enum library_content content, struct library **ret_library,
		       struct error *error)
{
	const struct logic_base *base = edition_base(edition, file->arch, file->base, error);

	return base ? libraries_get(edition->libraries, base, content, ret_library, error) : -ENOENT;
}

static int count_mistake(void *mistakes, const char *message)
{
	++*(uint32_t *)mistakes;
	return 0;
}

static int to_yaml(struct buffer *bytes)
{
	_cleanup_buffer_ struct buffer dat = *bytes;

	*bytes = (struct buffer){ 0 };
	return logic_dat_to_yaml(&dat, bytes);
}

static int plan_metadata(struct engine_file *file, const struct edition *edition, struct production *production, struct cachedb_key *ret_hash,
			 struct error *error)
{
	struct engine *engine = file->engine;
	int r;

	switch (file->kind) {
	case ENGINE_MASTER:
		r = logic_write_master(edition->catalog, file->arch, &production->bytes);
		break;
	case ENGINE_MAPPING:
		r = libraries_write_mapping(edition->libraries, file->arch, &production->bytes, error);
		break;
	case ENGINE_MANIFEST:
		r = manifest_write(engine, edition, file->arch, &production->bytes);
		break;
	default:
		r = get_library(file, edition, engine->keep_all ? LIBRARY_ALL : LIBRARY_GENERATED, &production->library, error);
		if (r < 0)
			return r;
		r = logic_write_dat(production->library->logic, &production->bytes);
	}
	if (r == 0 && engine->library_yaml && (file->kind == ENGINE_MASTER || file->kind == ENGINE_METADATA))
		r = to_yaml(&production->bytes);
	if (r < 0)
		return error_set(error, r, "cannot write '%s': %s", file->name, strerror(-r));
	return plan_hash_metadata(&production->bytes, ret_hash);
}

int production_plan(struct engine_file *file, const struct edition *edition, const struct tools *tools, struct production *ret_production,
		    struct cachedb_key *ret_hash, struct error *error)
{
	_cleanup_(production_release) struct production production = { 0 };
	struct plan_options options = engine_plan_options(file->engine, tools);
	int r = 0;

	if (file->kind == ENGINE_HELPER) {
		if (!file->engine->generator->shares_helpers)
			r = helpers_collect(file->engine, edition, file->arch, &production.helpers, error);
		if (r == 0)
			r = plan_hash_helper(&options, file->arch, &production.helpers, ret_hash);
	} else if (file->kind == ENGINE_CODE_OBJECT) {
		r = get_library(file, edition, LIBRARY_GENERATED, &production.library, error);
		if (r == 0)
			r = plan_hash_code_object(&options, file->arch, production.library->logic, ret_hash, error);
	} else {
		r = plan_metadata(file, edition, &production, ret_hash, error);
	}
	if (r < 0)
		return r;
	production.tools = tools;
	if (production.library)
		logic_foreach_mistake(production.library->logic, count_mistake, &production.mistakes);
	*ret_production = production;
	production = (struct production){ 0 };
	return 0;
}

/* ---- generating, linking and wrapping --------------------------------------------------------------------------------- */

static int make(struct engine_file *file, const struct production *production, struct generated *ret_generated, struct error *error)
{
	const struct generator *generator = file->engine->generator;
	const char *identity = production->tools->generator;

	if (file->kind == ENGINE_HELPER)
		return generator->make_helpers(file, &production->helpers, identity, ret_generated, error);
	return generator->make(file, production->library->logic, identity, ret_generated, error);
}

static int generate(struct engine_file *file, const struct production *production, struct generated *ret_generated, struct error *error)
{
	stage_begin(production->activity, "generate", TRACE_PLAIN);
	int r = make(file, production, ret_generated, error);
	stage_end(production->activity, TRACE_WITH({ "kernels", .number = ret_generated->kernels }));
	return r;
}

static int link_objects(struct engine *engine, struct activity *activity, const struct generated *generated, struct buffer *ret_linked,
			struct error *error)
{
	struct link link = { .threads = pool_share(engine->pool), .build_id = engine_build_id(engine) };
	uint64_t begin = now_us();

	stage_begin(activity, "link", TRACE_WITH({ "bytes", .number = objects_bytes(generated->objects) },
						 { "kernels", .number = generated->kernels }, { "threads", .number = link.threads }));
	int r = linker_link(engine->linker, &link, generated->objects, ret_linked, error);
	stage_end(activity, TRACE_WITH({ "linked_bytes", .number = ret_linked->size }));
	pthread_mutex_lock(&engine->lock);
	engine->statistics.links++;
	engine->statistics.link_us += now_us() - begin;
	pthread_mutex_unlock(&engine->lock);
	return r;
}

static int wrap(struct engine_file *file, struct activity *activity, const struct buffer *linked, struct buffer *ret_bytes, struct error *error)
{
	stage_begin(activity, "bundle", TRACE_WITH({ "bytes", .number = linked->size }));
	int r = bundle_write(file->engine->bundle, file->arch, linked->data, linked->size, ret_bytes);
	stage_end(activity, TRACE_WITH({ "bundled_bytes", .number = ret_bytes->size }));
	return r < 0 ? error_set(error, r, "cannot bundle '%s': %s", file->name, strerror(-r)) : 0;
}

/* Generated and linked. */
static int make_linked(struct engine_file *file, const struct production *production, struct buffer *ret_linked, size_t *ret_kernels,
		       struct error *error)
{
	struct generated generated = { 0 };

	int r = generate(file, production, &generated, error);
	if (r == 0)
		r = link_objects(file->engine, production->activity, &generated, ret_linked, error);
	objects_unref(generated.objects);
	*ret_kernels = generated.kernels;
	return r;
}

static int produce_object(struct engine_file *file, const struct production *production, struct buffer *ret_bytes, size_t *ret_kernels,
			  struct error *error)
{
	_cleanup_buffer_ struct buffer linked = { 0 };

	int r = make_linked(file, production, &linked, ret_kernels, error);
	if (r < 0)
		return r;
	if (file->kind != ENGINE_HELPER && file->engine->bundle != BUNDLE_NONE)
		return wrap(file, production->activity, &linked, ret_bytes, error);
	*ret_bytes = linked;
	linked = (struct buffer){ 0 };
	return 0;
}

int production_run(struct engine_file *file, struct production *production, const struct cachedb_key *hash,
		   struct artifact **ret_artifact, struct error *error)
{
	_cleanup_buffer_ struct buffer bytes = { 0 };
	struct artifact *artifact;
	size_t kernels = 0;
	int r = 0;

	if (kind_is_linked(file->kind)) {
		r = produce_object(file, production, &bytes, &kernels, error);
		if (r < 0)
			return r;
	} else {
		bytes = production->bytes;
		production->bytes = (struct buffer){ 0 };
	}
	r = artifact_new(file->engine->memory, bytes.data, bytes.size, hash, &artifact);
	bytes = (struct buffer){ 0 };
	if (r < 0)
		return r;
	artifact->items = (uint32_t)kernels;
	*ret_artifact = artifact;
	return 0;
}
