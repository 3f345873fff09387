/* SPDX-License-Identifier: MIT */
/* The tables of lane functions of one build, and the inner loops of MFMA. */
#include "tools/emulator/lanes_local.h"
#include "tools/emulator/lanes_build.h"

#ifdef EMU_LANES_AVX2
#include <immintrin.h>
#endif

/* Unrolled for each size of matrix, so that a row of C stays in registers. */
#define MULTIPLY(name, TYPE, member, add)                                                          \
	static inline __attribute__((always_inline)) void name##_sized(struct mfma_block *block, const unsigned m) \
	{                                                                                          \
		for (unsigned i = 0; i < m; i++) {                                                 \
			TYPE row[32], *c = block->c.member + i * m;                                \
			memcpy(row, c, m * sizeof(TYPE));                                          \
			for (unsigned l = 0; l < block->k; l++) {                                  \
				const TYPE a = block->a.member[l * m + i], *b = block->b.member + l * m; \
				for (unsigned j = 0; j < m; j++)                                   \
					row[j] = (add);                                            \
			}                                                                          \
			memcpy(c, row, m * sizeof(TYPE));                                          \
		}                                                                                  \
	}                                                                                          \
	static void name(struct mfma_block *block)                                                 \
	{                                                                                          \
		if (block->m == 32)                                                                \
			name##_sized(block, 32);                                                   \
		else if (block->m == 16)                                                           \
			name##_sized(block, 16);                                                   \
		else                                                                               \
			name##_sized(block, 4);                                                    \
	}

/* f32 products of f16, bf16, fp8, bf8 and xf32 values are exact, so fmaf() adds each with one rounding. */
MULTIPLY(multiply_f32, float, f, fmaf(a, b[j], row[j]))
MULTIPLY(multiply_f64, double, d, fma(a, b[j], row[j]))
MULTIPLY(multiply_i32, int32_t, i, (int32_t)((uint32_t)row[j] + (uint32_t)(a * b[j])))

static void widen_f16(float *restrict f, const uint32_t *words, bool high)
{
	unsigned shift = high ? 16 : 0;
#ifdef EMU_LANES_AVX2
	for (unsigned i = 0; i < LANES; i += 8) {
		__m256i halves = _mm256_srli_epi32(_mm256_loadu_si256((const __m256i *)(words + i)), (int)shift);
		halves = _mm256_and_si256(halves, _mm256_set1_epi32(0xffff));
		__m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
		_mm256_storeu_ps(f + i, _mm256_cvtph_ps(packed));
	}
#else
	FOR_LANES (i)
		f[i] = f16(words[i] >> shift);
#endif
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
