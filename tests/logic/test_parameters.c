/* SPDX-License-Identifier: MIT */
/* The table of parameters, and the summaries that the peer's way of naming is made from. */
#include "build/logic/library.h"
#include "tests/logic/common.h"

#include <pthread.h>

static void the_table_is_in_order(void **state)
{
	static const char *const others[] = { "LSCA", "_DepthU", "PersistentKernel", "ProblemType", "1LDSBuffer" };

	/* names list their parameters in this order, and keys are looked up by it */
	for (int i = 0; i < N_PARAMETERS; i++) {
		const struct parameter_key *key = parameter_find(parameter_name(i));
		assert_non_null(key);
		assert_int_equal(key->parameter, i);
		assert_true(i == 0 || strcmp(parameter_name(i - 1), parameter_name(i)) < 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_non_null(parameter_find(others[i]));
	assert_int_equal(parameter_find("LSCA")->parameter, KEY_DERIVED);
	assert_int_equal(parameter_find("PersistentKernel")->parameter, KEY_LEGACY);
	assert_null(parameter_find("DepthV"));
	assert_null(parameter_find(""));
}

static void capitals(const char *name, char *ret_capitals)
{
	for (; *name; name++)
		if (*name >= 'A' && *name <= 'Z')
			*ret_capitals++ = *name;
	*ret_capitals = 0;
}

/* Stable names abbreviate the parameters that are always in them; two that looked alike would have to stand in a fixed place. */
static void abbreviations_of_stable_names_are_unambiguous(void **state)
{
	char a[64], b[64];

	for (int i = 0; i < N_PARAMETERS; i++)
		for (int k = 0; k < i; k++) {
			if (parameter_naming(i) != NAMING_ALWAYS || parameter_naming(k) != NAMING_ALWAYS)
				continue;
			capitals(parameter_name(i), a);
			capitals(parameter_name(k), b);
			if (strcmp(a, b) == 0 && strncmp(parameter_name(i), "AssertFree", 10) != 0)	/* AFEM twice, M before N */
				fail_msg("'%s' and '%s'", parameter_name(i), parameter_name(k));
		}
}

/* Whatever reaches the generator is in stable kernel names: as a parameter, or in the tile and problem type in front. */
static void nothing_the_generator_sees_is_unnamed(void **state)
{
	static const int16_t elsewhere[] = {
		P_CustomKernelName, P_DepthU, P_MIBlock, P_MIInputPerThread, P_MIWaveGroup, P_MIWaveTile, P_MatrixInstruction, P_ThreadTile,
	};

	for (int i = 0; i < N_PARAMETERS; i++) {
		enum parameter_role role = parameter_role(i);
		enum parameter_naming naming = parameter_naming(i);
		bool named = naming == NAMING_ALWAYS || naming == NAMING_CHANGED || naming == NAMING_STABLE;
		for (size_t k = 0; k < ARRAY_SIZE(elsewhere); k++)
			named |= elsewhere[k] == i;
		if ((role == ROLE_SEMANTIC || role == ROLE_HINT) && !named)
			fail_msg("'%s' is in no stable name", parameter_name(i));
	}
}

struct cache {
	struct buffer summaries[32];
	const struct logic_file *files[32];
	size_t n, misses;
	const struct logic_file *lost;		/* a file without a summary */
};

static int get_cached(void *userdata, const struct logic_file *file, struct buffer *ret_summary, struct error *error)
{
	struct cache *cache = userdata;
	size_t i = 0;

	if (file == cache->lost)
		return error_set(error, -EIO, "lost");
	while (i < cache->n && cache->files[i] != file)
		i++;
	if (i == cache->n) {
		assert_int_equal(logic_summarize(file, &cache->summaries[i], error), 0);
		cache->files[cache->n++] = file;
		cache->misses++;
	}
	buffer_append(ret_summary, cache->summaries[i].data, cache->summaries[i].size);
	return 0;
}

static struct logic_naming *name(const struct logic_catalog *catalog, struct cache *cache)
{
	struct logic_naming *naming;
	struct error error = { 0 };

	assert_int_equal(logic_naming_new(logic_whole(catalog, "gfx942"), get_cached, cache, &naming, &error), 0);
	return naming;
}

static struct logic_library *load(const struct logic_catalog *catalog, size_t base, const struct logic_naming *naming)
{
	const struct logic_options options = { .names = LOGIC_NAMES_TENSILE, .naming = naming };
	struct logic_library *library;
	struct error error = { 0 };

	assert_int_equal(logic_load(catalog, &catalog->bases[base], &options, &library, &error), 0);
	return library;
}

static void cached_summaries_give_the_same_names(void **state)
{
	char *folder = source_path("samples/logic");
	struct logic_catalog *catalog = scan(folder);
	struct cache cache = { 0 };
	struct logic_naming *first = name(catalog, &cache), *second = name(catalog, &cache);
	size_t n;

	assert_int_equal(cache.misses, 16);
	for (size_t i = 0; i < catalog->n_bases; i++) {
		struct logic_library *a = load(catalog, i, first), *b = load(catalog, i, second), *c = load(catalog, i, NULL);
		const struct logic_solution *x = logic_solutions(a, &n), *y = logic_solutions(b, &n), *z = logic_solutions(c, &n);
		for (size_t k = 0; k < n; k++) {
			assert_string_equal(x[k].name, y[k].name);
			assert_string_equal(x[k].name, z[k].name);
			assert_int_equal(x[k].index, y[k].index);
			assert_int_equal(x[k].index, z[k].index);
		}
		logic_library_unref(a);
		logic_library_unref(b);
		logic_library_unref(c);
	}
	for (size_t i = 0; i < cache.n; i++)
		assert_true(cache.summaries[i].size < 4096);
	logic_naming_unref(first);
	logic_naming_unref(second);

	/* a summary of another version is as good as none: the file counts as one without solutions */
	cache.summaries[0].data[8] ^= 1;
	cache.lost = cache.files[1];
	logic_naming_unref(name(catalog, &cache));
	for (size_t i = 0; i < cache.n; i++)
		buffer_release(&cache.summaries[i]);
	logic_catalog_unref(catalog);
	free(folder);
}

static void an_edit_elsewhere_changes_tensile_names_only(void **state)
{
	char *folder = make_folder(), *one = sample("gfx942/Equality/sample_Cijk_Alik_Bljk_BBS_BH_UserArgs.yaml");
	char *two = sample("gfx942/GridBased/sample_Cijk_Ailk_Bjlk_SB_Bias_HAS_SAV_UserArgs.yaml");
	char *names[2][2];

	for (int i = 0; i < 2; i++) {
		size_t n;
		if (i)
			two = replace(two, "    MaxOccupancy: 40", "    MaxOccupancy: 2");
		write_file(folder, "one.yaml", one, strlen(one));
		write_file(folder, "two.yaml", two, strlen(two));
		struct logic_catalog *catalog = scan(folder);
		struct logic_library *tensile = load(catalog, 0, NULL), *stable;
		struct error error = { 0 };
		assert_int_equal(logic_load(catalog, &catalog->bases[0], NULL, &stable, &error), 0);
		names[0][i] = strdup(logic_solutions(tensile, &n)[0].kernel_name);
		names[1][i] = strdup(logic_solutions(stable, &n)[0].kernel_name);
		logic_library_unref(tensile);
		logic_library_unref(stable);
		logic_catalog_unref(catalog);
	}
	assert_null(strstr(names[0][0], "_MO40"));
	assert_non_null(strstr(names[0][1], "_MO40"));
	assert_string_equal(names[1][0], names[1][1]);
	for (int i = 0; i < 4; i++)
		free(names[i / 2][i % 2]);
	remove_folder(folder);
	free(one);
	free(two);
}

struct share {				/* of one thread */
	const struct logic_catalog *catalog;
	size_t solutions;
	int result;
};

static void *load_all(void *data)
{
	struct share *share = data;
	const struct logic_options options = { .names = LOGIC_NAMES_TENSILE };

	for (size_t i = 0; i < share->catalog->n_bases && share->result == 0; i++) {
		struct logic_library *library;
		struct buffer dat = { 0 };
		size_t n;
		share->result = logic_load(share->catalog, &share->catalog->bases[i], &options, &library, NULL);
		if (share->result < 0)
			break;
		logic_solutions(library, &n);
		share->solutions += n;
		share->result = logic_write_dat(library, &dat);
		buffer_release(&dat);
		logic_library_unref(library);
	}
	return NULL;
}

static void threads_can_load_at_once(void **state)
{
	char *folder = source_path("samples/logic");
	struct logic_catalog *catalog = scan(folder);
	struct share shares[4];
	pthread_t threads[4];

	for (int i = 0; i < 4; i++) {
		shares[i] = (struct share){ .catalog = catalog };
		assert_int_equal(pthread_create(&threads[i], NULL, load_all, &shares[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(shares[i].result, 0);
		assert_int_equal(shares[i].solutions, 64);
	}
	logic_catalog_unref(catalog);
	free(folder);
}

static void indices_are_made_unique(void **state)
{
	int indices[] = { 5, 3, 5, -1, 3, 9 }, none[1];

	/* taken and missing ones go behind the largest, in order */
	assert_int_equal(logic_fix_indices(indices, 6), 0);
	assert_int_equal(indices[0], 5);
	assert_int_equal(indices[1], 3);
	assert_int_equal(indices[2], 10);
	assert_int_equal(indices[3], 11);
	assert_int_equal(indices[4], 12);
	assert_int_equal(indices[5], 9);
	assert_int_equal(logic_fix_indices(none, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_in_order),
		cmocka_unit_test(abbreviations_of_stable_names_are_unambiguous),
		cmocka_unit_test(nothing_the_generator_sees_is_unnamed),
		cmocka_unit_test(cached_summaries_give_the_same_names),
		cmocka_unit_test(an_edit_elsewhere_changes_tensile_names_only),
		cmocka_unit_test(threads_can_load_at_once),
		cmocka_unit_test(indices_are_made_unique),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
