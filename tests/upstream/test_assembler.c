/* SPDX-License-Identifier: MIT */
/* The same object from clang and llvm-mc; complaints; verdicts on snippets, which the assembler itself gives, run once for each. */
#include "build/upstream/assembler.h"
#include "tests/common/files.h"
#include "tests/common/tool.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct program *open_assembler(const char *wanted)
{
	struct program *assembler;

	assert_int_equal(assembler_new(wanted, &assembler), 0);
	return assembler;
}

/* ---- objects ---------------------------------------------------------------------------------------------------------- */

static const char kernel[] = "\t.amdgcn_target \"amdgcn-amd-amdhsa--%s\"\n"
			     "\t.text\n\t.protected add_one\n\t.globl add_one\n\t.p2align 8\n\t.type add_one,@function\n"
			     "\t.set first, 4\n\t.macro store address, value\n\tflat_store_dword \\address, \\value\n\t.endm\n"
			     "add_one:\n"
			     "\ts_load_dwordx2 s[first:first+1], s[0:1], 0x0 // the array\n\ts_waitcnt lgkmcnt(0)\n"
			     "\tv_lshlrev_b32 v0, 2, v0\n\tv_mov_b32 v3, s5\n\tv_mov_b32 v2, s4\n"
			     "again:\n\t.rept 3\n\ts_nop 0\n\t.endr\n\ts_sub_u32 s6, s6, 1\n\ts_cbranch_scc1 again\n"
			     "\tv_mov_b32 v1, 1.0\n\tstore v[2:3], v1\n\ts_endpgm\nend_of_it:\n\t.size add_one, end_of_it - add_one\n"
			     "\t.rodata\n\t.p2align 6\n\t.amdhsa_kernel add_one\n\t\t.amdhsa_next_free_vgpr 4\n\t\t.amdhsa_next_free_sgpr 8\n"
			     "%s\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\t.end_amdhsa_kernel\n"
			     "\t.amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n  - .name: add_one\n    .symbol: add_one.kd\n"
			     "    .kernarg_segment_size: 8\n    .kernarg_segment_align: 8\n    .group_segment_fixed_size: 0\n"
			     "    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n    .sgpr_count: 8\n    .vgpr_count: 4\n"
			     "    .max_flat_workgroup_size: 256\n...\n\t.end_amdgpu_metadata\n";

static void assert_same_object(const char *text, const struct assembler_options *options)
{
	const char *programs[] = { tool("clang"), tool("llvm-mc") };
	struct buffer objects[2] = { 0 };
	struct error error = { 0 };

	for (size_t i = 0; i < 2; i++) {
		struct program *assembler = open_assembler(programs[i]);
		if (assembler_assemble(assembler, options, text, strlen(text), &objects[i], &error) < 0)
			fail_msg("%s: %s", options->arch, error.text);
		program_unref(assembler);
	}
	assert_int_equal(objects[0].size, objects[1].size);
	assert_memory_equal(objects[0].data, objects[1].data, objects[0].size);
	assert_true(objects[0].size > 300);
	buffer_release(&objects[0]);
	buffer_release(&objects[1]);
}

static void test_clang_and_llvm_mc_make_the_same_object(void **state)
{
	static const char *const archs[][2] = {
		{ "gfx942", "\t\t.amdhsa_accum_offset 4\n" }, { "gfx90a:sramecc+:xnack-", "\t\t.amdhsa_accum_offset 4\n" }, { "gfx908", "" },
	};
	char text[4096];

	for (size_t i = 0; i < ARRAY_SIZE(archs); i++) {
		snprintf(text, sizeof(text), kernel, archs[i][0], archs[i][1]);
		for (unsigned version = 4; version <= 6; version++)
			assert_same_object(text, &(struct assembler_options){ archs[i][0], 64, version });
		assert_same_object(text, &(struct assembler_options){ archs[i][0], 0, 0 });
	}
	assert_same_object("v_add_nc_u32 v0, v1, v2\nv_cmp_eq_u32 vcc_lo, v0, v1\n", &(struct assembler_options){ "gfx1100", 32, 5 });
	assert_same_object("v_add_nc_u32 v0, v1, v2\nv_cmp_eq_u32 vcc, v0, v1\n", &(struct assembler_options){ "gfx1100", 64, 5 });
}

