/* SPDX-License-Identifier: MIT */
#include "build/gemm/config.h"
#include "build/gemm/loop.h"
#include "tests/gemm/common.h"
#include "tools/verify/values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- what the peer derives from the same parameters -------------------------------------------------------------------- */

/* Solutions of hipBLASLt's gfx942 logic, with the values its library builder derives: LVC, LSP, NumLoadsPerpendicular,
 * LdsNumElementsAligned (bytes). Two numbers stand for A and B. */
struct peer_case {
	enum gemm_type in;
	bool trans_a, trans_b;
	int mi[4], group[2], tile[2], depth_u, grvw[2], nlc[2], pad[2], block[2], lrvw, vector[2];
	unsigned lvc[2], lsp[2], nlp[2], lds[2];
};

static const struct peer_case peer_cases[] = {
	{ GEMM_F16, true, false, { 16, 16, 16, 1 }, { 1, 4 }, { 1, 2 }, 128, { 2, 8 }, { 1, 1 }, { 16, 16 }, { 256, 512 }, 8, { 1, 2 },
	  { 64, 16 }, { 4, 16 }, { 4, 8 }, { 4608, 34816 } },
	{ GEMM_BF16, true, true, { 16, 16, 16, 1 }, { 4, 1 }, { 7, 1 }, 64, { 4, 1 }, { 1, 1 }, { 4, 16 }, { 128, 128 }, 4, { 1, 1 },
	  { 16, 16 }, { 16, 16 }, { 28, 4 }, { 60928, 2560 } },
	{ GEMM_F32, false, false, { 16, 16, 4, 1 }, { 4, 1 }, { 1, 7 }, 32, { 2, 2 }, { 1, 1 }, { 16, 8 }, { 1024, 128 }, 4, { 1, 1 },
	  { 32, 16 }, { 8, 16 }, { 4, 7 }, { 8704, 17920 } },
	{ GEMM_BF16, true, true, { 16, 16, 16, 1 }, { 2, 1 }, { 1, 1 }, 128, { 8, 1 }, { 1, 1 }, { 16, 16 }, { 256, 256 }, 8, { 1, 1 },
	  { 16, 16 }, { 8, 8 }, { 4, 16 }, { 9216, 4608 } },
	{ GEMM_BF16, false, false, { 16, 16, 16, 1 }, { 2, 2 }, { 4, 4 }, 64, { 8, 8 }, { 1, 1 }, { 0, 16 }, { 2048, 512 }, 8, { 4, 4 },
	  { 16, 8 }, { 16, 32 }, { 4, 4 }, { 16384, 17408 } },
	{ GEMM_F16, false, false, { 32, 32, 8, 1 }, { 4, 1 }, { 2, 8 }, 32, { 8, 8 }, { 1, 1 }, { 16, 8 }, { 0, 128 }, 8, { 2, 1 },
	  { 32, 4 }, { 8, 64 }, { 4, 4 }, { 17408, 18432 } },
};

static struct gemm_params case_params(const struct peer_case *c)
{
	struct gemm_params params = default_params();

	params.problem.a = params.problem.b = params.problem.mfma_in = params.problem.c = params.problem.d = c->in;
	params.problem.trans_a = c->trans_a;
	params.problem.trans_b = c->trans_b;
	memcpy(params.mi, c->mi, sizeof(params.mi));
	params.depth_u = c->depth_u;
	params.local_read_vector_width = c->lrvw;
	params.one_lds_buffer = 1;
	for (int t = 0; t < 2; t++) {
		params.mi_wave_group[t] = c->group[t];
		params.mi_wave_tile[t] = c->tile[t];
		params.macro_tile[t] = c->group[t] * c->tile[t] * c->mi[t];
		params.global_read_vector_width[t] = c->grvw[t];
		params.num_loads_coalesced[t] = c->nlc[t];
		params.lds_pad[t] = c->pad[t];
		params.lds_block_size_per_pad[t] = c->block[t];
		params.vector_width[t] = c->vector[t];
	}
	params.num_threads = 64 * c->group[0] * c->group[1];
	return params;
}

