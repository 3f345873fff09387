/* SPDX-License-Identifier: MIT */
/* Solutions as their files give them, for a generator that reads them for itself. */
#include "tests/logic/common.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAMPLE "gfx942/GridBased/sample_Cijk_Alik_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs.yaml"
#define N_SOLUTIONS 6

struct loaded {
	char *folder;
	struct logic_catalog *catalog;
	struct logic_library *library;
};

static struct loaded load(const char *text)
{
	struct loaded loaded = { .folder = make_folder() };
	struct error error = { 0 };

	write_file(loaded.folder, "logic.yaml", text, strlen(text));
	loaded.catalog = scan(loaded.folder);
	assert_int_equal(loaded.catalog->n_bases, 1);
	if (logic_load(loaded.catalog, &loaded.catalog->bases[0], NULL, &loaded.library, &error) < 0)
		fail_msg("%s", error.text);
	return loaded;
}

static void unload(struct loaded *loaded)
{
	logic_library_unref(loaded->library);
	logic_catalog_unref(loaded->catalog);
	remove_folder(loaded->folder);
}

/* The text of a solution; malloc memory. */
static char *text_of(const struct loaded *loaded, size_t solution)
{
	struct buffer text = { 0 };
	struct error error = { 0 };

	if (logic_write_solution(loaded->library, solution, &text, &error) < 0)
		fail_msg("%s", error.text);
	buffer_append(&text, "", 1);
	assert_false(text.failed);
	return (char *)text.data;
}

static void the_text_says_what_the_file_says(void **state)
{
	static const char head[] = "{\"MinimumRequiredVersion\":\"4.33.0\",\"ScheduleName\":\"sample\",\"ArchitectureName\":\"gfx942\",\"CUCount\":null,"
				   "\"ProblemType\":{\"Activation\":true,";
	_cleanup_free_ char *logic = replace(sample(SAMPLE), "    OptNoLoadLoop: 1\n",
					     "    Odd: [1.5, 1e3, null, yes, -7, 12.0, 'a b', \"No\", {x: y}, []]\n    OptNoLoadLoop: 1\n");
	struct loaded loaded = load(logic);
	_cleanup_free_ char *text = text_of(&loaded, 0);

	assert_memory_equal(text, head, strlen(head));
	assert_non_null(strstr(text, "\"Solution\":{\"1LDSBuffer\":0,\"ActivationFuncCall\":true,"));
	assert_non_null(strstr(text, ",\"Odd\":[1.5,1000.0,null,true,-7,12.0,\"a b\",false,{\"x\":\"y\"},[]],\"OptNoLoadLoop\":1,"));
	assert_non_null(strstr(text, ",\"ProblemType\":{\"Activation\":true,\"ActivationComputeDataType\":0,\"ActivationType\":\"hipblaslt_all\","));
	assert_string_equal(text + strlen(text) - 2, "}}");
	unload(&loaded);
}

/* Every fact of it stands in the .dat, too: as YAML, which has the same maps in flow style, sorted. */
static void the_text_tells_how_the_host_launches_the_kernel(void **state)
{
	_cleanup_free_ char *logic = sample(SAMPLE);
	struct loaded loaded = load(logic);
	_cleanup_free_ char *text = text_of(&loaded, 0);
	_cleanup_buffer_ struct buffer dat = { 0 }, yaml = { 0 };
	char *launch = strstr(text, "\"Launch\":{\"sizeMapping\":{\"waveNum\":"), *arguments = strstr(text, "\"internalArgsSupport\":{"), *rest;

	assert_non_null(launch);
	assert_non_null(arguments);
	assert_int_equal(logic_write_dat(loaded.library, &dat), 0);
	assert_int_equal(logic_dat_to_yaml(&dat, &yaml), 0);
	buffer_append(&yaml, "", 1);
	assert_non_null(strstr(launch, ",\"workGroup\":[16,4,1],"));
	assert_non_null(strstr((char *)yaml.data, "workGroup: [16, 4, 1]"));
	arguments += strlen("\"internalArgsSupport\":{");
	arguments[strcspn(arguments, "}")] = 0;
	size_t facts = 0;
	for (char *fact = strtok_r(arguments, ",", &rest); fact; fact = strtok_r(NULL, ",", &rest), facts++) {
		char line[64], *colon = strchr(fact, ':');
		snprintf(line, sizeof(line), "%.*s: %s", (int)(colon - fact - 2), fact + 1, colon + 1);
		assert_non_null(strstr((char *)yaml.data, line));
	}
	assert_int_equal(facts, 5);
	unload(&loaded);
}

