/* SPDX-License-Identifier: MIT */
/* What `tensilefs check` finds: each rule is broken once in a copy of a sound sample, and found where it was broken. */
#include "tests/logic/common.h"

#include <unistd.h>

#define SOUND "gfx942/Equality/sample_Cijk_Ailk_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs.yaml"

struct finding {
	char path[256], text[512];
	unsigned line;
	int solution;
};

struct findings {
	struct finding list[64];
	size_t n;
};

static int note(void *userdata, const struct logic_finding *finding)
{
	struct findings *findings = userdata;

	assert_true(findings->n < ARRAY_SIZE(findings->list));
	struct finding *place = &findings->list[findings->n++];
	*place = (struct finding){ .line = finding->line, .solution = finding->solution };
	snprintf(place->path, sizeof(place->path), "%s", finding->path);
	snprintf(place->text, sizeof(place->text), "%s", finding->text);
	return 0;
}

static void check_folder(const char *folder, const char *custom_kernels, struct findings *findings)
{
	struct logic_catalog *catalog = scan(folder);

	findings->n = 0;
	assert_int_equal(catalog->n_faults, 0);
	for (size_t i = 0; i < catalog->n_bases; i++)
		assert_int_equal(logic_check(&catalog->bases[i], custom_kernels, note, findings), 0);
	for (size_t i = 0; i < catalog->n_archs; i++)
		assert_int_equal(logic_check_siblings(&catalog->wholes[i], note, findings), 0);
	logic_catalog_unref(catalog);
}

static unsigned line_of(const char *text, const char *words)
{
	const char *place = strstr(text, words);
	unsigned line = 1;

	assert_non_null(place);
	for (const char *at = text; at < place; at++)
		line += *at == '\n';
	return line;
}

/* A text with these words is among the findings, at this line. */
static void expect(const struct findings *findings, unsigned line, int solution, const char *words)
{
	for (size_t i = 0; i < findings->n; i++) {
		const struct finding *finding = &findings->list[i];
		if (finding->line == line && finding->solution == solution && strstr(finding->text, words))
			return;
	}
	for (size_t i = 0; i < findings->n; i++)
		print_message("found: line %u, solution %d: %s\n", findings->list[i].line, findings->list[i].solution, findings->list[i].text);
	fail_msg("not found: line %u, solution %d: %s", line, solution, words);
}

static void sound_logic_has_no_findings(void **state)
{
	char *folder = source_path("samples/logic");
	struct findings findings;

	check_folder(folder, NULL, &findings);
	if (findings.n)
		fail_msg("%s:%u: %s", findings.list[0].path, findings.list[0].line, findings.list[0].text);
	free(folder);
}

