/* SPDX-License-Identifier: MIT */
/*
 * Kernels of real tuned logic: a deterministic sample of every library in a folder that the build passes in TENSILEFS_CORPUS. Skipped
 * where there is none.
 */
#include "tests/gemm/common.h"

#include "build/logic/logic.h"
#include "tools/verify/values.h"
#include "tools/verify/verify.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

enum { KERNELS_OF_A_LIBRARY = 4 };

struct corpus {
	struct logic_catalog *catalog;
	struct verify_summary total;
	unsigned libraries;
};

static int filter_generated(void *userdata, const char *arch, const struct gemm_params *params, struct error *error)
{
	struct gemm_config config;

	return gemm_config_init(params, &config, error);
}

static void report(void *userdata, const struct verify_kernel *kernel, const struct verify_result *result)
{
	if (result->status < 0)
		print_error("%s: %s\n", kernel->name, error_text(&result->error, result->status));
}

/* Kernel names can be longer than this test's; inside one sample a number tells them apart. */
static size_t generate_sample(const struct logic_library *library, struct random *random, struct test_kernel *kernels)
{
	size_t n_solutions, n_kernels, n = 0;
	const struct logic_solution *solutions = logic_solutions(library, &n_solutions);
	const size_t *indices = logic_kernels(library, &n_kernels);

	for (size_t i = 0; i < n_kernels; i++) {
		const struct logic_solution *solution = &solutions[indices[i]];
		size_t left = MIN(n_kernels, (size_t)KERNELS_OF_A_LIBRARY) - n;
		struct error error = { 0 };

		if (random_next(random) % (n_kernels - i) >= left)
			continue;
		int r = gemm_config_init(&solution->params, &kernels[n].config, &error);
		if (r == 0)
			r = gemm_generate(isa_find("gfx942"), &kernels[n].config, &kernels[n].code, &error);
		if (r < 0)
			fail_msg("%s: %s", solution->kernel_name, error_text(&error, r));
		snprintf(kernels[n].name, sizeof(kernels[n].name), "%zu_%.120s", i, solution->kernel_name);
		n++;
	}
	return n;
}

static void verify_library(struct corpus *corpus, const struct logic_base *base)
{
	struct logic_options options = { .names = LOGIC_NAMES_STABLE, .filter = filter_generated };
	struct verify_options depth = { .depth = VERIFY_QUICK, .seed = corpus->libraries, .threads = 2 };
	struct test_kernel kernels[KERNELS_OF_A_LIBRARY] = { 0 };
	struct verify_kernel list[KERNELS_OF_A_LIBRARY];
	struct logic_library *library = NULL;
	struct verify_summary summary;
	struct random random = { corpus->libraries };
	struct error error = { 0 };
	_cleanup_buffer_ struct buffer elf = { 0 };

	if (logic_load(corpus->catalog, base, &options, &library, &error) < 0)
		fail_msg("%s: %s", base->name, error.text);
	size_t n = generate_sample(library, &random, kernels);
	if (n) {
		corpus->libraries++;
		for (size_t i = 0; i < n; i++)
			list[i] = (struct verify_kernel){ kernels[i].name, &kernels[i].config };
		link_kernels(kernels, n, &elf);
		int r = verify_code_object(elf.data, elf.size, "gfx942", list, n, &depth, report, NULL, &summary, &error);
		if (r < 0)
			fail_msg("%s: %s", base->name, error_text(&error, r));
		corpus->total.kernels += summary.kernels;
		corpus->total.launches += summary.launches;
	}
	for (size_t i = 0; i < n; i++)
		gemm_code_release(&kernels[i].code);
	logic_library_unref(library);
}

static void test_sample_of_real_logic(void **state)
{
	const char *folder = getenv("TENSILEFS_CORPUS");
	struct corpus corpus = { 0 };
	struct error error = { 0 };

	if (logic_scan(folder, &corpus.catalog, &error) < 0)
		fail_msg("%s", error.text);
	for (size_t i = 0; i < corpus.catalog->n_bases; i++)
		if (!corpus.catalog->bases[i].fault)
			verify_library(&corpus, &corpus.catalog->bases[i]);
	print_message("%zu kernels of %u libraries proven in %" PRIu64 " launches\n", corpus.total.kernels, corpus.libraries,
		      corpus.total.launches);
	assert_true(corpus.libraries > 0);
	logic_catalog_unref(corpus.catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample_of_real_logic),
	};
	const char *folder = getenv("TENSILEFS_CORPUS");

	if (!folder || access(folder, R_OK) < 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