static void test_the_version_of_code_objects_reaches_the_object(void **state)
{
	static const uint8_t abi[] = { [4] = 2, [5] = 3, [6] = 4 };	/* EI_ABIVERSION, LLVM's AMDGPUUsage: ELF header */
	struct program *assembler = open_assembler(NULL);

	for (unsigned version = 4; version <= 6; version++) {
		_cleanup_buffer_ struct buffer object = { 0 };
		const struct assembler_options options = { "gfx942", 64, version };
		assert_int_equal(assembler_assemble(assembler, &options, "s_endpgm\n", 9, &object, NULL), 0);
		assert_int_equal(object.data[8], abi[version]);
	}
	program_unref(assembler);
}

/* The kernels that `tensilefs asm` prints, one after the other: each begins with its name as a label at the start of a line. */
static void test_printed_kernels_make_the_same_object(void **state)
{
	const char *program = getenv("TENSILEFS");
	unsigned n = 0;

	assert_non_null(program);
	assert_int_equal(shell("cd '%s' && f=$('%s' ls '%s/samples/logic' | grep 'gfx942/TensileLibrary.*[.]co$' | head -1) && "
			       "'%s' asm '%s/samples/logic' \"${f#*/}\" | csplit -s -z -f kernel- - '/^Cijk.*:/' '{*}'",
			       (char *)*state, program, TENSILEFS_SOURCE, program, TENSILEFS_SOURCE), 0);
	for (; n < 3; n++) {
		_cleanup_free_ char *text = read_text(in_scratch(state, "kernel-0%u", n), NULL);
		assert_non_null(strstr(text, "v_mfma_"));
		assert_same_object(text, &(struct assembler_options){ "gfx942", 64, 5 });
	}
}

/* ---- who it is -------------------------------------------------------------------------------------------------------- */

static void test_clang_and_llvm_mc_of_a_version_are_one_assembler(void **state)
{
	const char *programs[] = { tool("clang"), tool("llvm-mc") };
	const struct program_found *found[2];
	struct program *assemblers[2];

	for (size_t i = 0; i < 2; i++) {
		assemblers[i] = open_assembler(programs[i]);
		assert_int_equal(program_identify(assemblers[i], &found[i], NULL), 0);
	}
	assert_string_equal(found[0]->identity, found[1]->identity);
	assert_memory_equal(found[0]->identity, "LLVM ", 5);
	assert_null(strchr(found[0]->identity, '/'));
	program_unref(assemblers[0]);
	program_unref(assemblers[1]);
}

/* What an assembler is called that says so about itself, and otherwise works. */
static const char *identity_of(void **state, const char *says, struct program **ret_assembler)
{
	struct error error = { 0 };
	const struct program_found *found;
	char body[600];

	snprintf(body, sizeof(body), "if [ \"$1\" = --version ]; then echo '%s'; exit; fi; exec '%s' \"$@\"", says,
		 tool(strstr(says, "clang") ? "clang" : "llvm-mc"));
	*ret_assembler = open_assembler(make_script(state, "assembler", body));
	if (program_identify(*ret_assembler, &found, &error) < 0)
		fail_msg("%s", error.text);
	return found->identity;
}

static void test_amds_own_and_unreleased_versions_are_told_apart(void **state)
{
	static const char amd[] = "AMD clang version 18.0.0git (https://github.com/RadeonOpenCompute/llvm-project roc-6.3.0 24455 abc)";
	struct program *assembler, *other;

	assert_string_equal(identity_of(state, amd, &assembler), amd);
	program_unref(assembler);
	assert_string_equal(identity_of(state, "Ubuntu clang version 21.1.0 (++2025-1ubuntu)", &assembler), "LLVM 21.1.0");
	program_unref(assembler);
	const char *one = identity_of(state, "LLVM version 23.0.0git", &assembler);
	assert_int_equal(shell("mkdir '%s/other'", (char *)*state), 0);
	char *folder = (char *)in_scratch(state, "other");
	const char *two = identity_of((void **)&folder, "LLVM version 23.0.0git ", &other);
	assert_memory_equal(one, "LLVM version 23.0.0git ", 23);
	assert_string_not_equal(one, two);	/* another program */
	program_unref(assembler);
	program_unref(other);
}

