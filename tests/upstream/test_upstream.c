/* SPDX-License-Identifier: MIT */
/*
 * Kernels by a TensileLite: a stand-in for it in tests/upstream/tensilelite, and the one that the environment variable TENSILELITE names, when
 * there is one.
 */
#include "build/logic/logic.h"
#include "build/process/program.h"
#include "build/upstream/upstream.h"
#include "build/upstream/workers.h"
#include "tests/common/files.h"
#include "tests/common/tool.h"

#include <json.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>

#define SAMPLE TENSILEFS_SOURCE "/samples/logic"

/* A copy of the stand-in that a test may edit. */
static const char *copy_standin(void **state)
{
	const char *folder = in_scratch(state, "tensilelite");

	assert_int_equal(shell("cp -r '%s/tests/upstream/tensilelite' '%s' && rm -rf '%s/Tensile/__pycache__'", TENSILEFS_SOURCE, folder, folder), 0);
	return folder;
}

static struct upstream *start_with(const struct upstream_options *options)
{
	struct upstream *upstream;
	struct error error = { 0 };

	if (!options->assembler)
		skip();
	if (upstream_new(options, &upstream, &error) < 0)
		fail_msg("%s", error.text);
	return upstream;
}

static struct upstream *start(const char *folder, unsigned workers)
{
	return start_with(&(struct upstream_options){ .tensilelite = folder, .assembler = tool("llvm-mc"), .workers = workers });
}

/* ---- asking ----------------------------------------------------------------------------------------------------------- */

/* As logic_write_solution() writes it; `members` are of the solution. */
static char *document(const char *arch, const char *members)
{
	char *text;

	assert_true(asprintf(&text, "{\"MinimumRequiredVersion\":\"0.1\",\"ScheduleName\":\"s\",\"ArchitectureName\":\"%s\",\"CUCount\":null,"
				    "\"ProblemType\":{\"DataType\":4},\"Solution\":{\"ProblemType\":{\"DataType\":4},%s}}", arch, members) > 0);
	return text;
}

struct answer {
	int code;
	struct buffer bytes;
	struct error error;
};

static void answer_release(struct answer *answer)
{
	buffer_release(&answer->bytes);
}

#define _cleanup_answer_ _cleanup_(answer_release)

static struct answer ask(struct upstream *upstream, const char *arch, const char *name, const char *members, bool text)
{
	_cleanup_free_ char *body = document(arch, members);
	struct upstream_solution solution = { .arch = arch, .kernel_name = name, .text = body, .size = strlen(body) };
	struct answer answer = { 0 };

	answer.code = text ? upstream_print(upstream, &solution, &answer.bytes, &answer.error) :
			     upstream_kernel(upstream, &solution, &answer.bytes, &answer.error);
	if (answer.code == 0 && text)
		buffer_append(&answer.bytes, "", 1);
	return answer;
}

static struct answer print(struct upstream *upstream, const char *name, const char *members)
{
	struct answer answer = ask(upstream, "gfx942", name, members, true);

	if (answer.code < 0)
		fail_msg("%s: %s", name, answer.error.text);
	return answer;
}

static const char *words(const struct answer *answer)
{
	return (const char *)answer->bytes.data;
}

static void assert_object(struct upstream *upstream, const char *name)
{
	_cleanup_answer_ struct answer object = ask(upstream, "gfx942", name, "\"DepthU\":1", false);

	if (object.code < 0)
		fail_msg("%s", object.error.text);
	assert_memory_equal(object.bytes.data, "\177ELF", 4);
	assert_non_null(memmem(object.bytes.data, object.bytes.size, name, strlen(name)));
}

/* It fails in this way, with these words, and the next kernel is made. */
static void assert_fails(struct upstream *upstream, const char *members, int code, const char *first, const char *second)
{
	_cleanup_answer_ struct answer answer = ask(upstream, "gfx942", "bad", members, false);

	if (answer.code != code || !strstr(answer.error.text, first) || !strstr(answer.error.text, second))
		fail_msg("%s: %d: %s", members, answer.code, answer.error.text);
	assert_object(upstream, "next");
}

/* ---- kernels ---------------------------------------------------------------------------------------------------------- */

