/* SPDX-License-Identifier: MIT */
/*
 * TensileLite finds out what the assembler can do by hundreds of runs of it, one for each snippet and target. Here the worker says
 * what it would ask, the assembler judges all of it in one run or two, and what it said is kept.
 */
#include "build/upstream/upstream_internal.h"

#include "cachedb/digest.h"

#define MOST_ROUNDS 8		/* of questions; one is enough for all that is known */

enum { TAG_VERDICTS = 0x56455244 };	/* cachedb_info.tag */

/* ---- JSON ------------------------------------------------------------------------------------------------------------- */

void append_json_string(struct buffer *json, const char *string)
{
	struct json_object *object = json_object_new_string(string);

	buffer_append_string(json, json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	json_object_put(object);
}

int upstream_parse(const struct buffer *reply, size_t size, struct json_object **ret_object, struct error *error)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *object = tokener ? json_tokener_parse_ex(tokener, (const char *)reply->data, (int)size) : NULL;

	json_tokener_free(tokener);
	if (!json_object_is_type(object, json_type_object)) {
		json_object_put(object);
		return error_set(error, -EPROTO, "the worker's reply is no object: '%.*s'", (int)MIN(size, (size_t)100),
				 reply->data ? (const char *)reply->data : "");
	}
	*ret_object = object;
	return 0;
}

const char *string_at(struct json_object *list, size_t index)
{
	const char *string = json_object_get_string(json_object_array_get_idx(list, index));

	return string ? string : "";
}

/* ---- questions -------------------------------------------------------------------------------------------------------- */

/* Puts questions to the assembler and appends them with its answers. */
static int put_questions(struct upstream *upstream, struct json_object *questions, struct json_object *verdicts, struct error *error)
{
	size_t n = json_object_array_length(questions);
	_cleanup_free_ struct assembler_snippet *snippets = calloc(n + 1, sizeof(*snippets));
	_cleanup_free_ bool *answers = calloc(n + 1, sizeof(*answers));

	if (!snippets || !answers)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct json_object *question = json_object_array_get_idx(questions, i);
		if (!json_object_is_type(question, json_type_array))
			return error_set(error, -EPROTO, "the worker's question is no list");
		snippets[i] = (struct assembler_snippet){ string_at(question, 0), string_at(question, 1), string_at(question, 2) };
	}
	int r = assembler_try(upstream->assembler, snippets, n, answers, error);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct json_object *question = json_object_array_get_idx(questions, i);
		json_object_array_add(question, json_object_new_boolean(answers[i]));
		json_object_array_add(verdicts, json_object_get(question));
	}
	return r;
}

/* Asks for the table of targets until no question is open. `targets` and `verdicts` are JSON lists. */
static int find_table(struct upstream *upstream, struct edition *edition, const char *targets, struct json_object *verdicts,
		      struct json_object **ret_table, struct error *error)
{
	for (unsigned round = 0; round < MOST_ROUNDS; round++) {
		_cleanup_buffer_ struct buffer body = { 0 }, reply = { 0 };
		struct json_object *object, *part;

		buffer_printf(&body, "{\"targets\":%s,\"verdicts\":%s}", targets, json_object_to_json_string_ext(verdicts, JSON_C_TO_STRING_PLAIN));
		int r = body.failed ? -ENOMEM : workers_ask(edition->workers, "caps", body.data, body.size, &reply, error);
		if (r == 0)
			r = upstream_parse(&reply, reply.size, &object, error);
		if (r < 0)
			return r;
		if (json_object_object_get_ex(object, "table", &part)) {
			*ret_table = json_object_get(part);
			json_object_put(object);
			return 0;
		}
		if (!json_object_object_get_ex(object, "missing", &part) || !json_object_is_type(part, json_type_array))
			r = error_set(error, -EPROTO, "the worker's reply has neither a table nor questions");
		else
			r = put_questions(upstream, part, verdicts, error);
		json_object_put(object);
		if (r < 0)
			return r;
	}
	return error_set(error, -EPROTO, "TensileLite has ever more questions about the assembler");
}

/* ---- what was said ---------------------------------------------------------------------------------------------------- */

static int verdicts_key(const struct edition *edition, const char *targets, struct cachedb_key *ret_key)
{
	struct digest digest = { 0 };

	digest_init(&digest, "upstream verdicts");
	digest_string(&digest, edition->identity);
	digest_string(&digest, targets);
	int r = digest_finish(&digest, ret_key);
	digest_release(&digest);
	return r;
}

static char *cached_verdicts(const struct upstream *upstream, const struct cachedb_key *key)
{
	_cleanup_free_ uint8_t *data = NULL;
	struct cachedb_info info;

	if (!upstream->options.cache || cachedb_get(upstream->options.cache, key, &info, &data) < 0 || info.tag != TAG_VERDICTS)
		return NULL;
	return strndup((const char *)data, info.size);
}