static void neighbours_and_names_have_no_part_in_the_text(void **state)
{
	_cleanup_free_ char *logic = sample(SAMPLE), *moved = replace(sample(SAMPLE), "    SolutionIndex: 0\n", "    SolutionIndex: 70\n");
	struct loaded a = load(logic), b = load(moved);
	_cleanup_free_ char *text = text_of(&a, 0), *of_moved = text_of(&b, 0);

	assert_string_equal(text, of_moved);
	assert_null(strstr(text, "SolutionIndex"));
	assert_null(strstr(text, "NameMin"));
	unload(&a);
	unload(&b);
}

/* Where the place of a solution is known, and where it is not: in a file that only libyaml reads. */
static void every_way_of_reading_gives_the_same_text(void **state)
{
	_cleanup_free_ char *logic = sample(SAMPLE);
	_cleanup_free_ char *ragged = replace(replace(sample(SAMPLE), "    OptNoLoadLoop: 1\n", "# not indented\n\n    OptNoLoadLoop: 1\n"),
					      "      BiasDataTypeList: [0, 4]\n", "      BiasDataTypeList: [0,\n 4]\n");
	_cleanup_free_ char *foreign = replace(sample(SAMPLE), "- sample\n", "# \xc3\xbc\n- sample\n");
	struct loaded loaded[] = { load(logic), load(ragged), load(foreign) };

	for (size_t i = 0; i < N_SOLUTIONS; i++) {
		_cleanup_free_ char *text = text_of(&loaded[0], i);
		for (size_t k = 1; k < ARRAY_SIZE(loaded); k++) {
			_cleanup_free_ char *other = text_of(&loaded[k], i);
			assert_string_equal(other, text);
		}
	}
	for (size_t k = 0; k < ARRAY_SIZE(loaded); k++)
		unload(&loaded[k]);
}

static void assert_stale(const struct loaded *loaded)
{
	struct buffer text = { 0 };
	struct error error = { 0 };

	assert_int_equal(logic_write_solution(loaded->library, 1, &text, &error), -ESTALE);
	assert_int_equal(text.size, 0);
	assert_non_null(strstr(error.text, "logic.yaml"));
}

static void a_changed_file_is_told(void **state)
{
	_cleanup_free_ char *logic = sample(SAMPLE), *edited = replace(sample(SAMPLE), "- sample\n", "- samples\n");
	_cleanup_free_ char *foreign = replace(sample(SAMPLE), "- sample\n", "# \xc3\xbc\n- sample\n");
	struct loaded loaded = load(logic), whole = load(foreign);
	_cleanup_free_ char *path = NULL;

	write_file(loaded.folder, "logic.yaml", edited, strlen(edited));
	assert_stale(&loaded);
	assert_true(asprintf(&path, "%s/logic.yaml", loaded.folder) > 0);
	assert_int_equal(unlink(path), 0);
	assert_stale(&loaded);
	write_file(whole.folder, "logic.yaml", logic, strlen(logic));
	assert_stale(&whole);
	unload(&loaded);
	unload(&whole);
}

/* As rsync and touch(1) leave it: of the same size and, so they say, of the same time. */
static void a_file_that_was_changed_behind_its_time_is_told(void **state)
{
	_cleanup_free_ char *logic = sample(SAMPLE), *edited = replace(sample(SAMPLE), "- sample\n", "- simple\n");
	struct loaded loaded = load(logic);
	_cleanup_free_ char *path = NULL;
	struct stat st;

	assert_true(asprintf(&path, "%s/logic.yaml", loaded.folder) > 0);
	assert_int_equal(stat(path, &st), 0);
	usleep(20000);			/* a step of the clock that stamps files, at least */
	write_file(loaded.folder, "logic.yaml", edited, strlen(edited));
	assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){ st.st_atim, st.st_mtim }, 0), 0);
	assert_stale(&loaded);
	unload(&loaded);
}

static void a_solution_that_is_not_there_is_refused(void **state)
{
	_cleanup_free_ char *logic = sample(SAMPLE);
	struct loaded loaded = load(logic);
	struct buffer text = { 0 };

	assert_int_equal(logic_write_solution(loaded.library, N_SOLUTIONS, &text, NULL), -EINVAL);
	unload(&loaded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_says_what_the_file_says),
		cmocka_unit_test(the_text_tells_how_the_host_launches_the_kernel),
		cmocka_unit_test(neighbours_and_names_have_no_part_in_the_text),
		cmocka_unit_test(every_way_of_reading_gives_the_same_text),
		cmocka_unit_test(a_changed_file_is_told),
		cmocka_unit_test(a_file_that_was_changed_behind_its_time_is_told),
		cmocka_unit_test(a_solution_that_is_not_there_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