static void test_kernels_have_the_names_they_are_asked_for(void **state)
{
	struct upstream *upstream = start(copy_standin(state), 1);

	assert_object(upstream, "one");
	assert_object(upstream, "Cijk_Ailk_Bljk_HHS_BH");
	_cleanup_answer_ struct answer one = print(upstream, "one", "\"DepthU\":32");
	assert_non_null(strstr(words(&one), "\none:\n"));
	assert_non_null(strstr(words(&one), "s_mov_b32 s0, 32\n"));
	upstream_unref(upstream);
}

/* Those of 2025 hand programs on from function to function. */
static void test_a_tensilelite_that_wants_the_names_of_programs_gets_some(void **state)
{
	const char *folder = copy_standin(state);

	assert_int_equal(shell("cd '%s/Tensile' && sed -i 's/def parseLibraryLogicData(data, source):/def parseLibraryLogicData(data, source, cxxCompiler, archs=None):/' "
			       "LibraryIO.py && sed -i 's/def __init__(self, minNaming, serialNaming):/def __init__(self, minNaming, serialNaming, assembler):/' "
			       "KernelWriterAssembly.py", folder), 0);
	struct upstream *upstream = start(folder, 1);
	assert_object(upstream, "one");
	upstream_unref(upstream);
}

static void test_a_kernel_depends_on_nothing_that_was_made_before(void **state)
{
	const char *folder = copy_standin(state);
	struct upstream *upstream = start(folder, 1);
	_cleanup_answer_ struct answer a = print(upstream, "a", "\"DepthU\":1"), b = print(upstream, "b", "\"DepthU\":2");
	_cleanup_answer_ struct answer again = print(upstream, "a", "\"DepthU\":1");

	upstream_unref(upstream);
	upstream = start(folder, 1);
	_cleanup_answer_ struct answer alone = print(upstream, "b", "\"DepthU\":2");
	upstream_unref(upstream);
	assert_string_equal(words(&b), words(&alone));
	assert_string_equal(words(&a), words(&again));
	assert_non_null(strstr(words(&b), "s_mov_b32 s1, 1\n"));
	assert_string_not_equal(strstr(words(&a), "label_"), strstr(words(&b), "label_"));
}

struct crowd {
	struct upstream *upstream;
	const char *expected;
	unsigned failures;
};

static void *make_some(void *userdata)
{
	struct crowd *crowd = userdata;

	for (unsigned i = 0; i < 4; i++) {
		struct answer answer = ask(crowd->upstream, "gfx942", "same", "\"DepthU\":8", true);
		crowd->failures += answer.code < 0 || strcmp(words(&answer), crowd->expected) != 0;
		answer_release(&answer);
	}
	return NULL;
}