static unsigned address(const struct gemm_tensor_config *tensor, unsigned row, unsigned k)
{
	return gemm_lds_padded(tensor, gemm_lds_linear(tensor, row, k));
}

static void test_global_reads_and_lds_are_divided_as_the_peer_does(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(peer_cases); i++) {
		const struct peer_case *c = &peer_cases[i];
		struct gemm_params params = case_params(c);
		struct gemm_config config;

		assert_int_equal(gemm_config_init(&params, &config, NULL), 0);
		for (int t = 0; t < 2; t++) {
			const struct gemm_tensor_config *tensor = &config.tensor[t];
			unsigned end = address(tensor, tensor->macro_tile - 1, config.depth_u - 1) + tensor->lds_element;
			assert_int_equal(tensor->lanes_coalesced, c->lvc[t]);
			assert_int_equal(tensor->rows_per_load, c->lsp[t]);
			assert_int_equal(tensor->loads_perpendicular, c->nlp[t]);
			assert_int_equal(end + tensor->lds_pad, c->lds[t]);	/* the peer pads behind the last block too */
		}
	}
}

/* ---- LDS -------------------------------------------------------------------------------------------------------------- */

static void check_elements_apart(const struct gemm_config *config, const struct gemm_tensor_config *tensor)
{
	_cleanup_free_ uint8_t *used = calloc(1, tensor->lds_size);

	assert_non_null(used);
	for (unsigned row = 0; row < tensor->macro_tile; row++)
		for (unsigned k = 0; k < config->depth_u; k++)
			for (unsigned byte = 0; byte < tensor->lds_element; byte++) {
				unsigned at = address(tensor, row, k) + byte;
				assert_in_range(at, 0, tensor->lds_size - 1);
				assert_int_equal(used[at]++, 0);
			}
}

/* Address of lane part plus fixed part, against the address of the element; vectors stay in one piece. */
static void check_writes(const struct gemm_tensor_config *tensor)
{
	for (unsigned lane = 0; lane < tensor->lanes_coalesced * tensor->rows_per_load; lane++)
		for (unsigned load = 0; load < tensor->loads; load++)
			for (unsigned j = 0; j < tensor->grvw; j++) {
				unsigned along = lane % tensor->lanes_coalesced * tensor->grvw;
				unsigned across = lane / tensor->lanes_coalesced;
				unsigned c = load % tensor->loads_coalesced * tensor->lanes_coalesced * tensor->grvw + j;
				unsigned p = load / tensor->loads_coalesced * tensor->rows_per_load;
				unsigned lane_part = tensor->tlu ? address(tensor, along, across) : address(tensor, across, along);
				unsigned fixed_part = tensor->tlu ? address(tensor, c, p) : address(tensor, p, c);
				unsigned whole = tensor->tlu ? address(tensor, along + c, across + p) :
							       address(tensor, across + p, along + c);
				assert_int_equal(lane_part + fixed_part, whole);
			}
}

static void check_reads(const struct gemm_config *config, const struct gemm_tensor_config *tensor)
{
	unsigned k_lane = config->k_fold * config->k_per_lane;

	for (unsigned lane = 0; lane < 64 * tensor->waves; lane++)
		for (unsigned w = 0; w < tensor->wave_tile; w++)
			for (unsigned k = 0; k < config->depth_u; k += config->group_k)
				for (unsigned j = 0; j < k_lane; j++) {
					unsigned lane_row = (lane / 64 * tensor->mi + lane % tensor->mi) * tensor->vector_width;
					unsigned lane_k = lane % 64 / tensor->mi * k_lane, row = gemm_tile_row(tensor, w);
					assert_int_equal(address(tensor, lane_row, lane_k) + address(tensor, row, k + j),
							 address(tensor, lane_row + row, lane_k + k + j));
				}
}

