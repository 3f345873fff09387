/* SPDX-License-Identifier: MIT */
/*
 * The sample library: names and metadata are those that the peer makes of it, and nothing but the solutions decides about stable
 * ones.
 */
#include "tests/logic/common.h"

#include <math.h>
#include <msgpack.h>

#define HHS_NN "TensileLibrary_HH_HH_HA_Bias_SAV_UA_Type_HH_HPA_Contraction_l_Ailk_Bljk_Cijk_Dijk_gfx942"
#define HHS_TN "TensileLibrary_HH_HH_HA_Bias_SAV_UA_Type_HH_HPA_Contraction_l_Alik_Bljk_Cijk_Dijk_gfx942"

static struct logic_library *load(const struct logic_catalog *catalog, const struct logic_base *base, const struct logic_options *options)
{
	struct logic_library *library;
	struct error error = { 0 };

	int r = logic_load(catalog, base, options, &library, &error);
	if (r < 0)
		fail_msg("%s", error_text(&error, r));
	return library;
}

static struct logic_catalog *scan_sample(void)
{
	char *folder = source_path("samples/logic");
	struct logic_catalog *catalog = scan(folder);

	free(folder);
	return catalog;
}

static void catalog_lists_bases_in_order(void **state)
{
	struct logic_catalog *catalog = scan_sample();

	assert_int_equal(catalog->n_faults, 0);
	assert_int_equal(catalog->n_archs, 1);
	assert_string_equal(catalog->archs[0], "gfx942");
	assert_int_equal(catalog->n_bases, 15);
	for (size_t i = 1; i < catalog->n_bases; i++)
		assert_true(strcmp(catalog->bases[i - 1].name, catalog->bases[i].name) < 0);
	/* an Equality and a GridBased file are one library, in the order of their paths */
	const struct logic_base *base = find_base(catalog, HHS_NN);
	assert_int_equal(base->n_files, 2);
	assert_non_null(strstr(base->files[0]->relative, "gfx942/Equality/"));
	assert_non_null(strstr(base->files[1]->relative, "gfx942/GridBased/"));
	assert_true(base->files[0]->size > 1000 && base->files[0]->mtime_ns > 0);
	logic_catalog_unref(catalog);
}

/* "<sha256>  <name>" lines of the asset: the expected digest of a name. */
static void check_digest(const char *sums, const char *name, const void *bytes, size_t size)
{
	char hex[65], line[512];

	sha256(bytes, size, hex);
	snprintf(line, sizeof(line), "%s  %s\n", hex, name);
	if (!strstr(sums, line))
		fail_msg("'%s' is not what the peer writes", name);
}

/* Metadata and kernel names of a folder, all solutions kept, against the digests of what the peer wrote. */
static void check_against_peer(const char *folder, const char *asset)
{
	char *logic = source_path(folder), *path = source_path(asset), *sums = read_text(path, NULL), name[256];
	struct logic_catalog *catalog = scan(logic);
	struct logic_naming *naming;
	struct buffer dat = { 0 }, kernels = { 0 };
	struct error error = { 0 };

	assert_int_equal(logic_naming_new(logic_whole(catalog, "gfx942"), NULL, NULL, &naming, &error), 0);
	const struct logic_options options = { .names = LOGIC_NAMES_TENSILE, .naming = naming };
	for (size_t i = 0; i < catalog->n_bases; i++) {
		struct logic_library *library = load(catalog, &catalog->bases[i], &options);
		size_t n_solutions, n_kernels;
		const struct logic_solution *solutions = logic_solutions(library, &n_solutions);
		const size_t *indices = logic_kernels(library, &n_kernels);
		for (size_t k = 0; k < n_kernels; k++)
			buffer_printf(&kernels, "%s %s\n", catalog->bases[i].name, solutions[indices[k]].kernel_name);
		assert_int_equal(logic_write_dat(library, &dat), 0);
		snprintf(name, sizeof(name), "%s.dat", catalog->bases[i].name);
		check_digest(sums, name, dat.data, dat.size);
		buffer_release(&dat);
		logic_library_unref(library);
	}
	check_digest(sums, "kernels.txt", kernels.data, kernels.size);
	assert_int_equal(logic_write_master(catalog, "gfx942", &dat), 0);
	check_digest(sums, "TensileLibrary_lazy_gfx942.dat", dat.data, dat.size);
	assert_int_equal(logic_write_master(catalog, "gfx90a", &dat), -ENOENT);
	buffer_release(&dat);
	buffer_release(&kernels);
	logic_naming_unref(naming);
	logic_catalog_unref(catalog);
	free(sums);
	free(path);
	free(logic);
}

