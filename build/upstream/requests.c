/* SPDX-License-Identifier: MIT */
/* Kernels and helper kernels: what workers are asked, and what is done with their replies. */
#include "build/upstream/upstream_internal.h"

/* ---- kernels ---------------------------------------------------------------------------------------------------------- */

/* The beginning of a request about a target. */
static void begin_request(const struct upstream *upstream, const char *arch, const char *verdicts, struct buffer *body)
{
	buffer_append_string(body, "{\"target\":");
	append_json_string(body, arch);
	buffer_printf(body, ",\"cov\":%u,\"verdicts\":%s", upstream->options.code_object_version, verdicts);
}

static int ask_kernel(struct upstream *upstream, struct edition *edition, const struct upstream_solution *solution, struct buffer *ret_reply,
		      struct error *error)
{
	_cleanup_buffer_ struct buffer body = { 0 };
	const char *verdicts;

	int r = upstream_verdicts(upstream, edition, solution->arch, &verdicts, error);
	if (r < 0)
		return r;
	begin_request(upstream, solution->arch, verdicts, &body);
	buffer_append_string(&body, ",\"name\":");
	append_json_string(&body, solution->kernel_name);
	buffer_append_string(&body, ",\"solution\":");
	buffer_append(&body, solution->text, solution->size);
	buffer_append_string(&body, "}");
	return body.failed ? -ENOMEM : workers_ask(edition->workers, "kernel", body.data, body.size, ret_reply, error);
}

static unsigned number_of(struct json_object *object, const char *key)
{
	struct json_object *number;

	return json_object_object_get_ex(object, key, &number) ? (unsigned)json_object_get_int(number) : 0;
}

/* Takes a reply apart: how the text is to be assembled, and where it begins. */
static int read_kernel(const struct buffer *reply, struct assembler_options *options, size_t *ret_begin, struct error *error)
{
	const uint8_t *end = reply->size ? memchr(reply->data, '\n', reply->size) : NULL;
	struct json_object *head;

	if (!end)
		return error_set(error, -EPROTO, "the worker's reply has no assembly text");
	size_t length = (size_t)(end - reply->data);
	int r = upstream_parse(reply, length, &head, error);
	if (r < 0)
		return r;
	options->wavefront_size = number_of(head, "wavefront");
	options->code_object_version = number_of(head, "cov");
	json_object_put(head);
	*ret_begin = length + 1;
	return 0;
}

/* A kernel's text is in *reply, from *ret_begin on. */
static int generate(struct upstream *upstream, const struct upstream_solution *solution, struct edition **ret_edition, struct buffer *reply,
		    struct assembler_options *options, size_t *ret_begin, struct error *error)
{
	int r = upstream_current(upstream, LOOK_MS, ret_edition, error);
	if (r == 0)
		r = ask_kernel(upstream, *ret_edition, solution, reply, error);
	return r < 0 ? r : read_kernel(reply, options, ret_begin, error);
}

int upstream_kernel(struct upstream *upstream, const struct upstream_solution *solution, struct buffer *ret_object, struct error *error)
{
	_cleanup_buffer_ struct buffer reply = { 0 }, object = { 0 };
	struct assembler_options options = { .arch = solution->arch };
	struct edition *edition;
	size_t begin;

	int r = generate(upstream, solution, &edition, &reply, &options, &begin, error);
	if (r == 0)
		r = assembler_assemble(upstream->assembler, &options, reply.data + begin, reply.size - begin, &object, error);
	if (r == 0)
		r = upstream_check(upstream, edition, error);
	if (r < 0)
		return r;
	*ret_object = object;
	object = (struct buffer){ 0 };
	return 0;
}

int upstream_print(struct upstream *upstream, const struct upstream_solution *solution, struct buffer *ret_text, struct error *error)
{
	_cleanup_buffer_ struct buffer reply = { 0 };
	struct assembler_options options = { 0 };
	struct edition *edition;
	size_t begin;

	int r = generate(upstream, solution, &edition, &reply, &options, &begin, error);
	if (r < 0)
		return r;
	buffer_append(ret_text, reply.data + begin, reply.size - begin);
	return ret_text->failed ? -ENOMEM : 0;
}

/* ---- helper kernels --------------------------------------------------------------------------------------------------- */

static int ask_helpers(struct upstream *upstream, struct edition *edition, const char *arch, const struct upstream_solution *solutions,
		       size_t n_solutions, const char *const *names, size_t n_names, struct buffer *ret_reply, struct error *error)
{
	_cleanup_buffer_ struct buffer body = { 0 };
	const char *verdicts;

	int r = upstream_verdicts(upstream, edition, arch, &verdicts, error);
	if (r < 0)
		return r;
	begin_request(upstream, arch, verdicts, &body);
	buffer_append_string(&body, ",\"names\":[");
	for (size_t i = 0; i < n_names; i++) {
		buffer_append_string(&body, i ? "," : "");
		append_json_string(&body, names[i]);
	}
	buffer_append_string(&body, "],\"solutions\":[");
	for (size_t i = 0; i < n_solutions; i++) {
		buffer_append_string(&body, i ? "," : "");
		buffer_append(&body, solutions[i].text, solutions[i].size);
	}
	buffer_append_string(&body, "]}");
	return body.failed ? -ENOMEM : workers_ask(edition->workers, "helpers", body.data, body.size, ret_reply, error);
}

/* `files`: [[name, text], ...] */
static int compile(struct upstream *upstream, const char *arch, struct json_object *files, struct buffer *ret_code_object, struct error *error)
{
	size_t n = json_object_is_type(files, json_type_array) ? json_object_array_length(files) : 0;
	_cleanup_free_ struct hip_source *sources = calloc(n + 1, sizeof(*sources));

	if (!sources)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct json_object *file = json_object_array_get_idx(files, i);
		if (!json_object_is_type(file, json_type_array))
			return error_set(error, -EPROTO, "the worker's file is no list");
		const char *text = string_at(file, 1);
		sources[i] = (struct hip_source){ .name = string_at(file, 0), .text = text, .size = strlen(text) };
	}
	return hip_compile(upstream->hip, arch, sources, n, NULL, ret_code_object, error);
}

int upstream_helpers(struct upstream *upstream, const char *arch, const struct upstream_solution *solutions, size_t n_solutions,
		     const char *const *names, size_t n_names, struct buffer *ret_code_object, struct error *error)
{
	_cleanup_buffer_ struct buffer reply = { 0 }, code_object = { 0 };
	struct json_object *object, *files = NULL;
	struct edition *edition;

	int r = upstream_current(upstream, LOOK_MS, &edition, error);
	if (r == 0)
		r = ask_helpers(upstream, edition, arch, solutions, n_solutions, names, n_names, &reply, error);
	if (r == 0)
		r = upstream_parse(&reply, reply.size, &object, error);
	if (r < 0)
		return r;
	json_object_object_get_ex(object, "files", &files);
	r = compile(upstream, arch, files, &code_object, error);
	json_object_put(object);
	if (r == 0)
		r = upstream_check(upstream, edition, error);
	if (r < 0)
		return r;
	*ret_code_object = code_object;
	code_object = (struct buffer){ 0 };
	return 0;
}
