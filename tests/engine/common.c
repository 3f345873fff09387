/* SPDX-License-Identifier: MIT */
#include "tests/engine/common.h"

#include <json-c/json.h>
#include <sys/stat.h>
#include <sys/wait.h>

int scratch_make(void **state)
{
	char *name = strdup("/tmp/tensilefs-test-XXXXXX");

	if (!name || !mkdtemp(name))
		return -1;
	*state = name;
	return 0;
}

int scratch_remove(void **state)
{
	int status = shell("rm -rf '%s'", (char *)*state);

	free(*state);
	return status;
}

const char *in_scratch(void **state, const char *format, ...)
{
	static char names[64][512];
	static unsigned next;
	char *name = names[next++ % ARRAY_SIZE(names)];
	va_list ap;

	int length = snprintf(name, sizeof(names[0]), "%s/", (char *)*state);
	va_start(ap, format);
	vsnprintf(name + length, sizeof(names[0]) - (size_t)length, format, ap);
	va_end(ap);
	return name;
}

int shell(const char *format, ...)
{
	char command[4096];
	va_list ap;

	va_start(ap, format);
	int length = vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	assert_true(length > 0 && (size_t)length < sizeof(command));
	int status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

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

void write_text(const char *path, const char *text)
{
	FILE *stream = fopen(path, "we");

	assert_non_null(stream);
	assert_int_equal(fwrite(text, 1, strlen(text), stream), strlen(text));
	assert_int_equal(fclose(stream), 0);
}

char *read_text(const char *path, size_t *ret_size)
{
	struct buffer buffer = { 0 };
	FILE *stream = fopen(path, "re");
	char bytes[65536];
	size_t n;

	if (!stream)
		fail_msg("cannot open '%s': %s", path, strerror(errno));
	while ((n = fread(bytes, 1, sizeof(bytes), stream)))
		buffer_append(&buffer, bytes, n);
	assert_false(ferror(stream));
	fclose(stream);
	buffer_append(&buffer, "", 1);
	if (ret_size)
		*ret_size = buffer.size - 1;
	return (char *)buffer.data;
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
	const char *path = in_scratch(state, "%s", name);
	_cleanup_buffer_ struct buffer script = { 0 };

	buffer_printf(&script, "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'LLD 22.0.1 (made up)'; exit 0; fi\n%s\n", body);
	buffer_append(&script, "", 1);
	write_text(path, (char *)script.data);
	assert_int_equal(chmod(path, 0755), 0);
	return path;
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

struct engine_file *first_of_kind(struct engine *engine, enum engine_kind kind)
{
	for (size_t i = 0; i < engine_n_files(engine, 0); i++)
		if (engine_file_kind(engine_file(engine, 0, i)) == kind)
			return engine_file(engine, 0, i);
	fail_msg("no file of kind %d", kind);
	return NULL;
}