static void check_lds(struct gemm_params *params)
{
	struct gemm_config config;
	struct error error = { 0 };

	complete_params(params);
	if (gemm_config_init(params, &config, &error) < 0)
		fail_msg("%s", error.text);
	for (int t = 0; t < 2; t++) {
		check_elements_apart(&config, &config.tensor[t]);
		check_writes(&config.tensor[t]);
		check_reads(&config, &config.tensor[t]);
		if (config.tensor[t].lds_k_major)
			assert_int_equal(address(&config.tensor[t], 1, 0) % config.tensor[t].lds_align, 0);
		else
			assert_int_equal(address(&config.tensor[t], 0, 1) % config.tensor[t].lds_align, 0);
	}
}

static void test_lds_parts_add_up_for_every_pad_and_block(void **state)
{
	static const int blocks[] = { 0, 64, 96, 128, 192, 256, 1024, 1536, 4096 };

	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		for (int pad = 0; pad <= 16; pad = pad ? pad * 4 : 1)
			for (int layout = 0; layout < 3; layout++) {
				struct gemm_params params = default_params();
				params.mi_wave_group[0] = params.mi_wave_group[1] = 2;
				params.mi_wave_tile[0] = 3;
				params.mi_wave_tile[1] = 4;
				params.vector_width[1] = 2;
				params.transpose_lds = layout;
				params.lds_pad[0] = params.lds_pad[1] = pad;
				params.lds_block_size_per_pad[0] = params.lds_block_size_per_pad[1] = blocks[i];
				check_lds(&params);
			}
}

/* ---- accumulators ------------------------------------------------------------------------------------------------------- */

/* Lane parts as kernel.h wants them: row and column of accumulator place (0, 0). Facts: CDNA3 ISA, register layouts of D. */
static void lane_origin(const struct gemm_config *config, unsigned thread, unsigned *ret_row, unsigned *ret_column)
{
	const struct gemm_tensor_config *a = &config->tensor[0], *b = &config->tensor[1];
	unsigned wave = thread / 64, lane = thread % 64, m = config->mi_m;
	unsigned along = lane % m, across = lane / m * 4;

	*ret_row = (wave % a->waves * m + (config->source_swap ? along : across)) * a->vector_width;
	*ret_column = (wave / a->waves * m + (config->source_swap ? across : along)) * b->vector_width;
}

static void check_places(struct gemm_params *params)
{
	struct gemm_config config;

	complete_params(params);
	assert_int_equal(gemm_config_init(params, &config, NULL), 0);
	unsigned rows = config.tensor[0].macro_tile, columns = config.tensor[1].macro_tile, count = 0;
	_cleanup_free_ uint8_t *seen = calloc(rows, columns);
	assert_non_null(seen);
	for (unsigned thread = 0; thread < config.threads; thread++)
		for (unsigned n = 0; n < config.accs; n++) {
			unsigned i = n % config.acc_per_mfma, tile = n / config.acc_per_mfma, row, column;
			struct gemm_acc_place place = gemm_acc_place(&config, tile % config.tensor[0].wave_tile,
								     tile / config.tensor[0].wave_tile, i);
			lane_origin(&config, thread, &row, &column);
			assert_in_range(row + place.row, 0, rows - 1);
			assert_in_range(column + place.column, 0, columns - 1);
			assert_int_equal(seen[(row + place.row) * columns + column + place.column]++, 0);
			count++;
		}
	assert_int_equal(count, rows * columns);
}

static void test_accumulators_cover_the_tile_once(void **state)
{
	for (int bits = 0; bits < 32; bits++) {
		struct gemm_params params = default_params();
		if (bits & 1)
			memcpy(params.mi, (int[4]){ 32, 32, 8, 1 }, sizeof(params.mi));
		params.source_swap = bits >> 1 & 1;
		params.mi_wave_tile[0] = 4;
		params.mi_wave_tile[1] = 2;
		params.vector_width[0] = bits & 4 ? 4 : 2;
		params.vector_width[1] = bits & 8 ? 2 : 1;
		params.mi_wave_group[0] = bits & 16 ? 4 : 1;
		params.mi_wave_group[1] = bits & 16 ? 1 : 2;
		check_places(&params);
	}
}

/* ---- reasons ---------------------------------------------------------------------------------------------------------- */

struct refusal {
	void (*change)(struct gemm_params *params);
	int code;
	const char *reason;
};

