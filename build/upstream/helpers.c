/* SPDX-License-Identifier: MIT */
/* Helper kernels: their sources are asked of workers, compiled to text, and the text is assembled as that of kernels is. */
#include "build/upstream/upstream_internal.h"

#include "build/upstream/device_text.h"
#include "cachedb/digest.h"

struct upstream_helpers {
	struct upstream *upstream;
	struct edition *edition;
	char *arch;
	const struct program_found *compiler, *assembler;
	struct buffer text;		/* of the headers alone */
	struct device_text *common;	/* the same, parsed; NULL: it is not understood, so that nothing can be compiled apart */
};

struct upstream_source {
	struct json_object *reply;
	struct hip_source *files;	/* the one that is compiled, and what it includes; in `reply` */
	size_t n_files;
	bool last, whole;
};

/* ---- sources ---------------------------------------------------------------------------------------------------------- */

static int ask(struct upstream_helpers *helpers, const struct upstream_part *part, struct buffer *ret_reply, struct error *error)
{
	_cleanup_buffer_ struct buffer body = { 0 };
	const char *verdicts;

	int r = upstream_verdicts(helpers->upstream, helpers->edition, helpers->arch, &verdicts, error);
	if (r < 0)
		return r;
	upstream_begin_request(helpers->upstream, helpers->arch, verdicts, &body);
	buffer_append_string(&body, ",\"names\":[");
	for (size_t i = 0; i < part->n_names; i++) {
		buffer_append_string(&body, i ? "," : "");
		append_json_string(&body, part->names[i]);
	}
	buffer_append_string(&body, "],\"solutions\":[");
	for (size_t i = 0; i < part->n_solutions; i++) {
		buffer_append_string(&body, i ? "," : "");
		buffer_append(&body, part->solutions[i].text, part->solutions[i].size);
	}
	buffer_append_string(&body, "]}");
	return body.failed ? -ENOMEM : workers_ask(helpers->edition->workers, "helpers", body.data, body.size, ret_reply, error);
}

/* "files": [[name, text], ...] */
static int read_files(struct upstream_source *source, struct error *error)
{
	struct json_object *files = NULL;

	json_object_object_get_ex(source->reply, "files", &files);
	size_t n = json_object_is_type(files, json_type_array) ? json_object_array_length(files) : 0;
	if (n == 0)
		return error_set(error, -EPROTO, "the worker's reply has no files");
	source->files = calloc(n, sizeof(*source->files));
	if (!source->files)
		return -ENOMEM;
	for (; source->n_files < n; source->n_files++) {
		struct json_object *file = json_object_array_get_idx(files, source->n_files);
		if (!json_object_is_type(file, json_type_array))
			return error_set(error, -EPROTO, "the worker's file is no list");
		const char *text = string_at(file, 1);
		source->files[source->n_files] = (struct hip_source){ .name = string_at(file, 0), .text = text, .size = strlen(text) };
	}
	return 0;
}

static int get_source(struct upstream_helpers *helpers, const struct upstream_part *part, struct upstream_source **ret_source, struct error *error)
{
	_cleanup_(upstream_source_free_p) struct upstream_source *source = calloc(1, sizeof(*source));
	_cleanup_buffer_ struct buffer reply = { 0 };

	if (!source)
		return -ENOMEM;
	source->last = part->last;
	source->whole = part->whole;
	int r = ask(helpers, part, &reply, error);
	if (r == 0)
		r = upstream_parse(&reply, reply.size, &source->reply, error);
	if (r == 0)
		r = read_files(source, error);
	if (r == 0)
		*ret_source = TAKE(source);
	return r;
}

static int digest_source(const struct upstream_helpers *helpers, const struct upstream_source *source, struct cachedb_key *ret_key)
{
	_cleanup_(digest_release) struct digest digest = { 0 };

	digest_init(&digest, "part of helper kernels");
	digest_string(&digest, helpers->compiler->identity);
	digest_string(&digest, helpers->assembler->identity);
	digest_string(&digest, helpers->arch);
	digest_bytes(&digest, helpers->text.data, helpers->text.size);
	for (size_t i = 0; i < source->n_files; i++) {
		digest_string(&digest, source->files[i].name);
		digest_bytes(&digest, source->files[i].text, source->files[i].size);
	}
	digest_number(&digest, source->last);
	digest_number(&digest, source->whole);
	return digest_finish(&digest, ret_key);
}

int upstream_helpers_source(struct upstream_helpers *helpers, const struct upstream_part *part, struct upstream_source **ret_source,
			    struct cachedb_key *ret_key, struct error *error)
{
	_cleanup_(upstream_source_free_p) struct upstream_source *source = NULL;

	int r = get_source(helpers, part, &source, error);
	if (r == 0)
		r = digest_source(helpers, source, ret_key);
	if (r == 0)
		*ret_source = TAKE(source);
	return r;
}

