/* SPDX-License-Identifier: MIT */
/* Bad logic files: one clear message each, located, and everything else keeps working. */
#include "tests/logic/common.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRID "gfx942/GridBased/sample_Cijk_Alik_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs.yaml"
#define GOOD "gfx942/Equality/sample_Cijk_Alik_Bljk_BBS_BH_UserArgs.yaml"

static int keep(void *userdata, const char *arch, const struct gemm_params *params, struct error *error)
{
	return 0;
}

static const struct logic_options filtered = { .filter = keep };

/* A folder with one good file, g.yaml, and one edited copy of GRID, b.yaml. */
static char *make_library(const char *old, const char *new)
{
	char *folder = make_folder(), *good = sample(GOOD), *bad = sample(GRID);

	if (old)
		bad = replace(bad, old, new);
	write_file(folder, "g.yaml", good, strlen(good));
	write_file(folder, "sub/b.yaml", bad, strlen(bad));
	free(good);
	free(bad);
	return folder;
}

static const struct logic_base *base_of(const struct logic_catalog *catalog, const char *file)
{
	for (size_t i = 0; i < catalog->n_bases; i++)
		if (strcmp(catalog->bases[i].files[0]->relative, file) == 0)
			return &catalog->bases[i];
	return NULL;
}

static int try_load(const struct logic_catalog *catalog, const struct logic_base *base, struct error *error)
{
	struct logic_library *library;

	*error = (struct error){ 0 };
	int r = logic_load(catalog, base, &filtered, &library, error);
	if (r == 0)
		logic_library_unref(library);
	return r;
}