static void metadata_is_what_the_peer_writes(void **state)
{
	check_against_peer("samples/logic", "tests/assets/logic/sample-peer.sha256");
}

static void parameters_left_open_are_chosen_as_the_peer_does(void **state)
{
	check_against_peer("tests/assets/logic/automatic", "tests/assets/logic/automatic-peer.sha256");
}

static void parameters_reach_the_generator(void **state)
{
	struct logic_catalog *catalog = scan_sample();
	struct logic_library *library = load(catalog, find_base(catalog, HHS_TN), NULL);
	size_t n;
	const struct gemm_params *params = &logic_solutions(library, &n)[5].params;

	/* the last solution of GridBased/sample_Cijk_Alik_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs.yaml */
	assert_int_equal(n, 6);
	assert_int_equal(params->problem.a, GEMM_F16);
	assert_int_equal(params->problem.d, GEMM_F16);
	assert_int_equal(params->problem.compute, GEMM_F32);
	assert_true(params->problem.trans_a && !params->problem.trans_b);
	assert_true(params->problem.activation && params->problem.scale_alpha_vec && params->problem.user_args);
	assert_int_equal(params->problem.use_bias, 1);
	assert_int_equal(params->problem.n_bias_types, 2);
	assert_int_equal(params->problem.bias_types[1], GEMM_F16);
	assert_int_equal(params->macro_tile[0], 128);
	assert_int_equal(params->macro_tile[1], 128);
	assert_int_equal(params->depth_u, 64);
	assert_int_equal(params->num_threads, 256);
	assert_int_equal(params->mi[0] * params->mi_wave_group[0] * params->mi_wave_tile[0], 128);
	assert_int_equal(params->mi[1] * params->mi_wave_group[1] * params->mi_wave_tile[1], 128);
	assert_string_equal(params->custom_kernel, "");
	assert_int_equal(logic_solutions(library, &n)[4].params.global_split_u, 2);
	logic_library_unref(library);
	logic_catalog_unref(catalog);
}

static void stable_names_do_not_depend_on_other_files(void **state)
{
	struct logic_catalog *catalog = scan_sample(), *alone;
	struct logic_library *library = load(catalog, find_base(catalog, HHS_TN), NULL), *lonely;
	char *folder = make_folder(), *text = sample("gfx942/GridBased/sample_Cijk_Alik_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs.yaml");
	struct buffer dat = { 0 }, lonely_dat = { 0 };
	size_t n, lonely_n;

	write_file(folder, "other/name.yaml", text, strlen(text));
	alone = scan(folder);
	lonely = load(alone, find_base(alone, HHS_TN), NULL);
	const struct logic_solution *solutions = logic_solutions(library, &n), *lonely_solutions = logic_solutions(lonely, &lonely_n);
	assert_int_equal(n, lonely_n);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(solutions[i].kernel_name, lonely_solutions[i].kernel_name);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(solutions[i].kernel_name, solutions[k].kernel_name);
	}
	assert_int_equal(logic_write_dat(library, &dat), 0);
	assert_int_equal(logic_write_dat(lonely, &lonely_dat), 0);
	assert_int_equal(dat.size, lonely_dat.size);
	assert_memory_equal(dat.data, lonely_dat.data, dat.size);
	buffer_release(&dat);
	buffer_release(&lonely_dat);
	logic_library_unref(library);
	logic_library_unref(lonely);
	logic_catalog_unref(catalog);
	logic_catalog_unref(alone);
	remove_folder(folder);
	free(text);
}

