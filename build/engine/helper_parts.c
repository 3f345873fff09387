/* SPDX-License-Identifier: MIT */
/*
 * The helper object of TensileLite: a source of hundreds of kernels that takes minutes and a gigabyte to compile at once. It is compiled in
 * parts, by all workers of the pool, and each part is kept in the cache under its source: a helper kernel more compiles one part, an
 * edit of TensileLite that leaves the sources as they are none.
 */
#include "build/engine/internal.h"

#include "build/engine/helper_parts.h"
#include "build/engine/trace.h"
#include "cachedb/digest.h"

#define FEWEST 4			/* helpers of a part that may end; each has up to a dozen kernels */
#define MOST 12

enum { TAG_HELPERS = 0x48454c50 };	/* cachedb_info.tag */

struct part {
	size_t first, n;		/* of the compilation's `order` */
	struct buffer metadata;
};

struct compilation {
	struct engine_file *file;
	const struct helpers *helpers;
	struct upstream_helpers *upstream;
	const struct helper **order;
	struct part *parts;
	size_t n_parts;
	bool whole;			/* there is one part, which needs nothing before and behind it */
	struct objects *objects;
};

static void compilation_release(struct compilation *compilation)
{
	for (size_t i = 0; i < compilation->n_parts; i++)
		buffer_release(&compilation->parts[i].metadata);
	free(compilation->parts);
	free(compilation->order);
	upstream_helpers_free(compilation->upstream);
	objects_unref(compilation->objects);
}

/* ---- parts ------------------------------------------------------------------------------------------------------------ */

/* TensileLite writes reductions into the header (KernelWriterReduction.py), so that they stand before all others. */
static bool stands_first(const struct helper *helper)
{
	static const char suffix[] = "_Reduction";
	size_t length = strlen(helper->name), n = strlen(suffix);

	return length > n && strcmp(helper->name + length - n, suffix) == 0;
}

/* One name in four, whatever stands around it: one that comes or goes changes the part that it is in, and no other. */
static bool may_end_part(const struct helper *helper)
{
	_cleanup_(digest_release) struct digest digest = { 0 };
	struct cachedb_key key;

	digest_init(&digest, "end of a part");
	digest_string(&digest, helper->name);
	return digest_finish(&digest, &key) == 0 && key_number(&key) % 4 == 0;
}

static bool ends_part(const struct compilation *compilation, size_t first, size_t last)
{
	const struct helper *const *order = compilation->order;
	size_t n = last - first + 1;

	return last + 1 == compilation->helpers->n_helpers || stands_first(order[last]) != stands_first(order[last + 1]) || n == MOST ||
	       (n >= FEWEST && may_end_part(order[last]));
}

static int divide(struct compilation *compilation)
{
	const struct helpers *helpers = compilation->helpers;
	size_t n = 0, first = 0;

	compilation->order = calloc(helpers->n_helpers + 1, sizeof(*compilation->order));
	compilation->parts = calloc(helpers->n_helpers + 1, sizeof(*compilation->parts));
	if (!compilation->order || !compilation->parts)
		return -ENOMEM;
	for (int others = 0; others < 2; others++)
		for (size_t i = 0; i < helpers->n_helpers; i++)
			if (stands_first(&helpers->helpers[i]) != others)
				compilation->order[n++] = &helpers->helpers[i];
	for (size_t i = 0; i < n; i++)
		if (ends_part(compilation, first, i)) {
			compilation->parts[compilation->n_parts++] = (struct part){ .first = first, .n = i + 1 - first };
			first = i + 1;
		}
	return 0;
}

/* ---- one part --------------------------------------------------------------------------------------------------------- */

static int get_source(struct compilation *compilation, const struct part *part, struct upstream_source **ret_source, struct cachedb_key *ret_key,
		      struct error *error)
{
	size_t n = compilation->helpers->n_helpers;
	_cleanup_free_ struct upstream_solution *solutions = calloc(part->n, sizeof(*solutions));
	_cleanup_free_ const char **names = calloc(part->n, sizeof(*names));
	struct upstream_part request = { .names = names, .n_names = part->n, .solutions = solutions, .last = part->first + part->n == n,
					.whole = compilation->whole };
	size_t last = SIZE_MAX;

	if (!solutions || !names)
		return -ENOMEM;
	for (size_t k = 0; k < part->n; k++) {
		const struct helper *helper = compilation->order[part->first + k];
		const struct helper_solution *solution = &compilation->helpers->solutions[helper->solution];
		names[k] = helper->name;
		if (helper->solution == last)
			continue;
		last = helper->solution;
		solutions[request.n_solutions++] = (struct upstream_solution){
			.arch = compilation->file->arch, .kernel_name = solution->kernel_name, .text = solution->text.data, .size = solution->text.size,
		};
	}
	return upstream_helpers_source(compilation->upstream, &request, ret_source, ret_key, error);
}

