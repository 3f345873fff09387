/* SPDX-License-Identifier: MIT */
/*
 * Whole kernels over the space of parameters: every problem type with every transposition and MatrixInstruction, and with each of these
 * a few shapes in which all other parameters take turns. Each kernel runs on edge sizes with all features of its type
 * (tools/verify/verify.h).
 */
#include "tests/gemm/common.h"

#include "tools/verify/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <inttypes.h>

#include <cmocka.h>

enum { SHAPES = 8, CHUNK = 48 };

struct family {
	const char *name;
	enum gemm_type a, b, d, mfma_in;
	bool scale_ab, scale_alpha_vec, activation;
	unsigned n_bias_types;
	enum gemm_type bias_types[3];
};

static const struct family families[] = {
	{ "HHS", GEMM_F16, GEMM_F16, GEMM_F16, GEMM_F16, false, true, true, 2, { GEMM_F32, GEMM_F16 } },
	{ "HSS", GEMM_F16, GEMM_F16, GEMM_F32, GEMM_F16, false, true, true, 2, { GEMM_F32, GEMM_F16 } },
	{ "BBS", GEMM_BF16, GEMM_BF16, GEMM_BF16, GEMM_BF16, false, true, true, 2, { GEMM_F32, GEMM_BF16 } },
	{ "SSS", GEMM_F32, GEMM_F32, GEMM_F32, GEMM_F32, false, true, true, 1, { GEMM_F32 } },
	{ "HF8H", GEMM_F16, GEMM_F8, GEMM_F16, GEMM_F16, true, true, true, 3, { GEMM_F32, GEMM_F16, GEMM_BF16 } },
	{ "F8HH", GEMM_F8, GEMM_F16, GEMM_F16, GEMM_F16, true, true, true, 2, { GEMM_F32, GEMM_F16 } },
	{ "F8HS", GEMM_F8, GEMM_F16, GEMM_F32, GEMM_F16, true, false, false, 0, { GEMM_F32 } },
};

/* Values that take turns. The lengths have no common factor where it matters little, so that the values meet in many combinations. */
static const int wave_groups[][2] = { { 2, 2 }, { 1, 4 }, { 4, 1 }, { 1, 1 }, { 2, 1 }, { 1, 2 } };
static const int wave_tiles[][2] = {
	{ 1, 1 }, { 2, 2 }, { 4, 2 }, { 3, 1 }, { 1, 5 }, { 2, 3 }, { 4, 4 }, { 7, 2 }, { 2, 8 }, { 6, 1 }, { 8, 1 },
};
static const int depths[] = { 32, 64, 16, 128, 32, 64, 256 };
static const int vectors[][2] = { { 1, 1 }, { 2, 1 }, { 4, 1 }, { 1, 2 }, { 2, 2 }, { 8, 4 }, { 1, 1 } };
static const int read_widths[][2] = { { 8, 8 }, { 4, 8 }, { 16, 4 }, { 2, 1 }, { 1, 8 }, { 8, 2 }, { 4, 4 } };
static const int local_read_widths[] = { 8, 4, 16, 2, 8 };
static const int pads[][2] = { { 16, 16 }, { 0, 0 }, { 8, 4 }, { 32, 8 }, { 4, 0 }, { 2, 16 } };
static const int pad_blocks[][2] = { { 0, 0 }, { 128, 128 }, { 256, 1024 }, { 512, 128 }, { 2048, 0 } };
static const int transposed_lds[] = { 1, 0, 1, 2 };

static void set_family(struct gemm_params *params, const struct family *family)
{
	struct gemm_problem_type *problem = &params->problem;

	problem->a = family->a;
	problem->b = family->b;
	problem->c = problem->d = family->d;
	problem->mfma_in = family->mfma_in;
	problem->scale_ab = family->scale_ab;
	problem->scale_alpha_vec = family->scale_alpha_vec;
	problem->activation = family->activation;
	problem->use_bias = family->n_bias_types != 0;
	problem->n_bias_types = (uint8_t)family->n_bias_types;
	memcpy(problem->bias_types, family->bias_types, sizeof(family->bias_types));
}

#define TURN(list, step) (list)[((unsigned)(step)) % ARRAY_SIZE(list)]
#define COPY_TURN(target, list, step) memcpy(target, TURN(list, step), sizeof(target))

/* The parameters of turn number `turn`. */
static struct gemm_params turn_params(const struct family *family, unsigned transposes, bool large, unsigned turn)
{
	struct gemm_params params = default_params();
	bool wide = family->mfma_in == GEMM_F32;