static void bad_heads_are_faults_of_the_catalog(void **state)
{
	static const char *const cases[][4] = {	/* edit, and words of the message */
		{ "- gfx942\n", "- gfx9000\n", "line 5", "unknown architecture 'gfx9000'" },
		{ "- gfx942\n", "- {Architecture: gfx942, CUCount: many}\n", "line 5", "CUCount is 'many'" },
		{ "- gfx942\n", "- [gfx942]\n", "line 5", "no architecture" },
		{ "  DataType: 4\n", "  DataType: 77\n", "line 15", "DataType is '77', not a data type" },
		{ "  DataType: 4\n", "", "line 7", "no DataType" },
		{ "  UseBias: 1\n", "  UseBias: 1\n  UseBias: 1\n", "line", "key 'UseBias' appears twice" },
		{ "  UseBias: 1\n", "  UseBias: 1\n  UseFoo: 5\n", "line", "unknown key 'UseFoo' of a problem type, value '5'" },
		{ "  UseBias: 1\n", "  UseBias: [1]\n", "line", "UseBias is 'a list'" },
		{ "  OperationType: GEMM\n", "  OperationType: TensorContraction\n", "line", "not GEMM" },
		{ "- sample\n", "- sample: [\n", "line", "column" },
		{ "- sample\n", "- \xff\n", "line 4", "UTF-8" },
		{ "- {MinimumRequiredVersion: 4.33.0}\n", "x: y\n", "line", "column" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *folder = make_library(cases[i][0], cases[i][1]);
		struct logic_catalog *catalog = scan(folder);
		struct error error;
		assert_int_equal(catalog->n_faults, 1);
		assert_non_null(strstr(catalog->faults[0].path, "/sub/b.yaml"));
		expect_words(catalog->faults[0].message, "/sub/b.yaml'", "line");
		expect_words(catalog->faults[0].message, cases[i][2], cases[i][3]);
		assert_int_equal(catalog->n_bases, 1);
		assert_int_equal(try_load(catalog, &catalog->bases[0], &error), 0);
		logic_catalog_unref(catalog);
		remove_folder(folder);
	}
}

static void bad_bodies_spoil_their_own_base(void **state)
{
	static const struct {
		const char *old, *new, *first, *second;
	} cases[] = {
		{ "\n- DeviceEfficiency\n- GridBased\n", "\n", "line 3", "12 entries" },
		{ "\n- GridBased\n", "\n- Nearest\n", "line", "library type 'Nearest'" },
		{ "\n- DeviceEfficiency\n", "\n- CUEfficiency\n", "line", "performance metric 'CUEfficiency'" },
		{ "- [2, 3, 0, 1]\n", "- [2, 3, 0, 9]\n", "line", "an index of a GEMM" },
		{ "- [2, 3, 0, 1]\n", "- null\n", "line", "index order" },
		{ "    - [1, 0.0]\n", "    - [99, 0.0]\n", "line", "the row is about solution 99, there are 6" },
		{ "    - [1, 0.0]\n", "    - [-1, 0.0]\n", "line", "solution -1" },
		{ "    - [1, 0.0]\n", "    - [first, 0.0]\n", "line", "'first', not a whole number" },
		{ "    - [1, 0.0]\n", "    - 1\n", "line", "a row is not" },
		{ "- [64, 64, 1, 256]\n", "- [64, 64]\n", "line", "a row is not" },
		{ "- [64, 64, 1, 256]\n", "- [64, 64, 1, 99999999999999999999]\n", "line", "not a whole number" },
		{ "    DepthU: ", "    DepthU: [\n", "line", "column" },
		{ "    DepthU: ", "    DepthU: 8\n    DepthU: ", "line", "key 'DepthU' appears twice" },
		{ "    DepthU: ", "    DepthU: &a 8\n    Other: *a\n    More: ", "line", "alias" },
		{ "    DepthU: ", "    DepthU: &a [*a]\n    More: ", "line", "alias" },
		{ "- - 1LDSBuffer: ", "- a:\n  - 1LDSBuffer: ", "line", "the sixth entry is not a list of solutions" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *folder = make_library(cases[i].old, cases[i].new);
		struct logic_catalog *catalog = scan(folder);
		struct error error;
		assert_int_equal(catalog->n_bases, 2);
		assert_true(try_load(catalog, base_of(catalog, "sub/b.yaml"), &error) < 0);
		expect_words(error.text, "/sub/b.yaml'", cases[i].first);
		expect_words(error.text, cases[i].second, "");
		assert_int_equal(try_load(catalog, base_of(catalog, "g.yaml"), &error), 0);
		logic_catalog_unref(catalog);
		remove_folder(folder);
	}
}

static void bad_solutions_are_left_out_alone(void **state)
{
	static const struct {
		const char *old, *new, *words;
		bool named;	/* can be kept all the same */
	} cases[] = {
		{ "    DepthU: ", "    Depth: 3\n    DepthU: ", "unknown parameter 'Depth', value '3'", true },
		{ "    LdsPadA: ", "    LdsPadA: wide #", "LdsPadA is 'wide', not a number", true },
		{ "    LdsPadA: ", "    LdsPadA: 99999999999 #", "LdsPadA is '99999999999', not a number", true },
		{ "    LdsPadA: ", "    LdsPadA: [1] #", "LdsPadA is 'a list', not a single value", true },
		{ "    DepthU: ", "    DepthU: 123456 #", "DepthU is 123456, not between 1 and 8192", false },
		{ "    DepthU: ", "    DepthU: -", "DepthU is -", false },
		{ "    MIWaveTile: ", "    MIWaveTile: [1, 2, 3] #", "MIWaveTile is not 2 numbers", false },
		{ "    MIWaveGroup: ", "    MIWaveGroup: [0, 4] #", "MIWaveGroup is not 2 numbers", false },
		{ "    MIWaveGroup: ", "    MIWaveGroup: [64, 64] #", "a work group of", false },
		{ "    VectorWidthA: ", "    VectorWidthA: 3 #", "no multiple of VectorWidthA 3", true },
		{ "    GlobalReadVectorWidthA: ", "    GlobalReadVectorWidthA: 3 #", "GlobalReadVectorWidthA is 3", true },
		{ "    MatrixInstruction: ", "    MatrixInstruction: [32, 32, 8, 1] #", "MIBlock and MatrixInstruction differ", true },
		{ "    GlobalSplitUAlgorithm: ", "    GlobalSplitUAlgorithm: Magic #", "unknown GlobalSplitUAlgorithm 'Magic'", true },
		{ "    DepthU: ", "    MacroTile0: 7\n    DepthU: ", "MacroTile0 is '7' but the other parameters give 16", true },
		{ "      TransposeB: false", "      TransposeB: true", "another TransposeB than that of the file", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *folder = make_library(cases[i].old, cases[i].new);
		struct logic_catalog *catalog = scan(folder);
		struct logic_library *library;
		struct error error = { 0 };
		size_t n, n_kernels;
		assert_int_equal(logic_load(catalog, base_of(catalog, "sub/b.yaml"), &filtered, &library, &error), 0);
		const struct logic_solution *solutions = logic_solutions(library, &n);
		assert_int_equal(n, 6);
		assert_non_null(solutions[0].left_out);
		expect_words(solutions[0].left_out, "/sub/b.yaml': line ", cases[i].words);
		for (size_t k = 1; k < n; k++)
			assert_null(solutions[k].left_out);
		logic_kernels(library, &n_kernels);
		assert_int_equal(n_kernels, 5);
		logic_library_unref(library);

		assert_int_equal(logic_load(catalog, base_of(catalog, "sub/b.yaml"), NULL, &library, &error), 0);
		assert_int_equal(logic_solutions(library, &n)[0].left_out == NULL, cases[i].named);
		logic_library_unref(library);
		logic_catalog_unref(catalog);
		remove_folder(folder);
	}
}

/* GRID with `n` times a text before something in it. */
static char *stuffed(const char *before, const char *text, size_t n)
{
	char *whole = sample(GRID), *place = strstr(whole, before);
	struct buffer stuffed = { 0 };

	assert_non_null(place);
	buffer_append(&stuffed, whole, (size_t)(place - whole));
	for (size_t i = 0; i < n; i++)
		buffer_append_string(&stuffed, text);
	buffer_append(&stuffed, place, strlen(place) + 1);
	assert_false(stuffed.failed);
	free(whole);
	return (char *)stuffed.data;
}

/* In a process of its own: says why a folder's only base cannot be loaded, or its only file not scanned. */
static void explain_failure(const char *folder, int output)
{
	struct logic_catalog *catalog;
	struct error error = { 0 };

	if (logic_scan(folder, &catalog, &error) == 0)
		try_load(catalog, &catalog->bases[0], &error);
	_exit(write(output, error.text, sizeof(error.text)) == sizeof(error.text) ? 0 : 1);
}

/* The words, and how much memory it took to find them, KiB. */
static void measure_failure(const char *folder, struct error *ret_error, long *ret_memory)
{
	struct rusage usage;
	int ends[2], status;

	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		explain_failure(folder, ends[1]);
	assert_int_equal(wait4(pid, &status, 0, &usage), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(ends[0], ret_error->text, sizeof(ret_error->text)), sizeof(ret_error->text));
	close(ends[0]);
	close(ends[1]);
	*ret_memory = usage.ru_maxrss;
}

static void absurd_files_cost_little(void **state)
{
	static const struct {
		const char *before, *text;
		size_t n;
		const char *words;
	} cases[] = {
		{ "sample\n", "x", 4u << 20, "line 4: a line of more than" },		/* in the head */
		{ "\n    ExpandPointerSwap", "x", 100u << 20, "a line of more than" },	/* in the solutions */
		{ "null\n- DeviceEff", "[", 1u << 18, "nested more than 32 deep" },
		{ "null\n- DeviceEff", "{a: ", 1u << 18, "nested more than 32 deep" },
		{ "]\n    - [5, 0.0]\n- null", "9", 1u << 19, "an entry is '4096999" },
		{ "- [2, 3, 0, 1]\n", "  - a: 1\n", 70000, "solutions, at most 65536 are possible" },
		{ "    ExpandPointerSwap", "    DepthU: 16\n", 1u << 16, "key 'DepthU' appears twice" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *folder = make_folder(), *text = stuffed(cases[i].before, cases[i].text, cases[i].n);
		struct error error;
		long memory;
		write_file(folder, "b.yaml", text, strlen(text));
		free(text);
		measure_failure(folder, &error, &memory);
		expect_words(error.text, "/b.yaml': line ", cases[i].words);
		assert_true(memory < (getenv("SLOW_BUILD") ? 4 << 20 : 200 << 10));
		remove_folder(folder);
	}
}

/* A copy of GRID in which every `old` is `new`. */
static char *edit_all(const char *old, const char *new)
{
	char *text = sample(GRID);
	struct buffer edited = { 0 };

	for (const char *from = text, *next; from; from = next) {
		next = strstr(from, old);
		buffer_append(&edited, from, next ? (size_t)(next - from) : strlen(from) + 1);
		if (next) {
			buffer_append_string(&edited, new);
			next += strlen(old);
		}
	}
	free(text);
	return (char *)edited.data;
}

static void unsupported_problem_types_have_countable_reasons(void **state)
{
	static const char *const cases[][3] = {
		{ "UseBeta: true", "UseScaleAB: Vector", "UseScaleAB Vector" },
		{ "ActivationType: hipblaslt_all", "ActivationType: all", "ActivationType all" },
		{ "Batched: true", "Batched: false", "a problem without batches, with conjugates or with initial strides" },
		{ "UseScaleAlphaVec: 1", "UseScaleAlphaVec: 2", "UseScaleAlphaVec 2" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *folder = make_folder(), *text = edit_all(cases[i][0], cases[i][1]);
		struct logic_library *library;
		struct error error = { 0 };
		size_t n;
		write_file(folder, "b.yaml", text, strlen(text));
		struct logic_catalog *catalog = scan(folder);
		assert_int_equal(logic_load(catalog, &catalog->bases[0], &filtered, &library, &error), 0);
		const struct logic_solution *solutions = logic_solutions(library, &n);
		for (size_t k = 0; k < n; k++)
			assert_string_equal(solutions[k].left_out, cases[i][2]);
		logic_library_unref(library);
		logic_catalog_unref(catalog);
		remove_folder(folder);
		free(text);
	}
}

/* Two files of one base; the second has `line` instead of a key that is the default anyway. */
static struct logic_catalog *scan_twins(char *folder, const char *line)
{
	char *text = sample(GRID), *twin = edit_all("StridedBatched: true", line);

	write_file(folder, "a.yaml", text, strlen(text));
	write_file(folder, "b.yaml", twin, strlen(twin));
	free(twin);
	free(text);
	return scan(folder);
}

static void one_base_with_two_problem_types_is_a_fault(void **state)
{
	char *folder = make_folder();
	struct logic_catalog *catalog = scan_twins(folder, "StochasticRounding: true");
	struct buffer dat = { 0 };
	struct error error;

	assert_int_equal(catalog->n_bases, 1);
	assert_int_equal(catalog->bases[0].n_files, 2);
	assert_non_null(catalog->bases[0].fault);
	expect_words(catalog->bases[0].fault, "/a.yaml' and '", "/b.yaml' both claim 'TensileLibrary_HH_HH_");
	expect_words(catalog->bases[0].fault, "differ in StochasticRounding", "");
	assert_int_equal(try_load(catalog, &catalog->bases[0], &error), -EINVAL);
	assert_string_equal(error.text, catalog->bases[0].fault);
	assert_int_equal(logic_write_master(catalog, "gfx942", &dat), -ENOENT);	/* nothing else is there */
	logic_catalog_unref(catalog);
	remove_folder(folder);
}

static void files_that_predicates_tell_apart_share_a_base(void **state)
{
	char *folder = make_folder();
	struct logic_catalog *catalog = scan_twins(folder, "OutputAmaxD: true");
	struct logic_library *library;
	struct error error = { 0 };
	size_t n;

	assert_int_equal(catalog->n_bases, 1);
	assert_null(catalog->bases[0].fault);
	assert_int_equal(logic_load(catalog, &catalog->bases[0], NULL, &library, &error), 0);
	const struct logic_solution *solutions = logic_solutions(library, &n);
	assert_int_equal(n, 12);
	assert_true(!solutions[0].params.problem.amax_d && solutions[6].params.problem.amax_d);
	assert_string_not_equal(solutions[0].kernel_name, solutions[6].kernel_name);
	logic_library_unref(library);
	logic_catalog_unref(catalog);
	remove_folder(folder);
}

static void files_that_change_after_the_scan_are_noticed(void **state)
{
	char *folder = make_library(NULL, NULL), *path, *other = sample(GOOD);
	struct logic_catalog *catalog = scan(folder);
	const struct logic_base *base = base_of(catalog, "sub/b.yaml");
	struct error error;

	assert_int_equal(try_load(catalog, base, &error), 0);
	write_file(folder, "sub/b.yaml", other, strlen(other));
	assert_int_equal(try_load(catalog, base, &error), -ESTALE);
	expect_words(error.text, "has changed", "TensileLibrary_BB_BB_");
	assert_true(asprintf(&path, "%s/sub/b.yaml", folder) > 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(try_load(catalog, base, &error), -ENOENT);
	expect_words(error.text, "cannot open", "/sub/b.yaml'");
	free(path);
	free(other);
	logic_catalog_unref(catalog);
	remove_folder(folder);
}

static void folders_without_logic_say_so(void **state)
{
	char *folder = make_folder();
	struct logic_catalog *catalog;
	struct error error = { 0 };

	assert_int_equal(logic_scan("/nonexistent/logic", &catalog, &error), -ENOENT);
	expect_words(error.text, "cannot open '/nonexistent/logic'", "");
	assert_int_equal(logic_scan(folder, &catalog, &error), -ENODATA);
	expect_words(error.text, "has no logic files", folder);
	write_file(folder, "readme.txt", "x", 1);
	write_file(folder, "x.yaml", "- 1\n", 4);
	assert_int_equal(logic_scan(folder, &catalog, &error), -ENODATA);
	expect_words(error.text, "no usable logic file", "not a logic file");
	remove_folder(folder);
}

static void what_looks_like_logic_and_is_none_is_named(void **state)
{
	char *folder = make_folder(), *good = sample(GOOD), place[4096];
	struct logic_catalog *catalog;
	struct error error = { 0 };

	write_file(folder, "good.yaml", good, strlen(good));
	snprintf(place, sizeof(place), "%s/link.yaml", folder);
	assert_int_equal(symlink("nowhere", place), 0);
	snprintf(place, sizeof(place), "%s/loop", folder);
	assert_int_equal(symlink(".", place), 0);
	snprintf(place, sizeof(place), "%s/pipe.yaml", folder);
	assert_int_equal(mkfifo(place, 0600), 0);
	write_file(folder, "short.yaml", "- 1\n- 2\n", 8);

	assert_int_equal(logic_scan(folder, &catalog, &error), 0);
	assert_int_equal(catalog->n_bases, 1);
	assert_int_equal(catalog->n_faults, 4);
	expect_words(catalog->faults[0].message, "/link.yaml'", "leads nowhere");
	expect_words(catalog->faults[1].message, "/loop'", "contains itself");
	expect_words(catalog->faults[2].message, "/pipe.yaml'", "neither a file nor a folder");
	expect_words(catalog->faults[3].message, "/short.yaml'", "12 entries is expected, and there are 2");
	logic_catalog_unref(catalog);
	free(good);
	remove_folder(folder);
}

static void one_file_can_be_a_library(void **state)
{
	char *path = source_path("samples/logic/" GOOD);
	struct logic_catalog *catalog = scan(path);

	assert_int_equal(catalog->n_bases, 1);
	assert_string_equal(catalog->bases[0].files[0]->relative, "sample_Cijk_Alik_Bljk_BBS_BH_UserArgs.yaml");
	assert_string_equal(catalog->bases[0].files[0]->path, path);
	logic_catalog_unref(catalog);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_heads_are_faults_of_the_catalog),
		cmocka_unit_test(bad_bodies_spoil_their_own_base),
		cmocka_unit_test(bad_solutions_are_left_out_alone),
		cmocka_unit_test(absurd_files_cost_little),
		cmocka_unit_test(unsupported_problem_types_have_countable_reasons),
		cmocka_unit_test(one_base_with_two_problem_types_is_a_fault),
		cmocka_unit_test(files_that_predicates_tell_apart_share_a_base),
		cmocka_unit_test(files_that_change_after_the_scan_are_noticed),
		cmocka_unit_test(folders_without_logic_say_so),
		cmocka_unit_test(what_looks_like_logic_and_is_none_is_named),
		cmocka_unit_test(one_file_can_be_a_library),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