/* In the cache: the size of the object, 64 bits; the object; the metadata. -ENOENT: it is not there. */
static int fetch(struct engine *engine, const struct cachedb_key *key, struct buffer *object, struct buffer *metadata)
{
	struct cachedb_info info;
	uint8_t *data;
	uint64_t size;

	int r = engine_fetch(engine, key, &info, &data);
	if (r < 0)
		return r;
	memcpy(&size, data, MIN(sizeof(size), info.size));
	if (info.size >= sizeof(size) && size <= info.size - sizeof(size)) {
		buffer_append(object, data + sizeof(size), size);
		buffer_append(metadata, data + sizeof(size) + size, info.size - sizeof(size) - size);
		r = object->failed || metadata->failed ? -ENOMEM : 0;
	} else {
		r = -ENOENT;
	}
	free(data);
	return r;
}

static void keep(struct engine *engine, const struct cachedb_key *key, const struct buffer *object, const struct buffer *metadata, uint64_t us)
{
	const struct cachedb_info info = { .tag = TAG_HELPERS, .items = 1, .cost_us = us };
	_cleanup_buffer_ struct buffer data = { 0 };
	uint64_t size = object->size;

	buffer_append(&data, &size, sizeof(size));
	buffer_append(&data, object->data, object->size);
	buffer_append(&data, metadata->data, metadata->size);
	if (!data.failed)
		engine_keep(engine, key, data.data, data.size, &info);
}

static int compile(struct compilation *compilation, struct part *part, struct buffer *object, struct error *error)
{
	_cleanup_(upstream_source_free_p) struct upstream_source *source = NULL;
	struct buffer *metadata = &part->metadata;
	struct engine *engine = compilation->file->engine;
	struct cachedb_key content, key;
	uint64_t begin = now_us();

	int r = get_source(compilation, part, &source, &content, error);
	if (r == 0)
		r = plan_hash_part(&content, &key);
	if (r == 0)
		r = fetch(engine, &key, object, metadata);
	if (r != -ENOENT)
		return r;
	r = upstream_helpers_compile(compilation->upstream, source, object, metadata, error);
	if (r == 0)
		keep(engine, &key, object, metadata, now_us() - begin);
	return r;
}

static int make_part(void *userdata, size_t i, struct error *error)
{
	struct compilation *compilation = userdata;
	struct part *part = &compilation->parts[i];
	struct trace *trace = compilation->file->engine->trace;
	const char *first = compilation->order[part->first]->name;
	struct buffer object = { 0 };
	struct error reason = { 0 };

	trace_begin(trace, "helpers", TRACE_WITH({ "first", .text = first }, { "helpers", .number = part->n }));
	int r = compile(compilation, part, &object, &reason);
	trace_end(trace, "helpers", TRACE_WITH({ "bytes", .number = object.size }));
	if (r == 0)
		return objects_add(compilation->objects, compilation->whole ? 0 : i + 1, &object, error);
	buffer_release(&object);
	return error_set(error, r, "helper kernels '%.100s' and following: %s", first, error_text(&reason, r));
}

/* ---- all of them ------------------------------------------------------------------------------------------------------ */

static int add_ends(struct compilation *compilation, struct error *error)
{
	_cleanup_buffer_ struct buffer metadata = { 0 }, first = { 0 }, last = { 0 };

	for (size_t i = 0; i < compilation->n_parts; i++)
		buffer_append(&metadata, compilation->parts[i].metadata.data, compilation->parts[i].metadata.size);
	if (metadata.failed)
		return -ENOMEM;
	int r = upstream_helpers_finish(compilation->upstream, &metadata, &first, &last, error);
	if (r == 0)
		r = objects_add(compilation->objects, 0, &first, error);
	if (r == 0)
		r = objects_add(compilation->objects, compilation->n_parts + 1, &last, error);
	return r;
}

static int make_parts(struct compilation *compilation, struct error *error)
{
	int r = divide(compilation);
	if (r == 0)
		r = objects_new(compilation->n_parts + 2, &compilation->objects);
	if (r == 0)
		r = pool_parallel(compilation->file->engine->pool, compilation->n_parts, make_part, compilation, error);
	return r < 0 ? r : add_ends(compilation, error);
}

/* Helper kernels that cannot be compiled apart. */
static int make_whole(struct compilation *compilation, struct error *error)
{
	compilation->whole = true;
	buffer_release(&compilation->parts[0].metadata);
	compilation->parts[0] = (struct part){ .n = compilation->helpers->n_helpers };
	compilation->objects = objects_unref(compilation->objects);
	int r = objects_new(1, &compilation->objects);
	return r < 0 ? r : make_part(compilation, 0, error);
}

int helper_parts_make(struct engine_file *file, struct upstream *upstream, const struct helpers *helpers, struct objects **ret_objects,
		      struct error *error)
{
	_cleanup_(compilation_release) struct compilation compilation = { .file = file, .helpers = helpers };

	int r = upstream_helpers_new(upstream, file->arch, &compilation.upstream, error);
	if (r == 0)
		r = make_parts(&compilation, error);
	if (r == -ENOTSUP)
		r = make_whole(&compilation, error);
	if (r == 0)
		*ret_objects = TAKE(compilation.objects);
	return r;
}