static void test_threads_get_the_same(void **state)
{
	struct upstream *upstream = start(copy_standin(state), 3);
	_cleanup_answer_ struct answer expected = print(upstream, "same", "\"DepthU\":8");
	struct crowd crowds[8];
	pthread_t threads[ARRAY_SIZE(crowds)];

	for (size_t i = 0; i < ARRAY_SIZE(crowds); i++) {
		crowds[i] = (struct crowd){ .upstream = upstream, .expected = words(&expected) };
		assert_int_equal(pthread_create(&threads[i], NULL, make_some, &crowds[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(crowds); i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(crowds[i].failures, 0);
	}
	upstream_unref(upstream);
}

static void test_hand_written_kernels_are_taken_as_they_are(void **state)
{
	const char *folder = copy_standin(state);
	struct upstream *upstream = start(folder, 1);
	_cleanup_answer_ struct answer answer = print(upstream, "by_hand", "\"CustomKernelName\":\"by_hand\"");
	char path[4096];

	snprintf(path, sizeof(path), "%s/Tensile/CustomKernels/by_hand.s", folder);
	_cleanup_free_ char *source = read_text(path, NULL);
	assert_string_equal(words(&answer), source);
	upstream_unref(upstream);
}

static void test_failures_tell_why(void **state)
{
	struct upstream *upstream = start_with(&(struct upstream_options){ .tensilelite = copy_standin(state), .assembler = tool("llvm-mc"), .workers = 1,
									   .kernel_seconds = 3 });
	_cleanup_answer_ struct answer flood = print(upstream, "flood", "\"DepthU\":1,\"Behave\":\"flood\"");

	assert_fails(upstream, "\"DepthU\":1,\"Behave\":\"raise\"", -EIO, "RuntimeError: Generating kernel source resulted in error 4",
		     "at KernelWriterAssembly.py:");
	assert_fails(upstream, "\"DepthU\":1,\"Behave\":\"exit\"", -EIO, "SystemExit: -1", "printed: ** kernel generation failure **");
	assert_fails(upstream, "\"Behave\":\"nothing\"", -EIO, "KeyError: 'DepthU'", "in _getKernelSource");
	assert_fails(upstream, "\"DepthU\":1,\"Behave\":\"crash\"", -EIO, "was killed by signal 11", "");
	assert_fails(upstream, "\"DepthU\":1,\"Behave\":\"leave\"", -EIO, "ended with status 3", "");
	assert_fails(upstream, "\"DepthU\":1,\"Behave\":\"hang\"", -ETIMEDOUT, "did not answer within 3 seconds", "");
	assert_fails(upstream, "\"DepthU\":99999999999999", -EIO, "s_mov_b32 s0, 99999999999999", "");
	assert_fails(upstream, "\"DepthU\":1,\"ProblemType\":{}", -EIO, "doesn't match solution", "");
	upstream_unref(upstream);
}

/* What the metadata tells the host, behind the members of a solution. */
#define LAUNCH "},\"Launch\":{\"sizeMapping\":{\"depthU\":8,\"workGroup\":[16,4,1],\"gone\":7},\"internalArgsSupport\":{\"version\":2}},\"Rest\":{\"a\":1"

static void test_a_kernel_that_the_host_would_launch_in_another_way_is_refused(void **state)
{
	struct upstream *upstream = start(copy_standin(state), 1);
	_cleanup_answer_ struct answer right = print(upstream, "right", "\"DepthU\":8" LAUNCH);

	assert_fails(upstream, "\"DepthU\":16" LAUNCH, -EIO, "sizeMapping.depthU is 16, and 8", "another way than the metadata tells");
	assert_fails(upstream, "\"DepthU\":8,\"KernArgsVersion\":1" LAUNCH, -EIO, "internalArgsSupport.version is 1, and 2", "");
	assert_fails(upstream, "\"DepthU\":8,\"Later\":5" LAUNCH, -EIO, "sizeMapping.later is 5, and not told", "");
	upstream_unref(upstream);
}

static void test_an_unknown_target_is_refused(void **state)
{
	struct upstream *upstream = start(copy_standin(state), 1);
	_cleanup_answer_ struct answer answer = ask(upstream, "gfx999", "k", "\"DepthU\":1", false);

	assert_int_equal(answer.code, -EIO);
	assert_non_null(strstr(answer.error.text, "does not know 'gfx999'"));
	upstream_unref(upstream);
}

static void test_nothing_is_made_after_the_stop(void **state)
{
	struct upstream *upstream = start(copy_standin(state), 1);

	assert_object(upstream, "one");
	upstream_stop(upstream);
	_cleanup_answer_ struct answer answer = ask(upstream, "gfx942", "k", "\"DepthU\":1", false);
	assert_int_equal(answer.code, -ECANCELED);
	upstream_unref(upstream);
}

static void test_a_python_that_will_not_do_is_told(void **state)
{
	const char *python = make_script(state, "python3", "printf 'cpython 3.6.8\\nversion 3.9\\n'\n");
	struct upstream *upstream = start_with(&(struct upstream_options){ .tensilelite = copy_standin(state), .assembler = tool("llvm-mc"), .workers = 1,
									   .python = python });
	_cleanup_answer_ struct answer answer = ask(upstream, "gfx942", "k", "\"DepthU\":1", false);

	assert_int_equal(answer.code, -ENOENT);
	assert_non_null(strstr(answer.error.text, "(cpython 3.6.8) will not do for TensileLite, which needs version 3.9"));
	upstream_unref(upstream);
}

/* ---- folders that are none -------------------------------------------------------------------------------------------- */

static void test_what_is_no_tensilelite_is_named(void **state)
{
	struct upstream *upstream;
	struct error error = { 0 };

	assert_int_equal(upstream_new(&(struct upstream_options){ .tensilelite = in_scratch(state, "none"), .workers = 1 }, &upstream, &error), -ENOENT);
	assert_non_null(strstr(error.text, "/none'"));
	assert_int_equal(upstream_new(&(struct upstream_options){ .tensilelite = *state, .workers = 1 }, &upstream, &error), -ENOENT);
	assert_non_null(strstr(error.text, "/Tensile/__init__.py'"));
}

static void assert_unusable(const char *folder, const char *reason)
{
	struct upstream *upstream = start(folder, 1);
	_cleanup_answer_ struct answer answer = ask(upstream, "gfx942", "k", "\"DepthU\":1", false);

	assert_int_equal(answer.code, -EIO);
	if (!strstr(answer.error.text, reason))
		fail_msg("%s", answer.error.text);
	upstream_unref(upstream);
}

static void test_a_tensilelite_that_cannot_be_driven_is_told(void **state)
{
	const char *folder = copy_standin(state);

	assert_int_equal(shell("echo 'import no_such_module' >> '%s/Tensile/LibraryIO.py'", folder), 0);
	assert_unusable(folder, "cannot load the TensileLite");
	assert_unusable(folder, "No module named 'no_such_module'; at LibraryIO.py:");
	assert_int_equal(shell("cd '%s/Tensile' && rm Common.py && mkdir Common", folder), 0);
	assert_unusable(folder, "rocisa");
	assert_int_equal(shell("rmdir '%s/Tensile/Common'", folder), 0);
	assert_unusable(folder, "no Tensile/Common.py");
}

/* ---- identity --------------------------------------------------------------------------------------------------------- */

/* After files have been changed: looks are a tenth of a second apart. */
static const char *identity_of(struct upstream *upstream)
{
	const char *identity;
	struct error error = { 0 };

	poll(NULL, 0, 150);
	if (upstream_identify(upstream, &identity, &error) < 0)
		fail_msg("%s", error.text);
	assert_ptr_equal(upstream_identity(upstream), identity);
	return identity;
}

static void test_the_identity_is_that_of_the_files_that_matter(void **state)
{
	const char *folder = copy_standin(state), *other = in_scratch(state, "other");
	struct upstream *upstream = start(folder, 1);

	assert_null(upstream_identity(upstream));
	const char *first = identity_of(upstream);
	assert_int_equal(shell("cd '%s/Tensile' && touch Common.py && mkdir -p __pycache__ Tests && echo x > __pycache__/a.py && echo x > Tests/b.py && "
			       "echo x > notes.md", folder), 0);
	assert_ptr_equal(identity_of(upstream), first);
	assert_int_equal(shell("cd '%s/Tensile' && cp -p Common.py kept && echo '# edited' >> Common.py", folder), 0);
	const char *second = identity_of(upstream);
	assert_string_not_equal(second, first);
	assert_int_equal(shell("cd '%s/Tensile' && mv kept Common.py", folder), 0);
	assert_ptr_equal(identity_of(upstream), first);
	assert_int_equal(shell("cd '%s/Tensile' && echo '// edited' >> CustomKernels/by_hand.s", folder), 0);
	assert_string_not_equal(identity_of(upstream), first);
	upstream_unref(upstream);

	assert_int_equal(shell("cp -r '%s/tests/upstream/tensilelite' '%s'", TENSILEFS_SOURCE, other), 0);
	upstream = start(other, 1);
	assert_string_equal(identity_of(upstream), identity_of(upstream));
	upstream_unref(upstream);
}

static void test_places_have_no_part_in_the_identity(void **state)
{
	const char *folder = copy_standin(state);
	struct upstream *a = start(folder, 1), *b = start(TENSILEFS_SOURCE "/tests/upstream/tensilelite", 2);

	assert_string_equal(identity_of(a), identity_of(b));
	upstream_unref(a);
	upstream_unref(b);
}

static void test_a_change_meanwhile_is_told(void **state)
{
	struct upstream *upstream = start(copy_standin(state), 1);
	_cleanup_answer_ struct answer answer = { 0 };

	assert_object(upstream, "one");
	answer = ask(upstream, "gfx942", "k", "\"DepthU\":1,\"Behave\":\"edit\"", false);
	assert_int_equal(answer.code, -ESTALE);
	assert_int_equal(answer.bytes.size, 0);
	assert_object(upstream, "next");
	upstream_unref(upstream);
}

/* An edit is what kernels are made of from then on. */
static void test_workers_load_what_was_edited(void **state)
{
	const char *folder = copy_standin(state);
	struct upstream *upstream = start(folder, 1);
	_cleanup_answer_ struct answer before = print(upstream, "k", "\"DepthU\":1");

	assert_int_equal(shell("sed -i 's/s_endpgm/s_nop 7/' '%s/Tensile/KernelWriterAssembly.py'", folder), 0);
	poll(NULL, 0, 150);
	_cleanup_answer_ struct answer after = print(upstream, "k", "\"DepthU\":1");
	assert_null(strstr(words(&before), "s_nop 7"));
	assert_non_null(strstr(words(&after), "s_nop 7"));
	upstream_unref(upstream);
}

/* ---- capabilities ----------------------------------------------------------------------------------------------------- */

static struct json_object *caps_of(struct upstream *upstream, const char *arch)
{
	_cleanup_buffer_ struct buffer json = { 0 };
	struct error error = { 0 };

	if (upstream_caps(upstream, arch, &json, &error) < 0)
		fail_msg("%s", error.text);
	buffer_append(&json, "", 1);
	struct json_object *object = json_tokener_parse((const char *)json.data);
	assert_non_null(object);
	return object;
}

static int cap(struct json_object *caps, const char *target, const char *table, const char *name)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(caps, target, &value));
	assert_true(json_object_object_get_ex(value, table, &value));
	assert_true(json_object_object_get_ex(value, name, &value));
	return json_object_get_int(value);
}

static void test_capabilities_are_what_the_assembler_says(void **state)
{
	struct upstream *upstream = start(copy_standin(state), 1);
	struct json_object *caps = caps_of(upstream, NULL);

	assert_int_equal(json_object_object_length(caps), 3);
	for (unsigned i = 0; i < 3; i++) {
		const char *target = (const char *const[]){ "gfx90a", "gfx942", "gfx1100" }[i];
		assert_int_equal(cap(caps, target, "AsmCaps", "SupportedISA"), 1);
		assert_int_equal(cap(caps, target, "AsmCaps", "Nonsense"), 0);
		assert_int_equal(cap(caps, target, "AsmCaps", "MaxVmcnt"), 63);
		assert_int_equal(cap(caps, target, "AsmCaps", "HasMFMA"), i < 2);
		assert_int_equal(cap(caps, target, "ArchCaps", "HasWave32"), i == 2);
	}
	json_object_put(caps);
	caps = caps_of(upstream, "gfx90a");
	assert_int_equal(json_object_object_length(caps), 1);
	assert_int_equal(cap(caps, "gfx90a", "AsmCaps", "HasMFMA"), 1);
	json_object_put(caps);
	upstream_unref(upstream);
}

/* An assembler that counts its runs. */
static const char *make_counting_assembler(void **state)
{
	char body[8192];

	if (!tool("llvm-mc"))
		skip();
	snprintf(body, sizeof(body), "echo run >> '%s'\nexec '%s' \"$@\"\n", in_scratch(state, "runs"), tool("llvm-mc"));
	return make_script(state, "llvm-mc", body);
}

static size_t take_runs(void **state)
{
	size_t size;
	_cleanup_free_ char *text = read_text(in_scratch(state, "runs"), &size);

	assert_int_equal(unlink(in_scratch(state, "runs")), 0);
	return size / 4;
}

static void test_capabilities_are_found_in_few_runs_and_kept(void **state)
{
	struct upstream_options options = { .tensilelite = copy_standin(state), .assembler = make_counting_assembler(state), .workers = 1 };
	struct cachedb *cache;
	struct upstream *upstream;
	const char *identity;

	assert_int_equal(cachedb_open(&(struct cachedb_options){ .directory = in_scratch(state, "cache") }, &cache, NULL), 0);
	options.cache = cache;
	upstream = start_with(&options);
	assert_int_equal(upstream_identify(upstream, &identity, NULL), 0);
	size_t to_identify = take_runs(state);
	json_object_put(caps_of(upstream, NULL));
	assert_true(take_runs(state) < 3 * 3);		/* fewer than one for each question about each target */
	json_object_put(caps_of(upstream, NULL));
	assert_int_equal(access(in_scratch(state, "runs"), F_OK), -1);
	upstream_unref(upstream);

	upstream = start_with(&options);
	json_object_put(caps_of(upstream, NULL));
	assert_int_equal(take_runs(state), to_identify);
	upstream_unref(upstream);
	cachedb_close(cache);
}

static void test_a_missing_assembler_is_an_error(void **state)
{
	struct upstream *upstream = start_with(&(struct upstream_options){ .tensilelite = copy_standin(state), .workers = 1,
									   .assembler = in_scratch(state, "none") });
	_cleanup_buffer_ struct buffer json = { 0 };
	_cleanup_answer_ struct answer answer = ask(upstream, "gfx942", "k", "\"DepthU\":1", false);
	struct error error = { 0 };

	assert_int_equal(upstream_caps(upstream, "gfx942", &json, &error), -ENOENT);
	assert_int_equal(json.size, 0);
	assert_int_equal(answer.code, -ENOENT);
	upstream_unref(upstream);
}

/* ---- helper kernels --------------------------------------------------------------------------------------------------- */

/* Asks the worker itself, so that no HIP compiler is needed. */
static int ask_helpers(void **state, const char *folder, const char *names, struct buffer *reply, struct error *error)
{
	_cleanup_free_ char *python = program_search("python3"), *body = NULL, *solution = document("gfx942", "\"Helpers\":[\"shared\",\"one\",\"two\",\"broken\"]");
	const char *const argv[] = { python, TENSILEFS_SOURCE "/build/upstream/worker.py", folder, NULL };
	static const char verdicts[] = "[[\"gfx942\",\"\",\"\",true],[\"gfx942\",\"\",\"v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]\",true],"
				       "[\"gfx942\",\"\",\"no_such_instruction\",false],[\"gfx942\",\"\",\"s_waitcnt vmcnt(63)\",true]]";
	struct workers *workers;

	assert_non_null(python);
	assert_true(asprintf(&body, "{\"target\":\"gfx942\",\"cov\":0,\"verdicts\":%s,\"names\":%s,\"solutions\":[%s]}", verdicts, names, solution) > 0);
	assert_int_equal(workers_new(&(struct workers_options){ .argv = argv, .program = -1, .most = 1, .seconds = 60 }, &workers), 0);
	int r = workers_ask(workers, "helpers", body, strlen(body), reply, error);
	workers_unref(workers);
	return r;
}

static const char *file_of(struct json_object *files, const char *name)
{
	for (size_t i = 0; i < json_object_array_length(files); i++) {
		struct json_object *file = json_object_array_get_idx(files, i);
		if (strcmp(json_object_get_string(json_object_array_get_idx(file, 0)), name) == 0)
			return json_object_get_string(json_object_array_get_idx(file, 1));
	}
	return NULL;
}

static void test_helpers_come_in_the_order_they_are_named_in(void **state)
{
	_cleanup_buffer_ struct buffer reply = { 0 };
	struct json_object *object, *files;
	struct error error = { 0 };

	if (ask_helpers(state, copy_standin(state), "[\"one\",\"two\"]", &reply, &error) < 0)
		fail_msg("%s", error.text);
	buffer_append(&reply, "", 1);
	object = json_tokener_parse((const char *)reply.data);
	assert_true(json_object_object_get_ex(object, "files", &files));
	assert_int_equal(json_object_array_length(files), 3);
	assert_string_equal(file_of(files, "Kernels.cpp"), "// made by a stand-in\n#include \"Kernels.h\"\nvoid one() {}\nvoid two() {}\n");
	assert_non_null(strstr(file_of(files, "Kernels.h"), "enum class shared {};\nextern \"C\" __global__ void one();\nextern \"C\" __global__ void two();\n"));
	assert_null(strstr(file_of(files, "Kernels.h"), "broken"));	/* not asked for */
	assert_non_null(file_of(files, "KernelHeader.h"));
	json_object_put(object);
}

static void test_helpers_that_cannot_be_are_named(void **state)
{
	_cleanup_buffer_ struct buffer reply = { 0 };
	const char *folder = copy_standin(state);
	struct error error = { 0 };

	assert_int_equal(ask_helpers(state, folder, "[\"one\",\"three\"]", &reply, &error), -EIO);
	assert_non_null(strstr(error.text, "'three'"));
	assert_int_equal(ask_helpers(state, folder, "[\"broken\"]", &reply, &error), -EIO);
	assert_non_null(strstr(error.text, "'broken'"));
}

/* ---- a real one ------------------------------------------------------------------------------------------------------- */

static struct buffer make_from_sample(struct upstream *upstream, const struct logic_library *library, size_t index)
{
	const struct logic_solution *solution = &logic_solutions(library, &(size_t){ 0 })[index];
	_cleanup_buffer_ struct buffer text = { 0 };
	struct buffer object = { 0 };
	struct error error = { 0 };

	assert_int_equal(logic_write_solution(library, index, &text, &error), 0);
	struct upstream_solution wanted = { .arch = "gfx942", .kernel_name = solution->kernel_name, .text = text.data, .size = text.size };
	if (upstream_kernel(upstream, &wanted, &object, &error) < 0)
		fail_msg("%s: %s", solution->kernel_name, error.text);
	assert_non_null(memmem(object.data, object.size, solution->kernel_name, strlen(solution->kernel_name)));
	return object;
}

static void test_a_real_one_makes_the_sample(void **state)
{
	const char *folder = getenv("TENSILELITE");
	struct logic_catalog *catalog;
	struct logic_library *library;

	if (!folder || !*folder)
		skip();
	assert_int_equal(logic_scan(SAMPLE, &catalog, NULL), 0);
	assert_int_equal(logic_load(catalog, &catalog->bases[0], NULL, &library, NULL), 0);
	struct upstream *upstream = start(folder, 2);
	_cleanup_buffer_ struct buffer a = make_from_sample(upstream, library, 0), b = make_from_sample(upstream, library, 1);
	upstream_unref(upstream);
	upstream = start(folder, 1);
	_cleanup_buffer_ struct buffer alone = make_from_sample(upstream, library, 1);
	upstream_unref(upstream);
	assert_int_equal(alone.size, b.size);
	assert_memory_equal(alone.data, b.data, b.size);
	assert_true(a.size > 1000);
	logic_library_unref(library);
	logic_catalog_unref(catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_kernels_have_the_names_they_are_asked_for),
		TEST(test_a_tensilelite_that_wants_the_names_of_programs_gets_some),
		TEST(test_a_kernel_depends_on_nothing_that_was_made_before),
		TEST(test_threads_get_the_same),
		TEST(test_hand_written_kernels_are_taken_as_they_are),
		TEST(test_failures_tell_why),
		TEST(test_a_kernel_that_the_host_would_launch_in_another_way_is_refused),
		TEST(test_an_unknown_target_is_refused),
		TEST(test_nothing_is_made_after_the_stop),
		TEST(test_a_python_that_will_not_do_is_told),
		TEST(test_what_is_no_tensilelite_is_named),
		TEST(test_a_tensilelite_that_cannot_be_driven_is_told),
		TEST(test_the_identity_is_that_of_the_files_that_matter),
		TEST(test_places_have_no_part_in_the_identity),
		TEST(test_a_change_meanwhile_is_told),
		TEST(test_workers_load_what_was_edited),
		TEST(test_capabilities_are_what_the_assembler_says),
		TEST(test_capabilities_are_found_in_few_runs_and_kept),
		TEST(test_a_missing_assembler_is_an_error),
		TEST(test_helpers_come_in_the_order_they_are_named_in),
		TEST(test_helpers_that_cannot_be_are_named),
		TEST(test_a_real_one_makes_the_sample),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