static int identify(const char *wanted, struct error *error)
{
	struct program *assembler = open_assembler(wanted);
	const struct program_found *found;

	error->text[0] = 0;
	int r = program_identify(assembler, &found, error);
	program_unref(assembler);
	return r;
}

static void test_what_is_no_assembler_is_refused(void **state)
{
	_cleanup_free_ char *path = strdup(getenv("PATH"));
	struct error error;

	assert_int_equal(identify("/nowhere/clang", &error), -ENOENT);
	assert_non_null(strstr(error.text, "'/nowhere/clang' cannot be found or run"));
	assert_int_equal(identify(make_script(state, "cat", "echo 'cat (GNU coreutils) 9.1'"), &error), -EINVAL);
	assert_non_null(strstr(error.text, "neither clang nor llvm-mc: it calls itself 'cat (GNU coreutils) 9.1'"));
	assert_int_equal(identify(make_script(state, "clang", "echo 'clang version 16.0.6'"), &error), -EINVAL);
	assert_non_null(strstr(error.text, "too old: 'clang version 16.0.6', version 17 or newer"));
	/* one that was built without AMD GPUs */
	assert_int_equal(identify(make_script(state, "clang", "[ \"$1\" = --version ] && exec echo 'clang version 21.1.0'\n"
					      "echo 'error: unable to create target: no available targets are compatible' >&2; exit 1"), &error), -EIO);
	assert_non_null(strstr(error.text, "no available targets"));
	assert_int_equal(shell("mkdir '%s/empty'", (char *)*state), 0);
	setenv("PATH", in_scratch(state, "empty"), 1);
	setenv("ROCM_PATH", in_scratch(state, "empty"), 1);
	int r = identify(NULL, &error);
	setenv("PATH", path, 1);
	unsetenv("ROCM_PATH");
	assert_int_equal(r, -ENOENT);
	assert_non_null(strstr(error.text, "no assembler for AMD GPUs"));
}

static void test_rocms_assembler_comes_first(void **state)
{
	_cleanup_free_ char *rocm = strdup(*state);
	struct error error;
	char body[400];

	snprintf(body, sizeof(body), "echo used >'%s/used'; exec '%s' \"$@\"", rocm, tool("clang"));
	assert_int_equal(shell("mkdir -p '%s/llvm/bin'", rocm), 0);
	make_script(state, "llvm/bin/amdclang", body);
	setenv("ROCM_PATH", rocm, 1);
	int r = identify(NULL, &error);
	unsetenv("ROCM_PATH");
	assert_int_equal(r, 0);
	free(read_text(in_scratch(state, "used"), NULL));
}

/* ---- complaints ------------------------------------------------------------------------------------------------------- */

static void assert_complaint(const char *text, const char *complaint)
{
	const char *programs[] = { tool("clang"), tool("llvm-mc") };

	for (size_t i = 0; i < 2; i++) {
		struct program *assembler = open_assembler(programs[i]);
		_cleanup_buffer_ struct buffer object = { 0 };
		struct error error = { 0 };
		const struct assembler_options options = { "gfx942", 64, 5 };
		assert_int_equal(assembler_assemble(assembler, &options, text, strlen(text), &object, &error), -EIO);
		if (!strstr(error.text, complaint))
			fail_msg("'%s' is not in: %s", complaint, error.text);
		assert_null(object.data);
		program_unref(assembler);
	}
}

