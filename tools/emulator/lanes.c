/* SPDX-License-Identifier: MIT */
/* The tables of lane functions of one build, and the inner loops of MFMA. */
#include "tools/emulator/lanes_local.h"
#include "tools/emulator/lanes_build.h"

/* f32 products of f16, bf16, fp8, bf8 and xf32 values are exact, so fmaf() adds each with one rounding. */
static void multiply_f32(struct mfma_block *block)
{
	unsigned m = block->m, k = block->k;
	for (unsigned i = 0; i < m; i++) {
		float *restrict c = block->c.f + i * m;
		for (unsigned l = 0; l < k; l++) {
			const float a = block->a.f[i * k + l], *restrict b = block->b.f + l * m;
			for (unsigned j = 0; j < m; j++)
				c[j] = fmaf(a, b[j], c[j]);
		}
	}
}

static void multiply_f64(struct mfma_block *block)
{
	unsigned m = block->m, k = block->k;
	for (unsigned i = 0; i < m; i++) {
		for (unsigned l = 0; l < k; l++) {
			for (unsigned j = 0; j < m; j++)
				block->c.d[i * m + j] = fma(block->a.d[i * k + l], block->b.d[l * m + j], block->c.d[i * m + j]);
		}
	}
}

static void multiply_i32(struct mfma_block *block)
{
	unsigned m = block->m, k = block->k;
	for (unsigned i = 0; i < m; i++) {
		int32_t *restrict c = block->c.i + i * m;
		for (unsigned l = 0; l < k; l++) {
			const int32_t a = block->a.i[i * k + l], *restrict b = block->b.i + l * m;
			for (unsigned j = 0; j < m; j++)
				c[j] = (int32_t)((uint32_t)c[j] + (uint32_t)(a * b[j]));
		}
	}
}

static void widen_f16(float *restrict f, const uint32_t *words, bool high)
{
	unsigned shift = high ? 16 : 0;
	FOR_LANES (i)
		f[i] = f16(words[i] >> shift);
}

const struct lane_functions *LANE_NAME(lane_functions)(void)
{
	static const struct lane_functions functions = {
		.tables = { LANE_NAME(lane_rows_int), LANE_NAME(lane_rows_float), LANE_NAME(lane_rows_half), LANE_NAME(lane_rows_compare),
			    LANE_NAME(lane_rows_convert) },
		.n_tables = 5,
		.multiply_f32 = multiply_f32,
		.multiply_f64 = multiply_f64,
		.multiply_i32 = multiply_i32,
		.f16_to_f32 = widen_f16,
	};
	return &functions;
}
