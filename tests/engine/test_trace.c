/* SPDX-License-Identifier: MIT */
#include "build/engine/trace.h"
#include "tests/engine/common.h"
#include "tests/engine/trace_file.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct trace *open_trace(const char *path, void (*warn)(void *userdata, const char *message), void *userdata)
{
	struct trace *trace;
	struct error error = { 0 };

	if (trace_open(path, warn, userdata, &trace, &error) < 0)
		fail_msg("%s", error.text);
	return trace;
}

static void write_some(struct trace *trace, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		trace_begin(trace, "outer", TRACE_WITH({ "text", .text = "\"quoted\"\\\n\t\x01" }, { "number", .number = UINT64_MAX }));
		trace_begin(trace, "inner", TRACE_PLAIN);
		trace_count(trace, "numbers", TRACE_WITH({ "i", .number = i }));
		trace_end(trace, "inner", TRACE_PLAIN);
		trace_end(trace, "outer", TRACE_WITH({ "text", .text = "" }));
	}
}

static void *write_many(void *trace)
{
	write_some(trace, 200);
	return NULL;
}

static void test_threads_write_events_of_their_own(void **state)
{
	const char *path = in_scratch(state, "trace");
	struct trace *trace = open_trace(path, NULL, NULL);
	pthread_t threads[4];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_many, trace), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	trace_close(trace);
	struct json_object *events = trace_load(path, true);
	assert_int_equal(trace_count_events(events, 'B', "outer"), 800);
	assert_int_equal(trace_count_events(events, 'E', "inner"), 800);
	assert_int_equal(trace_count_events(events, 'C', "numbers"), 800);
	assert_int_equal(trace_count_events(events, 'M', "thread_name"), ARRAY_SIZE(threads));
	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *event = json_object_array_get_idx(events, i);
		if (event_is(event, 'B', "outer")) {
			assert_string_equal(event_arg(event, "text"), "\"quoted\"\\\n\t\x01");
			assert_string_equal(event_arg(event, "number"), "18446744073709551615");
		}
	}
	json_object_put(events);
}

/* Names of files are any bytes, and long texts are cut. */
static void test_texts_are_utf8_whatever_they_were(void **state)
{
	const char *path = in_scratch(state, "trace");
	struct trace *trace = open_trace(path, NULL, NULL);
	char text[1100];

	memset(text, 'x', sizeof(text));
	memcpy(text + 998, "\xe2\x82\xac", 4);			/* a euro sign, of which two bytes fit */
	trace_count(trace, "cut", TRACE_WITH({ "text", .text = text }));
	trace_count(trace, "some", TRACE_WITH({ "text", .text = "M\xc3\xbcller \xfc \xe2\x82 \xff\xbf" }));
	trace_close(trace);
	struct json_object *events = trace_load(path, true);
	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *event = json_object_array_get_idx(events, i);
		if (event_is(event, 'C', "cut"))
			assert_string_equal(event_arg(event, "text") + 996, "xx??");
		if (event_is(event, 'C', "some"))
			assert_string_equal(event_arg(event, "text"), "M\xc3\xbcller ? ?? ??");
	}
	assert_int_equal(trace_count_events(events, 'C', "cut") + trace_count_events(events, 'C', "some"), 2);
	json_object_put(events);
}

/* Wherever a kill can cut it: the kernel writes page by page. */
static void test_every_page_ends_between_events(void **state)
{
	const char *path = in_scratch(state, "trace"), *cut = in_scratch(state, "cut");
	struct trace *trace = open_trace(path, NULL, NULL);
	struct stat st;

	write_some(trace, 100);
	trace_close(trace);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 8 * 4096);
	for (long size = 4096; size < st.st_size; size += 4096) {
		assert_int_equal(shell("head -c %ld '%s' > '%s'", size, path, cut), 0);
		json_object_put(trace_load(cut, false));
	}
}

static void test_a_killed_process_leaves_a_trace_that_loads(void **state)
{
	const char *path = in_scratch(state, "trace");
	struct stat st;
	size_t most = 0;
	int status;

	for (unsigned i = 0; i < 20; i++) {
		pid_t pid = fork();
		if (pid == 0)
			write_some(open_trace(path, NULL, NULL), UINT32_MAX);
		usleep(2000 + 300 * i);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (stat(path, &st) < 0 || st.st_size == 0)	/* it had no time to begin */
			continue;
		struct json_object *events = trace_load(path, false);
		most = MAX(most, json_object_array_length(events));
		json_object_put(events);
	}
	assert_true(most > 10);
}

static void test_a_trace_that_cannot_be_opened_is_an_error(void **state)
{
	struct error error = { 0 };
	struct trace *trace;

	assert_int_equal(trace_open(in_scratch(state, "none/trace"), NULL, NULL, &trace, &error), -ENOENT);
	assert_non_null(strstr(error.text, "cannot write a trace to '"));
	assert_non_null(strstr(error.text, "none/trace': No such file or directory"));
	assert_int_equal(trace_open(*state, NULL, NULL, &trace, &error), -EISDIR);
}

/* ---- an engine's ------------------------------------------------------------------------------------------------------ */

static void get_all(struct engine *engine)
{
	for (size_t i = 0; i < engine_n_files(engine, 0); i++)
		artifact_unref(get(engine, engine_file(engine, 0, i)));
}