static void stable_names_tell_kernels_apart(void **state)
{
	/* each changes the code of a kernel, or may; the peer's naming knows some of them only when they vary */
	static const char *const edits[][2] = {
		{ "    LdsPadA: ", "    LdsPadA: 1" },
		{ "    SourceSwap: ", "    SourceSwap: 1 #" },
		{ "    MIArchVgpr: ", "    MIArchVgpr: true #" },
		{ "    CustomKernelName: ''", "    CustomKernelName: ''\n    Use64bShadowLimit: 0" },
		{ "    CustomKernelName: ''", "    CustomKernelName: ''\n    GroupLoadStore: true" },
		{ "    CustomKernelName: ''", "    CustomKernelName: ''\n    StreamKXCCMapping: 0\n    DirectToVgprA: true" },
		{ "    MFMA_BF16_1K: false", "    MFMA_BF16_1K: true" },
		{ "    NonTemporalD: 0", "    NonTemporalD: 4" },
		{ "    GlobalSplitUAlgorithm: MultipleBuffer", "    GlobalSplitUAlgorithm: MultipleBufferSingleKernel" },
		{ "    GlobalSplitU: 1", "    GlobalSplitU: 0" },
	};
	char *folder = make_folder(), *name = NULL;

	for (size_t i = 0; i <= ARRAY_SIZE(edits); i++) {
		char *text = sample("gfx942/GridBased/sample_Cijk_Alik_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs.yaml");
		size_t n;
		if (i > 0) {
			char *solution = strstr(text, "- - 1LDSBuffer"), *end = strstr(solution, edits[i - 1][0]);
			assert_non_null(end);
			text = replace(text, edits[i - 1][0], edits[i - 1][1]);
		}
		write_file(folder, "a.yaml", text, strlen(text));
		struct logic_catalog *catalog = scan(folder);
		struct logic_library *library = load(catalog, &catalog->bases[0], NULL);
		const char *kernel = logic_solutions(library, &n)[0].kernel_name;
		if (!name)
			name = strdup(kernel);
		else
			assert_string_not_equal(kernel, name);
		logic_library_unref(library);
		logic_catalog_unref(catalog);
		free(text);
	}
	free(name);
	remove_folder(folder);
}

static int only_small_tiles(void *userdata, const char *arch, const struct gemm_params *params, struct error *error)
{
	(*(size_t *)userdata)++;
	return params->macro_tile[0] * params->macro_tile[1] <= 32 * 32 ? 0 : error_set(error, -EOPNOTSUPP, "a large tile");
}

static const msgpack_object *get(const msgpack_object *map, const char *key)
{
	assert_int_equal(map->type, MSGPACK_OBJECT_MAP);
	for (uint32_t i = 0; i < map->via.map.size; i++)
		if (map->via.map.ptr[i].key.via.str.size == strlen(key) &&
		    memcmp(map->via.map.ptr[i].key.via.str.ptr, key, strlen(key)) == 0)
			return &map->via.map.ptr[i].val;
	fail_msg("no key '%s'", key);
	return NULL;
}

static void left_out_solutions_are_in_no_table(void **state)
{
	struct logic_catalog *catalog = scan_sample();
	size_t asked = 0, n_all, n, n_kernels, kept = 0;
	const struct logic_options options = { .filter = only_small_tiles, .userdata = &asked };
	struct logic_library *all = load(catalog, find_base(catalog, HHS_NN), NULL);
	struct logic_library *some = load(catalog, find_base(catalog, HHS_NN), &options);
	const struct logic_solution *every = logic_solutions(all, &n_all), *solutions = logic_solutions(some, &n);
	struct buffer dat = { 0 };
	msgpack_unpacked unpacked;

	assert_int_equal(n, n_all);
	assert_int_equal(asked, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(solutions[i].index, every[i].index);
		assert_string_equal(solutions[i].kernel_name, every[i].kernel_name);
		assert_null(every[i].left_out);
		if (solutions[i].left_out)
			assert_string_equal(solutions[i].left_out, "a large tile");
		else
			kept++;
	}
	assert_true(kept > 0 && kept < n);
	logic_kernels(some, &n_kernels);
	assert_int_equal(n_kernels, kept);

	assert_int_equal(logic_write_dat(some, &dat), 0);
	msgpack_unpacked_init(&unpacked);
	assert_int_equal(msgpack_unpack_next(&unpacked, (const char *)dat.data, dat.size, NULL), MSGPACK_UNPACK_SUCCESS);
	assert_int_equal(get(&unpacked.data, "solutions")->via.array.size, kept);
	const msgpack_object *tables = get(get(&unpacked.data, "library"), "rows");
	assert_int_equal(tables->via.array.size, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const msgpack_object *rows = get(get(&tables->via.array.ptr[i], "library"), "table");
		assert_true(rows->via.array.size > 0);
		for (uint32_t k = 0; k < rows->via.array.size; k++) {
			int64_t index = get(&rows->via.array.ptr[k], "index")->via.i64;
			size_t s = 0;
			while (s < n && solutions[s].index != index)
				s++;
			assert_true(s < n && !solutions[s].left_out);
		}
	}
	msgpack_unpacked_destroy(&unpacked);
	buffer_release(&dat);
	logic_library_unref(all);
	logic_library_unref(some);
	logic_catalog_unref(catalog);
}

