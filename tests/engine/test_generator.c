/* SPDX-License-Identifier: MIT */
/*
 * The generator that asks the user's TensileLite, with a stand-in for it (standin.py): what is generated how often, what fails and what goes
 * on, and what is left when it ends.
 */
#include "build/object/elf_file.h"
#include "tests/common/tool.h"
#include "tests/engine/common.h"

#include <signal.h>
#include <time.h>

static struct engine_options with_standin(void **state, const char *logic)
{
	struct standin standin = make_standin(state);

	if (!tool("llvm-mc"))
		skip();
	return (struct engine_options){
		.logic = logic, .arch = "gfx942", .bundle = BUNDLE_NONE, .jobs = 2, .tensilelite = standin.folder, .python = standin.python,
		.assembler = tool("llvm-mc"), .hip_compiler = in_scratch(state, "no-hip-compiler"), .kernel_seconds = 120,
	};
}

static void behave(void **state, const char *part, const char *what)
{
	char text[600];

	snprintf(text, sizeof(text), "%s %s\n", part, what);
	write_text(in_scratch(state, "behaviour"), text);
}

struct names {
	size_t n;
	char first[512], last[512];	/* of different kernels where there are several */
};

static int keep_name(void *userdata, const char *name)
{
	struct names *names = userdata;

	snprintf(names->n++ ? names->last : names->first, sizeof(names->first), "%s", name);
	return 0;
}

static struct names kernels_of(struct engine *engine, struct engine_file *file)
{
	struct names names = { 0 };
	struct error error;

	assert_int_equal(engine_foreach_kernel(engine, file, keep_name, &names, &error), 0);
	return names;
}

/* The i-th code object. */
static struct engine_file *code_object(struct engine *engine, size_t i)
{
	for (size_t k = 0; k < engine_n_files(engine, 0); k++)
		if (engine_file_kind(engine_file(engine, 0, k)) == ENGINE_CODE_OBJECT && i-- == 0)
			return engine_file(engine, 0, k);
	fail_msg("too few code objects");
	return NULL;
}

/* All kernels of all code objects, by asking for each of these. */
static size_t build_all(struct engine *engine)
{
	size_t kernels = 0;

	for (size_t i = 0; i < engine_n_files(engine, 0); i++) {
		struct engine_file *file = engine_file(engine, 0, i);
		if (engine_file_kind(file) != ENGINE_CODE_OBJECT)
			continue;
		struct artifact *artifact = get(engine, file);
		kernels += artifact->items;
		artifact_unref(artifact);
	}
	return kernels;
}

static size_t count_lines(const char *path)
{
	_cleanup_free_ char *text = read_text(path, NULL);
	size_t n = 0;

	for (const char *at = text; *at; at++)
		n += *at == '\n';
	return n;
}

/* An edit of the second solution of a file, of a hint, which changes nothing that a name is made of. */
static void edit_a_solution(const char *logic)
{
	assert_int_equal(shell("cd '%s' && f=$(grep -rl 'StoreRemapVectorWidth' . | sort | head -n 1) && "
			       "perl -0pi -e 'my $n = 0; s/(StoreRemapVectorWidth: )(\\d+)/$1 . (++$n == 2 ? $2 + 1 : $2)/ge' \"$f\"", logic), 0);
}

/* ---- what is made ----------------------------------------------------------------------------------------------------- */

static void test_a_code_object_has_the_kernels_of_all_its_solutions(void **state)
{
	struct engine_options options = with_standin(state, copy_logic(state, "logic", 3));
	struct engine *engine = open_engine(&options);
	struct engine_file *file = code_object(engine, 0);
	_cleanup_(artifact_unref_p) struct artifact *artifact = get(engine, file);
	_cleanup_(elf_release) struct elf elf = { 0 };
	struct names names = kernels_of(engine, file);

	assert_int_equal(elf_read(artifact->data, artifact->size, &elf, NULL), 0);
	assert_int_equal(elf.n_kernels, names.n);
	assert_int_equal(artifact->items, names.n);
	assert_int_equal(status_number(engine, "built", "kernels"), names.n);
	assert_int_equal(elf.kernels[0].name_length, strlen(names.first));
	assert_memory_equal(elf.kernels[0].name, names.first, strlen(names.first));
	assert_non_null(elf_find(&elf, ".note.gnu.build-id"));		/* as upstream links them */
	engine_unref(engine);
}

