/* SPDX-License-Identifier: MIT */
/* A made-up HIP compiler that does what a test wants of it, and the real one where there is one. */
#include "build/upstream/hip.h"
#include "tests/common/files.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/*
 * Says that it is clang 19 and what it would do; for anything else runs the file "compile" of the scratch folder with all arguments. Its files, all to be changed by tests: version, would (what -### says), headers (what preprocessing gives), library.bc.
 */
static const char *make_compiler(void **state)
{
	static const char script[] = "S=${0%/*}\n"
				     "case \" $* \" in\n"
				     "*' --version '*) cat $S/version;;\n"
				     "*' -### '*) sed \"s,SCRATCH,$S,g\" $S/would >&2; exit $(cat $S/status);;\n"
				     "*' -E '*) cat $S/headers;;\n"
				     "*) echo \"$*\" >$S/arguments; . $S/compile;;\nesac";

	write_text(in_scratch(state, "version"), "clang version 19.1.7\nTarget: x86_64-pc-linux-gnu\n");
	write_text(in_scratch(state, "would"), "clang version 19.1.7\n \"SCRATCH/clang\" \"-cc1\" \"-mlink-builtin-bitcode\" \"SCRATCH/library.bc\" \"-O3\"\n");
	write_text(in_scratch(state, "status"), "0");
	write_text(in_scratch(state, "headers"), "int hip;\n");
	write_text(in_scratch(state, "library.bc"), "BC");
	write_text(in_scratch(state, "compile"), "echo text");
	assert_int_equal(shell("mkdir '%s/tmp'", (char *)*state), 0);
	setenv("TMPDIR", in_scratch(state, "tmp"), 1);
	return make_script(state, "clang++", script);
}

/* Nothing is left behind. */
static void assert_clean(void **state)
{
	unsetenv("TMPDIR");
	assert_int_equal(shell("rmdir '%s/tmp'", (char *)*state), 0);
}

static struct program *open_hip(const char *wanted)
{
	struct program *hip;

	assert_int_equal(hip_new(wanted, &hip), 0);
	return hip;
}

static const struct hip_source sources[] = { { "Kernels.cpp", "#include \"Kernels.h\"\n", 21 }, { "Kernels.h", "int one;\n", 9 } };

static int compile(struct program *hip, const struct hip_source *source, struct buffer *ret_text, struct error *error)
{
	error->text[0] = 0;
	return hip_compile(hip, "gfx942", source, 2, ret_text, error);
}

static char *identity(const char *compiler)
{
	struct program *hip = open_hip(compiler);
	struct error error = { 0 };
	const struct program_found *found;

	if (program_identify(hip, &found, &error) < 0)
		fail_msg("%s", error.text);
	char *copy = strdup(found->identity);
	program_unref(hip);
	return copy;
}

static int identify(const char *compiler, struct error *error)
{
	struct program *hip = open_hip(compiler);
	const struct program_found *found;

	error->text[0] = 0;
	int r = program_identify(hip, &found, error);
	program_unref(hip);
	return r;
}

static void test_sources_are_compiled_as_upstream_does(void **state)
{
	struct program *hip = open_hip(make_compiler(state));
	_cleanup_buffer_ struct buffer text = { 0 };
	struct error error;

	write_text(in_scratch(state, "compile"), "for file; do case $file in */Kernels.cpp) cat $file ${file%/*}/Kernels.h;; esac; done");
	if (compile(hip, sources, &text, &error) < 0)
		fail_msg("%s", error.text);
	buffer_append(&text, "", 1);
	assert_string_equal((char *)text.data, "#include \"Kernels.h\"\nint one;\n");
	_cleanup_free_ char *arguments = read_text(in_scratch(state, "arguments"), NULL);
	static const char *const expected[] = { "--cuda-device-only -x hip -O3", "-D__HIP_HCC_COMPAT_MODE__=1", "-std=c++17", "--offload-arch=gfx942",
						"/Kernels.cpp -S -o -" };
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_non_null(strstr(arguments, expected[i]));
	assert_null(strstr(arguments, "--rocm-device-lib-path"));	/* it finds its own */
	program_unref(hip);
	assert_clean(state);
}

static void test_the_identity_covers_all_that_goes_in(void **state)
{
	const char *compiler = make_compiler(state);
	static const char *const changes[][2] = { { "version", "clang version 19.1.8\n" }, { "headers", "int hop;\n" }, { "library.bc", "CB" } };
	_cleanup_free_ char *before = identity(compiler);

	_cleanup_free_ char *same = identity(compiler);
	assert_string_equal(before, same);
	assert_memory_equal(before, "clang version 19.1.7", 20);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		write_text(in_scratch(state, "%s", changes[i][0]), changes[i][1]);
		char *after = identity(compiler);
		assert_string_not_equal(before, after);
		free(before);
		before = after;
	}
	assert_clean(state);
}

static void test_the_first_error_is_the_message(void **state)
{
	struct program *hip = open_hip(make_compiler(state));
	_cleanup_buffer_ struct buffer object = { 0 };
	struct error error;

	write_text(in_scratch(state, "compile"), "for f; do case $f in */Kernels.cpp) echo \"$f:7:2: warning: hm\n$f:12:3: error: no such thing\n"
						 "$f:13:3: error: another\" >&2;; esac; done; exit 1");
	assert_int_equal(compile(hip, sources, &object, &error), -EIO);
	assert_non_null(strstr(error.text, "fails: Kernels.cpp:12:3: error: no such thing"));
	assert_null(strstr(error.text, "another"));
	write_text(in_scratch(state, "compile"), "echo out of memory >&2; kill -ABRT $$");
	assert_int_equal(compile(hip, sources, &object, &error), -EIO);
	assert_non_null(strstr(error.text, "signal 6: out of memory"));
	assert_int_equal(object.size, 0);
	program_unref(hip);
	assert_clean(state);
}