	set_family(&params, family);
	params.problem.trans_a = transposes & 1;
	params.problem.trans_b = transposes & 2;
	params.mi[0] = params.mi[1] = large ? 32 : 16;
	params.mi[2] = (large ? 8 : 16) / (wide ? 4 : 1);
	COPY_TURN(params.mi_wave_group, wave_groups, turn);
	COPY_TURN(params.mi_wave_tile, wave_tiles, turn * 3 + turn / 7);
	COPY_TURN(params.vector_width, vectors, turn * 5 + turn / 3);
	for (int t = 0; t < 2; t++)
		while (params.mi_wave_tile[t] % params.vector_width[t])
			params.vector_width[t] /= 2;
	params.depth_u = TURN(depths, turn + turn / 5);
	COPY_TURN(params.global_read_vector_width, read_widths, turn * 2 + turn / 6);
	for (int t = 0; t < 2; t++) {
		int most = 16 / (int)gemm_type_bytes(t ? family->b : family->a);
		params.global_read_vector_width[t] = MIN(params.global_read_vector_width[t], most);
	}
	params.local_read_vector_width = TURN(local_read_widths, turn + turn / 4);
	COPY_TURN(params.lds_pad, pads, turn + turn / 11);
	COPY_TURN(params.lds_block_size_per_pad, pad_blocks, turn + turn / 13);
	params.transpose_lds = TURN(transposed_lds, turn + turn / 3);
	params.one_lds_buffer = turn / 2 % 2;
	params.prefetch_global_read = turn % 5 == 4 ? 1 : 2;
	params.source_swap = turn % 4 != 0;
	params.assert_free_multiple[0] = turn % 11 == 7 ? 8 : 1;
	params.assert_summation_multiple = turn % 13 == 5 ? 8 : 1;
	params.problem.user_args = turn % 6 != 0;
	params.problem.strided_batched = turn % 8 != 3;
	complete_params(&params);
	return params;
}

/* ---- generating and proving ------------------------------------------------------------------------------------------- */

struct sweep {
	struct test_kernel kernels[CHUNK];
	size_t n;
	unsigned proven, left_out;
	uint64_t launches;
};

static void report(void *userdata, const struct verify_kernel *kernel, const struct verify_result *result)
{
	if (result->status < 0)
		print_error("%s: %s\n", kernel->name, error_text(&result->error, result->status));
}

/* Links and verifies what has been collected. */
static void flush(struct sweep *sweep)
{
	_cleanup_buffer_ struct buffer elf = { 0 };
	struct verify_kernel list[CHUNK];
	struct verify_summary summary;
	struct verify_options options = { .depth = VERIFY_NORMAL, .seed = 1, .threads = 2 };
	struct error error = { 0 };

	if (!sweep->n)
		return;
	for (size_t i = 0; i < sweep->n; i++)
		list[i] = (struct verify_kernel){ sweep->kernels[i].name, &sweep->kernels[i].config };
	link_kernels(sweep->kernels, sweep->n, &elf);
	int r = verify_code_object(elf.data, elf.size, "gfx942", list, sweep->n, &options, report, NULL, &summary, &error);
	if (r < 0)
		fail_msg("%s", error_text(&error, r));
	sweep->proven += summary.kernels;
	sweep->launches += summary.launches;
	for (size_t i = 0; i < sweep->n; i++)
		gemm_code_release(&sweep->kernels[i].code);
	sweep->n = 0;
}

/* Parameters out of scope are counted; anything else that fails is a fault. */
static bool add_kernel(struct sweep *sweep, const struct gemm_params *params, const char *name)
{
	struct test_kernel *kernel = &sweep->kernels[sweep->n];
	struct error error = { 0 };
	int r = gemm_config_init(params, &kernel->config, &error);

	if (r == -EOPNOTSUPP) {
		sweep->left_out++;
		return false;
	}
	if (r < 0)
		fail_msg("%s: %s", name, error_text(&error, r));
	snprintf(kernel->name, sizeof(kernel->name), "%s", name);
	r = gemm_generate(isa_find("gfx942"), &kernel->config, &kernel->code, &error);
	if (r < 0)
		fail_msg("%s: %s", name, error_text(&error, r));
	if (++sweep->n == CHUNK)
		flush(sweep);
	return true;
}

static bool runs_long(const struct gemm_params *params)
{
	return params->macro_tile[0] * params->macro_tile[1] * params->depth_u > 128 * 128 * 64;
}

static void run_family(const struct family *family)
{
	struct sweep sweep = { 0 };
	unsigned turn = (unsigned)(family - families) * 101;

	for (unsigned transposes = 0; transposes < 4; transposes++) {
		for (int large = 0; large < 2; large++) {
			for (unsigned accepted = 0; accepted < SHAPES; turn++) {
				struct gemm_params params = turn_params(family, transposes, large, turn);
				char name[128];

				if (runs_long(&params))
					continue;
				snprintf(name, sizeof(name), "%s_%c%c_MI%d_%u_MT%dx%dx%d", family->name, "NT"[transposes & 1],
					 "NT"[transposes >> 1], params.mi[0], turn, params.macro_tile[0], params.macro_tile[1],
					 params.depth_u);
				accepted += add_kernel(&sweep, &params, name);
			}
		}
	}
	flush(&sweep);
	print_message("%s: %u kernels proven in %" PRIu64 " launches, %u sets of parameters out of scope\n", family->name, sweep.proven,
		      sweep.launches, sweep.left_out);
	assert_int_equal(sweep.proven, 4 * 2 * SHAPES);
	/* the lists hold little that the generator cannot do */
	assert_in_range(sweep.left_out, 0, 2 * sweep.proven);
}

