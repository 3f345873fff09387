/* SPDX-License-Identifier: MIT */
/* Kernels: what workers are asked, and what is done with their replies. */
#include "build/upstream/upstream_internal.h"

/* ---- kernels ---------------------------------------------------------------------------------------------------------- */

void upstream_begin_request(const struct upstream *upstream, const char *arch, const char *verdicts, struct buffer *body)
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
	upstream_begin_request(upstream, solution->arch, verdicts, &body);
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