#define CHANGE(name, statement)                                                                    \
	static void name(struct gemm_params *params)                                               \
	{                                                                                          \
		statement;                                                                         \
	}

CHANGE(custom, params->custom_kernel = "some_kernel")
CHANGE(gsu, params->global_split_u = 4)
CHANGE(lsu, params->local_split_u = 2)
CHANGE(streamk, params->stream_k = 1)
CHANGE(amax, params->problem.amax_d = true)
CHANGE(use_e, params->problem.use_e = true)
CHANGE(scale_cd, params->problem.scale_cd = true)
CHANGE(f64, params->problem.compute = GEMM_F64)
CHANGE(i8, params->problem.mfma_in = GEMM_I8)
CHANGE(bf8, params->problem.a = GEMM_BF8)
CHANGE(blocks, params->mi[3] = 4)
CHANGE(mi_k, params->mi[2] = 32)
CHANGE(depth_24, params->depth_u = 48)
CHANGE(depth_no_multiple, params->depth_u = 24)
CHANGE(macro_tile, params->macro_tile[0] = 48)
CHANGE(threads, params->num_threads = 128)
CHANGE(vector, params->vector_width[1] = 2)
CHANGE(grvw, params->global_read_vector_width[0] = 3)
CHANGE(nlc, params->num_loads_coalesced[0] = 3)
CHANGE(lds, (params->lds_pad[0] = 4096, params->lds_block_size_per_pad[0] = 64))

static const struct refusal refusals[] = {
	{ custom, -EOPNOTSUPP, "custom kernel" },
	{ gsu, -EOPNOTSUPP, "GlobalSplitU 4" },
	{ lsu, -EOPNOTSUPP, "LocalSplitU 2" },
	{ streamk, -EOPNOTSUPP, "StreamK" },
	{ amax, -EOPNOTSUPP, "OutputAmaxD" },
	{ use_e, -EOPNOTSUPP, "UseE" },
	{ scale_cd, -EOPNOTSUPP, "UseScaleCD" },
	{ f64, -EOPNOTSUPP, "compute type f64" },
	{ i8, -EOPNOTSUPP, "data type i8" },
	{ bf8, -EOPNOTSUPP, "bf8 input converted to f16" },
	{ blocks, -EOPNOTSUPP, "MatrixInstruction 16x16x16x4 of f16" },
	{ mi_k, -EOPNOTSUPP, "MatrixInstruction 16x16x32x1 of f16" },
	{ depth_24, -EOPNOTSUPP, "DepthU 48" },
	{ depth_no_multiple, -EINVAL, "DepthU 24 is no multiple of MatrixInstruction K 16" },
	{ macro_tile, -EINVAL, "MacroTile0 48 is not 1 waves of 1 MFMA of 16" },
	{ threads, -EINVAL, "NumThreads 128 for 1 waves" },
	{ vector, -EINVAL, "VectorWidth 2 does not divide MIWaveTile 1" },
	{ grvw, -EOPNOTSUPP, "GlobalReadVectorWidth 3 of f16" },
	{ nlc, -EINVAL, "32 elements of A do not divide by 3 loads of 8" },
	{ lds, -EOPNOTSUPP, "LDS of 124928 bytes" },
};

static void test_refusals_name_their_reason(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct gemm_params params = default_params();
		struct gemm_config config, before;
		struct error error = { 0 };

		complete_params(&params);
		memset(&config, 0x5a, sizeof(config));
		memcpy(&before, &config, sizeof(config));
		refusals[i].change(&params);
		assert_int_equal(gemm_config_init(&params, &config, &error), refusals[i].code);
		assert_string_equal(error.text, refusals[i].reason);
		assert_memory_equal(&config, &before, sizeof(config));	/* untouched on failure */
		assert_int_equal(gemm_config_init(&params, &config, NULL), refusals[i].code);
	}
}

/* ---- anything --------------------------------------------------------------------------------------------------------- */

static int pick(struct random *random, const int *values, unsigned n)
{
	return values[random_below(random, n)];
}

#define PICK(...) pick(&random, (const int[]){ __VA_ARGS__ }, sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