static void indices_are_unique_in_an_arch(void **state)
{
	struct logic_catalog *catalog = scan_sample();
	int firsts[64];

	for (size_t i = 0; i < catalog->n_bases; i++) {
		struct logic_library *library = load(catalog, &catalog->bases[i], NULL);
		size_t n;
		const struct logic_solution *solutions = logic_solutions(library, &n);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(solutions[k].index, solutions[0].index + (int)k);
		firsts[i] = solutions[0].index;
		for (size_t k = 0; k < i; k++)	/* each base has 65,536 indices to itself */
			assert_true(abs(firsts[k] - firsts[i]) >= 1 << 16);
		logic_library_unref(library);
	}
	logic_catalog_unref(catalog);
}

static int note_parameter(void *userdata, const char *key, const char *value, const char *role)
{
	struct buffer *text = userdata;

	buffer_printf(text, "%s=%s (%s)\n", key, value, role);
	return 0;
}

/* Smallest indices are those of the loaded solutions. */
static void check_mapping(const struct logic_catalog *catalog, enum logic_names names)
{
	struct logic_naming *naming = NULL;
	struct buffer dat = { 0 };
	struct error error = { 0 };
	msgpack_unpacked unpacked;
	int64_t before = -1;

	if (names == LOGIC_NAMES_TENSILE)
		assert_int_equal(logic_naming_new(logic_whole(catalog, "gfx942"), NULL, NULL, &naming, &error), 0);
	const struct logic_options options = { .names = names, .naming = naming };
	assert_int_equal(logic_write_mapping(catalog, "gfx942", naming, &dat), 0);
	msgpack_unpacked_init(&unpacked);
	assert_int_equal(msgpack_unpack_next(&unpacked, (const char *)dat.data, dat.size, NULL), MSGPACK_UNPACK_SUCCESS);
	const msgpack_object_map *map = &unpacked.data.via.map;
	assert_int_equal(unpacked.data.type, MSGPACK_OBJECT_MAP);
	assert_int_equal(map->size, catalog->n_bases);
	for (uint32_t i = 0; i < map->size; i++) {
		char *name = strndup(map->ptr[i].val.via.str.ptr, map->ptr[i].val.via.str.size);
		struct logic_library *library = load(catalog, find_base(catalog, name), &options);
		size_t n;
		const struct logic_solution *solutions = logic_solutions(library, &n);
		int smallest = solutions[0].index;
		for (size_t k = 1; k < n; k++)
			smallest = MIN(smallest, solutions[k].index);
		assert_int_equal(map->ptr[i].key.via.u64, smallest);
		assert_true(smallest > before);
		before = smallest;
		logic_library_unref(library);
		free(name);
	}
	msgpack_unpacked_destroy(&unpacked);
	buffer_release(&dat);
	logic_naming_unref(naming);
}

static void the_mapping_leads_from_indices_to_libraries(void **state)
{
	struct logic_catalog *catalog = scan_sample();

	check_mapping(catalog, LOGIC_NAMES_STABLE);
	check_mapping(catalog, LOGIC_NAMES_TENSILE);
	logic_catalog_unref(catalog);
}

