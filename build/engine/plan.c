/* SPDX-License-Identifier: MIT */
#include "build/engine/plan.h"

#include "cachedb/digest.h"
#include "build/engine/generator_id.h"

#include <zstd.h>

static void digest_tools(struct digest *digest, const struct tools *tools)
{
	digest_string(digest, tools->linker ? tools->linker : "");
	digest_string(digest, tools->generator ? tools->generator : "");
}

/* What every linked object depends on. */
static void begin_object(struct digest *digest, const struct plan_options *options, const char *kind, const char *arch)
{
	digest_init(digest, kind);
	digest_string(digest, GENERATOR_ID);
	digest_tools(digest, options->tools);
	digest_string(digest, options->build_id);
	digest_string(digest, arch);
}

int plan_hash_code_object(const struct plan_options *options, const char *arch, const struct logic_library *logic,
			  struct cachedb_key *ret_hash, struct error *error)
{
	_cleanup_(digest_release) struct digest digest = { 0 };
	_cleanup_buffer_ struct buffer buffer = { 0 };
	size_t n_solutions, n_kernels;
	const struct logic_solution *solutions = logic_solutions(logic, &n_solutions);
	const size_t *kernels = logic_kernels(logic, &n_kernels);

	begin_object(&digest, options, "tensilefs code object", arch);
	digest_number(&digest, options->bundle);
	/* The one part of a file that a library of the system writes: object.h. */
	digest_number(&digest, options->bundle == BUNDLE_COMPRESSED ? ZSTD_versionNumber() : 0);
	for (size_t i = 0; i < n_kernels; i++) {
		const struct logic_solution *solution = &solutions[kernels[i]];
		buffer.size = 0;
		int r = options->generator->describe(logic, kernels[i], &buffer, error);
		if (r < 0)
			return r;
		digest_string(&digest, solution->kernel_name);
		digest_bytes(&digest, buffer.data, buffer.size);
	}
	return digest_finish(&digest, ret_hash);
}

int plan_hash_kernel(const char *generator, const char *arch, const char *name, const struct buffer *description, struct cachedb_key *ret_hash)
{
	_cleanup_(digest_release) struct digest digest = { 0 };

	digest_init(&digest, "tensilefs kernel");
	digest_string(&digest, generator);
	digest_string(&digest, arch);
	digest_string(&digest, name);
	digest_bytes(&digest, description->data, description->size);
	return digest_finish(&digest, ret_hash);
}

int plan_hash_part(const struct cachedb_key *content, struct cachedb_key *ret_hash)
{
	_cleanup_(digest_release) struct digest digest = { 0 };

	digest_init(&digest, "tensilefs part of helper kernels");
	digest_string(&digest, GENERATOR_ID);
	digest_bytes(&digest, content->bytes, sizeof(content->bytes));
	return digest_finish(&digest, ret_hash);
}

int plan_hash_helper(const struct plan_options *options, const char *arch, const struct helpers *helpers, struct cachedb_key *ret_hash)
{
	_cleanup_(digest_release) struct digest digest = { 0 };

	begin_object(&digest, options, "tensilefs helper object", arch);
	for (size_t i = 0; i < helpers->n_helpers; i++)
		digest_string(&digest, helpers->helpers[i].name);
	return digest_finish(&digest, ret_hash);
}

int plan_hash_metadata(const struct buffer *dat, struct cachedb_key *ret_hash)
{
	_cleanup_(digest_release) struct digest digest = { 0 };

	digest_init(&digest, "tensilefs metadata");
	digest_bytes(&digest, dat->data, dat->size);
	return digest_finish(&digest, ret_hash);
}

int plan_hash_raw(const struct cachedb_key *hash, struct cachedb_key *ret_hash)
{
	_cleanup_(digest_release) struct digest digest = { 0 };

	digest_init(&digest, "tensilefs raw object");
	digest_bytes(&digest, hash->bytes, sizeof(hash->bytes));
	return digest_finish(&digest, ret_hash);
}

int plan_memo(const struct plan_options *options, enum engine_kind kind, const char *name, const struct cachedb_key *identity,
	      struct cachedb_key *ret_memo)
{
	_cleanup_(digest_release) struct digest digest = { 0 };

	digest_init(&digest, "tensilefs memo");
	digest_string(&digest, GENERATOR_ID);
	digest_tools(&digest, options->tools);
	digest_string(&digest, options->build_id);
	digest_number(&digest, options->bundle);
	digest_number(&digest, options->bundle == BUNDLE_COMPRESSED ? ZSTD_versionNumber() : 0);
	digest_number(&digest, options->names_tensile);
	digest_number(&digest, options->keep_all);
	digest_number(&digest, options->flat);
	digest_number(&digest, options->library);
	digest_number(&digest, kind);
	digest_string(&digest, name);
	digest_bytes(&digest, identity->bytes, sizeof(identity->bytes));
	return digest_finish(&digest, ret_memo);
}
