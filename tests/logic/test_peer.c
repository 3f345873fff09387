/* SPDX-License-Identifier: MIT */
/*
 * hipBLASLt's own logic: names and metadata are those that TensileCreateLibrary wrote from the same files. The corpus is not part
 * of this repository; it is looked for in ../shared/corpus beside it, and without it the test is skipped.
 */
#include "tests/logic/common.h"

#include <dirent.h>
#include <inttypes.h>
#include <unistd.h>

struct corpus {
	char *logic, *peer;
	struct logic_catalog *catalog;
};

static int set_up(void **state)
{
	struct corpus *corpus = calloc(1, sizeof(*corpus));

	corpus->logic = source_path("../shared/corpus/logic");
	corpus->peer = source_path("../shared/corpus/peer/gfx942");
	corpus->catalog = scan(corpus->logic);
	*state = corpus;
	return 0;
}

static int tear_down(void **state)
{
	struct corpus *corpus = *state;

	logic_catalog_unref(corpus->catalog);
	free(corpus->logic);
	free(corpus->peer);
	free(corpus);
	return 0;
}

static void bases_are_the_files_of_the_peer(void **state)
{
	struct corpus *corpus = *state;
	char path[1024];
	size_t n = 0;

	assert_int_equal(corpus->catalog->n_faults, 0);
	for (size_t i = 0; i < corpus->catalog->n_bases; i++) {
		assert_null(corpus->catalog->bases[i].fault);
		snprintf(path, sizeof(path), "%s/%s.dat", corpus->peer, corpus->catalog->bases[i].name);
		assert_int_equal(access(path, R_OK), 0);
	}
	DIR *folder = opendir(corpus->peer);
	assert_non_null(folder);
	for (struct dirent *entry; (entry = readdir(folder));)
		n += strstr(entry->d_name, ".dat") != NULL;
	closedir(folder);
	assert_int_equal(n, corpus->catalog->n_bases + 1);	/* and the master */
}

/* Bytes that this process has read. */
static uint64_t bytes_read(void)
{
	char *text = read_text("/proc/self/io", NULL);
	uint64_t bytes;

	assert_int_equal(sscanf(text, "rchar: %" SCNu64, &bytes), 1);
	free(text);
	return bytes;
}

static void a_scan_reads_little_more_than_the_heads(void **state)
{
	struct corpus *corpus = *state;
	const struct logic_base *whole = logic_whole(corpus->catalog, "gfx942");
	uint64_t size = 0, before = bytes_read();
	struct logic_catalog *catalog = scan(corpus->logic);

	uint64_t read = bytes_read() - before;
	for (size_t i = 0; i < whole->n_files; i++)
		size += whole->files[i]->size;
	assert_true(read > 0 && read < size / 10);
	logic_catalog_unref(catalog);
}

/* Kernels of one base in the peer's list, which has "<base> <kernel>" lines with the lines of a base in order. */
static void check_kernels(const char *list, const char *base, const struct logic_library *library)
{
	size_t n_solutions, n, length = strlen(base);
	const struct logic_solution *solutions = logic_solutions(library, &n_solutions);
	const size_t *kernels = logic_kernels(library, &n);
	size_t found = 0;

	for (const char *line = list; *line; line = strchr(line, '\n') + 1) {
		if (strncmp(line, base, length) != 0 || line[length] != ' ')
			continue;
		assert_true(found < n);
		const char *kernel = solutions[kernels[found++]].kernel_name;
		const char *expected = line + length + 1;
		if (strncmp(expected, kernel, strlen(kernel)) != 0 || expected[strlen(kernel)] != '\n')
			fail_msg("kernel %zu of '%s' is '%s'", found, base, kernel);
	}
	assert_int_equal(found, n);
}

static void check_file(const char *folder, const char *base, const struct buffer *dat)
{
	char path[1024];
	size_t size;

	snprintf(path, sizeof(path), "%s/%s.dat", folder, base);
	char *expected = read_text(path, &size);
	if (size != dat->size || memcmp(expected, dat->data, size) != 0)
		fail_msg("'%s.dat' differs from the peer's", base);
	free(expected);
}

/*
 * Stand-ins for the sources of the hand-written kernels in the peer's list, with what of them reaches the .dat: GroupedGemm ones
 * support nothing, of the others some take StaggerU from the host, and one asserts less than its solutions in the logic do.
 */