/* Floats and strings that YAML would take for something else; expected values from PyYAML 6.0. */
static void yaml_scalars_read_back_as_what_they_were(void **state)
{
	static const struct {
		double value;
		const char *text;
	} reals[] = {
		{ 0.0, "0.0" }, { 1234.5, "1234.5" }, { 0.1, "0.1" }, { 1e15, "1000000000000000.0" }, { 1e16, "1.0e+16" }, { 1.5e-5, "1.5e-05" },
		{ 0.0001, "0.0001" }, { -2.5, "-2.5" }, { 123456789.123, "123456789.123" }, { 1.0 / 3, "0.3333333333333333" }, { 1e300, "1.0e+300" },
		{ INFINITY, ".inf" }, { 5e-324, "5.0e-324" },
	};
	static const char *const quoted[] = { "", "null", "Yes", "off", "12", "-3", "1.5", "1_000" };
	static const char *const plain[] = { "None", "Float", "gfx942", "1LDSBuffer", "F8B8", "nothing" };
	struct buffer dat = { 0 }, yaml = { 0 }, expected = { 0 };
	msgpack_sbuffer packed;
	msgpack_packer packer;

	msgpack_sbuffer_init(&packed);
	msgpack_packer_init(&packer, &packed, msgpack_sbuffer_write);
	msgpack_pack_map(&packer, 1);
	msgpack_pack_str(&packer, 1);
	msgpack_pack_str_body(&packer, "x", 1);
	msgpack_pack_array(&packer, ARRAY_SIZE(reals) + ARRAY_SIZE(quoted) + ARRAY_SIZE(plain) + 1);
	buffer_append_string(&expected, "---\nx:\n");
	for (size_t i = 0; i < ARRAY_SIZE(reals); i++) {
		msgpack_pack_double(&packer, reals[i].value);
		buffer_printf(&expected, "- %s\n", reals[i].text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(quoted); i++) {
		msgpack_pack_str(&packer, strlen(quoted[i]));
		msgpack_pack_str_body(&packer, quoted[i], strlen(quoted[i]));
		buffer_printf(&expected, "- '%s'\n", quoted[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		msgpack_pack_str(&packer, strlen(plain[i]));
		msgpack_pack_str_body(&packer, plain[i], strlen(plain[i]));
		buffer_printf(&expected, "- %s\n", plain[i]);
	}
	msgpack_pack_array(&packer, 0);		/* a list in a list: block style outside */
	buffer_append_string(&expected, "- []\n...\n");
	buffer_append(&dat, packed.data, packed.size);
	assert_int_equal(logic_dat_to_yaml(&dat, &yaml), 0);
	buffer_append(&yaml, "", 1);
	buffer_append(&expected, "", 1);
	assert_string_equal(yaml.data, expected.data);
	msgpack_sbuffer_destroy(&packed);
	buffer_release(&yaml);
	buffer_release(&expected);
	dat.size = 3;
	assert_int_equal(logic_dat_to_yaml(&dat, &yaml), -EINVAL);
	buffer_release(&dat);
}

static void parameters_can_be_listed(void **state)
{
	struct logic_catalog *catalog = scan_sample();
	struct logic_library *library = load(catalog, find_base(catalog, HHS_TN), NULL);
	struct buffer text = { 0 };

	assert_int_equal(logic_solution_foreach_parameter(library, 5, note_parameter, &text), 0);
	buffer_append(&text, "", 1);
	assert_non_null(strstr((char *)text.data, "DepthU=64 (semantic)\n"));
	assert_non_null(strstr((char *)text.data, "MacroTile0=128 (derived)\n"));
	assert_non_null(strstr((char *)text.data, "MatrixInstruction=[16, 16, 16, 1] (semantic)\n"));
	assert_non_null(strstr((char *)text.data, "StoreRemapVectorWidth=0 (hint, ignored)\n"));
	assert_int_equal(logic_solution_foreach_parameter(library, 6, note_parameter, &text), -EINVAL);
	buffer_release(&text);
	logic_library_unref(library);
	logic_catalog_unref(catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(catalog_lists_bases_in_order),
		cmocka_unit_test(metadata_is_what_the_peer_writes),
		cmocka_unit_test(parameters_left_open_are_chosen_as_the_peer_does),
		cmocka_unit_test(parameters_reach_the_generator),
		cmocka_unit_test(stable_names_do_not_depend_on_other_files),
		cmocka_unit_test(stable_names_tell_kernels_apart),
		cmocka_unit_test(left_out_solutions_are_in_no_table),
		cmocka_unit_test(indices_are_unique_in_an_arch),
		cmocka_unit_test(the_mapping_leads_from_indices_to_libraries),
		cmocka_unit_test(yaml_scalars_read_back_as_what_they_were),
		cmocka_unit_test(parameters_can_be_listed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
