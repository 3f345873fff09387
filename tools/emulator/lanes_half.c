/* SPDX-License-Identifier: MIT */
/* f16 arithmetic, single and packed, and dot products of f16, on lanes. Computed in f32 (or exactly) and rounded once. */
#include "build/isa/isa.h"
#include "tools/emulator/lanes_local.h"
#include "tools/emulator/lanes_build.h"

#define TWO_PI 6.283185307179586476925

/* f32 holds sums, products and quotients of f16 to more than twice the bits of f16 plus 2: rounding twice is rounding once. */
LANE_F16(add_f16, a + b)
LANE_F16(sub_f16, a - b)
LANE_F16(subrev_f16, b - a)
LANE_F16(mul_f16, a * b)
LANE_F16(min_f16, f32_min(a, b))
LANE_F16(max_f16, f32_max(a, b))
LANE_F16(min3_f16, f32_min(f32_min(a, b), c))
LANE_F16(max3_f16, f32_max(f32_max(a, b), c))
LANE_F16(med3_f16, f32_med3(a, b, c))
LANE_F16(floor_f16, floorf(a))
LANE_F16(ceil_f16, ceilf(a))
LANE_F16(trunc_f16, truncf(a))
LANE_F16(rndne_f16, rintf(a))
LANE_F16(fract_f16, isinf(a) ? NAN : f32_min(a - floorf(a), 0x1.ffcp-1f))
LANE_F16(rcp_f16, 1.0f / a)
LANE_F16(sqrt_f16, sqrtf(a))
LANE_F16(rsq_f16, round_to_odd(1.0 / sqrt((double)a)))
LANE_F16(log_f16, round_to_odd(log2((double)a)))
LANE_F16(exp_f16, round_to_odd(exp2((double)a)))
LANE_F16(sin_f16, round_to_odd(sin(TWO_PI * remainder((double)a, 1.0))))
LANE_F16(cos_f16, round_to_odd(cos(TWO_PI * remainder((double)a, 1.0))))

static inline float half_mantissa(float a)
{
	int exponent;
	return isfinite(a) ? frexpf(a, &exponent) : a;
}

static inline int half_exponent(float a)
{
	int exponent = 0;
	if (isfinite(a))
		(void)frexpf(a, &exponent);
	return exponent;
}

LANE_F16(frexp_mant_f16, half_mantissa(a))

LANE_FN(frexp_exp_i16_f16)
{
	(void)b_, (void)c_, (void)x;
	FOR_LANES (i)
		d_[i] = (uint16_t)half_exponent(f16(a_[i]));
}

LANE_FN(ldexp_f16)
{
	(void)c_, (void)x;
	FOR_LANES (i)
		d_[i] = to_f16(ldexpf(f16(a_[i]), (int16_t)b_[i]));
}

LANE_FN(fma_f16)
{
	(void)x;
	FOR_LANES (i)
		d_[i] = f16_fma(f16(a_[i]), f16(b_[i]), f16(c_[i]));
}

/* v_mad_f16, v_mac_f16: the product is rounded too. */
LANE_F16(mad_f16, f16(to_f16(a * b)) + c)

LANE_PKF16(pk_add_f16, a + b)
LANE_PKF16(pk_mul_f16, a * b)
LANE_PKF16(pk_min_f16, f32_min(a, b))
LANE_PKF16(pk_max_f16, f32_max(a, b))

LANE_FN(pk_fma_f16)
{
	(void)x;
	FOR_LANES (i)
		d_[i] = f16_fma(f16(a_[i]), f16(b_[i]), f16(c_[i])) |
			(uint32_t)f16_fma(f16(a_[i] >> 16), f16(b_[i] >> 16), f16(c_[i] >> 16)) << 16;
}

/* Products are exact; they are added to c in f32, the low halves first. */
static inline float dot2(uint32_t a, uint32_t b, float c)
{
	return fmaf(f16(a >> 16), f16(b >> 16), fmaf(f16(a), f16(b), c));
}

LANE_FN(dot2_f32_f16)
{
	(void)x;
	FOR_LANES (i)
		d_[i] = bits(dot2(a_[i], b_[i], from_bits(c_[i])));
}