static void test_bytes_do_not_depend_on_the_number_of_workers(void **state)
{
	struct engine_options options = with_standin(state, copy_logic(state, "logic", 4));
	options.jobs = 1;
	struct engine *one = open_engine(&options);
	options.jobs = 4;
	struct engine *four = open_engine(&options);

	for (size_t i = 0; i < engine_n_files(one, 0); i++) {
		if (engine_file_kind(engine_file(one, 0, i)) == ENGINE_HELPER)
			continue;	/* there is no compiler for it */
		_cleanup_(artifact_unref_p) struct artifact *x = get(one, engine_file(one, 0, i)), *y = get(four, engine_file(four, 0, i));
		assert_int_equal(x->size, y->size);
		assert_memory_equal(x->data, y->data, x->size);
	}
	engine_unref(one);
	engine_unref(four);
}

static void test_an_edited_solution_is_generated_and_no_other(void **state)
{
	struct engine_options options = with_standin(state, copy_logic(state, "logic", 0));
	const char *requests = in_scratch(state, "requests");

	options.cache = in_scratch(state, "cache");
	struct engine *engine = open_engine(&options);
	size_t kernels = build_all(engine), made = (size_t)status_number(engine, "built", "kernels");
	size_t hits = (size_t)status_number(engine, "built", "kernel_hits");
	assert_int_equal(made + hits, kernels);
	assert_int_equal(count_lines(requests), made);
	engine_unref(engine);

	edit_a_solution(options.logic);
	write_text(requests, "");
	engine = open_engine(&options);
	assert_int_equal(build_all(engine), kernels);
	assert_int_equal(status_number(engine, "built", "kernels"), 1);
	assert_int_equal(count_lines(requests), 1);
	engine_unref(engine);
}

static void test_another_tensilelite_generates_all_anew(void **state)
{
	struct engine_options options = with_standin(state, copy_logic(state, "logic", 2));

	options.cache = in_scratch(state, "cache");
	struct engine *engine = open_engine(&options);
	build_all(engine);
	size_t made = (size_t)status_number(engine, "built", "kernels");
	engine_unref(engine);
	write_text(in_scratch(state, "tensilelite/Tensile/__init__.py"), "# edited\n");
	engine = open_engine(&options);
	build_all(engine);
	assert_int_equal(status_number(engine, "built", "kernels"), made);
	engine_unref(engine);
}

static void test_assembly_is_that_of_the_object(void **state)
{
	struct engine_options options = with_standin(state, copy_logic(state, "logic", 1));
	struct engine *engine = open_engine(&options);
	struct engine_file *file = code_object(engine, 0);
	struct names names = kernels_of(engine, file);
	_cleanup_buffer_ struct buffer text = { 0 };
	struct error error;

	assert_int_equal(engine_print_kernel(engine, file, names.first, &text, &error), 0);
	buffer_append(&text, "", 1);
	assert_non_null(strstr((char *)text.data, "s_mov_b32 s0, 0x"));
	assert_non_null(strstr((char *)text.data, "s_endpgm"));
	engine_unref(engine);
}

/* ---- helper kernels --------------------------------------------------------------------------------------------------- */

/* Is there a HIP compiler that works on this machine? Else the native object serves. */
static bool compiles_helpers(void **state)
{
	static int known = -1;

	if (known < 0) {
		struct engine_options options = with_standin(state, copy_logic(state, "one", 1));
		options.hip_compiler = NULL;
		struct engine *engine = open_engine(&options);
		_cleanup_(artifact_unref_p) struct artifact *artifact = get(engine, first_of_kind(engine, ENGINE_HELPER));
		_cleanup_(elf_release) struct elf elf = { 0 };
		assert_int_equal(elf_read(artifact->data, artifact->size, &elf, NULL), 0);
		known = elf.n_kernels > 0;
		engine_unref(engine);
	}
	return known;
}

/* A HIP compiler that HIP's headers are not too old for, which notes every source that it compiles in "compiles". */
static struct engine_options with_compiler(void **state, const char *logic)
{
	struct engine_options options = with_standin(state, logic);
	char body[600];