static void test_the_first_complaint_names_its_line(void **state)
{
	assert_complaint("s_nop 0\n\n\tv_bogus_b32 v1, v2 ; no such one\ns_wrong\n",
			 "refuses line 3: invalid instruction: 'v_bogus_b32 v1, v2 ; no such one'");
	assert_complaint("\t.warning \"only that\"\ns_mov_b32 s0", "refuses line 2: too few operands for instruction: 's_mov_b32 s0'");
	assert_complaint("s_nop 0\ns_branch nowhere\n", "refuses line 2: undefined label 'nowhere': 's_branch nowhere'");
	assert_complaint(".macro twice a\ns_nop 0\nv_mov_b32 \\a, 1\n.endm\ns_nop 0\ntwice s0\n",
			 "refuses line 6: invalid operand for instruction: 'twice s0'");
	assert_complaint("s_nop 0\n.macro open\ns_nop 0\n", "refuses line 2: no matching '.endmacro' in definition: '.macro open'");
}

static void *stop_when_started(void *userdata)
{
	void **state = userdata;

	while (shell("test -e '%s'", in_scratch(state, "started")) != 0)
		shell("sleep 0.01");
	program_stop(*(struct program **)state[1]);
	return NULL;
}

static void test_a_run_that_hangs_ends_when_stopped(void **state)
{
	const struct assembler_options options = { "gfx942", 64, 5 };
	_cleanup_buffer_ struct buffer object = { 0 };
	struct error error = { 0 };
	char body[600];
	pthread_t thread;

	/* hangs at the second run: the first is the proof that it works */
	snprintf(body, sizeof(body), "cd '%s'; [ \"$1\" = --version ] || { [ -e once ] && echo >started && sleep 1000; echo >once; }; exec '%s' \"$@\"",
		 (char *)*state, tool("llvm-mc"));
	struct program *assembler = open_assembler(make_script(state, "assembler", body));
	void *both[] = { *state, &assembler };
	assert_int_equal(pthread_create(&thread, NULL, stop_when_started, both), 0);
	assert_int_equal(assembler_assemble(assembler, &options, "s_nop 0\n", 8, &object, &error), -ECANCELED);
	pthread_join(thread, NULL);
	assert_int_equal(assembler_assemble(assembler, &options, "s_nop 0\n", 8, &object, &error), -ECANCELED);
	program_unref(assembler);
}

/* ---- verdicts --------------------------------------------------------------------------------------------------------- */

/* Asks the assembler about one snippet as upstream does: accepted is what ends well without a word. */
static bool ask_alone(void **state, const struct assembler_snippet *snippet)
{
	write_text(in_scratch(state, "snippet.s"), snippet->text);
	return shell("cd '%s' && '%s' -x assembler -target amdgcn-amdhsa -mcpu=%s %s -c -o snippet.o snippet.s >said 2>&1 && ! [ -s said ]",
		     (char *)*state, tool("clang"), snippet->target, snippet->options) == 0;
}

static void assert_verdicts(void **state, const char *wanted, const struct assembler_snippet *snippets, size_t n, const bool *expected)
{
	struct program *assembler = open_assembler(wanted);
	_cleanup_free_ bool *verdicts = calloc(n, 1);
	struct error error = { 0 };

	if (assembler_try(assembler, snippets, n, verdicts, &error) < 0)
		fail_msg("%s", error.text);
	for (size_t i = 0; i < n; i++)
		if (verdicts[i] != expected[i])
			fail_msg("%s: '%s' (%s %s) was %s", wanted, snippets[i].text, snippets[i].target, snippets[i].options,
				 verdicts[i] ? "accepted" : "refused");
	program_unref(assembler);
}

