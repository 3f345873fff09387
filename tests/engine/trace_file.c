/* SPDX-License-Identifier: MIT */
#include "tests/engine/trace_file.h"

#include "tests/engine/common.h"

#define MOST_THREADS 64
#define MOST_DEPTH 8
#define MOST_WAITS 256

struct thread {
	int64_t id, last;		/* its number, and the time of its last event */
	const char *open[MOST_DEPTH];	/* names of its spans that have begun */
	size_t depth;
};

struct check {
	struct thread threads[MOST_THREADS];
	size_t n_threads;
	const char *waits[MOST_WAITS];	/* ids that have begun; NULL: free */
	size_t n_waits;
};

static struct json_object *member(const struct json_object *object, const char *key, enum json_type type)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, type))
		fail_msg("no '%s' in %s", key, json_object_to_json_string((struct json_object *)object));
	return value;
}

const char *event_text(const struct json_object *event, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(event, key, &value) ? json_object_get_string(value) : "";
}

const char *event_arg(const struct json_object *event, const char *key)
{
	return event_text(member(event, "args", json_type_object), key);
}

bool event_is(const struct json_object *event, char phase, const char *name)
{
	return event_text(event, "ph")[0] == phase && strcmp(event_text(event, "name"), name) == 0;
}

size_t trace_count_events(const struct json_object *trace, char phase, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < json_object_array_length(trace); i++)
		n += event_is(json_object_array_get_idx(trace, i), phase, name);
	return n;
}

/* ---- what an event must keep ------------------------------------------------------------------------------------------ */

static struct thread *thread_of(struct check *check, int64_t id)
{
	for (size_t i = 0; i < check->n_threads; i++)
		if (check->threads[i].id == id)
			return &check->threads[i];
	assert_true(check->n_threads < MOST_THREADS);
	check->threads[check->n_threads] = (struct thread){ .id = id };
	return &check->threads[check->n_threads++];
}

static void check_span(struct thread *thread, char phase, const char *name)
{
	if (phase == 'B') {
		assert_true(thread->depth < MOST_DEPTH);
		thread->open[thread->depth++] = name;
	} else {
		assert_true(thread->depth > 0);
		assert_string_equal(thread->open[--thread->depth], name);
	}
}

static void check_wait(struct check *check, char phase, const char *id)
{
	size_t i = 0;

	while (i < MOST_WAITS && !(check->waits[i] && strcmp(check->waits[i], id) == 0))
		i++;
	assert_int_equal(i == MOST_WAITS, phase == 'b');	/* an end has a beginning, a beginning no other one */
	if (phase == 'e') {
		check->waits[i] = NULL;
		check->n_waits--;
		return;
	}
	for (i = 0; check->waits[i]; i++)
		assert_true(i + 1 < MOST_WAITS);
	check->waits[i] = id;
	check->n_waits++;
}

static void check_event(struct check *check, const struct json_object *event)
{
	const char *phase = json_object_get_string(member(event, "ph", json_type_string));
	const char *name = json_object_get_string(member(event, "name", json_type_string));
	int64_t id = json_object_get_int64(member(event, "tid", json_type_int));

	assert_true(strlen(phase) == 1 && strchr("MBECbe", *phase));
	assert_true(json_object_get_int64(member(event, "pid", json_type_int)) > 0);
	member(event, "args", json_type_object);
	if (*phase == 'M')
		return;
	struct thread *thread = thread_of(check, id);
	int64_t time = json_object_get_int64(member(event, "ts", json_type_int));
	assert_true(time >= thread->last);
	thread->last = time;
	if (*phase == 'B' || *phase == 'E')
		check_span(thread, *phase, name);
	if (*phase == 'b' || *phase == 'e') {
		member(event, "cat", json_type_string);
		check_wait(check, *phase, json_object_get_string(member(event, "id", json_type_string)));
	}
}

struct json_object *trace_load(const char *path, bool whole)
{
	size_t size;
	_cleanup_free_ char *text = read_text(path, &size);
	struct json_tokener *tokener = json_tokener_new();
	struct check check = { 0 };

	if (!whole && (size < 2 || strcmp(text + size - 2, "]\n") != 0))
		text[size++] = ']';		/* in place of the NUL */
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	struct json_object *trace = json_tokener_parse_ex(tokener, text, (int)size);
	if (!trace || !json_object_is_type(trace, json_type_array))
		fail_msg("'%s' is no trace: %s", path, json_tokener_error_desc(json_tokener_get_error(tokener)));
	json_tokener_free(tokener);
	for (size_t i = 0; i < json_object_array_length(trace); i++)
		check_event(&check, json_object_array_get_idx(trace, i));
	for (size_t i = 0; whole && i < check.n_threads; i++)
		assert_int_equal(check.threads[i].depth, 0);
	if (whole)
		assert_int_equal(check.n_waits, 0);
	return trace;
}