static void each_rule_is_found_where_it_is_broken(void **state)
{
	static const struct {
		const char *path, *old, *new, *old2, *new2, *at;
		int solution;
		const char *words;
	} cases[] = {
		{ "gfx90a/e.yaml", NULL, NULL, NULL, NULL, "- gfx942\n", -1, "architecture gfx942 in a folder for gfx90a" },
		{ "gfx942_80cu/Equality/e.yaml", NULL, NULL, NULL, NULL, "- gfx942\n", -1, "CUCount 0 in a folder for 80 CUs" },
		{ "gfx942/e.yaml", "- gfx942\n", "- {Architecture: gfx942, CUCount: 80}\n", NULL, NULL, "- {Arch", -1,
		  "CUCount 80 in the folder for every number of CUs" },
		{ "gfx942_id74a0/e.yaml", NULL, NULL, NULL, NULL, "- [Device", -1, "chip 74a0 of the folder is not in the list" },
		{ "gfx950/e.yaml", "- gfx942\n", "- gfx950\n", NULL, NULL, "- [Device", -1, "gfx950 has no chip 74a1" },
		{ "gfx950_75a3/e.yaml", "- gfx942\n- [Device 74a1]", "- gfx950\n- [Device 75a3]", NULL, NULL, "- [Device", -1,
		  "the folder gfx950_75a3 has to be called gfx950_id75a3" },
		{ "gfx950_id75a0/e.yaml", "- gfx942\n- [Device 74a1]", "- gfx950\n- [Device 75a0]", NULL, NULL, "- [Device", -1,
		  "no chip 75a0 of gfx950 has a folder of its own" },
		{ "gfx950_id75a3/e.yaml", "- gfx942\n- [Device 74a1]", "- gfx950\n- [Device 75a3, Device 75a0]", NULL, NULL, "- [Device", -1,
		  "chip 75a0, which others fall back to, in a folder for 75a3" },
		{ "gfx950_id75a3/e.yaml", "- gfx942\n- [Device 74a1]", "- gfx950\n- [Device 75a2]", NULL, NULL, "- [Device", -1,
		  "chip 75a3 of the folder is not in the list" },
		{ "e.yaml", "[Device 74a1]", "[Device 74a1, Device 74A1]", NULL, NULL, "- [Device", -1, "chip id 74A1 stands in the list twice" },
		{ "e.yaml", "[Device 74a1]", "[Device MI300X]", NULL, NULL, "- [Device", -1,
		  "'Device MI300X' is not 'Device ' and a chip id" },
		{ "e.yaml", "[Device 74a1]", "[]", NULL, NULL, "- []", -1, "not a list of devices" },
		{ "e.yaml", "MIBlock: [16, 16, 16, 1", "MIBlock: [16, 16, 4, 1", "MatrixInstruction: [16, 16, 16, 1",
		  "MatrixInstruction: [16, 16, 4, 1", "MatrixInstruction: [16, 16, 4", 0, "gfx942 has no matrix instruction [16, 16, 4, 1] for Half" },
		{ "e.yaml", "WorkGroup: [32, 4, 1]", "WorkGroup: [32, 8, 1]", NULL, NULL, "WorkGroup: [32, 8, 1]", 0,
		  "WorkGroup [32, 8, 1] has 256 threads, the other parameters give 128" },
		{ "e.yaml", "WorkGroupMapping: 8\n", "WorkGroupMapping: 8\n    WorkGroupMappingXCC: 3\n", NULL, NULL, "WorkGroupMappingXCC", 0,
		  "WorkGroupMappingXCC 3 is not -1 and no power of two" },
		{ "e.yaml", "WorkGroupMapping: 8\n", "WorkGroupMapping: 8\n    WorkGroupMappingXCC: 4\n    WorkGroupMappingXCCGroup: 6\n",
		  NULL, NULL, "WorkGroupMappingXCC", 0, "WorkGroupMappingXCCGroup 6 is no multiple of WorkGroupMappingXCC 4" },
		{ "gfx942_20cu/e.yaml", "- gfx942\n", "- {Architecture: gfx942, CUCount: 20}\n", "WorkGroupMapping: 8\n",
		  "WorkGroupMapping: 8\n    WorkGroupMappingXCC: 8\n", "WorkGroupMappingXCC", 0, "WorkGroupMappingXCC 8 does not divide 20 CUs" },
		{ "e.yaml", "SolutionIndex: 1", "SolutionIndex: 0", NULL, NULL, "  - 1LDSBuffer: 0\n", 1,
		  "SolutionIndex 0 is that of solution 0 in line" },
		{ "e.yaml", "DepthU: 16", "DepthUU: 16", NULL, NULL, "DepthUU", 0, "unknown parameter 'DepthUU'" },
		{ "e.yaml", "[1, 0.0]", "[3, 0.0]", NULL, NULL, "[3, 0.0]", -1, "the row is about solution 3, there are 3" },
		{ "e.yaml", "[1, 0.0]", "[0, 0.0]", NULL, NULL, "  - 1LDSBuffer: 0\n", 1, "no row of the table is about this solution" },
		{ "e.yaml", "[48, 32, 1, 128]", "[0, 32, 1, 128]", NULL, NULL, "[0, 32", 0, "a size of 0" },
		{ "e.yaml", "[512, 512, 1, 512]", "[516, 512, 1, 512]", NULL, NULL, "[516", 1, "asks for M in multiples of 8, not 516" },
		{ "e.yaml", "[1104, 16, 1, 4608]", "[512, 512, 1, 512]", "- - [512", "- - [512", "[2, 0.0]", -1, "is for the same sizes" },
		{ "e.yaml", "- [2, 3, 0, 1]", "- [2, 3, 0, 4]", NULL, NULL, "- [2, 3, 0, 4]", -1, "the index order is not" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *folder = make_folder(), *text = sample(SOUND);
		struct findings findings;
		if (cases[i].old)
			text = replace(text, cases[i].old, cases[i].new);
		if (cases[i].old2)
			text = replace(text, cases[i].old2, cases[i].new2);
		write_file(folder, cases[i].path, text, strlen(text));
		check_folder(folder, NULL, &findings);
		/* a row is where its first line is */
		expect(&findings, line_of(text, cases[i].at) - (strcmp(cases[i].at, "[2, 0.0]") == 0), cases[i].solution, cases[i].words);
		assert_memory_equal(findings.list[0].path, folder, strlen(folder));
		remove_folder(folder);
		free(text);
	}
}

static void a_repeated_solution_is_named_with_its_original(void **state)
{
	char *folder = make_folder(), *text = sample(SOUND), *copy, *result;
	struct findings findings;

	char *second = strstr(text, "  - 1LDSBuffer: 0\n"), *first = strstr(text, "- - 1LDSBuffer:");
	assert_true(first && second && first < second);
	copy = strndup(first, (size_t)(second - first));
	copy[0] = ' ';			/* no longer the first of its list */
	assert_true(asprintf(&result, "%.*s%s%s", (int)(second - text), text, copy, second) > 0);
	write_file(folder, "e.yaml", result, strlen(result));
	check_folder(folder, NULL, &findings);
	expect(&findings, line_of(text, "  - 1LDSBuffer: 0\n"), 1, "the same as solution 0 in line");
	expect(&findings, line_of(text, "  - 1LDSBuffer: 0\n"), 1, "SolutionIndex 0 is that of solution 0");
	remove_folder(folder);
	free(result);
	free(copy);
	free(text);
}

static void rows_of_files_that_share_a_base_are_compared(void **state)
{
	char *folder = make_folder(), *text = sample(SOUND);
	struct findings findings;

	write_file(folder, "a.yaml", text, strlen(text));
	write_file(folder, "b.yaml", text, strlen(text));
	check_folder(folder, NULL, &findings);
	assert_int_equal(findings.n, 4);
	expect(&findings, line_of(text, "[48, 32, 1, 128]"), -1, "/a.yaml', line");
	/* a type that a predicate tells apart */
	for (char *at; (at = strstr(text, "BiasDataTypeList: [0, 4]"));)
		memcpy(at, "BiasDataTypeList: [0   ]", 24);
	write_file(folder, "b.yaml", text, strlen(text));
	check_folder(folder, NULL, &findings);
	assert_int_equal(findings.n, 0);
	remove_folder(folder);
	free(text);
}

/* A chip with a folder of its own may bring others that fall back to the same one, and the folder of all may name any. */
static void chips_of_a_family_may_share_a_folder(void **state)
{
	static const char *const sound[][2] = {
		{ "gfx950/gfx950_id75a3/Equality/e.yaml", "[Device 75A3, Device 75a2]" },
		{ "gfx950/e.yaml", "[Device 75b8, Device 75a0]" },
		{ "gfx942/e.yaml", "[Device 0050]" },	/* chips of other architectures are not told apart */
	};

	for (size_t i = 0; i < ARRAY_SIZE(sound); i++) {
		char *folder = make_folder(), *text = replace(sample(SOUND), "[Device 74a1]", sound[i][1]);
		struct findings findings;
		if (strncmp(sound[i][0], "gfx950", 6) == 0)
			text = replace(text, "- gfx942\n", "- gfx950\n");
		write_file(folder, sound[i][0], text, strlen(text));
		check_folder(folder, NULL, &findings);
		for (size_t k = 0; k < findings.n; k++)
			if (findings.list[k].solution < 0)
				fail_msg("'%s': %s", sound[i][0], findings.list[k].text);
		remove_folder(folder);
		free(text);
	}
}

static void files_of_one_name_are_for_the_same_devices(void **state)
{
	char *folder = make_folder(), *text = sample(SOUND), *other = replace(sample(SOUND), "[Device 74a1]", "[Device 74a2, Device 74A1]");
	struct findings findings;

	for (char *at; (at = strstr(other, "BiasDataTypeList: [0, 4]"));)	/* another base, so that rows may be the same */
		memcpy(at, "BiasDataTypeList: [0   ]", 24);
	write_file(folder, "aquavanjaram/gfx942/Equality/e.yaml", text, strlen(text));
	write_file(folder, "aquavanjaram/gfx942/GridBased/other.yaml", other, strlen(other));
	check_folder(folder, NULL, &findings);
	assert_int_equal(findings.n, 0);
	write_file(folder, "aquavanjaram/gfx942/GridBased/e.yaml", other, strlen(other));
	write_file(folder, "aquavanjaram/gfx942/GridBased/other.yaml", "", 0);
	struct logic_catalog *catalog = scan(folder);
	findings.n = 0;
	assert_int_equal(logic_check_siblings(logic_whole(catalog, "gfx942"), note, &findings), 0);
	assert_int_equal(findings.n, 1);
	expect(&findings, line_of(other, "- [Device"), -1, "devices 74a1 74a2, but '");
	assert_non_null(strstr(findings.list[0].text, "/Equality/e.yaml' is for 74a1"));
	assert_non_null(strstr(findings.list[0].path, "/GridBased/e.yaml"));
	logic_catalog_unref(catalog);
	remove_folder(folder);
	free(other);
	free(text);
}

static void each_device_of_a_long_list_is_looked_at(void **state)
{
	struct buffer devices = { 0 };
	struct findings findings;

	for (unsigned i = 0; i <= 0xffff; i++)
		buffer_printf(&devices, "%sDevice %04x", i ? ", " : "[", i);
	buffer_append_string(&devices, ", Device 74a1]");
	buffer_append(&devices, "", 1);
	char *folder = make_folder(), *text = replace(sample(SOUND), "[Device 74a1]", (const char *)devices.data);
	write_file(folder, "e.yaml", text, strlen(text));
	check_folder(folder, NULL, &findings);
	assert_int_equal(findings.n, 1);
	expect(&findings, line_of(text, "- [Device"), -1, "chip id 74a1 stands in the list twice");
	remove_folder(folder);
	buffer_release(&devices);
	free(text);
}

static void a_table_without_rows_reaches_nothing(void **state)
{
	char *folder = make_folder(), *text = sample(SOUND);
	struct findings findings;
	char *rows = strstr(text, "- - - [48"), *end = strstr(text, "- null");

	assert_true(rows && end);
	memset(rows, ' ', (size_t)(end - rows));
	memcpy(rows, "- []", 4);
	end[-1] = '\n';
	write_file(folder, "e.yaml", text, strlen(text));
	check_folder(folder, NULL, &findings);
	expect(&findings, line_of(text, "- []"), -1, "the table has no rows");
	remove_folder(folder);
	free(text);
}

/* Hand-written kernels answer for themselves, but their sources have to be there; some have lines that end as on Windows. */
static void hand_written_kernels_need_their_sources(void **state)
{
	static const char source[] = "code\r\n---\r\ncustom.config:\r\n  InternalSupportParams: {KernArgsVersion: 0}\r\n...\r\n---\r\n";
	char *folder = make_folder(), *text = replace(sample(SOUND), "CustomKernelName: ''", "CustomKernelName: by_hand"), *kernels;
	struct findings findings;

	assert_true(asprintf(&kernels, "%s/kernels", folder) > 0);
	write_file(folder, "logic/e.yaml", text, strlen(text));
	write_file(folder, "kernels/other.s", source, strlen(source));
	check_folder(folder, kernels, &findings);
	assert_int_equal(findings.n, 1);
	expect(&findings, line_of(text, "- - 1LDSBuffer"), 0, "/kernels/by_hand.s'");
	write_file(folder, "kernels/by_hand.s", source, strlen(source));
	check_folder(folder, kernels, &findings);
	assert_int_equal(findings.n, 0);
	remove_folder(folder);
	free(kernels);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_logic_has_no_findings),
		cmocka_unit_test(each_rule_is_found_where_it_is_broken),
		cmocka_unit_test(a_repeated_solution_is_named_with_its_original),
		cmocka_unit_test(rows_of_files_that_share_a_base_are_compared),
		cmocka_unit_test(chips_of_a_family_may_share_a_folder),
		cmocka_unit_test(files_of_one_name_are_for_the_same_devices),
		cmocka_unit_test(each_device_of_a_long_list_is_looked_at),
		cmocka_unit_test(a_table_without_rows_reaches_nothing),
		cmocka_unit_test(hand_written_kernels_need_their_sources),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