/* Plain instructions; some that only the end of a run finds wrong; and such as would change the verdict of others in the same input. */
#define N_PLAIN 20	/* in front */
static const char *const texts[] = {
	"", "s_nop 0", "v_add_co_u32 v0,vcc,v0,1", "v_add_nc_u32 v0,v0,1", "buffer_load_dword v36, s[24:27], s28 offen offset:0 lds",
	"v_mfma_f32_32x32x2bf16 a[0:31], v32, v33, a[0:31]", "v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[2:3], v[4:5], a[0:3]",
	"v_wmma_f32_16x16x16_f16 v[0:3], v[8:15], v[16:23], v[0:3]", "s_waitcnt vmcnt(63)", "s_barrier_wait -1", "v_bogus_b32 v0",
	"buffer_load_dwordx4 v[10:13], v[0], s[0:3], 0, offen offset:0, glc", "v_mov_b32 v0, v300", "s_mov_b32 s0, (1", "s_mov_b32 s0",
	"s_nop 0\ns_nop 1\n\tv_mov_b32 v0, 0.5", "s_nop 0\nv_bogus v1\ns_nop 1", "s_branch nowhere", "s_branch other", "s_mov_b32 s0, other",
	"other: s_nop 0", "s_branch .+4", "other = 5", ".set other, 7\ns_mov_b32 s0, other", ".macro open\ns_nop 0", ".rept 4", ".if 0", ".if 1", ".else",
	".endif", ".macro v_bogus_b32 a\ns_nop 0\n.endm\nv_bogus_b32 v0", ".end", ".abort", "/* open", "closed */", "s_nop 0 /* both */ ; behind",
	"s_mov_b32 s0, \"open", "s_mov_b32 s0, 'a", "# 77 \"elsewhere.s\"\nv_bogus_b32 v1", ".warning \"hm\"", ".error \"no\"", ".include \"/nowhere\"",
	".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"", ".section .rodata", ".cfi_startproc", ".p2align 99", "s_nop 0\r\nv_bogus_b32 v0", "\\",
	".long nowhere - elsewhere", ".amdhsa_kernel k", "v_mov_b32 v0, 1 +", "s_nop :", "s_nop : s_nop 0", "|", "s_nop 99999999999999999999",
};

static void test_verdicts_are_those_of_single_runs(void **state)
{
	static const char *const targets[][2] = { { "gfx942", "" }, { "gfx1100", "-mwavefrontsize64" } };
	struct assembler_snippet snippets[ARRAY_SIZE(texts) + N_PLAIN];
	bool expected[ARRAY_SIZE(snippets)];
	const char *programs[] = { tool("clang"), tool("llvm-mc") };
	size_t n_accepted = 0;

	for (size_t i = 0; i < ARRAY_SIZE(snippets); i++) {
		bool other = i < N_PLAIN;	/* the plain ones for both targets */
		snippets[i] = (struct assembler_snippet){ targets[other][0], targets[other][1], texts[other ? i : i - N_PLAIN] };
		expected[i] = ask_alone(state, &snippets[i]);
		n_accepted += expected[i];
	}
	assert_in_range(n_accepted, ARRAY_SIZE(snippets) / 5, ARRAY_SIZE(snippets) * 4 / 5);	/* both kinds are there */
	assert_verdicts(state, programs[1], snippets, ARRAY_SIZE(snippets), expected);
	/* whatever else is asked, in whatever order */
	srand(1);
	for (unsigned round = 0; round < 12; round++) {
		struct assembler_snippet some[12];
		bool verdicts[ARRAY_SIZE(some)];
		for (size_t i = 0; i < ARRAY_SIZE(some); i++) {
			size_t one = (size_t)rand() % (round % 3 ? 2 * N_PLAIN : ARRAY_SIZE(snippets));
			some[i] = snippets[one];
			verdicts[i] = expected[one];
		}
		assert_verdicts(state, programs[round % 2], some, ARRAY_SIZE(some), verdicts);
	}
}

static void test_a_target_that_is_not_known_refuses_all(void **state)
{
	static const struct assembler_snippet snippets[] = {
		{ "gfx000", "", "" }, { "gfx000", "", "s_nop 0" }, { "gfx942", "", "s_nop 0" }, { "gfx999", "", ".set a, 1" },
	};
	const char *programs[] = { tool("clang"), tool("llvm-mc") };

	for (size_t i = 0; i < 2; i++)
		assert_verdicts(state, programs[i], snippets, ARRAY_SIZE(snippets), (bool[]){ false, false, true, false });
}