static char *make_custom_kernels(const char *list)
{
	static const char *const words[] = { "False", "True" };
	char *folder = make_folder(), name[256], text[512];

	for (const char *at = list; (at = strstr(at, " Custom")); at++) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
		bool grouped = strstr(name, "_GG_"), any_k = strstr(name, "16x16x1_44_");
		bool stagger = any_k || strstr(name, "Bias_AS_SAB_SAV_shortname");
		snprintf(text, sizeof(text),
			 "\ts_endpgm\n---\ncustom.config:\n  InternalSupportParams: {KernArgsVersion: 0, SupportUserGSU: %s, "
			 "SupportCustomWGM: %s, SupportCustomStaggerU: %s, UseUniversalArgs: False}\n%samdhsa.version:\n  - 1\n  - 1\n...\n",
			 words[!grouped], words[!grouped], words[stagger], any_k ? "  AssertSummationElementMultiple: 1\n" : "");
		strcat(name, ".s");
		write_file(folder, name, text, strlen(text));
	}
	return folder;
}

/* TensileLibrary_gfx942.dat, of which only the digest is kept: the peer wrote it from the corpus with --separate-architectures. */
static void check_whole(const struct logic_catalog *catalog, const struct logic_options *options)
{
	struct logic_library *library;
	struct buffer dat = { 0 };
	char hex[65];

	assert_int_equal(logic_load(catalog, logic_whole(catalog, "gfx942"), options, &library, NULL), 0);
	assert_int_equal(logic_write_dat(library, &dat), 0);
	sha256(dat.data, dat.size, hex);
	assert_string_equal(hex, "eaf7177e4e77e25f5dc8f44aa41f0fb849f5798fc59ca0325d2cbeddb5b36478");
	buffer_release(&dat);
	logic_library_unref(library);
}

static void metadata_equals_the_peers(void **state)
{
	struct corpus *corpus = *state;
	struct logic_naming *naming;
	struct error error = { 0 };
	struct buffer dat = { 0 };
	char path[1024];

	snprintf(path, sizeof(path), "%s/kernels.txt", corpus->peer);
	char *list = read_text(path, NULL);
	assert_int_equal(logic_naming_new(logic_whole(corpus->catalog, "gfx942"), NULL, NULL, &naming, &error), 0);
	char *custom = make_custom_kernels(list);
	const struct logic_options options = { .names = LOGIC_NAMES_TENSILE, .naming = naming, .custom_kernels = custom };
	for (size_t i = 0; i < corpus->catalog->n_bases; i++) {
		const struct logic_base *base = &corpus->catalog->bases[i];
		struct logic_library *library;
		int r = logic_load(corpus->catalog, base, &options, &library, &error);
		if (r < 0)
			fail_msg("%s", error_text(&error, r));
		check_kernels(list, base->name, library);
		assert_int_equal(logic_write_dat(library, &dat), 0);
		check_file(corpus->peer, base->name, &dat);
		buffer_release(&dat);
		logic_library_unref(library);
	}
	assert_int_equal(logic_write_master(corpus->catalog, "gfx942", &dat), 0);
	check_file(corpus->peer, "TensileLibrary_lazy_gfx942", &dat);
	buffer_release(&dat);
	check_whole(corpus->catalog, &options);
	logic_naming_unref(naming);
	remove_folder(custom);
	free(list);
}

static int keep(void *userdata, const char *arch, const struct gemm_params *params, struct error *error)
{
	return 0;
}

static void real_logic_contradicts_nothing(void **state)
{
	struct corpus *corpus = *state;
	const struct logic_options options = { .filter = keep };
	size_t sound = 0, without_words = 0;

	for (size_t i = 0; i < corpus->catalog->n_bases; i++) {
		struct logic_library *library;
		struct error error = { 0 };
		size_t n;
		assert_int_equal(logic_load(corpus->catalog, &corpus->catalog->bases[i], &options, &library, &error), 0);
		const struct logic_solution *solutions = logic_solutions(library, &n);
		for (size_t k = 0; k < n; k++) {
			if (!solutions[k].left_out)
				sound++;
			else if (!strchr(solutions[k].left_out, '\''))
				without_words++;	/* sound, but beyond the terms of the generator */
			else
				fail_msg("%s", solutions[k].left_out);
		}
		logic_library_unref(library);
	}
	print_message("%zu solutions can be put to the generator, %zu cannot\n", sound, without_words);
	assert_true(sound > 7900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bases_are_the_files_of_the_peer),
		cmocka_unit_test(a_scan_reads_little_more_than_the_heads),
		cmocka_unit_test(metadata_equals_the_peers),
		cmocka_unit_test(real_logic_contradicts_nothing),
	};
	char *folder = source_path("../shared/corpus/peer/gfx942");
	int found = access(folder, R_OK);

	free(folder);
	if (found < 0) {
		fprintf(stderr, "no ../shared/corpus here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