	if (!compiles_helpers(state))
		skip();
	snprintf(body, sizeof(body), "case \" $* \" in *' -### '*|*' -E '*|*' --version '*) ;; *) echo >>'%s';; esac\n"
				     "for v in 19 18 17 20; do command -v clang++-$v >/dev/null && exec clang++-$v \"$@\"; done\nexit 1", in_scratch(state, "compiles"));
	options.hip_compiler = make_script(state, "hip", body);
	options.cache = in_scratch(state, "cache");
	write_text(in_scratch(state, "compiles"), "");
	return options;
}

/* The helper object of an engine that is new, and how many sources were compiled for it. */
static struct artifact *get_helpers(void **state, const struct engine_options *options, size_t *ret_compiles)
{
	size_t before = count_lines(in_scratch(state, "compiles"));
	struct engine *engine = open_engine(options);
	struct artifact *artifact = get(engine, first_of_kind(engine, ENGINE_HELPER));

	*ret_compiles = count_lines(in_scratch(state, "compiles")) - before;
	engine_unref(engine);
	return artifact;
}

/* All helper kernels that are asked for, each once, in the order of the list: reductions first. */
static void assert_helpers(const struct engine_options *options, const struct artifact *artifact)
{
	_cleanup_buffer_ struct buffer kernels = { 0 }, names = { 0 }, order = { 0 };
	_cleanup_(elf_release) struct elf elf = { 0 };
	struct engine *engine = open_engine(options);
	struct error error;
	size_t n = 0;
	char *rest;

	assert_int_equal(engine_list_kernels(engine, "gfx942", &kernels, &names, &error), 0);
	engine_unref(engine);
	buffer_append(&names, "", 1);
	for (int others = 0; others < 2; others++) {
		_cleanup_free_ char *copy = strdup((char *)names.data);
		for (char *name = strtok_r(copy, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest))
			if ((strstr(name, "_Reduction") == NULL) == others)
				buffer_printf(&order, "%s\n", name);
	}
	assert_int_equal(elf_read(artifact->data, artifact->size, &elf, NULL), 0);
	const char *at = (const char *)order.data;
	for (size_t i = 0; i < elf.n_kernels; i++) {
		assert_int_equal(strcspn(at, "\n"), elf.kernels[i].name_length);
		assert_memory_equal(at, elf.kernels[i].name, elf.kernels[i].name_length);
		at += elf.kernels[i].name_length + 1;
	}
	for (size_t i = 0; i < order.size; i++)
		n += order.data[i] == '\n';
	assert_int_equal(n, elf.n_kernels);
}

static void test_helpers_are_compiled_in_parts_and_once(void **state)
{
	struct engine_options options = with_compiler(state, copy_logic(state, "logic", 0));
	size_t parts, compiles;

	_cleanup_(artifact_unref_p) struct artifact *first = get_helpers(state, &options, &parts);
	assert_helpers(&options, first);
	assert_true(parts > 2);		/* the headers, and several parts */

	/* another logic with the same helpers: another plan of code objects, the same helper object */
	edit_a_solution(options.logic);
	write_text(in_scratch(state, "requests"), "");
	_cleanup_(artifact_unref_p) struct artifact *same = get_helpers(state, &options, &compiles);
	assert_int_equal(compiles, 0);
	assert_int_equal(count_lines(in_scratch(state, "requests")), 0);

	/* another TensileLite that writes the same sources: they are asked for, but only the headers are compiled to see that */
	write_text(in_scratch(state, "tensilelite/Tensile/__init__.py"), "# edited\n");
	_cleanup_(artifact_unref_p) struct artifact *again = get_helpers(state, &options, &compiles);
	assert_int_equal(compiles, 1);
	assert_int_equal(first->size, again->size);
	assert_memory_equal(first->data, again->data, first->size);

	/* fewer helpers: the parts that lack some, and the last one, which ends in another way */
	assert_int_equal(shell("cd '%s' && rm $(find . -name '*.yaml' | sort | tail -n 12)", options.logic), 0);
	_cleanup_(artifact_unref_p) struct artifact *fewer = get_helpers(state, &options, &compiles);
	assert_helpers(&options, fewer);
	assert_true(fewer->size < first->size);
	assert_true(compiles < parts);
}