static void test_what_is_missing_is_named(void **state)
{
	const char *compiler = make_compiler(state);
	_cleanup_free_ char *path = strdup(getenv("PATH"));
	struct error error;

	write_text(in_scratch(state, "version"), "true (GNU coreutils) 9.1\n");
	assert_int_equal(identify(compiler, &error), -EINVAL);
	assert_non_null(strstr(error.text, "no HIP compiler: it calls itself 'true (GNU coreutils) 9.1'"));
	write_text(in_scratch(state, "version"), "Debian clang version 14.0.6\n");
	assert_int_equal(identify(compiler, &error), -EINVAL);
	assert_non_null(strstr(error.text, "too old: 'clang version 14.0.6', version 17 or newer"));
	write_text(in_scratch(state, "version"), "clang version 19.1.7\n");
	write_text(in_scratch(state, "headers"), "static int warpSize = __AMDGCN_WAVEFRONT_SIZE;\n");
	assert_int_equal(identify(compiler, &error), -EINVAL);
	assert_non_null(strstr(error.text, "headers are too old"));
	write_text(in_scratch(state, "status"), "1");
	write_text(in_scratch(state, "would"), "clang: error: cannot find HIP runtime; provide its path via '--rocm-path'\n");
	assert_int_equal(identify(compiler, &error), -ENOENT);
	assert_non_null(strstr(error.text, "no HIP headers"));
	write_text(in_scratch(state, "would"), "clang: error: cannot find ROCm device library; provide its path\n");
	assert_true(identify(compiler, &error) < 0);
	assert_non_null(strstr(error.text, "device library"));
	/* none at all */
	setenv("PATH", in_scratch(state, "tmp"), 1);
	setenv("ROCM_PATH", in_scratch(state, "tmp"), 1);
	int r = identify(NULL, &error);
	setenv("PATH", path, 1);
	unsetenv("ROCM_PATH");
	assert_int_equal(r, -ENOENT);
	assert_non_null(strstr(error.text, "no HIP compiler: install"));
	assert_clean(state);
}

struct stopped {
	struct program *hip;
	const char *started;
};

static void *stop_when_started(void *userdata)
{
	const struct stopped *stopped = userdata;

	while (shell("test -e '%s'", stopped->started) != 0)
		shell("sleep 0.01");
	program_stop(stopped->hip);
	return NULL;
}

static void test_a_compilation_ends_when_stopped(void **state)
{
	struct stopped stopped = { open_hip(make_compiler(state)), in_scratch(state, "started") };
	_cleanup_buffer_ struct buffer object = { 0 };
	struct error error;
	pthread_t thread;

	write_text(in_scratch(state, "compile"), "echo >$S/started; sleep 1000");
	assert_int_equal(pthread_create(&thread, NULL, stop_when_started, &stopped), 0);
	assert_int_equal(compile(stopped.hip, sources, &object, &error), -ECANCELED);
	pthread_join(thread, NULL);
	program_unref(stopped.hip);
	assert_clean(state);
}

/* ---- the real one ----------------------------------------------------------------------------------------------------- */

static const struct hip_source real[] = {
	{ "Kernels.cpp", "#include \"Kernels.h\"\nextern \"C\" __global__ void twice(float *p, __half *h) { p[threadIdx.x] += expf(__half2float(h[threadIdx.x])); }\n", 0 },
	{ "Kernels.h", "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n", 0 },
};

static void test_the_same_source_gives_the_same_text(void **state)
{
	struct hip_source source[] = { real[0], real[1] };
	struct buffer texts[2] = { 0 };
	struct program *hip = open_hip(NULL);
	struct error error = { 0 };
	const struct program_found *found;

	if (program_identify(hip, &found, &error) < 0) {
		print_message("skipped: %s\n", error.text);
		program_unref(hip);
		skip();
	}
	for (size_t i = 0; i < 2; i++)
		source[i].size = strlen(source[i].text);
	for (size_t i = 0; i < 2; i++) {
		setenv("TMPDIR", in_scratch(state, i ? "other" : "one"), 1);
		assert_int_equal(shell("mkdir \"$TMPDIR\""), 0);
		if (hip_compile(hip, "gfx942", source, 2, &texts[i], &error) < 0)
			fail_msg("%s", error.text);
	}
	unsetenv("TMPDIR");
	assert_int_equal(texts[0].size, texts[1].size);
	assert_memory_equal(texts[0].data, texts[1].data, texts[0].size);
	assert_non_null(memmem(texts[0].data, texts[0].size, "\t.amdhsa_kernel twice\n", 22));
	assert_null(memmem(texts[0].data, texts[0].size, "tensilefs-hip", 13));
	buffer_release(&texts[0]);
	buffer_release(&texts[1]);
	program_unref(hip);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sources_are_compiled_as_upstream_does),
		TEST(test_the_identity_covers_all_that_goes_in),
		TEST(test_the_first_error_is_the_message),
		TEST(test_what_is_missing_is_named),
		TEST(test_a_compilation_ends_when_stopped),
		TEST(test_the_same_source_gives_the_same_text),
	};
	return cmocka_run_group_tests_name("hip", tests, NULL, NULL);
}