static struct gemm_params any_params(uint64_t seed)
{
	struct random random = { seed };
	struct gemm_params params = default_params();

	params.problem.mfma_in = (enum gemm_type)PICK(GEMM_F16, GEMM_F16, GEMM_BF16, GEMM_F32);
	params.problem.a = PICK(0, 0, 1) ? GEMM_F8 : params.problem.mfma_in;
	params.problem.b = PICK(0, 0, 1) ? GEMM_F8 : params.problem.mfma_in;
	params.problem.trans_a = PICK(0, 1);
	params.problem.trans_b = PICK(0, 1);
	params.mi[0] = params.mi[1] = PICK(16, 32);
	params.mi[2] = (params.mi[0] == 16 ? 16 : 8) / (params.problem.mfma_in == GEMM_F32 ? 4 : 1);
	params.depth_u = PICK(8, 16, 32, 32, 64, 64, 128, 1 << 30);
	params.transpose_lds = PICK(0, 1, 2);
	params.local_read_vector_width = PICK(-1, 1, 2, 4, 8, 8, 16, INT32_MAX);
	params.prefetch_global_read = PICK(0, 1, 2);
	params.one_lds_buffer = PICK(0, 1);
	for (int t = 0; t < 2; t++) {
		params.mi_wave_group[t] = PICK(1, 1, 1, 2, 2, 4);
		params.mi_wave_tile[t] = PICK(1, 2, 3, 4, 5);
		params.vector_width[t] = PICK(1, 1, 1, 1, 2, 4);
		params.lds_pad[t] = PICK(0, 0, 1, 2, 8, 8, 16, 16, INT32_MAX, -1);
		params.lds_block_size_per_pad[t] = PICK(0, 1, 128, 256, 1000, INT32_MAX);
		params.global_read_vector_width[t] = PICK(1, 2, 4, 8, 16);
	}
	complete_params(&params);
	if (random_below(&random, 4) == 0)
		params.num_loads_coalesced[random_below(&random, 2)] = PICK(0, 2, 3, INT32_MAX, INT32_MIN);
	if (random_below(&random, 4) == 0)
		params.global_read_vector_width[random_below(&random, 2)] = PICK(0, 3, 1 << 30, INT32_MIN);
	if (random_below(&random, 8) == 0)
		params.mi_wave_tile[random_below(&random, 2)] = PICK(0, 64, INT32_MAX, INT32_MIN);
	if (random_below(&random, 8) == 0)
		params.mi_wave_group[random_below(&random, 2)] = PICK(0, 16, INT32_MAX, INT32_MIN);
	if (random_below(&random, 8) == 0)
		params.vector_width[random_below(&random, 2)] = PICK(0, 3, INT32_MAX, INT32_MIN);
	return params;
}

static void test_any_parameters_are_refused_or_become_a_kernel(void **state)
{
	unsigned generated = 0;

	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct gemm_params params = any_params(seed);
		struct gemm_config config;
		struct gemm_code code;
		struct error error = { 0 };
		int r = gemm_config_init(&params, &config, &error);

		if (r < 0) {
			assert_true(r == -EINVAL || r == -EOPNOTSUPP);
			assert_string_not_equal(error.text, "");
			continue;
		}
		assert_in_range(config.lds_bytes, 1, 65536);
		assert_in_range(config.accs, 1, 256);
		if (config.accs > 128 || gemm_generate(isa_find("gfx942"), &config, &code, &error) < 0)
			continue;	/* the epilogue may want more registers than there are */
		assert_in_range(code.vgprs, config.loop_vgprs / 2, config.max_vgprs);
		assert_int_equal(code.agprs, config.accs);
		gemm_code_release(&code);
		generated++;
	}
	assert_in_range(generated, 100, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_global_reads_and_lds_are_divided_as_the_peer_does),
		cmocka_unit_test(test_lds_parts_add_up_for_every_pad_and_block),
		cmocka_unit_test(test_accumulators_cover_the_tile_once),
		cmocka_unit_test(test_refusals_name_their_reason),
		cmocka_unit_test(test_any_parameters_are_refused_or_become_a_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