/* One variable that several kernels count with: in parts, each would have its own. */
static void test_helpers_that_share_a_variable_are_compiled_together(void **state)
{
	struct engine_options options = with_compiler(state, copy_logic(state, "logic", 2));
	size_t compiles;

	behave(state, "_", "share");
	_cleanup_(artifact_unref_p) struct artifact *artifact = get_helpers(state, &options, &compiles);
	assert_helpers(&options, artifact);
	const char *object = in_scratch(state, "object");
	FILE *stream = fopen(object, "w");
	assert_non_null(stream);
	assert_int_equal(fwrite(artifact->data, 1, artifact->size, stream), artifact->size);
	fclose(stream);
	assert_int_equal(shell("test \"$(readelf -sW '%s' | awk '/symtab/ { all = 1 } all' | grep -c 'OBJECT .* _ZL5count$')\" = 1", object), 0);
}

/* An upgrade under a live mount: nothing of the new compiler may be kept under the name of the old one. */
static void test_helpers_of_a_compiler_that_changes_are_not_kept(void **state)
{
	struct engine_options options = with_compiler(state, copy_logic(state, "logic", 2));
	const char *version = in_scratch(state, "version"), *wrapped = in_scratch(state, "wrapped");
	struct artifact *artifact;
	struct error error = { 0 };
	char body[600];
	size_t compiles;

	write_text(version, "clang version 19.0.0\n");
	assert_int_equal(rename(options.hip_compiler, wrapped), 0);
	snprintf(body, sizeof(body), "case \" $* \" in *' --version '*) exec cat '%s';; *' -### '*|*' -E '*) exec '%s' \"$@\";; esac\n"
				     "'%s' \"$@\" || exit 1\n"
				     "[ $(wc -l <'%s') -lt 2 ] || ! mkdir \"$0.once\" || { echo 'clang version 19.0.1' >'%s'; touch \"$0\"; }\nexit 0",
		 version, wrapped, wrapped, in_scratch(state, "compiles"), version);
	options.hip_compiler = make_script(state, "upgraded", body);
	struct engine *engine = open_engine(&options);
	int r = engine_get(engine, first_of_kind(engine, ENGINE_HELPER), &artifact, &error);
	if (r != -ESTALE || !strstr(error.text, "has changed meanwhile"))
		fail_msg("%d: %s", r, error.text);
	engine_unref(engine);

	write_text(version, "clang version 19.0.0\n");
	assert_int_equal(shell("touch '%s'", options.hip_compiler), 0);
	_cleanup_(artifact_unref_p) struct artifact *whole = get_helpers(state, &options, &compiles);
	assert_helpers(&options, whole);
	assert_true(compiles >= 2);	/* the headers, and what was compiled when the compiler changed */
}

/* A compiler that writes no comments: where functions begin is not known. */
static void test_helpers_whose_text_is_not_understood_are_compiled_together(void **state)
{
	struct engine_options options = with_compiler(state, copy_logic(state, "logic", 2));
	size_t compiles;

	assert_int_equal(shell("sed -i 's/ \"$@\"/ -fno-verbose-asm \"$@\"/' '%s' && grep -q verbose '%s'", options.hip_compiler, options.hip_compiler), 0);
	_cleanup_(artifact_unref_p) struct artifact *artifact = get_helpers(state, &options, &compiles);
	assert_helpers(&options, artifact);
}

static void test_helpers_that_cannot_be_compiled_fail_alone(void **state)
{
	struct engine_options options = with_standin(state, copy_logic(state, "logic", 1));
	struct engine *engine = open_engine(&options);		/* the compiler that the user names is not there */
	struct artifact *artifact;
	struct error error = { 0 };

	assert_true(engine_get(engine, first_of_kind(engine, ENGINE_HELPER), &artifact, &error) < 0);
	assert_non_null(strstr(error.text, "no-hip-compiler"));
	artifact_unref(get(engine, code_object(engine, 0)));
	engine_unref(engine);
}

static void count_warning(void *userdata, const char *message)
{
	if (strstr(message, "solutions that need helper kernels are left out"))
		++*(unsigned *)userdata;
}