/* The verdicts about targets, malloc memory. */
static int probe(struct upstream *upstream, struct edition *edition, const char *targets, char **ret_json, struct error *error)
{
	struct json_object *verdicts, *table = NULL;
	struct cachedb_key key;

	int r = verdicts_key(edition, targets, &key);
	if (r < 0)
		return r;
	*ret_json = cached_verdicts(upstream, &key);
	if (*ret_json)
		return 0;
	verdicts = json_object_new_array();
	r = verdicts ? find_table(upstream, edition, targets, verdicts, &table, error) : -ENOMEM;
	if (r == 0) {
		*ret_json = strdup(json_object_to_json_string_ext(verdicts, JSON_C_TO_STRING_PLAIN));
		r = *ret_json ? 0 : -ENOMEM;
	}
	if (r == 0 && upstream->options.cache)	/* when it cannot be kept, the next process asks again */
		cachedb_put(upstream->options.cache, &key, (const uint8_t *)*ret_json, strlen(*ret_json),
			    &(struct cachedb_info){ .tag = TAG_VERDICTS }, NULL);
	json_object_put(table);
	json_object_put(verdicts);
	return r;
}

static int add_verdicts(struct upstream *upstream, struct edition *edition, const char *targets, struct error *error)
{
	struct verdicts *verdicts = calloc(1, sizeof(*verdicts));

	if (!verdicts)
		return -ENOMEM;
	verdicts->targets = strdup(targets);
	int r = verdicts->targets ? probe(upstream, edition, targets, &verdicts->json, error) : -ENOMEM;
	if (r < 0) {
		free(verdicts->targets);
		free(verdicts);
		return r;
	}
	verdicts->next = edition->verdicts;
	edition->verdicts = verdicts;
	return 0;
}

/* `targets`: a JSON list with its NUL. */
static int get_verdicts(struct upstream *upstream, struct edition *edition, const struct buffer *targets, const char **ret_json, struct error *error)
{
	const char *text = (const char *)targets->data;
	struct verdicts *verdicts;
	int r = 0;

	if (targets->failed)
		return -ENOMEM;
	pthread_mutex_lock(&edition->probe);
	for (verdicts = edition->verdicts; verdicts && strcmp(verdicts->targets, text) != 0; verdicts = verdicts->next)
		;
	if (!verdicts) {
		r = add_verdicts(upstream, edition, text, error);
		verdicts = edition->verdicts;
	}
	if (r == 0)
		*ret_json = verdicts->json;
	pthread_mutex_unlock(&edition->probe);
	return r;
}

static void list_target(const char *target, struct buffer *targets)
{
	buffer_append_string(targets, "[");
	append_json_string(targets, target);
	buffer_append(targets, "]", 2);
}

int upstream_verdicts(struct upstream *upstream, struct edition *edition, const char *target, const char **ret_json, struct error *error)
{
	_cleanup_buffer_ struct buffer targets = { 0 };

	list_target(target, &targets);
	return get_verdicts(upstream, edition, &targets, ret_json, error);
}

/* ---- the table -------------------------------------------------------------------------------------------------------- */

/* All targets that TensileLite knows. */
static int list_all(struct edition *edition, struct buffer *targets, struct error *error)
{
	_cleanup_buffer_ struct buffer reply = { 0 };
	struct json_object *object, *list;

	int r = workers_ask(edition->workers, "about", "{}", 2, &reply, error);
	if (r == 0)
		r = upstream_parse(&reply, reply.size, &object, error);
	if (r < 0)
		return r;
	if (json_object_object_get_ex(object, "targets", &list)) {
		buffer_append_string(targets, json_object_to_json_string_ext(list, JSON_C_TO_STRING_PLAIN));
		buffer_append(targets, "", 1);
	} else {
		r = error_set(error, -EPROTO, "the worker's reply has no targets");
	}
	json_object_put(object);
	return r;
}

int upstream_caps(struct upstream *upstream, const char *arch, struct buffer *ret_json, struct error *error)
{
	_cleanup_buffer_ struct buffer targets = { 0 };
	struct json_object *verdicts, *table = NULL;
	struct edition *edition;
	const char *json;

	int r = upstream_current(upstream, LOOK_MS, &edition, error);
	if (r == 0 && arch)
		list_target(arch, &targets);
	else if (r == 0)
		r = list_all(edition, &targets, error);
	if (r == 0)
		r = get_verdicts(upstream, edition, &targets, &json, error);
	if (r < 0)
		return r;
	verdicts = json_tokener_parse(json);
	r = verdicts ? find_table(upstream, edition, (const char *)targets.data, verdicts, &table, error) : -EPROTO;
	if (r == 0)
		buffer_append_string(ret_json, json_object_to_json_string_ext(table, JSON_C_TO_STRING_PLAIN));
	json_object_put(table);
	json_object_put(verdicts);
	return r < 0 ? r : ret_json->failed ? -ENOMEM : 0;
}