/* Counts the runs in a file. */
static const char *counting(void **state, const char *body)
{
	char script[1000];

	snprintf(script, sizeof(script), "echo run >>'%s/runs'\n%s\nexec '%s' \"$@\"", (char *)*state, body, tool("llvm-mc"));
	return make_script(state, "assembler", script);
}

static void test_many_snippets_take_few_runs(void **state)
{
	struct assembler_snippet snippets[300];
	bool expected[ARRAY_SIZE(snippets)];
	size_t runs;

	for (size_t i = 0; i < ARRAY_SIZE(snippets); i++) {
		snippets[i] = (struct assembler_snippet){ i % 3 ? "gfx942" : "gfx90a", "", i % 2 ? "s_nop 0" : "v_bogus_b32 v0" };
		expected[i] = i % 2;
	}
	assert_verdicts(state, counting(state, ""), snippets, ARRAY_SIZE(snippets), expected);
	free(read_text(in_scratch(state, "runs"), &runs));
	assert_int_equal(runs / strlen("run\n"), 6);	/* --version, the proof that it works, and two for each target */
}

static int try_with(const char *wanted, struct error *error)
{
	static const struct assembler_snippet snippets[] = { { "gfx942", "", "s_nop 0" }, { "gfx942", "", "s_nop 1" }, { "gfx942", "", "v_bogus v0" } };
	struct program *assembler = open_assembler(wanted);
	bool verdicts[] = { true, false, true };

	error->text[0] = 0;
	int r = assembler_try(assembler, snippets, ARRAY_SIZE(snippets), verdicts, error);
	program_unref(assembler);
	if (r < 0)
		assert_true(verdicts[0] && !verdicts[1] && verdicts[2]);	/* left as they were */
	return r;
}

static void test_an_assembler_that_fails_is_no_verdict(void **state)
{
	struct error error;

	assert_int_equal(try_with("/nowhere/llvm-mc", &error), -ENOENT);
	/* crashes on one of them */
	assert_int_equal(try_with(counting(state, "grep -q 's_nop 1' /proc/self/fd/3 && kill -SEGV $$"), &error), -EIO);
	assert_non_null(strstr(error.text, "failed on 's_nop 1' for gfx942"));
	assert_non_null(strstr(error.text, "signal 11"));
	/* clang's driver when the assembler inside it crashes */
	assert_int_equal(try_with(counting(state, "grep -q 's_nop 1' /proc/self/fd/3 && { echo 'PLEASE submit a bug report' >&2; exit 139; }"), &error), -EIO);
	assert_non_null(strstr(error.text, "failed on 's_nop 1' for gfx942"));
	/* works at first, then not at all: no table of zeros */
	assert_int_equal(try_with(counting(state, "[ $(wc -l <\"$(dirname \"$0\")/runs\") -lt 3 ] || { echo 'error: No space left on device' >&2; exit 1; }"),
				  &error), -EIO);
	assert_non_null(strstr(error.text, "No space left on device"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_clang_and_llvm_mc_make_the_same_object),
		TEST(test_the_version_of_code_objects_reaches_the_object),
		TEST(test_printed_kernels_make_the_same_object),
		TEST(test_clang_and_llvm_mc_of_a_version_are_one_assembler),
		TEST(test_amds_own_and_unreleased_versions_are_told_apart),
		TEST(test_what_is_no_assembler_is_refused),
		TEST(test_rocms_assembler_comes_first),
		TEST(test_the_first_complaint_names_its_line),
		TEST(test_a_run_that_hangs_ends_when_stopped),
		TEST(test_verdicts_are_those_of_single_runs),
		TEST(test_a_target_that_is_not_known_refuses_all),
		TEST(test_many_snippets_take_few_runs),
		TEST(test_an_assembler_that_fails_is_no_verdict),
	};
	if (!tool("clang") || !tool("llvm-mc"))
		return 77;	/* skipped: both are needed, of the same version */
	return cmocka_run_group_tests_name("assembler", tests, NULL, NULL);
}