static void test_without_a_compiler_what_launches_helpers_is_left_out_and_told_once(void **state)
{
	struct engine_options options = with_standin(state, copy_logic(state, "logic", 2));
	_cleanup_free_ char *path = strdup(getenv("PATH"));
	_cleanup_buffer_ struct buffer with = { 0 }, without = { 0 };
	unsigned warnings = 0;
	struct error error;

	assert_int_equal(shell("cd '%s' && sed -i 's/GlobalSplitU: 1$/GlobalSplitU: 4/; s/GlobalSplitUAlgorithm: .*/GlobalSplitUAlgorithm: MultipleBuffer/' "
			       "$(find . -name '*.yaml' | sort | head -n 1)", options.logic), 0);
	struct engine *engine = open_engine(&options);
	assert_int_equal(engine_coverage(engine, NULL, &with, &error), 0);
	engine_unref(engine);

	options.hip_compiler = NULL;
	options.linker = real_linker();
	options.warn = count_warning;
	options.warn_userdata = &warnings;
	setenv("PATH", *state, 1);
	setenv("ROCM_PATH", *state, 1);
	engine = open_engine(&options);
	int r = engine_coverage(engine, NULL, &without, &error);
	artifact_unref(get(engine, first_of_kind(engine, ENGINE_HELPER)));
	artifact_unref(get(engine, first_of_kind(engine, ENGINE_METADATA)));
	engine_unref(engine);
	setenv("PATH", path, 1);
	unsetenv("ROCM_PATH");
	assert_int_equal(r, 0);
	assert_int_equal(warnings, 1);
	buffer_append(&with, "", 1);
	buffer_append(&without, "", 1);
	assert_null(strstr((char *)with.data, "helper kernel C"));
	assert_non_null(strstr((char *)without.data, "helper kernel C"));
	assert_non_null(strstr((char *)without.data, "PostGSU"));
}

/* ---- what fails ------------------------------------------------------------------------------------------------------- */

/* The first code object cannot be made, with these words in the reason; another one can, and so can this one when all is well again. */
static void fails_alone(void **state, const char *behaviour, unsigned kernel_seconds, int status, const char *words)
{
	struct engine_options options = with_standin(state, copy_logic(state, "logic", 2));
	options.kernel_seconds = kernel_seconds;
	struct engine *engine = open_engine(&options);
	struct names names = kernels_of(engine, code_object(engine, 0));
	struct artifact *artifact;
	struct error error = { 0 };

	behave(state, names.last, behaviour);
	assert_int_equal(engine_get(engine, code_object(engine, 0), &artifact, &error), status);
	if (!strstr(error.text, words))
		fail_msg("'%s' has no '%s'", error.text, words);
	char start[64];
	snprintf(start, sizeof(start), "kernel '%.40s", names.last);
	assert_non_null(strstr(error.text, start));
	artifact_unref(get(engine, code_object(engine, 1)));
	behave(state, names.last, "nothing");
	artifact_unref(get(engine, code_object(engine, 0)));
	engine_unref(engine);
}

static void test_a_worker_that_dies_fails_one_kernel(void **state)
{
	fails_alone(state, "crash", 60, -EIO, "signal 6");
}

static void test_a_worker_that_refuses_fails_one_kernel(void **state)
{
	fails_alone(state, "refuse", 60, -EIO, "this kernel is refused");
}

static void test_bad_assembly_fails_one_kernel(void **state)
{
	fails_alone(state, "nonsense", 60, -EIO, "this is no instruction");
}

static void test_a_reply_that_is_none_fails_one_kernel(void **state)
{
	fails_alone(state, "garbage", 60, -EPROTO, "");
}

static void test_a_worker_that_hangs_fails_one_kernel(void **state)
{
	fails_alone(state, "hang", 6, -ETIMEDOUT, "6 seconds");
}

static void test_a_worker_that_says_a_lot_is_no_failure(void **state)
{
	struct engine_options options = with_standin(state, copy_logic(state, "logic", 2));
	struct engine *engine = open_engine(&options);

	behave(state, "C", "flood");		/* all */
	build_all(engine);
	engine_unref(engine);
}