static void test_f16_to_f16(void **state)
{
	run_family(&families[0]);
}

static void test_f16_to_f32(void **state)
{
	run_family(&families[1]);
}

static void test_bf16(void **state)
{
	run_family(&families[2]);
}

static void test_f32(void **state)
{
	run_family(&families[3]);
}

static void test_f8_b_converted_to_f16(void **state)
{
	run_family(&families[4]);
}

static void test_f8_a_converted_to_f16(void **state)
{
	run_family(&families[5]);
}

static void test_f8_a_without_epilogue(void **state)
{
	run_family(&families[6]);
}

/* Large macro tiles, the ones that tuning prefers. */
static void test_large_tiles(void **state)
{
	static const struct {
		unsigned family, transposes;
		int mi, group[2], tile[2], depth, vector[2], one_buffer;
	} rows[] = {
		{ 0, 1, 16, { 2, 2 }, { 8, 8 }, 32, { 1, 1 }, 1 },
		{ 0, 0, 32, { 2, 2 }, { 4, 4 }, 32, { 4, 1 }, 1 },
		{ 2, 2, 16, { 2, 2 }, { 5, 8 }, 64, { 1, 1 }, 1 },
		{ 2, 3, 16, { 1, 4 }, { 16, 4 }, 64, { 8, 2 }, 1 },
		{ 3, 1, 16, { 2, 2 }, { 4, 8 }, 32, { 1, 1 }, 1 },
		{ 4, 0, 16, { 4, 1 }, { 4, 14 }, 64, { 2, 1 }, 1 },
		{ 5, 1, 16, { 2, 2 }, { 7, 7 }, 64, { 1, 1 }, 0 },
	};
	struct sweep sweep = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gemm_params params = default_params();
		char name[64];

		set_family(&params, &families[rows[i].family]);
		params.problem.trans_a = rows[i].transposes & 1;
		params.problem.trans_b = rows[i].transposes & 2;
		params.mi[0] = params.mi[1] = rows[i].mi;
		params.mi[2] = (rows[i].mi == 32 ? 8 : 16) / (params.problem.mfma_in == GEMM_F32 ? 4 : 1);
		memcpy(params.mi_wave_group, rows[i].group, sizeof(rows[i].group));
		memcpy(params.mi_wave_tile, rows[i].tile, sizeof(rows[i].tile));
		memcpy(params.vector_width, rows[i].vector, sizeof(rows[i].vector));
		params.depth_u = rows[i].depth;
		params.one_lds_buffer = rows[i].one_buffer;
		complete_params(&params);
		snprintf(name, sizeof(name), "large_%zu_%s_MT%dx%dx%d", i, families[rows[i].family].name, params.macro_tile[0],
			 params.macro_tile[1], params.depth_u);
		add_kernel(&sweep, &params, name);
	}
	flush(&sweep);
	assert_int_equal(sweep.proven, ARRAY_SIZE(rows));
}

/* The same parameters give the same bytes, and the printed text is that of as many instructions. */
static void test_generation_is_pure(void **state)
{
	for (unsigned turn = 0; turn < 12; turn++) {
		struct gemm_params params = turn_params(&families[turn % ARRAY_SIZE(families)], turn % 4, turn & 1, turn * 17);
		struct gemm_config config;
		struct gemm_code first, second;
		_cleanup_buffer_ struct buffer text = { 0 };
		struct error error = { 0 };
		size_t lines = 0;

		if (gemm_config_init(&params, &config, &error) < 0)
			continue;
		assert_int_equal(gemm_generate(isa_find("gfx942"), &config, &first, &error), 0);
		assert_int_equal(gemm_generate(isa_find("gfx942"), &config, &second, &error), 0);
		assert_int_equal(first.code.size, second.code.size);
		assert_memory_equal(first.code.data, second.code.data, first.code.size);
		assert_int_equal(gemm_print(isa_find("gfx942"), &config, &text, &error), 0);
		for (size_t i = 0; i + 1 < text.size; i++)
			lines += text.data[i] == '\t' && (i == 0 || text.data[i - 1] == '\n') && text.data[i + 1] != ';';
		assert_int_equal(lines, first.instructions);
		gemm_code_release(&first);
		gemm_code_release(&second);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_generation_is_pure),
		cmocka_unit_test(test_f16_to_f16),
		cmocka_unit_test(test_f16_to_f32),
		cmocka_unit_test(test_bf16),
		cmocka_unit_test(test_f32),
		cmocka_unit_test(test_f8_b_converted_to_f16),
		cmocka_unit_test(test_f8_a_converted_to_f16),
		cmocka_unit_test(test_f8_a_without_epilogue),
		cmocka_unit_test(test_large_tiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
