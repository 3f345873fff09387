/* SPDX-License-Identifier: MIT */
#include "tests/engine/common.h"

#include <json-c/json.h>

const char *sample_logic(void)
{
	return TENSILEFS_SOURCE "/samples/logic";
}

const char *copy_logic(void **state, const char *name, size_t n)
{
	const char *folder = in_scratch(state, "%s", name);

	assert_int_equal(shell("mkdir -p '%s' && cd '%s' && find . -name '*.yaml' | LC_ALL=C sort | head -n %zu | xargs -I{} cp --parents {} '%s'",
			       folder, sample_logic(), n ? n : 1000000, folder), 0);
	return folder;
}

void replace_text(const char *path, const char *old, const char *new)
{
	_cleanup_free_ char *text = read_text(path, NULL);
	_cleanup_buffer_ struct buffer result = { 0 };
	char *at = text, *found;

	assert_non_null(strstr(text, old));
	while ((found = strstr(at, old))) {
		buffer_append(&result, at, (size_t)(found - at));
		buffer_append_string(&result, new);
		at = found + strlen(old);
	}
	buffer_append(&result, at, strlen(at) + 1);
	write_text(path, (char *)result.data);
}

const char *real_linker(void)
{
	static char path[512];
	static const char find[] = "for l in /usr/lib/llvm-22/bin/ld.lld $(command -v ld.lld-22 ld.lld-21 ld.lld-20 ld.lld-19 ld.lld-18 ld.lld-17 "
				   "ld.lld); do [ -x \"$l\" ] && echo \"$l\" && break; done";
	FILE *stream = popen(find, "re");

	assert_non_null(stream);
	if (!fgets(path, sizeof(path), stream)) {
		pclose(stream);
		exit(77);
	}
	pclose(stream);
	path[strcspn(path, "\n")] = 0;
	return path;
}

const char *make_linker(void **state, const char *name, const char *body)
{
	_cleanup_buffer_ struct buffer script = { 0 };

	buffer_printf(&script, "if [ \"$1\" = --version ]; then echo 'LLD 22.0.1 (made up)'; exit 0; fi\n%s", body);
	buffer_append(&script, "", 1);
	return make_script(state, name, (char *)script.data);
}

struct standin make_standin(void **state)
{
	struct standin standin = { .folder = in_scratch(state, "tensilelite") };
	char python[512], body[2048];
	FILE *stream = popen("python3 -c 'import sys; print(sys.executable)' 2>/dev/null", "re");

	assert_non_null(stream);
	if (!fgets(python, sizeof(python), stream)) {
		pclose(stream);
		skip();
	}
	pclose(stream);
	python[strcspn(python, "\n")] = 0;
	assert_int_equal(shell("mkdir -p '%s/Tensile' && touch '%s/Tensile/__init__.py'", standin.folder, standin.folder), 0);
	snprintf(body, sizeof(body), "[ \"$1\" = -c ] && echo 'cpython 3.11.0 with PyYAML' && exit\nexec '%s' '%s/tests/engine/standin.py' \"$@\"",
		 python, TENSILEFS_SOURCE);
	standin.python = make_script(state, "python", body);
	return standin;
}

void note_warning(void *userdata, const char *message)
{
	struct warnings *warnings = userdata;

	__atomic_add_fetch(&warnings->n, 1, __ATOMIC_SEQ_CST);
	snprintf(warnings->last, sizeof(warnings->last), "%s", message);
}

struct engine *open_engine(const struct engine_options *options)
{
	struct engine_options complete = *options;
	struct engine *engine;
	struct error error = { 0 };

	if (!complete.linker)
		complete.linker = real_linker();
	if (engine_new(&complete, &engine, &error) < 0)
		fail_msg("%s", error.text);
	return engine;
}

uint64_t status_number(struct engine *engine, const char *group, const char *key)
{
	_cleanup_buffer_ struct buffer json = { 0 };
	struct json_object *members, *value;

	assert_int_equal(engine_status(engine, &json), 0);
	buffer_append(&json, "", 1);
	struct json_object *status = json_tokener_parse((const char *)json.data);
	assert_non_null(status);
	assert_true(json_object_object_get_ex(status, group, &members));
	assert_true(json_object_object_get_ex(members, key, &value));
	uint64_t number = json_object_get_uint64(value);
	json_object_put(status);
	return number;
}

struct artifact *get(struct engine *engine, struct engine_file *file)
{
	struct artifact *artifact = NULL;
	struct error error = { 0 };

	int r = engine_get(engine, file, &artifact, &error);
	if (r < 0)
		fail_msg("%s: %s", engine_file_name(file), error_text(&error, r));
	return artifact;
}

struct engine_file *first_of_kind(struct engine *engine, enum engine_kind kind)
{
	for (size_t i = 0; i < engine_n_files(engine, 0); i++)
		if (engine_file_kind(engine_file(engine, 0, i)) == kind)
			return engine_file(engine, 0, i);
	fail_msg("no file of kind %d", kind);
	return NULL;
}