static void finished(void *userdata, int status, struct artifact *artifact, const struct error *error)
{
	*(int *)userdata = status;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Waits until a kernel whose name has this part has been asked for. */
static void wait_for_request(void **state, const char *part)
{
	for (double end = seconds() + 30; seconds() < end; usleep(10000))
		if (shell("grep -q '%s' '%s' 2>/dev/null", part, in_scratch(state, "requests")) == 0)
			return;
	fail_msg("nobody has asked for '%s'", part);
}

static void test_other_files_are_served_while_a_worker_hangs(void **state)
{
	struct engine_options options = with_standin(state, copy_logic(state, "logic", 4));
	struct engine *engine = open_engine(&options);
	struct names names = kernels_of(engine, code_object(engine, 0));
	int status = 1;

	behave(state, names.last, "hang");
	engine_request(engine, code_object(engine, 0), ENGINE_WAITED, finished, &status);
	wait_for_request(state, names.last);
	artifact_unref(get(engine, code_object(engine, 1)));
	artifact_unref(get(engine, first_of_kind(engine, ENGINE_METADATA)));
	assert_int_equal(status, 1);
	engine_unref(engine);			/* does not wait for what hangs */
	assert_int_equal(status, -ECANCELED);
}

static void test_no_process_is_left_when_it_ends(void **state)
{
	struct engine_options options = with_standin(state, copy_logic(state, "logic", 4));
	struct engine *engine = open_engine(&options);
	int status = 1;

	behave(state, "C", "hang");
	engine_request(engine, code_object(engine, 0), ENGINE_WAITED, finished, &status);
	wait_for_request(state, "C");
	double begin = seconds();
	engine_unref(engine);
	assert_true(seconds() - begin < 20);
	assert_int_equal(status, -ECANCELED);
	assert_int_equal(shell("for p in $(cat '%s'); do grep -q '^State:[[:space:]]*[RSD]' /proc/$p/status 2>/dev/null && exit 1; done; exit 0",
			       in_scratch(state, "processes")), 0);
}

static void test_no_more_kernels_at_once_than_jobs_and_one_tensilelite_for_all(void **state)
{
	struct engine_options options = with_standin(state, copy_logic(state, "logic", 0));
	unsigned now = 0, most = 0;

	options.jobs = 3;
	struct engine *engine = open_engine(&options);
	build_all(engine);
	engine_unref(engine);
	_cleanup_free_ char *running = read_text(in_scratch(state, "running"), NULL);
	for (const char *at = running; *at; at++) {
		now += *at == '+' ? 1u : -1u;
		most = MAX(most, now);
	}
	assert_in_range(most, 1, options.jobs);
	assert_int_equal(count_lines(in_scratch(state, "loaders")), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_code_object_has_the_kernels_of_all_its_solutions),
		TEST(test_bytes_do_not_depend_on_the_number_of_workers),
		TEST(test_an_edited_solution_is_generated_and_no_other),
		TEST(test_another_tensilelite_generates_all_anew),
		TEST(test_assembly_is_that_of_the_object),
		TEST(test_helpers_are_compiled_in_parts_and_once),
		TEST(test_helpers_that_share_a_variable_are_compiled_together),
		TEST(test_helpers_of_a_compiler_that_changes_are_not_kept),
		TEST(test_helpers_whose_text_is_not_understood_are_compiled_together),
		TEST(test_helpers_that_cannot_be_compiled_fail_alone),
		TEST(test_without_a_compiler_what_launches_helpers_is_left_out_and_told_once),
		TEST(test_a_worker_that_dies_fails_one_kernel),
		TEST(test_a_worker_that_refuses_fails_one_kernel),
		TEST(test_bad_assembly_fails_one_kernel),
		TEST(test_a_reply_that_is_none_fails_one_kernel),
		TEST(test_a_worker_that_hangs_fails_one_kernel),
		TEST(test_a_worker_that_says_a_lot_is_no_failure),
		TEST(test_other_files_are_served_while_a_worker_hangs),
		TEST(test_no_process_is_left_when_it_ends),
		TEST(test_no_more_kernels_at_once_than_jobs_and_one_tensilelite_for_all),
	};
	return cmocka_run_group_tests_name("generator", tests, NULL, NULL);
}