/* What lies between the beginning of a file's last span and its end, on the same thread: a bit for each stage, and the kernels. */
struct seen {
	unsigned stages;
	char kernels[16], linked[16];
	const char *outcome;
};

static const char *const stages[] = { "plan", "cache get", "generate", "link", "bundle", "cache put" };

static struct seen look_at(const struct json_object *events, const char *file)
{
	struct seen seen = { 0 };
	const char *thread = NULL;

	for (size_t i = 0; i < json_object_array_length(events); i++) {
		const struct json_object *event = json_object_array_get_idx(events, i);
		if (event_is(event, 'B', file)) {
			seen = (struct seen){ 0 };
			thread = event_text(event, "tid");
		}
		if (!thread || strcmp(event_text(event, "tid"), thread) != 0)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(stages); k++)
			if (event_is(event, 'B', stages[k]))
				seen.stages |= 1u << k;
		if (event_is(event, 'E', "generate"))
			snprintf(seen.kernels, sizeof(seen.kernels), "%s", event_arg(event, "kernels"));
		if (event_is(event, 'B', "link"))
			snprintf(seen.linked, sizeof(seen.linked), "%s", event_arg(event, "kernels"));
		if (event_is(event, 'E', file)) {
			seen.outcome = event_arg(event, "outcome");
			thread = NULL;
		}
	}
	return seen;
}

static void must_be_seen(struct engine *engine, const struct json_object *events, struct engine_file *file)
{
	enum { PLAN = 1, GET = 2, GENERATE = 4, LINK = 8, BUNDLE = 16, PUT = 32 };
	struct seen seen = look_at(events, engine_file_name(file));
	_cleanup_(artifact_unref_p) struct artifact *artifact = get(engine, file);
	char items[16];

	snprintf(items, sizeof(items), "%u", artifact->items);
	assert_string_equal(seen.outcome, "built");
	switch (engine_file_kind(file)) {
	case ENGINE_CODE_OBJECT:
		assert_int_equal(seen.stages, PLAN | GET | GENERATE | LINK | BUNDLE | PUT);
		assert_string_equal(seen.kernels, items);
		assert_string_equal(seen.linked, items);
		break;
	case ENGINE_HELPER:
		assert_int_equal(seen.stages, PLAN | GET | GENERATE | LINK | PUT);
		break;
	default:
		assert_int_equal(seen.stages, PLAN | GET | PUT);
	}
}

static void test_each_file_that_is_built_has_its_spans(void **state)
{
	const char *path = in_scratch(state, "trace");
	struct engine_options options = { .logic = copy_logic(state, "logic", 4), .bundle = BUNDLE_PLAIN, .jobs = 3, .quick_jobs = 1,
					  .cache = in_scratch(state, "cache"), .trace = open_trace(path, NULL, NULL) };
	struct engine *engine = open_engine(&options);

	get_all(engine);
	uint64_t kernels = status_number(engine, "built", "kernels");
	engine_unref(engine);
	trace_close(options.trace);
	struct json_object *events = trace_load(path, true);
	options.trace = NULL;
	engine = open_engine(&options);		/* whose files are known now */
	for (size_t i = 0; i < engine_n_files(engine, 0); i++)
		must_be_seen(engine, events, engine_file(engine, 0, i));
	engine_unref(engine);
	assert_int_equal(trace_count_events(events, 'B', "kernel"), kernels);
	assert_true(trace_count_events(events, 'C', "jobs") > 0 && trace_count_events(events, 'C', "memory") > 0);
	json_object_put(events);
}

static void must_build_with_one_warning(const char *logic, const char *path)
{
	struct warnings warnings = { 0 };
	struct engine_options options = { .logic = logic, .bundle = BUNDLE_PLAIN, .jobs = 2, .trace = open_trace(path, note_warning, &warnings) };
	struct engine *engine = open_engine(&options);

	get_all(engine);
	engine_unref(engine);
	trace_close(options.trace);
	assert_int_equal(warnings.n, 1);
	assert_non_null(strstr(warnings.last, "any more: No space left on device"));
}

static void test_a_full_disk_costs_one_warning(void **state)
{
	const char *disk = in_scratch(state, "disk"), *logic = copy_logic(state, "logic", 4);

	must_build_with_one_warning(logic, "/dev/full");
	assert_int_equal(mkdir(disk, 0700), 0);
	if (mount("none", disk, "tmpfs", 0, "size=16k,mode=0700") < 0)
		skip();
	must_build_with_one_warning(logic, in_scratch(state, "disk/trace"));
	struct json_object *events = trace_load(in_scratch(state, "disk/trace"), false);
	assert_true(json_object_array_length(events) > 10);
	json_object_put(events);
	assert_int_equal(umount2(disk, MNT_DETACH), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_threads_write_events_of_their_own),
		TEST(test_texts_are_utf8_whatever_they_were),
		TEST(test_every_page_ends_between_events),
		TEST(test_a_killed_process_leaves_a_trace_that_loads),
		TEST(test_a_trace_that_cannot_be_opened_is_an_error),
		TEST(test_each_file_that_is_built_has_its_spans),
		TEST(test_a_full_disk_costs_one_warning),
	};
	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