struct upstream_source *upstream_source_free(struct upstream_source *source)
{
	if (source) {
		json_object_put(source->reply);
		free(source->files);
		free(source);
	}
	return NULL;
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

static int compile_headers(struct upstream_helpers *helpers, struct error *error)
{
	_cleanup_(upstream_source_free_p) struct upstream_source *source = NULL;

	int r = get_source(helpers, &(struct upstream_part){ 0 }, &source, error);
	if (r == 0)
		r = hip_compile(helpers->upstream->hip, helpers->arch, source->files, source->n_files, &helpers->text, error);
	if (r < 0)
		return r;
	r = device_text_parse(&helpers->text, &helpers->common, error);
	return r == -EPROTO ? 0 : r;
}

int upstream_helpers_new(struct upstream *upstream, const char *arch, struct upstream_helpers **ret_helpers, struct error *error)
{
	_cleanup_(upstream_helpers_free_p) struct upstream_helpers *helpers = calloc(1, sizeof(*helpers));

	if (!helpers)
		return -ENOMEM;
	helpers->upstream = upstream;
	helpers->arch = strdup(arch);
	int r = helpers->arch ? upstream_current(upstream, LOOK_MS, &helpers->edition, error) : -ENOMEM;
	if (r == 0)
		r = program_identify(upstream->hip, &helpers->compiler, error);
	if (r == 0)
		r = program_identify(upstream->assembler, &helpers->assembler, error);
	if (r == 0)
		r = compile_headers(helpers, error);
	if (r == 0)
		*ret_helpers = TAKE(helpers);
	return r;
}

struct upstream_helpers *upstream_helpers_free(struct upstream_helpers *helpers)
{
	if (helpers) {
		device_text_free(helpers->common);
		buffer_release(&helpers->text);
		free(helpers->arch);
		free(helpers);
	}
	return NULL;
}

/* ---- compiling -------------------------------------------------------------------------------------------------------- */

/* The text says for itself which code object version it is of. */
static int assemble(struct upstream_helpers *helpers, const struct buffer *text, struct buffer *ret_object, struct error *error)
{
	const struct assembler_options options = { .arch = helpers->arch };

	return assembler_assemble(helpers->upstream->assembler, &options, text->data, text->size, ret_object, error);
}

/* What was compiled and assembled is by the programs that its digest tells of. */
static int check_programs(struct upstream_helpers *helpers, struct error *error)
{
	const struct program_found *compiler, *assembler;

	int r = program_identify(helpers->upstream->hip, &compiler, error);
	if (r == 0)
		r = program_identify(helpers->upstream->assembler, &assembler, error);
	if (r == 0 && (strcmp(compiler->identity, helpers->compiler->identity) != 0 || strcmp(assembler->identity, helpers->assembler->identity) != 0))
		r = error_set(error, -ESTALE, "'%s' or '%s' has changed meanwhile", helpers->compiler->path, helpers->assembler->path);
	return r;
}

/* Replaces the text by what of it goes into an object of its own. */
static int cut_out(struct upstream_helpers *helpers, const struct upstream_source *source, struct buffer *text, struct buffer *metadata,
		   struct error *error)
{
	_cleanup_(device_text_free_p) struct device_text *parsed = NULL;
	_cleanup_buffer_ struct buffer part = { 0 };

	if (!helpers->common)
		return error_set(error, -ENOTSUP, "what the HIP compiler writes is not understood");
	int r = device_text_parse(text, &parsed, error);
	if (r == -EPROTO)
		return -ENOTSUP;
	if (r == 0)
		r = device_text_part(parsed, helpers->common, source->last, &part, metadata, error);
	if (r < 0)
		return r;
	buffer_release(text);
	*text = part;
	part = (struct buffer){ 0 };
	return 0;
}

int upstream_helpers_compile(struct upstream_helpers *helpers, const struct upstream_source *source, struct buffer *ret_object,
			     struct buffer *metadata, struct error *error)
{
	_cleanup_buffer_ struct buffer text = { 0 };

	int r = hip_compile(helpers->upstream->hip, helpers->arch, source->files, source->n_files, &text, error);
	if (r == 0 && !source->whole)
		r = cut_out(helpers, source, &text, metadata, error);
	if (r == 0)
		r = assemble(helpers, &text, ret_object, error);
	return r < 0 ? r : check_programs(helpers, error);
}

int upstream_helpers_finish(struct upstream_helpers *helpers, const struct buffer *metadata, struct buffer *ret_first, struct buffer *ret_last,
			    struct error *error)
{
	_cleanup_buffer_ struct buffer prelude = { 0 }, epilogue = { 0 };

	int r = device_text_prelude(helpers->common, &prelude);
	if (r == 0)
		r = device_text_epilogue(helpers->common, metadata, &epilogue, error);
	if (r == 0)
		r = assemble(helpers, &prelude, ret_first, error);
	if (r == 0)
		r = assemble(helpers, &epilogue, ret_last, error);
	if (r == 0)
		r = check_programs(helpers, error);
	return r < 0 ? r : upstream_check(helpers->upstream, helpers->edition, error);
}