/* v_fma_mixlo_f16, v_fma_mixhi_f16: f32 operands, the result rounded to f16. */
LANE_FN(fma_mix_f16)
{
	(void)x;
	FOR_LANES (i) {
		float a = from_bits(a_[i]), b = from_bits(b_[i]), c = from_bits(c_[i]);
		d_[i] = to_f16(fmaf(a, b, c));
	}
}

#define R(OP, function, n, t, ...) { .op = ISA_##OP, .n_src = n, .type = t, .dst_type = t, .fn = lane_##function, __VA_ARGS__ }
#define H(op, fn, n) R(op, fn, n, LT_F16, .flags = ROW_ZERO_HIGH)
#define PK(op, fn, n) R(op, fn, n, LT_PKF16)

static const struct valu_row rows[] = {
	H(V_ADD_F16, add_f16, 2), H(V_SUB_F16, sub_f16, 2), H(V_SUBREV_F16, subrev_f16, 2), H(V_MUL_F16, mul_f16, 2),
	H(V_MIN_F16, min_f16, 2), H(V_MAX_F16, max_f16, 2), H(V_MIN3_F16, min3_f16, 3), H(V_MAX3_F16, max3_f16, 3),
	H(V_MED3_F16, med3_f16, 3), H(V_FLOOR_F16, floor_f16, 1), H(V_CEIL_F16, ceil_f16, 1), H(V_TRUNC_F16, trunc_f16, 1),
	H(V_RNDNE_F16, rndne_f16, 1), H(V_FRACT_F16, fract_f16, 1), H(V_RCP_F16, rcp_f16, 1), H(V_SQRT_F16, sqrt_f16, 1),
	H(V_RSQ_F16, rsq_f16, 1), H(V_LOG_F16, log_f16, 1), H(V_EXP_F16, exp_f16, 1), H(V_SIN_F16, sin_f16, 1), H(V_COS_F16, cos_f16, 1),
	H(V_FREXP_MANT_F16, frexp_mant_f16, 1),
	R(V_FREXP_EXP_I16_F16, frexp_exp_i16_f16, 1, LT_F16, .dst_type = LT_I16, .flags = ROW_ZERO_HIGH),
	R(V_LDEXP_F16, ldexp_f16, 2, LT_F16, .types = { LT_F16, LT_I16 }, .flags = ROW_ZERO_HIGH),
	R(V_FMA_F16, fma_f16, 3, LT_F16, .flags = ROW_KEEP_HIGH), H(V_FMA_LEGACY_F16, fma_f16, 3),
	R(V_MAD_F16, mad_f16, 3, LT_F16, .flags = ROW_KEEP_HIGH), H(V_MAD_LEGACY_F16, mad_f16, 3),
	R(V_MAC_F16, mad_f16, 2, LT_F16, .flags = ROW_ACC | ROW_ZERO_HIGH), H(V_MADMK_F16, mad_f16, 3), H(V_MADAK_F16, mad_f16, 3),
	PK(V_PK_ADD_F16, pk_add_f16, 2), PK(V_PK_MUL_F16, pk_mul_f16, 2), PK(V_PK_MIN_F16, pk_min_f16, 2), PK(V_PK_MAX_F16, pk_max_f16, 2),
	PK(V_PK_FMA_F16, pk_fma_f16, 3), R(V_PK_FMAC_F16, pk_fma_f16, 2, LT_PKF16, .flags = ROW_ACC),
	R(V_DOT2_F32_F16, dot2_f32_f16, 3, LT_PKF16, .dst_type = LT_F32, .types = { LT_PKF16, LT_PKF16, LT_F32 }),
	R(V_DOT2C_F32_F16, dot2_f32_f16, 2, LT_PKF16, .dst_type = LT_F32, .flags = ROW_ACC),
	R(V_FMA_MIXLO_F16, fma_mix_f16, 3, LT_MIX, .dst_type = LT_F16, .flags = ROW_KEEP_HIGH),
	R(V_FMA_MIXHI_F16, fma_mix_f16, 3, LT_MIX, .dst_type = LT_F16, .flags = ROW_KEEP_HIGH),
};

struct lane_table LANE_NAME(lane_rows_half)(void)
{
	return (struct lane_table){ rows, sizeof(rows) / sizeof(rows[0]) };
}
